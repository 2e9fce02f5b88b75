"""Read a table file (CSV, TSV, Excel or Parquet) or a JSON file.

Texts stay texts ("007" is not 7): the schema, not a guess of the reader, says what a cell means.
"""

import csv
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from pyarrow.parquet import ParquetFile

from ..errors import InputError

ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".parquet")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MOST_CELLS, MOST_SHEET = 1_000_000_000, 400_000_000  # of a Parquet file; bytes of an Excel file when unpacked
UPLOADED = 50_000_000  # cells of a compressed file that a page takes
DECIMAL_COMMA = r"\s*[+-]?\d+(?:,\d+)?\s*"


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as it was read, and in words how."""

    frame: pd.DataFrame
    how: str


def read_table(source: str | Path | BinaryIO, name: str = "") -> pd.DataFrame:
    """The table in `source`; see `read`."""
    return read(source, name).frame


def read(source: str | Path | BinaryIO, name: str = "", cells: int = MOST_CELLS) -> Reading:
    """Read `source`; the ending of `name` (default: the path) says the format, `cells` how many Parquet may hold.

    Text files: encoding (UTF-8, UTF-16 by its mark, else Windows-1252), delimiter and decimal comma are detected.
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
            reading = Reading(_excel(source), "Excel, first sheet")
        else:
            content = Path(source).read_bytes() if isinstance(source, (str, Path)) else source.read()
            reading = _text(content, ending)
    except FileNotFoundError:
        raise InputError(f"{label}: there is no such file") from None
    except ImportError:
        raise InputError(f"{label}: Excel files need openpyxl (pip install openpyxl); or save as CSV") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{label}: the file is empty") from None
    except InputError as error:
        raise InputError(f"{label}: {error}") from None
    except MemoryError:
        raise InputError(f"{label}: needs more memory than there is") from None
    except (pd.errors.ParserError, ValueError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{label}: not readable as {ending[1:]}: {_first(error)}") from None
    if twice := [str(c) for c in reading.frame.columns[reading.frame.columns.duplicated()]]:
        raise InputError(f"{label}: column {twice[0]!r} stands twice in the header")
    return reading


def read_json(source: str | Path | BinaryIO, name: str = "") -> Any:
    """Read a JSON file; InputError says what is wrong with it and where."""
    label = name or str(source)
    try:
        content = Path(source).read_bytes() if isinstance(source, (str, Path)) else source.read()
        return json.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{label}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{label}: not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError:
        raise InputError(f"{label}: not UTF-8 text") from None
    except (RecursionError, ValueError):
        raise InputError(f"{label}: nested too deeply, or a number too long") from None


def limit_rows(frame: pd.DataFrame, person: str, most: int, seed: int = 0) -> pd.DataFrame:
    """Keep at most `most` rows of every value of the column `person`, chosen at random by a public seed.

    Another person's rows never decide which of mine are kept, so that replacing one person's rows replaces at most
    `most` rows of the result. Raises InputError when there is no such column.
    """
    place = [str(c) for c in frame.columns]
    if place.count(person) != 1:
        raise InputError(f"the table has no column {person!r} that names the person; it has {', '.join(place)}")
    people = pd.Series(frame.iloc[:, place.index(person)]).astype(str).to_numpy()
    order = np.random.default_rng(seed).permutation(len(frame))
    rank = pd.Series(people[order]).groupby(people[order]).cumcount().to_numpy()
    return frame.iloc[np.sort(order[rank < most])].reset_index(drop=True)


def _text(content: bytes, ending: str) -> Reading:
    text, encoding = _decoded(content)
    if "\0" in text:
        raise InputError("not a text file (it holds zero bytes)")
    delimiter = "\t" if ending == ".tsv" else _delimiter(text)
    frame = pd.read_csv(io.StringIO(text), sep=delimiter, header=None, dtype=str, keep_default_na=False)
    frame = _headed(frame)
    how = f"{encoding}, separated by {DELIMITERS[delimiter]}"
    if delimiter != "," and frame.columns.is_unique and (converted := _decimal_points(frame)):
        how += f", decimal comma in {', '.join(converted)}"
    return Reading(frame, how)


def _decoded(content: bytes) -> tuple[str, str]:
    """The text and its encoding in words; every byte has a meaning in the last one, so this never fails."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace"), "UTF-16"
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), "Windows-1252"


def _delimiter(text: str) -> str:
    """The delimiter that cuts the first lines into most equal rows; a comma where none does."""
    lines = [line for line in text.splitlines()[:50] if line]
    counts = {d: [len(row) for row in csv.reader(lines, delimiter=d)] for d in DELIMITERS}
    return max(DELIMITERS, key=lambda d: (min(counts[d], default=1) > 1 and len(set(counts[d])) == 1, counts[d][:1]))


def _decimal_points(frame: pd.DataFrame) -> list[str]:
    """Write decimal commas as points, in place, in the columns that hold nothing but such numbers; their names."""
    changed = []
    for name in frame.columns:
        cells = frame[name].dropna()
        cells = cells[cells != ""]
        if cells.str.contains(",", regex=False).any() and cells.str.fullmatch(DECIMAL_COMMA).all():
            frame[name] = frame[name].str.replace(",", ".", regex=False)
            changed.append(str(name))
    return changed


def _excel(source: str | Path | BinaryIO) -> pd.DataFrame:
    with zipfile.ZipFile(source) as packed:  # which gives no more bytes than it says there are
        if (size := sum(part.file_size for part in packed.infolist())) > MOST_SHEET:
            raise InputError(f"unpacks to {size:,} bytes, at most {MOST_SHEET:,} are read; save it as CSV or Parquet")
    if not isinstance(source, str | Path):
        source.seek(0)
    try:
        frame = pd.read_excel(source, header=None, dtype=object, keep_default_na=False, engine="openpyxl")
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # its reader raises whatever it trips over
        raise InputError(f"not readable as xlsx: {_first(error)}") from None
    if frame.empty:
        raise InputError("the first sheet is empty")
    return _headed(frame)


def _parquet(source: str | Path | BinaryIO, cells: int) -> pd.DataFrame:
    found = ParquetFile(source).metadata
    if (there := max(found.num_rows, 0) * max(found.num_columns, 1)) > cells:
        raise InputError(f"holds {there:,} cells, at most {cells:,} are read")
    if not isinstance(source, str | Path):
        source.seek(0)
    return pd.read_parquet(source)


def _first(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _headed(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the first row as header, so that a doubled name is seen and not renamed."""
    return frame.iloc[1:].set_axis([str(c) for c in frame.iloc[0]], axis=1).reset_index(drop=True)
