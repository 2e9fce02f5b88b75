"""Domain and Rows: the public schema, and tables turned into cells and back."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from ..core.errors import InputError, check_rows
from ..core.types import Array, Axes, Rng, Shape, Tables, Texts, frozen, value_object
from .column import Column
from .constraints import Constraint, Order, in_order, merged, without_impossible, witness
from .text_format import UNSTATED, TextFormat


def projected(table: Array, axes: Sequence[int], kept: Sequence[int]) -> Array:
    """The table, one axis for each of `axes`, summed over all of them but `kept`, which then stand in that order."""
    remaining_axes = [a for a in axes if a in kept]
    summed_table = table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in kept))
    return summed_table.transpose([remaining_axes.index(a) for a in kept])


class Countable:
    """Records whose tables can be counted: `Rows`, or a source's counts, which have no single records to show.

    n is their number, `values` (r, d) are the distinct codes and `weights` (r,) the count of each: InputError where
    only tables are known. Sums over records are left as they are where it is `whole`: answers are counts then, and
    exactly so.
    """

    n: int
    values: Array
    weights: Array
    whole: bool
    count: Any  # (axes, shape): the number of records in each cell (size,) of the table on these columns

    @property
    def divisor(self) -> int:
        """The number that sums over records are divided by: n, which makes them shares, or 1."""
        return 1 if self.whole else self.n

    @property
    def counted(self) -> Self:
        """The same records, with sums left undivided as counts."""
        return replace(self, whole=True)  # type: ignore[type-var] - both are dataclasses


@frozen
class Rows(Countable):
    """Encoded records, grouped: distinct `values` (r, d) and their counts `weights` (r,); n = Σ weights."""

    values: Array
    weights: Array
    whole: bool = False

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.weights.sum())

    def count(self, axes: Sequence[int], shape: Sequence[int]) -> Array:
        """The number of records in each cell (size,) of the table on these columns, of these sizes."""
        index = np.ravel_multi_index(tuple(self.values[:, a] for a in axes), tuple(shape))
        return np.bincount(index, self.weights, minlength=math.prod(shape))


@value_object
class Domain:
    """The public domain: the product of its columns' cells. `peeked` means that bounds came from the records.

    `constraints` name combinations of cells that cannot be. They bind what is made of noisy answers, never how records
    are read: a record that breaks one is counted where it stands. `measured` are the names of the columns whose bounds
    or values were measured privately, and paid for. `file` is what is known of the text file that the table comes in.
    """

    columns: tuple[Column, ...]
    peeked: bool = False
    constraints: tuple[Constraint, ...] = ()
    measured: Texts = ()
    file: TextFormat = UNSTATED

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("the schema has no columns; at least one is needed")
        if len(set(self.names)) < len(self.names):
            raise InputError(f"column {max(self.names, key=self.names.count)!r} is in the schema twice")
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
    def _places(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def size(self) -> int:
        """The number k of cells; an exact whole number however large."""
        return math.prod(self.shape)

    def axes(self, names: Sequence[str]) -> Axes:
        """The positions of the named columns; InputError names the first one that is missing."""
        for name in names:
            if name not in self._places:
                raise InputError(f"there is no column {name!r}; the columns are {', '.join(self.names)}")
        return tuple(self._places[name] for name in names)

    def column(self, name: str) -> Column:
        """The named column; InputError where there is none."""
        return self.columns[self.axes([name])[0]]

    def shape_of(self, axes: Iterable[int]) -> Shape:
        """The number of cells of each of the columns at these positions."""
        return tuple(self.shape[a] for a in axes)

    def cells(self, axes: Iterable[int]) -> int:
        """The number of cells of the table over the columns at these positions."""
        return math.prod(self.shape_of(axes))

    def project(self, names: Sequence[str]) -> "Domain":
        """The domain of the named columns only, in the given order, with the constraints on these alone."""
        constraints = tuple(restricted for constraint in self.constraints if (restricted := constraint.on(names)))
        columns, measured = (
            tuple(self.columns[i] for i in self.axes(names)),
            tuple(m for m in self.measured if m in names),
        )
        return replace(self, columns=columns, constraints=constraints, measured=measured)

    @cached_property
    def zeros(self) -> Tables:
        """The possible cells under constraints: for each set of sorted columns a table, one axis a column."""
        columns = {column.name: column for column in self.columns}
        tables = (table for constraint in self.constraints for table in constraint.tables(columns))
        return merged((self.axes(names), allowed) for names, allowed in tables)

    @cached_property
    def witness(self) -> dict[int, int]:
        """A cell for every column under constraints, possible together; InputError if there is no such record."""
        try:
            row = witness(self.shape, self.zeros)
        except TimeoutError:
            raise InputError("the constraints are too entangled to say if any row is possible; drop some") from None
        if row is None:
            raise InputError("the constraints together allow no row at all; drop or correct one")
        return row

    @cached_property
    def possible_cells(self) -> Array | None:
        """A mask (k,) of the possible cells, None if all are possible; the cells must be few enough to list."""
        if not self.zeros:
            return None
        mask = np.ones(self.shape, dtype=bool)
        for axes, allowed in self.zeros.items():
            mask &= allowed.reshape([n if a in axes else 1 for a, n in enumerate(self.shape)])
        return mask.ravel()

    def possible(self, codes: Array) -> Array:
        """A mask (n,) of the rows of codes (n, d) that no constraint forbids."""
        mask = np.ones(len(codes), dtype=bool)
        for axes, allowed in self.zeros.items():
            mask &= allowed[tuple(codes[:, a] for a in axes)]
        return mask

    def broken(self, rows: "Rows") -> list[tuple[Constraint, int]]:
        """The number of records that break each constraint, as far as cells show it; from the records themselves."""
        single_constraint_domains = [replace(self, constraints=(constraint,)) for constraint in self.constraints]
        counts = (int(rows.weights[~domain.possible(rows.values)].sum()) for domain in single_constraint_domains)
        return list(zip(self.constraints, counts, strict=True))

    def marginal(self, D: Array, names: Sequence[str]) -> Array:
        """A distribution D (k,) summed down to the named columns, as cells of `project(names)`."""
        return projected(D.reshape(self.shape), range(len(self.columns)), self.axes(names)).ravel()

    def encode(self, frame: pd.DataFrame) -> Rows:
        """The table as grouped codes; columns outside the schema are ignored.

        Raises InputError for an empty table, one row, a missing or doubled column, or a cell the schema refuses.
        """
        check_rows(len(frame))
        return self.group(np.column_stack([c.encode(cells) for c, cells in self.cells_in(frame)]))

    def cells_in(self, frame: pd.DataFrame) -> list[tuple[Column, pd.Series]]:
        """The columns with a table's raw cells (n,) for each; InputError unless each is there exactly once."""
        positions = self.places([str(c) for c in frame.columns])
        return [
            (c, pd.Series(frame.iloc[:, i]).reset_index(drop=True))
            for c, i in zip(self.columns, positions, strict=True)
        ]

    def places(self, columns: Sequence[str]) -> list[int]:
        """The position of each column of the domain in a table; InputError unless the table has it exactly once."""
        for name in self.names:
            occurrences = columns.count(name)
            if occurrences != 1:
                problem = "no column" if occurrences == 0 else f"{occurrences} columns called"
                raise InputError(f"the table has {problem} {name!r}; its columns are {', '.join(columns)}")
        return [columns.index(name) for name in self.names]

    def group(self, codes: Array) -> Rows:
        """The codes (n, d) grouped into distinct rows and their counts."""
        if self.size < 2**62:
            index, counts = np.unique(self.index(codes), return_counts=True)
            return Rows(self.codes_of(index), counts)
        return Rows(*np.unique(codes, axis=0, return_counts=True))

    def index(self, codes: Array) -> Array:
        """The cell number (n,) of each row of codes (n, d); the last column varies fastest."""
        return np.asarray(np.ravel_multi_index(tuple(codes.T), self.shape))

    def codes_of(self, cells: Array) -> Array:
        """The codes (n, d) of each numbered cell (n,), as `index` numbers them."""
        return np.column_stack(np.unravel_index(cells, self.shape))

    def decode(self, codes: Array, rng: Rng) -> pd.DataFrame:
        """A table for codes (n, d), with numbers drawn uniformly in their bins."""
        return pd.DataFrame({c.name: c.decode(codes[:, i], rng) for i, c in enumerate(self.columns)})

    def published(self, codes: Array, rng: Rng) -> pd.DataFrame:
        """A table for codes (n, d) as synthetic rows show it: `decode`, rounded to each column's grain.

        No row breaks a constraint: those that would are others of these rows, and numbers are drawn in order.
        """
        if self.zeros:
            codes = without_impossible(codes, self.possible(codes), self.witness, rng)
        frame = pd.DataFrame({c.name: c.published(codes[:, i], rng) for i, c in enumerate(self.columns)})
        for constraint in self.constraints:
            if isinstance(constraint, Order):
                self._put_in_order(frame, codes, constraint.columns, rng)
        return frame

    def _put_in_order(self, frame: pd.DataFrame, codes: Array, names: Sequence[str], rng: Rng) -> None:
        """Draw the numbers of these columns again, within their cells, until they never fall along a row."""
        axes = self.axes(names)
        columns = [(self.columns[a], codes[:, a]) for a in axes]

        def drawn(chosen: Array) -> Array:
            cells = (c.published(column_codes[chosen], rng) for c, column_codes in columns)
            return np.column_stack([cell.to_numpy(dtype=float, na_value=np.nan) for cell in cells])

        values = frame[[*names]].to_numpy(dtype=float, na_value=np.nan)
        lows = np.column_stack(
            [np.append(c.extents[0], np.nan)[np.minimum(column_codes, c.present)] for c, column_codes in columns]
        )
        values, changed = in_order(values, lows, drawn)
        for i, name in enumerate(names):
            is_redrawn = changed & ~np.isnan(values[:, i])
            own = values[is_redrawn, i]
            frame.loc[is_redrawn, name] = own.astype(np.int64) if self.columns[axes[i]].kind == "integer" else own
