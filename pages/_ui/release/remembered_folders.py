"""Folders in which the budget of this table was recorded before, offered on Release."""

from pathlib import Path

import streamlit as st

from dpcore.release.data_set import DataSet

from ..jobs.ledger_memory import remember_ledger, remembered_ledger
from ..project.opened_project import project_ledger
from ..session import Table, escape_markdown, is_public_host
from ..session.release_ledger import FOLDER_WIDGET_KEY, data_set_name, find_data_set

MAX_PATH_TEXT = 120  # characters


def draw_remembered_folders(table: Table, ledger: Path | None) -> None:
    """Offer the folders that are known for a table's columns, or say that another one is named.

    Nothing is read of a folder before a person takes it.
    """
    if is_public_host() or not table.uploaded:
        return
    notes_by_folder: dict[str, str] = {}
    project_folder = project_ledger()
    if project_folder:
        notes_by_folder[project_folder] = "named by your project"
    remembered = remembered_ledger(table)
    if remembered is not None:
        notes_by_folder[remembered.folder] = remembered.text
    for number, (folder, note) in enumerate(notes_by_folder.items()):
        if ledger is None:
            _offer_folder(number, folder, note)
        elif Path(folder) != ledger.parent:
            st.warning(
                "The budget of a table with these columns is recorded in "
                f"{escape_markdown(folder, MAX_PATH_TEXT)} ({note}). A second budget record would "
                "not know of that use."
            )
            _offer_folder(number, folder, note)


def remember_use(table: Table, ledger: Path | None, data_sets: list[DataSet]) -> None:
    """Remember the folder of a ledger that knows the table's data set, after a release."""
    data_set = find_data_set(data_sets, data_set_name(table))
    if ledger is None or data_set is None:
        return
    used_share = data_set.lifetime.used_capacity_share(data_set.spent)
    remember_ledger(table, str(ledger.parent), used_share)


def _offer_folder(number: int, folder: str, note: str) -> None:
    """Draw the button that takes a folder."""
    st.button(
        f"Use {escape_markdown(folder, MAX_PATH_TEXT)} ({note})",
        key=f"remembered-{number}",
        icon=":material/folder:",
        on_click=_use_folder,
        args=(folder,),
    )


def _use_folder(folder: str) -> None:
    st.session_state[FOLDER_WIDGET_KEY] = folder
