"""Read a sheet of an Excel file as a stream, counting as it goes.

The XML goes through a parser that keeps nothing but the cell at hand, so memory and time are
bounded by what is kept of a table: a sheet of a few bytes may claim two corner cells or a row
2·10⁹, and a tree of its elements takes a hundred times its size.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO
from xml.parsers import expat

from ..core.errors import InputError
from ..core.types import ProgressCallback, ignore_progress
from .input_files import check_zip_directory

MAX_UNPACKED_BYTES = 400_000_000  # limit for all parts together, unpacked
MAX_SMALL_PART_BYTES = 30_000_000  # limit for a part that is neither the sheet nor its texts
# limits of the format itself
MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
MAX_CELLS = 20_000_000  # most cells of the rectangle from the first cell to the last
# shared by cells
MAX_SHARED_TEXTS = 10_000_000
MAX_TEXT_CHARS = 200_000_000
MAX_FORMAT_CODE_CHARS = 1000  # characters of a number format
CHUNK_BYTES = 1 << 16
MAX_LISTED_SHEETS = 20  # names of sheets in a message
STYLE_SECTIONS = ("cellXfs", "cellStyleXfs", "dxfs")  # sections of the styles part
EXTRACTED_TAGS = ("Relationship", "sheet", "workbookPr", "numFmt", "xf", *STYLE_SECTIONS)
MAX_EXTRACTED_ELEMENTS = 200_000
WHOLE_NUMBER_PATTERN = re.compile(r"-?[0-9]{1,300}")
CELL_REFERENCE_PATTERN = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,10})")
TEXTS_TOO_LONG_MESSAGE = "its texts are more than are read; save it as CSV or Parquet"
Row = list[Any]


def sheet_names(file: BinaryIO) -> list[str]:
    """Return the names of an Excel file's sheets, in order.

    Raises InputError as `read_sheet` does.
    """
    with _open_archive(file) as archive:
        return list(_Workbook(archive).sheets)


def read_sheet(file: BinaryIO, progress: ProgressCallback, sheet: str = "") -> list[Row]:
    """Return the rows of the named sheet or the first one, all as long as its longest row.

    Empty cells are "" and errors None. Whole numbers are int, dates and times what openpyxl makes
    of them, formulas their last value. `progress` receives the bytes of the sheet that are read.
    InputError for what is no such file, for one that is larger than is read, and for one column
    that ends with an empty cell: whether that is a row must not depend on what the cell says.
    """
    with _open_archive(file) as archive:
        workbook = _Workbook(archive)
        if sheet and sheet not in workbook.sheets:
            names = ", ".join(repr(name[:40]) for name in list(workbook.sheets)[:MAX_LISTED_SHEETS])
            raise InputError(
                f'there is no sheet {sheet[:40]!r}; state one: "file": {{"sheet": …}} of {names}'
            )
        path = workbook.sheets[sheet] if sheet else next(iter(workbook.sheets.values()))
        rows, last_row = _read_rows(archive, workbook, path, progress)
    while rows and not rows[-1]:
        rows.pop()
    width = max(map(len, rows), default=0)
    if width == 1 and last_row > len(rows):
        raise InputError(
            f"row {last_row:,} is an empty value below all others: a sheet with one column does "
            "not show whether "
            "that is a row; write NA into it, or delete the row"
        )
    return [row + [""] * (width - len(row)) for row in rows]


def _open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """Return the parts of an Excel file; InputError if they unpack to too much."""
    check_zip_directory(file)
    archive = zipfile.ZipFile(file)  # which gives no more bytes than it says there are
    size = sum(part.file_size for part in archive.infolist())
    if size > MAX_UNPACKED_BYTES:
        raise InputError(
            f"unpacks to {size:,} bytes, at most {MAX_UNPACKED_BYTES:,} are read; save it as "
            "CSV or Parquet"
        )
    return archive


class _Workbook:
    """The other parts of an Excel file that a sheet needs.

    These are names, shared texts, date formats and the first day.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        from openpyxl.styles.numbers import builtin_format_code, is_date_format, is_timedelta_format
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

        names = set(archive.namelist())
        root = _read_relations(archive, "_rels/.rels", names)
        main = next(
            (path for kind, path in root.values() if kind == "officeDocument"), "xl/workbook.xml"
        )
        folder, name = posixpath.split(main)
        relations = _read_relations(archive, f"{folder}/_rels/{name}.rels", names)
        self.sheets: dict[str, str] = {}
        first_day = WINDOWS_EPOCH
        for tag, attributes in _extract_elements(archive, main):
            if tag == "sheet":
                key = next(
                    (v for k, v in attributes.items() if k.endswith("/relationships id")), ""
                )
                kind, path = relations.get(key, ("", ""))
                if kind == "worksheet" and path in names:
                    self.sheets.setdefault(attributes.get("name", ""), path)
            elif tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                first_day = MAC_EPOCH
        if not self.sheets:
            raise InputError("it has no sheet")
        self.first_day = first_day
        parts = {kind: path for kind, path in relations.values() if path in names}
        self.texts = (
            _read_shared_texts(archive, parts["sharedStrings"]) if "sharedStrings" in parts else []
        )
        codes: dict[str, str] = {}
        styles: list[str] = []
        section = ""
        for tag, attributes in (
            _extract_elements(archive, parts["styles"]) if "styles" in parts else ()
        ):
            section = tag if tag in STYLE_SECTIONS else section
            if tag == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")[
                    :MAX_FORMAT_CODE_CHARS
                ]
            elif tag == "xf" and section == "cellXfs":
                styles.append(attributes.get("numFmtId", "0"))
        formats = {s: codes.get(s) or builtin_format_code(int(s)) for s in set(styles)}
        self.date_styles = {i for i, s in enumerate(styles) if is_date_format(formats[s])}
        self.duration_styles = {i for i, s in enumerate(styles) if is_timedelta_format(formats[s])}

    def value_of_cell(self, cell: dict[str, str], text: str) -> Any:
        """Return the value of a cell with these attributes and this text; "" for an empty one.

        None for an error, and for a cell that contradicts its kind, which refuses no other.
        """
        kind = cell.get("t", "n")
        if kind in ("str", "inlineStr") or not text:
            return text
        try:
            if kind == "s":
                return self.texts[_parse_index(text)]
            if kind == "b":
                return bool(int(text))
            if kind == "d":
                return datetime.fromisoformat(text)
            return None if kind == "e" else self._number(text, _parse_index(cell.get("s", "0")))
        except (IndexError, OverflowError, ValueError):
            return None

    def _number(self, text: str, style: int) -> Any:
        from openpyxl.utils.datetime import from_excel

        number = int(text) if WHOLE_NUMBER_PATTERN.fullmatch(text) else float(text)
        if style in self.date_styles:
            return from_excel(number, self.first_day, timedelta=style in self.duration_styles)
        return int(number) if isinstance(number, float) and number.is_integer() else number


def _read_shared_texts(archive: zipfile.ZipFile, name: str) -> list[str]:
    """Return the texts that cells share, by number: one for each `si` element."""
    texts: list[str] = []
    parts: list[str] = []
    for event, payload in _parse_events(archive, name, MAX_UNPACKED_BYTES):
        if event == "=t":
            parts.append(payload)
        elif event == "/si":
            texts.append("".join(parts).replace("x005F_", ""))
            parts.clear()
            if len(texts) > MAX_SHARED_TEXTS:
                raise InputError(TEXTS_TOO_LONG_MESSAGE)
    return texts


def _read_rows(
    archive: zipfile.ZipFile, workbook: _Workbook, sheet: str, progress: ProgressCallback
) -> tuple[list[Row], int]:
    """Return the rows of the part `sheet`, and the number of the last row with a cell.

    Each row ends with its last cell.
    """
    rows: list[Row] = []
    cell: dict[str, str] = {}
    parts: list[str] = []
    row = 0
    column = 0
    width = 0
    last_row = 0
    for event, payload in _parse_events(archive, sheet, MAX_UNPACKED_BYTES, progress):
        if event == "c":
            cell = payload
            column = _column_number(payload, row, column)
        elif event == "=v" or (event == "=t" and cell.get("t") == "inlineStr"):
            parts.append(payload)
        elif event == "/c":
            value = workbook.value_of_cell(cell, "".join(parts))
            parts.clear()
            last_row = max(last_row, row)
            if value != "" and row:
                cells = rows[row - 1]
                cells += [""] * (column - len(cells))
                cells[column - 1] = value
                width = max(width, column)
                if (
                    len(rows) * width > MAX_CELLS
                ):  # empty ones included; rows below the last value are not kept
                    extent = f"{len(rows):,} rows and {width:,} columns"
                    raise InputError(
                        f"the sheet spans {extent}, at most {MAX_CELLS:,} values are read; save "
                        "it as CSV"
                    )
        elif event == "row":
            previous_row = row
            column = 0
            row = _parse_index(payload["r"]) if "r" in payload else row + 1
            if not 1 <= row <= MAX_ROWS:
                raise InputError(f"row {row:,} is outside 1..{MAX_ROWS:,}")
            rows.extend([] for _ in range(row - len(rows)))
            if row <= previous_row:  # it would be written over another one
                raise InputError(f"row {row:,} comes after row {previous_row:,}")
    return rows, last_row


def _column_number(attributes: dict[str, str], row: int, previous_column: int) -> int:
    """Return the number of a cell's column.

    It is read from the cell's reference, or else is the one after the cell before.
    """
    column = previous_column + 1
    if "r" in attributes:
        match = CELL_REFERENCE_PATTERN.fullmatch(attributes["r"])
        if not match:
            raise InputError(f"{attributes['r'][:40]!r} is not the place of a value")
        column = 0
        for letter in match[1].upper():
            column = 26 * column + ord(letter) - 64
    if column > MAX_COLUMNS:
        raise InputError(f"column {column:,} of row {row:,} is beyond {MAX_COLUMNS:,}")
    return column


def _parse_index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InputError(f"{text[:40]!r} is not the number of a row")
    return int(text)


def _read_relations(
    archive: zipfile.ZipFile, name: str, names: set[str]
) -> dict[str, tuple[str, str]]:
    """Return the kind and path of the parts that a part refers to, by key."""
    relations: dict[str, tuple[str, str]] = {}
    base = posixpath.dirname(posixpath.dirname(name))
    for tag, attributes in _extract_elements(archive, name) if name in names else ():
        if tag == "Relationship":
            path = posixpath.normpath(
                posixpath.join("/", base, attributes.get("Target", ""))
            ).lstrip("/")
            relations[attributes.get("Id", "")] = (
                attributes.get("Type", "").rpartition("/")[2],
                path,
            )
    return relations


def _extract_elements(archive: zipfile.ZipFile, name: str) -> list[tuple[str, dict[str, str]]]:
    """Return the wanted tags and attributes of a small part, in order."""
    events = (
        event
        for event in _parse_events(archive, name, MAX_SMALL_PART_BYTES)
        if event[0] in EXTRACTED_TAGS
    )
    elements = list(islice(events, MAX_EXTRACTED_ELEMENTS + 1))
    if len(elements) > MAX_EXTRACTED_ELEMENTS:
        raise InputError(f"it has more than {MAX_EXTRACTED_ELEMENTS:,} sheets or formats")
    return elements


def _parse_events(
    archive: zipfile.ZipFile,
    name: str,
    max_bytes: int,
    progress: ProgressCallback = ignore_progress,
) -> Iterator[tuple[str, Any]]:
    """Yield what a part says, in order, by tags without namespaces.

    An element that begins is its tag and attributes, its end is "/" and the tag; the text in `v`
    and `t` elements, without phonetic readings, is "=" and the tag, and some of the text.
    """
    size = archive.getinfo(name).file_size
    if size > max_bytes:
        raise InputError(f"its part {name[:80]!r} unpacks to more than {max_bytes:,} bytes")
    events: list[tuple[str, Any]] = []
    inside = ""
    phonetic = False
    characters = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal inside, phonetic
        tag = tag.rpartition(" ")[2]
        phonetic = phonetic or tag == "rPh"
        inside = "=" + tag if tag == "v" or (tag == "t" and not phonetic) else ""
        events.append((tag, attributes))

    def end(tag: str) -> None:
        nonlocal inside, phonetic
        inside = ""
        tag = tag.rpartition(" ")[2]
        phonetic = phonetic and tag != "rPh"
        events.append(("/" + tag, None))

    def data(text: str) -> None:
        nonlocal characters
        if inside:
            events.append((inside, text))
            characters += len(text)
            if characters > MAX_TEXT_CHARS:
                raise InputError(TEXTS_TOO_LONG_MESSAGE)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = _refuse_document_type
    with archive.open(name) as part:
        while chunk := part.read(CHUNK_BYTES):
            parser.Parse(chunk, False)
            progress(part.tell(), size)
            yield from events
            events.clear()
    parser.Parse(b"", True)
    yield from events


def _refuse_document_type(*_: Any) -> None:
    raise InputError("it declares a document type, which no Excel file does")
