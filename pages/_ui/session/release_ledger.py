"""Path of the release ledger and its data sets, from which every page reads them."""

import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from dpcore import InputError
from dpcore.evaluation.project import MAX_PATH_CHARS
from dpcore.release.data_set import MAX_NAME_CHARS, DataSet
from dpcore.release.ledger.chain import is_new_ledger, resolve_ledger_path
from dpcore.release.ledger.ledger_store import LedgerStore

from . import owner
from .current_table import is_public_host
from .inert_text import escape_markdown, printable_text
from .table import Table

LEDGER_VARIABLE = "DPCORE_LEDGER"
LEDGER_FILE_NAME = "ledger.sqlite"
FOLDER_WIDGET_KEY = "ledger-folder"  # key of the widget that names it
RELEASES_BLOCKED_TEXT = (
    "Releases are off on this server: others can reach it, and no budget record with a key is "
    "set up. Its owner can "
    f"name one in the environment variable {LEDGER_VARIABLE} and its key, at least "
    f"{owner.MIN_KEY_CHARS} characters, in "
    f"{owner.KEY_VARIABLE}; or you can release on your own machine, here or by `python -m dpcore "
    "release`."
)


def ask_for_ledger_path() -> Path | None:
    """Return the ledger's path, asking for it on the page; None with the reason drawn."""
    if are_releases_blocked():
        st.warning(releases_blocked_text(), icon=":material/block:")
        return None
    if not owner.request_ledger_access():
        return None
    if _configured_path():
        st.caption("Budget record: the one that this server's owner has set up.")
        return find_ledger_path()
    folder_text = st.text_input(
        "Where is used budget recorded?",
        key=FOLDER_WIDGET_KEY,
        placeholder="A folder, such as /home/you/releases",
        max_chars=MAX_PATH_CHARS,
        persist_state="session",
        help="On this machine. It lists every release and how much privacy budget is left. Use "
        "one folder for all "
        f"releases of a table. The first release makes the file {LEDGER_FILE_NAME} in it and "
        "writes its own files beside it.",
    )
    if folder_text.strip() and find_ledger_path() is None:
        st.error(
            f"There is no folder {escape_markdown(folder_text.strip(), 200)} on this machine. "
            "Make it first, or name another one."
        )
    return find_ledger_path()


def find_ledger_path() -> Path | None:
    """Return the path of the ledger that was named and this tab may see; None without one.

    It draws nothing.
    """
    if are_releases_blocked() or not owner.has_ledger_access():
        return None
    configured_path = _configured_path()
    if configured_path:
        return _resolve_path(Path(configured_path))
    folder_text = st.session_state.get(FOLDER_WIDGET_KEY, "").strip()
    try:
        folder = Path(folder_text).expanduser()
        return _resolve_path(folder / LEDGER_FILE_NAME) if folder_text and folder.is_dir() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _resolve_path(path: Path) -> Path:
    """Return the ledger's resolved path, beside which its releases lie.

    A link to nowhere is left as it is, to be refused in words later.
    """
    try:
        return resolve_ledger_path(path)
    except InputError:
        return path


def data_set_widget_key(table: Table) -> str:
    """Return the key of the widget that names the table's data set."""
    return f"dataset-{table.name}-{table.uploaded}"


def find_data_set(data_sets: Sequence[DataSet], name: str | None) -> DataSet | None:
    """Return the data set of this name; None where none is called so."""
    return next((data_set for data_set in data_sets if data_set.name == name), None)


def data_set_name(table: Table) -> str:
    """Return the name of the table's data set in the ledger: as entered, or else the table's.

    It is entered on Release.
    """
    default_name = printable_text(
        Path(table.name).stem if table.uploaded else table.name, MAX_NAME_CHARS
    )
    return st.session_state.get(data_set_widget_key(table), default_name).strip()


def are_releases_blocked() -> bool:
    """Return whether releasing is off: others reach this server, and no key-guarded ledger is set.

    Either there is no ledger, or no key that guards it.
    """
    return owner.requires_owner_key() and not (_configured_path() and owner.owner_key())


def releases_blocked_text() -> str:
    """Return why releasing is off in this tab, and what to do, as markdown."""
    return owner.samples_only_text() if owner.has_samples_only() else RELEASES_BLOCKED_TEXT


def _configured_path() -> str:
    return os.environ.get(LEDGER_VARIABLE, "").strip()


def format_ledger_error(error: object, ledger: Path | None) -> str:
    """Return an error for the page; on a public host without the server's paths."""
    text = str(error)
    return escape_markdown(
        text.replace(str(ledger.absolute().parent), "…") if ledger and is_public_host() else text,
        500,
    )


def load_data_sets(ledger: Path) -> list[DataSet]:
    """Return the data sets of the ledger; none if it does not exist yet.

    Raises InputError for a file that is no ledger.
    """
    if is_new_ledger(ledger) and ledger.parent.is_dir():
        return []
    return LedgerStore(ledger).list_datasets()
