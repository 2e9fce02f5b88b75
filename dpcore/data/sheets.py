"""Read the first sheet of an Excel file as a stream, counting as it goes.

The XML goes through a parser that keeps nothing but the cell at hand, so memory and time are bounded by what is kept
of a table: a sheet of a few bytes may claim two corner cells or a row 2·10⁹, and a tree of its elements takes a hundred
times its size.
"""

import os
import posixpath
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO
from xml.parsers import expat

from ..errors import InputError
from ..types import Watch, unwatched

MOST_BYTES = 400_000_000  # limit for all parts together, unpacked
MOST_SMALL = 30_000_000  # limit for a part that is neither the sheet nor its texts
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # limits of the format itself
MOST_CELLS = 20_000_000  # most cells of the rectangle from the first cell to the last
MOST_TEXTS, MOST_CHARACTERS = 10_000_000, 200_000_000  # shared by cells
LONGEST_CODE = 1000  # characters of a number format
CHUNK = 1 << 16
MOST_DIRECTORY, DIRECTORY_END, TAIL = 5_000_000, b"PK\5\6", 65_557  # bytes; how the end of a zip file begins
SECTIONS = ("cellXfs", "cellStyleXfs", "dxfs")  # sections of the styles part
WANTED = ("Relationship", "sheet", "workbookPr", "numFmt", "xf", *SECTIONS)
MOST_WANTED = 200_000
WHOLE = re.compile(r"-?[0-9]{1,300}")
CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,10})")
Row = list[Any]


def first_sheet(file: BinaryIO, told: Watch = unwatched) -> list[Row]:
    """The rows of the first sheet, all as long as its longest row, empty cells "" and errors None.

    Whole numbers are int, dates and times what openpyxl makes of them, formulas their last value. `told` hears which
    share of the sheet is read. InputError for what is no such file, for one that is larger than is read, and for one
    column that ends with an empty cell: whether that is a row must not depend on what the cell says.
    """
    _check_directory(file)
    with zipfile.ZipFile(file) as packed:  # which gives no more bytes than it says there are
        if (size := sum(part.file_size for part in packed.infolist())) > MOST_BYTES:
            raise InputError(f"unpacks to {size:,} bytes, at most {MOST_BYTES:,} are read; save it as CSV or Parquet")
        book = _Book(packed)
        sheet = _Sheet(book)
        _parse(packed, book.sheet, sheet, MOST_BYTES, told)
    rows = sheet.rows
    while rows and not rows[-1]:
        rows.pop()
    width = max(map(len, rows), default=0)
    if width == 1 and sheet.last > len(rows):
        raise InputError(
            f"row {sheet.last:,} is an empty value below all others: a sheet with one column does not show whether "
            "that is a row; write NA into it, or delete the row"
        )
    return [row + [""] * (width - len(row)) for row in rows]


class _Book:
    """The other parts of an Excel file that a sheet needs: names, shared texts, date formats, the first day."""

    def __init__(self, packed: zipfile.ZipFile) -> None:
        from openpyxl.styles.numbers import builtin_format_code, is_date_format, is_timedelta_format
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

        names = set(packed.namelist())
        root = _relations(packed, "_rels/.rels", names)
        main = next((path for kind, path in root.values() if kind == "officeDocument"), "xl/workbook.xml")
        folder, name = posixpath.split(main)
        relations = _relations(packed, f"{folder}/_rels/{name}.rels", names)
        sheets, first_day = [], WINDOWS_EPOCH
        for tag, attributes in _elements(packed, main):
            if tag == "sheet":
                key = next((v for k, v in attributes.items() if k.endswith("/relationships id")), "")
                kind, path = relations.get(key, ("", ""))
                sheets += [path] * (kind == "worksheet" and path in names)
            elif tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                first_day = MAC_EPOCH
        if not sheets:
            raise InputError("it has no sheet")
        self.sheet, self.first_day = sheets[0], first_day
        parts = {kind: path for kind, path in relations.values() if path in names}
        self.texts = _Texts()
        if "sharedStrings" in parts:
            _parse(packed, parts["sharedStrings"], self.texts, MOST_BYTES)
        codes: dict[str, str] = {}
        styles: list[str] = []
        inside = ""
        for tag, attributes in _elements(packed, parts["styles"]) if "styles" in parts else ():
            inside = tag if tag in SECTIONS else inside
            if tag == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")[:LONGEST_CODE]
            elif tag == "xf" and inside == "cellXfs":
                styles.append(attributes.get("numFmtId", "0"))
        formats = {s: codes.get(s) or builtin_format_code(int(s)) for s in set(styles)}
        self.dates = {i for i, s in enumerate(styles) if is_date_format(formats[s])}
        self.durations = {i for i, s in enumerate(styles) if is_timedelta_format(formats[s])}


class _Texts:
    """The texts that cells share, by number: one for each `si` element, without phonetic readings."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.parts: list[str] = []
        self.reading = self.phonetic = False
        self.characters = 0

    def start(self, tag: str, _attributes: dict[str, str]) -> None:
        if tag == "rPh":
            self.phonetic = True
        self.reading = tag == "t" and not self.phonetic

    def data(self, text: str) -> None:
        if self.reading:
            self.characters += len(text)
            self.parts.append(text)

    def end(self, tag: str) -> None:
        self.reading = False
        if tag == "rPh":
            self.phonetic = False
        elif tag == "si":
            self.found.append("".join(self.parts).replace("x005F_", ""))
            self.parts.clear()
            if len(self.found) > MOST_TEXTS or self.characters > MOST_CHARACTERS:
                raise InputError("its texts are more than are read; save it as CSV or Parquet")


class _Sheet:
    """The cells of a sheet, row by row in the file's order."""

    def __init__(self, book: _Book) -> None:
        self.book = book
        self.rows: list[Row] = []
        self.row = self.column = self.width = self.characters = self.last = 0  # the last row with a cell
        self.cell: dict[str, str] = {}
        self.parts: list[str] = []
        self.reading = self.phonetic = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "c":
            self._place(attributes)
        elif tag == "row":
            before, self.column = self.row, 0
            self.row = _whole(attributes["r"], "row") if "r" in attributes else self.row + 1
            self._grow()
            if self.row <= before:  # it would be written over another one
                raise InputError(f"row {self.row:,} comes after row {before:,}")
        elif tag == "rPh":
            self.phonetic = True
        self.reading = tag == "v" or (tag == "t" and self.cell.get("t") == "inlineStr" and not self.phonetic)

    def data(self, text: str) -> None:
        if self.reading:
            self.parts.append(text)
            self.characters += len(text)
            if self.characters > MOST_CHARACTERS:
                raise InputError("its values hold more text than is read; save it as CSV or Parquet")

    def end(self, tag: str) -> None:
        self.reading = False
        if tag == "rPh":
            self.phonetic = False
        elif tag == "c":
            value = self._value("".join(self.parts))
            self.parts.clear()
            self.last = max(self.last, self.row)
            if value != "" and self.row:
                cells = self.rows[self.row - 1]
                cells += [""] * (self.column - len(cells))
                cells[self.column - 1] = value
                self.width = max(self.width, self.column)
                self._check()

    def _place(self, attributes: dict[str, str]) -> None:
        self.cell = attributes
        if "r" not in attributes:
            self.column += 1
        elif found := CELL.fullmatch(attributes["r"]):
            self.column = 0
            for letter in found[1].upper():
                self.column = 26 * self.column + ord(letter) - 64
        else:
            raise InputError(f"{attributes['r'][:40]!r} is not the place of a value")
        if self.column > MOST_COLUMNS:
            raise InputError(f"column {self.column:,} of row {self.row:,} is beyond {MOST_COLUMNS:,}")

    def _grow(self) -> None:
        if not 1 <= self.row <= MOST_ROWS:
            raise InputError(f"row {self.row:,} is outside 1..{MOST_ROWS:,}")
        self.rows += [[] for _ in range(self.row - len(self.rows))]
        self._check()

    def _check(self) -> None:
        if len(self.rows) * self.width > MOST_CELLS:
            spans = f"{len(self.rows):,} rows and {self.width:,} columns"
            raise InputError(f"the sheet spans {spans}, at most {MOST_CELLS:,} values are read; save it as CSV")

    def _value(self, text: str) -> Any:
        """The value of a cell; "" for an empty one, None for an error."""
        kind = self.cell.get("t", "n")
        if kind in ("str", "inlineStr") or not text:
            return text
        if kind == "s":
            return self.book.texts.found[_whole(text, "text")]
        if kind == "b":
            return bool(int(text))
        if kind == "d":
            return datetime.fromisoformat(text)
        return None if kind == "e" else self._number(text)

    def _number(self, text: str) -> Any:
        from openpyxl.utils.datetime import from_excel

        number = int(text) if WHOLE.fullmatch(text) else float(text)
        style = _whole(self.cell.get("s", "0"), "style")
        if style in self.book.dates:
            try:
                return from_excel(number, self.book.first_day, timedelta=style in self.book.durations)
            except (OverflowError, ValueError):
                return None  # no such day
        return int(number) if isinstance(number, float) and number.is_integer() else number


class _Wanted:
    """A collector of wanted tags and attributes, which drops the text between them."""

    def __init__(self) -> None:
        self.found: list[tuple[str, dict[str, str]]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in WANTED:
            self.found.append((tag, attributes))
            if len(self.found) > MOST_WANTED:
                raise InputError(f"it has more than {MOST_WANTED:,} sheets or formats")

    def data(self, _text: str) -> None: ...

    def end(self, _tag: str) -> None: ...


def _whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InputError(f"{text[:40]!r} is not the number of a {what}")
    return int(text)


def _check_directory(file: BinaryIO) -> None:
    """Raise InputError for an implausibly long list of parts, which opening the file would read whole."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TAIL, 0))
    tail = file.read(TAIL)
    at = tail.rfind(DIRECTORY_END)
    if at >= 0 and int.from_bytes(tail[at + 12 : at + 16], "little") > MOST_DIRECTORY:
        raise InputError("the list of its parts is too long for an Excel file")
    file.seek(0)


def _relations(packed: zipfile.ZipFile, name: str, names: set[str]) -> dict[str, tuple[str, str]]:
    """The kind and path of the parts that a part refers to, by key."""
    out: dict[str, tuple[str, str]] = {}
    base = posixpath.dirname(posixpath.dirname(name))
    for tag, found in _elements(packed, name) if name in names else ():
        if tag == "Relationship":
            path = posixpath.normpath(posixpath.join("/", base, found.get("Target", ""))).lstrip("/")
            out[found.get("Id", "")] = found.get("Type", "").rpartition("/")[2], path
    return out


def _elements(packed: zipfile.ZipFile, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The wanted tags and attributes of a small part, in order."""
    seen = _Wanted()
    _parse(packed, name, seen, MOST_SMALL)
    return iter(seen.found)


def _parse(packed: zipfile.ZipFile, name: str, reader: Any, most: int, told: Watch = unwatched) -> None:
    """Feed a part to `reader.start(tag, attributes)`, `.data(text)` and `.end(tag)`, tags without namespaces."""
    if (size := packed.getinfo(name).file_size) > most:
        raise InputError(f"its part {name[:80]!r} unpacks to more than {most:,} bytes")
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: reader.start(tag.rpartition(" ")[2], attributes)
    parser.EndElementHandler = lambda tag: reader.end(tag.rpartition(" ")[2])
    parser.CharacterDataHandler = reader.data
    parser.StartDoctypeDeclHandler = _no_entities
    with packed.open(name) as part:
        while chunk := part.read(CHUNK):
            parser.Parse(chunk, False)
            told(part.tell() / size)
    parser.Parse(b"", True)


def _no_entities(*_: Any) -> None:
    raise InputError("it declares a document type, which no Excel file does")
