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

from ...core.errors import InputError
from ...core.numbers import format_short_number
from ...core.types import value_object
from .accountants import AdditiveAccountant, GdpAccountant, PureAccountant, ZcdpAccountant
from .budget import Budget
from .events import Events


@value_object
class TotalCost:
    """The total cost of events under a lifetime's composition rule, and the δ of their failures.

    Both are exact sums, held as floats that do not overlap. So a sum is the same in whatever order
    its events come, and adding a release takes as long after ten thousand others as after none.
    """

    costs: tuple[float, ...] = ()
    failures: tuple[float, ...] = ()


@value_object
class LifetimeBudget:
    """The total promise for a data set: budget, composition rule, and the δ kept for failures."""

    budget: Budget
    accounting: type[AdditiveAccountant]
    failure: float

    def __post_init__(self) -> None:
        if self.accounting.needs_delta and not 0 <= self.failure < self.budget.delta:
            raise InputError(
                f"total delta={format_short_number(self.budget.delta)} allows no "
                f"{self.accounting.name} beside {self.failure:g}"
            )

    @classmethod
    def from_first_release(cls, budget: Budget, first: Events) -> "LifetimeBudget":
        """Return a lifetime budget with the rule that costs the first release least.

        Only rules that add up every kind of spend are compared; else the rule is Σε.

        Exact Gaussian and zCDP take all kinds of spends, Σε no Gaussian ones: Σε is taken where δ =
        0, and where nothing else lets the first release in. Half of δ is kept for failures where
        the first release may fail.
        """
        if budget.delta == 0:
            return cls(budget, PureAccountant, 0.0)
        failure = budget.delta / 2 if any(event.may_fail for event, _ in first) else 0.0
        candidates = [
            cls(budget, accounting, failure) for accounting in (GdpAccountant, ZcdpAccountant)
        ]
        best = min(candidates, key=lambda lifetime: lifetime.total_epsilon(first))
        pure = cls(budget, PureAccountant, budget.delta)
        return (
            pure
            if best.total_epsilon(first) > budget.epsilon >= pure.total_epsilon(first)
            else best
        )

    def add_events(self, previous: TotalCost, events: Events) -> TotalCost:
        """Return a new total that also counts these events.

        Raises ValueError for an event with a negative cost.
        """
        costs = previous.costs
        failures = previous.failures
        for event, times in events:
            cost = times * self.accounting.event_cost_bound(event) if times else 0.0
            failure = times * event.failure_delta_bound(self.budget.epsilon)
            if not (times >= 0 and cost >= 0 and 0 <= failure < math.inf):
                raise ValueError(
                    f"an event that costs {cost:g} and loses {failure:g} of δ, {times} times"
                )
            costs = _add_exactly(costs, cost)
            failures = _add_exactly(failures, failure)
        return TotalCost(costs, failures)

    def composed_cost(self, events: TotalCost | Events) -> float:
        """Return the Σμ², Σρ or Σε of events or of a total.

        ∞ for a kind that the rule cannot add up, or for too much failure.
        """
        total = self._as_total(events)
        return math.fsum(total.costs) if math.fsum(total.failures) <= self.failure else math.inf

    def failure_delta(self, events: TotalCost | Events) -> float:
        """Return the part of δ that all failures together take at the total ε.

        Σδ₀ + (1 + e^ε)Στ.
        """
        return math.fsum(self._as_total(events).failures)

    def epsilon(self, cost: float) -> float:
        """Return the ε, at the total δ, that an additive cost amounts to."""
        return self.accounting.epsilon_of_cost(cost, self.budget.delta - self.failure)

    def total_epsilon(self, events: TotalCost | Events) -> float:
        """Return the ε of all events together at the total δ, rounded up."""
        return self.epsilon(self.composed_cost(events))

    @property
    def capacity(self) -> float:
        """The largest additive cost that keeps the promise, rounded down."""
        return self.accounting.largest_cost(self.budget.epsilon, self.budget.delta - self.failure)

    def used_capacity_share(self, epsilon: float) -> float:
        """Return the share of the capacity, 0 to 1, that releases totalling `epsilon` have used.

        Shares add up.
        """
        spent = (
            self.accounting.largest_cost(epsilon, self.budget.delta - self.failure)
            if epsilon
            else 0.0
        )
        return spent / self.capacity

    def remaining_epsilon(self, events: TotalCost | Events) -> float:
        """Return the ε, at the total δ, of the largest single further release."""
        return self.epsilon(max(self.capacity - self.composed_cost(events), 0.0))

    def _as_total(self, events: TotalCost | Events) -> TotalCost:
        return events if isinstance(events, TotalCost) else self.add_events(TotalCost(), events)


def _add_exactly(parts: tuple[float, ...], x: float) -> tuple[float, ...]:
    """Return the exact sum of x and of `parts`, as non-overlapping floats, smallest first.

    `parts` are non-overlapping floats as well.

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
