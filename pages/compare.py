"""Compare page: the privacy–accuracy frontier on this table, regrets and sources of error.

It shows what each choice costs, and where the error comes from.
"""

import streamlit as st

from dpcore import QueryRelease
from pages._ui.compare import (
    accuracy_goal,
    detail_tabs,
    duration_forecast,
    error_measures,
    other_tools,
    promised_epsilon,
    sweep_jobs,
    verdict,
)
from pages._ui.compare import overview as compare
from pages._ui.components import (
    draw_trial_note,
    inline_container,
    show_refusals,
    warn_if_schema_incomplete,
)
from pages._ui.jobs import counting_job, wait_or_draw_progress
from pages._ui.session import (
    is_public_table,
    is_stakeholder_view,
    show_left_out_notice,
    visible_table,
)
from pages._ui.session.render_turns import redraw_page
from pages._ui.session.stakeholder_wall import predicted_size_note

MAX_UNPROMPTED_SECONDS = 60.0  # seconds of runs on a public sample that begin without a press
# On a small screen both sliders are beside each other, and the picture comes before the words.
ORDER_STYLE = """<style>.st-key-lead {display: none;}
.st-key-asked-what [data-testid="stHorizontalBlock"] {flex-wrap: nowrap;}
.st-key-asked-what [data-testid="stColumn"] {min-width: 0;}
@media (max-width: 640px) {.st-key-found > :first-child {flex-basis: 100%;}}
@media (max-width: 640px), (max-height: 760px) {
:has(> :is(.st-key-asked, .st-key-chart)), .st-key-asked,
  .st-key-chart, :has(> .st-key-verdict), .st-key-verdict {display: contents !important;}
:has(> .st-key-asked-words) {order: 1;}}</style>"""

table = visible_table()
sweep = sweep_jobs.current_sweep()
draw_trial_note(table)
if warn_if_schema_incomplete(table, "compare here") or not counting_job.ensure_rows_counted(table):
    st.stop()

if sweep.requested is not None and not sweep.requested.is_about(table):
    sweep.close()  # of another table or schema
with show_refusals():
    with st.sidebar:
        workload, plan_runs = compare.draw_settings(table, sweep)
    if not counting_job.ensure_workload_counted(table, workload):
        st.stop()
    st.html(ORDER_STYLE)
    front_container = st.container(key="front")
    delta = st.session_state["delta"]
    with front_container.container(key="asked"):
        if is_stakeholder_view() and table.schema_uses_real_data:
            show_left_out_notice()
            st.stop()
        goal = accuracy_goal.choose_goal(workload)
        verdict_container = st.container(key="verdict")
    problem = QueryRelease(workload, table.n, table.unit.group)
    promise = promised_epsilon.promised_epsilon(problem, goal, delta)
    if is_public_table(table):
        with verdict_container:
            verdict.draw_verdict(table, problem, delta, goal, promise, None, None)
        if predicted_size_note(table):
            st.caption(predicted_size_note(table))
        show_left_out_notice()
        st.stop()
    chart_container = front_container.container(key="chart")
    promised = None if promise is None else promise.epsilon
    planned_result_count = len(sweep.outcomes)
    planned = plan_runs(promised)
    seconds = planned.forecast.seconds
    is_new_promise = sweep.requested is None or sweep.promised_epsilon != promised
    sweep.promised_epsilon = promised
    starts_unprompted = (
        is_new_promise
        and seconds < MAX_UNPROMPTED_SECONDS
        and not (table.uploaded or is_stakeholder_view())
    )
    if (
        st.session_state.pop(detail_tabs.PRESSED_KEY, False)
        or starts_unprompted
        or (sweep.planned_outcomes and not seconds)
    ):
        planned.start()
        if seconds and sweep.ended:  # all was there: nothing is forecast any more
            redraw_page()
        planned = plan_runs(promised)

with chart_container, inline_container(key="all-asked"):
    all_ended = wait_or_draw_progress(sweep.group, "sweep", wait_first=False)
    if all_ended and (seconds or not sweep.planned_outcomes):
        if len(sweep.outcomes) > planned_result_count:  # since the plan
            redraw_page()
        detail_tabs.draw_run_button(is_primary=not promised)
        duration_forecast.draw_forecast(planned.forecast)
with verdict_container:
    advice = verdict.draw_verdict(
        table,
        problem,
        delta,
        goal,
        promise,
        sweep if planned.is_begun and not is_stakeholder_view() else None,
        planned.forecast,
    )
if not sweep.planned_outcomes or sweep.problem is None:
    if sweep.ended:
        st.info("Nothing has run yet.")
    st.stop()
if is_stakeholder_view():
    st.stop()
with st.sidebar:
    measure_container = st.container()
    experts_expander = st.expander("For experts", icon=":material/monitoring:")
with measure_container:
    measure = error_measures.choose_measure(sweep, goal, experts_expander)

tabs = detail_tabs.make_tabs()
with tabs["Other tools"]:
    other_tool = other_tools.load_other_table(table, sweep)
with chart_container:
    selected_run = compare.draw_frontier(sweep, measure, other_tool, experts_expander, advice)
    if selected_run is not None:
        compare.draw_dot(sweep, selected_run)
detail_tabs.draw_details(tabs, table, sweep, measure, selected_run, advice)
