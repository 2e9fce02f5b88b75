"""Findings on columns from noisy counts: post-processing of a `ColumnCurator`'s releases.

And nothing else.
"""

from dataclasses import replace

import numpy as np

from ...core.provenance import Released
from ...core.types import Array, Json, frozen
from ...privacy.accounting import NoiseSpend, Plan
from ...privacy.curators.column_curator import ColumnCurator
from ...privacy.statistics.column_statistics import KindCounts, Magnitudes
from ...problems import ColumnMeasurement
from ...schema.column_readings import AMOUNT_WITH_COMMA, AS_WRITTEN
from ...schema.column_texts import (
    DATE_KINDS,
    DECIMAL_COMMA_KIND,
    KIND_COUNT,
    MISSING_KIND,
    NUMBER_KIND,
    TEXT_KIND,
    WHOLE_NUMBER_KIND,
)
from ...schema.date_texts import DATE_ORDERS
from ...schema.domain import Column
from ...schema.inference.rounded_bounds import (
    CROWDED_BIN_NOTE,
    MAX_BIN_SHARE,
    BinGoal,
    max_bin_share,
    round_bins,
)
from ...schema.partial_schema import DEFAULT_BINS, UnknownColumn
from .number_columns import (
    CERTAIN_DEVIATIONS,
    MAX_LOST_ROWS_SHARE,
    ONE_SIDED_DEVIATIONS,
    FittedTreeCounts,
    number_grid,
)
from .predicted_errors import missing_budget_text

MIN_KIND_SHARE = 0.9  # share of present cells that makes a column one of numbers, or of dates


@frozen
class ColumnFindings(Released):
    """The findings on one column, in words, with its noisy counts by cell: released, and protected.

    `found_nothing` says that no value passed, or no number was seen.
    """

    column: Column
    description: str
    found_nothing: bool = False


def measure_column(
    column: UnknownColumn,
    column_index: int,
    problem: ColumnMeasurement,
    plan: Plan,
    curator: ColumnCurator,
) -> ColumnFindings:
    """Return the measured column and its findings.

    `column_index` is the column's index at the curator.
    """
    if column.is_categorical:
        return _categorical_findings(column, column_index, problem, plan, curator)
    range_spend = plan["range"]
    magnitude_counts = curator.count(column_index, Magnitudes(column.is_integer), range_spend)
    edges = number_grid(
        magnitude_counts, problem.n, column.is_integer, not range_spend.has_laplace_noise
    )

    def count_cells(edges: Array, spend: NoiseSpend) -> FittedTreeCounts:
        return FittedTreeCounts.from_measurement(
            edges,
            column.is_integer,
            lambda tree: curator.count(column_index, tree, spend),
            problem.n,
        )

    tree_counts = count_cells(np.array([0.0, 1.0]) if edges is None else edges, plan["first_look"])
    finer_edges = tree_counts.finer_edges()
    tree_counts = (
        tree_counts.combined_with(curator.count(column_index, tree_counts.tree, plan["tree"]))
        if finer_edges is None
        else count_cells(finer_edges, plan["tree"])
    )
    return _numeric_findings(column, tree_counts, problem, plan)


def guess_column_kinds(
    problem: ColumnMeasurement, plan: Plan, curator: ColumnCurator
) -> list[UnknownColumn]:
    """Return the likely kind of every column of unknown kind, by private shares.

    The shares of cells that read as numbers or dates.
    """
    out = []
    for column_index, name in enumerate(problem.names_of_unknown_kind):
        kind_counts = curator.count(column_index, KindCounts(), plan["kinds"])
        # by least squares, as the total is known
        counts = kind_counts.values + (problem.n - kind_counts.values.sum()) / KIND_COUNT
        date_counts = counts[list(DATE_KINDS.values())]
        fractional_count = counts[NUMBER_KIND] + counts[DECIMAL_COMMA_KIND]
        numbers = counts[WHOLE_NUMBER_KIND] + fractional_count
        dates = date_counts.sum()
        texts = counts[TEXT_KIND]
        # No count is cut off at 0: sums of many such would see other kinds where all is noise.
        max_other_count = (1 - MIN_KIND_SHARE) * max(
            problem.n - counts[MISSING_KIND], 0.0
        ) + ONE_SIDED_DEVIATIONS * kind_counts.stddev
        if dates + texts <= min(max_other_count, numbers):
            kind = "numeric" if fractional_count >= (1 - MIN_KIND_SHARE) * numbers else "integer"
            reading = (
                AMOUNT_WITH_COMMA
                if kind == "numeric"
                and counts[DECIMAL_COMMA_KIND]
                > counts[NUMBER_KIND] + CERTAIN_DEVIATIONS * kind_counts.stddev
                else AS_WRITTEN
            )
            out.append(UnknownColumn(name, kind, reading, quantiles=kind == "numeric"))
        elif numbers + texts <= min(max_other_count, dates):
            out.append(
                UnknownColumn(name, "integer", f"year of {DATE_ORDERS[date_counts.argmax()]}")
            )
        else:
            out.append(UnknownColumn(name, "categorical"))
    return out


def _categorical_findings(
    column: UnknownColumn,
    column_index: int,
    problem: ColumnMeasurement,
    plan: Plan,
    curator: ColumnCurator,
) -> ColumnFindings:
    frequent_values = curator.frequent(column_index, plan["categories"])
    has_missing = frequent_values.missing >= CERTAIN_DEVIATIONS * frequent_values.stddev
    missing_rows = frequent_values.missing if has_missing else 0.0
    other_rows = max(problem.n - frequent_values.counts.sum() - missing_rows, 0.0)
    measured_column = column.column_of_values(frequent_values.texts, has_missing)
    if not frequent_values.texts:
        return ColumnFindings(
            measured_column,
            f"no value passed the threshold of {frequent_values.threshold:,.0f} rows: all are "
            "one category; "
            f"{missing_budget_text(column, problem, plan)}",
            True,
        )
    value_count = len(frequent_values.texts)
    noun = "values" if value_count > 1 else "value"
    count_text = (
        f"{value_count} {noun} passed the threshold of {frequent_values.threshold:,.0f} rows"
    )
    missing_text = (
        "missing ones have a category of their own"
        if has_missing
        else "missing ones are among the others"
    )
    return ColumnFindings(
        measured_column,
        f"{count_text}; about {other_rows:,.0f} rows have other values, which are one category; "
        f"{missing_text}",
    )


def _numeric_findings(
    column: UnknownColumn, tree_counts: FittedTreeCounts, problem: ColumnMeasurement, plan: Plan
) -> ColumnFindings:
    """Return the ends and bins of a column, from noisy counts of a grid's cells."""
    ends = tree_counts.find_ends()
    if ends is None:
        description = (
            "too few numbers were seen: all of them are one bin; "
            f"{missing_budget_text(column, problem, plan)}"
        )
        return ColumnFindings(column.column_of_bins([0.0, 1.0]), description, True)
    first, last, beyond = ends
    if column.is_integer:
        first, last = tree_counts.ends_of_years(first, last)
        beyond = tree_counts.max_rows_beyond(first, last)
    low = float(tree_counts.edges[first])
    high = float(tree_counts.edges[last])
    beyond_text = f"at most about {beyond:,.0f} rows lie beyond the ends (19 times in 20)"
    if column.is_integer:
        is_year = column.read.startswith("year")
        if is_year and high - low == 1 and problem.names_of_unknown_kind:
            months = replace(column, read=column.read.replace("year", "month"))
            return ColumnFindings(
                months.column_of_integers(1, 12),
                f"nearly all dates are of {low:g}: months, or read weekday or hour; {beyond_text}",
            )
        # noise may hide all the others: all that was looked at
        if high - low == 1 and beyond > MAX_LOST_ROWS_SHARE * problem.n:
            low, high = tree_counts.grid_edges[[0, -1]]
        low = int(low)
        high = int(high) - 1
    elif last == first + 1:
        measured_column = column.column_of_bins([low, high])
        return ColumnFindings(
            measured_column, f"{_range_text(measured_column)}, one bin; {beyond_text}"
        )
    numbers = tree_counts.edges[first:last]
    counts = tree_counts.rising_counts(first, last)
    bins = round_bins(numbers, counts, (low, high), whole=column.is_integer, goal=_bin_goal(column))
    return _binned_findings(column, bins, numbers, counts, beyond_text)


def _bin_goal(column: UnknownColumn) -> BinGoal:
    """Return the number of bins that a column should have, by what its schema says."""
    if column.bins is None:
        return BinGoal(count=DEFAULT_BINS, by_quantiles=column.quantiles)
    return BinGoal(count=column.bins, max_single_numbers=column.bins, max_single_years=column.bins)


def _binned_findings(
    column: UnknownColumn, bins: Json, numbers: Array, counts: Array, beyond_text: str
) -> ColumnFindings:
    """Return the findings on a column with these bins, as `round_bins` gave them.

    `counts` (r,) are the noisy counts of rows at `numbers` (r,).
    """
    low = bins["edges"][0] if "edges" in bins else bins["low"]
    high = bins["edges"][-1] if "edges" in bins else bins["high"]
    if "edges" not in bins and "bins" not in bins:
        measured_column = column.column_of_integers(low, high)
        return ColumnFindings(measured_column, f"{_range_text(measured_column)}; {beyond_text}")
    edges = bins.get("edges")
    bins_text = "bins that follow the counts"
    if edges is None:
        edges = np.linspace(low, high, bins["bins"] + 1).tolist()
        bins_text = "bins of equal width"
    if len(edges) == 2:
        bins_text = "bin"
    crowded_text = ""
    if counts.any() and max_bin_share(numbers, counts, np.array(edges)) > MAX_BIN_SHARE:
        crowded_text = f"{CROWDED_BIN_NOTE}; "
    measured_column = column.column_of_bins([float(edge) for edge in edges])
    bin_count = len(measured_column.edges) - 1
    range_text = f"{_range_text(measured_column)}, {bin_count} {bins_text}"
    return ColumnFindings(measured_column, f"{range_text}; {crowded_text}{beyond_text}")


def _range_text(column: Column) -> str:
    """Return the ends of a measured column in words."""
    return " to ".join(map(column.number_text, column.bounds))
