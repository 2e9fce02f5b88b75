"""Plans and the ledger: what may be charged, what has been, what is left. Imports errors, conversions and budget."""

import math
from dataclasses import dataclass, field
from typing import Any

from ..errors import BudgetError
from . import conversions
from .budget import Accounting, Budget, S, Spend, Spent, Sums


@dataclass(frozen=True)
class Charge:
    """A planned spend: which verb, for what, how many times at the most."""

    what: str
    spend: Spend
    times: int = 1


@dataclass(frozen=True)
class Choice:
    """A value that a plan settled on, and why; both public."""

    name: str
    value: Any
    why: str


@dataclass(frozen=True)
class Plan:
    """Calibrated charges and settled choices, made from public numbers before anything is touched.

    Raises BudgetError when the charges together exceed the budget.
    """

    budget: Budget
    charges: tuple[Charge, ...]
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        epsilon = self.sums.epsilon(self.budget.delta, self.accounting)
        if not epsilon <= self.budget.epsilon:
            given = f"ε={self.budget.epsilon:.6g} is given"
            raise BudgetError(f"the plan needs ε={epsilon:.6g} at δ={self.budget.delta:g}, {given}")

    def __getitem__(self, name: str) -> Any:
        """The value settled for `name`."""
        return next(c.value for c in self.choices if c.name == name)

    def spend(self, kind: type[S]) -> S:
        """The spend of the first charge of `kind`."""
        return next(c.spend for c in self.charges if isinstance(c.spend, kind))

    @property
    def sums(self) -> Sums:
        """The additive cost of all charges."""
        total = Sums()
        for charge in self.charges:
            total = total.plus(charge.spend, charge.times)
        return total

    @property
    def accounting(self) -> Accounting:
        """The way of adding up that costs this plan least."""
        return self.sums.best(self.budget.delta)

    @property
    def kinds(self) -> frozenset[type]:
        """The kinds of spend the plan declares."""
        return frozenset(type(c.spend) for c in self.charges)


@dataclass
class Ledger:
    """Events as they are charged, in order. It refuses kinds the plan does not declare, and what no longer fits.

    What fits is decided by the plan's one accounting; within it the bound holds for spends chosen as one goes along
    (Σμ², Σρ and Σε are each valid privacy filters), so adaptive algorithms may stop when a charge is refused.
    """

    plan: Plan
    events: list[tuple[str, Spend]] = field(default_factory=list)
    sums: Sums = field(default_factory=Sums)

    def __post_init__(self) -> None:
        self._accounting = self.plan.accounting
        budget = self.plan.budget
        failure = self.plan.sums.failure
        self._room = {
            Accounting.GDP: lambda: conversions.gdp_mu(budget.epsilon, budget.delta - failure) ** 2,
            Accounting.ZCDP: lambda: conversions.zcdp_rho(budget.epsilon, budget.delta - failure),
            Accounting.PURE: lambda: budget.epsilon,
        }[self._accounting]()
        self._failure = failure

    def fits(self, spend: Spend) -> bool:
        """Whether `spend` may be charged now."""
        return self._fits(self.sums.plus(spend))

    def charge(self, what: str, spend: Spend) -> None:
        """Record `spend` before the touch it pays for, or raise BudgetError and record nothing."""
        if type(spend) not in self.plan.kinds:
            raise BudgetError(f"{what} is paid with {type(spend).__name__}, which the plan does not declare")
        after = self.sums.plus(spend)
        if not self._fits(after):
            symbol, cost = self._cost(after)
            _, used = self._cost(self.sums)
            raise BudgetError(f"{what} needs {symbol}={cost - used:.6g}, {max(self._room - used, 0):.6g} is left")
        self.events.append((what, spend))
        self.sums = after

    @property
    def spent(self) -> Spent:
        """The total so far, at the budget's δ (0 when nothing but pure spends without failure was charged)."""
        return self.at(self.sums)

    def at(self, sums: Sums) -> Spent:
        """What some of this ledger's charges cost together."""
        epsilon = sums.epsilon(self.plan.budget.delta, self._accounting)
        pure = self._accounting is Accounting.PURE
        return Spent(
            epsilon=epsilon,
            delta=sums.failure if pure else self.plan.budget.delta,
            rho=sums.rho,
            mu=math.sqrt(sums.mu_squared) if self._accounting is Accounting.GDP else None,
            accounting=self._accounting,
        )

    def _fits(self, sums: Sums) -> bool:
        return sums.failure <= self._failure and self._cost(sums)[1] <= self._room

    def _cost(self, sums: Sums) -> tuple[str, float]:
        return {
            Accounting.GDP: ("μ²", sums.mu_squared),
            Accounting.ZCDP: ("ρ", sums.rho),
            Accounting.PURE: ("ε", sums.pure),
        }[self._accounting]
