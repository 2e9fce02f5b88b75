"""Audit: a finished game that tries to break the promise, a bug to plant, and a game of one's own."""

import streamlit as st

from pages._ui.audit import game as audits
from pages._ui.jobs import watch
from pages._ui.shell import refusals, session

outcome = st.container()
left, right = st.columns([3, 2], gap="large")
with right:
    place = st.container()
    with refusals():
        audits.settings()
with left:
    game = session().held.get(audits.GAME)
    played = audits.opening() if game is None else game.result if watch(game, "audit") else None
    if played is not None:
        audits.picture(played.found)
if played is not None:
    with outcome:
        audits.verdict(played)
    with place:
        audits.explain(played)
    with st.expander("For experts: curves", icon=":material/monitoring:"):
        audits.experts(played)
