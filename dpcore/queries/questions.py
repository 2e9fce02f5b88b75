"""Questions typed by hand, such as `sex = Female and age > 50`, turned into queries.

`question_grammar` defines the notation.
"""

import math
from collections.abc import Mapping
from functools import reduce

import numpy as np
import pandas as pd

from ..core.errors import InputError
from ..core.types import Array, Texts, frozen
from ..schema.column import Column
from ..schema.domain import Domain
from . import TableQueries
from .question_grammar import ComparisonLeaf, LogicalNode, QuestionParser

MAX_QUESTION_CHARS = 2_000  # characters
MAX_QUESTION_CELLS = 1_000_000  # most cells of the named columns together, even after bins are cut
MAX_NOTES_PER_COMPARISON = 5  # notes a comparison
COMPARISON_FUNCTIONS = {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}


@frozen
class Question:
    """A parsed question: one query on the cells of the `columns` that it names.

    A bin that a bound cuts counts with the share of it that fulfils the question, as if its records
    were spread evenly over it, whole numbers where they are whole; `cut_bin_notes` say so in words.
    """

    text: str
    columns: Texts
    workload: TableQueries
    notes: Texts


def parse_question(text: str, domain: Domain) -> Question:
    """Return the query that `text` describes, with notes for a person on how it was read.

    InputError names the place in the text and what was expected there.
    """
    if not isinstance(text, str) or len(text) > MAX_QUESTION_CHARS:
        raise InputError(f"a question is a text of at most {MAX_QUESTION_CHARS:,} characters")
    tree, leaves = QuestionParser(text, domain).parse()
    axes = _question_axes(leaves)
    columns = [domain.columns[a] for a in axes]
    _check_cell_count(columns, [c.size for c in columns])
    atoms = {
        a: _ColumnAtoms(
            domain.columns[a], [x for leaf in leaves if leaf.axis == a for x in leaf.numbers]
        )
        for a in axes
    }
    _check_cell_count(
        columns, [len(column_atoms.x) for column_atoms in atoms.values()], ", once bins are cut"
    )
    values = np.broadcast_to(_evaluate(tree, atoms), [len(own.x) for own in atoms.values()]).astype(
        float
    )
    for axis, own in enumerate(atoms.values()):
        values = own.average_over_cells(values, axis)
    values = np.clip(values, 0, 1)
    notes = dict.fromkeys(note for leaf in leaves for note in atoms[leaf.axis].cut_bin_notes(leaf))
    if np.ptp(values) == 0 and values.flat[0] in (0, 1):
        notes["every row fulfils it" if values.flat[0] else "no row can fulfil it"] = None
    names = tuple(c.name for c in columns)
    query = TableQueries(domain, [(names, values.reshape(1, -1))], [(("question", text.strip()),)])
    return Question(text.strip(), names, query, tuple(notes))


def exact_question_share(
    text: str, domain: Domain, frame: pd.DataFrame, votes: Array | None = None
) -> float:
    """Return the share of a table's rows that fulfil a question, from the real data.

    With `votes` (n,) of each row it is the share of all votes, as where people count.

    Exact values are used instead of bins. What bins alone change is the difference to the answer of
    `parse_question(text, domain).workload` on the same rows.
    """
    tree, leaves = QuestionParser(text, domain).parse()
    axes = _question_axes(leaves)
    columns = Domain(tuple(domain.columns[a] for a in axes)).cells_by_column(frame)
    values = {a: _RowValues(*cells) for a, cells in zip(axes, columns, strict=True)}
    return float(np.average(_evaluate(tree, values, aligned=True), weights=votes))


def _question_axes(leaves: list[ComparisonLeaf]) -> list[int]:
    return sorted({leaf.axis for leaf in leaves})


class _ComparableColumn:
    """The values of a column, as numbers that a question's comparisons are tested on.

    `x` (A,) is a number or rank, NaN if missing; `cell` (A,) is its cell.
    """

    x: Array
    cell: Array

    def fulfils(self, leaf: ComparisonLeaf) -> Array:
        """Return whether each value (A,) fulfils a comparison."""
        if leaf.kind == "missing":
            return np.isnan(self.x) != leaf.negated
        if leaf.kind == "in":
            mask = np.isin(self.x, leaf.numbers) | np.isin(self.cell, leaf.cells)
        elif leaf.kind == "between":
            low, high = leaf.numbers
            mask = (self.x >= low) & (self.x < high if leaf.upper_excluded else self.x <= high)
        else:
            compare = COMPARISON_FUNCTIONS[leaf.kind]
            mask = compare(self.x, leaf.numbers[0])
        return (mask != leaf.negated) & ~np.isnan(self.x)


class _RowValues(_ComparableColumn):
    """The values of a table's column, one for each row."""

    def __init__(self, column: Column, cells: pd.Series) -> None:
        self.cell = column.encode(cells)
        if column.values:
            self.x = np.where(self.cell == column.nonmissing_size, np.nan, self.cell)
        else:
            self.x = column.read_numbers(cells)


class _ColumnAtoms(_ComparableColumn):
    """The cells of a column, cut into atoms at the numbers of a question.

    So each number of the question is an atom or lies between two. `x` (A,) stands for an atom in
    comparisons: one of its numbers, or the place of its category, NaN if missing. `cell` (A,) is
    its cell, `weight` (A,) its share of it, and `counts` (A,) how many whole numbers it holds, or
    None.
    """

    def __init__(self, column: Column, cut_points: list[float]) -> None:
        counts = None
        if column.values:
            x = np.arange(column.nonmissing_size)
            cell = x
            weight = np.ones(column.nonmissing_size)
        elif column.kind == "integer":
            first_numbers, stop_numbers = column.whole_number_ranges
            clipped_cuts = np.clip(cut_points, first_numbers[0], stop_numbers[-1])
            boundaries = np.concatenate(
                [
                    first_numbers,
                    stop_numbers[-1:],
                    np.ceil(clipped_cuts),
                    np.floor(clipped_cuts) + 1,
                ]
            ).astype(np.int64)
            boundaries = np.unique(boundaries[boundaries <= stop_numbers[-1]])
            x = boundaries[:-1]
            counts = np.diff(boundaries)
            cell = np.searchsorted(first_numbers, x, side="right") - 1
            weight = counts / (stop_numbers - first_numbers)[cell]
        else:
            edges = np.asarray(column.edges)
            boundaries = np.unique(
                np.concatenate([edges, np.clip(cut_points, edges[0], edges[-1])])
            )
            x = boundaries[:-1] + np.diff(boundaries) / 2
            cell = np.searchsorted(edges, boundaries[:-1], side="right") - 1
            weight = np.diff(boundaries) / np.diff(edges)[cell]
        missing_cells = column.size - column.nonmissing_size
        self.labels = column.labels
        self.counts = counts
        self.x = np.append(x.astype(float), [np.nan] * missing_cells)
        self.cell = np.append(cell, [column.nonmissing_size] * missing_cells)
        self.weight = np.append(weight, [1.0] * missing_cells)
        self.starts = np.flatnonzero(np.diff(self.cell, prepend=-1))

    def average_over_cells(self, values: Array, axis: int) -> Array:
        """Return values on atoms along an axis, averaged over each cell's atoms."""
        weight = self.weight.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
        return np.add.reduceat(values * weight, self.starts, axis=axis)

    def cut_bin_notes(self, leaf: ComparisonLeaf) -> list[str]:
        """Return notes on bins that a comparison cuts in two."""
        mask = self.fulfils(leaf)
        cut_cells = np.flatnonzero(
            np.logical_and.reduceat(mask, self.starts) != np.logical_or.reduceat(mask, self.starts)
        )
        lines = [
            f"{leaf.text} cuts the bin {self.labels[c]}: "
            f"{self._fulfilling_part_text(mask, self.cell == c)}"
            for c in cut_cells[:MAX_NOTES_PER_COMPARISON]
        ]
        more_bins = len(cut_cells) - MAX_NOTES_PER_COMPARISON
        if more_bins > 0:
            lines.append(f"{leaf.text} cuts {more_bins} more bins")
        return lines

    def _fulfilling_part_text(self, mask: Array, in_cell: Array) -> str:
        if self.counts is None:
            return f"{100 * self.weight[in_cell & mask].sum():.3g}% of it is counted"
        in_counted_cell = in_cell[: len(self.counts)]
        return (
            f"{self.counts[in_counted_cell & mask[: len(in_counted_cell)]].sum()} of "
            f"{self.counts[in_counted_cell].sum()} of it are counted"
        )


def _evaluate(
    node: LogicalNode | ComparisonLeaf,
    comparables: Mapping[int, _ComparableColumn],
    *,
    aligned: bool = False,
) -> Array:
    """Return whether each combination of values, or each row, fulfils a node.

    If the values are `aligned` these are rows; else arrays broadcast over the columns.
    """
    if isinstance(node, ComparisonLeaf):
        mask = comparables[node.axis].fulfils(node)
        if aligned:
            return mask
        return mask.reshape([-1 if a == node.axis else 1 for a in comparables])
    parts = [_evaluate(part, comparables, aligned=aligned) for part in node.parts]
    if node.kind == "not":
        return ~parts[0]
    return reduce(np.logical_and if node.kind == "and" else np.logical_or, parts)


def _check_cell_count(columns: list[Column], sizes: list[int], condition: str = "") -> None:
    cells = math.prod(sizes)
    if cells > MAX_QUESTION_CELLS:
        names = ", ".join(repr(c.name) for c in columns)
        raise InputError(
            f"the columns {names} have {cells:,} combinations together, more than "
            f"{MAX_QUESTION_CELLS:,}{condition}"
        )
