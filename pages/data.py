"""Data: bring a table, say what is public about it and whom to protect, see what it will cost before anything runs."""

import pandas as pd
import streamlit as st

from dpcore.data.privacy_unit import COUNTED, PrivacyUnit
from dpcore.tags import Tag
from pages._ui.data.readiness import policies, readiness
from pages._ui.data.table_editor import WHERE, choose_table, hidden, whom
from pages._ui.shell.frame import heading
from pages._ui.shell.session import forget, session
from pages._ui.shell.state import stakeholder, table
from pages._ui.shell.text import plain

current = choose_table()

if current.domain is not None:
    left, right = st.columns(2)
    with left:
        heading("What is public, what is private", Tag.PUBLIC)
        st.markdown(
            "- **Public**: the schema above, the number of records, questions, algorithm, ε, δ and all parameters.\n"
            "- **Private**: every cell of every record. Columns that are not in the schema are never read.\n"
            "- **Paid for**: what an algorithm releases; its cost is in the ledger.\n"
            "- **Private peek**: errors and real values on these pages. They are for exploring, never for publishing."
        )
    with right:
        heading("How many rows can one person have?", Tag.TYPED)
        columns = [None, *map(str, current.frame.columns)]
        person = st.selectbox(
            "Column that names the person", columns, columns.index(current.unit.person), key=f"person-{id(current)}",
            format_func=whom,
        )  # fmt: skip
        most = st.number_input("Rows of one person, at most", 1, 1000, current.unit.most_rows, disabled=person is None)
        current.protect(PrivacyUnit(person, most) if person is not None else PrivacyUnit())
        st.caption(plain(f"Protected: {current.unit.words}.", 200))
        if person is not None:
            st.caption(
                "Which rows are left out depends on what that person's rows say, by a hash; rows without a person are "
                f"one person's. All noise is scaled to this many rows. {COUNTED}"
            )

if current.domain is not None and not hidden(current):
    heading("What it will cost, before anything runs", Tag.PUBLIC)
    readiness(current)

if not stakeholder():
    box = st.expander("Look at the records", icon=":material/visibility:", key="records-open", on_change="rerun")
    with box:
        if box.open:
            session().look(current)
            heading("First rows", Tag.PEEK)
            st.dataframe(pd.DataFrame(current.frame.head(50)), hide_index=True)
            if current.domain is not None:
                heading("Missing and out of range", Tag.PEEK)
                policies(current)

with st.container(horizontal=True):
    ready = current.domain is not None
    st.page_link("pages/explore.py", label="**Explore it**", icon=":material/query_stats:", disabled=not ready)
    st.button("Forget my table", icon=":material/delete:", on_click=forget, disabled=not table().uploaded)
st.caption(WHERE)
