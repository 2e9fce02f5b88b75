"""Start: one small real table, released at every ε, one slider that moves through them, and three ways in."""

import streamlit as st

from pages._ui.shell import controls
from pages._ui.start import admissions as start

# A card is one door: all of it is the link.
STYLE = """<style>
[class*="st-key-door-"], .st-key-next-door {position: relative; transition: border-color 0.2s;}
[class*="st-key-door-"]:hover, .st-key-next-door:hover {border-color: var(--st-primary-color, #0072B2);}
[class*="st-key-door-"] a::after, .st-key-next-door a::after {content: ""; position: absolute; inset: 0;}
[class*="st-key-door-"] a {padding-left: 0;} [class*="st-key-door-"] a:hover {background: none;}
[class*="st-key-door-"] [data-testid="stPageLink"], .st-key-next-door [data-testid="stPageLink"] {position: static;}
@media (max-height: 760px) {.st-key-hint [data-testid="stCaptionContainer"] {display: none;}}
</style>"""
epsilon = start.chosen()
left, right = st.columns([3, 2], gap="large")
with left:
    start.draw(epsilon)
with right:
    at = {"or-epsilon": controls.number(epsilon)}  # where the address names none
    doors = (
        ("next-door", "pages/data.py", "Use my table", ":material/upload:", "Bring a CSV, Excel or Parquet file.", {}),
        ("door-sample", "pages/explore.py", "Take a sample", ":material/query_stats:", "See what privacy costs.",
         {"sample": start.SAMPLE, **at}),
        ("door-class", "pages/lessons.py", "Teach a class", ":material/school:", "Six short questions.", {}),
    )  # fmt: skip
    st.html(STYLE)
    for key, page, label, icon, words, query in doors:
        with st.container(border=True, key=key, gap="xxsmall"):
            st.page_link(page, label=f"**{label}**", icon=icon, query_params=query)
            st.caption(words)
    st.page_link("pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:", query_params=at)
    st.caption("This table is public. With private data, every release uses up budget.")
