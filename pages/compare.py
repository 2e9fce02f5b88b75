"""Compare: the privacy–accuracy frontier on this table, what each choice costs, and where the error comes from."""

import streamlit as st

from pages._ui.compare import (
    epsilon_search,
    error_measures,
    error_sources,
    meeting_report,
    other_tools,
    purpose_scores,
    sweep_jobs,
    worst_errors,
)
from pages._ui.compare import overview as compare
from pages._ui.components import refusals, row, tried, unfinished
from pages._ui.jobs import counting_job, watch
from pages._ui.session import give, is_withheld, say_left_out, stakeholder
from pages._ui.session import table as current_table
from pages._ui.session.stakeholder_wall import LIMITED

TABS = ("Ranking", "Where from", "Conclusions", "Purposes", "Other tools", "Report")
AT_ONCE = 60.0  # seconds of runs on a public sample that begin without a press
# On a small screen both sliders are beside each other, and the picture comes before the words.
ORDER = """<style>.st-key-lead {display: none;}
.st-key-asked-what [data-testid="stHorizontalBlock"] {flex-wrap: nowrap;}
.st-key-asked-what [data-testid="stColumn"] {min-width: 0;}
@media (max-width: 640px) {.st-key-found > :first-child {flex-basis: 100%;}}
@media (max-width: 640px), (max-height: 760px) {
:has(> :is(.st-key-asked, .st-key-chart)), .st-key-asked, .st-key-chart {display: contents !important;}
:has(> .st-key-asked-words) {order: 1;}}</style>"""
PRESSED = "compare-pressed"  # kept until it is served: the run that hears a press may end early for a newer one

table, sweep = current_table(), sweep_jobs.current()
tried(table)
if unfinished(table, "compare here") or not counting_job.ready(table):
    st.stop()

if sweep.asked is not None and sweep.asked[:2] != (table, table.version):
    sweep.close()  # of another table or schema
with refusals():
    with st.sidebar:
        workload, plan = compare.settings(table, sweep)
    if not counting_job.have(table, workload):
        st.stop()
    st.html(ORDER)
    front = st.container(key="front")
    with front.container(key="asked"):
        asked = epsilon_search.front_door(table, workload, st.session_state["questions"], st.session_state["delta"])
    if is_withheld(table):
        if table.unit.person is not None:
            st.caption(LIMITED.format(size=table.n))
        say_left_out()
        st.stop()
    chart = front.container(key="chart")
    advised = None if asked is None else asked.enough
    with st.sidebar:
        found = sweep.news
        seconds, start = plan(advised)
    new, sweep.advised = sweep.asked is None or sweep.advised != advised, advised
    by_itself = new and seconds < AT_ONCE and not (table.uploaded or stakeholder())
    if st.session_state.pop(PRESSED, False) or by_itself or (sweep.shown and not seconds):
        start()
        if seconds and sweep.ended:  # all was there: nothing is forecast any more
            st.rerun()

with chart, row(key="all-asked"):
    if watch(sweep, "sweep") and (seconds or not sweep.shown):
        if sweep.news > found:  # since the plan
            st.rerun()
        words = "Runs that are there already are kept. Add an algorithm, an ε or repeats, and only those run."
        st.button(
            "Run the comparison", icon=":material/play_arrow:", key="compare-run", help=words,
            on_click=give, args=(PRESSED, True),  # no function of the page, which would keep its table
            type="secondary" if asked and asked.enough else "primary",
        )  # fmt: skip
if not sweep.shown or sweep.problem is None:
    if sweep.ended:
        st.info("Nothing has run yet.")
    st.stop()
if stakeholder():
    st.stop()
look = st.sidebar.expander("For experts", icon=":material/monitoring:")
with look:
    measure = error_measures.choose(sweep)

ranking, where, concluded, purposed, others_tab, meeting = st.tabs(
    TABS, key="details", on_change="rerun", bind="query-params"
)
with others_tab:
    other = other_tools.bring(table, sweep)
with chart:
    chosen = compare.panel(sweep, measure, other, look, asked)
    if chosen is not None:
        compare.dot(chosen)
with ranking:
    if ranking.open:
        compare.regrets(sweep, measure)
        if asked is not None:
            epsilon_search.by_runs(table, sweep, asked, st.session_state["compared"])
with where:
    if where.open:
        worst_errors.worst(sweep, chosen)
        error_sources.taken_apart(table, sweep, chosen)
with concluded:
    if concluded.open:
        error_sources.conclusions(sweep)
with purposed:
    if purposed.open:
        purpose_scores.served(sweep)
with meeting:
    if meeting.open:
        meeting_report.download(table, sweep)
