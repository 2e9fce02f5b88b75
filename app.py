"""Start: what this is, and the way in."""

import streamlit as st

from pages._ui.frame import frame

frame("Privacy–Utility Explorer", "**What does privacy cost on my table?** See it before you decide.")
st.markdown(
    "Bring a table or take a sample, say which questions matter, and move ε: you see how far differentially private "
    "answers are from the real ones, for every question, before anything is released."
)
st.page_link("pages/explore.py", label="Explore a sample, or your table", icon=":material/arrow_forward:")
