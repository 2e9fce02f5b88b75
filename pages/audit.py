"""Audit: a finished game that tries to break the promise, a bug to plant, and a game of one's own."""

import streamlit as st

from pages._ui.audit import game as audits
from pages._ui.components import refusals

outcome = st.container()
left, right = st.columns([3, 2], gap="large")
with right:
    place = st.container()
    with refusals():
        audits.settings()
with outcome:
    played, fresh = audits.shown()
    if fresh:
        audits.verdict(played)
    else:
        st.caption("Below is the last finished game.")
with left:
    audits.picture(played.found)
with place:
    audits.explain(played)
with st.expander("For experts: curves", icon=":material/monitoring:"):
    audits.experts(played)
