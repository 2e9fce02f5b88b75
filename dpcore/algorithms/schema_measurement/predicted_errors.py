"""Predicted errors of measuring columns, in words and numbers, from public facts alone.

Each function speaks of one column, or of all, by a problem and a plan that was made for it.
"""

import math
from collections import Counter
from dataclasses import replace
from functools import lru_cache

from ...core.numbers import bisect_interval
from ...privacy.accounting import MIN_EPSILON, Plan, PlannedEvent
from ...privacy.curators.column_curator import threshold_parameters
from ...privacy.measurement import noise_stddev
from ...privacy.statistics.column_statistics import (
    Categories,
    HistogramSensitivity,
    Magnitudes,
    TreeCounts,
)
from ...problems import ColumnMeasurement
from ...schema.partial_schema import UnknownColumn
from .measurement_plan import plan_columns
from .number_columns import END_DEVIATIONS, min_fullest_count

VISIBLE_ROWS_SHARE = 0.05  # share of all rows that should be seen of any column
MAX_SEARCHED_EPSILON = 1e6
SEARCH_HALVINGS = 24
TREE_LEVELS = 3  # levels of a tree that a row's rank is read from
STATISTIC_DESCRIPTIONS = {
    Categories: "its frequent values",
    Magnitudes: "its range",
    TreeCounts: "counts of its bins",
}


def values_threshold(problem: ColumnMeasurement, plan: Plan) -> float:
    """Return the noisy number of rows with a value from which on the value is released."""
    spend = plan["categories"]
    return math.inf if spend is None else threshold_parameters(spend, problem.group)[2]


def rank_error(problem: ColumnMeasurement, plan: Plan) -> float:
    """Return the root mean square error of the number of rows below an edge.

    One node's noise on each of TREE_LEVELS levels.
    """
    sensitivity = HistogramSensitivity(TREE_LEVELS)
    return noise_stddev(sensitivity, plan["tree"], 1 / problem.group) * math.sqrt(TREE_LEVELS)


def predicted_error_text(column: UnknownColumn, problem: ColumnMeasurement, plan: Plan) -> str:
    """Return the predicted error of a column's measurement, in words."""
    n = problem.n
    if column.is_categorical:
        if plan["categories"] is None:
            return "cannot be measured at delta = 0"
        threshold = values_threshold(problem, plan)
        if threshold > n:
            return f"all values are hidden, as one category: noise may hide all {n:,} rows"
        hidden_rows_text = f"fewer than about {threshold:,.0f} of {n:,} rows"
        return f"values shared by {hidden_rows_text} are hidden, as one category"
    error = rank_error(problem, plan)
    ends_text = f"up to {_rows_at_most(2 * END_DEVIATIONS * error, n)} lie beyond the ends"
    off = min(error, n)
    return f"{ends_text}, and a bin is off by about {off:,.0f} ({off / n:.1%})"


def _rows_at_most(count: float, n: int) -> str:
    """Return some of the n rows in words, never more than there are.

    What noise may hide is at most all rows.
    """
    if count >= n:
        return f"all {n:,} rows (100%)"
    return f"about {count:,.0f} of {n:,} rows ({count / n:.1%})"


def planned_events_of(column: UnknownColumn, plan: Plan) -> tuple[PlannedEvent, ...]:
    """Return the planned events for one of the columns of known kind."""
    return tuple(event for event in plan.planned_events if event.name == column.name)


def purpose_text(column: UnknownColumn, plan: Plan) -> str:
    """Return the purpose of a column's planned events, in words."""
    statistics = (event.statistic for event in planned_events_of(column, plan))
    counts_by_kind = Counter(
        statistic if isinstance(statistic, type) else type(statistic) for statistic in statistics
    )
    purposes = []
    for kind, times in counts_by_kind.items():
        times_text = f" {times} times" if times > 1 else ""
        purposes.append(STATISTIC_DESCRIPTIONS[kind] + times_text)
    return ", ".join(purposes)


def min_visible_rows(column: UnknownColumn, problem: ColumnMeasurement, plan: Plan) -> float:
    """Return the number of rows that a value needs to be seen.

    Rows with one value, or numbers of one size.
    """
    if column.is_categorical:
        return values_threshold(problem, plan)
    spend = plan["range"]
    range_stddev = noise_stddev(Magnitudes(), spend, 1 / problem.group)
    return max(
        min_fullest_count(range_stddev, not spend.has_laplace_noise),
        END_DEVIATIONS * rank_error(problem, plan),
    )


def needed_epsilon(column: UnknownColumn, problem: ColumnMeasurement, plan: Plan) -> float:
    """Return the ε, split as now, at which enough rows of a column are seen.

    VISIBLE_ROWS_SHARE of all rows; ∞ where no ε suffices.
    """
    return _needed_epsilon(replace(column, name=""), problem, plan)


@lru_cache(maxsize=100)
def _needed_epsilon(column: UnknownColumn, problem: ColumnMeasurement, plan: Plan) -> float:
    split = plan["split"]

    def is_hidden(log_epsilon: float) -> bool:
        budget = replace(split.budget, epsilon=math.exp(log_epsilon))
        trial_split = replace(split, budget=budget)
        trial_plan = plan_columns(problem, trial_split.first, trial_split)
        return min_visible_rows(column, problem, trial_plan) > VISIBLE_ROWS_SHARE * problem.n

    low = math.log(MIN_EPSILON * 10)
    high = math.log(MAX_SEARCHED_EPSILON)
    if is_hidden(high):
        return math.inf
    return math.exp(bisect_interval(is_hidden, low, high, SEARCH_HALVINGS)[1])


def missing_budget_text(column: UnknownColumn, problem: ColumnMeasurement, plan: Plan) -> str:
    """Return the budget or rows that a column lacks for anything to be seen, in words."""
    epsilon = needed_epsilon(column, problem, plan)
    rows_text = f"{VISIBLE_ROWS_SHARE * problem.n:,.0f} rows ({VISIBLE_ROWS_SHARE:.0%})"
    return (
        f"{rows_text} would be seen at epsilon = {epsilon:.3g}"
        if epsilon < math.inf
        else f"{rows_text} would not at any"
    )
