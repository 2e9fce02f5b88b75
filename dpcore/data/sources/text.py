"""CSV and TSV files of any size, some rows at a time, as `readers` reads them whole."""

import codecs
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ...errors import InputError
from ..domain import Domain
from ..readers import DECIMAL_COMMA, SAMPLE, check_header, check_names, delimiter_of, line_of, why
from .base import CHANGED, Axes, Frame, Stamp, Tally, Watch, fingerprint_of, stamped, unwatched
from .counting import count

ROWS, CELLS = 1 << 17, 1 << 22  # of a chunk, at most
BYTES = 1 << 22  # read at once
LONGEST = 1 << 28  # bytes of a line


@dataclass(frozen=True)
class TextSource:
    """A text file with a header; `as_written` leaves decimal commas, as in `readers.read`.

    Whether a column holds nothing but numbers with a decimal comma depends on all of its cells: a file that is not
    separated by commas is then read twice. A file that changes between two readings is refused.
    """

    path: Path
    as_written: bool = False
    splits: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @cached_property
    def _known(self) -> tuple[Stamp, str, tuple[str, ...]]:
        """The file's stamp, its delimiter and its columns."""
        with stamped(self.path) as (file, stamp):
            text = Decoded(file).read(SAMPLE + 1)
            delimiter = delimiter_of(text, self.path.suffix.lower())
            check_header(text, delimiter)
            file.seek(0)
            with self._explained(), closing(self._parser(file, delimiter, 1)) as parser:
                names = tuple(str(c) for c in next(parser).iloc[0])
        check_names(names, str(self.path))
        return stamp, delimiter, names

    @property
    def delimiter(self) -> str:
        """What stands between cells."""
        return self._known[1]

    @property
    def stamps(self) -> tuple[tuple[Path, Stamp], ...]:
        """The file and its stamp when it was read first; it is never read with another one."""
        return ((self.path, self._known[0]),)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the header."""
        return self._known[2]

    @cached_property
    def decimal_commas(self) -> frozenset[str]:
        """The columns that hold nothing but numbers with decimal commas, or nothing."""
        if self.as_written or self._known[1] == ",":
            return frozenset()
        left = set(self.columns)
        for _, frame in self._frames():
            for name in sorted(left):
                cells = pd.Series(frame[name]).dropna()
                if not pd.Series(cells[cells != ""]).str.fullmatch(DECIMAL_COMMA).all():
                    left.remove(name)
            if not left:
                break
        return frozenset(left)

    def chunks(self, names: Sequence[str], share: tuple[int, int] = (0, 1)) -> Iterator[Frame]:  # noqa: ARG002
        """One after the other."""
        commas = self.decimal_commas
        for first, frame in self._frames():
            frame = frame[list(names)]
            points = {n: pd.Series(frame[n]).str.replace(",", ".", regex=False) for n in names if n in commas}
            yield Frame(frame.assign(**points), f"{self.path}, rows from {first:,} on")

    def count(self, domain: Domain, tables: Sequence[Axes], watch: Watch = unwatched) -> Tally:
        """Counted in this process: where a row begins is known only to who read those before it."""
        return count(self, domain, tables, watch)

    def fingerprint(self, key: bytes, watch: Watch = unwatched) -> str:
        """That of the whole file."""
        return fingerprint_of(self, key, watch)

    def _frames(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Some rows at a time, and the number of the first of them."""
        stamp, delimiter, names = self._known
        rows = max(1, min(ROWS, CELLS // len(names)))
        with stamped(self.path) as (file, now):
            if now != stamp:
                raise InputError(CHANGED)
            with closing(self._parser(file, delimiter, rows)) as parser:
                while True:
                    with self._explained():
                        frame = next(parser, None)
                    if frame is None:
                        return
                    start = int(frame.index[0])
                    frame = frame.iloc[1:] if start == 0 else frame  # the header
                    if len(frame):
                        yield max(start, 1), frame.set_axis(list(names), axis=1).reset_index(drop=True)

    @staticmethod
    def _parser(file: BinaryIO, delimiter: str, rows: int) -> Any:
        handle: Any = Decoded(file)
        return pd.read_csv(handle, sep=delimiter, header=None, dtype=str, keep_default_na=False, chunksize=rows)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever a reader trips over becomes an InputError, without the error behind it."""
        try:
            yield
        except pd.errors.EmptyDataError:
            raise InputError("the file is empty") from None
        except InputError:
            raise
        except MemoryError:
            raise InputError("needs more memory than there is") from None
        except Exception as error:
            raise InputError(f"not readable as {self.path.suffix.lower()[1:]}: {why(error)}") from None


class Decoded:
    """A file's text, read piece by piece: UTF-16 by its mark, else every line as UTF-8 or else as Windows-1252."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._text, self._rest = file, "", b""
        start = file.read(3)
        self._wide = codecs.getincrementaldecoder("utf-16")("replace") if start[:2] in UTF_16 else None
        file.seek(3 if start == codecs.BOM_UTF8 else 0)

    def __iter__(self) -> Iterator[str]:
        while piece := self.read(BYTES):
            yield piece

    def read(self, size: int = -1) -> str:
        """At most so many characters; all without a size."""
        parts, there = [self._text], len(self._text)
        while size < 0 or there < size:
            piece = self._more()
            if not piece:
                break
            parts.append(piece)
            there += len(piece)
        text = "".join(parts)
        cut = len(text) if size < 0 else size
        self._text = text[cut:]
        return text[:cut]

    def _more(self) -> str:
        """The next lines; nothing at the end."""
        while True:
            data = self._file.read(BYTES)
            if self._wide is not None:
                text = self._wide.decode(data, final=not data)
            else:
                whole = self._rest + data
                end = whole.rfind(b"\n") + 1 if data else len(whole)
                text, self._rest = _lines(whole[:end]), whole[end:]
                if len(self._rest) > LONGEST:
                    raise InputError("a cell or a line has no end")
            if "\0" in text:
                raise InputError("not a text file (it holds zero bytes)")
            if text or not data:
                return text


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _lines(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "\n".join(line_of(line)[0] for line in data.split(b"\n"))
