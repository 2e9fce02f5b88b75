"""Audit: a finished game that tries to break the promise, a bug to plant, and a game of one's own."""

import streamlit as st

from dpcore.errors import InputError
from pages._ui.audit import game as audits
from pages._ui.jobs.job import watch
from pages._ui.shell.text import plain

game = audits.current()
left, right = st.columns([5, 3], gap="large")
with right:
    place = st.container()
    try:
        audits.settings(game)
    except InputError as error:
        st.error(plain(error, 400))
        st.stop()
with left:
    done = game.work is None or watch(game.work, "audit")
    played = audits.opening() if game.work is None else game.work.result if done else None
    if played is not None:
        audits.picture(played.found)
if played is not None:
    with place:
        audits.verdict(played)
    with st.expander("For experts: bounds and curves", icon=":material/monitoring:"):
        audits.experts(played)
