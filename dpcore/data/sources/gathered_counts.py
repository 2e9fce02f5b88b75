"""Records known by counts alone, and the pass that counts a source for a curator."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import NoReturn

import numpy as np

from ...core.errors import InputError, check_rows
from ...core.types import Array, Axes, Tables, Watch, frozen, unwatched
from ...schema.constraints import Constraint
from ...schema.domain import Countable, Domain, Rows
from .source import Source
from .table_counting import narrowed

CONSTRAINED = 1_000_000  # cells of a constraint's columns, up to which the records that break it are counted
LISTED = 10_000_000  # cells up to which a domain is one table: then all is as if the records were in memory


@frozen
class Counts(Countable):
    """Records of which only tables are known: whole counts by columns (axes), and a source for more counts.

    It stands where `Rows` stand for all that asks for tables; memory does not grow with n. Without a `source` a table
    that lies inside none of those that were counted is refused.
    """

    domain: Domain
    n: int
    tables: Tables
    source: Source | None = None
    whole: bool = False
    _summed: Tables = field(default_factory=dict, repr=False)

    @property
    def apart(self) -> "Counts":
        """The same counts without their source, to be sent to another process."""
        return replace(self, source=None)

    def count(self, axes: Sequence[int], shape: Sequence[int]) -> Array:
        """The number of records in each cell (size,) of the table on these sorted columns."""
        axes = tuple(axes)
        if axes not in self._summed:
            if not any(set(axes) <= set(other) for other in self.tables):
                self._count_more(axes)
            self._summed.update(narrowed(self.tables, [axes], self.domain.shape))
        return self._summed[axes].astype(float)

    def listed(self, names: Sequence[str]) -> Rows:
        """The records, projected on these few columns; InputError where they have too many cells."""
        axes = self.domain.axes(names)
        if (size := self.domain.cells(axes)) > LISTED:
            raise InputError(
                f"{size:,} combinations of {', '.join(names)} are more than the {LISTED:,} that are counted at once"
            )
        order = sorted(axes)
        rows = _listed(self.count(order, ()), [self.domain.shape[a] for a in order])
        return Rows(rows.values[:, [order.index(a) for a in axes]], rows.weights)

    def refuse(self) -> NoReturn:
        """Raise InputError to any caller that asks for single records."""
        raise InputError(
            "this needs the rows one by one, and they were only counted: choose fewer columns, coarser bins or "
            "another algorithm, or read the whole table into memory"
        )

    @property
    def values(self) -> NoReturn:
        """Raise InputError: single records are unknown."""
        self.refuse()

    weights = values  # type: ignore[assignment] - nobody gets any

    def _count_more(self, axes: Axes) -> None:
        if self.source is None:
            names = ", ".join(self.domain.names[a] for a in axes)
            raise InputError(f"the table of {names} was not counted, and the rows are not here")
        tally = self.source.count(self.domain, [axes])
        if tally.n != self.n:
            raise InputError(f"{self.source.name} held {self.n:,} rows at first, and holds {tally.n:,} now")
        self.tables.update(tally.tables)


def gather(source: Source, domain: Domain, tables: Iterable[Sequence[int]], watch: Watch = unwatched) -> Rows | Counts:
    """A source's records in a domain, from one pass: the very `Rows` that `Domain.encode` makes of them in
    memory where all cells can be listed, else the tables on these columns.

    Raises InputError for fewer than two records, a missing column, or a cell that the schema refuses.
    """
    is_listable = domain.size <= LISTED
    requested = [tuple(range(len(domain.shape)))] if is_listable else sorted({tuple(sorted(axes)) for axes in tables})
    # Single columns are counted also where nothing asks for them: every table needs those of its own.
    requested = (
        requested
        if is_listable
        else sorted({*requested, *((a,) for a in range(len(domain.shape))), *_constrained(domain)})
    )
    tally = source.count(domain, requested, watch)
    check_rows(tally.n, source.name)
    if is_listable:
        return _listed(tally.tables[requested[0]], domain.shape)
    return Counts(domain, tally.n, tally.tables, source)


def broken(domain: Domain, rows: Rows | Counts) -> list[tuple[Constraint, int]]:
    """The number of records that break each constraint, as `Domain.broken`; from counts only where these exist."""
    if isinstance(rows, Rows):
        return domain.broken(rows)
    countable_constraints = [
        c for c in domain.constraints if tuple(sorted(domain.axes(c.columns))) in _constrained(domain)
    ]
    single_constraint_domains = [replace(domain.project(c.columns), constraints=(c,)) for c in countable_constraints]
    return [sub.broken(rows.listed(sub.names))[0] for sub in single_constraint_domains]


def _constrained(domain: Domain) -> set[Axes]:
    """The columns of each constraint, where their cells are few."""
    all_axes = (tuple(sorted(domain.axes(c.columns))) for c in domain.constraints)
    return {axes for axes in all_axes if domain.cells(axes) <= CONSTRAINED}


def _listed(table: Array, shape: Sequence[int]) -> Rows:
    """The records of a table of all columns, as `Domain.group` returns them."""
    cells = np.flatnonzero(table)
    return Rows(np.column_stack(np.unravel_index(cells, tuple(shape))), table[cells].astype(np.int64))
