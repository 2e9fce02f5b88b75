"""A table in memory as a source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ..domain import Domain
from ..fingerprint import fingerprint_of
from ..readers import check_names
from .base import Axes, Frame, Tally, Watch, unwatched
from .counting import count

ROWS = 1 << 18  # of a chunk


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A table in memory, `rows` at a time; InputError for a column that stands twice."""

    frame: pd.DataFrame
    name: str = "the table"
    rows: int = ROWS
    splits: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_names(self.columns, self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """As they are called."""
        return tuple(map(str, self.frame.columns))

    def chunks(self, names: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Frame]:  # noqa: ARG002
        """One after the other."""
        whole = self.frame.set_axis(list(self.columns), axis=1)[list(names)]
        for start in range(0, len(whole), self.rows):
            part = whole.iloc[start : start + self.rows]
            yield Frame(part, f"{self.name}, rows from {start + 1:,} on")

    def count(self, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """Counted in this process."""
        return count(self, domain, tables, watch)

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """That of the whole table."""
        return fingerprint_of(self, key, watch)
