"""Data: bring a table, decide what is public about it and whom to protect, see what it will cost before it runs."""

import streamlit as st

from pages._ui.components import heading, line
from pages._ui.data import decisions, public_view, schema_measurement, table_choice
from pages._ui.data.column_grid import grid
from pages._ui.data.readiness import policies, readiness
from pages._ui.data.server_tables import TEXTS
from pages._ui.jobs import browser_memory
from pages._ui.jobs.counting_job import ready
from pages._ui.session import here, is_withheld, plain, session, stakeholder

TABS = ("File and schema", "Rows", "Impossible combinations", "For experts")

current = table_choice.choose_table()
st.caption(plain(current.source, 400))
browser_memory.remember(current, says=True)
if is_withheld(current):
    line(current)
    public_view.show(current)
    st.stop()
place = decisions.decide(current)
line(current)  # once it is known who is protected
hidden = decisions.hidden(current)
if hidden:
    st.caption("Its schema was taken from the data, so this view does not show it.")
else:
    grid(current, place is None)
    decisions.summary(current)
known = current.domain is not None and not hidden and ready(current)
schema_measurement.panel(current, place)

files, rows, impossible, cost = st.tabs(TABS, key="data-part", on_change="rerun")
with rows:
    if stakeholder():
        st.caption("This view shows no rows.")
    elif rows.open:
        session().look(current)
        heading("First rows")
        st.dataframe(current.frame.head(50), hide_index=True)
        if current.domain is not None:
            heading("Missing and out of range")
            policies(current)
with impossible:
    if not hidden:
        table_choice.impossible(current)
with cost:
    if known and cost.open:
        readiness(current)
    elif not known:
        st.caption("Time and memory of every algorithm are known once nothing is left to decide.")
with files:
    if current.guesses and current.name.lower().endswith(TEXTS) and not stakeholder():
        table_choice.ways_to_read(current)
    with st.expander("Save or load these settings"):
        if not hidden:
            table_choice.download_schema(current)
        table_choice.upload_schema(current)
    st.markdown(
        "- **Public**: the schema (what the lines above state), the number of rows, questions and all settings.\n"
        "- **Private**: every value of every row. Columns that are not in the schema are never read.\n"
        "- **Protected**: what an algorithm releases; its cost is in the budget record.\n"
        "- **Uses real data**: errors and real values on these pages. They are for exploring. Do not publish them."
    )
    words = table_choice.WHERE if current.large is None else table_choice.WHERE_IN_PARTS
    st.caption(words.format(here=here()))
