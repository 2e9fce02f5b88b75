"""Guesses at the shape of a table, while exploring: which line holds the names, which are no rows.

Each guess comes with a doubt that says what was assumed, and the statement that reads it otherwise.
A release guesses nothing: it follows the statement "file" of the schema.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pandas as pd

from ..core.types import Json, Texts, frozen
from ..schema.cell_text import MISSING_TEXTS
from ..schema.inference.infer_schema import counts_rows
from ..schema.schema_json import MAX_HEADER_LINES
from ..schema.text_format import FIRST_LINE, NO_HEADER, ROW_NUMBER_NAME, TextFormat
from .input_files import NAME_SEPARATOR, is_default_name, join_header_lines

MAX_SHAPE_LINES = 200  # lines at a table's start that its shape is guessed from
MAX_PART_LINES = 5000  # lines at a table's start among which another table may begin
MAX_END_LINES = 12  # and at its end
MAX_LINES_ABOVE = 15  # lines above the names
MIN_NUMBER_SHARE = 0.8  # of the values of a column of numbers
MIN_PART_NUMBER_SHARE = 0.5  # of them where another table may stand below
MAX_SHOWN_CHARS = 60  # of a value in a doubt
MIN_REPEATS = 2  # times that a value occurs below the first line, if it is a value there too
PREVIEW_LINES = 10  # that a person is shown
NUMBER_PATTERN = re.compile(r"[-+(]?[$€£]?\d[\d.,\s]*%?\)?(?:[eE][-+]?\d+)?")
DATE_PATTERN = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")
E_MAIL_PATTERN = re.compile(r"[^@\s]+@[^@\s]+\.\w+")
END_PATTERN = re.compile(
    r"\W*(?:grand |sub)?(?:totals?|sum|sums|notes?|source|sources|footnotes?|summe|gesamt|quelle|"
    r"insgesamt|anmerkung|hinweis|suma|fuente|nota|fonte|somme|remarque)\b.*",
    re.IGNORECASE,
)
Line = Sequence[str]


@frozen
class Doubt:
    """A doubt about how a file was read: its kind, and a text that says what was assumed.

    `statement` is the part of the schema's "file" that would read it otherwise, empty if there is
    none.
    """

    kind: str
    text: str
    statement: Json


@frozen
class ShapeGuess:
    """A guess at the format of a file, with its doubts, and its lines as they were read.

    `preview` are the first lines, `left_out` those at the end that are taken for totals or notes.
    """

    format: TextFormat
    doubts: tuple[Doubt, ...] = ()
    preview: tuple[Texts, ...] = ()
    left_out: tuple[Texts, ...] = ()


def guess_lines(
    format: TextFormat, lines: Sequence[Line], end: Sequence[Line], stated: Iterable[str]
) -> ShapeGuess:
    """Return a format with its header and end guessed, where these are not stated.

    Args:
        format: The format as far as it is known.
        lines: The cells of the first lines, at most MAX_PART_LINES, from the first one on.
        end: The cells of the last lines.
        stated: The names of the settings that a person stated.

    """
    doubts = []
    first_lines = lines[:MAX_SHAPE_LINES]
    if "header" not in stated:
        guess = _guess_header(first_lines)
        doubts = [*guess.doubts]
        format = replace(format, header=guess.header, header_lines=guess.line_count)
    if format.header == NO_HEADER and not format.width:
        format = replace(format, width=_usual_width(first_lines))
    doubts += _doubts_about_parts(lines, format)
    if "skip_end" not in stated:
        skip_end = _guess_skip_end(end, _usual_width(first_lines))
        if skip_end:
            text = f"the last {skip_end} lines look like totals or notes, and are left out"
            if skip_end == 1:
                text = "the last line looks like a total or a note, and is left out"
            doubts.append(Doubt("skip_end", text, {"skip_end": 0}))
        format = replace(format, skip_end=skip_end)
    preview = tuple(tuple(line) for line in lines[:PREVIEW_LINES])
    left_out = tuple(tuple(line) for line in end[max(0, len(end) - format.skip_end) :])
    return ShapeGuess(format, tuple(doubts), preview, left_out)


def empty_unnamed_columns(frame: pd.DataFrame) -> Texts:
    """Return the columns without a name in the header and without a value in any row."""
    return tuple(
        str(name)
        for position, (name, cells) in enumerate(frame.items(), start=1)
        if is_default_name(str(name), position) and _is_empty(cells)
    )


def row_number_columns(frame: pd.DataFrame) -> Texts:
    """Return the first column if it has no name in the header, and counts the rows."""
    if not len(frame.columns) or not counts_rows(str(frame.columns[0]), frame.iloc[:, 0]):
        return ()
    return (ROW_NUMBER_NAME,)


def doubts_about_empty_columns(frame: pd.DataFrame) -> list[Doubt]:
    """Return the doubts about columns that are not proposed as they hold nothing of a person."""
    doubts = []
    empty = empty_unnamed_columns(frame)
    if empty:
        text = f"left out, as they have neither a name nor a value: {', '.join(empty)}"
        doubts.append(Doubt("empty_columns", text, {}))
    if row_number_columns(frame):
        text = f"the first column counts the rows; it is called {ROW_NUMBER_NAME} and left out"
        doubts.append(Doubt("row_numbers", text, {}))
    return doubts


def _is_empty(cells: pd.Series) -> bool:
    return all(cell is None or not str(cell).strip() for cell in cells)


@frozen
class _HeaderGuess:
    """A guess at the lines that hold the names, the last of them and how many, with doubts."""

    header: int | str = FIRST_LINE
    line_count: int = 1
    doubts: tuple[Doubt, ...] = ()


def _guess_header(lines: Sequence[Line]) -> _HeaderGuess:
    """Return the lines of the names, and the doubts about them."""
    indices = [index for index, line in enumerate(lines) if _filled(line)]
    if not indices:
        return _HeaderGuess()
    first = indices[0]
    position = 0
    usual = _usual_filled(lines)
    while position + 1 < min(len(indices), MAX_LINES_ABOVE) and _is_above_names(
        lines[indices[position]], lines[indices[position + 1]], usual
    ):
        position += 1
    index = indices[position]
    below = [lines[later] for later in indices[position + 1 :]]
    if position == 0 and _looks_like_row(lines[index], below):
        text = "line 1 looks like a row, not like names, so that the columns are called c1, c2, …"
        doubt = Doubt("header", text, {"header": first + 1})
        return _HeaderGuess(NO_HEADER, doubts=(doubt,))
    if position == 0:
        return _HeaderGuess(doubts=tuple(_doubts_about_names(lines[index], below)))
    line_count = 1
    while line_count < MAX_HEADER_LINES and _holds_groups(lines, index - line_count, index):
        line_count += 1
    if line_count > 1:
        names = join_header_lines(lines[index - line_count + 1 : index + 1])
        example = next(name for name in names if NAME_SEPARATOR in name)
        text = (
            f"the lines {index - line_count + 2} to {index + 1} are read as the names, joined as "
            f"in {example!r}"
        )
        statement = {"header": index + 1, "header_lines": 1}
        doubt = Doubt("two_line_header", text, statement)
    else:
        above = "the line above it looks" if position == 1 else "the lines above it look"
        text = f"line {index + 1} is read as the names; {above} like a title"
        doubt = Doubt("title", text, {"header": first + 1})
    return _HeaderGuess(index + 1, line_count, (doubt,))


def _holds_groups(lines: Sequence[Line], index: int, names_index: int) -> bool:
    """Return whether a line above the names holds names of groups of columns, and no title.

    A title stands alone, at the left or above everything.
    """
    if index < 0:
        return False
    columns = [column for column, cell in enumerate(lines[index]) if cell.strip()]
    named = [column for column, cell in enumerate(lines[names_index]) if cell.strip()]
    if not columns or not named:
        return False
    names = join_header_lines([lines[index], lines[names_index]])
    has_groups = any(NAME_SEPARATOR in name for name in names)
    return has_groups and (len(columns) > 1 or columns[0] > named[0])


def _doubts_about_names(line: Line, below: Sequence[Line]) -> list[Doubt]:
    """Return the doubt whether a line of texts above texts is the names, or a row like them."""
    rows = [row for row in below if list(row) != list(line)]
    repeated = ""
    for position, cell in enumerate(line):
        values = [row[position].strip() for row in rows if position < len(row)]
        values = [value for value in values if value]
        if sum(map(_is_value, values)) >= MIN_NUMBER_SHARE * max(len(values), 1):
            return []
        if cell.strip() and cell.strip() in values:
            repeated = repeated or cell.strip()
    if not repeated:
        return []
    text = (
        f"line 1 is read as the names, and {repeated[:MAX_SHOWN_CHARS]!r} in it is a value of "
        "other lines, too; is line 1 the names?"
    )
    return [Doubt("header", text, {"header": NO_HEADER, "width": len(line)})]


def _doubts_about_parts(lines: Sequence[Line], format: TextFormat) -> list[Doubt]:
    """Return the doubt about the first line below the names that seems to begin another table.

    It repeats the names, or it holds texts above columns of numbers or after an empty line.
    """
    indices = [index for index, line in enumerate(lines) if _filled(line)]
    if not indices or format.header == NO_HEADER:
        return []
    names_index = indices[0] if format.header == FIRST_LINE else int(format.header) - 1
    if names_index >= len(lines):
        return []
    names = [cell.strip() for cell in lines[names_index]]
    body = [index for index in indices if index > names_index]
    number_columns = _number_columns([lines[index] for index in body[:MAX_SHAPE_LINES]])
    for previous, index in zip([names_index, *body], body, strict=False):
        line = [cell.strip() for cell in lines[index]]
        if len(names) > 1 and line == names:
            text = f"line {index + 1} repeats the names, so that another table seems to begin there"
            return [Doubt("parts", f"{text}; its lines are read as one table", {})]
        is_apart = index - previous > 1 and previous != names_index
        if _may_name_columns(line, number_columns, is_apart=is_apart):
            text = f"line {index + 1} looks like names, so that another table seems to begin there"
            return [Doubt("parts", f"{text}; the lines are read as one table", {})]
    return []


def _number_columns(rows: Sequence[Line]) -> list[int]:
    """Return the positions of the columns that hold numbers, dates and the like."""
    width = max(map(len, rows), default=0)
    positions = []
    for position in range(width):
        values = [row[position].strip() for row in rows if position < len(row)]
        values = [value for value in values if value not in MISSING_TEXTS]
        numbers = sum(map(_is_value, values))
        if values and numbers >= MIN_PART_NUMBER_SHARE * len(values):
            positions.append(position)
    return positions


def _may_name_columns(line: Line, number_columns: Sequence[int], *, is_apart: bool) -> bool:
    """Return whether a line below the names holds different texts where numbers are expected.

    One that is apart from the lines before it needs only one such column.
    """
    texts = [line[i] for i in number_columns if i < len(line) and line[i] not in MISSING_TEXTS]
    if len(texts) < len(number_columns) or len(texts) < (1 if is_apart else 2):
        return False
    if any(map(_is_value, texts)):
        return False
    filled = _filled(line)
    are_names = len(filled) > 1 and len(set(filled)) == len(filled)
    return are_names and not END_PATTERN.fullmatch(filled[0]) and not any(map(_is_value, filled))


def _is_above_names(line: Line, next_line: Line, usual: int) -> bool:
    """Return whether a line is a title, or holds names of groups of columns."""
    filled = len(_filled(line))
    if usual < 2 or filled >= usual:
        return False
    if filled == 1:
        return bool(line[0].strip()) or len(line) > 2
    has_gap = any(not cell.strip() for cell in line[1:usual])
    is_fuller = len(_filled(next_line)) > filled
    return has_gap and is_fuller and not any(_is_value(cell) for cell in _filled(next_line))


def _looks_like_row(line: Line, below: Sequence[Line]) -> bool:
    """Return whether a line is more like the rows below it than like names of columns.

    Lines that repeat it do not count, as files put together repeat their names.
    """
    if len(line) > 1:
        below = [row for row in below if list(row) != list(line)]
    for_row = 0
    for_names = 0
    year_names = _are_rising_numbers(line)
    for position, cell in enumerate(line):
        text = cell.strip()
        values = [row[position].strip() for row in below if position < len(row)]
        values = [value for value in values if value]
        if not text or not values:
            continue
        numbers = sum(_is_value(value) for value in values)
        if _is_value(text):
            for_row += 0 if year_names else 1
        elif numbers >= MIN_NUMBER_SHARE * len(values):
            for_names += 1
        elif values.count(text) >= min(MIN_REPEATS, max(1, len(values) // 4)):
            for_row += 1
    return for_row > for_names


def _are_rising_numbers(line: Line) -> bool:
    """Return whether the numbers in a line are years or counts, as names of columns are.

    They rise by equal steps, as the middles of groups do.
    """
    texts = [text for text in _filled(line) if re.fullmatch(r"\d{1,4}(\.\d{1,4})?", text)]
    numbers = [float(text) for text in texts]
    steps = {round(later - earlier, 6) for earlier, later in pairwise(numbers)}
    return len(numbers) >= 3 and len(steps) == 1 and steps.pop() > 0


def _guess_skip_end(end: Sequence[Line], width: int) -> int:
    """Return the number of last lines that are totals, notes, or empty lines above these."""
    skipped = 0
    for place, line in enumerate(reversed(end), start=1):
        filled = _filled(line)
        is_note = width > 1 and len(filled) == 1 and END_PATTERN.fullmatch(filled[0])
        is_total = width > 1 and filled and END_PATTERN.fullmatch(line[0].strip())
        if is_note or is_total:
            skipped = place
        elif filled:
            break
    while skipped and skipped < len(end) and not _filled(end[-skipped - 1]):
        skipped += 1
    return skipped


def _usual_width(lines: Sequence[Line]) -> int:
    """Return the number of cells that most lines have."""
    return _most_common(len(line) for line in lines if _filled(line))


def _usual_filled(lines: Sequence[Line]) -> int:
    """Return the number of cells that are not empty in most lines."""
    return _most_common(len(_filled(line)) for line in lines if _filled(line))


def _most_common(numbers: Iterable[int]) -> int:
    """Return the number that occurs most often; 0 for none."""
    counts = Counter(numbers)
    return counts.most_common(1)[0][0] if counts else 0


def _filled(line: Line) -> list[str]:
    return [cell.strip() for cell in line if cell.strip()]


def _is_value(text: str) -> bool:
    """Return whether a text is a number, a date or an e-mail address, as names are not."""
    patterns = (NUMBER_PATTERN, DATE_PATTERN, E_MAIL_PATTERN)
    return any(pattern.fullmatch(text.strip()) for pattern in patterns)
