"""A budget in two parts of one accounting: for the schema, and for the algorithm after it.

At δ = 0 the ε of both parts add up. At δ > 0 all is zero-concentrated DP: Σρ of the schema's
Gaussian counts and of whatever the algorithm may do, with Σδ₀ for values above a threshold
(`ColumnCurator.frequent`). The two capacities are fixed beforehand and each is a valid filter, so
that the algorithm may depend on the schema that was found.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from ...core.errors import BudgetError, InputError, require_two_rows
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Json, value_object
from ...privacy import noise_grid
from ...privacy.accounting import (
    MIN_EPSILON,
    ROUNDING_MARGIN,
    AdditiveAccountant,
    Budget,
    EventCounts,
    Plan,
    ZcdpAccountant,
    additive_accounting,
    conversions,
    failure_delta,
    worst_case_events,
)
from ...problems import QueryRelease
from ...schema.partial_schema import UnknownColumn
from ..algorithm import Algorithm, make_plan

SCHEMA_SHARE_RANGE = (0.05, 0.25)  # range of a schema's default share of the additive cost
RARE_CATEGORY_SHARE = 0.01  # share of all rows of a category that should be seen
# share of δ for values above a threshold, and as much for an algorithm that may fail
FAILURE_DELTA_SHARE = 0.25
EPSILON_MARGIN = 1 + 1e-9  # factor by which a part's ε is rounded up
MAX_PLAN_ATTEMPTS = 60
EPSILON_DECREASE = 1e-6


@value_object
class SplitBudget:
    """A budget in two parts: `share` of its cost, ρ or ε, is the first's, the rest the second's.

    A part that may fail, as one does that releases values above a threshold, has a part of δ for
    that. Raises InputError for a share outside (0, 1].
    """

    budget: Budget
    share: float
    first_can_fail: bool
    second_can_fail: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"schema-share={self.share:g} is outside (0, 1]")

    @property
    def accounting(self) -> type[AdditiveAccountant]:
        """The accounting that adds up both parts."""
        return additive_accounting(self.budget)

    @property
    def first_failure(self) -> float:
        """The part of δ that failures of the first part may take."""
        return FAILURE_DELTA_SHARE * self.budget.delta if self.first_can_fail else 0.0

    @property
    def second_failure(self) -> float:
        """The part of δ that failures of the second part may take."""
        return FAILURE_DELTA_SHARE * self.budget.delta if self.second_can_fail else 0.0

    @cached_property
    def cost(self) -> float:
        """The cost of both parts together: ρ, or ε at δ = 0."""
        if self.budget.delta == 0:
            return self.budget.epsilon * ROUNDING_MARGIN
        remaining_delta = self.budget.delta - self.first_failure - self.second_failure
        return conversions.zcdp_rho(self.budget.epsilon, remaining_delta) * ROUNDING_MARGIN

    @property
    def first_cost(self) -> float:
        """The cost that the first part may have."""
        return self.cost * self.share

    @property
    def second_cost(self) -> float:
        """The cost that the second part may have."""
        return self.cost * (1 - self.share)

    @property
    def first(self) -> Budget:
        """The first part as a budget: the ε that its cost and failures amount to at δ."""
        epsilon = self.first_cost
        delta = self.budget.delta
        if delta > 0:
            remaining_delta = delta - self.first_failure
            epsilon = conversions.zcdp_epsilon(self.first_cost, remaining_delta) * EPSILON_MARGIN
        return Budget(max(epsilon, MIN_EPSILON), delta, additive=True)

    @property
    def second(self) -> Budget:
        """The second part as a budget; InputError where it is too small for any."""
        if self.budget.delta == 0:
            return Budget(self.second_cost, 0.0, additive=True)
        failure = self.second_failure
        delta = 2 * failure or self.budget.delta - self.first_failure
        epsilon = conversions.zcdp_epsilon(self.second_cost, delta - failure) * EPSILON_MARGIN
        return Budget(epsilon, delta, additive=True)

    @property
    def reserved_events(self) -> EventCounts:
        """The events that a ledger reserves for both parts before the first draw.

        An upper bound on all spends.
        """
        parts = (
            (self.first_cost, self.first_failure),
            (self.second_cost, self.second_failure),
        )
        return tuple(
            (self.accounting.event_of_cost(cost, failure, frozenset()), 1)
            for cost, failure in parts
            if cost > 0
        )


def default_schema_share(columns: int, n: int, rows_per_person: int, budget: Budget) -> float:
    """Return the budget share for the schema that makes rare categories stand out from noise.

    The share at which RARE_CATEGORY_SHARE of all rows equals six deviations of a category count's
    noise, within SCHEMA_SHARE_RANGE.
    """
    require_two_rows(n)
    rare_rows = RARE_CATEGORY_SHARE * n / rows_per_person
    if budget.delta == 0:
        needed_share = 2 * 6 * columns / (budget.epsilon * rare_rows)
    else:
        needed_share = (
            6**2 * columns / (conversions.zcdp_rho(budget.epsilon, budget.delta) * rare_rows**2)
        )
    return min(max(needed_share, SCHEMA_SHARE_RANGE[0]), SCHEMA_SHARE_RANGE[1])


def split_for_schema(
    columns: Sequence[UnknownColumn],
    share: float | None,
    n: int,
    rows_per_person: int,
    budget: Budget,
) -> SplitBudget:
    """Return a budget split between a schema with these unknown columns and an algorithm.

    The schema has the chosen `share`; where that is None, one by how many columns and rows there
    are.
    """
    if share is None:
        share = default_schema_share(len(columns), n, rows_per_person, budget)
    return SplitBudget(budget, share, first_can_fail=any(c.is_categorical for c in columns))


def fit_split(
    algorithm: Algorithm, problem: QueryRelease, split: SplitBudget, *, exact: bool
) -> tuple[SplitBudget, Plan]:
    """Return the split in which an algorithm can be planned, and its plan with the second part.

    Part of δ is kept for the second part if the algorithm can fail. Raises what `plan_second`
    raises.
    """
    try:
        return split, plan_second(algorithm, problem, split, exact=exact)
    except BudgetError:
        split = replace(split, second_can_fail=True)
        return split, plan_second(algorithm, problem, split, exact=exact)


def plan_second(
    algorithm: Algorithm, problem: QueryRelease, split: SplitBudget, *, exact: bool
) -> Plan:
    """Return the algorithm's plan with at most the second part of a budget, on every path.

    Every path that it may take.

    A plan is made for an ε that is lowered until all that it may spend, ρ and failures, is covered
    by that part.
    """
    part = split.second
    if not split.accounting.needs_delta:
        plan = make_plan(algorithm, problem, part)
        return with_exact_noise(plan) if exact else plan
    for _ in range(MAX_PLAN_ATTEMPTS):
        plan = make_plan(algorithm, problem, part)
        events = worst_case_events(plan, algorithm.adaptive)
        cost = ZcdpAccountant.of_events(events).cost
        failure = failure_delta(events, split.budget)
        if (
            cost <= split.second_cost * ROUNDING_SLACK
            and failure <= split.second_failure * ROUNDING_SLACK
        ):
            return with_exact_noise(plan) if exact else plan
        decrease = min(math.sqrt(split.second_cost / max(cost, 1e-300)), 1.0)
        part = replace(part, epsilon=part.epsilon * (decrease * (1 - EPSILON_DECREASE)))
    raise BudgetError(
        f"what is left of the budget beside the schema is too little for {type(algorithm).__name__}"
    )


def with_exact_noise(plan: Plan) -> Plan:
    """Return the plan with exact noise, where that fits all it measures; else the plan itself."""
    return (
        replace(plan, exact=True)
        if all(map(noise_grid.has_grid, plan.measured_statistics))
        else plan
    )


def describe_schema_cost(split: SplitBudget, columns: Sequence[UnknownColumn]) -> Json:
    """Return a release's description of the budget part that paid for its schema."""
    symbol = "rho" if split.accounting.needs_delta else "epsilon"
    cost = {symbol: split.first_cost, "failure": split.first_failure}
    return {
        "columns": [c.name for c in columns],
        "cost": cost,
        "accounting": split.accounting.name,
    }
