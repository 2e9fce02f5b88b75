"""What a source of records is: it counts tables of encoded records, and says what records it holds."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pandas as pd

from ...errors import InputError
from ..column import Column
from ..domain import Domain
from ..inputs import explained, opened

MOST_BYTES = 1 << 50  # of a file
CHANGED = "has changed since it was read first"
Stamp = tuple[int, int, int]
Axes = tuple[int, ...]  # of a table: numbers of columns of a domain, rising
Watch = Callable[[int], None]  # is told how many records were read up to now; what it raises ends the reading


def unwatched(_rows: int) -> None:
    """For those who do not watch."""


@contextmanager
def stamped(path: Path) -> Iterator[tuple[BinaryIO, Stamp]]:
    """A regular file, open for reading, and what changes when it is written; what is refused has its path before it."""
    with explained(str(path), path.suffix.lower()[1:]), opened(path, MOST_BYTES) as file:
        found = os.fstat(file.fileno())
        yield file, (found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, eq=False)
class Tally:
    """n records, and how many of them stand in each cell of some tables, by their axes: whole numbers that add up."""

    n: int
    tables: dict[Axes, np.ndarray]

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.n + other.n, {axes: table + other.tables[axes] for axes, table in self.tables.items()})


class Source(Protocol):
    """Records that need not fit into memory; `name` stands in messages, `columns` are those that it holds.

    Counts are of codes as `Column.encode` makes them, cell by cell: neither the order of records nor where a part
    begins changes any. What a schema refuses is an InputError with the column, the value and where it stands.
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """All that it holds."""
        ...

    def count(self, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """n, and the tables (size,) on sorted axes of a domain, the last axis running fastest."""
        ...

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """That of all its records and columns; see `fingerprint`."""
        ...


class Chunk(Protocol):
    """Some of a source's records at once."""

    @property
    def rows(self) -> int:
        """How many."""
        ...

    def encode(self, column: Column) -> np.ndarray:
        """Codes (rows,) of one column."""
        ...

    def cells(self, name: str) -> pd.Series:
        """The cells (rows,) of one column as they came."""
        ...


class Chunked(Source, Protocol):
    """A source that is read chunk by chunk; one that `splits` can be read in shares, each apart from the others."""

    @property
    def splits(self) -> bool:
        """Whether it does."""
        ...

    def chunks(self, names: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Chunk]:
        """The chunks with the named columns that fall to share i of k."""
        ...


def places(source: Source, domain: Domain) -> list[int]:
    """Where a source has each column of a domain; InputError, with its name, where it has not."""
    try:
        return domain.places(source.columns)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None


@dataclass(frozen=True, eq=False)
class Before:
    """What stands before a `source` and counts in a way of its own; all else is that one's."""

    source: Any

    @property
    def name(self) -> str:
        """That of the source."""
        return self.source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the source."""
        return self.source.columns

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """That of all rows of the source, also of those that are left out, read here."""
        return self.source.fingerprint(key, watch)


@dataclass(frozen=True, eq=False)
class Frame:
    """A chunk that is a table; `where` says which part of the source it is."""

    frame: pd.DataFrame
    where: str

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.frame)

    def cells(self, name: str) -> pd.Series:
        """The cells of one column."""
        return pd.Series(self.frame[name]).reset_index(drop=True)

    def encode(self, column: Column) -> np.ndarray:
        """Codes (rows,)."""
        return encoded(column, self.cells(column.name), self.where)


def encoded(column: Column, cells: pd.Series, where: str) -> np.ndarray:
    """`Column.encode`, and an InputError that says in which part of the source."""
    try:
        return column.encode(cells)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
