"""Error rates that are proved, up to constants: Table 1 and Theorems 3 and 5 of the linear-queries paper, corrected.

"Up to constants" means that only their shapes may be compared with measured errors. |Q| = 2m, the queries and their
negations. For the population ½(hi − lo) √(2 log|Q| / n) is added to each, the finite-class bound: Theorem 3's
D₁ √(log k / n) is vacuous, as D₁ is of order k, and Theorem 5, which has no such term, proves only the error on the n
records that its oracle sees. Source: Micali, Lezane, Betken 2025.
"""

import math
from collections.abc import Callable

from ..errors import InputError
from ..types import by_name, value_object


@by_name
class Setting:
    """The public numbers that rates depend on: n records, k cells, m unsigned queries, the budget, and w = w(Q).

    Raises InputError for δ outside (0, 1) and for numbers that are none.
    """

    n: float
    k: int
    m: int
    epsilon: float
    delta: float
    gaussian_width: float

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InputError(f"delta={self.delta} is outside (0, 1): these rates are of approximate DP")
        for name in ("n", "k", "m", "epsilon"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}={getattr(self, name)} must be above 0")

    @property
    def log_k(self) -> float:
        """The value log k, at least log 2."""
        return math.log(max(self.k, 2))

    @property
    def d(self) -> float:
        """The value log₂ k: the number of columns where all of them are binary, as the table assumes."""
        return self.log_k / math.log(2)

    @property
    def log_queries(self) -> float:
        """The value log |Q|, of the queries and their negations."""
        return math.log(2 * self.m)

    @property
    def log_delta(self) -> float:
        """The value log(1/δ)."""
        return math.log(1 / self.delta)


@value_object
class Rate:
    """A row of Table 1: the rate at which an algorithm's error falls, up to constants.

    The error is max_q ⟨q, P_n − D⟩, on the table itself; for a population ½(hi − lo) √(2 log|Q| / n) is added.
    """

    formula: str
    at: Callable[[Setting], float]

    @property
    def power(self) -> float:
        """The power of the privacy budget ε by which the error falls, whatever the table; below 0."""
        one, e = (Setting(n=1, k=2, m=1, epsilon=at, delta=0.5, gaussian_width=1) for at in (1, math.e))
        return math.log(self.at(e) / self.at(one))


def dpfw_empirical(s: Setting) -> float:
    """The empirical rate of Theorem 3: log^⅕(1/δ) log^⅖|Q| log^⅕ k / (nε)^⅖.

    The error at α is A α^{-¼} + α log k with A = log^¼(1/δ) log^½|Q| / (nε)^½; the best α is (A/(4 log k))^⅘, and
    both terms are then of order A^⅘ log^⅕ k. (The table writes d for log k.)
    """
    return s.log_delta**0.2 * s.log_queries**0.4 * s.log_k**0.2 / (s.n * s.epsilon) ** 0.4


def dpam_empirical(s: Setting) -> float:
    """The empirical rate of Theorem 5: w^½ log^¼ k log^¼(1/δ) / (nε)^½, for n of order w³ log^½(1/δ)/(ε log^{3/2} k).

    The error is 1/(αT) + α log k + √(T log(1/δ)) w/(nε). α = 1/√(T log k) makes it √(log k/T) + √(T log(1/δ)) w/(nε),
    and T* = √(log k/log(1/δ)) nε/w makes both of these w^½ log^¼ k log^¼(1/δ)/(nε)^½. At T* the α above is
    log^¼(1/δ) w^½ / (log^¾ k √(nε)); the theorem prints log^½(1/δ), at which α log k alone exceeds its rate. It holds
    once T* ≥ 1/σ, σ = 4√(T log(1/δ))/(nε), which is the n above; the theorem's has log(1/δ), more than enough.
    """
    return math.sqrt(s.gaussian_width / (s.n * s.epsilon)) * (s.log_k * s.log_delta) ** 0.25


def _power(d: float, queries: float, delta: float, n: float) -> Callable[[Setting], float]:
    """The product d^· log^·|Q| log^·(1/δ) / (nε)^· with given exponents."""
    return lambda s: s.d**d * s.log_queries**queries * s.log_delta**delta / (s.n * s.epsilon) ** n


RATES = {  # by the algorithm's name in the registry
    "mwem": Rate(
        "d^¼ log^½|Q| log^½(1/δ) / (nε)^½",
        _power(1 / 4, 1 / 2, 1 / 2, 1 / 2),
    ),  # √(d/T) + √(T log(1/δ)) log|Q|/(nε) at its best T has log^¼(1/δ); the printed log^½ is an upper bound
    "dualquery": Rate("d^⅙ log^½|Q| log^⅙(1/δ) / (nε)^⅓", _power(1 / 6, 1 / 2, 1 / 6, 1 / 3)),
    "fem": Rate("d^¾ log^½|Q| log^½(1/δ) / (nε)^½", _power(3 / 4, 1 / 2, 1 / 2, 1 / 2)),
    "sepfem": Rate(
        "d^⅝ log^½|Q| log^½(1/δ) / (nε)^½",
        _power(5 / 8, 1 / 2, 1 / 2, 1 / 2),
    ),  # the table prints d^⅜ in one place and d^⅝ in another; ⅝ is right
    "dqrs": Rate("d^⅕ log^⅗|Q| log^⅕(1/δ) / (nε)^⅖", _power(1 / 5, 3 / 5, 1 / 5, 2 / 5)),
    "dpfw": Rate("log^⅕ k log^⅖|Q| log^⅕(1/δ) / (nε)^⅖", dpfw_empirical),
    "dpam": Rate("log^¼ k w(Q)^½ log^¼(1/δ) / (nε)^½", dpam_empirical),
}
