"""Evolution: Private Evolution step by step, the paper's figures live, and when to use something else."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.tags import Tag
from pages._ui.evolution import choice as evolution_choice
from pages._ui.evolution import figures as evolution_figures
from pages._ui.evolution import lessons as evolution_lessons
from pages._ui.evolution import on_table as evolution_table
from pages._ui.evolution import player as evolution
from pages._ui.shell import link
from pages._ui.shell.frame import shows
from pages._ui.shell.text import plain

PARTS = {
    "Watch it evolve": evolution.watch_it,
    "Which should I use?": evolution_choice.choose,
    "On a table": evolution_table.on_a_table,
    "Research figures": evolution_figures.figures,
    "Two lessons": evolution_lessons.lessons,
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
