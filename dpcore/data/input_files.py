"""The one place that opens a user's files: regular or uploaded ones, of limited size."""

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from ..core.errors import InputError
from ..schema.column_readings import comparable_name
from ..schema.text_format import ROW_NUMBER_NAME

MAX_COLUMNS = 20_000
MAX_DIRECTORY_BYTES = 5_000_000  # of the list of a zip file's parts
DIRECTORY_END_SIGNATURE = b"PK\5\6"  # how the end of a zip file begins
TAIL_BYTES = 65_557  # bytes within which a zip file's end begins
NAME_SEPARATOR = " / "  # between the name of a group of columns and that of one of them
FileSource = str | Path | BinaryIO
FILE_TYPE_NAMES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextmanager
def reader_errors_as_input_error(label: str, kind: str) -> Iterator[None]:
    """Turn any error of a reader of a `kind` of file, in a context, into an InputError.

    Its message begins with `label`. The error behind it is left out, as it may quote what is in the
    file.
    """
    try:
        yield
    except InputError as error:
        raise type(error)(
            str(error) if str(error).startswith(label) else f"{label}: {error}"
        ) from None
    except ImportError:
        raise InputError(
            f"{label}: Excel files need openpyxl (pip install openpyxl); or save as CSV"
        ) from None
    except MemoryError:
        raise InputError(f"{label}: needs more memory than there is") from None
    except Exception as error:
        raise InputError(
            f"{label}: not readable as {kind}: {_reader_error_reason(error)}"
        ) from None


@contextmanager
def open_regular_file(source: FileSource, max_bytes: int) -> Iterator[BinaryIO]:
    """Open `source` for reading from its start, with at most `max_bytes` bytes.

    Only regular files are opened: a pipe would wait for a writer, a device may have no end. What
    was brought as an open file is measured, and left open. Raises InputError, without the name of
    the file, which the caller knows.
    """
    if not isinstance(source, (str, Path)):
        source.seek(0)
        _check_size(source.seek(0, os.SEEK_END), max_bytes)
        source.seek(0)
        yield source
        return
    try:
        _check_regular_file(os.stat(source), max_bytes)
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(source, flags)
    except FileNotFoundError:
        raise InputError("there is no such file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(getattr(error, "strerror", None) or "that is no name of a file") from None
    with os.fdopen(descriptor, "rb") as file:
        _check_regular_file(
            os.fstat(descriptor), max_bytes
        )  # again: another file may stand there by now
        yield file


def read_bytes(source: FileSource, max_bytes: int) -> bytes:
    """Return the bytes of `source`, at most `max_bytes`.

    Raises InputError as `open_regular_file` does.
    """
    with open_regular_file(source, max_bytes) as file:
        try:
            data = file.read(max_bytes + 1)  # files of /proc say that they are empty
        except OSError as error:
            raise InputError(error.strerror or "not readable") from None
    _check_size(len(data), max_bytes)
    return data


def check_zip_directory(file: BinaryIO) -> None:
    """Raise InputError for a zip file with an implausibly long list of parts.

    Opening the file would read it whole.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TAIL_BYTES, 0))
    tail = file.read(TAIL_BYTES)
    end_position = tail.rfind(DIRECTORY_END_SIGNATURE)
    if (
        end_position >= 0
        and int.from_bytes(tail[end_position + 12 : end_position + 16], "little")
        > MAX_DIRECTORY_BYTES
    ):
        raise InputError("the list of its parts is too long")
    file.seek(0)


def check_column_names(names: Sequence[str]) -> None:
    """Raise InputError for a header of too many columns, or with a column twice."""
    if len(names) > MAX_COLUMNS:
        raise InputError(f"has {len(names):,} columns, at most {MAX_COLUMNS:,} are read")
    is_repeated = pd.Index(names).duplicated()
    if is_repeated.any():
        raise InputError(
            f"column {names[int(is_repeated.argmax())]!r} is in the header twice; if another line "
            'holds the names, state which: "file": {"header": 2}'
        )


def column_names(header: Sequence[object]) -> tuple[str, ...]:
    """Return the names that a header gives, from it alone, without spaces around them.

    A first column without a name is called "row", as those that count the rows have none; another
    one, or where that name is taken, by its position: c2, c3, …

    Raises InputError for too many columns, or a name that two have.
    """
    stated_names = [comparable_name(str(cell)) for cell in header]
    taken = set(stated_names)
    names = []
    for position, name in enumerate(stated_names, start=1):
        default_name = ROW_NUMBER_NAME if position == 1 else f"c{position}"
        while not name and default_name in taken:
            default_name = "_" + default_name
        names.append(name or default_name)
    check_column_names(names)
    return tuple(names)


def join_header_lines(lines: Sequence[Sequence[object]]) -> tuple[str, ...]:
    """Return one name for each column of a header of several lines, such as `2019 / men`.

    The name of a group of columns stands above the first of them, and the cells right of it are
    empty. Where the last line is empty, a column has the name above it, and no group goes on.
    """
    width = max(map(len, lines))
    rows = [[comparable_name(str(cell)) for cell in line] for line in lines]
    padded = [row + [""] * (width - len(row)) for row in rows]
    groups = [""] * (len(lines) - 1)
    names = []
    for *upper, name in zip(*padded, strict=True):
        for level, cell in enumerate(upper):
            if cell:
                groups[level:] = [cell] + [""] * (len(groups) - level - 1)
        names.append(NAME_SEPARATOR.join(filter(None, [*(groups if name else upper), name])))
        if not name:
            groups = [""] * len(groups)
    return tuple(names)


def is_default_name(name: str, position: int) -> bool:
    """Return whether a column's name may be that of one without a name in the header."""
    return name.lstrip("_") in (f"c{position}", ROW_NUMBER_NAME if position == 1 else "")


def position_names(width: int) -> tuple[str, ...]:
    """Return the names c1, c2, … of columns in a file without names."""
    names = tuple(f"c{position}" for position in range(1, width + 1))
    check_column_names(names)
    return names


def _check_regular_file(file_status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(file_status.st_mode):
        raise InputError(
            f"{FILE_TYPE_NAMES.get(stat.S_IFMT(file_status.st_mode), 'something else')}, not a file"
        )
    _check_size(file_status.st_size, max_bytes)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InputError(f"holds {size:,} bytes, at most {max_bytes:,} are read")


def _reader_error_reason(error: Exception) -> str:
    """Return why a text file could not be read, in everyday words.

    Empty for most other files.
    """
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    message = str(error)
    if isinstance(error, RecursionError) or "Exceeds the limit" in message:
        return "it is nested too deeply, or a number is too long"
    match = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if match:
        return f"line {match[2]} has {match[3]} values, the header has {match[1]}"
    match = re.search(r"EOF inside string starting at row (\d+)", message)
    if match:
        return f"a value in quotes that begins in line {int(match[1]) + 1} has no end"
    if "Buffer overflow" in message or "out of memory" in message:
        return "a value or a line has no end"
    return "it is damaged, or a file of another kind"
