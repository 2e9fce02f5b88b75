"""The total cost of all releases about the same people.

Releases are chosen one after the other, each in view of what the earlier ones showed: fully
adaptive composition. Let the t-th cost c_t in one additive measure, planned before its data is
touched.

- ρ: if Σ c_t ≤ ρ on every path, the whole is ρ-zCDP. Source: Feldman, Zrnic 2021, Theorem 3.1
  (Rényi filter, for every order at once); Whitehouse, Ramdas, Rogers, Wu 2023, Theorem 1.
- μ²: if Σ c_t ≤ μ² on every path, the whole is μ-GDP. Source: Smith, Thakurta 2022; Koskela,
  Tobaben, Honkela 2023.
- ε: if Σ c_t ≤ ε on every path, the whole is ε-DP. Source: Rogers, Roth, Ullman, Vadhan 2016.

Each holds with a capacity fixed beforehand. "Whatever of the three is smallest today" does not
follow: an analyst who looks at an early release before deciding which of two capacities to use up
gets, for every value of the early privacy loss, the worse of both continuations, and the mean of a
maximum exceeds the maximum of the means. So a data set's accounting is fixed at its first use, as
is the part of δ that may be lost to events of failure (for the same reason: a capacity that grows
where less failure was spent is not fixed beforehand).

Failures are of two kinds. Let P, Q be the laws of all releases together about neighbours, ε the
total, δ' what is left.

- Approximate(ε₀, δ₀): P = (1 − δ₀)P' + δ₀P'', Q = (1 − δ₀)Q' + δ₀Q'', with P' and Q' ε₀-close
  (Kairouz, Oh, Viswanath 2015, Theorem 3.4). Of several, chosen in any way, P = (1 − D)P' + D P'',
  D = 1 − Π(1 − δ₀) ≤ Σδ₀, Q alike, so P(E) ≤
  D + (1 − D)(e^ε Q'(E) + δ') ≤ e^ε Q(E) + δ' + Σδ₀: they add up as they are, whatever ε is.
- A draw within total variation τ of the law P* that is paid for: by the triangle inequality, one
  release after the other, P and P* of all together are within Στ, and so are Q and Q*. P(E) ≤ P*(E)
  + Στ ≤ e^ε Q*(E) + δ' + Στ ≤
  e^ε Q(E) + δ' + (1 + e^ε)Στ. Here ε is the total: a plan calls failure what (1 + e^ε)τ is at its
  own, smaller, ε.
"""

import math
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any

from scipy.special import log_expit, ndtri_exp

from ...core.errors import InputError
from ...core.numbers import ROUNDING_SLACK, format_short_number
from ...core.types import Json, value_object
from .budget import (
    Approximate,
    BoundedRange,
    Budget,
    CompositionRule,
    Gaussian,
    PrivacyEvent,
    Pure,
    Spend,
)
from .budget_meter import BudgetMeter, Plan


@value_object
class Concentrated(PrivacyEvent):
    """A spend of which only ρ-zCDP is known, as earlier versions charged for discrete Gaussian noise.

    Source: Canonne, Kamath, Steinke 2020.
    """

    rho: float
    failure: float = 0.0


@value_object
class Filtered(Concentrated):
    """Gaussian, BoundedRange and Pure spends chosen adaptively, with Σρ ≤ ρ on every path."""


@value_object
class Drawn(PrivacyEvent):
    """A draw whose law is off by at most `error` in total variation; another event pays for its exact law."""

    error: float
    failure = rho = pure = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.error < 1:
            raise InputError(f"a draw's error={self.error} is outside [0, 1)")


Event = Spend | Concentrated | Drawn
Events = Collection[tuple[Event, int]]  # each with the number of times
EventCounts = tuple[tuple[Event, int], ...]
ALWAYS_PRICED_KINDS = frozenset(
    (Gaussian, BoundedRange, Pure, Approximate)
)  # kinds with a cost in every accounting
EVENT_TYPES: dict[str, type] = {
    kind.__name__: kind for kind in (*ALWAYS_PRICED_KINDS, Concentrated, Filtered, Drawn)
}


def events_of_plan(plan: Plan) -> EventCounts:
    """A plan's charges as events.

    A sampler's failure stands beside what the draw costs, as the error that it is.
    """
    events: list[tuple[Event, int]] = []
    for charge in plan.planned_events:
        spend = charge.spend
        times = charge.times
        failure = 0.0 if isinstance(spend, Approximate) else spend.failure
        spend = replace(spend, failure=0.0) if failure else spend
        events.append((spend, times))
        if failure:
            events.append((Drawn(plan.budget.sampler_error(failure)), times))
    return tuple(events)


def worst_case_events(plan: Plan, adaptive: bool) -> EventCounts:
    """The events that a plan is charged with before its first touch: an upper bound on every path it may take.

    An adaptive algorithm may put other spends in place of the planned ones as long as they fit the
    plan's one accounting, so that it is charged with all of that one's capacity, in one piece.
    Equal (ε₀, δ₀) releases can be replaced by as many that are no larger only, sampled sums by the
    same, so that what was planned is charged for them.
    """
    if not adaptive or plan.accounting in (CompositionRule.OPTIMAL, CompositionRule.PLD):
        return events_of_plan(plan)
    capacity = BudgetMeter(plan).capacity
    failure = plan.total_cost.failure if Approximate in plan.spend_types else 0.0
    has_sampler_error = any(
        c.spend.failure for c in plan.planned_events if not isinstance(c.spend, Approximate)
    )
    errors = (
        ((Drawn(plan.budget.sampler_error(plan.total_cost.failure)), 1),)
        if has_sampler_error
        else ()
    )
    if plan.accounting is CompositionRule.GDP:
        return ((Gaussian(math.sqrt(capacity)), 1), *errors)
    if plan.accounting is CompositionRule.PURE:
        return ((Approximate(capacity, failure) if failure else Pure(capacity), 1), *errors)
    return (
        (
            (Filtered if plan.spend_types <= ALWAYS_PRICED_KINDS else Concentrated)(
                capacity, failure
            ),
            1,
        ),
        *errors,
    )


def gaussian_cost(spend: Event) -> float:
    """The μ² of one spend; ∞ where none is known.

    Log-likelihood ratios of a spend with bounded range s lie in [t − s, t], 0 ≤ t ≤ s, so
    neighbours' laws are at least as hard to tell apart as two points with ratios t and t − s. Their
    trade-off curve f has one corner (a, b), and logit(1 − a) + logit(1 − b) = s: all corners
    together are the curve of logistic noise shifted by s. A convex G_μ lies below f as soon as it
    lies below its corner: Φ⁻¹(1 − a) + Φ⁻¹(1 − b) ≤ μ. With g = Φ⁻¹ ∘ expit, odd, and concave above
    0 (the normal law precedes the logistic one in van Zwet's order), g(x) + g(s − x) is largest at
    x = s/2: μ = 2 g(s/2). An ε-DP spend has range 2ε. Source: Dong, Durfee, Rogers 2020 (two
    points); van Zwet 1964.

    As g is concave, μ ≤ g'(0) s = s√(2π)/4, so μ² ≤ π s²/8 = πρ: the cost of `Filtered` spends.
    """
    if isinstance(spend, Drawn):
        return 0.0
    if isinstance(spend, Gaussian):
        return spend.mu**2
    if isinstance(spend, Filtered):
        return math.pi * ROUNDING_SLACK * spend.rho
    if isinstance(spend, BoundedRange):
        span = spend.epsilon
    elif spend.pure < math.inf:
        span = 2 * spend.pure
    else:
        return math.inf
    return (-2 * float(ndtri_exp(log_expit(-span / 2))) * ROUNDING_SLACK) ** 2


@value_object
class TotalCost:
    """The total cost of events under a lifetime's accounting, and the part of δ that their failures take.

    Both are exact sums, held as floats that do not overlap. So a sum is the same in whatever order
    its events come, and adding a release takes as long after ten thousand others as after none.
    """

    costs: tuple[float, ...] = ()
    failures: tuple[float, ...] = ()


@value_object
class LifetimeBudget:
    """The total promise for a data set: its budget, its one accounting, and the δ kept for failures."""

    budget: Budget
    accounting: CompositionRule
    failure: float

    def __post_init__(self) -> None:
        if (
            self.accounting is not CompositionRule.PURE
            and not 0 <= self.failure < self.budget.delta
        ):
            raise InputError(
                f"total delta={format_short_number(self.budget.delta)} allows no "
                f"{self.accounting} beside {self.failure:g}"
            )

    @classmethod
    def from_first_release(cls, budget: Budget, first: Events) -> "LifetimeBudget":
        """A lifetime with the accounting that costs the first release least and adds up every kind; else with Σε.

        Exact Gaussian and zCDP take all kinds of spends, Σε no Gaussian ones: Σε is taken where δ =
        0, and where nothing else lets the first release in. Half of δ is kept for failures where
        the first release may fail.
        """
        if budget.delta == 0:
            return cls(budget, CompositionRule.PURE, 0.0)
        failure = (
            budget.delta / 2
            if any(spend.failure or isinstance(spend, Drawn) for spend, _ in first)
            else 0.0
        )
        candidates = [
            cls(budget, accounting, failure)
            for accounting in (CompositionRule.GDP, CompositionRule.ZCDP)
        ]
        best = min(candidates, key=lambda lifetime: lifetime.total_epsilon(first))
        pure = cls(budget, CompositionRule.PURE, budget.delta)
        return (
            pure
            if best.total_epsilon(first) > budget.epsilon >= pure.total_epsilon(first)
            else best
        )

    def add_events(self, previous: TotalCost, events: Events) -> TotalCost:
        """A new total that also counts these events. Raises ValueError for an event with a negative cost."""
        costs = previous.costs
        failures = previous.failures
        for event, times in events:
            cost = times * self._event_cost(event) if times else 0.0
            failure = times * self._event_failure_delta(event)
            if not (times >= 0 and cost >= 0 and 0 <= failure < math.inf):
                raise ValueError(
                    f"an event that costs {cost:g} and loses {failure:g} of δ, {times} times"
                )
            costs = _add_exactly(costs, cost)
            failures = _add_exactly(failures, failure)
        return TotalCost(costs, failures)

    def composed_cost(self, events: TotalCost | Events) -> float:
        """The Σμ², Σρ or Σε of events or a total; ∞ for a kind it cannot add up, or for too much failure."""
        total = self._as_total(events)
        return math.fsum(total.costs) if math.fsum(total.failures) <= self.failure else math.inf

    def failure_delta(self, events: TotalCost | Events) -> float:
        """The part of δ that all failures together take at the total ε: Σδ₀ + (1 + e^ε)Στ."""
        return math.fsum(self._as_total(events).failures)

    def epsilon(self, cost: float) -> float:
        """The ε, at the total δ, that an additive cost amounts to."""
        return self.accounting.epsilon(cost, self.budget.delta - self.failure)

    def total_epsilon(self, events: TotalCost | Events) -> float:
        """The ε of all spends together at the total δ, rounded up."""
        return self.epsilon(self.composed_cost(events))

    @property
    def capacity(self) -> float:
        """The largest additive cost that keeps the promise, rounded down."""
        return self.accounting.capacity(self.budget.epsilon, self.budget.delta - self.failure)

    def used_capacity_share(self, epsilon: float) -> float:
        """The share of the capacity, 0 to 1, that releases totalling `epsilon` have used; shares add up."""
        spent = (
            self.accounting.capacity(epsilon, self.budget.delta - self.failure) if epsilon else 0.0
        )
        return spent / self.capacity

    def remaining_epsilon(self, events: TotalCost | Events) -> float:
        """The ε, at the total δ, of the largest single further release."""
        return self.epsilon(max(self.capacity - self.composed_cost(events), 0.0))

    def _as_total(self, events: TotalCost | Events) -> TotalCost:
        return events if isinstance(events, TotalCost) else self.add_events(TotalCost(), events)

    def _event_cost(self, event: Event) -> float:
        """The additive cost of one event; ∞ where the accounting has none."""
        if self.accounting is CompositionRule.GDP:
            return gaussian_cost(event)
        return event.rho if self.accounting is CompositionRule.ZCDP else event.pure

    def _event_failure_delta(self, event: Event) -> float:
        """The δ that one event may lose: δ₀, or (1 + e^ε)τ of a draw.

        A ledger may hold draws whose failure was (1 + e^ε')τ at their plan's ε', which it does not
        know: τ is half of that at the most.
        """
        if isinstance(event, (Approximate, Concentrated)):
            return event.failure
        delta_per_error = 1 + math.exp(min(self.budget.epsilon, 700.0))
        return delta_per_error * (event.error if isinstance(event, Drawn) else event.failure / 2)


def _add_exactly(parts: tuple[float, ...], x: float) -> tuple[float, ...]:
    """The exact sum of x and of non-overlapping floats `parts`, again as non-overlapping floats, smallest first.

    Source: Shewchuk 1997, Theorem 10: a rounded sum and its rounding error are together the exact
    sum.
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
    return [
        {"kind": type(event).__name__, **asdict(event), "times": times} for event, times in events
    ]


def events_from_json(stored: Any) -> list[tuple[Event, int]]:
    """The events that `events_to_json` wrote, read back."""
    events = []
    for stored_event in stored:
        fields = {
            name: value for name, value in stored_event.items() if name not in ("kind", "times")
        }
        events.append((EVENT_TYPES[stored_event["kind"]](**fields), int(stored_event["times"])))
    return events
