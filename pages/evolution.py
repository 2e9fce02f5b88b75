"""Evolution: Private Evolution step by step, the paper's figures live, and when to use something else."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.tags import Tag
from pages._ui.evolution import choice, figures, lessons, on_table, player
from pages._ui.shell import link
from pages._ui.shell.frame import shows
from pages._ui.shell.text import plain

PARTS = {
    "Watch it evolve": player.watch_it,
    "Which should I use?": choice.choose,
    "On a table": on_table.on_a_table,
    "For experts: research": figures.figures,
    "For experts: two lessons": lessons.lessons,
}
FIRST = next(iter(PARTS))
ABOUT_TABLE = ("Which should I use?", "On a table")  # these draw the head's line and badge themselves

link.check(link.one_of("part", PARTS))
part = st.segmented_control(
    "Part", list(PARTS), default=FIRST, required=True, key="part", bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
if part not in ABOUT_TABLE:
    shows(Tag.PUBLIC)
try:
    PARTS[part or FIRST]()  # an empty address asks for nothing, though it is required
except InputError as error:
    st.error(plain(error, 400))
