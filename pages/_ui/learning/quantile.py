"""The Learning page's first part: one column's quantile, the exact law of its private answer, and its rivals."""

from typing import Any

import pandas as pd
import streamlit as st

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.data.domain import Rows
from dpcore.evaluation.output_laws import line_law, risk_by_mu
from dpcore.params import build
from dpcore.parsing.tasks import read_task, task_text
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import RiskMinimisation
from dpcore.tags import Tag

from ..charts import learning as learning_charts
from ..jobs.job import watch
from ..shell import controls
from ..shell.frame import heading, peek, public
from ..shell.results import panel
from ..shell.session import session
from ..shell.state import shared
from ..shell.table import Table
from ..shell.text import clean, plain
from .runs import LearningRuns

PARTS = ("One column", "Two coefficients", "The whole table", "The guarantee")
QUESTIONS = {
    PARTS[0]: "What is the {median} of {column}, told so that nobody in the table is given away? {share:.0%} of the "
    "records lie below it; the private answer is drawn at random, likelier the nearer it is.",
    PARTS[1]: "Which straight line tells one column from another, without giving anybody away? Two numbers say where "
    "it lies; see how far privacy may push them.",
    PARTS[2]: "How well can a column be predicted from all others, without giving anybody in the table away?",
    PARTS[3]: "Is the private median as private as it says? On two invented tables that can be computed exactly.",
}
EPSILONS = (0.1, 0.3, 1.0, 3.0)
FACTORS = [0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0]
CALIBRATIONS = {"erm": "these records", "sco": "their population"}
STAGES = {1: "1", 2: "2", 3: "3", 0: "by rule"}
SETTINGS: tuple[tuple[str, str, dict[str, str]], ...] = (  # registry name, what is special in words, and as settings
    ("regularized_exponential", "", {}),
    ("regularized_exponential", "for the population", {"calibration": "sco"}),
    ("regularized_exponential", "stages by rule", {"stages": "0"}),
    ("exponential", "", {}),
    ("rank_exponential", "", {}),
    ("noisy_gd", "", {}),
    ("noisy_gd", "step 4", {"step": "4"}),
    ("objective_perturbation", "", {}),
    ("output_perturbation", "", {}),
)
METHODS = {  # by title
    ", ".join(filter(None, (ALGORITHMS[name].about.title, words))): (name, settings)
    for name, words, settings in SETTINGS
}


def question(part: str, table: Table) -> str:
    """What this part asks, in words."""
    chosen = st.session_state.get("learn-column")
    names = numeric(table)
    column = chosen if chosen in names else names[0] if names else "a column"
    level = float(st.session_state.get("level", 0.5))
    median = "median" if level == 0.5 else f"{level:g}-quantile"
    return QUESTIONS[part].format(column=plain(column), median=median, share=level)


def budget() -> Budget:
    """ε and δ, as sliders."""
    left, right = st.columns(2)
    with left:
        epsilon = controls.epsilon_slider()
    delta = right.select_slider(
        "δ, failure probability", controls.DELTAS[1:], 1e-6, controls.number, key="learn-delta", bind="query-params"
    )
    return Budget(epsilon, delta)


def calibration(where: str) -> str:
    """For which risk theory chooses μ: "erm" or "sco"."""
    words = (
        "These records: the smallest bound on the risk on the table itself (empirical risk, ERM). Their population: "
        "also for how far records are from the people behind them (SCO); a larger μ, seldom better even there."
    )
    return st.segmented_control(
        "μ is chosen for", list(CALIBRATIONS), default="erm", required=True, format_func=CALIBRATIONS.__getitem__,
        key=f"{where}-calibration", help=words, bind="query-params",
    )  # fmt: skip


def numeric(table: Table) -> list[str]:
    """The columns of numbers with public bounds."""
    columns = () if table.domain is None else table.domain.columns
    return [c.name for c in columns if not c.values and c.missing != "category"]


def made(table: Table, text: str, radius: float | None = None) -> tuple[RiskMinimisation, Rows]:
    """A task on the table, made once for every table, schema and text."""
    return session().memo(
        "learned", (table.version, text, radius),
        lambda: read_task(text, table.domain, table.kept, radius=radius, group=table.unit.most_rows),  # type: ignore
    )  # fmt: skip


@peek
def line(table: Table, spend: Budget) -> None:
    """The law of one column's private quantile, its risk against μ, and its rivals."""
    names = numeric(table)
    if not names:
        st.info("This table has no column of numbers with public bounds. Choose another table or schema on Data.")
        return
    left, middle, right = st.columns(3)
    column = left.selectbox("Column", names, format_func=clean, key="learn-column", **shared())
    words = "0.5 is the median: half of the records lie below."
    level = middle.slider("Quantile", 0.01, 0.99, 0.5, 0.01, key="level", help=words, bind="query-params")
    words = "A small μ lets the answer roam, a large one pulls it to the middle of the public range. 1: as theory says."
    factor = right.select_slider(
        "μ, as a multiple of theory's", FACTORS, 1.0, controls.number, key="factor", help=words, bind="query-params"
    )
    with st.container(horizontal=True):
        aim = calibration("line")
        words = "Draws that share the budget, each centred at the one before and held tighter by four times the μ."
        stages = st.segmented_control(
            "Stages", list(STAGES), default=1, required=True, format_func=STAGES.__getitem__, key="line-stages",
            help=words, bind="query-params",
        )  # fmt: skip
    problem, rows = made(table, task_text("quantile", column, level=level))
    public(f"the column's bounds, n = {problem.n:,}, G = {problem.G:g}, R = {problem.R:g}, and the settings.")
    law = line_law(problem, rows, spend, calibration=aim, factor=factor, stages=stages)
    mus, excess, star = risk_by_mu(problem, rows, spend, calibration=aim)
    heading("Where will the private answer fall?", Tag.PEEK)
    how = "exactly" if law.stages == 1 else f"after {law.stages} stages, by quadrature over the draw before"
    summary = (
        f"True value {law.truth:.5g}; nine of ten private answers lie in {law.low:.5g} to {law.high:.5g} ({how}). "
        f"Mean excess risk {law.excess:.3g}; μ = {law.mu:.3g}, k = {law.k:.4g} in the first stage, n = {problem.n:,}."
    )
    frame = pd.DataFrame({clean(column): law.x, "density": law.density})
    panel(learning_charts.density(law, column), summary, frame, "density")
    heading("Is theory's μ the right one?", Tag.PEEK)
    frame = pd.DataFrame({"mu": mus, "excess_risk": excess})
    best = frame.loc[frame["excess_risk"].idxmin()]
    summary = (
        f"Theory's μ = {star:.3g} has {excess[len(excess) // 2]:.3g}; the smallest is {best['excess_risk']:.3g}, at "
        f"μ = {best['mu']:.3g}. To choose it by this curve would look at the "
        "records, which no budget covers; theory's μ needs public numbers only. One stage; columns of many values are "
        "grouped into 300 for this curve."
    )
    panel(learning_charts.curve(frame, star, law.mu, " (units of the column)"), summary, frame, "risk-by-mu")
    _rivals(table, problem, rows, spend, (column, level))


@peek
def _rivals(table: Table, problem: RiskMinimisation, rows: Rows, spend: Budget, of: Any) -> None:
    heading("Which method comes nearest?", Tag.PEEK)
    runs = session().own("line", LearningRuns)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seeds = st.number_input("Seeds", 1, 20, 5, key="line-seeds", bind="query-params", width=120)
        if st.button("Run the rivals", type="primary", icon=":material/play_arrow:", key="run-line"):
            begin(runs, (table.version, of, spend.delta), (problem, rows, None), list(METHODS), spend, int(seeds))
    watch(runs, "line")
    if runs.asked is not None and runs.asked != (table.version, of, spend.delta):
        st.warning("These runs are of another column, quantile or δ. Run the rivals again to renew them.")
    excess_by_epsilon(runs, "line-rivals")


def begin(
    runs: LearningRuns, of: Any, problem: tuple[RiskMinimisation, Rows, Rows | None], names: list[str], spend: Budget,
    seeds: int,
) -> None:  # fmt: skip
    """Start every method at EPSILONS and at the slider's ε."""
    known = solving(RiskMinimisation)
    algorithms = {name: build(known[METHODS[name][0]], METHODS[name][1]) for name in names}
    budgets = [Budget(e, spend.delta) for e in sorted({*EPSILONS, spend.epsilon})]
    runs.start(of, problem, algorithms, budgets, range(seeds))


def excess_by_epsilon(runs: LearningRuns, key: str) -> None:
    """Excess risk against ε with bands over seeds; who has no dot, and why."""
    frame = runs.table()
    if not len(frame):
        if runs.ended:
            st.info("Nothing has run yet: every method at four budgets takes some seconds.")
        return
    last = frame[frame["epsilon"] == frame["epsilon"].max()].groupby("algorithm")["excess_risk"].median()
    summary = (
        f"At ε = {frame['epsilon'].max():g} the smallest median excess risk is {last.min():.3g}, by {last.idxmin()}."
    )
    shown = frame.assign(excess_risk=frame["excess_risk"].clip(lower=1e-12))
    figure = learning_charts.by_epsilon(shown, "excess_risk", "excess empirical risk", list(METHODS), log=True)
    panel(figure, summary + " Lines: medians over seeds; bands: their range.", frame, key)
    refused = {run.point.algorithm: run.point.message for run in runs.shown if run.point.state != "done"}
    for name, why in refused.items():
        st.caption(plain(f"{name} has no dot: {why}", 400))
