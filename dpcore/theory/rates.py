"""Error rates that are proved, up to constants: Table 1 and Theorems 3 and 5 of the linear-queries paper, corrected.

"Up to constants" means that only their shapes may be compared with measured errors. |Q| = 2m, the queries and their
negations. Source: Micali, Lezane, Betken 2025.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError
from .schedules import sampling_bound


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public numbers that rates depend on: n records, k cells, m unsigned queries, the budget, and w = w(Q).

    `width` is max_q (hi − lo), 2 at the most. Raises InputError for δ outside (0, 1) and for numbers that are none.
    """

    n: float
    k: int
    m: int
    epsilon: float
    delta: float
    gaussian_width: float
    width: float = 1.0

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


@dataclass(frozen=True)
class Rate:
    """A row of Table 1: an error of a registered algorithm and the rate at which it falls, up to constants.

    `bounds` is "empirical", max_q ⟨q, P_n − D⟩, or "population", max_q ⟨q, P − D⟩.
    """

    algorithm: str
    bounds: str
    formula: str
    at: Callable[[Setting], float]
    note: str = ""


def dpfw_empirical(s: Setting) -> float:
    """The empirical rate of Theorem 3: log^⅕(1/δ) log^⅖|Q| log^⅕ k / (nε)^⅖.

    The error at α is A α^{-¼} + α log k with A = log^¼(1/δ) log^½|Q| / (nε)^½; the best α is (A/(4 log k))^⅘, and
    both terms are then of order A^⅘ log^⅕ k. (The table writes d for log k.)
    """
    return s.log_delta**0.2 * s.log_queries**0.4 * s.log_k**0.2 / (s.n * s.epsilon) ** 0.4


def dpfw_population(s: Setting) -> float:
    """The population rate of Theorem 3: the empirical one plus the sampling error ½(hi − lo) √(2 log|Q| / n).

    The theorem prints D₁ √(log k / n) instead (the table D₁ √(log d / n)), vacuous as D₁, the diameter of Q in ℓ1, is
    of order k. By max⟨q, P − D⟩ ≤ max⟨q, P − P_n⟩ + max⟨q, P_n − D⟩ the finite-class bound serves.
    """
    return dpfw_empirical(s) + sampling_bound(n=s.n, m=s.m, width=s.width)


def dpam_empirical(s: Setting) -> float:
    """The empirical rate of Theorem 5: w^½ log^¼ k log^¼(1/δ) / (nε)^½, for n of order w³ log^½(1/δ)/(ε log^{3/2} k).

    The error is 1/(αT) + α log k + √(T log(1/δ)) w/(nε). α = 1/√(T log k) makes it √(log k/T) + √(T log(1/δ)) w/(nε),
    and T* = √(log k/log(1/δ)) nε/w makes both of these w^½ log^¼ k log^¼(1/δ)/(nε)^½. At T* the α above is
    log^¼(1/δ) w^½ / (log^¾ k √(nε)); the theorem prints log^½(1/δ), at which α log k alone exceeds its rate. It holds
    once T* ≥ 1/σ, σ = 4√(T log(1/δ))/(nε), which is the n above; the theorem's has log(1/δ), more than enough.
    """
    return math.sqrt(s.gaussian_width / (s.n * s.epsilon)) * (s.log_k * s.log_delta) ** 0.25


def dpam_population(s: Setting) -> float:
    """The population rate of Theorem 5: the empirical one plus ½(hi − lo) √(2 log|Q| / n).

    The theorem has no such term. But its proof takes an oracle argmax ⟨q, P − D + ξ⟩, and the algorithm's, which sees
    the same n records in every round, is argmax ⟨q, P_n − D + ξ⟩: what is proved is the empirical rate, and the
    population follows as for DPFW. It cannot be left out: as ε grows, the rate falls below what n draws can tell.
    """
    return dpam_empirical(s) + sampling_bound(n=s.n, m=s.m, width=s.width)


def _power(d: float, queries: float, delta: float, n: float) -> Callable[[Setting], float]:
    """The product d^· log^·|Q| log^·(1/δ) / (nε)^· with given exponents."""
    return lambda s: s.d**d * s.log_queries**queries * s.log_delta**delta / (s.n * s.epsilon) ** n


ROWS = (
    Rate(
        "mwem",
        "empirical",
        "d^¼ log^½|Q| log^½(1/δ) / (nε)^½",
        _power(1 / 4, 1 / 2, 1 / 2, 1 / 2),
        "√(d/T) + √(T log(1/δ)) log|Q|/(nε) at its best T has log^¼(1/δ); the printed log^½ is an upper bound",
    ),
    Rate("dualquery", "empirical", "d^⅙ log^½|Q| log^⅙(1/δ) / (nε)^⅓", _power(1 / 6, 1 / 2, 1 / 6, 1 / 3)),
    Rate("fem", "empirical", "d^¾ log^½|Q| log^½(1/δ) / (nε)^½", _power(3 / 4, 1 / 2, 1 / 2, 1 / 2)),
    Rate(
        "sepfem",
        "empirical",
        "d^⅝ log^½|Q| log^½(1/δ) / (nε)^½",
        _power(5 / 8, 1 / 2, 1 / 2, 1 / 2),
        "the table prints d^⅜ in one place and d^⅝ in another; ⅝ is right",
    ),
    Rate("dqrs", "empirical", "d^⅕ log^⅗|Q| log^⅕(1/δ) / (nε)^⅖", _power(1 / 5, 3 / 5, 1 / 5, 2 / 5)),
    Rate("dpfw", "empirical", "log^⅕ k log^⅖|Q| log^⅕(1/δ) / (nε)^⅖", dpfw_empirical),
    Rate(
        "dpfw",
        "population",
        "log^⅕ k log^⅖|Q| log^⅕(1/δ) / (nε)^⅖ + ½(hi − lo) √(2 log|Q| / n)",
        dpfw_population,
        "in place of D₁ √(log d / n), which is vacuous",
    ),
    Rate("dpam", "empirical", "log^¼ k w(Q)^½ log^¼(1/δ) / (nε)^½", dpam_empirical),
    Rate(
        "dpam",
        "population",
        "log^¼ k w(Q)^½ log^¼(1/δ) / (nε)^½ + ½(hi − lo) √(2 log|Q| / n)",
        dpam_population,
        "the table leaves the second term out; the proof covers the empirical error",
    ),
)
