"""Lessons: six links for a classroom, each predict → reveal → explain."""

import streamlit as st

from pages._ui.lessons.lesson import LESSONS

for number, (key, lesson) in enumerate(LESSONS.items(), 1):
    with st.container(border=True):
        st.subheader(f"{number}. {lesson.title}", anchor=False)
        st.markdown(lesson.question)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.link_button("Open", lesson.link(key), icon=":material/school:")
            st.link_button("Present", lesson.link(key) + "&present=true", icon=":material/slideshow:")
