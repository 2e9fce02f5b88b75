"""Plans and the ledger: planned charges, past charges, and the budget left."""

import math
from collections import Counter
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.builtin_values import to_builtin
from ...core.errors import BudgetError
from ...core.numbers import format_short_number
from ...core.types import Json, value_object
from .budget import Budget, ComposedCost, CompositionRule, PrivacySpent, Spend, SubsampledGaussian
from .composition import OptimalComposition


@value_object
class PlannedEvent:
    """A planned spend: for which verb, how many times at the most, and for which statistic, score or target.

    Where the statistic is not known before the run, `statistic` is its class. `name` tells two
    charges for one verb apart; without one the charge goes by its verb. Both describe the charge
    and decide nothing here, so that a ledger's own copy of the charge has neither.
    """

    verb: str
    spend: Spend
    times: int = 1
    statistic: Any = field(default=None, compare=False, repr=False)
    name: str = field(default="", compare=False)

    def to_json(self) -> Json:
        """The charge as a dictionary: verb, kind of spend, its parameter, number of times and total cost in ρ."""
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
        epsilon = self.total_cost.epsilon(self.budget.delta, self.accounting)
        if not epsilon <= self.budget.epsilon:
            budget_text = f"ε={self.budget.epsilon:.6g} is given"
            raise BudgetError(
                f"the plan needs ε={epsilon:.6g} at δ={format_short_number(self.budget.delta)}, "
                f"{budget_text}"
            )

    def __getitem__(self, name: str) -> Any:
        """The value settled for `name`."""
        return next(c.value for c in self.settings if c.name == name)

    def planned_event(self, name: str) -> PlannedEvent:
        """The one charge of that name, or for the verb of that name."""
        (event,) = (
            charge for charge in self.planned_events if (charge.name or charge.verb) == name
        )
        return event

    def spend_of(self, name: str) -> Any:
        """The spend of the charge of that name."""
        return self.planned_event(name).spend

    @property
    def measured_statistics(self) -> tuple[Any, ...]:
        """The statistics that the plan measures, or their classes where the statistic is chosen later."""
        return tuple(c.statistic for c in self.planned_events if c.verb == "measure")

    @cached_property
    def total_cost(self) -> ComposedCost:
        """The additive cost of all charges."""
        return ComposedCost.of_spends(
            (charge.spend, charge.times) for charge in self.planned_events
        )

    @cached_property
    def accounting(self) -> CompositionRule:
        """The accounting that costs this plan least; see `Sums.best`."""
        return self.total_cost.tightest_rule(self.budget)

    @cached_property
    def spend_types(self) -> frozenset[type]:
        """The kinds of spend the plan declares."""
        return frozenset(type(c.spend) for c in self.planned_events)


@dataclass
class BudgetMeter:
    """The events charged so far, in order; refuses kinds of spends not planned and charges beyond the budget.

    What fits is decided by the plan's one accounting; within it the bound holds for spends chosen
    as one goes along (Σμ², Σρ and Σε are each valid privacy filters, and so are Σμ² and numbers of
    spends of a size at the most together, see `composition`), so adaptive algorithms may stop when
    a charge is refused.
    """

    plan: Plan
    events: list[tuple[str, Spend]] = field(default_factory=list)
    total_cost: ComposedCost = field(default_factory=ComposedCost)

    def __post_init__(self) -> None:
        budget = self.plan.budget
        planned_cost = self.plan.total_cost
        self._accepts_charges = True
        self._rule = self.plan.accounting
        self._times_by_spend: Counter[Spend] = Counter()
        is_additive = self._rule not in (CompositionRule.OPTIMAL, CompositionRule.PLD)
        computed_capacity = (
            self._rule.capacity(budget.epsilon, budget.delta - planned_cost.failure)
            if is_additive
            else 0.0
        )
        # The plan was accepted by its own ε, so all of it fits, whatever rounding does to the
        # inverse.
        self._capacities = {
            symbol: max(computed_capacity, cost)
            for symbol, cost in self._costs_by_symbol(planned_cost).items()
        }
        self._max_failure = planned_cost.failure

    def readonly_copy(self, plan: Plan) -> "BudgetMeter":
        """A copy of the ledger's record for a `plan` equal to its own; the copy cannot charge anything.

        It shares no object with this ledger that anything is computed from, so that nothing done to
        it comes back.
        """
        meter_copy = copy(self)
        meter_copy.plan = plan
        meter_copy.events = list(self.events)
        meter_copy._times_by_spend = Counter()
        meter_copy._accepts_charges = False
        meter_copy.total_cost = to_builtin(
            self.total_cost, (ComposedCost, SubsampledGaussian, OptimalComposition)
        )
        meter_copy._capacities = dict(self._capacities)
        return meter_copy

    def can_charge(self, spend: Spend, times: int = 1) -> bool:
        """Whether `times` of `spend_of` may be charged now."""
        return self._excess_message(self._total_after(spend, times)) is None

    def charge(self, operation: str, spend: Spend, times: int = 1) -> None:
        """Record `times` equal spends before the touches they pay for; or raise BudgetError and record nothing."""
        if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
            raise BudgetError(
                f"{operation} is used times={times}, which must be a whole number ≥ 1"
            )
        if type(spend) not in self.plan.spend_types:
            raise BudgetError(
                f"{operation} is paid with {type(spend).__name__}, which the plan does not declare"
            )
        new_total = self._total_after(spend, times)
        excess = self._excess_message(new_total)
        if excess:
            raise BudgetError(f"{operation} needs {excess} is left")
        self.events.extend([(operation, replace(spend))] * times)  # a copy, as events are shown
        self._times_by_spend[spend] += times
        self.total_cost = new_total

    @property
    def capacity(self) -> float:
        """The additive cost that this ledger allows in all: Σμ², Σρ or Σε where the plan adds one of them."""
        (capacity,) = self._capacities.values()
        return capacity

    @property
    def spent(self) -> PrivacySpent:
        """The total spent so far, at the budget's δ (0 when only pure spends without failure were charged)."""
        planned_draws = (
            self.plan.total_cost.optimal_composition.draw_count
            if self.plan.total_cost.optimal_composition
            else 0
        )
        epsilon = self.total_cost.epsilon(self.plan.budget.delta, self._rule, planned_draws)
        pure = self._rule is CompositionRule.PURE
        return PrivacySpent(
            epsilon=epsilon,
            delta=self.total_cost.failure if pure else self.plan.budget.delta,
            rho=self.total_cost.rho if self.total_cost.rho < math.inf else None,
            mu=math.sqrt(self.total_cost.mu_squared) if self._rule is CompositionRule.GDP else None,
            accounting=self._rule,
        )

    def _total_after(self, spend: Spend, times: int) -> ComposedCost:
        """The summed costs after `times` more of a spend."""
        if not self._accepts_charges:
            raise BudgetError("a copy of a ledger uses no budget")
        return ComposedCost.of_spends(
            {**self._times_by_spend, spend: self._times_by_spend[spend] + times}.items()
        )

    def _excess_message(self, new_total: ComposedCost) -> str | None:
        """The amounts needed and left, in words, where the total `new_total` exceeds the budget; None when it fits."""
        if new_total.failure > self._max_failure:
            used = self.total_cost.failure
            return f"failure δ={new_total.failure - used:.6g}, {self._max_failure - used:.6g}"
        for symbol, cost in self._costs_by_symbol(new_total).items():
            if cost > (capacity := self._capacities[symbol]):
                used = self._costs_by_symbol(self.total_cost)[symbol]
                return f"{symbol}={cost - used:.6g}, {max(capacity - used, 0):.6g}"
        return None

    def _costs_by_symbol(self, total: ComposedCost) -> dict[str, float]:
        """The costs used, by name: one sum, or the number of spends of each kind out of those planned."""
        if self._rule is CompositionRule.OPTIMAL:
            used = total.optimal_composition or OptimalComposition(math.inf)
            allowed = self.plan.total_cost.optimal_composition or OptimalComposition()
            return {
                "μ²": used.mu_squared,
                "releases": used.pure_count
                if used.pure_epsilon <= allowed.pure_epsilon
                else math.inf,
                "selections": used.draw_count
                if used.draw_range <= allowed.draw_range
                else math.inf,
            }
        symbol, cost = total.symbol_and_cost(self._rule)
        return {
            symbol: self._sampled_sums_used(total) if self._rule is CompositionRule.PLD else cost
        }

    def _sampled_sums_used(self, total: ComposedCost) -> float:
        """The number of planned sampled sums that were used; other spends are not priced this way."""
        planned_sums = self.plan.total_cost.sampled_sums
        if total.sampled_sums is None or planned_sums is None:
            return 0.0 if total == ComposedCost() else math.inf
        return (
            float(total.sampled_sums[1]) if total.sampled_sums[0] == planned_sums[0] else math.inf
        )
