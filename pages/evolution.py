"""Evolution page: Private Evolution step by step on places or rows, and the paper's figures.

Places and rows may be a person's own; the figures are live, for experts.
"""

import streamlit as st

from pages._ui.components import show_refusals
from pages._ui.evolution import method_choice, noise_lessons, paper_figures, player, table_evolution


def draw_expert_part() -> None:
    """Draw the paper's figures, and two lessons on its noise."""
    figures_tab, lessons_tab = st.tabs(("The paper's figures", "Two lessons on its noise"))
    with figures_tab:
        paper_figures.draw_figures()
    with lessons_tab:
        noise_lessons.draw_lessons()


FIRST_PART = "Watch"
DRAW_BY_PART = {
    FIRST_PART: player.draw_player,
    "My places": method_choice.draw_method_choice,
    "My table": table_evolution.draw_table_evolution,
    "For experts": draw_expert_part,
}

part = st.segmented_control(
    "Part",
    list(DRAW_BY_PART),
    default=FIRST_PART,
    required=True,
    key="part",
    bind="query-params",
    label_visibility="collapsed",
)
with show_refusals():
    DRAW_BY_PART[part or FIRST_PART]()  # an empty address asks for nothing, though it is required
