"""Read a table file (CSV, TSV or Parquet) or a JSON file. Imports only errors.

Texts stay texts ("007" is not 7): the schema, not a guess of the reader, says what a cell means.
"""

import json
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from .errors import InputError


def read_table(source: str | Path | BinaryIO, name: str = "") -> pd.DataFrame:
    """Read `source`; the ending of `name` (default: the path) says the format.

    Raises InputError for a missing, unreadable or empty file, a doubled column, or a row with too many cells.
    """
    label = name or str(source)
    ending = Path(label).suffix.lower()
    if ending not in (".csv", ".tsv", ".txt", ".parquet"):
        raise InputError(f"{label}: the ending {ending!r} is not one of .csv, .tsv, .parquet")
    try:
        if ending == ".parquet":
            frame = pd.read_parquet(source)
        else:
            separator = "," if ending == ".csv" else "\t"
            frame = pd.read_csv(
                source, sep=separator, header=None, dtype=str, keep_default_na=False, encoding="utf-8-sig"
            )
            frame = frame.iloc[1:].set_axis([str(c) for c in frame.iloc[0]], axis=1).reset_index(drop=True)
    except FileNotFoundError:
        raise InputError(f"{label}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{label}: byte {error.start} is not UTF-8 text; save the table as UTF-8") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{label}: the file is empty") from None
    except (pd.errors.ParserError, ValueError, OSError) as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{label}: not readable as {ending[1:]}: {first}") from None
    if twice := [str(c) for c in frame.columns[frame.columns.duplicated()]]:
        raise InputError(f"{label}: column {twice[0]!r} stands twice in the header")
    return frame


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
    except RecursionError:
        raise InputError(f"{label}: nested too deeply") from None
