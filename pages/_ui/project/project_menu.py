"""What every page offers of the tab's project: save it, open one, and what became of that."""

import streamlit as st

from ..components.frame import SHARE_SLOT_KEY
from .opened_project import draw_open_uploader, draw_opened_project
from .saved_project import draw_save_button


def draw_project_menu() -> None:
    """Draw the entries of a project under Share, and below the head the one that was opened."""
    with st.session_state[SHARE_SLOT_KEY]:
        draw_save_button()
        draw_open_uploader()
    draw_opened_project()
