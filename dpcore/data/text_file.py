"""The rows of a text file, some at a time, each read from its own characters alone."""

import codecs
import io
import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO, NoReturn

import pandas as pd
import pyarrow as pa
from pyarrow import csv

from ..core.errors import InputError
from ..core.types import Json, Texts, frozen
from ..schema.text_format import (
    DELIMITER_NAMES,
    FIRST_LINE,
    NO_HEADER,
    SPACES_AFTER_DELIMITER,
    SPACES_BETWEEN_COLUMNS,
    TextFormat,
)
from .file_kinds import check_file_kind
from .input_files import column_names, join_header_lines, position_names

MAX_FILLED_CELLS = (
    10_000_000  # cells of a piece of a file, and four a character: more come from short rows only
)
MAX_HEADER_CHARS = 1_000_000  # characters in which a file's header ends
READ_SIZE = 1 << 24  # bytes, or characters, of a file that are read at once
ARROW_BLOCK_SIZE = 1 << 22  # bytes that Arrow reads at once, which hold a whole line
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

    The format is known once the header was read, `first_line` is the number of the line that
    follows it. Lines end with `\n`, `\r\n` or `\r`. A row with
    fewer cells than the header has missing ones at its end; one with more, or with a cell in quotes
    that has no end, is refused by the number of its line. An empty line is a row with an empty cell
    if there is one column, and none if there are more.
    """

    names: Texts
    format: TextFormat
    header: str
    pieces: Iterator[str]
    first_line: int

    @classmethod
    def from_file(cls, file: BinaryIO, format: TextFormat, ending: str) -> "TextRows":
        """Return the rows of a file from its start on.

        Raises InputError for an empty one, or one that is no text.
        """
        has_header = format.header != NO_HEADER
        if has_header:  # else the first line is a row, which must not decide for all
            check_file_kind(file, TEXT_ENDING, encoding=format.encoding)
        pieces = _drop_last_lines(read_pieces(file, format), format.skip_end)
        start = _read_to_header(pieces, format)
        start_text = start.text[: MAX_HEADER_CHARS + 2]
        header = _quoted_header(start_text) if format.line_breaks else start_text.partition("\n")[0]
        if len(header) > MAX_HEADER_CHARS:
            raise InputError(f"its header does not end within {MAX_HEADER_CHARS:,} characters")
        if has_header and ZERO_BYTE_TEXT in header:
            raise InputError(NOT_TEXT_MESSAGE)
        known_format = replace(format, delimiter=_delimiter_of(header, format, ending))
        cells = count_cells(header, known_format)
        for number, line in enumerate([header, *start.upper_lines[::-1]]):
            if not count_cells(line, known_format):
                raise OpenQuotesError(OPEN_QUOTES_MESSAGE.format(start.skipped_lines + 1 - number))
        rest = start.text
        first_line = start.skipped_lines + 1
        if has_header:
            rest = rest[len(header) + 1 :]
            first_line += header.count("\n") + 1
            header_lines = [*filter(None, start.upper_lines), header]
            lines = [_parse_csv(f"{line}\n", known_format).iloc[0] for line in header_lines]
            names = column_names(join_header_lines(lines))
        else:
            names = position_names(format.width or cells)
        if len(names) != cells or not has_header:
            header = known_format.delimiter.join(position_names(len(names)))
        return cls(names, known_format, header, chain(filter(None, [rest]), pieces), first_line)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        """Yield batches of rows, as texts."""
        for frame in self._rows_by_quotes() if self.format.line_breaks else self._rows_by_line():
            yield frame.set_axis(list(self.names), axis=1)

    def _rows_by_line(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of each piece, one for each line."""
        line_number = self.first_line
        for piece in self.pieces:
            text = piece if piece.endswith("\n") else piece + "\n"
            line_count = text.count("\n")
            lines = line_count
            if len(self.names) > 1 and (text.startswith("\n") or "\n\n" in text):
                text = re.sub(r"\n\n+", "\n", text).lstrip("\n")
                lines = text.count("\n")
            self._check_filled(lines, len(text))
            frame = self._parse_plain_lines(text)
            if frame is None or len(frame) != lines:
                frame = self._parse_lines(text)
            if frame is None or len(frame) != lines:
                self._raise_bad_line(piece, line_number)
            yield frame
            line_number += line_count

    def _parse_plain_lines(self, text: str) -> pd.DataFrame | None:
        """Return the rows of whole lines without a quote, each as long as the header.

        None for any other text. Pandas reads the same of these, in several times as long.
        """
        is_plain = '"' not in text and not text.startswith("\ufeff")
        if not is_plain or len(self.names) < 2 or self.format.spaces == SPACES_AFTER_DELIMITER:
            return None
        names = [str(i) for i in range(len(self.names))]
        text_type = pa.large_string()
        try:
            table = csv.read_csv(
                pa.BufferReader(text.encode()),
                csv.ReadOptions(column_names=names, block_size=ARROW_BLOCK_SIZE),
                csv.ParseOptions(
                    delimiter=self.format.delimiter, quote_char=False, ignore_empty_lines=False
                ),
                csv.ConvertOptions(column_types=dict.fromkeys(names, text_type), null_values=[]),
            )
        except (pa.ArrowException, ValueError):
            return None
        return table.to_pandas()

    def _parse_lines(self, text: str) -> pd.DataFrame | None:
        """Return the rows of whole lines, None if pandas refuses one of them."""
        try:
            frame = _parse_csv(f"{self.header}\n{text}", self.format).iloc[1:]
        except (pd.errors.ParserError, ValueError):
            return None
        return frame.reset_index(drop=True)

    def _rows_by_quotes(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of all pieces, where quotes decide where a row ends."""
        self._check_filled(1, len(self.header))
        handle: Any = _PieceReader(chain([f"{self.header}\n"], self.pieces))
        skip_blank_lines = len(self.names) > 1
        read: Any = pd.read_csv(
            handle,
            chunksize=BATCH_ROWS,
            skip_blank_lines=skip_blank_lines,
            **_csv_options(self.format),
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
        for number, line in enumerate(piece.split("\n"), line_number):
            cells = count_cells(line, self.format)
            if not cells:
                raise OpenQuotesError(OPEN_QUOTES_MESSAGE.format(number))
            if cells > width:
                raise InputError(self._long_line_message(number, cells))
        raise InputError("it is damaged, or a file of another kind")

    def _long_line_message(self, number: int, cells: int) -> str:
        """Return what is wrong with a line of too many cells, and the statement that may help."""
        width = len(self.names)
        if self.format.header == NO_HEADER:
            return f'line {number} has {cells} values, the schema states "width": {width}'
        message = f"line {number} has {cells} values, the header has {width}"
        if self.format.header == FIRST_LINE:
            message += (
                "; if it is not the first line that holds the names, state which: "
                f'"file": {{"header": {number}}}'
            )
        return message


@frozen
class _HeaderStart:
    """The text of a file from the line of the names on, and how many lines are above it.

    `upper_lines` are those directly above it that hold names, too.
    """

    text: str
    skipped_lines: int = 0
    upper_lines: Texts = ()


def _read_to_header(pieces: Iterator[str], format: TextFormat) -> _HeaderStart:
    """Return the text from the header on; of `pieces` as many are taken as that needs.

    Without a header it is the text of the first rows.
    """
    line = format.header if isinstance(format.header, int) else 1
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > MAX_HEADER_CHARS or (text.count("\n") >= line and text.strip("\n")):
            break
    if not text.strip("\n"):
        raise InputError("the file is empty")
    if format.header == NO_HEADER:
        return _HeaderStart(text)
    if format.header == FIRST_LINE:
        rest = text.lstrip("\n")
        return _HeaderStart(rest, len(text) - len(rest))
    parts = text.split("\n", line - 1)
    if len(parts) < line or not parts[-1].partition("\n")[0].strip():
        raise InputError(
            f"line {line} holds no names of columns; state the line that does: "
            '"file": {"header": 1}, or "none"'
        )
    upper_lines = parts[format.first_header_line - 1 : -1]
    return _HeaderStart(parts[-1], line - 1, tuple(upper_lines))


def _delimiter_of(header: str, format: TextFormat, ending: str) -> str:
    """Return the stated delimiter, or the one that a header shows.

    It is a comma where none cuts the header, or there is no header.
    """
    if format.delimiter:
        return format.delimiter
    if ending == ".tsv" or format.spaces == SPACES_BETWEEN_COLUMNS:
        return "\t"
    if format.header == NO_HEADER:
        return ","
    return max(
        DELIMITER_NAMES,
        key=lambda delimiter: count_cells(header, replace(format, delimiter=delimiter)),
    )


def _drop_last_lines(pieces: Iterator[str], count: int) -> Iterator[str]:
    """Yield a text in pieces of whole lines, without its last lines, empty ones among them."""
    held = ""
    for piece in pieces:
        text = held + piece
        end = len(text) - 1 if text.endswith("\n") else len(text)
        if not count:
            end = len(text) - 1
        for _ in range(count):
            end = text.rfind("\n", 0, end) if end >= 0 else -1
        if end >= 0:
            yield text[: end + 1]
        held = text[end + 1 :]


def read_pieces(file: BinaryIO, format: TextFormat) -> Generator[str, None, None]:
    r"""Yield a file's text in pieces of whole lines, which end with `\n` except the last one.

    Runs of spaces that separate columns are a tab each.
    """
    encoding = format.encoding
    start = file.read(3)
    is_checked = not encoding.startswith(("utf-16", "utf-32")) and format.header != NO_HEADER
    if start[:2] in UTF_16_MARKS and is_checked:
        raise InputError(
            'it is UTF-16: save it as UTF-8, or say so in the schema: "file": {"encoding": '
            '"utf-16"}'
        )
    if start[:1] == b"\0" and is_checked:
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
            piece = piece.replace("\0", ZERO_BYTE_TEXT)
            if format.spaces == SPACES_BETWEEN_COLUMNS:
                piece = tabs_between_columns(piece)
            yield piece
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


def tabs_between_columns(text: str) -> str:
    """Return whole lines with a tab for each run of spaces, none at the ends of a line.

    Spaces in a value in quotes stay.
    """
    text = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text)
    return re.sub(
        r'(?m)(?:^|(?<=[ \t]))("[^"\n]*")(?=[ \t]|$)|[ \t]+', lambda run: run[1] or "\t", text
    )


def _csv_options(format: TextFormat) -> Json:
    return {
        "sep": format.delimiter,
        "header": None,
        "dtype": str,
        "keep_default_na": False,
        "skipinitialspace": format.spaces == SPACES_AFTER_DELIMITER,
    }


def _parse_csv(text: str, format: TextFormat) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), skip_blank_lines=False, **_csv_options(format))


def _quoted_header(text: str) -> str:
    """Return the header of a file whose quoted cells may contain line breaks."""
    match = re.match(r'(?:"[^"]*(?:"|$)|[^"\n]+)*', text)
    return match[0] if match else ""


def count_cells(line: str, format: TextFormat) -> int:
    """Return the number of cells in a line, 0 if a quoted cell is not closed.

    Later quotes are ordinary signs.
    """
    return len(cell_texts(line, format))


def cell_texts(line: str, format: TextFormat) -> list[str]:
    """Return the cells of a line as they are written, none if a quoted cell is not closed."""
    delimiter = re.escape(format.delimiter)
    spaces = r"[ \t]*+" if format.spaces == SPACES_AFTER_DELIMITER else ""
    if format.delimiter == "\t":
        spaces = spaces.replace(r"\t", "")
    cell_pattern = re.compile(rf"{spaces}{QUOTED_CELL_PATTERN}[^{delimiter}]*+")
    position = 0
    cells = []
    while match := cell_pattern.match(line, position):
        position = match.end() + 1
        cells.append(match[0])
        if position > len(line):
            return cells
    return []
