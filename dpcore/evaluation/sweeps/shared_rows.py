"""Rows, or counts of tables, in one read-only block of memory that worker processes share."""

import contextlib
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from ...core.types import Array, Axes, value_object
from ...data.sources.gathered_counts import GatheredCounts
from ...schema.domain import Countable, CountedTables, Rows


@value_object
class SharedBlock:
    """The name of a block of shared memory, and how it is read: the shape and kind of its numbers.

    Codes are int64, points and features float64. Where it holds counts, `table_axes` are the
    columns of each in turn. `votes_per_unit` is that of the rows, see `Countable`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    table_axes: tuple[Axes, ...]
    votes_per_unit: int


class SharedRows:
    """Grouped rows, or counts of tables, in one `block` of shared memory.

    `free_memory` gives the memory back.
    """

    def __init__(self, rows: Countable) -> None:
        array = _pack_rows(rows)
        self._memory = SharedMemory(create=True, size=max(8, array.nbytes))
        np.ndarray(array.shape, array.dtype, self._memory.buf, order="F")[...] = array
        tables = tuple(rows.tables) if isinstance(rows, GatheredCounts) else ()
        # points have no votes
        self.block = SharedBlock(
            self._memory.name, array.shape, array.dtype.name, tables, rows.votes_per_unit
        )

    def free_memory(self) -> None:
        """Give the block back to the operating system.

        Running jobs keep their view until they end.
        """
        self._memory.close()
        with contextlib.suppress(FileNotFoundError):
            self._memory.unlink()


def view_rows(
    block: SharedBlock,
    memory: SharedMemory,
    problem: Any,
    counted_tables: CountedTables | None = None,
) -> Countable:
    """Return the rows of a problem that `SharedRows` put into memory, as a view that cannot change.

    A column's codes lie side by side, see `Domain.encode`. Counts lack their source, whose file
    only the parent reads. `counted_tables` are those of an earlier view of the same block.
    """
    array = np.ndarray(block.shape, block.dtype, memory.buf, order="F")
    array.flags.writeable = False
    if not block.table_axes:
        return Rows(
            array[:, :-1],
            array[:, -1],
            votes_per_unit=block.votes_per_unit,
            counted_tables={} if counted_tables is None else counted_tables,
        )
    domain = problem.domain
    ends = np.cumsum([domain.table_size(axes) for axes in block.table_axes])
    return GatheredCounts(
        domain,
        problem.n,
        dict(zip(block.table_axes, np.split(array, ends[:-1]), strict=True)),
        votes_per_unit=block.votes_per_unit,
    )


def _pack_rows(rows: Countable) -> Array:
    """Return rows as one array: codes and weights (r, d + 1), or all tables in a line.

    Codes and weights stand side by side; tables of counts one after another.
    """
    if isinstance(rows, GatheredCounts):
        return np.concatenate(list(rows.tables.values()))
    dtype = "float64" if rows.values.dtype.kind == "f" else "int64"
    return np.column_stack([rows.values, rows.weights]).astype(dtype)


class LastCountedTables:
    """The tables that a worker counted of the block it saw last, for the next run on the same rows.

    They are forgotten with the block: once a table is forgotten, nothing of it is left here.
    """

    def __init__(self) -> None:
        self._block_name = ""
        self._tables: CountedTables = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        return not self._tables

    def of_block(self, block: SharedBlock) -> CountedTables:
        """Return the tables counted of a block, to be added to; those of another are forgotten."""
        if block.name != self._block_name:
            self._block_name = block.name
            self._tables = {}
        return self._tables

    def forget_if_freed(self) -> None:
        """Forget the tables if their block has been given back."""
        try:
            SharedMemory(self._block_name).close()
        except FileNotFoundError:
            self._tables.clear()
