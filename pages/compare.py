"""Compare: the privacy–accuracy frontier on this table, what each choice costs, and where the error comes from."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.tags import Tag
from pages._ui.compare import ask, causes, measures, others, purposes, report, summary, sweeps
from pages._ui.compare import overview as compare
from pages._ui.jobs import counting
from pages._ui.jobs.job import watch
from pages._ui.shell.frame import heading, tried, unfinished
from pages._ui.shell.state import give, stakeholder
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain
from pages._ui.shell.words import meaning

TABS = ("Ranking", "Where from", "Conclusions", "Purposes", "Other tools", "Report")
PRESSED = "compare-pressed"  # kept until it is served: the run that hears a press may end early for a newer one


table, sweep = current_table(), sweeps.current()
tried(table)
if unfinished(table, "compare here") or not counting.ready(table):
    st.stop()

try:
    with st.sidebar:
        texts, workload, start = compare.settings(table, sweep)
    if not counting.have(table, workload):
        st.stop()
    wish = ask.front_door(table, st.session_state["delta"], st.session_state["compared"])
    with st.container(horizontal=True, vertical_alignment="center"):
        heading("What does each algorithm cost?", Tag.PEEK, meaning("frontier", "workload", "sampling floor", "point"))
        st.button(
            "Run the comparison", type="primary", icon=":material/play_arrow:", key="compare-run", on_click=give,
            args=(PRESSED, True),
        )  # fmt: skip
    if st.session_state.pop(PRESSED, False):
        start()
except InputError as error:
    st.error(plain(error, 400))
    st.stop()

watch(sweep, "sweep")
if not sweep.shown:
    if sweep.ended:
        st.info("Nothing has run yet. Run the comparison to see what each algorithm costs.")
    st.stop()
if stakeholder():
    st.stop()
if sweep.stale(table):
    st.warning("These points are of another table or schema. Run the comparison to renew them.")
look = st.sidebar.expander("For experts", icon=":material/monitoring:")
with look:
    measure = measures.choose(sweep)
chart = st.container(key="chart")
ranking, where, concluded, purposed, others_tab, meeting = st.tabs(
    TABS, key="details", on_change="rerun", bind="query-params"
)
with others_tab:
    other = others.bring(table, sweep)
with chart:
    chosen = compare.panel(sweep, measure, other, look, wish)
    if chosen is not None:
        compare.dot(table, sweep, chosen)
with ranking:
    if ranking.open:
        compare.regrets(sweep, measure)
with where:
    if where.open:
        summary.worst(sweep, chosen)
        causes.taken_apart(table, sweep, chosen)
with concluded:
    if concluded.open:
        causes.conclusions(sweep)
with purposed:
    if purposed.open:
        purposes.served(sweep)
with meeting:
    if meeting.open:
        report.download(table, sweep, texts)
