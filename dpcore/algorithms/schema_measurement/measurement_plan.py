"""The planned events of measuring columns: an equal part of a budget for each of them."""

import math

from ...core.errors import InputError
from ...core.types import value_object
from ...privacy.accounting import (
    ROUNDING_MARGIN,
    Budget,
    Gaussian,
    NoiseSpend,
    Plan,
    PlannedEvent,
    Pure,
    Setting,
)
from ...privacy.statistics.column_statistics import Categories, KindCounts, Magnitudes, TreeCounts
from ...problems import ColumnMeasurement
from .split_budget import SplitBudget

# shares of a column's cost: for the range of its numbers, a first look, and its kind
RANGE_COST_SHARE = 0.2
FIRST_LOOK_COST_SHARE = 0.2
KIND_COST_SHARE = 0.2


def plan_columns(problem: ColumnMeasurement, budget: Budget, split: SplitBudget) -> Plan:
    """Return the plan that gives every column an equal part of the first part of a split.

    Args:
        problem: The columns, those of unknown kind included, and the number of rows.
        budget: The first part as a budget, which the plan must keep.
        split: How the whole budget is split; its cost, and not its ε, is what the columns share.

    Raises:
        InputError: Categories are to be measured at δ = 0.

    """
    spends = _ColumnSpends.of_split(problem, split)
    equal_parts = "an equal part for every column"
    settings = (
        Setting("rounds", problem.column_count, "one for every column"),
        Setting("split", split, "given"),
        Setting("kinds", spends.kinds, equal_parts),
        Setting("categories", spends.categories, equal_parts),
        Setting("range", spends.range, f"{RANGE_COST_SHARE:.0%} of a column's part"),
        Setting("first_look", spends.first_look, f"{FIRST_LOOK_COST_SHARE:.0%} of a column's part"),
        Setting("tree", spends.tree, "the rest of a column's part"),
    )
    return Plan(budget, tuple(_column_events(problem, spends)), settings)


@value_object
class _ColumnSpends:
    """The spends of each of a column's measurements; None for what no column needs."""

    kinds: NoiseSpend | None
    categories: Gaussian | None
    range: NoiseSpend
    first_look: NoiseSpend
    tree: NoiseSpend

    @classmethod
    def of_split(cls, problem: ColumnMeasurement, split: SplitBudget) -> "_ColumnSpends":
        """Return the spends that give every column an equal part of the first part's cost.

        Raises InputError at δ = 0 where categories are to be measured.
        """
        has_unknown_kinds = bool(problem.names_of_unknown_kind)
        column_share = 1 - KIND_COST_SHARE if has_unknown_kinds else 1
        column_cost = (
            split.first_cost / max(problem.column_count, 1) * ROUNDING_MARGIN * column_share
        )
        is_pure = not split.accounting.needs_delta
        categorical_names = problem.categorical_names
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
        categorical_count = len(categorical_names) or len(problem.names_of_unknown_kind)
        categories_spend = None
        if categorical_count and not is_pure:
            failure = split.first_failure / categorical_count * ROUNDING_MARGIN
            categories_spend = Gaussian(math.sqrt(2 * column_cost), failure)
        return cls(
            spend_of_share(kind_share) if has_unknown_kinds else None,
            categories_spend,
            spend_of_share(RANGE_COST_SHARE),
            spend_of_share(FIRST_LOOK_COST_SHARE),
            spend_of_share(1 - RANGE_COST_SHARE - FIRST_LOOK_COST_SHARE),
        )


def _column_events(problem: ColumnMeasurement, spends: _ColumnSpends) -> list[PlannedEvent]:
    """Return the planned measurements of the columns, and of those whose kind is unknown."""
    unknown_kind_count = len(problem.names_of_unknown_kind)
    number_measurements = (
        (spends.range, Magnitudes()),
        (spends.first_look, TreeCounts),
        (spends.tree, TreeCounts),
    )
    events = []
    if spends.kinds:
        events.append(PlannedEvent("count", spends.kinds, unknown_kind_count, KindCounts()))
    for column in problem.columns:
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
