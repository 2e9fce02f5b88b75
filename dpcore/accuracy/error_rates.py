"""Error rates that are proved, up to constants, for the linear-queries paper's algorithms.

They are Table 1 and Theorems 3 and 5 of that paper, corrected. "Up to constants" means that only
their shapes may be compared with measured errors. |Q| = 2m, the queries and their negations. For
the population ½(hi − lo) √(2 log|Q| / n) is added to each, the finite-class bound: Theorem 3's D₁
√(log k / n) is vacuous, as D₁ is of order k, and Theorem 5, which has no such term, proves only the
error on the n rows that its oracle sees. Source: Micali, Lezane, Betken 2025.
"""

import math
from fractions import Fraction

from ..core.errors import InputError
from ..core.types import by_name, value_object


@by_name
class RateParameters:
    """The public numbers that rates depend on.

    They are n rows, k cells, m unsigned queries, the budget, and w = w(Q). Raises InputError for δ
    outside (0, 1) and for numbers that are none.
    """

    n: float
    k: int
    m: int
    epsilon: float
    delta: float
    gaussian_width: float

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InputError(
                f"delta={self.delta} is outside (0, 1): these rates are of approximate DP"
            )
        for name in ("n", "k", "m", "epsilon"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}={getattr(self, name)} must be above 0")

    @property
    def rate_factors(self) -> tuple[float, ...]:
        """The numbers d, log k, log |Q|, log(1/δ), w and nε, the factors of every rate.

        Every rate is a product of their powers. d is log₂ k: the number of columns if all of them
        are binary, as the table assumes. log k is at least log 2.
        """
        log_k = math.log(max(self.k, 2))
        log_queries = math.log(2 * self.m)
        n_epsilon = self.n * self.epsilon
        return (
            log_k / math.log(2),
            log_k,
            log_queries,
            math.log(1 / self.delta),
            self.gaussian_width,
            n_epsilon,
        )


FACTOR_SYMBOLS = (  # of `RateParameters.rate_factors` but nε, in LaTeX
    "d",
    r"(\log k)",
    r"(\log|Q|)",
    r"(\log\tfrac{1}{\delta})",
    "w(Q)",
)


@value_object
class ErrorRate:
    """The rate at which an algorithm's error falls, up to constants: a row of Table 1.

    The error is max_q ⟨q, P_n − D⟩, on the table itself; for a population ½(hi − lo) √(2 log|Q| /
    n) is added. `powers` are those of d, log k, log |Q|, log(1/δ), w and nε.
    """

    powers: tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]

    def evaluate(self, parameters: RateParameters) -> float:
        """Return the rate for these public numbers."""
        return math.prod(
            size ** float(power)
            for size, power in zip(parameters.rate_factors, self.powers, strict=True)
        )

    @property
    def epsilon_power(self) -> float:
        """The power of the privacy budget ε by which the error falls, whatever the table.

        It is below 0.
        """
        return float(self.powers[-1])

    @property
    def latex(self) -> str:
        """The formula in LaTeX, up to constants: a fraction of the factors and nε."""
        *numerator_powers, n_epsilon_power = self.powers
        numerator = r" \, ".join(
            symbol + _latex_power(power)
            for symbol, power in zip(FACTOR_SYMBOLS, numerator_powers, strict=True)
            if power
        )
        return rf"\frac{{{numerator}}}{{(n\varepsilon){_latex_power(-n_epsilon_power)}}}"


def _latex_power(power: Fraction) -> str:
    """Return a power above 0 as LaTeX; nothing for 1."""
    return "" if power == 1 else f"^{{{power.numerator}/{power.denominator}}}"


def _rate(*powers: str) -> ErrorRate:
    """Return the rate of these powers, written as fractions."""
    d, log_k, log_queries, log_delta, width, n_epsilon = map(Fraction, powers)
    return ErrorRate((d, log_k, log_queries, log_delta, width, n_epsilon))


ERROR_RATES = {  # by the algorithm's name in the registry
    # √(d/T) + √(T log(1/δ)) log|Q|/(nε) at its best T has log^¼(1/δ); the printed log^½ is an upper
    # bound.
    "mwem": _rate("1/4", "0", "1/2", "1/2", "0", "-1/2"),
    "dualquery": _rate("1/6", "0", "1/2", "1/6", "0", "-1/3"),
    "fem": _rate("3/4", "0", "1/2", "1/2", "0", "-1/2"),
    # The table prints d^⅜ in one place and d^⅝ in another; ⅝ is right.
    "sepfem": _rate("5/8", "0", "1/2", "1/2", "0", "-1/2"),
    "dqrs": _rate("1/5", "0", "3/5", "1/5", "0", "-2/5"),
    # The empirical rate of Theorem 3. The error at α is A α^{-¼} + α log k with
    # A = log^¼(1/δ) log^½|Q| / (nε)^½; the best α is (A/(4 log k))^⅘, and both terms are then of
    # order A^⅘ log^⅕ k. (The table writes d for log k.)
    "dpfw": _rate("0", "1/5", "2/5", "1/5", "0", "-2/5"),
    # The empirical rate of Theorem 5, for n of order w³ log^½(1/δ)/(ε log^{3/2} k). The error is
    # 1/(αT) + α log k + √(T log(1/δ)) w/(nε). α = 1/√(T log k) makes it
    # √(log k/T) + √(T log(1/δ)) w/(nε), and T* = √(log k/log(1/δ)) nε/w makes both of these
    # w^½ log^¼ k log^¼(1/δ)/(nε)^½. At T* the α above is log^¼(1/δ) w^½ / (log^¾ k √(nε)); the
    # theorem prints log^½(1/δ), at which α log k alone exceeds its rate. It holds once T* ≥ 1/σ,
    # σ = 4√(T log(1/δ))/(nε), which is the n above; the theorem's has log(1/δ), more than enough.
    "dpam": _rate("0", "1/4", "0", "1/4", "1/2", "-1/2"),
}
