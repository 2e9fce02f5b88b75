"""Domain and Rows: the public schema, and tables turned into cells and back."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from ..core.errors import InputError, require_two_rows
from ..core.types import Array, Axes, Rng, Shape, Tables, Texts, frozen, value_object
from .bin_curve import BinCurve
from .column import Column
from .column_readings import comparable_name, positions_of_name
from .constraints import (
    Constraint,
    OrderedColumns,
    find_possible_row,
    merge_allowed_tables,
    put_rows_in_order,
    replace_impossible_rows,
    rows_out_of_order,
)
from .text_format import DEFAULT_TEXT_FORMAT, TextFormat

MAX_KEPT_CELLS = 4_000_000  # of all tables that rows keep the counts of
CountedTables = dict[tuple[Axes, Shape], Array]


def sum_to_axes(table: Array, axes: Sequence[int], target_axes: Sequence[int]) -> Array:
    """Return a table summed over all of its axes but `target_axes`, in that order.

    The table has one axis for each of `axes`.
    """
    remaining_axes = [a for a in axes if a in target_axes]
    summed_table = table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in target_axes))
    return summed_table.transpose([remaining_axes.index(a) for a in target_axes])


class Countable:
    """Rows of which tables can be counted: `Rows`, or a source that has only counts.

    A source's counts have no single rows to show. n is the number of rows, `values` (r, d) are the
    distinct codes and `weights` (r,) the count of each: InputError where only tables are known.
    Sums over rows are left as they are if `undivided`: answers are counts then, and exactly so.

    Where everyone counts once, n is the number of people, and counts are those of votes: the rows
    of one person share `votes_per_unit` votes, in equal parts (`data.privacy_unit`).
    """

    n: int
    votes_per_unit: int = 1
    values: Array
    weights: Array
    undivided: bool
    # (axes, shape): the number of rows in each cell (size,) of the table on these columns
    count: Any

    @property
    def sum_divisor(self) -> int:
        """The number that sums over votes are divided by: all votes, which makes shares, or 1."""
        return 1 if self.undivided else self.vote_count

    @property
    def vote_count(self) -> int:
        """The number of all votes: n, times those that each of the n has."""
        return self.n * self.votes_per_unit

    @property
    def with_undivided_sums(self) -> Self:
        """The same records, with sums left undivided as counts."""
        return replace(self, undivided=True)  # type: ignore[type-var] - both are dataclasses


@frozen
class Rows(Countable):
    """The encoded rows of a table, grouped: distinct `values` (r, d) and counts `weights` (r,).

    n = Σ weights, or where everyone counts once, Σ weights / `votes_per_unit`. A table is counted
    once and kept, up to MAX_KEPT_CELLS of all: a run asks for the same pairs again and again, and
    the next run, with another ε, for most of them too. What is kept stays with the rows.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> rows = domain.encode(pd.DataFrame({"a": [0, 0, 1], "b": [2, 2, 1]}))
    >>> rows.n, len(rows.values)
    (3, 2)
    """

    values: Array
    weights: Array
    undivided: bool = False
    votes_per_unit: int = 1
    # by columns and their sizes; of these values and weights alone
    counted_tables: CountedTables = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """The number of records, or of people where everyone counts once."""
        return int(self.weights.sum()) // self.votes_per_unit

    def count(self, axes: Sequence[int], shape: Sequence[int]) -> Array:
        """Return the number of votes in each cell (size,) of the table on these columns.

        `shape` are the sizes of the columns. The counts cannot be changed.
        """
        key = (tuple(axes), tuple(shape))
        table = self.counted_tables.get(key)
        if table is None:
            index = np.ravel_multi_index(tuple(self.values[:, a] for a in axes), tuple(shape))
            table = np.bincount(index, self.weights, minlength=math.prod(shape))
            table.flags.writeable = False
            kept_cells = sum(kept.size for kept in self.counted_tables.values())
            if kept_cells + table.size <= MAX_KEPT_CELLS:
                self.counted_tables[key] = table
        return table


@value_object
class Domain:
    """The public domain: the product of its columns' cells.

    `peeked` means that bounds came from the records.

    `constraints` name combinations of cells that cannot be. They bind what is made of noisy
    answers, never how records are read: a record that breaks one is counted where it stands.
    `measured` are the names of the columns whose bounds or values were measured privately, and paid
    for. `file` is what is known of the text file that the table comes in.

    >>> flag = Column(name="flag", kind="integer", low=0, high=1)
    >>> Domain((flag, Column(name="score", kind="integer", low=1, high=5))).size
    10
    """

    columns: tuple[Column, ...]
    peeked: bool = False
    constraints: tuple[Constraint, ...] = ()
    measured: Texts = ()
    file: TextFormat = DEFAULT_TEXT_FORMAT

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("the schema has no columns; at least one is needed")
        if len(set(self.names)) < len(self.names):
            raise InputError(
                f"column {max(self.names, key=self.names.count)!r} is in the schema twice"
            )
        for constraint in self.constraints:
            self.axes(constraint.columns)

    @cached_property
    def names(self) -> Texts:
        """The column names, in order."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def shape(self) -> Shape:
        """The number of cells of every column."""
        return tuple(c.size for c in self.columns)

    @cached_property
    def _position_of_name(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def _position_of_comparable_name(self) -> dict[str, int]:
        return {comparable_name(name): position for position, name in enumerate(self.names)}

    @cached_property
    def size(self) -> int:
        """The number k of cells; an exact whole number however large."""
        return math.prod(self.shape)

    def axes(self, names: Sequence[str]) -> Axes:
        """Return the positions of the named columns.

        Raises InputError, which names the first one that is missing.
        """
        return tuple(map(self._position, names))

    def _position(self, name: str) -> int:
        """Return the position of a column by its name, else by its name in NFC, trimmed."""
        position = self._position_of_name.get(name)
        if position is None:
            position = self._position_of_comparable_name.get(comparable_name(name))
        if position is None:
            raise InputError(
                f"there is no column {name!r}; the columns are {', '.join(self.names)}"
            )
        return position

    def column(self, name: str) -> Column:
        """Return the named column; InputError if there is none."""
        return self.columns[self.axes([name])[0]]

    def shape_of(self, axes: Iterable[int]) -> Shape:
        """Return the number of cells of each of the columns at these positions."""
        return tuple(self.shape[a] for a in axes)

    def table_size(self, axes: Iterable[int]) -> int:
        """Return the number of cells of the table over the columns at these positions."""
        return math.prod(self.shape_of(axes))

    def project(self, names: Sequence[str]) -> "Domain":
        """Return the domain of the named columns only, in the given order.

        It keeps the constraints on these columns alone.
        """
        restricted = [constraint.restrict_to(names) for constraint in self.constraints]
        constraints = tuple(constraint for constraint in restricted if constraint)
        columns = tuple(self.columns[i] for i in self.axes(names))
        measured = tuple(m for m in self.measured if m in names)
        return replace(self, columns=columns, constraints=constraints, measured=measured)

    @cached_property
    def allowed_tables(self) -> Tables:
        """The possible cells under constraints: a table for each set of sorted columns.

        A table has one axis a column.
        """
        columns = {column.name: column for column in self.columns}
        tables = (
            table for constraint in self.constraints for table in constraint.allowed_tables(columns)
        )
        return merge_allowed_tables((self.axes(names), allowed) for names, allowed in tables)

    @cached_property
    def example_possible_row(self) -> dict[int, int]:
        """A cell for every column under constraints, possible together.

        Raises InputError if there is no such row.
        """
        try:
            row = find_possible_row(self.shape, self.allowed_tables)
        except TimeoutError:
            raise InputError(
                "the constraints are too entangled to say if any row is possible; drop some"
            ) from None
        if row is None:
            raise InputError("the constraints together allow no row at all; drop or correct one")
        return row

    @cached_property
    def possible_cells(self) -> Array | None:
        """A mask (k,) of the possible cells, None if all are possible.

        The cells must be few enough to list.
        """
        if not self.allowed_tables:
            return None
        mask = np.ones(self.shape, dtype=bool)
        for axes, allowed in self.allowed_tables.items():
            mask &= allowed.reshape([n if a in axes else 1 for a, n in enumerate(self.shape)])
        return mask.ravel()

    def possible_rows_mask(self, codes: Array) -> Array:
        """Return a mask (n,) of the rows of codes (n, d) that no constraint forbids."""
        mask = np.ones(len(codes), dtype=bool)
        for axes, allowed in self.allowed_tables.items():
            mask &= allowed[tuple(codes[:, a] for a in axes)]
        return mask

    def count_violations(self, rows: "Rows") -> list[tuple[Constraint, int]]:
        """Return the number of rows that break each constraint, as far as cells show it.

        The numbers come from the rows themselves; where people count, of people, rounded up.
        """
        single_constraint_domains = [
            replace(self, constraints=(constraint,)) for constraint in self.constraints
        ]
        counts = (
            math.ceil(
                rows.weights[~domain.possible_rows_mask(rows.values)].sum() / rows.votes_per_unit
            )
            for domain in single_constraint_domains
        )
        return list(zip(self.constraints, counts, strict=True))

    def marginal(self, D: Array, names: Sequence[str]) -> Array:
        """Return a distribution D (k,) summed down to the named columns.

        The result has the cells of `project(names)`.
        """
        return sum_to_axes(
            D.reshape(self.shape), range(len(self.columns)), self.axes(names)
        ).ravel()

    def encode(self, frame: pd.DataFrame) -> Rows:
        """Return the table as grouped codes; columns outside the schema are ignored.

        Raises InputError for an empty table, one row, a missing or doubled column, or a cell the
        schema refuses.
        """
        require_two_rows(len(frame))
        return self.group_rows(self.encode_cells(frame))

    def encode_cells(self, frame: pd.DataFrame) -> Array:
        """Return the codes (n, d) of the table's rows, in their order; see `encode`."""
        return np.array([c.encode(cells) for c, cells in self.cells_by_column(frame)]).T

    def cells_by_column(self, frame: pd.DataFrame) -> list[tuple[Column, pd.Series]]:
        """Return the domain's columns with the table's raw cells (n,) for each.

        Raises InputError unless each is in the table exactly once.
        """
        positions = self.column_positions([str(c) for c in frame.columns])
        return [
            (c, pd.Series(frame.iloc[:, i]).reset_index(drop=True))
            for c, i in zip(self.columns, positions, strict=True)
        ]

    def column_positions(self, columns: Sequence[str]) -> list[int]:
        """Return the position of each column of the domain in a table.

        A name that no column has exactly is compared in NFC, trimmed. Raises InputError unless the
        table has it exactly once.
        """
        return [_position_in_table(name, columns) for name in self.names]

    def group_rows(self, codes: Array) -> Rows:
        """Return the codes (n, d) grouped into distinct rows and their counts."""
        return Rows(*self._distinct_rows(codes, return_counts=True))

    def group_votes(self, codes: Array, votes: Array, votes_per_unit: int) -> Rows:
        """Return the codes (n, d) grouped into distinct rows, with the sum of their votes (n,)."""
        values, row_numbers = self._distinct_rows(codes, return_inverse=True)
        sums = np.zeros(len(values), dtype=np.int64)
        np.add.at(sums, row_numbers, votes)
        return Rows(values, sums, votes_per_unit=votes_per_unit)

    def _distinct_rows(self, codes: Array, **returned: Any) -> tuple[Array, Array]:
        """Return the distinct rows (r, d) of codes (n, d), and what of `np.unique` is `returned`.

        A column's codes lie side by side in memory, as tables of a few columns are counted: of 35
        columns all pairs took a fifth of the time.
        """
        if self.size < 2**62:
            index, counts_or_inverse = np.unique(self.cell_numbers(codes), **returned)
            values = self.codes_of_cells(index)
        else:
            values, counts_or_inverse = np.unique(codes, axis=0, **returned)
        return np.asfortranarray(values), counts_or_inverse.ravel()

    def cell_numbers(self, codes: Array) -> Array:
        """Return the cell number (n,) of each row of codes (n, d).

        The last column varies fastest.
        """
        return np.asarray(np.ravel_multi_index(tuple(codes.T), self.shape))

    def codes_of_cells(self, cells: Array) -> Array:
        """Return the codes (n, d) of each numbered cell (n,), as `cell_numbers` numbers them."""
        return np.array(np.unravel_index(cells, self.shape)).T

    def decode(self, codes: Array, rng: Rng) -> pd.DataFrame:
        """Return a table for codes (n, d), with numbers drawn evenly in their bins."""
        return pd.DataFrame(
            {c.name: c.decode(codes[:, i], rng) for i, c in enumerate(self.columns)}
        )

    def decode_rounded(self, codes: Array, rng: Rng) -> pd.DataFrame:
        """Return a table for codes (n, d) as synthetic rows show it, with rounded numbers.

        Numbers lie along the curve that these rows' counts suggest (`bin_curve`), rounded to each
        column's `step`, and are written in its form. No row breaks a constraint: those that would
        are replaced by others of these rows, and numbers are drawn in order.
        """
        if self.allowed_tables:
            codes = replace_impossible_rows(
                codes, self.possible_rows_mask(codes), self.example_possible_row, rng
            )
        curves = [c.fit_bin_curve(codes[:, i]) for i, c in enumerate(self.columns)]
        frame = pd.DataFrame(
            {
                c.name: c.decode_rounded(codes[:, i], rng, curves[i])
                for i, c in enumerate(self.columns)
            }
        )
        for constraint in self.constraints:
            if isinstance(constraint, OrderedColumns):
                self._redraw_in_order(frame, codes, curves, constraint.columns, rng)
        return pd.DataFrame({c.name: c.write(pd.Series(frame[c.name])) for c in self.columns})

    def decode_groups(
        self, codes: Array, group: Array, shared_axes: Axes, rng: Rng
    ) -> pd.DataFrame:
        """Return a table as `decode_rounded` does, where rows of a group share columns' values.

        Args:
            codes: Of possible rows (n, d), those of a group one after the other.
            group: The number (n,) of each row's group: 0, 1, …
            shared_axes: Columns in which all rows of a group have the same code, and get the same
                value.
            rng: Draws numbers in their cells.

        """
        first_rows = np.flatnonzero(np.diff(group, prepend=-1))
        curves = []
        columns = {}
        for i, column in enumerate(self.columns):
            is_shared = i in shared_axes
            column_codes = codes[first_rows, i] if is_shared else codes[:, i]
            curves.append(column.fit_bin_curve(column_codes))
            values = column.decode_rounded(column_codes, rng, curves[i])
            if is_shared:
                values = values.iloc[group].reset_index(drop=True)
            columns[column.name] = values
        frame = pd.DataFrame(columns)
        orders = [c.columns for c in self.constraints if isinstance(c, OrderedColumns)]
        for names in orders:
            self._redraw_in_order(frame, codes, curves, names, rng)
        if orders:
            frame = self._share_numbers(frame, group, shared_axes, orders)
        return pd.DataFrame({c.name: c.write(pd.Series(frame[c.name])) for c in self.columns})

    def _share_numbers(
        self, frame: pd.DataFrame, group: Array, shared_axes: Axes, orders: Sequence[Texts]
    ) -> pd.DataFrame:
        """Return the table with one number a group in shared columns, in order along each row.

        Rows were put in order one by one, and may have moved what is shared. A shared column that
        is before the others in `orders` takes the least of its group's numbers, any other one the
        largest: each row stays in order, as the column's other numbers are farther from its
        neighbours. Where a column is between others, no number may suit all rows of a group: all
        of them then say what the group's first row says.
        """
        first_rows = np.flatnonzero(np.diff(group, prepend=-1))
        shared_names = [self.names[a] for a in shared_axes]
        shared = frame.copy()
        for name in {name for names in orders for name in names if name in shared_names}:
            values = frame[name].to_numpy(dtype=float, na_value=np.nan)
            is_before = all(
                set(names[: names.index(name)]) <= set(shared_names)
                for names in orders
                if name in names
            )
            combine = np.minimum if is_before else np.maximum
            number = combine.reduceat(values, first_rows)[group]
            moved = number != values
            moved &= ~np.isnan(number)
            is_whole = self.columns[self.axes([name])[0]].kind == "integer"
            shared.loc[moved, name] = number[moved].astype(np.int64 if is_whole else float)
        broken = np.zeros(len(frame), dtype=bool)
        for names in orders:
            broken |= rows_out_of_order(shared[[*names]].to_numpy(dtype=float, na_value=np.nan))
        in_broken_group = np.isin(group, group[broken])
        first_row = first_rows[group[in_broken_group]]
        for name in self.names:
            shared.loc[in_broken_group, name] = frame[name].iloc[first_row].to_numpy()
        return shared

    def _redraw_in_order(
        self,
        frame: pd.DataFrame,
        codes: Array,
        curves: Sequence[BinCurve | None],
        names: Sequence[str],
        rng: Rng,
    ) -> None:
        """Draw the numbers of these columns again until they never fall along a row.

        They stay within their cells.
        """
        axes = self.axes(names)
        columns = [(self.columns[a], codes[:, a], curves[a]) for a in axes]

        def redraw(rows: Array) -> Array:
            cells = (
                c.decode_rounded(column_codes[rows], rng, curve)
                for c, column_codes, curve in columns
            )
            return np.column_stack([cell.to_numpy(dtype=float, na_value=np.nan) for cell in cells])

        values = frame[[*names]].to_numpy(dtype=float, na_value=np.nan)
        lows = np.column_stack(
            [
                np.append(c.number_ranges[0], np.nan)[np.minimum(column_codes, c.nonmissing_size)]
                for c, column_codes, _ in columns
            ]
        )
        values, changed = put_rows_in_order(values, lows, redraw)
        for i, name in enumerate(names):
            is_redrawn = changed & ~np.isnan(values[:, i])
            own = values[is_redrawn, i]
            frame.loc[is_redrawn, name] = (
                own.astype(np.int64) if self.columns[axes[i]].kind == "integer" else own
            )


def _position_in_table(name: str, columns: Sequence[str]) -> int:
    """Return the position of a named column; InputError unless there is exactly one."""
    positions = positions_of_name(name, columns)
    if len(positions) != 1:
        problem = f"{len(positions)} columns called" if positions else "no column"
        raise InputError(f"the table has {problem} {name!r}; its columns are {', '.join(columns)}")
    return positions[0]
