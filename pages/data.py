"""Data page: upload a table, state what is public and whom to protect, and see its cost.

The cost is shown before anything runs.
"""

import streamlit as st

from dpcore.data.readers import TEXT_ENDINGS, table_ending
from pages._ui.components import draw_heading, draw_table_header
from pages._ui.data import (
    constraint_editor,
    decisions,
    public_view,
    reading_doubts,
    schema_measurement,
    table_choice,
)
from pages._ui.data.column_grid import draw_grid
from pages._ui.data.readiness import draw_forecasts, draw_policy_counts
from pages._ui.jobs import browser_memory
from pages._ui.jobs.counting_job import ensure_rows_counted
from pages._ui.session import (
    escape_markdown,
    is_public_table,
    is_stakeholder_view,
    server_label,
    session,
)

TABS = ("File and schema", "Rows", "Impossible combinations", "For experts")

current = table_choice.choose_table()
st.caption(escape_markdown(current.source, 400))
browser_memory.remember_columns(current, show_notice=True)
if is_public_table(current):
    draw_table_header(current)
    public_view.draw_public_view(current)
    st.stop()
if not is_stakeholder_view():
    reading_doubts.draw_reading_doubts(current)
try_slot = decisions.draw_decisions(current)
draw_table_header(current)  # once it is known who is protected
is_schema_hidden = decisions.must_hide_schema(current)
if is_schema_hidden:
    st.caption("Its schema was taken from the data, so this view does not show it.")
else:
    draw_grid(current, try_slot is None)
    decisions.draw_schema_summary(current)
is_ready = current.domain is not None and not is_schema_hidden and ensure_rows_counted(current)
schema_measurement.draw_measurement_panel(current, try_slot)

files_tab, rows_tab, constraints_tab, forecasts_tab = st.tabs(
    TABS, key="data-part", on_change="rerun"
)
with rows_tab:
    if is_stakeholder_view():
        st.caption("This view shows no rows.")
    elif rows_tab.open:
        session().mark_viewed(current)
        draw_heading("First rows")
        st.dataframe(current.frame.head(50), hide_index=True)
        if current.domain is not None:
            draw_heading("Missing and out of range")
            draw_policy_counts(current)
with constraints_tab:
    if constraints_tab.open and not is_schema_hidden:
        constraint_editor.draw_constraint_editor(current)
with forecasts_tab:
    if is_ready and forecasts_tab.open:
        draw_forecasts(current)
    elif not is_ready:
        st.caption("Time and memory of every algorithm are known once nothing is left to decide.")
with files_tab:
    if current.guesses and table_ending(current.name) in TEXT_ENDINGS and not is_stakeholder_view():
        reading_doubts.draw_format_choices(current)
    with st.expander("Save or load these settings"):
        if not is_schema_hidden:
            table_choice.draw_schema_download(current)
        table_choice.draw_schema_upload(current)
    st.markdown(
        "- **Public**: the schema (what the lines above state), the number of rows, questions "
        "and all settings.\n"
        "- **Private**: every value of every row. Columns that are not in the schema are never "
        "read.\n"
        "- **Protected**: what an algorithm releases; its cost is in the budget record.\n"
        "- **Uses real data**: errors and real values on these pages. They are for exploring. Do "
        "not publish them."
    )
    storage_text = (
        table_choice.UPLOAD_STORAGE_TEXT
        if current.large_table is None
        else table_choice.IN_PARTS_STORAGE_TEXT
    )
    st.caption(storage_text.format(here=server_label()))
