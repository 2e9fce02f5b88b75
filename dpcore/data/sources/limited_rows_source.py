"""A source whose people have a limited number of rows each, with a person's rows side by side."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...core.errors import InputError
from ...core.types import Array, Texts, frozen
from ..cell_hashes import hash_person_ids
from ..privacy_unit import (
    ROWS_COLUMN,
    PrivacyUnit,
    check_vote_count,
    person_column_position,
    person_position,
)
from .chunked_source import ChunkedSource
from .source import Chunk, Source, SourceWrapper


@frozen
class LimitedRowsSource(SourceWrapper, ChunkedSource):
    """A source with at most so many rows of each person as its privacy unit says.

    The rows are chosen by content; see `limit_rows`. A person's rows may go on in the next chunk.
    Where people count, each row has its share of its person's votes. People whose rows stand apart
    are refused, as what is kept of a person depends on all of that
    person's rows: so the hash of everybody seen is kept, 8 bytes each, and looked through at the
    end. All rows that name nobody are one person's here too.
    """

    unit: PrivacyUnit
    hashed_columns: Texts

    @property
    def votes_per_unit(self) -> int:
        """The votes of each person where people count, else 1."""
        return self.unit.votes_per_unit

    @property
    def columns(self) -> Texts:
        """The source's columns, and the one that says how many rows a person has."""
        return (*self.source.columns, ROWS_COLUMN) if self.unit.row_totals else self.source.columns

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the chunks of whole people, with only the rows that are kept of each."""
        source_columns = self.source.columns
        person = source_columns[person_position(self.unit.person or "", source_columns)]
        person_columns = [
            source_columns[person_column_position(name, source_columns)]
            for name in self.unit.person_columns
        ]
        read_columns = list(dict.fromkeys([person, *person_columns, *self.hashed_columns, *names]))
        if self.unit.row_totals:
            read_columns = [name for name in read_columns if name in source_columns]
        person_hashes = list[Array]()
        person_count = 0
        pending = pd.DataFrame()
        for chunk in self.source.chunks(read_columns):
            chunk_frame = pd.DataFrame({name: chunk.cells(name) for name in read_columns})
            frame = (
                pd.concat([pending, chunk_frame], ignore_index=True)
                if len(pending)
                else chunk_frame
            )
            row_hashes = hash_person_ids(pd.Series(frame[person]))
            person_starts = np.flatnonzero(np.append(True, row_hashes[1:] != row_hashes[:-1]))
            complete_rows = int(person_starts[-1])
            pending = frame.iloc[person_starts[-1] :]
            person_hashes.append(row_hashes[person_starts[:-1]])
            person_count += len(person_starts) - 1
            check_vote_count(person_count, self.unit)
            yield self._limited_chunk(frame.iloc[:complete_rows], names)
            if len(pending) > MAX_ROWS_PER_PERSON:
                raise InputError(
                    f"{self.name}: more than {MAX_ROWS_PER_PERSON:,} rows name one person, or "
                    "nobody: that is no person"
                )
        if len(pending):
            check_vote_count(person_count + 1, self.unit)
            person_hashes.append(hash_person_ids(pd.Series(pending[person]))[:1])
            yield self._limited_chunk(pending, names)
        if person_hashes and not pd.Index(np.concatenate(person_hashes)).is_unique:
            raise InputError(
                f"{self.name}: the rows of some value of {self.unit.person!r} are far apart, so "
                "that they cannot be limited "
                "part by part: sort the file by that column, or read a smaller table into memory"
            )

    def _limited_chunk(self, frame: pd.DataFrame, names: Sequence[str]) -> Chunk:
        kept_rows = self.unit.bound_contributions(frame, self.hashed_columns)
        votes = None
        if self.unit.counts_people:
            votes = self.unit.votes_of_rows(kept_rows)
            kept_rows = self.unit.with_rows_column(kept_rows, votes)
        return Chunk(pd.DataFrame(kept_rows[list(names)]), self.name, votes)


MAX_ROWS_PER_PERSON = 1 << 22  # rows of one person that are held at once


def limit_source(source: Source, unit: PrivacyUnit, hashed_columns: Sequence[str]) -> Source:
    """Return the source of the rows that count: all, or a limited number of each person.

    `hashed_columns` are the columns by which rows are chosen. Raises InputError for a source that
    is not read in order.
    """
    if unit.person is None:
        return source
    if unit.successions is not None:
        raise InputError(
            f"{source.name}: pairs of a person's rows are made in memory alone; read the table "
            "whole (--no-stream), or ask for no successions"
        )
    if not isinstance(source, ChunkedSource):
        raise InputError(
            f"person={unit.person!r}: rows of one person are limited in files and in memory "
            f"only, not in {source.name}"
        )
    return LimitedRowsSource(source, unit, tuple(hashed_columns))
