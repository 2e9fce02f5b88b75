"""Read a table file (CSV, TSV, Excel or Parquet), a JSON file or a matrix.

Texts stay texts ("007" is not 7): the schema, not a guess of the reader, says what a cell means. A file was written by
anybody: readers raise whatever they trip over, and all of it becomes an InputError here, without the error behind it.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import Table, int64, uint64
from pyarrow.parquet import ParquetFile

from ..errors import InputError
from .inputs import Source, content, opened
from .sheets import first_sheet

ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".parquet")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MOST_BYTES = {".parquet": 20_000_000_000, ".xlsx": 400_000_000}  # of a file
MOST_TEXT, MOST_JSON, MOST_MATRIX = 2_000_000_000, 32_000_000, 4_000_000_000  # bytes
MOST_CELLS = 1_000_000_000  # of a Parquet file
UPLOADED = 50_000_000  # cells of a compressed file that a page takes
MOST_COLUMNS = 20_000
MOST_FILLED = 10_000_000  # cells of a text file, and four a character: more come from short rows only
EXACT_FLOATS = 2**53  # up to which every whole number is a float
SAMPLE = 1_000_000  # characters in which a text file's header ends
LONG_RUN = re.compile(r'[^,;\t|"\r\n]{1000,}')
MATRIX_KINDS = "biufc"  # numbers
DECIMAL = ", decimal comma in "
DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?\s*"


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as it was read, and in words how; `commas` are the columns whose decimal commas became points."""

    frame: pd.DataFrame
    how: str
    commas: tuple[str, ...] = ()


def read_table(source: Source, name: str = "", *, as_written: bool = False) -> pd.DataFrame:
    """The table in `source`; see `read`."""
    return read(source, name, as_written=as_written).frame


def read(
    source: Source,
    name: str = "",
    cells: int = MOST_CELLS,
    *,
    as_written: bool = False,
    told: Callable[[float], object] = lambda _: None,
) -> Reading:
    """Read `source`; the ending of `name` (default: the path) says the format, `cells` how many Parquet may hold.

    `told` hears which share of a text or of a sheet is read, Parquet comes in one go; what it raises ends the reading.

    Text files: encoding (UTF-8, UTF-16 by its mark, else Windows-1252), delimiter and decimal comma are detected.
    `as_written` leaves decimal commas as they are: whether a column holds nothing else depends on all of its cells.
    Raises InputError for a missing, unreadable or empty file, a doubled column, a row with too many cells, or a small
    file that unpacks into a very large one, before it is unpacked.
    """
    label = name or str(source)
    ending = Path(label).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{label}: the ending {ending!r} is not one of {', '.join(ENDINGS)}")
    try:
        if ending == ".parquet":
            reading = Reading(_parquet(source, cells), "Parquet")
        elif ending == ".xlsx":
            reading = Reading(_excel(source, told), "Excel, first sheet")
        else:
            reading = _text(content(source, MOST_TEXT), ending, as_written, told)
    except ImportError:
        raise InputError(f"{label}: Excel files need openpyxl (pip install openpyxl); or save as CSV") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{label}: the file is empty") from None
    except InputError as error:
        raise InputError(f"{label}: {error}") from None
    except MemoryError:
        raise InputError(f"{label}: needs more memory than there is") from None
    except Exception as error:
        raise InputError(f"{label}: not readable as {ending[1:]}: {why(error)}") from None
    check_names([str(c) for c in reading.frame.columns], label)
    return reading


def check_names(names: Sequence[str], label: str) -> None:
    """Raise InputError for a column that a header has twice."""
    if (again := pd.Index(names).duplicated()).any():
        raise InputError(f"{label}: column {names[int(again.argmax())]!r} stands twice in the header")


def read_json(source: Source, name: str = "") -> Any:
    """Read a JSON file; InputError says what is wrong with it and where."""
    label = name or str(source)
    try:
        return json.loads(content(source, MOST_JSON).decode("utf-8-sig"))
    except InputError as error:
        raise InputError(f"{label}: {error}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{label}: not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError:
        raise InputError(f"{label}: not UTF-8 text") from None
    except (RecursionError, ValueError):
        raise InputError(f"{label}: nested too deeply, or a number too long") from None
    except MemoryError:
        raise InputError(f"{label}: needs more memory than there is") from None


def read_matrix(source: Source) -> np.ndarray:
    """Read a matrix of numbers in numpy's format .npy; what its header says must be what follows it."""
    try:
        with opened(source, MOST_MATRIX) as file:
            version = np.lib.format.read_magic(file)
            header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, by_columns, dtype = header(file)
            start = file.tell()
            if dtype.kind not in MATRIX_KINDS or not 1 <= len(shape) <= 2:
                raise InputError(f"{len(shape)} axes of {dtype} are no matrix of numbers")
            count, there = math.prod(shape), file.seek(0, io.SEEK_END) - start
            if min(shape) < 0 or count * dtype.itemsize != there:
                raise InputError(f"its header says {' × '.join(map(str, shape))} of {dtype}, {there:,} bytes follow it")
            file.seek(start)
            flat = np.frombuffer(file.read(there), dtype, count)
        return flat.reshape(shape, order="F" if by_columns else "C")
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    except MemoryError:
        raise InputError(f"{source}: needs more memory than there is") from None
    except Exception:
        raise InputError(f"{source}: not readable as a .npy matrix of numbers") from None


class _Told(io.StringIO):
    """Text that says which share of it was taken, whenever more is."""

    def __init__(self, text: str, told: Callable[[float], object]) -> None:
        super().__init__(text)
        self._size, self._told = max(len(text), 1), told

    def read(self, size: int | None = -1, /) -> str:
        self._told(self.tell() / self._size)
        return super().read(size)


def _text(data: bytes, ending: str, as_written: bool, told: Callable[[float], object]) -> Reading:
    text, encoding = _decoded(data)
    if "\0" in text:
        raise InputError("not a text file (it holds zero bytes)")
    delimiter = delimiter_of(text, ending)
    check_header(text, delimiter)
    frame = pd.read_csv(_Told(text, told), sep=delimiter, header=None, dtype=str, keep_default_na=False)
    frame = _headed(frame)
    how = f"{encoding}, separated by {DELIMITERS[delimiter]}"
    commas = not as_written and delimiter != "," and frame.columns.is_unique
    converted = decimal_points(frame) if commas else ()
    if converted:
        how += DECIMAL + ", ".join(converted)
    return Reading(frame, how, converted)


def _decoded(content: bytes) -> tuple[str, str]:
    """The text and its encoding in words; every byte has a meaning in Windows-1252, so this never fails.

    Each line is read by itself: one person's stray byte changes no other person's letters.
    """
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        lines = [line_of(line) for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    mixed_up = any(text.isascii() is False for text, plain in lines if plain)
    how = "UTF-8, in some lines Windows-1252" if mixed_up else "Windows-1252"
    return "\n".join(text for text, _ in lines), how


def line_of(line: bytes) -> tuple[str, bool]:
    """A line, and whether it is UTF-8."""
    try:
        return line.decode("utf-8"), True
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace"), False


def delimiter_of(text: str, ending: str) -> str:
    """A tab by the file's ending, or what cuts the first lines into most equal rows; a comma where nothing does."""
    if ending == ".tsv":
        return "\t"
    beginning = LONG_RUN.sub("…", text[:SAMPLE])  # long cells count as one, like all others
    lines = [line for line in beginning.splitlines()[:50] if line]
    counts = {d: _widths(lines, d) for d in DELIMITERS}
    return max(DELIMITERS, key=lambda d: (min(counts[d], default=1) > 1 and len(set(counts[d])) == 1, counts[d][:1]))


def _widths(lines: list[str], delimiter: str) -> list[int]:
    """Cells of every row; none where a cell has no end."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error:
        return []


def check_header(text: str, delimiter: str) -> None:
    """Refuse a table that would be many times its file: too many columns, or rows much shorter than the header."""
    rows = csv.reader(io.StringIO(text[:SAMPLE], newline=None), delimiter=delimiter)
    try:
        header = next((row for row in rows if row), [])
        ended = len(text) <= SAMPLE or next(rows, None) is not None
    except csv.Error:
        header, ended = [], False
    if not ended or (not header and len(text) > SAMPLE):
        raise InputError(f"its header does not end within {SAMPLE:,} characters")
    if len(header) > MOST_COLUMNS:
        raise InputError(f"has {len(header):,} columns, at most {MOST_COLUMNS:,} are read")
    lines = 1 + text.count("\n") + text.count("\r")
    if (cells := len(header) * lines) > max(MOST_FILLED, 4 * len(text)):
        raise InputError(f"its rows are much shorter than its header: {cells:,} cells of {len(text):,} characters")


def with_commas(frame: pd.DataFrame, commas: Sequence[str]) -> pd.DataFrame:
    """The table as it was written, from one in which decimal commas in these columns became points.

    Nothing has to be kept for that: a column was converted only if no cell of it held a point. All others are shared.
    """
    if not commas:
        return frame
    written = frame.copy(deep=False)
    for name in commas:
        written[name] = written[name].str.replace(".", ",", regex=False)
    return written


def decimal_points(frame: pd.DataFrame) -> tuple[str, ...]:
    """Write decimal commas as points, in place, in the columns that hold nothing but such numbers; their names."""
    changed = []
    for name in frame.columns:
        cells = pd.Series(frame[name]).dropna()
        cells = pd.Series(cells[cells != ""])
        if cells.str.contains(",", regex=False).any() and cells.str.fullmatch(DECIMAL_COMMA).all():
            frame[name] = frame[name].str.replace(",", ".", regex=False)
            changed.append(str(name))
    return tuple(changed)


def _excel(source: Source, told: Callable[[float], object]) -> pd.DataFrame:
    with opened(source, MOST_BYTES[".xlsx"]) as file:
        rows = first_sheet(file, told)
    if not rows:
        raise InputError("the first sheet is empty")
    return _headed(pd.DataFrame(rows, dtype=object))


def _parquet(source: Source, cells: int) -> pd.DataFrame:
    with opened(source, MOST_BYTES[".parquet"]) as file:
        packed = ParquetFile(file)
        found = packed.metadata
        if (there := max(found.num_rows, 0) * max(found.num_columns, 1)) > cells:
            raise InputError(f"holds {there:,} cells, at most {cells:,} are read")
        if found.num_columns > MOST_COLUMNS:
            raise InputError(f"has {found.num_columns:,} columns, at most {MOST_COLUMNS:,} are read")
        table = packed.read()
        table.validate(full=True)  # else text that is no UTF-8 is found when it is looked at
        return _wide_numbers(table.to_pandas(), table)


def _wide_numbers(frame: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Whole numbers as they were written, also where a missing one beside them would make them floats, rounded."""
    for i, cells in enumerate(table.columns):
        if frame.dtypes.iloc[i].kind == "f" and str(cells.type) in ("int64", "uint64"):
            whole = cells.to_pandas(types_mapper={int64(): pd.Int64Dtype(), uint64(): pd.UInt64Dtype()}.get)
            if (whole.abs() > EXACT_FLOATS).any():
                frame.isetitem(i, whole.to_numpy(dtype=object, na_value=None))
    return frame


def why(error: Exception) -> str:
    """What a reader of text files stumbled over, in a person's words; readers of other formats say nothing of use."""
    said = str(error)
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", said):
        return f"line {found[2]} has {found[3]} cells, the header has {found[1]}"
    if found := re.search(r"EOF inside string starting at row (\d+)", said):
        return f"a cell in quotes that begins in line {int(found[1]) + 1} has no end"
    if "Buffer overflow" in said or "out of memory" in said:
        return "a cell or a line has no end"
    return "it is damaged, or a file of another kind"


def _headed(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the first row as header, so that a doubled name is seen and not renamed."""
    return frame.iloc[1:].set_axis([str(c) for c in frame.iloc[0]], axis=1).reset_index(drop=True)
