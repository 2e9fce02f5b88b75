"""Explore: choose questions, algorithm and budget, see what privacy costs on this table."""

import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.errors import InputError
from dpcore.params import build
from dpcore.privacy.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.run import compare
from dpcore.workloads import Marginals
from pages._ui import controls, results, runs
from pages._ui.frame import frame
from pages._ui.table_editor import choose_table
from pages._ui.text import clean, plain
from pages._ui.watch import watch

COMFORTABLE_CELLS = 100_000  # of the columns chosen at first

frame("Explore", "What does privacy cost on this table? Choose questions, an algorithm and ε; the charts follow.")
table = choose_table()
if table.domain is None:
    st.info("Fill in the schema above, then the charts appear here.", icon=":material/arrow_upward:")
    st.stop()

questions, method, budget_place = st.columns(3)
with questions:
    names, few = list(table.domain.names), list(table.domain.leading(COMFORTABLE_CELLS))
    columns = st.multiselect("Columns", names, few, format_func=clean, key=f"columns-{table.version}")
    most = min(3, len(columns))
    ways = st.segmented_control(
        "Questions: every combination of", range(1, most + 1), default=min(2, most) or None, required=True,
        format_func=lambda w: f"{w} column{'s' * (w > 1)}", key=f"ways-{most}",
    )  # fmt: skip
with method:
    name = st.selectbox("Algorithm", list(ALGORITHMS), format_func=lambda n: ALGORITHMS[n].about.title, key="algorithm")
    st.caption(ALGORITHMS[name].about.summary)
with budget_place:
    epsilon = controls.epsilon_slider()
with st.expander("More: δ, parameters, seed, repeats", icon=":material/tune:"):
    left, middle, right = st.columns(3)
    with left:
        delta = controls.delta_slider()
    seed = middle.number_input(
        "Seed", 0, 2**31 - 1, 0, key="seed", help="Exploring is reproducible: same seed, same run."
    )
    repeats = right.number_input("Repeats", 1, 20, 1, key="repeats", help="Runs with seeds seed, seed + 1, …")
    settings = controls.settings(name, ALGORITHMS[name])
    again = st.button("Run again", icon=":material/replay:")

try:
    if not columns:
        raise InputError("choose at least one column")
    domain = table.domain.project(columns)
    problem = QueryRelease(Marginals.all(domain, ways), table.rows(domain.names).n)
    budget = Budget(epsilon, delta)
    job = runs.job_for(
        table, build(ALGORITHMS[name], settings), problem, budget, tuple(range(seed, seed + repeats)), again
    )
except InputError as error:
    st.error(plain(error, 400))
    st.stop()
for caution in budget.cautions(problem.n):
    st.warning(plain(caution, 300))

watch(job)
if job.state == "failed":
    st.error(plain(job.error, 400))
if job.state == "cancelled":
    st.warning("Cancelled: what is shown below is as far as it got. Press “Run again” under More for a full run.")
if job.results:
    result = job.results[0]
    real = compare(result.release, table.rows(domain.names), problem.workload)
    results.verdict(job, real)
    results.convergence(job)
    results.queries(real)
    results.marginals(table, result, domain)
    results.chosen(job)
