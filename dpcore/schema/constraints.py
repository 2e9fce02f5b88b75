"""Public constraints: impossible combinations of cells, entered by a person. No row is read here.

A row that breaks one is counted where it stands, like any other: it is neither refused nor moved
nor left out, so what happens to it depends on nobody else's rows. What is made of noisy answers
never has such a combination.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Self

import numpy as np

from ..core.types import Array, Axes, Rng, Tables, Texts, value_object
from .column import Column

MAX_SEARCH_STEPS = 20_000  # most steps of the search for one row that no constraint forbids
MAX_REDRAWS = 20  # most times that a row's numbers are drawn again until they are in order

AllowedTable = tuple[
    Texts, Array
]  # names of columns, and which cells of their table (one axis each) can be


class _AllOrNothing:
    """A constraint that says nothing of some of its columns without the others."""

    columns: Texts

    def restrict_to(self, names: Sequence[str]) -> Self | None:
        """Return the constraint if it involves only these columns; None otherwise."""
        return self if set(self.columns) <= set(names) else None


@value_object
class ImpossibleCells(_AllOrNothing):
    """A constraint: cells of some columns that never occur together in one record."""

    cells: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def columns(self) -> Texts:
        """The columns that the constraint involves."""
        return tuple(name for name, _ in self.cells)

    def allowed_tables(self, columns: Mapping[str, Column]) -> Iterator[AllowedTable]:
        """Yield the constraint's table with the possible cells marked."""
        allowed = np.ones([columns[name].size for name in self.columns], dtype=bool)
        allowed[np.ix_(*(codes for _, codes in self.cells))] = False
        yield self.columns, allowed

    @property
    def description(self) -> str:
        """The constraint in a few words."""
        return f"some values of {' and '.join(self.columns)} never occur together"


@value_object
class NestedColumns(_AllOrNothing):
    """A constraint by which each listed cell of one column allows only certain cells of another.

    A city, for instance, allows only its county. Missing cells, and cells that are not listed, may
    go with anything.
    """

    columns: tuple[str, str]
    allowed_codes: tuple[tuple[int, tuple[int, ...]], ...]

    def allowed_tables(self, columns: Mapping[str, Column]) -> Iterator[AllowedTable]:
        """Yield the constraint's table with the possible cells marked."""
        first_name, second_name = self.columns
        first = columns[first_name]
        second = columns[second_name]
        allowed = np.ones((first.size, second.size), dtype=bool)
        for code, codes in self.allowed_codes:
            allowed[code, : second.nonmissing_size] = False
            allowed[code, list(codes)] = True
        yield self.columns, allowed

    @property
    def description(self) -> str:
        """The constraint in a few words."""
        return " lies within ".join(self.columns)


@value_object
class OrderedColumns:
    """A constraint by which numbers never fall from column to column, such as start ≤ end.

    Missing values are ignored. Two cells can go together if some number of the first is at most
    some number of the second.
    """

    columns: Texts

    def restrict_to(self, names: Sequence[str]) -> "OrderedColumns | None":
        """Return the order of its columns among `names` if they are two or more; None otherwise."""
        remaining = tuple(name for name in self.columns if name in names)
        return OrderedColumns(remaining) if len(remaining) > 1 else None

    def allowed_tables(self, columns: Mapping[str, Column]) -> Iterator[AllowedTable]:
        """Yield the table of possible cells for each pair of columns."""
        for a, b in combinations(self.columns, 2):
            first = columns[a]
            second = columns[b]
            allowed = np.ones((first.size, second.size), dtype=bool)
            allowed[: first.nonmissing_size, : second.nonmissing_size] = (
                first.number_ranges[0][:, None] <= second.number_ranges[1]
            )
            yield (a, b), allowed

    @property
    def description(self) -> str:
        """The constraint in a few words."""
        return " ≤ ".join(self.columns)


Constraint = ImpossibleCells | NestedColumns | OrderedColumns


def merge_allowed_tables(tables: Iterator[tuple[Axes, Array]]) -> Tables:
    """Return the tables by sorted axes, merged if over equal axes.

    Tables that forbid nothing are left out.
    """
    tables_by_axes: Tables = {}
    for axes, allowed in tables:
        order = np.argsort(axes)
        key = tuple(int(axes[i]) for i in order)
        table = allowed.transpose(order)
        tables_by_axes[key] = tables_by_axes[key] & table if key in tables_by_axes else table
    return {axes: table for axes, table in tables_by_axes.items() if not table.all()}


def find_possible_row(shape: Sequence[int], allowed_tables: Tables) -> dict[int, int] | None:
    """Return one possible row as a cell for every column in `allowed_tables`.

    None if no row is possible. The search goes column by column, and back where a column has no
    possible cell. Raises TimeoutError if that takes too many steps.
    """
    axes_by_column: dict[int, list[Axes]] = {}
    for axes in allowed_tables:
        for a in axes:
            axes_by_column.setdefault(a, []).append(axes)
    order = sorted(axes_by_column, key=lambda a: shape[a])
    codes = {}

    def candidate_codes(a: int) -> Iterator[int]:
        """Yield the cells of column a that are possible beside those chosen so far.

        Each leaves some cell for every column still to be chosen.
        """
        is_allowed = np.ones(shape[a], dtype=bool)
        for axes in axes_by_column[a]:
            part = allowed_tables[axes][tuple(codes.get(b, slice(None)) for b in axes)]
            free_axes = [b for b in axes if b not in codes]
            is_allowed &= part.any(axis=tuple(i for i, b in enumerate(free_axes) if b != a))
        return iter(np.flatnonzero(is_allowed).tolist())

    candidates = [candidate_codes(order[0])] if order else []
    for _ in range(MAX_SEARCH_STEPS):
        if not candidates:
            return None if order else {}
        column = order[len(candidates) - 1]
        codes.pop(column, None)
        code = next(candidates[-1], None)
        if code is None:
            candidates.pop()
            continue
        codes[column] = code
        if len(candidates) == len(order):
            return codes
        candidates.append(candidate_codes(order[len(candidates)]))
    raise TimeoutError


def replace_impossible_rows(
    codes: Array, possible: Array, fallback_codes: Mapping[int, int], rng: Rng
) -> Array:
    """Return synthetic rows (n, d) with impossible rows replaced by possible ones.

    These are drawn at random. If none of them is possible, all get the cells `fallback_codes` in
    the columns that constraints speak of.
    """
    if possible.all():
        return codes
    codes = codes.copy()
    if possible.any():
        codes[~possible] = codes[rng.choice(np.flatnonzero(possible), size=int((~possible).sum()))]
    else:
        for a, code in fallback_codes.items():
            codes[:, a] = code
    return codes


def put_rows_in_order(
    values: Array, lows: Array, redraw: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Return numbers (n, c) that never fall along a row, and a mask (n,) of the changed rows.

    NaN is passed over. `redraw` draws rows anew within their cells; what is still out of order
    after MAX_REDRAWS times takes the number beside it, or the least one of its cell, `lows` (n, c).
    Cells that can go together always leave room for that.
    """
    values = values.copy()
    was_out_of_order = rows_out_of_order(values)
    out_of_order = was_out_of_order
    for _ in range(MAX_REDRAWS):
        if not out_of_order.any():
            return values, was_out_of_order
        values[out_of_order] = redraw(out_of_order)
        out_of_order = out_of_order & rows_out_of_order(values)
    for i in range(values.shape[1] - 2, -1, -1):  # np.fmin and np.fmax pass NaN over
        column_values = values[out_of_order, i]
        upper = np.fmin(column_values, np.fmin.reduce(values[out_of_order, i + 1 :], axis=1))
        values[out_of_order, i] = np.where(
            np.isnan(column_values), np.nan, np.fmax(lows[out_of_order, i], upper)
        )
    running_max = np.fmax.accumulate(values[out_of_order], axis=1)
    values[out_of_order] = np.where(np.isnan(values[out_of_order]), np.nan, running_max)
    return values, was_out_of_order


def rows_out_of_order(values: Array) -> Array:
    """Return a mask of the rows in which some number is below an earlier one."""
    return np.asarray((values < np.fmax.accumulate(values, axis=1)).any(axis=1))
