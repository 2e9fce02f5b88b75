"""Parquet files of any size, row group by row group, and folders of them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile

from ...core.errors import InputError
from ...core.types import Array, Axes, ProgressCallback, Texts, ignore_progress, value_object
from ...schema.column import Column
from ...schema.domain import Domain
from ..file_kinds import check_file_kind
from ..input_files import check_column_names, reader_errors_as_input_error
from ..readers import arrow_to_series, repair_damaged_cells
from .chunked_source import ChunkedSource
from .parallel_counting import count_in_processes
from .source import Chunk, FileStamp, Tally, open_stamped_file

MAX_CHUNK_ROWS = 1 << 18  # most rows of a chunk: row groups may be larger
MAX_DISTINCT_CELLS = 1 << 16  # distinct cells of a chunk's column, up to which each is encoded once
compute: Any = pc  # its functions are made when it is imported, which type checkers cannot follow


@value_object
class ParquetSource(ChunkedSource):
    """A Parquet file, or all files of a folder that end in .parquet, as a source.

    Files are in the order of their names; all have the same columns. Row groups are read one by
    one, by `workers` processes at once. A file that changes between two readings is refused.
    """

    path: Path
    workers: int = 1

    @property
    def name(self) -> str:
        """The path of the file or folder, which names the source in messages."""
        return str(self.path)

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The Parquet files to read.

        Raises InputError for a folder without any, or for subfolders named after a value.
        """
        if not self.path.is_dir():
            return (self.path,)
        files = [
            file
            for file in sorted(self.path.rglob("*.parquet"))
            if not any(part.startswith((".", "_")) for part in file.relative_to(self.path).parts)
        ]
        if not files:
            raise InputError(f"{self.path}: the folder holds no file that ends in .parquet")
        value_folder = next(
            (f.parent for f in files if "=" in str(f.relative_to(self.path).parent)), None
        )
        if value_folder:
            folder_name = value_folder.relative_to(self.path)
            raise InputError(
                f"{self.path}: the folder {str(folder_name)!r} names a column's value, which is "
                "not read"
            )
        return tuple(files)

    @cached_property
    def _columns_and_files(self) -> tuple[Texts, list[tuple[Path, FileStamp, list[int]]]]:
        """The column names, and each file with its stamp and its rows by row group."""
        columns: Texts | None = None
        parts = []
        for file in self.files:
            with open_stamped_file(file) as (content, stamp):
                check_file_kind(content, ".parquet")
                parquet_file = ParquetFile(content)
                names = tuple(parquet_file.schema_arrow.names)
                check_column_names(names)
                columns = names if columns is None else columns
                if sorted(names) != sorted(columns):
                    raise InputError(
                        f"has other columns than {self.files[0].name}: {', '.join(names)}"
                    )
                metadata = parquet_file.metadata
                parts.append(
                    (
                        file,
                        stamp,
                        [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)],
                    )
                )
        return columns or (), parts

    @property
    def stamps(self) -> tuple[tuple[Path, FileStamp], ...]:
        """Each file and its stamp at the first reading; a file that changed is refused."""
        return tuple((file, stamp) for file, stamp, _ in self._columns_and_files[1])

    @property
    def columns(self) -> Texts:
        """The columns of the first file, in its order."""
        return self._columns_and_files[0]

    @property
    def rows(self) -> int:
        """The number of rows, by the files' own metadata."""
        return sum(sum(groups) for *_, groups in self._columns_and_files[1])

    @property
    def groups(self) -> int:
        """The number of row groups, which is the largest number of shares."""
        return sum(len(groups) for *_, groups in self._columns_and_files[1])

    def chunks(
        self, names: Sequence[str], share: tuple[int, int] = (0, 1)
    ) -> Iterator["ArrowChunk"]:
        """Yield the chunks of row groups i, i + k, i + 2k, … for a `share` (i, k).

        Large groups come in pieces.
        """
        i, k = share
        group_offset = 0
        for file, stamp, groups in self._columns_and_files[1]:
            group_indices = range((i - group_offset) % k, len(groups), k)
            group_offset += len(groups)
            if not group_indices:
                continue
            with open_stamped_file(file, stamp) as (content, _):
                parquet_file = ParquetFile(content)
                for g in group_indices:
                    yield from _read_pieces(
                        parquet_file, g, list(names), f"{file}, row group {g + 1}"
                    )

    def count(
        self, domain: Domain, tables: Sequence[Axes], progress: ProgressCallback = ignore_progress
    ) -> Tally:
        """Return the number of rows n and the tables, counted by `workers` processes."""
        return count_in_processes(self, domain, tables, progress, self.workers)


class ArrowChunk(Chunk):
    """Some rows of a row group, as a table of Arrow's."""

    def cells(self, name: str) -> pd.Series:
        """Return the cells of a column as a table in memory has them."""
        with reader_errors_as_input_error(self.where, "parquet"):
            return arrow_to_series(self.table[name])

    def encode(self, column: Column) -> Array:
        """Return the codes (rows,) of a column.

        If few cells differ, each distinct one is encoded once.
        """
        cells = self.table[column.name]
        if (
            pa.types.is_floating(cells.type)
            or pa.types.is_nested(cells.type)
            or pa.types.is_dictionary(cells.type)
        ):
            return super().encode(column)
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, InputError):
            encoded = cells.combine_chunks().dictionary_encode()
            encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
            distinct_cells = encoded.dictionary
            if len(distinct_cells) <= min(MAX_DISTINCT_CELLS, self.rows):
                missing_index = len(distinct_cells)
                if encoded.null_count:
                    distinct_cells = pa.concat_arrays(
                        [distinct_cells, pa.nulls(1, distinct_cells.type)]
                    )
                codes = column.encode(arrow_to_series(distinct_cells))
                return codes[
                    compute.fill_null(encoded.indices, missing_index).to_numpy(zero_copy_only=False)
                ]
        return super().encode(column)  # which says what is refused, and in which row


def _read_pieces(
    parquet_file: ParquetFile, group: int, names: list[str], where: str
) -> Iterator[ArrowChunk]:
    """Yield a row group's chunks of limited size."""
    rows = 0
    with reader_errors_as_input_error(where, "parquet"):
        for batch in parquet_file.iter_batches(MAX_CHUNK_ROWS, row_groups=[group], columns=names):
            table = repair_damaged_cells(pa.Table.from_batches([batch]))
            yield ArrowChunk(table, where if not rows else f"{where}, rows from {rows + 1:,} on")
            rows += table.num_rows
