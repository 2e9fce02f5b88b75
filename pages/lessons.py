"""Lessons: what a published count may tell about one patient, then six links: each predict → reveal → explain."""

import streamlit as st

from pages._ui.lessons import patient
from pages._ui.lessons.lesson import LESSONS

patient.problem()
query = "&present=true" * st.toggle("Large type, for a projector", st.session_state["present"], key="large")
places = [*st.columns(3), *st.columns(3)]
for number, (place, (key, lesson)) in enumerate(zip(places, LESSONS.items(), strict=True), 1):
    with place:
        st.link_button(
            f"{number}. {lesson.title}", lesson.link(key) + query, width="stretch",
            type="secondary" if number > 1 else "primary",
        )  # fmt: skip
