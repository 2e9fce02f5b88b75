"""What every page begins with: title, menu, tags and the house style."""

import streamlit as st

from dpcore.tags import Tag

from .runs import pool

MENU = {"app.py": ("Start", ":material/home:"), "pages/explore.py": ("Explore", ":material/query_stats:")}
ICONS = {
    Tag.PUBLIC: (":material/public:", "blue"),
    Tag.TYPED: (":material/edit:", "gray"),
    Tag.PAID: (":material/verified_user:", "green"),
    Tag.PEEK: (":material/visibility:", "orange"),
}
STYLE = """<style>
.block-container {padding-top: 4rem; padding-bottom: 3rem; max-width: 84rem;}
@media (max-width: 640px) {.block-container {padding-left: 0.8rem; padding-right: 0.8rem;}}
@media (prefers-reduced-motion: reduce) {* {animation: none !important; transition: none !important;}}
</style>"""


def frame(title: str, lead: str) -> None:
    """Draw the head of a page: call it first."""
    st.set_page_config(page_title=f"{title} · Privacy–Utility Explorer", page_icon="🔐", layout="wide")
    st.html(STYLE)
    pool()  # so that workers are warm by the time a person has chosen something
    with st.container(horizontal=True, gap="small", key="menu"):
        for page, (label, icon) in MENU.items():
            st.page_link(page, label=label, icon=icon)
    st.title(title)
    st.markdown(lead)


def tag(kind: Tag) -> None:
    """Say where the thing beside it comes from."""
    icon, colour = ICONS[kind]
    st.badge(kind.value, icon=icon, color=colour, help=kind.meaning)


def heading(text: str, kind: Tag) -> None:
    """A section's question with its tag."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(text, width="content", anchor=False)
        tag(kind)
