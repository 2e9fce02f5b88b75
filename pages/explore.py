"""Explore: choose questions, algorithm and budget, see what privacy costs on this table, all on one screen."""

import time
from functools import partial

import streamlit as st

from dpcore.evaluation.run import compare
from dpcore.privacy.accounting import cautions
from pages._ui.explore import ask as asking
from pages._ui.explore import comparison, foretold, keep, outcome, run, screen, setup, ties
from pages._ui.jobs import counting
from pages._ui.jobs.job import PATIENCE
from pages._ui.lessons import lesson as lessons
from pages._ui.shell import is_withheld, parts, plain, refusals, results, stakeholder, tile_text, unfinished
from pages._ui.shell import table as current_table

table = current_table()
lesson = lessons.lesson()
revealed = lessons.predict(lesson) if lesson else True
screen.head(table)
if unfinished(table, "the charts appear here") or not counting.ready(table):
    st.stop()

with refusals():
    chosen = setup.choose(table)
    if not counting.have(table, chosen.problem.workload):
        st.stop()
    if is_withheld(table):
        foretold.draw(table, chosen)
        st.stop()
    started = run.start(table, chosen)
for caution in cautions(chosen.budget, chosen.problem.n):
    st.warning(plain(caution, 300))
if table.trial is not None and (other := table.trial.elsewhere(chosen.budget)):
    st.caption(other)
if not revealed:
    st.caption("Make your prediction above; the charts appear with the reveal.")
    st.stop()

until = time.monotonic() + PATIENCE
job = run.follow(started)
if job.results:
    result = job.results[0]
    if stakeholder():  # everything else compares with the records
        results.accounts(job)
        asking.ask(table, chosen, [result])
        ties.linked(result, chosen)
        st.stop()
    both = compare(result.release, table.rows(chosen.problem.domain.names), chosen.problem.workload)
    seen = partial(outcome.Shown, table=table, chosen=chosen, result=result, both=both, pinned=keep.pinned(table))
    with st.container(key="verdict"):
        beside, worst = outcome.verdict(seen(replays=started.replays))
    run.wait_for_replays(started, until)
    shown = seen(replays=started.replays)
    worst.markdown(tile_text(*outcome.largest(shown)))
    with beside:
        outcome.spread(shown)
        with st.container(width="content"):  # of its own, so that what runs there is seen until the charts are anew
            run.watch_replays(started, len(shown.replays))
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
                "Linked columns": lambda: ties.linked(result, chosen),
                "Budget used": lambda: results.accounts(job),
                "Two settings": lambda: keep.pin(table, job, chosen, shown.curve),
                "Download": lambda: keep.downloads(table, job, chosen),
            },
        )
