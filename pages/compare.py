"""Compare: the privacy–accuracy frontier on this table, what each choice costs, and where the error comes from."""

import streamlit as st

from pages._ui.compare import ask, causes, measures, others, purposes, report, summary, sweeps
from pages._ui.compare import overview as compare
from pages._ui.jobs import counting, watch
from pages._ui.shell import give, is_withheld, refusals, row, say_left_out, stakeholder, tried, unfinished
from pages._ui.shell import table as current_table
from pages._ui.shell.wall import LIMITED

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

table, sweep = current_table(), sweeps.current()
tried(table)
if unfinished(table, "compare here") or not counting.ready(table):
    st.stop()

if sweep.asked is not None and sweep.asked[:2] != (table, table.version):
    sweep.close()  # of another table or schema
with refusals():
    with st.sidebar:
        workload, plan = compare.settings(table, sweep)
    if not counting.have(table, workload):
        st.stop()
    st.html(ORDER)
    front = st.container(key="front")
    with front.container(key="asked"):
        asked = ask.front_door(table, workload, st.session_state["questions"], st.session_state["delta"])
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
    measure = measures.choose(sweep)

ranking, where, concluded, purposed, others_tab, meeting = st.tabs(
    TABS, key="details", on_change="rerun", bind="query-params"
)
with others_tab:
    other = others.bring(table, sweep)
with chart:
    chosen = compare.panel(sweep, measure, other, look, asked)
    if chosen is not None:
        compare.dot(chosen)
with ranking:
    if ranking.open:
        compare.regrets(sweep, measure)
        if asked is not None:
            ask.by_runs(table, sweep, asked, st.session_state["compared"])
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
        report.download(table, sweep)
