"""Explore: choose questions, algorithm and budget, see what privacy costs on this table, all on one screen."""

import time
from functools import partial

import streamlit as st

from dpcore.evaluation.run import compare
from dpcore.privacy.accounting import cautions
from pages._ui.components import parts, refusals, result_panels, tile_text, unfinished
from pages._ui.explore import ask_question as asking
from pages._ui.explore import (
    comparison,
    explore_run,
    keep_run,
    layout,
    linked_columns,
    outcome,
    predicted_panel,
    run_settings,
)
from pages._ui.jobs import counting_job
from pages._ui.jobs.job import PATIENCE
from pages._ui.lessons import lesson as lessons
from pages._ui.session import is_withheld, plain, stakeholder
from pages._ui.session import table as current_table

table = current_table()
lesson = lessons.lesson()
revealed = lessons.predict(lesson) if lesson else True
layout.head(table)
if unfinished(table, "the charts appear here") or not counting_job.ready(table):
    st.stop()

with refusals():
    chosen = run_settings.choose(table)
    if not counting_job.have(table, chosen.problem.workload):
        st.stop()
    if is_withheld(table):
        predicted_panel.draw(table, chosen)
        st.stop()
    started = explore_run.start(table, chosen)
for caution in cautions(chosen.budget, chosen.problem.n):
    st.warning(plain(caution, 300))
if table.trial is not None and (other := table.trial.elsewhere(chosen.budget)):
    st.caption(other)
if not revealed:
    st.caption("Make your prediction above; the charts appear with the reveal.")
    st.stop()

until = time.monotonic() + PATIENCE
job = explore_run.follow(started)
if job.results:
    result = job.results[0]
    if stakeholder():  # everything else compares with the records
        result_panels.accounts(job)
        asking.ask(table, chosen, [result])
        linked_columns.linked(result, chosen)
        st.stop()
    both = compare(result.release, table.rows(chosen.problem.domain.names), chosen.problem.workload)
    seen = partial(outcome.Shown, table=table, chosen=chosen, result=result, both=both, pinned=keep_run.pinned(table))
    with st.container(key="verdict"):
        beside, worst = outcome.verdict(seen(replays=started.replays))
    explore_run.wait_for_replays(started, until)
    shown = seen(replays=started.replays)
    worst.markdown(tile_text(*outcome.largest(shown)))
    with beside:
        outcome.spread(shown)
        with st.container(width="content"):  # of its own, so that what runs there is seen until the charts are anew
            explore_run.watch_replays(started, len(shown.replays))
        with st.container(key="next", width="content"):
            st.page_link("pages/release.py", label="**To publish, make a release**", icon=":material/publish:")
    with st.container(key="screen"):
        left, right = st.columns(2)
        with left:
            comparison.marginals(shown)
            comparison.queries(shown)
        with right:
            comparison.pair(shown)
            outcome.convergence(shown)
    with st.container(key="sections"):
        parts(
            "below",
            {
                "Groups": lambda: comparison.groups(shown),
                "Ask a question": lambda: asking.ask(table, chosen, shown.runs),
                "Linked columns": lambda: linked_columns.linked(result, chosen),
                "Budget used": lambda: result_panels.accounts(job),
                "Two settings": lambda: keep_run.pin(table, job, chosen, shown.curve),
                "Download": lambda: keep_run.downloads(table, job, chosen),
            },
        )
