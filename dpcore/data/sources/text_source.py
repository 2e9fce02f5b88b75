"""CSV and TSV files of any size, some rows at a time, as `readers` reads them whole."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...core.types import Texts, value_object
from ...schema.text_format import UNSTATED, TextFormat
from ..text_file import TextRows
from .chunked_source import ReadInOrder
from .source import Chunk, Stamp, stamped


@value_object
class TextSource(ReadInOrder):
    """A text file with a header, in a schema's format; a file that changes between two readings is refused.

    It is read in one process: where a row begins is known only to who read those before it.
    """

    path: Path
    format: TextFormat = UNSTATED

    @property
    def name(self) -> str:
        """The path of the file, which names the source in messages."""
        return str(self.path)

    @cached_property
    def _known(self) -> tuple[Stamp, Texts]:
        """The file's stamp and its columns."""
        with stamped(self.path) as (file, stamp):
            return stamp, TextRows.of(file, self.format, self.path.suffix.lower()).names

    @property
    def stamps(self) -> tuple[tuple[Path, Stamp], ...]:
        """The file and its stamp at the first reading; a file that changed is refused."""
        return ((self.path, self._known[0]),)

    @property
    def columns(self) -> Texts:
        """The columns of the header."""
        return self._known[1]

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """The file's chunks, one after another."""
        row_number = 1
        with stamped(self.path, self._known[0]) as (file, _):
            for frame in TextRows.of(file, self.format, self.path.suffix.lower()):
                if len(frame):
                    yield Chunk(pd.DataFrame(frame[list(names)]), f"{self.path}, rows from {row_number:,} on")
                row_number += len(frame)
