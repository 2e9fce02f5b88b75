"""The protocol of sources: they count tables of encoded rows and give a fingerprint of these."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ...core.errors import InputError
from ...core.types import Array, ProgressCallback, Tables, Texts, frozen, ignore_progress
from ...schema.column import Column
from ...schema.domain import Domain
from ..input_files import open_regular_file, reader_errors_as_input_error

MAX_FILE_BYTES = 1 << 50  # largest file
CHANGED_MESSAGE = "has changed since it was read first"
FileStamp = tuple[int, int, int]


@contextmanager
def open_stamped_file(
    path: Path, expected_stamp: FileStamp | None = None
) -> Iterator[tuple[BinaryIO, FileStamp]]:
    """Open a regular file for reading, with a stamp that changes when it is written.

    Errors begin with its path. Raises InputError if the stamp is not `expected_stamp` any more.
    """
    with (
        reader_errors_as_input_error(str(path), path.suffix.lower()[1:]),
        open_regular_file(path, MAX_FILE_BYTES) as file,
    ):
        file_status = os.fstat(file.fileno())
        stamp = file_status.st_ino, file_status.st_size, file_status.st_mtime_ns
        if expected_stamp not in (None, stamp):
            raise InputError(CHANGED_MESSAGE)
        yield file, stamp


def combine_sha256(digests: Sequence[str]) -> str:
    """Return the SHA-256 that stands for several files by those of each, in any order.

    Of one file it is the file's own.
    """
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


@frozen
class Tally:
    """The number n of rows, or of votes, and the counts of some tables by their axes.

    These are whole numbers that add up.
    """

    n: int
    tables: Tables

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.n + other.n,
            {axes: table + other.tables[axes] for axes, table in self.tables.items()},
        )


class Source:
    """The protocol of a source: records that need not fit into memory.

    Counts are of codes as `Column.encode` makes them, cell by cell: neither the order of records
    nor where a part begins changes any. What a schema refuses is an InputError with the column, the
    value and where it stands.
    """

    name: Any  # a text, by which messages name the source
    columns: Any  # the names of all its columns, a tuple
    # (domain, tables, progress): a Tally of the tables (size,) on sorted axes, the last axis
    # running fastest
    count: Any
    # (key, progress): the fingerprint of all its rows and columns; see `fingerprint`
    fingerprint: Any
    # (key, progress): that one, then those of its cells misread; see `Fingerprint.all_fingerprints`
    fingerprints: Any
    votes_per_unit: Any = 1  # what one of the n has, if counts are of votes
    stamps: Any = ()  # each file that it reads, with its stamp at the first reading

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes of the source's file, or of all of its files.

        Empty for a source that reads none. Raises InputError for a file that changed since it was
        read first.
        """
        digests = []
        for path, stamp in self.stamps:
            with open_stamped_file(path, stamp) as (file, _):
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type]
        return combine_sha256(digests) if digests else ""


def source_column_positions(source: Source, domain: Domain) -> list[int]:
    """Return the position of each column of a domain in a source.

    Raises InputError, with the source's name, if one is missing.
    """
    try:
        return domain.column_positions(source.columns)
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
    def stamps(self) -> tuple[tuple[Path, FileStamp], ...]:
        """The files of the wrapped source, each with its stamp."""
        return self.source.stamps

    def fingerprint(self, key: bytes, progress: ProgressCallback = ignore_progress) -> str:
        """Return the fingerprint of all rows of the wrapped source.

        Rows left out by the wrapper are included.
        """
        return self.source.fingerprint(key, progress)

    def fingerprints(self, key: bytes, progress: ProgressCallback = ignore_progress) -> Texts:
        """Return the fingerprints of all rows of the wrapped source.

        Rows left out by the wrapper are included.
        """
        return self.source.fingerprints(key, progress)


@frozen
class Chunk:
    """A part of a source's rows, read at once as a `table`.

    `where` says in messages which part it is. `votes` (rows,) are those of each row; None for one.
    """

    table: Any
    where: str
    votes: Array | None = None

    @property
    def rows(self) -> int:
        """The number of records in the chunk."""
        return len(self.table)

    @property
    def vote_count(self) -> int:
        """The number of votes of all rows of the chunk."""
        return self.rows if self.votes is None else int(self.votes.sum())

    def cells(self, name: str) -> pd.Series:
        """Return the raw cells (rows,) of one column."""
        return pd.Series(self.table[name]).reset_index(drop=True)

    def encode(self, column: Column) -> Array:
        """Return the codes (rows,) of one column; an InputError names the part of the source."""
        try:
            return column.encode(self.cells(column.name))
        except InputError as error:
            raise InputError(f"{self.where}: {error}") from None
