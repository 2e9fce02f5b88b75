"""A table on this server: its path, or on a server for others one of the files that its owner has put into a folder."""

import time
from functools import partial
from pathlib import Path
from typing import BinaryIO

import streamlit as st

from dpcore.data.readers import ENDINGS, UPLOADED, read
from dpcore.data.sources.files import is_large
from dpcore.errors import InputError

from ..jobs.work import Work
from ..shell.table import Table
from ..shell.text import plain
from . import places
from .reading import READ, arrive, made_of

PATH, CHOSEN = "server-path", "server-file"  # keys of widgets
LONGEST = 1000  # characters of a path
BLOCK = 1 << 22  # bytes
NEWLINE = 10
TEXTS = (".csv", ".tsv", ".txt")
EXAMPLE = "/home/you/people.csv"
KINDS = ", ".join(ENDINGS)


def offer() -> None:
    """The widgets, where there is something to choose from."""
    if not places.offered():
        return
    root = places.folder()
    with st.expander("Or a table on this server", icon=":material/folder_open:"):
        if root is None:
            key, left = PATH, st.container(horizontal=True, vertical_alignment="bottom")
            left.text_input(
                "Path of a file on this machine", key=PATH, placeholder=EXAMPLE, max_chars=LONGEST, autocomplete="off",
                help=f"A file that ends in {KINDS}. It is read where it lies, and nothing is written.",
            )  # fmt: skip
        else:
            names = places.listed(root)
            if not names:
                st.caption("The folder of this server's tables holds none.")
                return
            key, left = CHOSEN, st.container(horizontal=True, vertical_alignment="bottom")
            left.selectbox("Table of this server", names, None, key=CHOSEN, placeholder="Choose a file")
        left.button("Read it", key="read-server", icon=":material/input:", on_click=_take, args=(key,))
        said = st.session_state.pop("_server_problem", "")
        if said:
            st.error(plain(said, 400))


def _take(key: str) -> None:
    """Begin to read what was named; until then, and if it cannot be read, the table is the one that was there."""
    said = st.session_state.get(key) or ""
    try:
        path, root = places.find(said)
    except InputError as error:
        st.session_state["_server_problem"] = str(error)
    else:
        arrive(partial(_read, path, root))


def _read(path: Path, root: Path | None, work: Work) -> Table:
    """The table in a file, as from an upload; what is too large for that is refused."""
    with places.named(path):
        if path.is_file() and is_large(path):
            raise InputError("too large to be read into memory; the command line reads it in parts")
    with places.opened(path, root) as file:
        work.tell(0.0, "The file is read")
        lines = _lines(file, work) if path.suffix.lower() in TEXTS else 0
        start = time.monotonic()

        def told(share: float) -> None:
            rows = share * lines
            rate = rows / max(time.monotonic() - start, 1e-3)
            words = f"About {rows:,.0f} rows read, {rate:,.0f} a second" if rows else "The file is read"
            work.tell(READ * share, words)

        found = read(file, path.name, UPLOADED, told=told)
    return made_of(found, path.name, f"{found.how}, on this server", work)


def _lines(file: BinaryIO, work: Work) -> int:
    """How many lines a text has, about: a cell may hold some."""
    lines = 0
    while block := file.read(BLOCK):
        lines += block.count(NEWLINE)
        work.tell(0.0, "The file is read")
    file.seek(0)
    return lines
