"""Lessons: what a published count may tell about one patient, then six cards that ask."""

import streamlit as st

from pages._ui.lessons import patient_counts
from pages._ui.lessons.lesson import LESSONS

patient_counts.problem()
places = [*st.columns(3), *st.columns(3)]
for number, (place, lesson) in enumerate(zip(places, LESSONS.values(), strict=True), 1):
    with place.container(border=True, height="stretch"):
        st.markdown(f"**{number}. {lesson.title}**")
        lesson.card()
        if lesson.revealed:
            st.markdown(f"Remember: {lesson.remember}")
        st.link_button(
            "See it again" if lesson.revealed else lesson.task, lesson.link(large=st.session_state["present"]),
            width="stretch", type="secondary" if number > 1 else "primary",
        )  # fmt: skip
