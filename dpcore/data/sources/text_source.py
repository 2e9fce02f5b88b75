"""CSV and TSV files of any size, some rows at a time, as `readers` reads them whole."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...core.types import Texts, value_object
from ...schema.text_format import DEFAULT_TEXT_FORMAT, TextFormat
from ..text_file import TextRows
from .chunked_source import ChunkedSource
from .source import Chunk, FileStamp, open_stamped_file


@value_object
class TextSource(ChunkedSource):
    """A text file with a header, in a schema's format, as a source.

    A file that changes between two readings is refused. It is read in one process: where a row
    begins is known only to who read those before it.
    """

    path: Path
    format: TextFormat = DEFAULT_TEXT_FORMAT

    @property
    def name(self) -> str:
        """The path of the file, which names the source in messages."""
        return str(self.path)

    @cached_property
    def _stamp_and_columns(self) -> tuple[FileStamp, Texts]:
        """The file's stamp and its columns."""
        with open_stamped_file(self.path) as (file, stamp):
            return stamp, TextRows.from_file(file, self.format, self.path.suffix.lower()).names

    @property
    def stamps(self) -> tuple[tuple[Path, FileStamp], ...]:
        """The file and its stamp at the first reading; a file that changed is refused."""
        return ((self.path, self._stamp_and_columns[0]),)

    @property
    def columns(self) -> Texts:
        """The columns of the header."""
        return self._stamp_and_columns[1]

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield the file's chunks, one after another."""
        row_number = 1
        with open_stamped_file(self.path, self._stamp_and_columns[0]) as (file, _):
            for frame in TextRows.from_file(file, self.format, self.path.suffix.lower()):
                if len(frame):
                    yield Chunk(
                        pd.DataFrame(frame[list(names)]),
                        f"{self.path}, rows from {row_number:,} on",
                    )
                row_number += len(frame)
