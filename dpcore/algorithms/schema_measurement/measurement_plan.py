"""The cost of measuring a schema, and the rest for an algorithm: one budget, one accounting.

At δ = 0 the ε of all parts add up. At δ > 0 all is zero-concentrated DP: Σρ of the schema's Gaussian counts and of
whatever the algorithm may do, with Σδ₀ for values above a threshold (`ColumnCurator.frequent`). The two capacities are
fixed beforehand and each is a valid filter, so that the algorithm may depend on the schema that was found.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ...core.errors import BudgetError, InputError, check_rows
from ...core.numbers import ROOM, bisected
from ...core.types import Json, value_object
from ...privacy import noise_grid
from ...privacy.accounting import (
    MARGIN,
    SMALLEST,
    Accounting,
    Budget,
    Charge,
    Drawn,
    Events,
    Filtered,
    Gaussian,
    Listed,
    NoiseSpend,
    Plan,
    Pure,
    Sums,
    conversions,
    reserved,
)
from ...privacy.curators.column_curator import passing
from ...privacy.measurement import deviation
from ...privacy.statistics.column_statistics import Categories, KindCounts, Magnitudes, Nodes, TreeCounts
from ...problems import QueryRelease
from ...schema.partial_schema import OpenColumn
from ..algorithm import Algorithm, make_plan
from .number_columns import ENDS, fullest

SHARES, RARE = (0.05, 0.25), 0.01  # of the additive cost, and of all rows: a category that should be seen
FAILURE = 0.25  # share of δ for values above a threshold, and as much for an algorithm that may fail
RANGE, LOOK, KIND = 0.2, 0.2, 0.2  # shares of a column's cost: for the range of its numbers, a first look, and its kind
TRIES, CLOSE = 60, 1e-6
ENOUGH = 0.05  # share of all rows that should be seen of any column
WORDS = {Categories: "its frequent values", Magnitudes: "its range", TreeCounts: "counts of its bins"}


@value_object
class Division:
    """A budget in two capacities of one accounting, ρ or ε: for the schema, and for the rest.

    `failure` and `spare` are the parts of δ that may be lost to failures by the schema and by the rest.
    """

    budget: Budget
    schema: float
    rest: float
    failure: float = 0.0
    spare: float = 0.0

    @property
    def accounting(self) -> Accounting:
        """The accounting that adds up both parts."""
        return Accounting.ZCDP if self.budget.delta > 0 else Accounting.PURE

    @property
    def left(self) -> float:
        """The δ left after reserving what failures may take."""
        return self.budget.delta - self.failure - self.spare

    @property
    def events(self) -> Listed:
        """The events that a ledger reserves for both parts before the first draw: an upper bound on all spends."""
        parts, pure = ((self.schema, self.failure), (self.rest, self.spare)), self.accounting is Accounting.PURE
        return tuple((Pure(cost) if pure else Filtered(cost, failure), 1) for cost, failure in parts if cost > 0)


def default_share(columns: int, n: int, group: int, budget: Budget) -> float:
    """The share at which RARE of all rows equals six deviations of a category count's noise, within SHARES."""
    check_rows(n)
    rare_rows = RARE * n / group
    if budget.delta == 0:
        needed_share = 2 * 6 * columns / (budget.epsilon * rare_rows)
    else:
        needed_share = 6**2 * columns / (conversions.zcdp_rho(budget.epsilon, budget.delta) * rare_rows**2)
    return min(max(needed_share, SHARES[0]), SHARES[1])


def divide(budget: Budget, share: float, *, categories: bool, fails: bool = False) -> Division:
    """The division that gives the schema `share` of the budget and the algorithm, which `fails` or not, the rest."""
    if not 0 < share <= 1:
        raise InputError(f"schema-share={share:g} is outside (0, 1]")
    if budget.delta == 0:
        cost = budget.epsilon * MARGIN
        return Division(budget, cost * share, cost * (1 - share))
    schema_failure, algorithm_failure = (FAILURE * budget.delta * may_fail for may_fail in (categories, fails))
    rho = conversions.zcdp_rho(budget.epsilon, budget.delta - schema_failure - algorithm_failure) * MARGIN
    return Division(budget, rho * share, rho * (1 - share), schema_failure, algorithm_failure)


@value_object
class SchemaPlan:
    """The charges for every open column, from public numbers; `kinds` are columns whose kind is measured first.

    `group` says how many rows neighbours differ in.
    """

    plan: Plan
    n: int
    group: int
    kinds: NoiseSpend | None
    values: Gaussian | None
    bounds: NoiseSpend
    look: NoiseSpend
    tree: NoiseSpend
    columns: tuple[OpenColumn, ...]
    division: Division
    unknown: int  # columns of which not even the kind is known

    @property
    def threshold(self) -> float:
        """The noisy number of rows with a value from which on the value is released."""
        return math.inf if self.values is None else passing(self.values, self.group)[2]

    def expected(self, column: OpenColumn) -> str:
        """The expected error of a column's measurement, in words, from public numbers."""
        if column.categorical:
            if self.values is None:
                return "cannot be measured at delta = 0"
            if self.threshold > self.n:
                return f"all values are hidden, as one category: noise may hide all {self.n:,} rows"
            hidden_rows_text = f"fewer than about {self.threshold:,.0f} of {self.n:,} rows"
            return f"values shared by {hidden_rows_text} are hidden, as one category"
        ends_text = f"up to {self._rows_at_most(2 * ENDS * self.ranks)} lie beyond the ends"
        off = min(self.ranks, self.n)
        return f"{ends_text}, and a bin is off by about {off:,.0f} ({off / self.n:.1%})"

    def _rows_at_most(self, count: float) -> str:
        """Some of the rows in words: what noise may hide is never more than there is."""
        if count >= self.n:
            return f"all {self.n:,} rows (100%)"
        return f"about {count:,.0f} of {self.n:,} rows ({count / self.n:.1%})"

    @property
    def ranks(self) -> float:
        """The typical error of the number of rows below an edge: one node's noise on each of three levels."""
        levels = 3
        return deviation(Nodes(levels), self.tree, 1 / self.group) * math.sqrt(levels)

    def charges(self, column: OpenColumn) -> tuple[Charge, ...]:
        """The charges for one of the open columns."""
        return tuple(charge for charge in self.plan.charges if charge.name == column.name)

    def buys(self, column: OpenColumn) -> str:
        """The purpose of a column's charges, in words."""
        statistics = (charge.statistic for charge in self.charges(column))
        counts_by_kind = Counter(
            statistic if isinstance(statistic, type) else type(statistic) for statistic in statistics
        )
        return ", ".join(WORDS[kind] + f" {times} times" * (times > 1) for kind, times in counts_by_kind.items())

    def least(self, column: OpenColumn) -> float:
        """The number of rows with one value, or numbers of one size, that is needed for it to be seen."""
        if column.categorical:
            return self.threshold
        is_gaussian = isinstance(self.bounds, Gaussian)
        return max(fullest(deviation(Magnitudes(), self.bounds, 1 / self.group), is_gaussian), ENDS * self.ranks)

    def needed(self, column: OpenColumn) -> float:
        """The ε, divided as now, at which ENOUGH of all rows are seen in a column; ∞ where no ε suffices."""
        return _needed(self, replace(column, name=""))

    def wanting(self, column: OpenColumn) -> str:
        """The budget or rows that a column lacks for anything to be seen, in words."""
        epsilon, rows_text = self.needed(column), f"{ENOUGH * self.n:,.0f} rows ({ENOUGH:.0%})"
        return (
            f"{rows_text} would be seen at epsilon = {epsilon:.3g}"
            if epsilon < math.inf
            else f"{rows_text} would not at any"
        )


@lru_cache(maxsize=100)
def _needed(plan: SchemaPlan, column: OpenColumn) -> float:
    current_division = plan.division

    def seen(log_epsilon: float) -> bool:
        budget, share = (
            replace(current_division.budget, epsilon=math.exp(log_epsilon)),
            current_division.schema / (current_division.schema + current_division.rest),
        )
        division = divide(budget, share, categories=current_division.failure > 0, fails=current_division.spare > 0)
        trial_plan = plan_schema(plan.columns, plan.n, plan.group, division, exact=plan.plan.exact, kinds=plan.unknown)
        return trial_plan.least(column) <= ENOUGH * plan.n

    low, high = math.log(SMALLEST * 10), math.log(1e6)
    return math.exp(bisected(lambda log_epsilon: not seen(log_epsilon), low, high, 24)[1]) if seen(high) else math.inf


def plan_schema(
    columns: Sequence[OpenColumn], n: int, group: int, division: Division, *, exact: bool, kinds: int = 0
) -> SchemaPlan:
    """The plan with equal parts for every column, and for the `kinds` columns, whose kind is unknown.

    Raises InputError at δ = 0 where categories are to be measured.
    """
    d = len(columns) or kinds
    column_cost = division.schema / max(d, 1) * MARGIN * (1 - KIND if kinds else 1)
    categorical_count = sum(c.categorical for c in columns) or kinds
    is_pure = division.accounting is Accounting.PURE
    if is_pure and (categorical_names := [c.name for c in columns if c.categorical]):
        raise InputError(
            f"column {categorical_names[0]!r}: at delta=0 its values cannot be measured, because a single row would "
            "reveal its "
            "own; list them, or choose delta > 0"
        )

    def spend(part: float) -> NoiseSpend:
        return Pure(part * column_cost) if is_pure else Gaussian(math.sqrt(2 * part * column_cost))

    kinds_spend = spend(KIND / (1 - KIND)) if kinds else None
    categories_spend = None
    if categorical_count and not is_pure:
        categories_spend = Gaussian(math.sqrt(2 * column_cost), division.failure / categorical_count * MARGIN)
    range_spend, first_look_spend, tree_spend = spend(RANGE), spend(LOOK), spend(1 - RANGE - LOOK)
    number_measurements = ((range_spend, Magnitudes()), (first_look_spend, TreeCounts), (tree_spend, TreeCounts))
    charges = [Charge("count", kinds_spend, kinds, KindCounts())] if kinds_spend else []
    for column in columns:
        if column.categorical and categories_spend is not None:
            charges.append(Charge("frequent", categories_spend, 1, Categories(), column.name))
        else:
            charges += [Charge("count", spend, 1, of, column.name) for spend, of in number_measurements]
    if kinds and categories_spend is not None:  # as dear as the counts of numbers, which a column may take in its place
        charges.append(Charge("frequent", categories_spend, kinds, Categories()))
    elif kinds:
        charges += [Charge("count", spend, kinds, of) for spend, of in number_measurements]
    enclosing_plan = _enclosed(charges, division, exact)
    return SchemaPlan(
        enclosing_plan,
        n,
        group,
        kinds_spend,
        categories_spend,
        range_spend,
        first_look_spend,
        tree_spend,
        tuple(columns),
        division,
        kinds,
    )


@value_object
class SchemaShare:
    """The share of a budget that measures a schema, and whether categories are among what is measured."""

    part: float
    categories: bool

    def planned(
        self, algorithm: Algorithm, problem: QueryRelease, budget: Budget, *, exact: bool
    ) -> tuple[Division, Plan]:
        """The division of a budget, and the algorithm's plan with the rest; part of δ is kept if that can fail.

        Raises what `within` raises.
        """
        division = divide(budget, self.part, categories=self.categories)
        try:
            return division, plan_within(algorithm, problem, division, exact=exact)
        except BudgetError:
            division = divide(budget, self.part, categories=self.categories, fails=True)
            return division, plan_within(algorithm, problem, division, exact=exact)


def share_of(columns: Sequence[OpenColumn], part: float | None, n: int, group: int, budget: Budget) -> SchemaShare:
    """A schema's share of a budget: the one that was chosen, else by how many columns and records there are."""
    part = default_share(len(columns), n, group, budget) if part is None else part
    return SchemaShare(part, any(column.categorical for column in columns))


def plan_within(algorithm: Algorithm, problem: QueryRelease, division: Division, *, exact: bool) -> Plan:
    """The algorithm's plan with at most the rest of the budget, on every path that it may take.

    A plan is made for an ε that is lowered until all that it may spend, ρ and failures, is covered by the rest.
    """
    if division.accounting is Accounting.PURE:
        plan = make_plan(algorithm, problem, Budget(division.rest, 0.0, additive=True))
        return exactly(plan) if exact else plan
    algorithm_delta = 2 * division.spare or division.left
    epsilon = conversions.zcdp_epsilon(division.rest, algorithm_delta - division.spare) * (1 + 1e-9)
    for _ in range(TRIES):
        plan = make_plan(algorithm, problem, Budget(epsilon, algorithm_delta, additive=True))
        cost, failure_delta = spent(reserved(plan, algorithm.adaptive), division.budget)
        if cost <= division.rest * ROOM and failure_delta <= division.spare * ROOM:
            return exactly(plan) if exact else plan
        epsilon *= min(math.sqrt(division.rest / max(cost, 1e-300)), 1.0) * (1 - CLOSE)
    raise BudgetError(f"what is left of the budget beside the schema is too little for {type(algorithm).__name__}")


def exactly(plan: Plan) -> Plan:
    """The plan with exact noise, where that fits all that it measures; else the plan itself."""
    return replace(plan, exact=True) if all(map(noise_grid.gridded, plan.measured)) else plan


def spent(events: Events, budget: Budget) -> tuple[float, float]:
    """The Σρ of events, and the part of δ that their failures take at the budget's ε."""
    failure_delta = math.fsum(
        times * ((1 + math.exp(min(budget.epsilon, 700.0))) * e.error if isinstance(e, Drawn) else e.failure)
        for e, times in events
    )
    return Sums.of(events).rho, failure_delta


def joint_cost(division: Division, schema: Plan, algorithm: Plan, adaptive: bool) -> tuple[float, float, float]:
    """The total cost of the schema's charges and all that the algorithm may spend: Σρ or Σε, failures, ε."""
    events = [*((c.spend, c.times) for c in schema.charges), *reserved(algorithm, adaptive)]
    if division.accounting is Accounting.PURE:
        cost = Sums.of(events).pure
        return cost, 0.0, cost
    rho, failure_delta = spent(events, division.budget)
    return rho, failure_delta, conversions.zcdp_epsilon(rho, division.budget.delta - failure_delta)


def check_whole(division: Division, schema: Plan, algorithm: Plan, adaptive: bool) -> None:
    """Raise BudgetError unless the schema's charges and all that the algorithm may spend keep the whole budget."""
    epsilon, allowed_epsilon = joint_cost(division, schema, algorithm, adaptive)[-1], division.budget.epsilon
    if not epsilon <= allowed_epsilon:
        raise BudgetError(f"schema and algorithm together need ε={epsilon:.9g}, {allowed_epsilon:.9g} is given")


def _enclosed(charges: Sequence[Charge], division: Division, exact: bool) -> Plan:
    """A plan of the charges alone, with no more budget than they need."""
    sums = Sums.of((c.spend, c.times) for c in charges)
    delta, epsilon = division.budget.delta, sums.pure * ROOM
    if division.accounting is not Accounting.PURE:
        epsilon = conversions.zcdp_epsilon(sums.rho, delta - sums.failure) * (1 + 1e-9)
    return Plan(Budget(max(epsilon, SMALLEST), delta, additive=True), tuple(charges), exact=exact)


def describe(division: Division, columns: Sequence[OpenColumn]) -> Json:
    """A release's description of the part of the budget that paid for its schema."""
    symbol = "epsilon" if division.accounting is Accounting.PURE else "rho"
    cost = {symbol: division.schema, "failure": division.failure}
    return {"columns": [c.name for c in columns], "cost": cost, "accounting": str(division.accounting)}
