"""A source whose people have a limited number of rows each, with a person's rows side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...errors import InputError
from ...types import Array
from ..marks import persons
from ..privacy_unit import PrivacyUnit, limit_rows
from .base import Frame, Source, SourceWrapper
from .frames import FrameSource
from .in_order import ReadInOrder
from .parquet import ParquetSource
from .text import TextSource


@dataclass(frozen=True, eq=False)
class LimitedSource(SourceWrapper, ReadInOrder):
    """A source with at most `most` rows of each person in the column `person`, chosen by content; see `limit_rows`.

    A person's rows may go on in the next chunk. Whose rows stand apart is refused, as what is kept of a person depends
    on all of that person's rows: so the mark of everybody seen is kept, 8 bytes each. All rows that name nobody are one
    person's here too.
    """

    person: str
    most: int
    used: tuple[str, ...]

    def chunks(self, names: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Frame]:  # noqa: ARG002
        """The chunks of whole people, with only the rows that are kept of them."""
        if (there := self.columns.count(self.person)) != 1:
            raise InputError(f"{self.name} has {there or 'no'} column {self.person!r} that identifies a person")
        read = list(dict.fromkeys([self.person, *self.used, *names]))
        seen, left = _SeenPeople(), pd.DataFrame()
        for chunk in self.source.chunks(read):
            part = pd.DataFrame({name: chunk.cells(name) for name in read})
            frame = pd.concat([left, part], ignore_index=True) if len(left) else part
            who = persons(pd.Series(frame[self.person]))
            begins = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
            done, left = int(begins[-1]), frame.iloc[begins[-1] :]
            self._check_new(seen, who[begins[:-1]])
            yield self._kept(frame.iloc[:done], names)
            if len(left) > MOST:
                raise InputError(f"{self.name}: more than {MOST:,} rows name one person, or nobody: that is no person")
        if len(left):
            self._check_new(seen, persons(pd.Series(left[self.person]))[:1])
            yield self._kept(left, names)

    def _kept(self, frame: pd.DataFrame, names: Sequence[str]) -> Frame:
        return Frame(pd.DataFrame(limit_rows(frame, self.person, self.most, self.used)[list(names)]), self.name)

    def _check_new(self, seen: "_SeenPeople", marks: Array) -> None:
        if seen.again(marks):
            raise InputError(
                f"{self.name}: the rows of some value of {self.person!r} are far apart, so that they cannot be limited "
                "part by part: sort the file by that column, or read a smaller table into memory"
            )


MOST = 1 << 22  # rows of one person that are held at once


def limited(source: Source, unit: PrivacyUnit, used: Sequence[str]) -> Source:
    """The rows that count: all, or a limited number of each person; InputError for a source not read in order.

    `used` are the columns by which rows are chosen.
    """
    if unit.person is None:
        return source
    if not isinstance(source, ParquetSource | TextSource | FrameSource):
        raise InputError(
            f"person={unit.person!r}: rows of one person are limited in files and in memory only, not in {source.name}"
        )
    return LimitedSource(source, unit.person, unit.most_rows, tuple(used))


class _SeenPeople:
    """A set of people's marks: sorted runs, merged when they have the same length."""

    def __init__(self) -> None:
        self.runs: list[Array] = []

    def again(self, marks: Array) -> bool:
        """Whether one of these marks was seen before, or twice among them; all are added."""
        new = np.unique(marks)
        if len(new) < len(marks) or any(_met(run, new) for run in self.runs):
            return True
        while self.runs and len(self.runs[-1]) <= len(new):
            new = np.sort(np.concatenate([self.runs.pop(), new]))
        self.runs.append(new)
        return False


def _met(run: Array, new: Array) -> bool:
    """Whether two sorted arrays share a number."""
    if not len(run) or not len(new):
        return False
    place = np.minimum(np.searchsorted(run, new), len(run) - 1)
    return bool((run[place] == new).any())
