"""Audit: play the distinguishing game against an algorithm, beside what it promises; with a bug to catch."""

import streamlit as st

from dpcore.errors import InputError
from pages._ui.audit import game as audits
from pages._ui.jobs.job import watch
from pages._ui.shell.text import plain

audits.explain()
game = audits.current()
try:
    with st.container(border=True, key="settings"):
        audits.settings(game)
except InputError as error:
    st.error(plain(error, 400))
    st.stop()
if game.work is not None and watch(game.work, "audit"):
    audits.verdict(game)
