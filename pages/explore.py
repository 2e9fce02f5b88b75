"""Explore page: choose queries, algorithm and budget, and see what privacy costs.

All is on one screen, on this table.
"""

import time

import streamlit as st

from dpcore.privacy.accounting import budget_warnings
from pages._ui.components import (
    draw_tabs,
    result_panels,
    show_refusals,
    tile_text,
    warn_if_schema_incomplete,
)
from pages._ui.explore import ask_question as asking
from pages._ui.explore import (
    comparison,
    explore_run,
    keep_run,
    layout,
    linked_columns,
    outcome,
    overview_panels,
    predicted_panel,
    run_settings,
)
from pages._ui.jobs import counting_job
from pages._ui.jobs.job_watcher import PATIENCE_SECONDS
from pages._ui.lessons import lesson as lessons
from pages._ui.session import escape_markdown, is_public_table, is_stakeholder_view, visible_table


def draw_association_tab(results: outcome.RunResults) -> None:
    """Draw the links of all pairs, then which of them the release models, and a test of one."""
    overview_panels.draw_real_associations(results)
    linked_columns.draw_linked_columns(results.result, results.settings)


table = visible_table()
lesson = lessons.lesson_in_address()
revealed = lessons.draw_prediction(lesson) if lesson else True
layout.draw_style(table)
if warn_if_schema_incomplete(
    table, "the charts appear here"
) or not counting_job.ensure_rows_counted(table):
    st.stop()

with show_refusals():
    run_request = run_settings.choose_run_settings(table)
    if not counting_job.ensure_workload_counted(table, run_request.problem.workload):
        st.stop()
    if is_public_table(table):
        predicted_panel.draw_predicted_panel(table, run_request)
        st.stop()
    if is_stakeholder_view() and revealed:
        predicted_panel.draw_predicted_verdict(table, run_request)
    started_run = explore_run.start_runs(table, run_request)
budget = run_request.experiment.budget
for caution in budget_warnings(budget, run_request.problem.n):
    st.warning(escape_markdown(caution, 300))
if table.trial is not None and table.trial.other_budget_note(budget):
    st.caption(table.trial.other_budget_note(budget))
if not revealed:
    st.caption("Make your prediction above; the charts appear with the reveal.")
    st.stop()

deadline = time.monotonic() + PATIENCE_SECONDS
job = explore_run.watch_first_run(started_run)
if job.results:
    result = job.results[0]
    if is_stakeholder_view():  # everything else compares with the rows
        result_panels.draw_run_plan(job)
        overview_panels.draw_released_only(table, result, run_request)
        asking.draw_questions(table, run_request, [result])
        overview_panels.draw_released_associations(table, result, run_request)
        linked_columns.draw_linked_columns(result, run_request)
        st.stop()
    view_of = outcome.view_of_runs(table, run_request, started_run, result)
    with st.container(key="verdict"):
        verdict_container, worst_tile = outcome.draw_verdict(view_of(started_run.replays))
    explore_run.wait_for_replays(started_run, deadline)
    run_view = view_of(started_run.replays)
    worst_tile.markdown(tile_text(*outcome.largest_error_tile(run_view)))
    with verdict_container:
        outcome.draw_noise_spread(run_view)
        # of its own, so that what runs there is seen until the charts are anew
        with st.container(width="content"):
            explore_run.watch_replays(started_run, len(run_view.replays))
        shows_all_columns = overview_panels.draw_switch()
        with st.container(key="next", width="content"):
            st.page_link(
                "pages/release.py",
                label="**To publish, make a release**",
                icon=":material/publish:",
            )
    with st.container(key="screen"):
        if shows_all_columns:
            overview_panels.draw_real_beside_synthetic(run_view)
        left_column, right_column = st.columns(2)
        with left_column:
            if not shows_all_columns:
                comparison.draw_marginal(run_view)
            comparison.draw_queries(run_view)
        with right_column:
            comparison.draw_pair(run_view)
            outcome.draw_convergence(run_view)
    with st.container(key="sections"):
        draw_tabs(
            "below",
            {
                "Groups": lambda: comparison.draw_groups(run_view),
                "Ask a question": lambda: asking.draw_questions(table, run_request, run_view.runs),
                "Associations": lambda: draw_association_tab(run_view),
                "Budget used": lambda: result_panels.draw_run_plan(job),
                "Two settings": lambda: keep_run.draw_pin(table, job, run_request, run_view.curve),
                "Download": lambda: keep_run.draw_downloads(table, job, run_request),
            },
        )
