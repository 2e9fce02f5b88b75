"""The total cost of all releases about the same people.

Releases are chosen one after the other, each in view of what the earlier ones showed: fully adaptive composition. Let
the t-th cost c_t in one additive measure, planned before its data is touched.

- ρ: if Σ c_t ≤ ρ on every path, the whole is ρ-zCDP. Source: Feldman, Zrnic 2021, Theorem 3.1 (Rényi filter, for every
  order at once); Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1.
- μ²: if Σ c_t ≤ μ² on every path, the whole is μ-GDP. Source: Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023.
- ε: if Σ c_t ≤ ε on every path, the whole is ε-DP. Source: Rogers, Roth, Ullman, Vadhan 2016.

Each holds with a capacity fixed beforehand. "Whatever of the three is smallest today" does not follow: an analyst who
looks at an early release before deciding which of two capacities to use up gets, for every value of the early privacy
loss, the worse of both continuations, and the mean of a maximum exceeds the maximum of the means. So a data set's
accounting is fixed at its first use, as is the part of δ that may be lost to events of failure (for the same reason: a
capacity that grows where less failure was spent is not fixed beforehand).

Failures are of two kinds. Let P, Q be the laws of all releases together about neighbours, ε the total, δ' what is left.

- Approximate(ε₀, δ₀): P = (1 − δ₀)P' + δ₀P'', Q = (1 − δ₀)Q' + δ₀Q'', with P' and Q' ε₀-close (Kairouz, Oh, Viswanath
  2015, Theorem 3.4). Of several, chosen in any way, P = (1 − D)P' + D P'', D = 1 − Π(1 − δ₀) ≤ Σδ₀, Q alike, so P(E) ≤
  D + (1 − D)(e^ε Q'(E) + δ') ≤ e^ε Q(E) + δ' + Σδ₀: they add up as they are, whatever ε is.
- A draw within total variation τ of the law P* that is paid for: by the triangle inequality, one release after the
  other, P and P* of all together are within Στ, and so are Q and Q*. P(E) ≤ P*(E) + Στ ≤ e^ε Q*(E) + δ' + Στ ≤
  e^ε Q(E) + δ' + (1 + e^ε)Στ. Here ε is the total: a plan calls failure what (1 + e^ε)τ is at its own, smaller, ε.
"""

import math
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from scipy.special import log_expit, ndtri_exp

from ...core.errors import InputError
from ...core.numbers import ROOM, brief
from ...core.types import Json, value_object
from .budget import Accounting, Approximate, BoundedRange, Budget, Gaussian, Priced, Pure, Spend
from .budget_meter import Ledger, Plan


@value_object
class Concentrated(Priced):
    """A spend of which only ρ-zCDP is known, as earlier versions charged for discrete Gaussian noise.

    Source: Canonne, Kamath, Steinke 2020.
    """

    rho: float
    failure: float = 0.0


@value_object
class Filtered(Concentrated):
    """Gaussian, BoundedRange and Pure spends chosen adaptively, with Σρ ≤ ρ on every path."""


@value_object
class Drawn(Priced):
    """A draw whose law is off by at most `error` in total variation; another event pays for its exact law."""

    error: float
    failure = rho = pure = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.error < 1:
            raise InputError(f"a draw's error={self.error} is outside [0, 1)")


Event = Spend | Concentrated | Drawn
Events = Collection[tuple[Event, int]]  # each with the number of times
Listed = tuple[tuple[Event, int], ...]
KNOWN = frozenset((Gaussian, BoundedRange, Pure, Approximate))  # kinds with a cost in every accounting
EVENTS: dict[str, type] = {kind.__name__: kind for kind in (*KNOWN, Concentrated, Filtered, Drawn)}


def planned(plan: Plan) -> Listed:
    """A plan's charges as events.

    A sampler's failure stands beside what the draw costs, as the error that it is.
    """
    events: list[tuple[Event, int]] = []
    for charge in plan.charges:
        spend, times = charge.spend, charge.times
        failure = 0.0 if isinstance(spend, Approximate) else spend.failure
        spend = replace(spend, failure=0.0) if failure else spend
        events.append((spend, times))
        if failure:
            events.append((Drawn(plan.budget.sampler_error(failure)), times))
    return tuple(events)


def reserved(plan: Plan, adaptive: bool) -> Listed:
    """The events that a plan is charged with before its first touch: an upper bound on every path it may take.

    An adaptive algorithm may put other spends in place of the planned ones as long as they fit the plan's one
    accounting, so that it is charged with all of that one's capacity, in one piece. Equal (ε₀, δ₀) releases can be
    replaced by as many that are no larger only, sampled sums by the same, so that what was planned is charged for them.
    """
    if not adaptive or plan.accounting in (Accounting.OPTIMAL, Accounting.PLD):
        return planned(plan)
    capacity, failure = Ledger(plan).capacity, plan.sums.failure if Approximate in plan.kinds else 0.0
    has_sampler_error = any(c.spend.failure for c in plan.charges if not isinstance(c.spend, Approximate))
    errors = ((Drawn(plan.budget.sampler_error(plan.sums.failure)), 1),) if has_sampler_error else ()
    if plan.accounting is Accounting.GDP:
        return ((Gaussian(math.sqrt(capacity)), 1), *errors)
    if plan.accounting is Accounting.PURE:
        return ((Approximate(capacity, failure) if failure else Pure(capacity), 1), *errors)
    return (((Filtered if plan.kinds <= KNOWN else Concentrated)(capacity, failure), 1), *errors)


def gaussian_cost(spend: Event) -> float:
    """The μ² of one spend; ∞ where none is known.

    Log-likelihood ratios of a spend with bounded range s lie in [t − s, t], 0 ≤ t ≤ s, so neighbours' laws are at least
    as hard to tell apart as two points with ratios t and t − s. Their trade-off curve f has one corner (a, b), and
    logit(1 − a) + logit(1 − b) = s: all corners together are the curve of logistic noise shifted by s. A convex G_μ
    lies below f as soon as it lies below its corner: Φ⁻¹(1 − a) + Φ⁻¹(1 − b) ≤ μ. With g = Φ⁻¹ ∘ expit, odd, and
    concave above 0 (the normal law precedes the logistic one in van Zwet's order), g(x) + g(s − x) is largest at
    x = s/2: μ = 2 g(s/2). An ε-DP spend has range 2ε. Source: Dong, Durfee, Rogers 2020 (two points); van Zwet 1964.

    As g is concave, μ ≤ g'(0) s = s√(2π)/4, so μ² ≤ π s²/8 = πρ: the cost of `Filtered` spends.
    """
    if isinstance(spend, Drawn):
        return 0.0
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


@value_object
class Total:
    """The total cost of events under a lifetime's accounting, and the part of δ that their failures take.

    Both are exact sums, held as floats that do not overlap. So a sum is the same in whatever order its events come, and
    adding a release takes as long after ten thousand others as after none.
    """

    costs: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()


@value_object
class Lifetime:
    """The total promise for a data set: its budget, its one accounting, and the δ kept for failures."""

    budget: Budget
    accounting: Accounting
    failure: float

    def __post_init__(self) -> None:
        if self.accounting is not Accounting.PURE and not 0 <= self.failure < self.budget.delta:
            raise InputError(
                f"total delta={brief(self.budget.delta)} allows no {self.accounting} beside {self.failure:g}"
            )

    @classmethod
    def fixed_by(cls, budget: Budget, first: Events) -> "Lifetime":
        """A lifetime with the accounting that costs the first release least and adds up every kind; else with Σε.

        Exact Gaussian and zCDP take all kinds of spends, Σε no Gaussian ones: Σε is taken where δ = 0, and where
        nothing else lets the first release in. Half of δ is kept for failures where the first release may fail.
        """
        if budget.delta == 0:
            return cls(budget, Accounting.PURE, 0.0)
        failure = budget.delta / 2 if any(spend.failure or isinstance(spend, Drawn) for spend, _ in first) else 0.0
        candidates = [cls(budget, accounting, failure) for accounting in (Accounting.GDP, Accounting.ZCDP)]
        best = min(candidates, key=lambda lifetime: lifetime.total(first))
        pure = cls(budget, Accounting.PURE, budget.delta)
        return pure if best.total(first) > budget.epsilon >= pure.total(first) else best

    def plus(self, before: Total, events: Events) -> Total:
        """A new total that also counts these events. Raises ValueError for an event with a negative cost."""
        costs, failures = before.costs, before.losses
        for event, times in events:
            cost, failure = (times * self._cost(event) if times else 0.0), times * self._loss(event)
            if not (times >= 0 and cost >= 0 and 0 <= failure < math.inf):
                raise ValueError(f"an event that costs {cost:g} and loses {failure:g} of δ, {times} times")
            costs, failures = _exactly(costs, cost), _exactly(failures, failure)
        return Total(costs, failures)

    def cost(self, spends: Total | Events) -> float:
        """The Σμ², Σρ or Σε of events or a total; ∞ for a kind it cannot add up, or for too much failure."""
        total = self._total(spends)
        return math.fsum(total.costs) if math.fsum(total.losses) <= self.failure else math.inf

    def lost(self, spends: Total | Events) -> float:
        """The part of δ that all failures together take at the total ε: Σδ₀ + (1 + e^ε)Στ."""
        return math.fsum(self._total(spends).losses)

    def epsilon(self, cost: float) -> float:
        """The ε, at the total δ, that an additive cost amounts to."""
        return self.accounting.epsilon(cost, self.budget.delta - self.failure)

    def total(self, spends: Total | Events) -> float:
        """The ε of all spends together at the total δ, rounded up."""
        return self.epsilon(self.cost(spends))

    @property
    def capacity(self) -> float:
        """The largest additive cost that keeps the promise, rounded down."""
        return self.accounting.capacity(self.budget.epsilon, self.budget.delta - self.failure)

    def share(self, epsilon: float) -> float:
        """The share of the capacity, 0 to 1, that releases totalling `epsilon` have used; shares add up."""
        spent = self.accounting.capacity(epsilon, self.budget.delta - self.failure) if epsilon else 0.0
        return spent / self.capacity

    def left(self, spends: Total | Events) -> float:
        """The ε, at the total δ, of the largest single further release."""
        return self.epsilon(max(self.capacity - self.cost(spends), 0.0))

    def _total(self, spends: Total | Events) -> Total:
        return spends if isinstance(spends, Total) else self.plus(Total(), spends)

    def _cost(self, event: Event) -> float:
        """The additive cost of one event; ∞ where the accounting has none."""
        if self.accounting is Accounting.GDP:
            return gaussian_cost(event)
        return event.rho if self.accounting is Accounting.ZCDP else event.pure

    def _loss(self, event: Event) -> float:
        """The δ that one event may lose: δ₀, or (1 + e^ε)τ of a draw.

        A ledger may hold draws whose failure was (1 + e^ε')τ at their plan's ε', which it does not know: τ is half of
        that at the most.
        """
        if isinstance(event, (Approximate, Concentrated)):
            return event.failure
        delta_per_error = 1 + math.exp(min(self.budget.epsilon, 700.0))
        return delta_per_error * (event.error if isinstance(event, Drawn) else event.failure / 2)


def _exactly(parts: tuple[float, ...], x: float) -> tuple[float, ...]:
    """The exact sum of x and of non-overlapping floats `parts`, again as non-overlapping floats, smallest first.

    Source: Shewchuk 1997, Theorem 10: a rounded sum and its rounding error are together the exact sum.
    """
    sum_parts = []
    for y in parts:
        large, small = (x, y) if abs(x) >= abs(y) else (y, x)
        x = large + small
        error = small - (x - large)
        if math.isinf(x):
            return (math.inf,)
        if error:
            sum_parts.append(error)
    return (*sum_parts, x)


def events_to_json(events: Events) -> list[Json]:
    """The events as JSON: kind, parameters and number of times of each."""
    return [{"kind": type(event).__name__, **asdict(event), "times": times} for event, times in events]


def events_from_json(stored: Any) -> list[tuple[Event, int]]:
    """The events that `events_to_json` wrote, read back."""
    events = []
    for stored_event in stored:
        fields = {name: value for name, value in stored_event.items() if name not in ("kind", "times")}
        events.append((EVENTS[stored_event["kind"]](**fields), int(stored_event["times"])))
    return events
