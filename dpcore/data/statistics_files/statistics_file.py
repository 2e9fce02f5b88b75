"""Read a file of SPSS, Stata or SAS: the optional extra `stats`.

Such a file states more than a text does: labels of values, values that count as missing, days. All
of it is taken from the file's dictionary, which is public like the names of columns. A cell is read
by the dictionary and its own value alone:

- A value of a column of categories says its label, and its code where it has none.
- A value that is declared missing keeps its code or label, which the schema then states as one of
  `missing_codes`. One that no schema could list is empty: a special missing value (.a to .z) of a
  column of numbers, and a value in a wide range.
- A number of days, seconds or months is the day that it means.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, BinaryIO

import pandas as pd

from ...core.errors import InputError
from ...core.types import Json, ProgressCallback, frozen
from ...schema.inference.stated_column import StatedColumn
from ...schema.text_format import DEFAULT_TEXT_FORMAT, TextFormat
from ..input_files import column_names
from .variable import Variable

PROGRAM_BY_ENDING = {
    ".sav": "SPSS",
    ".zsav": "SPSS",
    ".por": "SPSS",
    ".dta": "Stata",
    ".sas7bdat": "SAS",
    ".xpt": "SAS",
}
READER_BY_ENDING = {  # the function of pyreadstat, and what asks it for the codes that are missing
    ".sav": ("read_sav", {"user_missing": True}),
    ".zsav": ("read_sav", {"user_missing": True}),
    ".por": ("read_por", {}),  # which has them empty, as SAS's transport files
    ".dta": ("read_dta", {"user_missing": True}),
    ".sas7bdat": ("read_sas7bdat", {"user_missing": True}),
    ".xpt": ("read_xport", {}),
}
PLAIN_LETTER_ENDINGS = (".por",)  # of files that have one encoding
STATISTICS_ENDINGS = tuple(PROGRAM_BY_ENDING)
INSTALL_COMMAND = "pip install 'privacy-utility-explorer[stats]'"
MAX_BATCH_CELLS = 2_000_000  # that are read at once
MAX_BATCH_BYTES = 200_000_000  # of the widths that the file states for its columns
MAX_TEXT_CHARS = 2_000_000_000  # of all texts together
ENCODING_ERROR_TEXTS = ("character set", "encoding")


@frozen
class StatisticsTable:
    """The table in a file, and what the file states of its columns by their names."""

    frame: pd.DataFrame
    columns: Mapping[str, StatedColumn]


def is_statistics_reader_installed() -> bool:
    """Return whether the extra `stats` is installed."""
    return find_spec("pyreadstat") is not None


def require_statistics_reader() -> None:
    """Raise InputError, with the command that installs it, if the extra `stats` is missing."""
    if not is_statistics_reader_installed():
        raise InputError(f"SPSS, Stata and SAS files need the extra `stats`: {INSTALL_COMMAND}")


def read_statistics_file(
    file: BinaryIO,
    ending: str,
    *,
    max_cells: int,
    format: TextFormat,
    progress: ProgressCallback,
) -> StatisticsTable:
    """Return the table in an open file, and what the file states about its columns.

    Args:
        file: the file.
        ending: what its name ends in, one of STATISTICS_ENDINGS.
        max_cells: the most values that are read.
        format: what the schema states: an encoding, where the file names none or a wrong one.
        progress: receives how many rows are read, and of how many where the file says so.

    Raises:
        InputError: the extra is missing, the file is damaged, or too large.

    """
    require_statistics_reader()
    read = partial(_read, file, ending, format)
    _, dictionary = read(metadataonly=True)
    names = column_names(dictionary.column_names)
    if not names:
        raise InputError("it has no columns")
    program = PROGRAM_BY_ENDING[ending]
    variables = [Variable.of(dictionary, name, program) for name in dictionary.column_names]
    _check_cell_count(dictionary.number_rows or 0, len(names), max_cells)
    batches: list[list[pd.Series]] = []
    row_count = 0
    for columns in _stored_batches(read, dictionary):
        pairs = zip(variables, columns, strict=True)
        batches.append([variable.cells(stored) for variable, stored in pairs])
        row_count += len(columns[0])
        _check_cell_count(row_count, len(names), max_cells)
        progress(row_count, max(dictionary.number_rows or 0, row_count, 1))
    cells = {i: v.joined([batch[i] for batch in batches]) for i, v in enumerate(variables)}
    frame = pd.DataFrame(cells, index=range(row_count)).set_axis(list(names), axis=1)
    statements = [variable.statement for variable in variables]
    return StatisticsTable(frame, dict(zip(names, statements, strict=True)))


def _stored_batches(read: Callable[..., Any], dictionary: Any) -> Iterator[list[Sequence[Any]]]:
    """Yield the values of some rows at a time, column by column, as the file stores them.

    There is one batch at least. Raises InputError where the texts of all are too long together.
    """
    width = max(1, sum(dictionary.variable_storage_width.values()))
    column_count = len(dictionary.column_names)
    batch_rows = max(1, min(MAX_BATCH_CELLS // column_count, MAX_BATCH_BYTES // width))
    start = 0
    text_chars = 0
    while True:
        values, _ = read(
            row_offset=start,
            row_limit=batch_rows,
            disable_datetime_conversion=True,
            output_format="dict",
        )
        columns = list(values.values())
        text_chars += sum(map(_text_chars, columns))
        if text_chars > MAX_TEXT_CHARS:
            raise InputError(f"its texts have more than {MAX_TEXT_CHARS:,} characters")
        yield columns
        count = len(columns[0])
        start += count
        if count < batch_rows or start == dictionary.number_rows:  # which some files do not say
            return


def _read(file: BinaryIO, ending: str, format: TextFormat, **options: Any) -> tuple[Any, Any]:
    """Return what pyreadstat reads of a file with some options: values, and the dictionary."""
    import pyreadstat

    name, missing_options = READER_BY_ENDING[ending]
    all_options: Json = {**missing_options, **options}
    if format.encoding != DEFAULT_TEXT_FORMAT.encoding and ending not in PLAIN_LETTER_ENDINGS:
        all_options["encoding"] = format.encoding
    file.seek(0)
    try:
        return getattr(pyreadstat, name)(file, **all_options)
    except pyreadstat.ReadstatError as error:
        if any(text in str(error) for text in ENCODING_ERROR_TEXTS):
            raise InputError(
                "its texts are not in the encoding that it names; state the right one: "
                '"file": {"encoding": "windows-1252"}'
            ) from None
        raise


def _check_cell_count(rows: int, columns: int, max_cells: int) -> None:
    if rows * columns > max_cells:
        raise InputError(
            f"holds at least {rows * columns:,} values, at most {max_cells:,} are read"
        )


def _text_chars(stored: Sequence[Any]) -> int:
    """Return the number of characters of the texts among some values."""
    return sum(len(value) for value in stored if isinstance(value, str))
