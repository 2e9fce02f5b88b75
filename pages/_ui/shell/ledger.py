"""Where the release ledger lies and what it knows; every page that shows something of it reads from here."""

import os
from pathlib import Path

import streamlit as st

from dpcore.publishing.chain import is_new
from dpcore.publishing.dataset import DataSet
from dpcore.publishing.ledger_store import Store

from . import owner
from .state import public_host
from .text import plain

VARIABLE = "DPCORE_LEDGER"
FILE = "ledger.sqlite"
OFF = (
    "Releases are off on this server: others can reach it, and no ledger with a key is set up. Its owner can name one "
    f"in the environment variable {VARIABLE} and its key, at least {owner.SHORTEST} characters, in {owner.KEY}; or you "
    "can release on your own machine, here or by `python -m dpcore release`."
)


def where() -> Path | None:
    """The ledger's path, or None with the reason said on the page."""
    configured = os.environ.get(VARIABLE, "").strip()
    if off():
        st.warning(OFF, icon=":material/block:")
        return None
    if not owner.opens():
        return None
    if configured:
        st.caption("Budget record: the one that this server's owner has set up.")
        return Path(configured)
    typed = st.text_input(
        "Folder of the budget record, on this machine", key="ledger-folder", placeholder="/home/you/releases",
        max_chars=1000, persist_state="session",
        help="The budget record lists every release and how much privacy budget is left. Use one folder for all "
        f"releases of a table. The first release makes the file {FILE} in it and writes its own files beside it.",
    )  # fmt: skip
    if not typed.strip():
        return None
    try:
        folder = Path(typed.strip()).expanduser()
        there = folder.is_dir()
    except (OSError, ValueError, RuntimeError):
        folder, there = Path(), False
    if not there:
        st.error(f"There is no folder {plain(typed.strip(), 200)} on this machine. Make it first, or name another one.")
        return None
    return folder / FILE


def off() -> bool:
    """Whether nobody can release here: others reach this server, and there is no ledger, or no key that guards it."""
    return owner.asked_for() and not (os.environ.get(VARIABLE, "").strip() and owner.key())


def words(error: object, ledger: Path | None) -> str:
    """A message for the page; on a public host it does not tell where things lie on the server."""
    text = str(error)
    return plain(text.replace(str(ledger.absolute().parent), "…") if ledger and public_host() else text, 500)


def known(ledger: Path) -> list[DataSet]:
    """The data sets of the ledger, none where it is not made yet. Raises InputError for a file that is no ledger."""
    if is_new(ledger) and ledger.parent.is_dir():
        return []
    return Store(ledger).show()
