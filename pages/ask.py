"""Ask page: opens a finished release, verifies it, and answers from it; no table is needed."""

import streamlit as st

from pages._ui.ask import opened_release
from pages._ui.components import show_refusals
from pages._ui.released.downloads import draw_release_downloads, draw_release_summary
from pages._ui.released.released_views import QUESTIONS_TAB, draw_released_views

choice_column, verdict_column = st.columns([3, 2], gap="large")
with choice_column:
    source = opened_release.choose_release()
with verdict_column:
    key = "" if source is None else opened_release.ask_for_key()
    received = opened_release.received_release(source, key)
    if received is None:
        st.stop()
    opened_release.draw_verdict(received)
if received.is_sound:
    with show_refusals():  # what its owner signed may still contradict itself
        draw_release_summary(received.files)
        draw_released_views(received.files, QUESTIONS_TAB)
    draw_release_downloads(received.files)
