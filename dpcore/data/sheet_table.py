"""The table in an Excel file: its sheet, its header and its rows, as stated or guessed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO

import pandas as pd

from ..core.errors import InputError
from ..core.types import ProgressCallback, ignore_progress
from ..schema.text_format import FIRST_LINE, NO_HEADER, TextFormat
from .excel import Row, read_sheet, sheet_names
from .input_files import column_names, join_header_lines, position_names
from .table_shape import MAX_END_LINES, MAX_PART_LINES, Doubt, ShapeGuess, guess_lines

MAX_COMPARED_SHEETS = 20  # sheets that are looked at for the one with the table


def read_sheet_table(
    file: BinaryIO, format: TextFormat, progress: ProgressCallback
) -> pd.DataFrame:
    """Return the table in a sheet, in the stated format.

    Raises InputError as `read_sheet` does, for a line without names, and for a value to the right
    of all names.
    """
    return _table_of_rows(read_sheet(file, progress, format.sheet), format)


def read_guessed_sheet_table(
    file: BinaryIO, format: TextFormat, stated: Iterable[str], progress: ProgressCallback
) -> tuple[pd.DataFrame, ShapeGuess]:
    """Return the table in an Excel file, and its format, guessed from its rows.

    What is `stated` of the format is not guessed. Raises InputError as `read_sheet_table` does.
    """
    stated = set(stated)
    rows = read_sheet(file, progress, format.sheet)
    doubts: list[Doubt] = []
    if "sheet" not in stated:
        sheet, doubts = _guess_sheet(file, rows)
        if sheet:
            format = replace(format, sheet=sheet)
            rows = read_sheet(file, progress, sheet)
    first_lines = _texts(rows[:MAX_PART_LINES])
    last_lines = _texts(rows[max(1, len(rows) - MAX_END_LINES) :])
    guess = guess_lines(format, first_lines, last_lines, stated)
    guess = replace(guess, doubts=(*doubts, *guess.doubts))
    return _table_of_rows(rows, guess.format), guess


def _table_of_rows(rows: list[Row], format: TextFormat) -> pd.DataFrame:
    """Return the table in the rows of a sheet, in the stated format."""
    if not rows:
        raise InputError(
            "the sheet is empty; if another one holds the table, state it: "
            '"file": {"sheet": "its name"}'
        )
    end = len(rows) - format.skip_end
    if format.header == NO_HEADER:
        names = position_names(format.width or len(rows[0]))
        start = 0
    else:
        header_place = _header_place(rows, format)
        lines = rows[header_place - format.header_lines + 1 : header_place + 1]
        width = max(_filled_width(line) for line in lines)
        names = column_names(join_header_lines([line[:width] for line in lines]))
        start = header_place + 1
    width = len(names)
    for number, row in enumerate(rows[start:end], start=start + 1):
        # a column without a name would be part of everybody's row
        if any(cell != "" for cell in row[width:]):
            raise InputError(_wide_row_message(number, width, format))
    # an empty row is a row: whether it counts must not depend on what it holds
    body = [row[:width] + [""] * (width - len(row)) for row in rows[start:end]]
    return pd.DataFrame(body, columns=pd.Index(names), dtype=object)


def _guess_sheet(file: BinaryIO, first_rows: list[Row]) -> tuple[str, list[Doubt]]:
    """Return the sheet of the largest table if the first one holds none; else an empty name."""
    if _table_cells(first_rows):
        return "", []
    names = sheet_names(file)[:MAX_COMPARED_SHEETS]
    sizes = {name: _table_cells(read_sheet(file, ignore_progress, name)) for name in names[1:]}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    if not sizes.get(largest):
        return "", []
    text = f"the sheet {largest!r} is read, as the first one, {names[0]!r}, holds no table"
    return largest, [Doubt("sheet", text, {"sheet": names[0]})]


def _table_cells(rows: list[Row]) -> int:
    """Return the number of cells of a sheet's rows; 0 for less than two rows or columns."""
    wide_rows = [row for row in rows if sum(cell != "" for cell in row) > 1]
    return sum(len(row) for row in wide_rows) if len(wide_rows) > 1 else 0


def _header_place(rows: list[Row], format: TextFormat) -> int:
    """Return the index of the row that holds the names."""
    if format.header == FIRST_LINE:
        return next(place for place, row in enumerate(rows) if any(cell != "" for cell in row))
    place = int(format.header) - 1
    if place >= len(rows) or all(cell == "" for cell in rows[place]):
        raise InputError(
            f"row {format.header} holds no names of columns; state the one that does: "
            '"file": {"header": 1}, or "none"'
        )
    return place


def _filled_width(row: Row) -> int:
    """Return the number of cells up to the last one that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell != ""), default=0)


def _wide_row_message(number: int, width: int, format: TextFormat) -> str:
    message = f"row {number} has values to the right of the header, which has {width}"
    if format.header == NO_HEADER:
        return f'row {number} has more values than the schema states: "width": {width}'
    return message + (
        f'; if another line is the header line, state which: "file": {{"header": {number}}}'
    )


def _texts(rows: list[Row]) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in rows]
