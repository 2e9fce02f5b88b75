"""CSV and TSV files of any size, some rows at a time, as `readers` reads them whole."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...errors import InputError
from ..domain import Domain
from ..fingerprint import fingerprint_of
from ..readers import check_names, why
from ..text_file import TextRows
from ..text_format import UNSTATED, TextFormat
from .base import CHANGED, Axes, Frame, Stamp, Tally, Watch, stamped, unwatched
from .counting import count


@dataclass(frozen=True)
class TextSource:
    """A text file with a header, by what a schema says of it; one that changes between two readings is refused."""

    path: Path
    format: TextFormat = UNSTATED
    splits: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @cached_property
    def _known(self) -> tuple[Stamp, tuple[str, ...]]:
        """The file's stamp and its columns."""
        with stamped(self.path) as (file, stamp), self._explained():
            names = TextRows.of(file, self.format, self.path.suffix.lower()).names
        check_names(names, str(self.path))
        return stamp, names

    @property
    def stamps(self) -> tuple[tuple[Path, Stamp], ...]:
        """The file and its stamp when it was read first; it is never read with another one."""
        return ((self.path, self._known[0]),)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the header."""
        return self._known[1]

    def chunks(self, names: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Frame]:  # noqa: ARG002
        """One after the other."""
        first = 1
        with stamped(self.path) as (file, now):
            if now != self._known[0]:
                raise InputError(CHANGED)
            with self._explained():
                for frame in TextRows.of(file, self.format, self.path.suffix.lower()):
                    if len(frame):
                        yield Frame(pd.DataFrame(frame[list(names)]), f"{self.path}, rows from {first:,} on")
                    first += len(frame)

    def count(self, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """Counted in this process: where a row begins is known only to who read those before it."""
        return count(self, domain, tables, watch)

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """That of the whole file."""
        return fingerprint_of(self, key, watch)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever a reader trips over becomes an InputError, without the error behind it."""
        try:
            yield
        except InputError:
            raise
        except MemoryError:
            raise InputError("needs more memory than there is") from None
        except Exception as error:
            raise InputError(f"not readable as {self.path.suffix.lower()[1:]}: {why(error)}") from None
