"""Rows known by counts alone, and the pass that counts a source for a curator."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import NoReturn

import numpy as np

from ...core.errors import InputError, require_two_rows
from ...core.types import Array, Axes, ProgressCallback, Tables, frozen, ignore_progress
from ...schema.constraints import Constraint
from ...schema.domain import Countable, Domain, Rows
from ..privacy_unit import require_two_people
from .source import Source
from .table_counting import sum_to_tables

MAX_CONSTRAINT_CELLS = (
    1_000_000  # cells of a constraint's columns, up to which the rows that break it are counted
)
# cells up to which a domain is one table: then all is as if the rows were in memory
MAX_LISTED_CELLS = 10_000_000


@frozen
class GatheredCounts(Countable):
    """The counts of a table's rows by some sets of columns, and a source for more counts.

    They are whole counts of rows, or of votes, by columns (axes); single rows are not known. This
    stands in for `Rows` in all that asks for tables; memory does not grow with n. Without a
    `source` a table that lies inside none of those that were counted is refused.
    """

    domain: Domain
    n: int
    tables: Tables
    source: Source | None = None
    undivided: bool = False
    votes_per_unit: int = 1
    _cached_tables: Tables = field(default_factory=dict, repr=False)

    @property
    def without_source(self) -> "GatheredCounts":
        """The same counts without their source, to be sent to another process."""
        return replace(self, source=None)

    def count(self, axes: Sequence[int], shape: Sequence[int]) -> Array:
        """Return the number of votes in each cell (size,) of the table on these sorted columns."""
        axes = tuple(axes)
        if axes not in self._cached_tables:
            if not any(set(axes) <= set(other) for other in self.tables):
                self._count_missing_table(axes)
            self._cached_tables.update(sum_to_tables(self.tables, [axes], self.domain.shape))
        return self._cached_tables[axes].astype(float)

    def list_rows(self, names: Sequence[str]) -> Rows:
        """Return the rows, projected on these few columns.

        Raises InputError if the columns have too many cells.
        """
        axes = self.domain.axes(names)
        size = self.domain.table_size(axes)
        if size > MAX_LISTED_CELLS:
            raise InputError(
                f"{size:,} combinations of {', '.join(names)} are more than the "
                f"{MAX_LISTED_CELLS:,} that are counted at once"
            )
        order = sorted(axes)
        rows = _rows_of_table(self.count(order, ()), [self.domain.shape[a] for a in order])
        values = rows.values[:, [order.index(a) for a in axes]]
        return Rows(values, rows.weights, votes_per_unit=self.votes_per_unit)

    def refuse_single_rows(self) -> NoReturn:
        """Raise InputError to any caller that asks for single records."""
        raise InputError(
            "this needs the rows one by one, and they were only counted: choose fewer columns, "
            "coarser bins or "
            "another algorithm, or read the whole table into memory"
        )

    @property
    def values(self) -> NoReturn:
        """Raise InputError: single records are unknown."""
        self.refuse_single_rows()

    weights = values  # type: ignore[assignment] - nobody gets any

    def _count_missing_table(self, axes: Axes) -> None:
        if self.source is None:
            names = ", ".join(self.domain.names[a] for a in axes)
            raise InputError(f"the table of {names} was not counted, and the rows are not here")
        tally = self.source.count(self.domain, [axes])
        if tally.n != self.vote_count:
            n = tally.n // self.votes_per_unit
            noun = "rows" if self.votes_per_unit == 1 else "people"
            raise InputError(
                f"{self.source.name} held {self.n:,} {noun} at first, and holds {n:,} now"
            )
        self.tables.update(tally.tables)


def gather(
    source: Source,
    domain: Domain,
    tables: Iterable[Sequence[int]],
    progress: ProgressCallback = ignore_progress,
) -> Rows | GatheredCounts:
    """Return a source's rows in a domain, counted in one pass.

    These are the very `Rows` that `Domain.encode` makes of them in memory where all cells can be
    listed, else the tables on these columns.

    Raises InputError for fewer than two records, a missing column, or a cell that the schema
    refuses.

    >>> sample = samples.titanic()
    >>> sample.frame.to_csv("titanic.csv", index=False)
    >>> gather(source_at("titanic.csv"), sample.domain, Marginals.all(sample.domain, 2).axes).n
    2201
    """
    is_listable = domain.size <= MAX_LISTED_CELLS
    requested = (
        [tuple(range(len(domain.shape)))]
        if is_listable
        else sorted({tuple(sorted(axes)) for axes in tables})
    )
    # Single columns are counted also where nothing asks for them: every table needs those of its
    # own.
    requested = (
        requested
        if is_listable
        else sorted(
            {*requested, *((a,) for a in range(len(domain.shape))), *_constraint_axes(domain)}
        )
    )
    tally = source.count(domain, requested, progress)
    n = tally.n // source.votes_per_unit
    require_two = require_two_rows if source.votes_per_unit == 1 else require_two_people
    require_two(n, source.name)
    if is_listable:
        rows = _rows_of_table(tally.tables[requested[0]], domain.shape)
        return replace(rows, votes_per_unit=source.votes_per_unit)
    return GatheredCounts(domain, n, tally.tables, source, votes_per_unit=source.votes_per_unit)


def count_violations(domain: Domain, rows: Rows | GatheredCounts) -> list[tuple[Constraint, int]]:
    """Return the number of rows that break each constraint, as `Domain.count_violations`.

    They come from counts only where these exist.
    """
    if isinstance(rows, Rows):
        return domain.count_violations(rows)
    countable_constraints = [
        c
        for c in domain.constraints
        if tuple(sorted(domain.axes(c.columns))) in _constraint_axes(domain)
    ]
    single_constraint_domains = [
        replace(domain.project(c.columns), constraints=(c,)) for c in countable_constraints
    ]
    return [sub.count_violations(rows.list_rows(sub.names))[0] for sub in single_constraint_domains]


def _constraint_axes(domain: Domain) -> set[Axes]:
    """Return the columns of each constraint, if their cells are few."""
    all_axes = (tuple(sorted(domain.axes(c.columns))) for c in domain.constraints)
    return {axes for axes in all_axes if domain.table_size(axes) <= MAX_CONSTRAINT_CELLS}


def _rows_of_table(table: Array, shape: Sequence[int]) -> Rows:
    """Return the rows of a table of all columns, as `Domain.group_rows` returns them."""
    cells = np.flatnonzero(table)
    return Rows(
        np.column_stack(np.unravel_index(cells, tuple(shape))), table[cells].astype(np.int64)
    )
