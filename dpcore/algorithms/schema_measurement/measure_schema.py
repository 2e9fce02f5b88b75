"""From noisy counts to a schema: post-processing of a `ColumnCurator`'s releases, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.errors import BudgetError
from ...core.provenance import Paid
from ...core.types import Array, Watch, frozen, unwatched
from ...privacy.accounting import Gaussian, NoiseSpend
from ...privacy.curators.column_curator import ColumnCurator
from ...privacy.statistics.column_statistics import KindCounts, Magnitudes
from ...schema.column_readings import AS_WRITTEN, COMMA, ORDERS
from ...schema.column_texts import COMMAS, DATES, KINDS, MISSING, NUMBER, TEXT, WHOLE
from ...schema.domain import Column, Domain
from ...schema.partial_schema import OpenColumn, OpenSchema
from .measurement_plan import SchemaPlan
from .number_columns import BEYOND, LOST, SURE, Leaves, even_cuts, grid, quantile_cuts

MOSTLY = 0.9  # share of present cells that makes a column one of numbers, or of dates


@frozen
class ColumnFindings(Paid):
    """The findings on one column, in words, with its noisy counts by cell: released, and protected.

    `nothing` says that no value passed, or no number was seen.
    """

    column: Column
    words: str
    nothing: bool = False


@frozen
class MeasuredSchema(Paid):
    """The measured domain, and the findings on each of its columns."""

    domain: Domain
    found: tuple[ColumnFindings, ...]


def measure_schema(
    schema: OpenSchema, plan: SchemaPlan, curator: ColumnCurator, told: Watch = unwatched
) -> MeasuredSchema:
    """The schema with every open column measured, in order; BudgetError when the charges differ from the plan.

    `told` hears how many are done.
    """
    findings = []
    for i, column in enumerate(schema.open):
        told(i)
        findings.append(measure_column(column, i, plan, curator))
    planned_spends = [c.spend for c in plan.plan.charges for _ in range(c.times)]
    if [spend for _, spend in curator.ledger.events] != planned_spends:
        raise BudgetError("the schema was not measured as planned; nothing leaves")
    return MeasuredSchema(schema.settled({f.column.name: f.column for f in findings}), tuple(findings))


def measure_column(column: OpenColumn, place: int, plan: SchemaPlan, curator: ColumnCurator) -> ColumnFindings:
    """The measured column and its findings; `place` is the column's index at the curator."""
    if column.categorical:
        return _categories(column, place, plan, curator)
    magnitude_counts = curator.count(place, Magnitudes(column.whole), plan.bounds)
    edges = grid(magnitude_counts, plan.n, column.whole, isinstance(plan.bounds, Gaussian))

    def count(edges: Array, spend: NoiseSpend) -> Leaves:
        return Leaves.of(edges, column.whole, lambda tree: curator.count(place, tree, spend), plan.n)

    tree_counts = count(np.array([0.0, 1.0]) if edges is None else edges, plan.look)
    finer_edges = tree_counts.finer()
    tree_counts = (
        tree_counts.joined(curator.count(place, tree_counts.tree, plan.tree))
        if finer_edges is None
        else count(finer_edges, plan.tree)
    )
    return _bounds(column, tree_counts, plan)


def guess_kinds(names: Sequence[str], plan: SchemaPlan, curator: ColumnCurator) -> list[OpenColumn]:
    """The likely kind of every column, by private shares of cells that read as numbers or dates."""
    out = []
    for column_index, name in enumerate(names):
        kind_counts = curator.count(column_index, KindCounts(), plan.kinds)  # type: ignore[arg-type]
        # by least squares, as the total is known
        counts = kind_counts.values + (plan.n - kind_counts.values.sum()) / KINDS
        date_counts = counts[list(DATES.values())]
        fractional_count = counts[NUMBER] + counts[COMMAS]
        numbers, dates, texts = counts[WHOLE] + fractional_count, date_counts.sum(), counts[TEXT]
        # No count is cut off at 0: sums of many such would see other kinds where noise is all there is.
        max_other_count = (1 - MOSTLY) * max(plan.n - counts[MISSING], 0.0) + BEYOND * kind_counts.stddev
        if dates + texts <= min(max_other_count, numbers):
            kind = "numeric" if fractional_count >= (1 - MOSTLY) * numbers else "integer"
            reading = (
                COMMA
                if kind == "numeric" and counts[COMMAS] > counts[NUMBER] + SURE * kind_counts.stddev
                else AS_WRITTEN
            )
            out.append(OpenColumn(name, kind, reading, quantiles=kind == "numeric"))
        elif numbers + texts <= min(max_other_count, dates):
            out.append(OpenColumn(name, "integer", f"year of {ORDERS[date_counts.argmax()]}"))
        else:
            out.append(OpenColumn(name, "categorical"))
    return out


def _categories(column: OpenColumn, place: int, plan: SchemaPlan, curator: ColumnCurator) -> ColumnFindings:
    frequent_values = curator.frequent(place, plan.values)  # type: ignore[arg-type]
    has_missing = frequent_values.missing >= SURE * frequent_values.stddev
    other_rows = max(plan.n - frequent_values.counts.sum() - frequent_values.missing * has_missing, 0.0)
    measured_column = column.of_values(frequent_values.texts, has_missing)
    if not frequent_values.texts:
        return ColumnFindings(
            measured_column,
            f"no value passed the threshold of {frequent_values.threshold:,.0f} rows: all are one category; "
            f"{plan.wanting(column)}",
            True,
        )
    count_text = (
        f"{len(frequent_values.texts)} value{'s' * (len(frequent_values.texts) > 1)} passed the threshold "
        f"of {frequent_values.threshold:,.0f} rows"
    )
    missing_text = "missing ones have a category of their own" if has_missing else "missing ones are among the others"
    return ColumnFindings(
        measured_column,
        f"{count_text}; about {other_rows:,.0f} rows have other values, which are one category; {missing_text}",
    )


def _bounds(column: OpenColumn, leaves: Leaves, plan: SchemaPlan) -> ColumnFindings:
    """The ends and bins of a column, from noisy counts of a grid's cells."""
    if (ends := leaves.ends()) is None:
        description = f"too few numbers were seen: all of them are one bin; {plan.wanting(column)}"
        return ColumnFindings(column.of_edges([0.0, 1.0]), description, True)
    first, last, beyond = ends
    low, high = float(leaves.edges[first]), float(leaves.edges[last])
    beyond_text = f"at most about {beyond:,.0f} rows lie beyond the ends (19 times in 20)"
    if column.whole:
        if column.read.startswith("year") and high - low == 1 and plan.unknown:
            months_column = replace(column, read=column.read.replace("year", "month")).of_whole(1, 12)
            return ColumnFindings(
                months_column, f"nearly all dates are of {low:g}: months, or read weekday or hour; {beyond_text}"
            )
        if high - low == 1 and beyond > LOST * plan.n:  # noise may hide all the others: all that was looked at
            low, high = leaves.grid[[0, -1]]
        low, high = int(low), int(high) - 1
        if high - low < column.bins:
            return ColumnFindings(column.of_whole(low, high), f"{low} to {high}; {beyond_text}")
    elif last == first + 1:
        return ColumnFindings(column.of_edges([low, high]), f"{low:g} to {high:g}, one bin; {beyond_text}")
    even_edges = even_cuts(low, high, column.bins)
    inner_edges, is_last_cell_alone = (
        quantile_cuts(leaves, first, last, column.bins) if column.quantiles else (even_edges, False)
    )
    inner_edges = np.ceil(inner_edges) if column.whole else inner_edges
    edges = np.unique([low, *np.clip(inner_edges, low, high), high])
    if column.whole and is_last_cell_alone:  # the last bin has its upper edge
        edges = np.append(edges, high + 0.5)
    bins_text = "bins of about as many rows each" if column.quantiles else "bins"
    return ColumnFindings(
        column.of_edges(edges.tolist()), f"{low:g} to {high:g}, {len(edges) - 1} {bins_text}; {beyond_text}"
    )
