"""The source that a path names: a table's file or a folder of them.

It also says when a table is better read in parts.
"""

import os
from pathlib import Path

from ...core.errors import InputError
from ...schema.text_format import DEFAULT_TEXT_FORMAT, TextFormat
from ..readers import TEXT_ENDINGS
from .parquet_source import ParquetSource
from .text_source import TextSource

LARGE_BYTES_BY_ENDING = {
    ".parquet": 200_000_000,
    ".csv": 500_000_000,
    ".tsv": 500_000_000,
    ".txt": 500_000_000,
}  # bytes
MAX_WORKERS = 8
MIN_PARALLEL_CELLS = 50_000_000  # cells from which more than one process is worth its start


def is_large_table(path: str | Path) -> bool:
    """Return whether the path is a folder, or a file that takes many times its size in memory."""
    path = Path(path)
    try:
        return path.is_dir() or path.stat().st_size > LARGE_BYTES_BY_ENDING.get(
            path.suffix.lower(), 1 << 62
        )
    except (OSError, ValueError):
        return False  # the later reading explains the failure


def source_at(
    path: str | Path, format: TextFormat = DEFAULT_TEXT_FORMAT, *, workers: int | None = None
) -> ParquetSource | TextSource:
    """Return the source at a path, a text file by its `format`.

    `workers` processes (default: one a processor) read it.

    Raises InputError for a format that cannot be read in parts.

    >>> samples.titanic().frame.to_csv("titanic.csv", index=False)
    >>> len(source_at("titanic.csv").columns)
    4
    """
    path = Path(path)
    ending = path.suffix.lower()
    if (
        os.path.isdir(path) or ending == ".parquet"
    ):  # which a name that is too long does not make fail
        source = ParquetSource(path)
        if workers is None:
            large = source.rows * len(source.columns) >= MIN_PARALLEL_CELLS
            workers = min(os.cpu_count() or 1, MAX_WORKERS) if large else 1
        return ParquetSource(path, workers)
    if ending not in TEXT_ENDINGS:
        raise InputError(
            f"{path}: only a folder, .parquet, .csv, .tsv and .txt can be read in parts, not "
            f"{ending!r}"
        )
    return TextSource(path, format)
