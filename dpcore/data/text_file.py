"""The rows of a text file, some at a time, each read from its own characters alone."""

import codecs
import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, NoReturn

import pandas as pd

from ..core.errors import InputError
from ..core.types import Json, Texts, frozen
from ..schema.text_format import DELIMITER_NAMES, TextFormat
from .file_kinds import check_file_kind
from .input_files import check_column_names

MAX_FILLED_CELLS = (
    10_000_000  # cells of a piece of a file, and four a character: more come from short rows only
)
MAX_HEADER_CHARS = 1_000_000  # characters in which a file's header ends
READ_SIZE = 1 << 24  # bytes, or characters, of a file that are read at once
BATCH_ROWS = 1 << 17  # that are read at once where a row may have several lines
MAX_LINE_CHARS = 1 << 28  # characters of a line
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
TEXT_ENDING = ".csv"  # what the name of a text may end in
ZERO_BYTE_TEXT = r"\x00"  # what a zero byte is written as, like all that no text holds
NOT_TEXT_MESSAGE = "not a text file (it holds zero bytes)"
QUOTED_CELL_PATTERN = '(?:"[^"]*+(?:""[^"]*+)*+"|(?!"))'  # what may begin a cell
OPEN_QUOTES_MESSAGE = (
    "a value in quotes that begins in line {} has no end; if values hold line "
    'breaks, say so in the schema: "file": '
)
OPEN_QUOTES_MESSAGE += '{{"line_breaks": true}}'


class OpenQuotesError(InputError):
    """The error for a cell in quotes that does not end on its line."""


@frozen
class TextRows:
    r"""The rows of an open text file, its column `names`, and its format.

    The format is known once the header was read. Lines end with `\n`, `\r\n` or `\r`. A row with
    fewer cells than the header has missing ones at its end; one with more, or with a cell in quotes
    that has no end, is refused by the number of its line. An empty line is a row with an empty cell
    if there is one column, and none if there are more.
    """

    names: Texts
    format: TextFormat
    header: str
    pieces: Iterator[str]

    @classmethod
    def from_file(cls, file: BinaryIO, format: TextFormat, ending: str) -> "TextRows":
        """Return the rows of a file from its start on.

        Raises InputError for an empty one, or one that is no text.
        """
        check_file_kind(file, TEXT_ENDING, encoding=format.encoding)
        pieces = _read_pieces(file, format.encoding)
        text = ""
        for piece in pieces:
            text += piece
            if len(text) > MAX_HEADER_CHARS or text.strip("\n"):
                break
        text = text.lstrip("\n")
        if not text:
            raise InputError("the file is empty")
        start_text = text[: MAX_HEADER_CHARS + 2]
        header = _quoted_header(start_text) if format.line_breaks else start_text.partition("\n")[0]
        if len(header) > MAX_HEADER_CHARS:
            raise InputError(f"its header does not end within {MAX_HEADER_CHARS:,} characters")
        if ZERO_BYTE_TEXT in header:
            raise InputError(NOT_TEXT_MESSAGE)
        delimiter = format.delimiter or ("\t" if ending == ".tsv" else "")
        # a comma where none cuts it
        delimiter = delimiter or max(
            DELIMITER_NAMES, key=lambda candidate: _count_cells(header, candidate)
        )
        if not _count_cells(header, delimiter):
            raise OpenQuotesError(OPEN_QUOTES_MESSAGE.format(1))
        names = tuple(_parse_csv(header + "\n", delimiter).iloc[0].astype(str))
        check_column_names(names)
        known_format = TextFormat(
            delimiter=delimiter, encoding=format.encoding, line_breaks=format.line_breaks
        )
        return cls(
            names, known_format, header, chain(filter(None, [text[len(header) + 1 :]]), pieces)
        )

    def __iter__(self) -> Iterator[pd.DataFrame]:
        """Yield batches of rows, as texts."""
        for frame in self._rows_by_quotes() if self.format.line_breaks else self._rows_by_line():
            yield frame.set_axis(list(self.names), axis=1)

    def _rows_by_line(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of each piece, one for each line."""
        line_number = 2
        for piece in self.pieces:
            text = piece if piece.endswith("\n") else piece + "\n"
            line_count = text.count("\n")
            lines = line_count
            if len(self.names) > 1 and (text.startswith("\n") or "\n\n" in text):
                text = re.sub(r"\n\n+", "\n", text).lstrip("\n")
                lines = text.count("\n")
            self._check_filled(lines, len(text))
            try:
                frame = _parse_csv(f"{self.header}\n{text}", self.format.delimiter).iloc[1:]
            except (pd.errors.ParserError, ValueError):
                frame = None
            if frame is None or len(frame) != lines:
                self._raise_bad_line(piece, line_number)
            yield frame.reset_index(drop=True)
            line_number += line_count

    def _rows_by_quotes(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of all pieces, where quotes decide where a row ends."""
        self._check_filled(1, len(self.header))
        handle: Any = _PieceReader(chain([f"{self.header}\n"], self.pieces))
        skip_blank_lines = len(self.names) > 1
        read: Any = pd.read_csv(
            handle,
            chunksize=BATCH_ROWS,
            skip_blank_lines=skip_blank_lines,
            **_csv_options(self.format.delimiter),
        )
        with read as parser:
            for batch_number, frame in enumerate(parser):
                yield (
                    frame.iloc[1:].reset_index(drop=True)
                    if not batch_number
                    else frame.reset_index(drop=True)
                )

    def _check_filled(self, lines: int, length: int) -> None:
        cells = len(self.names) * (lines + 1)
        if cells > max(MAX_FILLED_CELLS, 4 * length):
            raise InputError(
                f"its rows are much shorter than its header: {cells:,} values of {length:,} "
                "characters"
            )

    def _raise_bad_line(self, piece: str, line_number: int) -> NoReturn:
        """Raise InputError naming the line that has an unclosed cell, or too many cells."""
        width = len(self.names)
        delimiter = self.format.delimiter
        for number, line in enumerate(piece.split("\n"), line_number):
            cells = _count_cells(line, delimiter)
            if not cells:
                raise OpenQuotesError(OPEN_QUOTES_MESSAGE.format(number))
            if cells > width:
                raise InputError(f"line {number} has {cells} values, the header has {width}")
        raise InputError("it is damaged, or a file of another kind")


def guess_text_format(file: BinaryIO) -> TextFormat:
    """Return the encoding of a whole open file, guessed from all its rows."""
    check_file_kind(file, TEXT_ENDING)
    start = file.read(2)
    file.seek(0)
    if start in UTF_16_MARKS:
        return TextFormat(encoding="utf-16")
    if start[:1] == b"\0":
        raise InputError(NOT_TEXT_MESSAGE)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while block := file.read(READ_SIZE):
            decoder.decode(block)
    except UnicodeDecodeError:
        return TextFormat(encoding="windows-1252")
    finally:
        file.seek(0)
    return TextFormat()


def _read_pieces(file: BinaryIO, encoding: str) -> Iterator[str]:
    r"""Yield a file's text in pieces of whole lines, which end with `\n` except the last one."""
    start = file.read(3)
    if start[:2] in UTF_16_MARKS and encoding != "utf-16":
        raise InputError(
            'it is UTF-16: save it as UTF-8, or say so in the schema: "file": {"encoding": '
            '"utf-16"}'
        )
    if start[:1] == b"\0" and encoding != "utf-16":
        raise InputError(NOT_TEXT_MESSAGE)
    file.seek(3 if start == codecs.BOM_UTF8 else 0)
    text = io.TextIOWrapper(
        file, encoding, "backslashreplace"
    )  # which turns all ends of lines into `\n`
    try:
        while piece := text.read(READ_SIZE):
            piece += text.readline(MAX_LINE_CHARS)
            if len(piece) >= MAX_LINE_CHARS and not piece.endswith("\n"):
                raise InputError("a value or a line has no end")
            yield piece.replace("\0", ZERO_BYTE_TEXT)
    finally:
        if not file.closed:
            text.detach()  # else the file would be closed with it


@frozen
class _PieceReader:
    """Pieces of a text as an open file."""

    pieces: Iterator[str]

    def __iter__(self) -> Iterator[str]:
        return self.pieces

    def read(self, _size: int = -1) -> str:
        return next(
            self.pieces, ""
        )  # pandas takes what it gets, and asks again until that is nothing


def _csv_options(delimiter: str) -> Json:
    return {"sep": delimiter, "header": None, "dtype": str, "keep_default_na": False}


def _parse_csv(text: str, delimiter: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), skip_blank_lines=False, **_csv_options(delimiter))


def _quoted_header(text: str) -> str:
    """Return the header of a file whose quoted cells may contain line breaks."""
    match = re.match(r'(?:"[^"]*(?:"|$)|[^"\n]+)*', text)
    return match[0] if match else ""


def _count_cells(line: str, delimiter: str) -> int:
    """Return the number of cells in a line, 0 if a quoted cell is not closed.

    Later quotes are ordinary signs.
    """
    cell_pattern = re.compile(rf"{QUOTED_CELL_PATTERN}[^{re.escape(delimiter)}]*+")
    position = 0
    count = 0
    while match := cell_pattern.match(line, position):
        position = match.end() + 1
        count = count + 1
        if position > len(line):
            return count
    return 0
