"""Evolution: Private Evolution step by step, on your own places or rows; the paper's figures live, for experts."""

import streamlit as st

from pages._ui.components import refusals
from pages._ui.evolution import method_choice, noise_lessons, paper_figures, player, table_evolution


def experts() -> None:
    """Draw the paper's figures, and two lessons on its noise."""
    figures_tab, lessons_tab = st.tabs(("The paper's figures", "Two lessons on its noise"))
    with figures_tab:
        paper_figures.figures()
    with lessons_tab:
        noise_lessons.lessons()


FIRST = "Watch"
PARTS = {
    FIRST: player.watch_it,
    "My places": method_choice.choose,
    "My table": table_evolution.on_a_table,
    "For experts": experts,
}

part = st.segmented_control(
    "Part", list(PARTS), default=FIRST, required=True, key="part", bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
with refusals():
    PARTS[part or FIRST]()  # an empty address asks for nothing, though it is required
