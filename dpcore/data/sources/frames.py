"""A table in memory as a source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from ..inputs import explained
from ..readers import check_names
from .base import Frame
from .in_order import ReadInOrder

ROWS = 1 << 18  # rows of a chunk


@dataclass(frozen=True, eq=False)
class FrameSource(ReadInOrder):
    """A table in memory, `rows` at a time; InputError for a column that occurs twice."""

    frame: pd.DataFrame
    name: str = "the table"
    rows: int = ROWS

    def __post_init__(self) -> None:
        with explained(self.name, "a table"):
            check_names(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(map(str, self.frame.columns))

    def chunks(self, names: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Frame]:  # noqa: ARG002
        """The table's chunks, one after another."""
        whole = self.frame.set_axis(list(self.columns), axis=1)[list(names)]
        for start in range(0, len(whole), self.rows):
            part = whole.iloc[start : start + self.rows]
            yield Frame(part, f"{self.name}, rows from {start + 1:,} on")
