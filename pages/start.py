"""Start: one small real table, released at every ε, one slider that moves through them, and three ways in."""

import streamlit as st

from pages._ui.shell import controls
from pages._ui.start import admissions as start

epsilon = start.chosen()
left, right = st.columns([3, 2], gap="large")
with left:
    start.draw(epsilon)
with right:
    at = {"or-epsilon": controls.number(epsilon)}  # where the address names none
    doors = (
        ("pages/data.py", "**Use my table**", ":material/upload:", "Bring a CSV, Excel or Parquet file.", {}),
        ("pages/explore.py", "Take a sample", ":material/query_stats:", "See what privacy costs.",
         {"sample": start.SAMPLE, **at}),
        ("pages/lessons.py", "Teach a class", ":material/school:", "Guess, move, answer.", {}),
    )  # fmt: skip
    for page, label, icon, words, query in doors:
        with st.container(border=True, key=f"door-{page}"):
            st.page_link(page, label=label, icon=icon, query_params=query)
            st.caption(words)
    st.page_link("pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:", query_params=at)
    st.markdown("**Drag ε.** Small ε: a strong promise, wrong bars. Large ε: a weak promise, right bars.")
    st.caption("This table is public. With private data, every release uses up budget.")
