"""Explore: choose questions, algorithm and budget, see what privacy costs on this table."""

import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.errors import InputError
from dpcore.evaluation.run import compare
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag
from pages._ui.explore import comparison, keep, outcome, run
from pages._ui.shell import controls, lessons, questions, results
from pages._ui.shell.frame import tag, unfinished, whose
from pages._ui.shell.state import table as current_table
from pages._ui.shell.text import plain

table = current_table()
lesson = lessons.lesson()
revealed = lessons.predict(lesson) if lesson else True
whose(table)
if unfinished(table, "the charts appear here"):
    st.stop()

try:
    with st.container(border=True, key="settings"):
        left, middle, right = st.columns(3)
        with left:
            workload, texts = questions.choose(table)
        with middle:
            name = controls.algorithm()
        with right:
            epsilon = controls.epsilon_slider()
            st.page_link("pages/guarantee.py", label="What does this ε mean?", icon=":material/verified_user:")
        problem = QueryRelease(workload, table.rows(workload.domain.names).n, table.unit.most_rows)
        with st.expander("More: δ, parameters, seed, repeats", icon=":material/tune:"):
            delta, seeds = controls.more()
            budget = Budget(epsilon, delta)
            settings = controls.settings(name, problem, budget)
            again = st.button("Run again", icon=":material/replay:")
        tag(Tag.TYPED)
    algorithm = build(ALGORITHMS[name], settings)
    started = run.start(table, algorithm, problem, texts, budget, seeds, again=again)
except InputError as error:
    st.error(plain(error, 400))
    st.stop()
for caution in budget.cautions(problem.n):
    st.warning(plain(caution, 300))
if not revealed:
    st.caption("Make your prediction above; the charts appear with the reveal.")
    st.stop()

job = run.follow(started)
if job.results:
    result, rows = job.results[0], table.rows(workload.domain.names)
    pinned, curve = keep.pinned(table) or (None, None)
    outcome.verdict(job, compare(result.release, rows, workload), table.unit.words)
    questions.ask(table, job)
    outcome.convergence(job, curve)
    comparison.queries(compare(result.release, rows, workload))
    comparison.groups(table, result, workload.domain)
    comparison.marginals(table, result, workload.domain, pinned)
    results.accounts(job)
    keep.pin(table, job, results.curves(job.results))
    keep.downloads(table, job, texts)
