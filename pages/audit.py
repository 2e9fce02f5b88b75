"""Audit page: a finished game that tries to break the promise, a planted bug, a new game."""

import streamlit as st

from pages._ui.audit import game as audits
from pages._ui.components import show_refusals

verdict_slot = st.container()
picture_column, settings_column = st.columns([3, 2], gap="large")
with settings_column:
    explanation_slot = st.container()
    with show_refusals():
        audits.draw_settings()
with verdict_slot:
    game, is_fresh = audits.watch_game()
    if is_fresh:
        audits.draw_verdict(game)
    else:
        st.caption("Below is the last finished game.")
with picture_column:
    audits.draw_outcome(game.game)
with explanation_slot:
    audits.draw_explanation(game)
with st.expander("For experts: curves", icon=":material/monitoring:"):
    audits.draw_expert_view(game)
