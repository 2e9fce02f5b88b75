"""Accountants: one class for each way in which the costs of privacy events add up.

They have the shape of dp_accounting's: `compose` adds an event so many times, and `epsilon` is what
all of it amounts to at a δ. Besides, each is a filter: within a `capacity` that was fixed before
the first event, the bound holds for events chosen as one goes along (Σμ², Σρ and Σε are each valid
privacy filters, and so are Σμ² and numbers of events of a size at the most together, see
`composition`). `fits` asks before anything is touched. An accountant never changes: `compose`
returns a new one.

| class | adds up | files call it |
|---|---|---|
| `GdpAccountant` | Σμ² of Gaussian noise | exact Gaussian (GDP) |
| `ZcdpAccountant` | Σρ | zero-concentrated DP |
| `OptimalAccountant` | Σμ², pure and bounded-range releases, jointly | optimal composition … |
| `PureAccountant` | Σε | sum of ε |
| `LossDistributionAccountant` | equal sums over samples | privacy loss distributions |

>>> accountant = ZcdpAccountant.of_events([(Gaussian(0.5), 2)])
>>> accountant.cost, accountant.compose(Gaussian(0.5), 4).cost
(0.25, 0.75)
>>> within = accountant.as_filter(Budget(3, 1e-6))
>>> within.fits(Gaussian(0.5), 2), within.fits(Gaussian(0.5), 9)
(True, False)
>>> tightest_accountant([(Gaussian(0.5), 2)], Budget(3, 1e-6)).name
'exact Gaussian (GDP)'
"""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

from ...core.types import value_object
from . import conversions
from .budget import Budget
from .composition import OptimalComposition
from .events import (
    ALWAYS_PRICED_KINDS,
    Approximate,
    Concentrated,
    EventCounts,
    Events,
    Filtered,
    Gaussian,
    PrivacyEvent,
    Pure,
)


def count_events(events: Events) -> EventCounts:
    """Return each distinct event once, with the number of all its times."""
    times_by_event: dict[PrivacyEvent, int] = {}
    for event, times in events:
        times_by_event[event] = times_by_event.get(event, 0) + times
    return tuple(times_by_event.items())


@value_object
class Accountant(ABC):
    """Events composed in one way, and the capacity that they must fit.

    Args:
        event_counts: Each distinct event with its number of times; see `count_events`.
        failure_capacity: The part of δ that events of failure may take.

    """

    event_counts: EventCounts = ()
    failure_capacity: float = math.inf
    name: ClassVar[str]  # as files and pages call this way
    code: ClassVar[str]  # as the ledger's table of data sets calls it
    needs_delta: ClassVar[bool] = True  # whether ε holds only beside a δ above 0

    @classmethod
    def of_events(cls, events: Events) -> Self:
        """Return the accountant of events alone, without a limit."""
        return cls(count_events(events))

    def compose(self, event: PrivacyEvent, times: int = 1) -> Self:
        """Return the accountant of `times` more of an event."""
        return replace(self, event_counts=count_events((*self.event_counts, (event, times))))

    @property
    def failure(self) -> float:
        """Return the part of δ that failures take: a correctly rounded sum, in whatever order."""
        return math.fsum(times * event.failure for event, times in self.event_counts)

    @property
    def mu(self) -> float | None:
        """Return the μ of all events where they add up to a Gaussian, else None."""
        return None

    def epsilon(self, delta: float) -> float:
        """Return the ε that holds at δ, rounded up; ∞ where this way does not apply."""
        remaining_delta = delta - self.failure
        if remaining_delta < 0 or (remaining_delta == 0 and self.needs_delta):
            return math.inf
        return self._epsilon_without_failure(remaining_delta)

    def fits(self, event: PrivacyEvent, times: int = 1) -> bool:
        """Return whether `times` more of an event stay within the capacity."""
        return self.excess(event, times) is None

    def excess(self, event: PrivacyEvent, times: int = 1) -> str | None:
        """Return, as text, what `times` more of an event need and what remains; None if it fits."""
        new_total = self.compose(event, times)
        if new_total.failure > self.failure_capacity:
            used = self.failure
            remaining = self.failure_capacity - used
            return f"failure δ={new_total.failure - used:.6g}, {remaining:.6g}"
        for symbol, amount in new_total.amounts.items():
            capacity = self.capacity_amounts[symbol]
            if amount > capacity:
                used = self.amounts[symbol]
                return f"{symbol}={amount - used:.6g}, {max(capacity - used, 0):.6g}"
        return None

    @abstractmethod
    def as_filter(self, budget: Budget) -> Self:
        """Return an accountant of nothing yet, with the capacity of a budget.

        These events were accepted by their own ε, so all of them fit, whatever rounding does to
        the inverse.
        """

    @property
    @abstractmethod
    def amounts(self) -> dict[str, float]:
        """Return what is used of each part of the capacity, by its symbol."""

    @property
    @abstractmethod
    def capacity_amounts(self) -> dict[str, float]:
        """Return the capacity's parts, by symbol."""

    @property
    @abstractmethod
    def cost_text(self) -> str:
        """Return the cost as release files state it."""

    @property
    @abstractmethod
    def sum_text(self) -> str:
        """Return what the costs sum up to, in words, without failures."""

    @abstractmethod
    def _epsilon_without_failure(self, delta: float) -> float:
        """Return the ε that holds at what failures leave of δ."""


@value_object
class AdditiveAccountant(Accountant):
    """A way in which one cost of every event adds up, whatever the events are.

    Args:
        capacity: The largest sum of costs.

    """

    capacity: float = math.inf
    symbol: ClassVar[str]

    @classmethod
    @abstractmethod
    def event_cost(cls, event: PrivacyEvent) -> float:
        """Return the cost of one event; ∞ where it has none."""

    @classmethod
    def event_cost_bound(cls, event: PrivacyEvent) -> float:
        """Return an upper bound of one event's cost, which exists for more kinds of events.

        A data set's total adds up these bounds.
        """
        return cls.event_cost(event)

    @classmethod
    @abstractmethod
    def epsilon_of_cost(cls, cost: float, delta: float) -> float:
        """Return the ε at δ that a sum of costs amounts to."""

    @classmethod
    @abstractmethod
    def largest_cost(cls, epsilon: float, delta: float) -> float:
        """Return the largest sum of costs that keeps (ε, δ), rounded down."""

    @classmethod
    @abstractmethod
    def event_of_cost(cls, cost: float, failure: float, kinds: frozenset[type]) -> PrivacyEvent:
        """Return one event that stands for any spends of these kinds within a sum of costs."""

    @property
    def cost(self) -> float:
        """Return the sum of costs: correctly rounded, in whatever order."""
        return math.fsum(times * self.event_cost(event) for event, times in self.event_counts)

    def as_filter(self, budget: Budget) -> Self:
        """Return an accountant of nothing yet, with the capacity of a budget."""
        largest_cost = self.largest_cost(budget.epsilon, budget.delta - self.failure)
        return type(self)(capacity=max(largest_cost, self.cost), failure_capacity=self.failure)

    @property
    def amounts(self) -> dict[str, float]:
        """Return the sum of costs."""
        return {self.symbol: self.cost}

    @property
    def capacity_amounts(self) -> dict[str, float]:
        """Return the capacity."""
        return {self.symbol: self.capacity}

    @property
    def cost_text(self) -> str:
        """Return the symbol and the sum."""
        return f"{self.symbol}={self.cost:.6g}"

    @property
    def sum_text(self) -> str:
        """Return the sum as a formula."""
        return f"Σ {self.symbol} = {self.cost:.6g}"

    def _epsilon_without_failure(self, delta: float) -> float:
        return self.epsilon_of_cost(self.cost, delta)


@value_object
class GdpAccountant(AdditiveAccountant):
    """The sum of μ² of Gaussian noise, which is exact. Source: Dong, Roth, Su 2022."""

    name = "exact Gaussian (GDP)"
    code = "GDP"
    symbol = "μ²"

    @property
    def mu(self) -> float:
        """Return √Σμ²."""
        return math.sqrt(self.cost)

    @classmethod
    def event_cost(cls, event: PrivacyEvent) -> float:
        """Return μ² of Gaussian noise."""
        return event.mu_squared

    @classmethod
    def event_cost_bound(cls, event: PrivacyEvent) -> float:
        """Return the μ² of a Gaussian that is at least as telling as the event."""
        return event.mu_squared_bound

    @classmethod
    def epsilon_of_cost(cls, cost: float, delta: float) -> float:
        """Return the ε at δ of √cost-GDP."""
        return conversions.gdp_epsilon(math.sqrt(cost), delta) if cost < math.inf else cost

    @classmethod
    def largest_cost(cls, epsilon: float, delta: float) -> float:
        """Return the square of the largest μ."""
        return conversions.gdp_mu(epsilon, delta) ** 2

    @classmethod
    def event_of_cost(cls, cost: float, failure: float, kinds: frozenset[type]) -> Gaussian:
        """Return Gaussian noise of all the cost."""
        return Gaussian(math.sqrt(cost))


@value_object
class ZcdpAccountant(AdditiveAccountant):
    """The sum of ρ of zero-concentrated DP. Source: Bun, Steinke 2016."""

    name = "zero-concentrated DP"
    code = "ZCDP"
    symbol = "ρ"

    @classmethod
    def event_cost(cls, event: PrivacyEvent) -> float:
        """Return ρ."""
        return event.rho

    @classmethod
    def epsilon_of_cost(cls, cost: float, delta: float) -> float:
        """Return the ε at δ of ρ-zCDP."""
        return conversions.zcdp_epsilon(cost, delta) if cost < math.inf else cost

    @classmethod
    def largest_cost(cls, epsilon: float, delta: float) -> float:
        """Return the largest ρ."""
        return conversions.zcdp_rho(epsilon, delta)

    @classmethod
    def event_of_cost(cls, cost: float, failure: float, kinds: frozenset[type]) -> Concentrated:
        """Return an event of which ρ is known, and of which kinds it is made where all have a μ."""
        event_type = Filtered if kinds <= ALWAYS_PRICED_KINDS else Concentrated
        return event_type(cost, failure)


@value_object
class PureAccountant(AdditiveAccountant):
    """The sum of ε of pure DP. Source: Dwork, McSherry, Nissim, Smith 2006."""

    name = "sum of ε"
    code = "PURE"
    symbol = "ε"
    needs_delta = False

    @classmethod
    def event_cost(cls, event: PrivacyEvent) -> float:
        """Return the ε of pure DP."""
        return event.pure_epsilon

    @classmethod
    def epsilon_of_cost(cls, cost: float, delta: float) -> float:
        """Return the sum itself."""
        return cost

    @classmethod
    def largest_cost(cls, epsilon: float, delta: float) -> float:
        """Return ε itself."""
        return epsilon

    @classmethod
    def event_of_cost(cls, cost: float, failure: float, kinds: frozenset[type]) -> Pure:
        """Return one release of all the ε."""
        return Approximate(cost, failure) if failure else Pure(cost)


@value_object
class OptimalAccountant(Accountant):
    """The optimal composition of Gaussian noise, pure releases and draws of bounded range.

    See `composition`.

    Args:
        capacity: Σμ², and how many releases and draws of what size there may be; None before any.

    """

    name = "optimal composition of so many of each kind"
    code = "OPTIMAL"
    capacity: OptimalComposition | None = None

    @property
    def composition(self) -> OptimalComposition | None:
        """Return all events, sizes of one kind rounded up to the largest; None for other kinds."""
        parts = []
        for event, times in self.event_counts:
            part = event.optimal_composition(times)
            if part is None:
                return None
            parts.append(part)
        return OptimalComposition.of_parts(parts)

    def as_filter(self, budget: Budget) -> Self:
        """Return an accountant of nothing yet, with these numbers of releases as its capacity."""
        return type(self)(capacity=self.composition, failure_capacity=self.failure)

    @property
    def amounts(self) -> dict[str, float]:
        """Σμ² and the numbers of releases and draws, ∞ where one is above the size allowed."""
        used = self.composition or OptimalComposition(math.inf)
        allowed = self.capacity or used
        releases_fit = used.pure_epsilon <= allowed.pure_epsilon
        draws_fit = used.draw_range <= allowed.draw_range
        return {
            "μ²": used.mu_squared,
            "releases": used.pure_count if releases_fit else math.inf,
            "selections": used.draw_count if draws_fit else math.inf,
        }

    @property
    def capacity_amounts(self) -> dict[str, float]:
        """Return Σμ² and the numbers of releases and draws that are allowed."""
        allowed = self.capacity or OptimalComposition()
        return {
            "μ²": allowed.mu_squared,
            "releases": allowed.pure_count,
            "selections": allowed.draw_count,
        }

    @property
    def cost_text(self) -> str:
        """Return the number of all events."""
        return f"releases={sum(times for _, times in self.event_counts):.6g}"

    @property
    def sum_text(self) -> str:
        """Return Σμ² and the numbers of releases and draws, where there are any."""
        joint = self.composition or OptimalComposition()
        parts = []
        if joint.mu_squared:
            parts.append(f"Σ μ² = {joint.mu_squared:.6g}")
        if joint.pure_count:
            parts.append(f"{joint.pure_count:,} releases of ε₀ ≤ {joint.pure_epsilon:.6g}")
        if joint.draw_count:
            parts.append(f"{joint.draw_count:,} draws of range ≤ {joint.draw_range:.6g}")
        return " and ".join(parts)

    def _epsilon_without_failure(self, delta: float) -> float:
        """Return the ε at δ of the composition of all events.

        That of any number of the planned draws is read off one composition.
        """
        if self.composition is None:
            return math.inf
        planned_draws = self.capacity.draw_count if self.capacity else 0
        return self.composition.epsilon(delta, planned_draws=planned_draws)


@value_object
class LossDistributionAccountant(Accountant):
    """Equal sums over Poisson samples, priced together by privacy loss distributions.

    Args:
        capacity: The planned sums, and how many of them there may be.

    """

    name = "privacy loss distributions"
    code = "PLD"
    capacity: EventCounts = ()

    @property
    def step_count(self) -> int:
        """Return the number of sums; 0 where there is anything else."""
        if not self.event_counts:
            return 0
        (event, times), *other_events = self.event_counts
        return times if event.is_subsampled and not other_events else 0

    def as_filter(self, budget: Budget) -> Self:
        """Return an accountant of nothing yet, with these sums as its capacity."""
        return type(self)(capacity=self.event_counts, failure_capacity=self.failure)

    @property
    def amounts(self) -> dict[str, float]:
        """Return the number of planned sums that are used; ∞ for anything else."""
        planned = [event for event, _ in self.capacity]
        is_planned = [event for event, _ in self.event_counts] == planned
        steps = float(self.step_count) if is_planned and self.step_count else math.inf
        return {"sampled steps": steps if self.event_counts else 0.0}

    @property
    def capacity_amounts(self) -> dict[str, float]:
        """Return the number of planned sums."""
        return {"sampled steps": float(sum(times for _, times in self.capacity))}

    @property
    def cost_text(self) -> str:
        """Return the number of sums."""
        return f"sampled steps={self.step_count:.6g}"

    @property
    def sum_text(self) -> str:
        """Return the number of sums, in words."""
        return f"{self.step_count:g} sampled steps"

    def _epsilon_without_failure(self, delta: float) -> float:
        if not self.event_counts:
            return 0.0
        (event, times), *other_events = self.event_counts
        return math.inf if other_events else event.sampled_epsilon(times, delta)


ACCOUNTANTS: tuple[type[Accountant], ...] = (
    GdpAccountant,
    ZcdpAccountant,
    OptimalAccountant,
    PureAccountant,
    LossDistributionAccountant,
)
ACCOUNTANT_BY_NAME: dict[str, Any] = {kind.name: kind for kind in ACCOUNTANTS}
ACCOUNTANT_BY_CODE: dict[str, Any] = {kind.code: kind for kind in ACCOUNTANTS}


def tightest_accountant(events: Events, budget: Budget) -> Accountant:
    """Return the events composed in the way with the smallest ε at the budget's δ.

    A way with an additive cost is preferred if any keeps the promise: what adds up may be spent
    otherwise than planned.
    """
    event_counts = count_events(events)
    accountants = {kind: kind(event_counts) for kind in ACCOUNTANTS}
    pure = accountants[PureAccountant]
    if budget.delta <= pure.failure:
        return pure

    def epsilon(accountant: Accountant) -> float:
        return accountant.epsilon(budget.delta)

    additive = (accountants[GdpAccountant], accountants[ZcdpAccountant], pure)
    best_additive = min(additive, key=epsilon)
    if epsilon(best_additive) <= budget.epsilon:
        return best_additive
    return min(accountants.values(), key=epsilon)
