"""Ask page: opens a finished release, verifies it, and answers from it; no table is needed."""

import streamlit as st

from pages._ui.ask import opened_release
from pages._ui.released.downloads import draw_release_downloads, draw_release_summary
from pages._ui.released.released_views import QUESTIONS_TAB, draw_released_views

source = opened_release.choose_release()
received = opened_release.received_release(source)
if received is None:
    st.stop()
opened_release.draw_verdict(received)
if received.is_sound:
    draw_release_summary(received.files)
    draw_released_views(received.files, QUESTIONS_TAB)
    draw_release_downloads(received.files)
