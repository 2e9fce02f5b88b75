"""Learning: a quantile, a classifier or a regression under privacy, and how exactly its guarantee is paid for."""

import streamlit as st

from dpcore.errors import InputError
from pages._ui.learning import on_table as learning_table
from pages._ui.learning import plane as learning_plane
from pages._ui.learning import privacy as learning_privacy
from pages._ui.learning import quantile as learning
from pages._ui.shell.frame import in_memory, tried, unfinished
from pages._ui.shell.opened import WHOLE
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain

table = current_table()
tried(table, WHOLE)
if unfinished(table, "learn here"):
    st.stop()

try:
    part = st.radio("What to look at", learning.PARTS, horizontal=True, key="part", bind="query-params")
    st.markdown(f"**{learning.question(part, table)}**")
    with st.container(border=True, key="settings"):
        budget = learning.budget()
    for caution in budget.cautions(table.n):
        st.warning(plain(caution, 300))
    if part != learning.PARTS[3] and not in_memory(table):
        st.stop()
    if table.uploaded and part != learning.PARTS[3]:
        st.warning("On your own table these pictures are made of the records: keep them to yourself.")
    shown = {
        learning.PARTS[0]: learning.line,
        learning.PARTS[1]: learning_plane.plane,
        learning.PARTS[2]: learning_table.whole,
        learning.PARTS[3]: learning_privacy.guarantee,
    }
    shown[part](table, budget)
except InputError as error:
    st.error(plain(error, 400))
