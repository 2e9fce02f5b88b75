"""Plans and the ledger: planned charges, past charges, and the budget left."""

import math
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.builtin_values import to_builtin
from ...core.errors import BudgetError
from ...core.numbers import format_short_number
from ...core.types import Json, value_object
from .accountants import (
    Accountant,
    AdditiveAccountant,
    PureAccountant,
    ZcdpAccountant,
    tightest_accountant,
)
from .budget import Budget
from .composition import OptimalComposition
from .events import (
    EVENT_TYPES,
    Approximate,
    Drawn,
    EventCounts,
    Events,
    PrivacyEvent,
    Spend,
    SubsampledGaussian,
)

METERED_TYPES = (SubsampledGaussian, *EVENT_TYPES.values())  # kinds of events that a meter holds


@value_object
class PlannedEvent:
    """A planned spend: its verb, its maximal number of times, and what it measures.

    What it measures is a statistic, score or target; where the statistic is not known before the
    run, `statistic` is its class. `name` tells two planned events for one verb apart; without a
    name the event goes by its verb. Both `name` and `statistic` describe the event and decide
    nothing here, so that a budget meter's own copy of the event has neither.
    """

    verb: str
    spend: Spend
    times: int = 1
    statistic: Any = field(default=None, compare=False, repr=False)
    name: str = field(default="", compare=False)

    def to_json(self) -> Json:
        """Return the planned event as a dictionary.

        Verb, kind of spend, the spend's parameter, number of times and total cost in ρ.
        """
        parameters = {k: v for k, v in asdict(self.spend).items() if v or k != "failure"}
        rho = self.times * self.spend.rho if self.spend.rho < math.inf else None
        kind = type(self.spend).__name__
        return {"what": self.verb, "kind": kind, **parameters, "times": self.times, "rho": rho}


@value_object
class Setting:
    """A value that a plan settled on, and why; both public."""

    name: str
    value: Any
    why: str


@value_object
class Plan:
    """Calibrated charges and settled choices, made from public numbers before anything is touched.

    With `exact` a Curator draws noise without rounding, as it always does selections. Raises
    BudgetError when the charges together exceed the budget.
    """

    budget: Budget
    planned_events: tuple[PlannedEvent, ...]
    settings: tuple[Setting, ...] = ()
    exact: bool = False

    def __post_init__(self) -> None:
        epsilon = self.accountant.epsilon(self.budget.delta)
        if not epsilon <= self.budget.epsilon:
            budget_text = f"ε={self.budget.epsilon:.6g} is given"
            raise BudgetError(
                f"the plan needs ε={epsilon:.6g} at δ={format_short_number(self.budget.delta)}, "
                f"{budget_text}"
            )

    def __getitem__(self, name: str) -> Any:
        """Return the value of the plan's setting `name`."""
        return next(c.value for c in self.settings if c.name == name)

    def planned_event(self, name: str) -> PlannedEvent:
        """Return the one planned event with that name, or for the verb of that name."""
        (event,) = (
            charge for charge in self.planned_events if (charge.name or charge.verb) == name
        )
        return event

    def spend_of(self, name: str) -> Any:
        """Return the spend of the planned event with that name."""
        return self.planned_event(name).spend

    @property
    def measured_statistics(self) -> tuple[Any, ...]:
        """The statistics that the plan measures.

        A statistic chosen later stands as its class.
        """
        return tuple(c.statistic for c in self.planned_events if c.verb == "measure")

    @cached_property
    def accountant(self) -> Accountant:
        """The accountant that costs this plan least, of all its charges.

        See `tightest_accountant`.
        """
        return tightest_accountant(
            [(charge.spend, charge.times) for charge in self.planned_events], self.budget
        )

    @cached_property
    def spend_types(self) -> frozenset[type]:
        """The kinds of spend the plan declares."""
        return frozenset(type(c.spend) for c in self.planned_events)

    def then(self, other: "Plan", budget: Budget, *, adaptive: bool) -> "ComposedPlan":
        """Return the sequential composition of this plan and another one within one budget.

        Args:
            other: The plan that follows; it may depend on what this one releases.
            budget: The whole budget, which both must keep together.
            adaptive: Whether the events of `other` depend on values that it releases itself.

        Raises:
            BudgetError: Both together need more than the budget.

        """
        return ComposedPlan(self, other, budget, adaptive)


@value_object
class ComposedPlan:
    """Two plans, one after the other, within one budget whose accounting is fixed beforehand.

    Σρ at δ > 0, Σε at δ = 0: each is a valid privacy filter, so that the second plan may depend on
    what the first one released. With `adaptive` the second counts with all that it may ever spend.
    Raises BudgetError when both together exceed the budget.
    """

    first: Plan
    second: Plan
    budget: Budget
    adaptive: bool

    def __post_init__(self) -> None:
        epsilon = self.accountant.epsilon(self.budget.delta)
        if not epsilon <= self.budget.epsilon:
            raise BudgetError(
                f"schema and algorithm together need ε={epsilon:.9g}, "
                f"{self.budget.epsilon:.9g} is given"
            )

    @cached_property
    def accountant(self) -> AdditiveAccountant:
        """The accountant of one event that stands for all that both plans may ever spend."""
        events = [
            *((c.spend, c.times) for c in self.first.planned_events),
            *worst_case_events(self.second, self.adaptive),
        ]
        accounting = additive_accounting(self.budget)
        cost = accounting.of_events(events).cost
        failure = 0.0
        if accounting.needs_delta:
            failure = failure_delta(events, self.budget)
        joint_event = accounting.event_of_cost(cost, failure, frozenset())
        return accounting.of_events([(joint_event, 1)])


def additive_accounting(budget: Budget) -> type[AdditiveAccountant]:
    """Return the accounting of plans that are composed within a budget: Σρ, at δ = 0 Σε."""
    return ZcdpAccountant if budget.delta > 0 else PureAccountant


def failure_delta(events: Events, budget: Budget) -> float:
    """Return the part of δ that the failures of events take at the budget's ε."""
    return math.fsum(times * event.failure_delta(budget.epsilon) for event, times in events)


@value_object
class PrivacySpent:
    """The total spent: ε at δ, and the additive cost behind it.

    That is ρ always, and μ when all is Gaussian.
    """

    epsilon: float
    delta: float
    rho: float | None
    mu: float | None
    accounting: type[Accountant]

    def to_json(self) -> Json:
        """Return the total as a dictionary: epsilon, delta, accounting, and mu or rho."""
        out: Json = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "accounting": self.accounting.name,
        }
        return out | ({"mu": self.mu} if self.mu is not None else {"rho": self.rho})


@dataclass
class BudgetMeter:
    """The events charged so far, in order, against a plan and its budget.

    Refuses kinds of events not planned and charges beyond the budget. What fits is decided by the
    plan's one accountant, whose bound holds for events chosen as one goes along (see
    `accountants`), so adaptive algorithms may stop when a charge is refused.
    """

    plan: Plan
    events: list[tuple[str, Spend]] = field(default_factory=list)
    accountant: Accountant = field(init=False)  # of what was charged, with the plan's capacity

    def __post_init__(self) -> None:
        self._accepts_charges = True
        self.accountant = self.plan.accountant.as_filter(self.plan.budget)

    def readonly_copy(self, plan: Plan) -> "BudgetMeter":
        """Return a copy of this meter's events for an equal `plan`; the copy cannot charge.

        It shares no object with this meter that anything is computed from, so that nothing done to
        the copy comes back.
        """
        meter_copy = copy(self)
        meter_copy.plan = plan
        meter_copy.events = list(self.events)
        meter_copy._accepts_charges = False
        meter_copy.accountant = to_builtin(
            self.accountant, (type(self.accountant), OptimalComposition, *METERED_TYPES)
        )
        return meter_copy

    def can_charge(self, spend: Spend, times: int = 1) -> bool:
        """Return whether `times` equal spends may be charged now."""
        self._require_accepting()
        return self.accountant.fits(spend, times)

    def charge(self, operation: str, spend: Spend, times: int = 1) -> None:
        """Record `times` equal spends before the data is read, or raise BudgetError.

        When it raises, nothing is recorded.
        """
        if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
            raise BudgetError(
                f"{operation} is used times={times}, which must be a whole number ≥ 1"
            )
        if type(spend) not in self.plan.spend_types:
            raise BudgetError(
                f"{operation} is paid with {type(spend).__name__}, which the plan does not declare"
            )
        self._require_accepting()
        excess = self.accountant.excess(spend, times)
        if excess:
            raise BudgetError(f"{operation} needs {excess} is left")
        self.events.extend([(operation, replace(spend))] * times)  # a copy, as events are shown
        self.accountant = self.accountant.compose(spend, times)

    @property
    def capacity(self) -> float:
        """The additive cost that this meter allows in all.

        Σμ², Σρ or Σε, as the plan's composition rule adds it.
        """
        (capacity,) = self.accountant.capacity_amounts.values()
        return capacity

    @property
    def spent(self) -> PrivacySpent:
        """The total spent so far, at the budget's δ.

        δ is 0 when only pure spends without failure were charged.
        """
        delta = self.plan.budget.delta
        rho = ZcdpAccountant(self.accountant.event_counts).cost
        return PrivacySpent(
            epsilon=self.accountant.epsilon(delta),
            delta=delta if self.accountant.needs_delta else self.accountant.failure,
            rho=rho if rho < math.inf else None,
            mu=self.accountant.mu,
            accounting=type(self.accountant),
        )

    def _require_accepting(self) -> None:
        """Raise BudgetError in a copy, which charges nothing."""
        if not self._accepts_charges:
            raise BudgetError("a copy of a ledger uses no budget")


def events_of_plan(plan: Plan) -> EventCounts:
    """Return a plan's planned spends as events.

    A sampler's failure stands beside what the draw costs, as the error that it is.
    """
    events: list[tuple[PrivacyEvent, int]] = []
    for charge in plan.planned_events:
        spend = charge.spend
        times = charge.times
        failure = spend.sampler_failure
        spend = spend.without_failure() if failure else spend
        events.append((spend, times))
        if failure:
            events.append((Drawn(plan.budget.sampler_error(failure)), times))
    return tuple(events)


def worst_case_events(plan: Plan, adaptive: bool) -> EventCounts:
    """Return the events that bound every path a plan may take, charged before the first read.

    An adaptive algorithm may put other spends in place of the planned ones as long as they fit the
    plan's one composition rule, so that it is charged with all of that rule's capacity, in one
    piece. Equal (ε₀, δ₀) releases can be replaced by as many that are no larger only, sampled sums
    by the same, so that what was planned is charged for them.
    """
    accountant = plan.accountant
    if not adaptive or not isinstance(accountant, AdditiveAccountant):
        return events_of_plan(plan)
    failure = accountant.failure if Approximate in plan.spend_types else 0.0
    worst_event = accountant.event_of_cost(BudgetMeter(plan).capacity, failure, plan.spend_types)
    if any(charge.spend.sampler_failure for charge in plan.planned_events):
        error = plan.budget.sampler_error(accountant.failure)
        return ((worst_event, 1), (Drawn(error), 1))
    return ((worst_event, 1),)
