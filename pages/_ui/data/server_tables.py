"""Choice of a table on this server: by its path, or among the files of the owner's folder.

The latter is on a server for others.
"""

from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import pandas as pd
import streamlit as st

from dpcore import InputError, source_at
from dpcore.core.job import Job
from dpcore.core.types import Json
from dpcore.data.readers import MAX_UPLOADED_CELLS, LoadedTable, readable_table_endings
from dpcore.data.sources.open_source import is_large_table
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.text_source import TextSource
from dpcore.data.table_shape import ShapeGuess
from dpcore.data.text_file import OpenQuotesError
from dpcore.data.text_shape import guess_text_format
from dpcore.evaluation.project import MAX_PATH_CHARS
from dpcore.schema.schema_json import text_format_from_json

from ..jobs.table_changes import UPLOAD_PROBLEM_KEY, start_table_upload
from ..session import LargeTable, Table, is_public_host, server_label
from ..session.counted_table import hide_path_in_errors
from . import server_paths
from .file_reading import load_file, table_from_loaded

# keys of widgets
PATH_WIDGET_KEY = "server-path"
FILE_WIDGET_KEY = "server-file"
MAX_FORMAT_GUESS_BYTES = 1 << 26  # bytes that are looked at to guess how a large text is written
MAX_FIRST_ROWS = 100_000  # rows of a large table that guesses look at
MAX_FIRST_CELLS = 4_000_000  # and the cells of these rows
COLUMNS_PER_READ = 32  # columns that are read at once
LENGTH_SAMPLE_ROWS = 1000  # rows whose lengths are measured
TEXT_EXTENSIONS = (".csv", ".tsv", ".txt")
EXAMPLE_PATH = "/home/you/people.csv"
EXTENSIONS_TEXT = ", ".join(readable_table_endings())


def draw_server_tables() -> None:
    """Draw the widgets that choose a table on this server, if there is one to choose."""
    if not server_paths.can_name_server_table():
        return
    root = server_paths.tables_folder()
    with st.popover(f"On {server_label()}", type="tertiary"):
        names = [] if root is None else server_paths.list_table_names(root)
        if root is not None and not names:
            st.caption(f"The folder of {server_label()}'s tables holds none.")
            return
        input_container = st.container(horizontal=True, vertical_alignment="bottom")
        if root is None:
            key = PATH_WIDGET_KEY
            input_container.text_input(
                "Path of a file on this machine, or of a folder of Parquet files",
                key=PATH_WIDGET_KEY,
                placeholder=EXAMPLE_PATH,
                max_chars=MAX_PATH_CHARS,
                autocomplete="off",
                persist_state="session",
                help=f"A file that ends in {EXTENSIONS_TEXT}. What is large is read in parts.",
            )
        else:
            key = FILE_WIDGET_KEY
            input_container.selectbox(
                f"Table of {server_label()}",
                names,
                None,
                key=FILE_WIDGET_KEY,
                placeholder="Choose a file",
                persist_state="session",
            )
        input_container.button(
            "Read it",
            key="read-server",
            icon=":material/input:",
            on_click=start_reading_server_table,
            args=(key, {}),
        )


def start_reading_server_table(key: str, stated: Json) -> None:
    """Begin to read what was named; what is not `stated` of its shape is guessed.

    Until then, and if it cannot be read, the table is the one that was there.
    """
    try:
        path, root = server_paths.resolve_table_path(st.session_state.get(key) or "")
    except InputError as error:
        st.session_state[UPLOAD_PROBLEM_KEY] = str(error)
    else:
        start_table_upload(partial(_read_server_table, path, root, stated))


def _read_server_table(path: Path, root: Path | None, stated: Json, job: Job) -> Table:
    """Return the table at a path, read as an upload is, or in parts if it is too large."""
    with hide_path_in_errors(path):
        if path.is_dir():
            server_paths.check_folder_size(
                path, lambda *_: job.report_progress(0.0, "The folder is searched")
            )
        if _should_read_in_parts(path):
            return _table_in_parts(path, root, stated, job)
    with server_paths.open_unchanging_file(path, root) as file:
        loaded_table = load_file(path.name, file, stated, job)
    return table_from_loaded(
        replace(loaded_table, description=f"{loaded_table.description}, on {server_label()}"),
        path.name,
        stated,
        job,
    )


def _should_read_in_parts(path: Path) -> bool:
    """Return whether a table is too large to be read at once.

    That is so by the command line's rule, or if it is more than an upload may be.
    """
    if not path.exists() or path.is_dir() or is_large_table(path):
        return path.exists()
    if is_public_host() and path.stat().st_size > st.get_option("server.maxUploadSize") << 20:
        return True
    if path.suffix.lower() != ".parquet":
        return False
    source = ParquetSource(path)
    return source.rows * len(source.columns) > MAX_UPLOADED_CELLS


def _guess_format(path: Path, root: Path | None, stated: Json) -> ShapeGuess:
    """Return the format of a table that is read in parts, guessed from its first bytes."""
    format = text_format_from_json(stated)
    if path.suffix.lower() not in TEXT_EXTENSIONS or not path.is_file():
        return ShapeGuess(format)
    with server_paths.open_unchanging_file(path, root) as file:
        start = BytesIO(file.read(MAX_FORMAT_GUESS_BYTES))
        is_whole = not file.read(1)
    names = {*stated, *(() if is_whole else ("skip_end",))}  # its end was not looked at
    return guess_text_format(start, format=format, stated=names)


def _table_in_parts(path: Path, root: Path | None, stated: Json, job: Job) -> Table:
    """Return a table that is read in parts, with its first rows in memory to guess by."""
    job.report_progress(0.0, "The first rows are read")
    guess = _guess_format(path, root, stated)
    format = guess.format
    source = source_at(path, format)
    try:
        names = source.columns
    except InputError:
        if root is not None:  # it may quote a file that nobody has compared with the folder yet
            raise InputError("cannot be read in parts") from None
        raise
    server_paths.require_files_of_folder(source, root)
    try:
        first_rows = _read_first_rows(source) if names else pd.DataFrame()
    except OpenQuotesError:
        format = replace(format, line_breaks=True)
        source = source_at(path, format)
        server_paths.require_files_of_folder(source, root)
        first_rows = _read_first_rows(source)
    if not len(first_rows):
        raise InputError("has no rows")
    is_parquet = isinstance(source, ParquetSource)
    large_table = LargeTable(
        source,
        source.rows if isinstance(source, ParquetSource) else _estimate_row_count(path, first_rows),
        is_parquet,
    )
    format_words = "Parquet" if is_parquet else f"text, {format.description}"
    how = (
        f"{format_words}, in parts, on {server_label()}; guesses look at the first "
        f"{len(first_rows):,} rows"
    )
    loaded_table = LoadedTable(
        first_rows,
        how,
        format,
        doubts=guess.doubts,
        preview=guess.preview,
        left_out=guess.left_out,
    )
    return table_from_loaded(loaded_table, path.name, stated, job, large_table)


def _read_first_rows(source: ParquetSource | TextSource) -> pd.DataFrame:
    """Return the first rows of a source: as many as make no large table.

    A few columns are read at a time.
    """
    max_rows = max(2, min(MAX_FIRST_ROWS, MAX_FIRST_CELLS // len(source.columns)))
    parts = []
    for start in range(0, len(source.columns), COLUMNS_PER_READ):
        names = source.columns[start : start + COLUMNS_PER_READ]
        chunk = next((c for c in source.chunks(names) if c.rows), None)
        cells = (
            {name: chunk.cells(name).head(max_rows) for name in names}
            if chunk is not None
            else dict.fromkeys(names)
        )
        parts.append(pd.DataFrame(cells, columns=pd.Index(names)))
    return pd.concat(parts, axis=1)


def _estimate_row_count(path: Path, first_rows: pd.DataFrame) -> int:
    """Return an estimate of a text file's row count, by its size and its first rows' length."""
    sample_rows = first_rows.head(LENGTH_SAMPLE_ROWS)
    length = sum(
        int(pd.Series(sample_rows[name]).astype(str).str.len().sum()) + len(sample_rows)
        for name in sample_rows.columns
    )
    return max(1, round(path.stat().st_size * len(sample_rows) / max(length, 1)))
