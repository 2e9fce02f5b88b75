"""The protocol of sources: they count tables of encoded records and give a fingerprint of these."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ...core.errors import InputError
from ...core.types import Array, Tables, Texts, Watch, frozen, unwatched
from ...schema.column import Column
from ...schema.domain import Domain
from ..input_files import explained, opened

MOST_BYTES = 1 << 50  # largest file
CHANGED = "has changed since it was read first"
Stamp = tuple[int, int, int]


@contextmanager
def stamped(path: Path, before: Stamp | None = None) -> Iterator[tuple[BinaryIO, Stamp]]:
    """A regular file, open for reading, and a stamp that changes when it is written; errors begin with its path.

    Raises InputError where it is not the stamp `before` any more.
    """
    with explained(str(path), path.suffix.lower()[1:]), opened(path, MOST_BYTES) as file:
        file_status = os.fstat(file.fileno())
        stamp = file_status.st_ino, file_status.st_size, file_status.st_mtime_ns
        if before not in (None, stamp):
            raise InputError(CHANGED)
        yield file, stamp


def bytes_of_all(digests: Sequence[str]) -> str:
    """The SHA-256 that stands for several files by those of each, in any order; of one file its own."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


@frozen
class Tally:
    """The number n of records, and the counts of some tables by their axes: whole numbers that add up."""

    n: int
    tables: Tables

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.n + other.n, {axes: table + other.tables[axes] for axes, table in self.tables.items()})


class Source:
    """The protocol of a source: records that need not fit into memory.

    Counts are of codes as `Column.encode` makes them, cell by cell: neither the order of records nor where a part
    begins changes any. What a schema refuses is an InputError with the column, the value and where it stands.
    """

    name: Any  # a text, by which messages name the source
    columns: Any  # the names of all its columns, a tuple
    count: Any  # (domain, tables, watch): a Tally of the tables (size,) on sorted axes, the last axis running fastest
    fingerprint: Any  # (key, watch): the fingerprint of all its records and columns; see `fingerprint`
    fingerprints: Any  # (key, watch): that one, then those of its cells misread; see `Fingerprint.marks`
    stamps: Any = ()  # each file that it reads, with its stamp at the first reading

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes of its file, or of all of its files; empty for a source that reads none.

        Raises InputError for a file that changed since it was read first.
        """
        digests = []
        for path, stamp in self.stamps:
            with stamped(path, stamp) as (file, _):
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type]
        return bytes_of_all(digests) if digests else ""


def places(source: Source, domain: Domain) -> list[int]:
    """The position of each column of a domain in a source; InputError, with the source's name, if one is missing."""
    try:
        return domain.places(source.columns)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None


@frozen
class SourceWrapper(Source):
    """A wrapper that counts a `source` in its own way and passes on everything else."""

    source: Any

    @property
    def name(self) -> str:
        """The wrapped source's name."""
        return self.source.name

    @property
    def columns(self) -> Texts:
        """The wrapped source's columns."""
        return self.source.columns

    @property
    def stamps(self) -> tuple[tuple[Path, Stamp], ...]:
        """The files of the wrapped source."""
        return self.source.stamps

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """The fingerprint of all rows of the wrapped source, including those left out by the wrapper."""
        return self.source.fingerprint(key, watch)

    def fingerprints(self, key: bytes, watch: Watch = unwatched) -> Texts:
        """The fingerprints of all rows of the wrapped source, including those left out by the wrapper."""
        return self.source.fingerprints(key, watch)


@frozen
class Chunk:
    """A part of a source's records, read at once as a `table`; `where` says which part in messages."""

    table: Any
    where: str

    @property
    def rows(self) -> int:
        """The number of records in the chunk."""
        return len(self.table)

    def cells(self, name: str) -> pd.Series:
        """The raw cells (rows,) of one column."""
        return pd.Series(self.table[name]).reset_index(drop=True)

    def encode(self, column: Column) -> Array:
        """The codes (rows,) of one column; an InputError names the part of the source."""
        try:
            return column.encode(self.cells(column.name))
        except InputError as error:
            raise InputError(f"{self.where}: {error}") from None
