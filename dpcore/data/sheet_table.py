"""The table in an Excel file: its sheet, its header and its rows, as stated or guessed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO

import pandas as pd

from ..core.errors import InputError
from ..core.types import ProgressCallback, ignore_progress
from ..schema.text_format import FIRST_LINE, NO_HEADER, TextFormat
from .excel import Row, read_sheet, sheet_names
from .input_files import column_names, position_names
from .table_shape import MAX_END_LINES, MAX_SHAPE_LINES, Doubt, ShapeGuess, guess_lines

MAX_COMPARED_SHEETS = 20  # sheets that are looked at for the one with the table


def read_sheet_table(
    file: BinaryIO, format: TextFormat, progress: ProgressCallback
) -> pd.DataFrame:
    """Return the table in a sheet, in the stated format.

    Raises InputError as `read_sheet` does, for a line without names, and for a value to the right
    of all names.
    """
    rows = read_sheet(file, progress, format.sheet)
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
        header = rows[header_place]
        width = max(place for place, cell in enumerate(header, start=1) if cell != "")
        names = column_names(header[:width])
        start = header_place + 1
    width = len(names)
    for number, row in enumerate(rows[start:end], start=start + 1):
        # a column without a name would be part of everybody's row
        if any(cell != "" for cell in row[width:]):
            raise InputError(_wide_row_message(number, width, format))
    # an empty row is a row: whether it counts must not depend on what it holds
    body = [row[:width] + [""] * (width - len(row)) for row in rows[start:end]]
    return pd.DataFrame(body, columns=pd.Index(names), dtype=object)


def guess_sheet_format(
    file: BinaryIO, format: TextFormat | None, stated: Iterable[str]
) -> ShapeGuess:
    """Return the format of an Excel file, guessed from its rows except what is stated."""
    stated = set(stated)
    format = format or TextFormat()
    doubts: list[Doubt] = []
    if "sheet" not in stated:
        format, doubts = _guess_sheet(file, format)
    rows = _texts(read_sheet(file, ignore_progress, format.sheet))
    guess = guess_lines(format, rows[:MAX_SHAPE_LINES], rows[1:][-MAX_END_LINES:], stated)
    return replace(guess, doubts=(*doubts, *guess.doubts))


def _guess_sheet(file: BinaryIO, format: TextFormat) -> tuple[TextFormat, list[Doubt]]:
    """Return the format with the sheet of the largest table if the first one holds none."""
    names = sheet_names(file)[:MAX_COMPARED_SHEETS]
    if len(names) == 1 or _table_cells(file, names[0]):
        return format, []
    sizes = {name: _table_cells(file, name) for name in names}
    largest = max(sizes, key=lambda name: sizes[name])
    if not sizes[largest]:
        return format, []
    text = f"the sheet {largest!r} is read, as the first one, {names[0]!r}, holds no table"
    return replace(format, sheet=largest), [Doubt("sheet", text, {"sheet": names[0]})]


def _table_cells(file: BinaryIO, sheet: str) -> int:
    """Return the number of cells of a sheet; 0 if it is less than two rows or columns."""
    rows = read_sheet(file, ignore_progress, sheet)
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


def _wide_row_message(number: int, width: int, format: TextFormat) -> str:
    message = f"row {number} has values to the right of the header, which has {width}"
    if format.header == NO_HEADER:
        return f'row {number} has more values than the schema states: "width": {width}'
    return message + (
        f'; if another line is the header line, state which: "file": {{"header": {number}}}'
    )


def _texts(rows: list[Row]) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in rows]
