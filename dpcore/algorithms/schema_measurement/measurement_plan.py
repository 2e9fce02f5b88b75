"""The cost of measuring a schema, and the rest for an algorithm: one budget, one accounting.

At δ = 0 the ε of all parts add up. At δ > 0 all is zero-concentrated DP: Σρ of the schema's
Gaussian counts and of whatever the algorithm may do, with Σδ₀ for values above a threshold
(`ColumnCurator.frequent`). The two capacities are fixed beforehand and each is a valid filter, so
that the algorithm may depend on the schema that was found.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ...core.errors import BudgetError, InputError, require_two_rows
from ...core.numbers import ROUNDING_SLACK, bisect_interval
from ...core.types import Json, value_object
from ...privacy import noise_grid
from ...privacy.accounting import (
    MIN_EPSILON,
    ROUNDING_MARGIN,
    AdditiveAccountant,
    Budget,
    EventCounts,
    Events,
    Gaussian,
    NoiseSpend,
    Plan,
    PlannedEvent,
    Pure,
    PureAccountant,
    ZcdpAccountant,
    conversions,
    worst_case_events,
)
from ...privacy.curators.column_curator import threshold_parameters
from ...privacy.measurement import noise_stddev
from ...privacy.statistics.column_statistics import (
    Categories,
    HistogramSensitivity,
    KindCounts,
    Magnitudes,
    TreeCounts,
)
from ...problems import QueryRelease
from ...schema.partial_schema import UnknownColumn
from ..algorithm import Algorithm, make_plan
from .number_columns import END_DEVIATIONS, min_fullest_count

SCHEMA_SHARE_RANGE = (0.05, 0.25)  # range of a schema's default share of the additive cost
RARE_CATEGORY_SHARE = 0.01  # share of all rows of a category that should be seen
# share of δ for values above a threshold, and as much for an algorithm that may fail
FAILURE_DELTA_SHARE = 0.25
# shares of a column's cost: for the range of its numbers, a first look, and its kind
RANGE_COST_SHARE = 0.2
FIRST_LOOK_COST_SHARE = 0.2
KIND_COST_SHARE = 0.2
MAX_PLAN_ATTEMPTS = 60
EPSILON_DECREASE = 1e-6
VISIBLE_ROWS_SHARE = 0.05  # share of all rows that should be seen of any column
STATISTIC_DESCRIPTIONS = {
    Categories: "its frequent values",
    Magnitudes: "its range",
    TreeCounts: "counts of its bins",
}


@value_object
class BudgetDivision:
    """A budget in two capacities of one accounting, ρ or ε: for the schema, and for the rest.

    `schema_failure` and `algorithm_failure` are the parts of δ that may be lost to failures by the
    schema and by the rest.
    """

    budget: Budget
    schema_cost: float
    algorithm_cost: float
    schema_failure: float = 0.0
    algorithm_failure: float = 0.0

    @property
    def accounting(self) -> type[AdditiveAccountant]:
        """The accounting that adds up both parts."""
        return ZcdpAccountant if self.budget.delta > 0 else PureAccountant

    @property
    def remaining_delta(self) -> float:
        """The δ left after reserving what failures may take."""
        return self.budget.delta - self.schema_failure - self.algorithm_failure

    @property
    def reserved_events(self) -> EventCounts:
        """The events that a ledger reserves for both parts before the first draw.

        An upper bound on all spends.
        """
        parts = (
            (self.schema_cost, self.schema_failure),
            (self.algorithm_cost, self.algorithm_failure),
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


def divide_budget(
    budget: Budget, share: float, *, has_categories: bool, can_fail: bool = False
) -> BudgetDivision:
    """Return the division that gives the schema `share` of the budget, the algorithm the rest.

    The algorithm `can_fail` or not.
    """
    if not 0 < share <= 1:
        raise InputError(f"schema-share={share:g} is outside (0, 1]")
    if budget.delta == 0:
        cost = budget.epsilon * ROUNDING_MARGIN
        return BudgetDivision(budget, cost * share, cost * (1 - share))
    failure = FAILURE_DELTA_SHARE * budget.delta
    schema_failure = failure if has_categories else 0.0
    algorithm_failure = failure if can_fail else 0.0
    rho = (
        conversions.zcdp_rho(budget.epsilon, budget.delta - schema_failure - algorithm_failure)
        * ROUNDING_MARGIN
    )
    return BudgetDivision(budget, rho * share, rho * (1 - share), schema_failure, algorithm_failure)


@value_object
class SchemaPlan:
    """The planned events for every unknown column, from public numbers.

    `kinds` are columns whose kind is measured first. `rows_per_person` says how many rows
    neighbours differ in.
    """

    plan: Plan
    n: int
    rows_per_person: int
    kinds_spend: NoiseSpend | None
    categories_spend: Gaussian | None
    range_spend: NoiseSpend
    first_look_spend: NoiseSpend
    tree_spend: NoiseSpend
    columns: tuple[UnknownColumn, ...]
    division: BudgetDivision
    unknown_kind_count: int  # columns of which not even the kind is known

    @property
    def threshold(self) -> float:
        """The noisy number of rows with a value from which on the value is released."""
        return (
            math.inf
            if self.categories_spend is None
            else threshold_parameters(self.categories_spend, self.rows_per_person)[2]
        )

    def predicted_error_text(self, column: UnknownColumn) -> str:
        """Return the predicted error of a column's measurement, in words, from public numbers."""
        if column.is_categorical:
            if self.categories_spend is None:
                return "cannot be measured at delta = 0"
            if self.threshold > self.n:
                return f"all values are hidden, as one category: noise may hide all {self.n:,} rows"
            hidden_rows_text = f"fewer than about {self.threshold:,.0f} of {self.n:,} rows"
            return f"values shared by {hidden_rows_text} are hidden, as one category"
        ends_text = (
            f"up to {self._rows_at_most(2 * END_DEVIATIONS * self.rank_error)} lie beyond the ends"
        )
        off = min(self.rank_error, self.n)
        return f"{ends_text}, and a bin is off by about {off:,.0f} ({off / self.n:.1%})"

    def _rows_at_most(self, count: float) -> str:
        """Return some of the rows in words, never more than there are.

        What noise may hide is at most all rows.
        """
        if count >= self.n:
            return f"all {self.n:,} rows (100%)"
        return f"about {count:,.0f} of {self.n:,} rows ({count / self.n:.1%})"

    @property
    def rank_error(self) -> float:
        """The typical error of the number of rows below an edge.

        One node's noise on each of three levels.
        """
        levels = 3
        return noise_stddev(
            HistogramSensitivity(levels), self.tree_spend, 1 / self.rows_per_person
        ) * math.sqrt(levels)

    def charges_of(self, column: UnknownColumn) -> tuple[PlannedEvent, ...]:
        """Return the planned events for one of the unknown columns."""
        return tuple(charge for charge in self.plan.planned_events if charge.name == column.name)

    def purpose_text(self, column: UnknownColumn) -> str:
        """Return the purpose of a column's planned events, in words."""
        statistics = (charge.statistic for charge in self.charges_of(column))
        counts_by_kind = Counter(
            statistic if isinstance(statistic, type) else type(statistic)
            for statistic in statistics
        )
        purposes = []
        for kind, times in counts_by_kind.items():
            times_text = f" {times} times" if times > 1 else ""
            purposes.append(STATISTIC_DESCRIPTIONS[kind] + times_text)
        return ", ".join(purposes)

    def min_visible_rows(self, column: UnknownColumn) -> float:
        """Return the number of rows that a value needs to be seen.

        Rows with one value, or numbers of one size.
        """
        if column.is_categorical:
            return self.threshold
        is_gaussian = not self.range_spend.has_laplace_noise
        return max(
            min_fullest_count(
                noise_stddev(Magnitudes(), self.range_spend, 1 / self.rows_per_person), is_gaussian
            ),
            END_DEVIATIONS * self.rank_error,
        )

    def needed_epsilon(self, column: UnknownColumn) -> float:
        """Return the ε, divided as now, at which enough rows of a column are seen.

        VISIBLE_ROWS_SHARE of all rows; ∞ where no ε suffices.
        """
        return _needed_epsilon(self, replace(column, name=""))

    def missing_budget_text(self, column: UnknownColumn) -> str:
        """Return the budget or rows that a column lacks for anything to be seen, in words."""
        epsilon = self.needed_epsilon(column)
        rows_text = f"{VISIBLE_ROWS_SHARE * self.n:,.0f} rows ({VISIBLE_ROWS_SHARE:.0%})"
        return (
            f"{rows_text} would be seen at epsilon = {epsilon:.3g}"
            if epsilon < math.inf
            else f"{rows_text} would not at any"
        )


@lru_cache(maxsize=100)
def _needed_epsilon(plan: SchemaPlan, column: UnknownColumn) -> float:
    current_division = plan.division

    def is_visible(log_epsilon: float) -> bool:
        budget = replace(current_division.budget, epsilon=math.exp(log_epsilon))
        share = current_division.schema_cost / (
            current_division.schema_cost + current_division.algorithm_cost
        )
        division = divide_budget(
            budget,
            share,
            has_categories=current_division.schema_failure > 0,
            can_fail=current_division.algorithm_failure > 0,
        )
        trial_plan = plan_schema(
            plan.columns,
            plan.n,
            plan.rows_per_person,
            division,
            exact=plan.plan.exact,
            unknown_kind_count=plan.unknown_kind_count,
        )
        return trial_plan.min_visible_rows(column) <= VISIBLE_ROWS_SHARE * plan.n

    low = math.log(MIN_EPSILON * 10)
    high = math.log(1e6)
    return (
        math.exp(bisect_interval(lambda log_epsilon: not is_visible(log_epsilon), low, high, 24)[1])
        if is_visible(high)
        else math.inf
    )


def plan_schema(
    columns: Sequence[UnknownColumn],
    n: int,
    rows_per_person: int,
    division: BudgetDivision,
    *,
    exact: bool,
    unknown_kind_count: int = 0,
) -> SchemaPlan:
    """Return the plan with equal parts for every column.

    And for the columns whose kind is unknown (`unknown_kind_count`). Raises InputError at δ = 0
    where categories are to be measured.
    """
    spends = _ColumnSpends.of_division(columns, division, unknown_kind_count)
    events = _column_events(columns, spends, unknown_kind_count)
    return SchemaPlan(
        _smallest_plan(events, division, exact),
        n,
        rows_per_person,
        spends.kinds,
        spends.categories,
        spends.range,
        spends.first_look,
        spends.tree,
        tuple(columns),
        division,
        unknown_kind_count,
    )


@value_object
class _ColumnSpends:
    """The spends of each of a column's measurements; None for what no column needs."""

    kinds: NoiseSpend | None
    categories: Gaussian | None
    range: NoiseSpend
    first_look: NoiseSpend
    tree: NoiseSpend

    @classmethod
    def of_division(
        cls, columns: Sequence[UnknownColumn], division: BudgetDivision, unknown_kind_count: int
    ) -> "_ColumnSpends":
        """Return the spends that give every column an equal part of the schema's cost.

        Raises InputError at δ = 0 where categories are to be measured.
        """
        d = len(columns) or unknown_kind_count
        column_share = 1 - KIND_COST_SHARE if unknown_kind_count else 1
        column_cost = division.schema_cost / max(d, 1) * ROUNDING_MARGIN * column_share
        is_pure = not division.accounting.needs_delta
        categorical_names = [c.name for c in columns if c.is_categorical]
        if is_pure and categorical_names:
            raise InputError(
                f"column {categorical_names[0]!r}: at delta=0 its values cannot be measured, "
                "because a single row would reveal its own; list them, or choose delta > 0"
            )

        def spend_of_share(share: float) -> NoiseSpend:
            """Return the spend of a share of a column's cost."""
            if is_pure:
                return Pure(share * column_cost)
            return Gaussian(math.sqrt(2 * share * column_cost))

        kind_share = KIND_COST_SHARE / (1 - KIND_COST_SHARE)
        categorical_count = len(categorical_names) or unknown_kind_count
        categories_spend = None
        if categorical_count and not is_pure:
            failure = division.schema_failure / categorical_count * ROUNDING_MARGIN
            categories_spend = Gaussian(math.sqrt(2 * column_cost), failure)
        return cls(
            spend_of_share(kind_share) if unknown_kind_count else None,
            categories_spend,
            spend_of_share(RANGE_COST_SHARE),
            spend_of_share(FIRST_LOOK_COST_SHARE),
            spend_of_share(1 - RANGE_COST_SHARE - FIRST_LOOK_COST_SHARE),
        )


def _column_events(
    columns: Sequence[UnknownColumn], spends: _ColumnSpends, unknown_kind_count: int
) -> list[PlannedEvent]:
    """Return the planned measurements of the columns, and of those whose kind is unknown."""
    number_measurements = (
        (spends.range, Magnitudes()),
        (spends.first_look, TreeCounts),
        (spends.tree, TreeCounts),
    )
    events = []
    if spends.kinds:
        events.append(PlannedEvent("count", spends.kinds, unknown_kind_count, KindCounts()))
    for column in columns:
        if column.is_categorical and spends.categories is not None:
            events.append(PlannedEvent("frequent", spends.categories, 1, Categories(), column.name))
        else:
            events += [
                PlannedEvent("count", spend, 1, statistic, column.name)
                for spend, statistic in number_measurements
            ]
    # as dear as the counts of numbers, which a column may take in its place
    if unknown_kind_count and spends.categories is not None:
        events.append(PlannedEvent("frequent", spends.categories, unknown_kind_count, Categories()))
    elif unknown_kind_count:
        events += [
            PlannedEvent("count", spend, unknown_kind_count, statistic)
            for spend, statistic in number_measurements
        ]
    return events


@value_object
class SchemaShare:
    """The share of a budget that measures a schema.

    And whether categories are among what is measured.
    """

    fraction: float
    has_categories: bool

    def divide_and_plan(
        self, algorithm: Algorithm, problem: QueryRelease, budget: Budget, *, exact: bool
    ) -> tuple[BudgetDivision, Plan]:
        """Return the division of a budget, and the algorithm's plan with the rest.

        Part of δ is kept if that can fail. Raises what `plan_within_division` raises.
        """
        division = divide_budget(budget, self.fraction, has_categories=self.has_categories)
        try:
            return division, plan_within_division(algorithm, problem, division, exact=exact)
        except BudgetError:
            division = divide_budget(
                budget, self.fraction, has_categories=self.has_categories, can_fail=True
            )
            return division, plan_within_division(algorithm, problem, division, exact=exact)


def choose_schema_share(
    columns: Sequence[UnknownColumn],
    fraction: float | None,
    n: int,
    rows_per_person: int,
    budget: Budget,
) -> SchemaShare:
    """Return a schema's share of a budget: the chosen one, else by columns and rows.

    By how many columns and rows there are.
    """
    fraction = (
        default_schema_share(len(columns), n, rows_per_person, budget)
        if fraction is None
        else fraction
    )
    return SchemaShare(fraction, any(column.is_categorical for column in columns))


def plan_within_division(
    algorithm: Algorithm, problem: QueryRelease, division: BudgetDivision, *, exact: bool
) -> Plan:
    """Return the algorithm's plan with at most the rest of the budget, on every path.

    Every path that it may take.

    A plan is made for an ε that is lowered until all that it may spend, ρ and failures, is covered
    by the rest.
    """
    if not division.accounting.needs_delta:
        plan = make_plan(algorithm, problem, Budget(division.algorithm_cost, 0.0, additive=True))
        return with_exact_noise(plan) if exact else plan
    algorithm_delta = 2 * division.algorithm_failure or division.remaining_delta
    epsilon = conversions.zcdp_epsilon(
        division.algorithm_cost, algorithm_delta - division.algorithm_failure
    ) * (1 + 1e-9)
    for _ in range(MAX_PLAN_ATTEMPTS):
        plan = make_plan(algorithm, problem, Budget(epsilon, algorithm_delta, additive=True))
        cost, failure_delta = rho_and_failure_delta(
            worst_case_events(plan, algorithm.adaptive), division.budget
        )
        if (
            cost <= division.algorithm_cost * ROUNDING_SLACK
            and failure_delta <= division.algorithm_failure * ROUNDING_SLACK
        ):
            return with_exact_noise(plan) if exact else plan
        epsilon *= min(math.sqrt(division.algorithm_cost / max(cost, 1e-300)), 1.0) * (
            1 - EPSILON_DECREASE
        )
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


def rho_and_failure_delta(events: Events, budget: Budget) -> tuple[float, float]:
    """Return the Σρ of events, and the part of δ that their failures take at the budget's ε."""
    failure_delta = math.fsum(
        times * event.failure_delta(budget.epsilon) for event, times in events
    )
    return ZcdpAccountant.of_events(events).cost, failure_delta


def joint_cost(
    division: BudgetDivision, schema_plan: Plan, algorithm_plan: Plan, adaptive: bool
) -> tuple[float, float, float]:
    """Return the total cost of the schema's events and all that the algorithm may spend.

    Σρ or Σε, failures, ε.
    """
    events = [
        *((c.spend, c.times) for c in schema_plan.planned_events),
        *worst_case_events(algorithm_plan, adaptive),
    ]
    if not division.accounting.needs_delta:
        cost = PureAccountant.of_events(events).cost
        return cost, 0.0, cost
    rho, failure_delta = rho_and_failure_delta(events, division.budget)
    return rho, failure_delta, conversions.zcdp_epsilon(rho, division.budget.delta - failure_delta)


def check_joint_cost(
    division: BudgetDivision, schema_plan: Plan, algorithm_plan: Plan, adaptive: bool
) -> None:
    """Raise BudgetError unless schema and algorithm together keep the whole budget.

    The schema's events and all that the algorithm may spend.
    """
    epsilon = joint_cost(division, schema_plan, algorithm_plan, adaptive)[-1]
    allowed_epsilon = division.budget.epsilon
    if not epsilon <= allowed_epsilon:
        raise BudgetError(
            f"schema and algorithm together need ε={epsilon:.9g}, {allowed_epsilon:.9g} is given"
        )


def _smallest_plan(charges: Sequence[PlannedEvent], division: BudgetDivision, exact: bool) -> Plan:
    """Return a plan of the events alone, with no more budget than they need."""
    accountant = division.accounting.of_events([(c.spend, c.times) for c in charges])
    delta = division.budget.delta
    epsilon = accountant.cost * ROUNDING_SLACK
    if division.accounting.needs_delta:
        epsilon = conversions.zcdp_epsilon(accountant.cost, delta - accountant.failure) * (1 + 1e-9)
    return Plan(
        Budget(max(epsilon, MIN_EPSILON), delta, additive=True), tuple(charges), exact=exact
    )


def describe_schema_cost(division: BudgetDivision, columns: Sequence[UnknownColumn]) -> Json:
    """Return a release's description of the budget part that paid for its schema."""
    symbol = "rho" if division.accounting.needs_delta else "epsilon"
    cost = {symbol: division.schema_cost, "failure": division.schema_failure}
    return {
        "columns": [c.name for c in columns],
        "cost": cost,
        "accounting": division.accounting.name,
    }
