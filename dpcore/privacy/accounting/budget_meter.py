"""Plans and the ledger: planned charges, past charges, and the budget left."""

import math
from collections import Counter
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.builtin_values import plain
from ...core.errors import BudgetError
from ...core.numbers import brief
from ...core.types import Json, value_object
from .budget import Accounting, Budget, Spend, Spent, SubsampledGaussian, Sums
from .composition import Joint


@value_object
class Charge:
    """A planned spend: for which verb, how many times at the most, and for which statistic, score or target.

    Where the statistic is not known before the run, `statistic` is its class. `name` tells two charges for one verb
    apart; without one the charge goes by its verb. Both describe the charge and decide nothing here, so that a ledger's
    own copy of the charge has neither.
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
class Choice:
    """A value that a plan settled on, and why; both public."""

    name: str
    value: Any
    why: str


@value_object
class Plan:
    """Calibrated charges and settled choices, made from public numbers before anything is touched.

    With `exact` a Curator draws noise without rounding, as it always does selections. Raises BudgetError when the
    charges together exceed the budget.
    """

    budget: Budget
    charges: tuple[Charge, ...]
    choices: tuple[Choice, ...] = ()
    exact: bool = False

    def __post_init__(self) -> None:
        epsilon = self.sums.epsilon(self.budget.delta, self.accounting)
        if not epsilon <= self.budget.epsilon:
            budget_text = f"ε={self.budget.epsilon:.6g} is given"
            raise BudgetError(f"the plan needs ε={epsilon:.6g} at δ={brief(self.budget.delta)}, {budget_text}")

    def __getitem__(self, name: str) -> Any:
        """The value settled for `name`."""
        return next(c.value for c in self.choices if c.name == name)

    def charge(self, name: str) -> Charge:
        """The one charge of that name, or for the verb of that name."""
        (event,) = (charge for charge in self.charges if (charge.name or charge.verb) == name)
        return event

    def spend(self, name: str) -> Any:
        """The spend of the charge of that name."""
        return self.charge(name).spend

    @property
    def measured(self) -> tuple[Any, ...]:
        """The statistics that the plan measures, or their classes where the statistic is chosen later."""
        return tuple(c.statistic for c in self.charges if c.verb == "measure")

    @cached_property
    def sums(self) -> Sums:
        """The additive cost of all charges."""
        return Sums.of((charge.spend, charge.times) for charge in self.charges)

    @cached_property
    def accounting(self) -> Accounting:
        """The accounting that costs this plan least; see `Sums.best`."""
        return self.sums.best(self.budget)

    @cached_property
    def kinds(self) -> frozenset[type]:
        """The kinds of spend the plan declares."""
        return frozenset(type(c.spend) for c in self.charges)


@dataclass
class Ledger:
    """The events charged so far, in order; refuses kinds of spends not planned and charges beyond the budget.

    What fits is decided by the plan's one accounting; within it the bound holds for spends chosen as one goes along
    (Σμ², Σρ and Σε are each valid privacy filters, and so are Σμ² and numbers of spends of a size at the most together,
    see `composition`), so adaptive algorithms may stop when a charge is refused.
    """

    plan: Plan
    events: list[tuple[str, Spend]] = field(default_factory=list)
    sums: Sums = field(default_factory=Sums)

    def __post_init__(self) -> None:
        budget, planned_cost = self.plan.budget, self.plan.sums
        self._open = True
        self._accounting = self.plan.accounting
        self._counts: Counter[Spend] = Counter()
        is_additive = self._accounting not in (Accounting.OPTIMAL, Accounting.PLD)
        computed_capacity = (
            self._accounting.capacity(budget.epsilon, budget.delta - planned_cost.failure) if is_additive else 0.0
        )
        # The plan was accepted by its own ε, so all of it fits, whatever rounding does to the inverse.
        self._capacities = {symbol: max(computed_capacity, cost) for symbol, cost in self._costs(planned_cost).items()}
        self._failure = planned_cost.failure

    def statement(self, plan: Plan) -> "Ledger":
        """A copy of the ledger's record for a `plan` equal to its own; the copy cannot charge anything.

        It shares no object with this ledger that anything is computed from, so that nothing done to it comes back.
        """
        meter_copy = copy(self)
        meter_copy.plan, meter_copy.events, meter_copy._counts, meter_copy._open = (
            plan,
            list(self.events),
            Counter(),
            False,
        )
        meter_copy.sums, meter_copy._capacities = (
            plain(self.sums, (Sums, SubsampledGaussian, Joint)),
            dict(self._capacities),
        )
        return meter_copy

    def fits(self, spend: Spend, times: int = 1) -> bool:
        """Whether `times` of `spend` may be charged now."""
        return self._refusal(self._after(spend, times)) is None

    def charge(self, what: str, spend: Spend, times: int = 1) -> None:
        """Record `times` equal spends before the touches they pay for; or raise BudgetError and record nothing."""
        if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
            raise BudgetError(f"{what} is used times={times}, which must be a whole number ≥ 1")
        if type(spend) not in self.plan.kinds:
            raise BudgetError(f"{what} is paid with {type(spend).__name__}, which the plan does not declare")
        new_total = self._after(spend, times)
        if excess := self._refusal(new_total):
            raise BudgetError(f"{what} needs {excess} is left")
        self.events.extend([(what, replace(spend))] * times)  # a copy, as events are shown
        self._counts[spend] += times
        self.sums = new_total

    @property
    def capacity(self) -> float:
        """The additive cost that this ledger allows in all: Σμ², Σρ or Σε where the plan adds one of them."""
        (capacity,) = self._capacities.values()
        return capacity

    @property
    def spent(self) -> Spent:
        """The total spent so far, at the budget's δ (0 when only pure spends without failure were charged)."""
        planned_draws = self.plan.sums.joint.draws if self.plan.sums.joint else 0
        epsilon = self.sums.epsilon(self.plan.budget.delta, self._accounting, planned_draws)
        pure = self._accounting is Accounting.PURE
        return Spent(
            epsilon=epsilon,
            delta=self.sums.failure if pure else self.plan.budget.delta,
            rho=self.sums.rho if self.sums.rho < math.inf else None,
            mu=math.sqrt(self.sums.mu_squared) if self._accounting is Accounting.GDP else None,
            accounting=self._accounting,
        )

    def _after(self, spend: Spend, times: int) -> Sums:
        """The summed costs after `times` more of a spend."""
        if not self._open:
            raise BudgetError("a copy of a ledger uses no budget")
        return Sums.of({**self._counts, spend: self._counts[spend] + times}.items())

    def _refusal(self, after: Sums) -> str | None:
        """The amounts needed and left, in words, where the total `after` exceeds the budget; None when it fits."""
        if after.failure > self._failure:
            used = self.sums.failure
            return f"failure δ={after.failure - used:.6g}, {self._failure - used:.6g}"
        for symbol, cost in self._costs(after).items():
            if cost > (capacity := self._capacities[symbol]):
                used = self._costs(self.sums)[symbol]
                return f"{symbol}={cost - used:.6g}, {max(capacity - used, 0):.6g}"
        return None

    def _costs(self, sums: Sums) -> dict[str, float]:
        """The costs used, by name: one sum, or the number of spends of each kind out of those planned."""
        if self._accounting is Accounting.OPTIMAL:
            used, allowed = sums.joint or Joint(math.inf), self.plan.sums.joint or Joint()
            return {
                "μ²": used.mu_squared,
                "releases": used.pures if used.pure <= allowed.pure else math.inf,
                "selections": used.draws if used.span <= allowed.span else math.inf,
            }
        symbol, cost = sums.cost(self._accounting)
        return {symbol: self._steps(sums) if self._accounting is Accounting.PLD else cost}

    def _steps(self, sums: Sums) -> float:
        """The number of planned sampled sums that were used; other spends are not priced this way."""
        planned_sums = self.plan.sums.sampled
        if sums.sampled is None or planned_sums is None:
            return 0.0 if sums == Sums() else math.inf
        return float(sums.sampled[1]) if sums.sampled[0] == planned_sums[0] else math.inf
