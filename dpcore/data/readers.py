"""Read a table file (text, Excel, Parquet, SPSS, Stata or SAS), a JSON file or a matrix.

Texts stay texts ("007" is not 7): the schema, not a guess of the reader, says what a cell means. A
file was written by anybody: readers raise whatever they trip over, and all of it becomes an
InputError here, without the error behind it.
"""

import gzip
import hashlib
import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import field as dataclass_field
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile

from ..core.errors import InputError
from ..core.types import Array, Json, ProgressCallback, Texts, frozen, ignore_progress
from ..schema.cell_text import factorize_texts
from ..schema.inference.stated_column import StatedColumn
from ..schema.schema_json import text_format_from_json
from ..schema.text_format import DEFAULT_TEXT_FORMAT, TextFormat
from .file_kinds import check_file_kind
from .input_files import (
    FileSource,
    check_column_names,
    open_regular_file,
    read_bytes,
    reader_errors_as_input_error,
)
from .sheet_table import read_guessed_sheet_table, read_sheet_table
from .statistics_files.statistics_file import (
    PROGRAM_BY_ENDING,
    STATISTICS_ENDINGS,
    is_statistics_reader_installed,
    read_statistics_file,
    require_statistics_reader,
)
from .table_shape import Doubt, ShapeGuess, doubts_about_empty_columns
from .text_file import OpenQuotesError, TextRows
from .text_shape import guess_text_format

GZIP_ENDING = ".gz"
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
TABLE_ENDINGS = (*TEXT_ENDINGS, ".xlsx", ".parquet", *STATISTICS_ENDINGS)
MAX_BYTES_BY_ENDING = {
    ".parquet": 20_000_000_000,
    ".xlsx": 400_000_000,
}  # largest file of each kind
# bytes
MAX_TEXT_BYTES = 2_000_000_000
MAX_JSON_BYTES = 32_000_000
MAX_MATRIX_BYTES = 4_000_000_000
MAX_CELLS = 1_000_000_000  # most cells of a Parquet file
MAX_UPLOADED_CELLS = 50_000_000  # cells of a compressed file that a page takes
MAX_BYTES_PER_CELL = 8  # of a packed text, for each cell of that limit
MAX_DIGITS = 300  # of a whole number in JSON: all of these are floats
SURROGATE_PATTERN = re.compile(r"\\u[dD][89a-fA-F]")  # how JSON writes half a character
NUMERIC_DTYPE_KINDS = "biufc"  # numbers
# Seconds since 1970 between which a time has a calendar day in every zone: Python's calendar is of
# the years 1 to 9999.
MIN_CALENDAR_SECOND = -62_135_510_400
MAX_CALENDAR_SECOND = 253_402_214_400
TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
NULLABLE_INTEGER_TYPES = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}


@frozen
class LoadedTable:
    """A table as it was read, a description of how, and its `format`, as a schema would state it.

    `sha256` is that of the file's bytes, by which a ledger knows it whatever a schema states. Where
    the format was guessed there are `doubts` about it, a `preview` of the first lines, and those
    that are `left_out` at the end. `stated_columns` is what a file of a statistical package states
    of its columns.
    """

    frame: pd.DataFrame
    description: str
    format: TextFormat = DEFAULT_TEXT_FORMAT
    sha256: str = ""
    doubts: tuple[Doubt, ...] = ()
    preview: tuple[Texts, ...] = ()
    stated_columns: Mapping[str, StatedColumn] = dataclass_field(default_factory=dict)
    left_out: tuple[Texts, ...] = ()


def read_table(
    source: FileSource, name: str = "", format: TextFormat = DEFAULT_TEXT_FORMAT
) -> pd.DataFrame:
    """Return the table in a file; a text file is read in the schema's format, see `load_table`.

    >>> samples.titanic().frame.to_csv("titanic.csv", index=False)
    >>> read_table("titanic.csv").shape
    (2201, 4)
    """
    return load_table(source, name, format=format).frame


def load_table(
    source: FileSource,
    name: str = "",
    max_cells: int = MAX_CELLS,
    *,
    format: TextFormat | None = None,
    stated: Mapping[str, Any] = MappingProxyType({}),
    progress: ProgressCallback = ignore_progress,
) -> LoadedTable:
    """Return the table in `source` and the text format that was used or guessed.

    `name`'s ending (default: the path's) is the kind of file, `max_cells` a limit for what is
    packed. Of a text or an Excel file without a `format`, what is not `stated` in the form of a
    schema's "file" is guessed from all of its rows, a private peek: a release states it all.
    `progress` receives which share of a text or of a sheet is read, Parquet comes in one go; what
    it raises ends the reading.
    Raises InputError for a missing, unreadable or empty file, a doubled column, a row with too many
    cells, or a small file that unpacks into a very large one, before it is unpacked.
    """
    label = name or str(source)
    ending = table_ending(label)
    if ending not in TABLE_ENDINGS:
        raise InputError(f"{label}: the ending {ending!r} is not one of {', '.join(TABLE_ENDINGS)}")
    if ending in STATISTICS_ENDINGS:
        with reader_errors_as_input_error(label, ending[1:]):
            require_statistics_reader()
    with (
        reader_errors_as_input_error(label, ending[1:]),
        open_regular_file(source, MAX_BYTES_BY_ENDING.get(ending, MAX_TEXT_BYTES)) as file,
    ):
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        file.seek(0)
        table = _read_open_file(
            file,
            ending,
            max_cells=max_cells,
            format=format,
            stated=dict(stated),
            progress=progress,
        )
    return replace(table, sha256=sha256)


def read_json(source: FileSource, name: str = "") -> Any:
    """Return the content of a JSON file; InputError says what is wrong with it and where.

    >>> pd.Series({"a": 2}).to_json("sizes.json")
    >>> read_json("sizes.json")
    {'a': 2}
    """
    with reader_errors_as_input_error(name or str(source), "JSON"):
        data = read_bytes(source, MAX_JSON_BYTES)
        check_file_kind(io.BytesIO(data), ".json", "a JSON file")
        text = data.decode("utf-8-sig")
        document = json.loads(text, parse_int=_parse_json_integer)
        if SURROGATE_PATTERN.search(text):  # a pair of them is one character, one alone is none
            _check_unicode(document)
        return document


def _parse_json_integer(digits: str) -> int:
    """Return the whole number that JSON's digits say.

    Raises InputError for one that no float is near to.
    """
    if len(digits) > MAX_DIGITS:
        raise InputError(f"holds a number of {len(digits):,} digits, at most {MAX_DIGITS} are read")
    return int(digits)


def _check_unicode(document: Any) -> None:
    """Raise InputError if some text of a document holds half a character.

    It can be neither shown nor stored.
    """
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(r"holds half a character, such as \ud800, which is no text") from None


def read_matrix(source: FileSource) -> Array:
    """Return a matrix of numbers from numpy's .npy format.

    Raises InputError if its header contradicts the content.
    """
    with (
        reader_errors_as_input_error(str(source), ".npy matrix of numbers"),
        open_regular_file(source, MAX_MATRIX_BYTES) as file,
    ):
        check_file_kind(file, ".npy", "a matrix of numbers (.npy)")
        version, _ = np.lib.format.read_magic(file)
        shape, by_columns, dtype = getattr(np.lib.format, f"read_array_header_{version}_0")(file)
        start = file.tell()
        if dtype.kind not in NUMERIC_DTYPE_KINDS or not 1 <= len(shape) <= 2:
            raise InputError(f"{len(shape)} axes of {dtype} are no matrix of numbers")
        count = math.prod(shape)
        byte_count = file.seek(0, io.SEEK_END) - start
        if min(shape) < 0 or count * dtype.itemsize != byte_count:
            raise InputError(
                f"its header says {' × '.join(map(str, shape))} of {dtype}, {byte_count:,} bytes "
                "follow it"
            )
        file.seek(start)
        flat = np.frombuffer(file.read(byte_count), dtype, count)
        return flat.reshape(shape, order="F" if by_columns else "C")


def table_ending(name: str) -> str:
    """Return the ending of a file's name in small letters, such as ".csv" or ".csv.gz"."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [GZIP_ENDING] else "".join(suffixes[-1:])


def readable_table_endings() -> Texts:
    """Return the endings of the files that are read here, by the extras that are installed."""
    if is_statistics_reader_installed():
        return TABLE_ENDINGS
    return tuple(ending for ending in TABLE_ENDINGS if ending not in STATISTICS_ENDINGS)


class _UnpackedFile(gzip.GzipFile):
    """The text in a gzip file, which is read up to a limit of bytes."""

    def __init__(self, file: BinaryIO, max_bytes: int) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._max_bytes = max_bytes

    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))

    def _checked(self, data: bytes) -> bytes:
        """Return what was read; InputError if it is more than is read in all."""
        if self.tell() > self._max_bytes:
            raise InputError(f"unpacks to more than {self._max_bytes:,} bytes, which are not read")
        return data


@frozen
class _TextFile:
    """An open text file as it was brought, which may be packed, with its name's ending."""

    file: BinaryIO
    ending: str
    max_bytes: int

    def unpacked(self) -> BinaryIO:
        """Return the text, unpacked as it is read if the name says that it is packed."""
        if not self.ending.endswith(GZIP_ENDING):
            return self.file
        return cast(BinaryIO, _UnpackedFile(self.file, self.max_bytes))

    @property
    def text_ending(self) -> str:
        """The ending of the text's own name."""
        return self.ending.removesuffix(GZIP_ENDING)


def _read_open_file(
    file: BinaryIO,
    ending: str,
    *,
    max_cells: int,
    format: TextFormat | None,
    stated: Json,
    progress: ProgressCallback,
) -> LoadedTable:
    """Return the table in an open file whose name has this ending; see `load_table`."""
    if ending in TEXT_ENDINGS:
        text = _TextFile(file, ending, min(MAX_TEXT_BYTES, MAX_BYTES_PER_CELL * max_cells))
        if format is None:
            return _read_with_guessed_format(text, stated, progress)
        return _read_text(text, format, progress)
    check_file_kind(file, ending)
    if ending == ".parquet":
        return LoadedTable(_read_parquet(file, max_cells), "Parquet")
    if ending == ".xlsx":
        return _read_excel(file, format, stated, progress)
    known_format = text_format_from_json(stated) if format is None else format
    table = read_statistics_file(
        file, ending, max_cells=max_cells, format=known_format, progress=progress
    )
    description = f"{PROGRAM_BY_ENDING[ending]} file"
    return LoadedTable(table.frame, description, known_format, stated_columns=table.columns)


def _read_text(text: _TextFile, format: TextFormat, progress: ProgressCallback) -> LoadedTable:
    """Return the table of a text file, in the stated format."""
    file = text.file
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    rows = TextRows.from_file(text.unpacked(), format, text.text_ending)
    frames = []
    bytes_read = 0
    for frame in rows:
        if file.tell() > bytes_read:  # a short last piece was read together with the one before it
            bytes_read = file.tell()
            progress(bytes_read, size)
        frames.append(frame)
    frame = (
        pd.concat(frames, ignore_index=True)
        if frames
        else pd.DataFrame(columns=pd.Index(rows.names), dtype=str)
    )
    return LoadedTable(frame, rows.format.description, format)


def _read_with_guessed_format(
    text: _TextFile, stated: Json, progress: ProgressCallback
) -> LoadedTable:
    """Return the table of a text file, read in the format that the file seems to have."""
    guess = guess_text_format(
        text.unpacked(), text.text_ending, text_format_from_json(stated), stated
    )
    try:
        table = _read_text(text, guess.format, progress)
    except OpenQuotesError as error:
        if "line_breaks" in stated:
            raise
        try:
            table = _read_text(text, replace(guess.format, line_breaks=True), progress)
        except Exception:
            raise error from None
    return _with_doubts(table, guess)


def _with_doubts(table: LoadedTable, guess: ShapeGuess) -> LoadedTable:
    """Return a table with the doubts about its shape, and about columns that hold nothing."""
    doubts = [*guess.doubts, *doubts_about_empty_columns(table.frame)]
    return replace(table, doubts=tuple(doubts), preview=guess.preview, left_out=guess.left_out)


def _read_excel(
    file: BinaryIO,
    format: TextFormat | None,
    stated: Mapping[str, Any],
    progress: ProgressCallback,
) -> LoadedTable:
    """Return the table of an Excel file, in a format or, without one, in that it seems to have."""
    if format is None:
        stated_format = text_format_from_json(stated)
        frame, guess = read_guessed_sheet_table(file, stated_format, stated, progress)
    else:
        frame = read_sheet_table(file, format, progress)
        guess = ShapeGuess(format)
    sheet = f"sheet {guess.format.sheet!r}" if guess.format.sheet else "first sheet"
    description = f"Excel, {sheet}{guess.format.line_description}"
    return _with_doubts(LoadedTable(frame, description, guess.format), guess)


def _read_parquet(file: BinaryIO, max_cells: int) -> pd.DataFrame:
    parquet_file = ParquetFile(file)
    metadata = parquet_file.metadata
    cell_count = max(metadata.num_rows, 0) * max(metadata.num_columns, 1)
    if cell_count > max_cells:
        raise InputError(f"holds {cell_count:,} values, at most {max_cells:,} are read")
    check_column_names(parquet_file.schema_arrow.names)
    table = repair_damaged_cells(parquet_file.read())
    columns = {i: arrow_to_series(column) for i, column in enumerate(table.columns)}
    return pd.DataFrame(columns, index=range(table.num_rows)).set_axis(table.column_names, axis=1)


def repair_damaged_cells(table: pa.Table) -> pa.Table:
    """Return the table with damaged cells repaired, each by itself.

    A text that is no UTF-8 shows its bytes, as in a file. Any other cell that its type does not
    have, as a time after midnight of its day, is missing.
    """
    for index, field in enumerate(table.schema):
        column = table[index]
        arrow_type = field.type
        if _is_valid(column):
            continue
        arrow_type = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
        if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
            raw_texts = column.cast(pa.large_binary()).to_pylist()
            cells = [
                None if text is None else text.decode("utf-8", "backslashreplace")
                for text in raw_texts
            ]
        else:
            cells = [cell if _is_valid(pa.array([cell], arrow_type)) else None for cell in column]
        table = table.set_column(index, field.name, pa.array(cells, arrow_type))
    return table


def _is_valid(cells: pa.ChunkedArray | pa.Array) -> bool:
    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def arrow_to_series(cells: pa.ChunkedArray | pa.Array) -> pd.Series:
    """Return the cells of a Parquet column as a Series.

    Whole numbers stay as written, even beside a missing one. Texts in an order that the file states
    are ordered categories.
    """
    if pa.types.is_dictionary(cells.type):
        categories = _ordered_categories(cells)
        cells = cells.cast(cells.type.value_type)
        if categories:
            return pd.Series(pd.Categorical(cells.to_pylist(), categories, ordered=True))
    if pa.types.is_date(cells.type):
        cells = cells.cast(pa.string())  # of years, too, that no date of Python's has
    arrow_type = getattr(cells.type, "storage_type", cells.type)
    if pa.types.is_nested(arrow_type) or pa.types.is_time(
        arrow_type
    ):  # one by one: together, whole numbers beside a missing one
        return pd.Series(
            [_python_value(cell) for cell in cells], dtype=object
        )  # anywhere would become floats
    values = pd.Series(
        cells.to_pandas(types_mapper=NULLABLE_INTEGER_TYPES.get if cells.null_count else None)
    ).reset_index(drop=True)
    return (
        _as_texts(values)
        if pa.types.is_timestamp(cells.type) and _is_beyond_calendar(cells)
        else values
    )


def _ordered_categories(cells: pa.ChunkedArray | pa.Array) -> list[str]:
    """Return the different texts of a column in the order that its file states; none without it."""
    value_type = cells.type.value_type
    is_text = pa.types.is_string(value_type) or pa.types.is_large_string(value_type)
    if not cells.type.ordered or not is_text:
        return []
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    texts = [text for chunk in chunks for text in chunk.dictionary.to_pylist()]
    return [text for text in dict.fromkeys(texts) if text is not None]


def _is_beyond_calendar(times: pa.ChunkedArray | pa.Array) -> bool:
    """Return whether some time lies at or beyond the ends of Python's calendar.

    A zone may have no day for it there.
    """
    ticks_per_second = TICKS_PER_SECOND[times.type.unit]
    ends = pc.min_max(times.cast(pa.timestamp(times.type.unit)).cast(pa.int64()))  # type: ignore[attr-defined]
    low = ends["min"].as_py()
    high = ends["max"].as_py()
    return low is not None and (
        low < MIN_CALENDAR_SECOND * ticks_per_second
        or high > MAX_CALENDAR_SECOND * ticks_per_second
    )


def _as_texts(times: pd.Series) -> pd.Series:
    """Return each cell as its text, None if it is missing.

    What one cell says changes no other.
    """
    codes, texts = factorize_texts(times)
    return pd.Series([*texts, None], dtype=object).iloc[codes].reset_index(drop=True)


def _python_value(cell: pa.Scalar) -> Any:
    """Return the Python value of an Arrow cell, a time to the microsecond.

    It is the cell's text in Arrow if Python has no such value.
    """
    try:
        return cell.as_py()
    except (pa.ArrowException, ValueError, OverflowError):  # no other cell is refused with it
        limits = dict.fromkeys(("window", "container_window", "element_size_limit"), MAX_CELLS)
        return pa.array([cell], cell.type).to_string(skip_new_lines=True, **limits)[1:-1]
