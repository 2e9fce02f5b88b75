"""Where the release ledger lies and what it knows; every page that shows something of it reads from here."""

import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dpcore import InputError
from dpcore.release.data_set import LONGEST_NAME, DataSet
from dpcore.release.ledger.chain import is_new, resolved
from dpcore.release.ledger.ledger_store import Store

from . import owner
from .current_table import public_host
from .inert_text import clean, plain
from .table import Table

VARIABLE = "DPCORE_LEDGER"
FILE = "ledger.sqlite"
FOLDER = "ledger-folder"  # key of the widget that names it
OFF = (
    "Releases are off on this server: others can reach it, and no budget record with a key is set up. Its owner can "
    f"name one in the environment variable {VARIABLE} and its key, at least {owner.SHORTEST} characters, in "
    f"{owner.KEY}; or you can release on your own machine, here or by `python -m dpcore release`."
)


def where() -> Path | None:
    """The ledger's path, or None with the reason said on the page."""
    if off():
        st.warning(OFF, icon=":material/block:")
        return None
    if not owner.opens():
        return None
    if _configured():
        st.caption("Budget record: the one that this server's owner has set up.")
        return named()
    folder_text = st.text_input(
        "Where should used budget be recorded?", key=FOLDER, placeholder="A folder, such as /home/you/releases",
        max_chars=1000, persist_state="session",
        help="On this machine. It lists every release and how much privacy budget is left. Use one folder for all "
        f"releases of a table. The first release makes the file {FILE} in it and writes its own files beside it.",
    )  # fmt: skip
    if folder_text.strip() and named() is None:
        st.error(
            f"There is no folder {plain(folder_text.strip(), 200)} on this machine. Make it first, or name another one."
        )
    return named()


def named() -> Path | None:
    """The path of the ledger that was named and that this tab may see, in silence; None without one."""
    if off() or not owner.opened():
        return None
    configured_path = _configured()
    if configured_path:
        return _resolved(Path(configured_path))
    folder_text = st.session_state.get(FOLDER, "").strip()
    try:
        folder = Path(folder_text).expanduser()
        return _resolved(folder / FILE) if folder_text and folder.is_dir() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _resolved(path: Path) -> Path:
    """The ledger's own path, beside which its releases lie; a link to nowhere is left, to be refused in words."""
    try:
        return resolved(path)
    except InputError:
        return path


def dataset_key(table: Table) -> str:
    """The key of the widget that names the table's data set."""
    return f"dataset-{table.name}-{table.uploaded}"


def dataset_of(sets: Sequence[DataSet], name: str | None) -> DataSet | None:
    """Return the data set of this name; None where none is called so."""
    return next((data_set for data_set in sets if data_set.name == name), None)


def dataset_name(table: Table) -> str:
    """The name of the table's data set in the ledger: as entered on Release, else the table's own."""
    default_name = clean(Path(table.name).stem if table.uploaded else table.name, LONGEST_NAME)
    return st.session_state.get(dataset_key(table), default_name).strip()


def off() -> bool:
    """Whether nobody can release here: others reach this server, and there is no ledger, or no key that guards it."""
    return owner.asked_for() and not (_configured() and owner.key())


def _configured() -> str:
    return os.environ.get(VARIABLE, "").strip()


def words(error: object, ledger: Path | None) -> str:
    """A message for the page; on a public host it does not tell where things lie on the server."""
    text = str(error)
    return plain(text.replace(str(ledger.absolute().parent), "…") if ledger and public_host() else text, 500)


def known(ledger: Path) -> list[DataSet]:
    """The data sets of the ledger, none where it is not made yet. Raises InputError for a file that is no ledger."""
    if is_new(ledger) and ledger.parent.is_dir():
        return []
    return Store(ledger).show()
