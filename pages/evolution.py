"""Evolution: Private Evolution step by step, on your own places or rows; the paper's figures live, for experts."""

import streamlit as st

from pages._ui.evolution import choice, figures, lessons, on_table, player
from pages._ui.shell import refusals


def experts() -> None:
    """Draw the paper's figures, and two lessons on its noise."""
    research, two = st.tabs(("The paper's figures", "Two lessons on its noise"))
    with research:
        figures.figures()
    with two:
        lessons.lessons()


FIRST = "Watch"
PARTS = {
    FIRST: player.watch_it,
    "My places": choice.choose,
    "My table": on_table.on_a_table,
    "For experts": experts,
}

part = st.segmented_control(
    "Part", list(PARTS), default=FIRST, required=True, key="part", bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
with refusals():
    PARTS[part or FIRST]()  # an empty address asks for nothing, though it is required
