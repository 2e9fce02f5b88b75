"""Compare: the privacy–accuracy frontier on this table, what each choice costs, and where the error comes from."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.tags import Tag
from pages._ui.compare import ask, causes, measures, others, purposes, report, summary, sweeps
from pages._ui.compare import overview as compare
from pages._ui.jobs import counting
from pages._ui.jobs.job import watch
from pages._ui.shell.frame import heading, tried, unfinished
from pages._ui.shell.state import stakeholder
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain
from pages._ui.shell.words import meaning

TABS = ("Ranking", "Where from", "Conclusions", "Purposes", "Other tools", "Report")
PRESSED = "compare-pressed"  # kept until it is served: the run that hears a press may end early for a newer one


def press() -> None:
    """Note that a person wants the comparison to run."""
    st.session_state[PRESSED] = True


table, sweep = current_table(), sweeps.current()
tried(table)
if unfinished(table, "compare here") or not counting.ready(table):
    st.stop()

try:
    with st.sidebar:
        texts, workload, start = compare.settings(table, sweep)
    if not counting.have(table, workload):
        st.stop()
    ask.front_door(table, st.session_state["delta"], st.session_state["compared"])
    with st.container(horizontal=True, vertical_alignment="center"):
        words = meaning("frontier", "workload", "sampling floor", "point")
        heading("What does each algorithm cost?", Tag.PEEK, words)
        words = "Runs that are there already are kept. Add an algorithm, an ε or repeats, and only those run."
        st.button(
            "Run the comparison", type="primary", icon=":material/play_arrow:", key="compare-run", on_click=press,
            help=words,
        )  # fmt: skip
    if st.session_state.pop(PRESSED, False):
        start()
except InputError as error:
    st.error(plain(error, 400))
    st.stop()

watch(sweep, "sweep")
if not sweep.shown or sweep.problem is None:
    if sweep.ended:
        planned = (len(st.session_state[key]) for key in ("compared", "epsilons"))
        st.info("Nothing has run yet. Chosen: {} algorithms at {} budgets.".format(*planned))
    st.stop()
if stakeholder():
    st.stop()
if sweep.stale(table):
    st.warning("These points are of another table or schema. Run the comparison to renew them.")
look = st.sidebar.expander("The chart", icon=":material/monitoring:")
with look:
    measure = measures.choose(sweep)
chart = st.container(key="chart")
ranking, where, concluded, purposed, others_tab, meeting = st.tabs(
    TABS, key="details", on_change="rerun", bind="query-params"
)
with others_tab:
    other = others.bring(table, sweep)
with chart:
    chosen = compare.panel(sweep, measure, other, look)
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
