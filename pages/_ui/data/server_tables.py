"""A table on this server: its path, or on a server for others one of the files that its owner has put into a folder."""

from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import pandas as pd
import streamlit as st

from dpcore import InputError, source_at
from dpcore.data.readers import ENDINGS, UPLOADED, LoadedTable
from dpcore.data.sources.open_source import is_large
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.text_source import TextSource
from dpcore.data.text_file import OpenQuotesError, guessed
from dpcore.schema.text_format import UNSTATED, TextFormat

from ..jobs import Work
from ..jobs.table_changes import UNREAD, arrive
from ..session import Large, Table, here, public_host
from ..session.counted_table import named
from . import server_paths
from .file_reading import loaded, made_of

PATH, CHOSEN = "server-path", "server-file"  # keys of widgets
LONGEST = 1000  # characters of a path
LOOK = 1 << 26  # bytes that are looked at to guess how a large text is written
FIRST, FIRST_CELLS = 100_000, 4_000_000  # rows of a large table, and their cells, that guesses look at: at the most
TOGETHER, SOME = 32, 1000  # columns that are read at once; rows whose lengths are measured
TEXTS = (".csv", ".tsv", ".txt")
EXAMPLE = "/home/you/people.csv"
KINDS = ", ".join(ENDINGS)


def offer() -> None:
    """The widgets, where there is something to choose from."""
    if not server_paths.offered():
        return
    root = server_paths.folder()
    with st.popover(f"On {here()}", type="tertiary"):
        names = [] if root is None else server_paths.listed(root)
        if root is not None and not names:
            st.caption(f"The folder of {here()}'s tables holds none.")
            return
        input_container = st.container(horizontal=True, vertical_alignment="bottom")
        if root is None:
            key = PATH
            input_container.text_input(
                "Path of a file on this machine, or of a folder of Parquet files", key=PATH, placeholder=EXAMPLE,
                max_chars=LONGEST, autocomplete="off", persist_state="session",
                help=f"A file that ends in {KINDS}. What is large is read in parts.",
            )  # fmt: skip
        else:
            key = CHOSEN
            input_container.selectbox(
                f"Table of {here()}", names, None, key=CHOSEN, placeholder="Choose a file", persist_state="session"
            )
        input_container.button("Read it", key="read-server", icon=":material/input:", on_click=take, args=(key,))


def take(key: str, format: TextFormat | None = None) -> None:
    """Begin to read what was named, a text in a known or guessed format.

    Until then, and if it cannot be read, the table is the one that was there.
    """
    try:
        path, root = server_paths.find(st.session_state.get(key) or "")
    except InputError as error:
        st.session_state[UNREAD] = str(error)
    else:
        arrive(partial(_read, path, root, format=format))


def _read(path: Path, root: Path | None, work: Work, format: TextFormat | None = None) -> Table:
    """The table at a path, as from an upload; what is too large for that is read in parts."""
    with named(path):
        if path.is_dir():
            server_paths.check_folder(path, lambda: work.tell(0.0, "The folder is searched"))
        if _large(path):
            return _in_parts(path, root, work, format)
    with server_paths.opened(path, root) as file:
        loaded_table = loaded(path.name, file, work, format)
    return made_of(replace(loaded_table, how=f"{loaded_table.how}, on {here()}"), path.name, work)


def _large(path: Path) -> bool:
    """Whether a table is better read in parts: by the command line's rule, or as it is more than an upload may be."""
    if not path.exists() or path.is_dir() or is_large(path):
        return path.exists()
    if public_host() and path.stat().st_size > st.get_option("server.maxUploadSize") << 20:
        return True
    if path.suffix.lower() != ".parquet":
        return False
    source = ParquetSource(path)
    return source.rows * len(source.columns) > UPLOADED


def _in_parts(path: Path, root: Path | None, work: Work, format: TextFormat | None) -> Table:
    """A table of which the first rows are read, to guess by."""
    work.tell(0.0, "The first rows are read")
    if format is None and path.suffix.lower() in TEXTS and path.is_file():
        with server_paths.opened(path, root) as file:
            format = guessed(BytesIO(file.read(LOOK)))
    source = source_at(path, format := format or UNSTATED)
    try:
        names = source.columns
    except InputError:
        if root is not None:  # it may quote a file that nobody has compared with the folder yet
            raise InputError("cannot be read in parts") from None
        raise
    server_paths.guard_parts(source, root)
    try:
        first_rows = _first(source) if names else pd.DataFrame()
    except OpenQuotesError:
        source = source_at(path, format := replace(format, line_breaks=True))
        server_paths.guard_parts(source, root)
        first_rows = _first(source)
    if not len(first_rows):
        raise InputError("has no rows")
    is_parquet = isinstance(source, ParquetSource)
    large_table = Large(
        source, source.rows if isinstance(source, ParquetSource) else _about(path, first_rows), is_parquet
    )
    format_words = "Parquet" if is_parquet else f"text, {format.words}"
    how = f"{format_words}, in parts, on {here()}; guesses look at the first {len(first_rows):,} rows"
    return made_of(LoadedTable(first_rows, how, format), path.name, work, large_table)


def _first(source: ParquetSource | TextSource) -> pd.DataFrame:
    """The first rows, a few columns at a time: as many as make no large table."""
    max_rows = max(2, min(FIRST, FIRST_CELLS // len(source.columns)))
    parts = []
    for start in range(0, len(source.columns), TOGETHER):
        names = source.columns[start : start + TOGETHER]
        chunk = next((c for c in source.chunks(names) if c.rows), None)
        cells = (
            {name: chunk.cells(name).head(max_rows) for name in names} if chunk is not None else dict.fromkeys(names)
        )
        parts.append(pd.DataFrame(cells, columns=pd.Index(names)))
    return pd.concat(parts, axis=1)


def _about(path: Path, first: pd.DataFrame) -> int:
    """How many rows a text has, by its size and the length of the first ones."""
    sample_rows = first.head(SOME)
    length = sum(
        int(pd.Series(sample_rows[name]).astype(str).str.len().sum()) + len(sample_rows) for name in sample_rows.columns
    )
    return max(1, round(path.stat().st_size * len(sample_rows) / max(length, 1)))
