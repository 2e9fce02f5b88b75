"""What all releases about the same people cost together.

Releases are chosen one after the other, each in view of what the earlier ones showed: fully adaptive composition. Let
the t-th cost c_t in one additive measure, planned before its data is touched.

- ρ: if Σ c_t ≤ ρ on every path, the whole is ρ-zCDP. Source: Feldman, Zrnic 2021, Theorem 3.1 (Rényi filter, for every
  order at once); Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1.
- μ²: if Σ c_t ≤ μ² on every path, the whole is μ-GDP. Source: Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023.
- ε: if Σ c_t ≤ ε on every path, the whole is ε-DP. Source: Rogers, Roth, Ullman, Vadhan 2016.

Each holds with a room fixed beforehand. "Whatever of the three is smallest today" does not follow: an analyst who looks
at an early release before deciding which of two rooms to use up gets, for every value of the early privacy loss, the
worse of both continuations, and the mean of a maximum exceeds the maximum of the means. So a data set's accounting is
fixed at its first use, as is the part of δ that may be lost to events of failure (for the same reason: a room that
grows where less failure was spent is not fixed beforehand).
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import log_expit, ndtri_exp

from ...errors import InputError
from . import conversions
from .budget import Accounting, Approximate, BoundedRange, Budget, Gaussian, Pure, Spend, Sums
from .ledger import Ledger, Plan

ROOM = 1 + 1e-12  # μ found by rounded functions is enlarged by this


@dataclass(frozen=True)
class Concentrated:
    """Anything of which only ρ-zCDP is known, e.g. discrete Gaussian noise. Source: Canonne, Kamath, Steinke 2020."""

    rho: float
    failure: float = 0.0
    pure = math.inf


@dataclass(frozen=True)
class Filtered(Concentrated):
    """Gaussian, BoundedRange and Pure spends chosen as one goes along, with Σρ ≤ ρ on every path."""


Event = Spend | Concentrated | Filtered
EVENTS: dict[str, type] = {t.__name__: t for t in (Gaussian, BoundedRange, Pure, Approximate, Concentrated, Filtered)}
KNOWN = frozenset((Gaussian, BoundedRange, Pure, Approximate))  # kinds with a cost in every accounting


def planned(plan: Plan) -> tuple[tuple[Event, int], ...]:
    """The charges of a plan as events: of Gaussian noise that is drawn exactly, on counts, no more than ρ is known."""

    def event(spend: Spend) -> Event:
        return Concentrated(spend.rho, spend.failure) if plan.exact and isinstance(spend, Gaussian) else spend

    return tuple((event(charge.spend), charge.times) for charge in plan.charges)


def reserved(plan: Plan, adaptive: bool) -> tuple[tuple[Event, int], ...]:
    """What a plan must be charged with before its first touch: an upper bound on every path it may take.

    An adaptive algorithm may put other spends in place of the planned ones as long as they fit the plan's one
    accounting, so that it is charged with all of that accounting's room, in one piece. Equal (ε₀, δ₀) releases can be
    replaced by as many that are no larger only, sampled sums by the same, so that what was planned is charged for them.
    """
    if not adaptive or plan.accounting in (Accounting.OPTIMAL, Accounting.PLD):
        return planned(plan)
    room, failure = Ledger(plan).room, plan.sums.failure
    if plan.accounting is Accounting.GDP:
        return ((Gaussian(math.sqrt(room), failure), 1),)
    if plan.accounting is Accounting.PURE:
        return ((Approximate(room, failure) if failure else Pure(room), 1),)
    known = plan.kinds <= KNOWN and not plan.exact
    return (((Filtered if known else Concentrated)(room, failure), 1),)


def gaussian_cost(spend: Event) -> float:
    """μ² of one spend, ∞ where none is known.

    Log-likelihood ratios of a spend with bounded range s lie in [t − s, t], 0 ≤ t ≤ s, so neighbours' laws are at least
    as hard to tell apart as two points with ratios t and t − s. Their trade-off curve f has one corner (a, b), and
    logit(1 − a) + logit(1 − b) = s: all corners together are the curve of logistic noise shifted by s. A convex G_μ
    lies below f as soon as it lies below its corner: Φ⁻¹(1 − a) + Φ⁻¹(1 − b) ≤ μ. With g = Φ⁻¹ ∘ expit, odd, and
    concave above 0 (the normal law precedes the logistic one in van Zwet's order), g(x) + g(s − x) is largest at
    x = s/2: μ = 2 g(s/2). An ε-DP spend has range 2ε. Source: Dong, Durfee, Rogers 2020 (two points); van Zwet 1964.

    As g is concave, μ ≤ g'(0) s = s√(2π)/4, so μ² ≤ π s²/8 = πρ: the cost of `Filtered` spends.
    """
    if isinstance(spend, Gaussian):
        return spend.mu**2
    if isinstance(spend, Filtered):
        return math.pi * ROOM * spend.rho
    if isinstance(spend, BoundedRange):
        span = spend.epsilon
    elif spend.pure < math.inf:
        span = 2 * spend.pure
    else:
        return math.inf
    return (-2 * float(ndtri_exp(log_expit(-span / 2))) * ROOM) ** 2


@dataclass(frozen=True)
class Lifetime:
    """The total promise about a data set, the one accounting that adds up to it, and the δ kept for failures."""

    budget: Budget
    accounting: Accounting
    failure: float

    def __post_init__(self) -> None:
        if not self._pure and not 0 <= self.failure < self.budget.delta:
            raise InputError(f"total delta={self.budget.delta:g} allows no {self.accounting} beside {self.failure:g}")

    @classmethod
    def fixed_by(cls, budget: Budget, first: Iterable[tuple[Event, int]]) -> "Lifetime":
        """The accounting that costs the first release least, if it can add up every kind of release; else Σε.

        Exact Gaussian and zCDP take all kinds of spends, Σε no Gaussian ones: Σε is taken where δ = 0, and where
        nothing else lets the first release in. Half of δ is kept for failures where the first release may fail.
        """
        spends = list(first)
        if budget.delta == 0:
            return cls(budget, Accounting.PURE, 0.0)
        failure = budget.delta / 2 if any(spend.failure for spend, _ in spends) else 0.0
        every = [cls(budget, accounting, failure) for accounting in (Accounting.GDP, Accounting.ZCDP)]
        best = min(every, key=lambda lifetime: lifetime.total(spends))
        pure = cls(budget, Accounting.PURE, budget.delta)
        return pure if best.total(spends) > budget.epsilon >= pure.total(spends) else best

    def cost(self, spends: Iterable[tuple[Event, int]]) -> float:
        """The additive cost: Σμ², Σρ or Σε; ∞ for a kind it cannot add up, or failures beyond what is kept for them."""
        counted = list(spends)
        sums = Sums.of(counted)  # type: ignore[arg-type]
        if sums.failure > self.failure:
            return math.inf
        if self.accounting is Accounting.GDP:
            return math.fsum(times * gaussian_cost(spend) for spend, times in counted)
        return sums.rho if self.accounting is Accounting.ZCDP else sums.pure

    def epsilon(self, cost: float) -> float:
        """The ε, at the total δ, that an additive cost stands for."""
        if cost in (0, math.inf) or self.accounting is Accounting.PURE:
            return cost
        left = self.budget.delta - self.failure
        if self.accounting is Accounting.GDP:
            return conversions.gdp_epsilon(math.sqrt(cost), left)
        return conversions.zcdp_epsilon(cost, left)

    def total(self, spends: Iterable[tuple[Event, int]]) -> float:
        """The ε of all spends together at the total δ, rounded up."""
        return self.epsilon(self.cost(spends))

    @property
    def room(self) -> float:
        """The largest additive cost that keeps the promise, rounded down."""
        left = self.budget.delta - self.failure
        if self.accounting is Accounting.GDP:
            return conversions.gdp_mu(self.budget.epsilon, left) ** 2
        return conversions.zcdp_rho(self.budget.epsilon, left) if not self._pure else self.budget.epsilon

    def left(self, spends: Iterable[tuple[Event, int]]) -> float:
        """The ε, at the total δ, of the largest single further release."""
        return self.epsilon(max(self.room - self.cost(spends), 0.0))

    @property
    def _pure(self) -> bool:
        return self.accounting is Accounting.PURE


def events_to_json(events: Iterable[tuple[Event, int]]) -> list[dict[str, Any]]:
    """Kind, parameters and number of times of every event."""
    return [{"kind": type(event).__name__, **asdict(event), "times": times} for event, times in events]


def events_from_json(stored: Any) -> list[tuple[Event, int]]:
    """The events that `events_to_json` wrote."""
    out = []
    for given in stored:
        fields = {name: value for name, value in given.items() if name not in ("kind", "times")}
        out.append((EVENTS[given["kind"]](**fields), int(given["times"])))
    return out
