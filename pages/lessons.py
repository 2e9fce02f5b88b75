"""Lessons: a count may give away a patient, six cards that ask, a seventh lesson by hand."""

import streamlit as st

from pages._ui.lessons import hidden_company, patient_counts
from pages._ui.lessons.lesson import LESSONS

patient_counts.draw_problem()
card_slots = [*st.columns(3), *st.columns(3)]
for number, (card_slot, lesson) in enumerate(zip(card_slots, LESSONS.values(), strict=True), 1):
    with card_slot.container(border=True, height="stretch"):
        st.markdown(f"**{number}. {lesson.title}**")
        lesson.draw_card()
        if lesson.is_revealed:
            st.markdown(f"Remember: {lesson.remember}")
        st.link_button(
            "See it again" if lesson.is_revealed else lesson.task,
            lesson.link(large=st.session_state["present"]),
            width="stretch",
            type="secondary" if number > 1 else "primary",
        )
hidden_company.draw_lesson()
