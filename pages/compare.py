"""Compare: the privacy–accuracy frontier on this table, what each choice costs, and where the error comes from."""

import streamlit as st

from dpcore.errors import InputError
from dpcore.tags import Tag
from pages._ui.compare import ask, causes, measures, others, report, solve, summary, sweeps
from pages._ui.compare import overview as compare
from pages._ui.jobs import counting
from pages._ui.jobs.job import watch
from pages._ui.shell.frame import heading, tried, unfinished
from pages._ui.shell.state import stakeholder
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain
from pages._ui.shell.words import meaning

PRESSED = "compare-pressed"  # kept until it is served: the run that hears a press may end early for a newer one


def press() -> None:
    """Note that a person wants the comparison to run."""
    st.session_state[PRESSED] = True


table, sweep = current_table(), sweeps.current()
tried(table)
if unfinished(table, "compare here") or not counting.ready(table):
    st.stop()

door = st.container(border=True, key="ask")
try:
    with st.container(border=True, key="settings"):
        texts, workload, start = compare.settings(table, sweep)
        if not counting.have(table, workload):
            st.stop()
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Run the comparison", type="primary", icon=":material/play_arrow:", key="compare-run", on_click=press
            )
            if st.session_state.pop(PRESSED, False):
                start()
            st.caption("Runs that are there already are kept: add an algorithm, an ε or seeds, and only those run.")
except InputError as error:
    st.error(plain(error, 400))
    st.stop()

with door:
    ask.front_door(table, st.session_state["delta"], st.session_state["compared"])
watch(sweep, "sweep")
if not sweep.shown or sweep.problem is None:
    if sweep.ended:
        planned = (len(st.session_state[key]) for key in ("compared", "epsilons"))
        st.info("Nothing has run yet. Chosen: {} algorithms at {} budgets; dots appear as they come.".format(*planned))
    st.stop()
if stakeholder():
    st.stop()
heading(
    "What does privacy cost, by algorithm?",
    Tag.PEEK,
    meaning("frontier", "workload", "sampling floor", "point", "seed"),
)
if sweep.stale(table):
    st.warning("These dots are of another table or schema. Run the comparison to renew them.")
measure = measures.choose(sweep)
other = others.bring(table, sweep)
chosen = compare.panel(sweep, measure, other)
summary.worst(sweep, chosen)
if chosen is not None:
    compare.dot(table, sweep, chosen)
compare.regrets(sweep, measure)
solve.solve(table, sweep)
causes.taken_apart(table, sweep, chosen)
causes.conclusions(sweep)
report.download(table, sweep, texts)
