"""Data: bring a table, say what is public about it and whom to protect, see what it will cost before anything runs."""

import pandas as pd
import streamlit as st

from dpcore.tags import Tag
from pages._ui.data import measuring, memory, steps
from pages._ui.data.readiness import policies, readiness
from pages._ui.data.table_editor import WHERE, WHERE_IN_PARTS, choose_table
from pages._ui.jobs.counting import ready
from pages._ui.shell.frame import heading, line
from pages._ui.shell.session import forget, session
from pages._ui.shell.state import stakeholder, table

current = choose_table()
line(current)
memory.remember(current)

with st.container(border=True, key="came-in"):
    steps.came_in(current)
with st.container(border=True, key="public"):
    steps.public(current)
with st.container(border=True, key="protected"):
    steps.protected(current)

if current.opening is not None:
    with st.container(border=True, key="measured"):
        measuring.panel(current)

if current.domain is not None and not steps.hidden(current):
    heading("What it will cost, before anything runs", Tag.PUBLIC if current.trial is None else Tag.PEEK)
    if ready(current):
        readiness(current)
    with st.expander("What is public, what is private", icon=":material/public:"):
        st.markdown(
            "- **Public**: the schema above, the number of rows, questions, algorithm, ε, δ and all parameters.\n"
            "- **Private**: every value of every row. Columns that are not in the schema are never read.\n"
            "- **Protected**: what an algorithm releases; its cost is in the ledger.\n"
            "- **Uses real data**: errors and real values on these pages. They are for exploring. Do not publish them."
        )

if not stakeholder():
    box = st.expander("Look at the rows", icon=":material/visibility:", key="records-open", on_change="rerun")
    with box:
        if box.open:
            session().look(current)
            heading("First rows", Tag.PEEK)
            st.dataframe(pd.DataFrame(current.frame.head(50)), hide_index=True)
            if current.domain is not None:
                heading("Missing and out of range", Tag.PEEK)
                policies(current)

with st.container(horizontal=True):
    no = current.domain is None
    st.page_link("pages/explore.py", label="**Explore it**", icon=":material/query_stats:", disabled=no)
    st.button("Forget my table", icon=":material/delete:", on_click=forget, disabled=not table().uploaded)
st.caption(WHERE if current.large is None else WHERE_IN_PARTS)
