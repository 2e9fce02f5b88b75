"""Draw the Learning page's third part: a classifier or a regression by every method, over ε and repeats."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget, Column, RiskMinimisation, Rows
from dpcore.evaluation.output_laws import best_without_privacy, split
from dpcore.evaluation.sweeps.sweep import SweepPoint
from dpcore.problems.parse_tasks import task_text

from ..charts import learning_charts
from ..components import heading, panel, parameter_widgets, peek
from ..jobs import watch
from ..session import Table, clean, distinct, plain, session, shared
from .learning_runs import LearningRun, LearningRuns
from .quantile import METHODS, cautions, excess_by_epsilon, made, planned

FILE = Path(__file__).parents[3] / "assets" / "learning.json"  # made by `python -m tests.make_assets`
LOSSES = {"logistic": "a chance (logistic)", "hinge": "yes or no (hinge)", "absolute": "a number (median)",
          "huber": "a number (mean-like, Huber)", "quantile": "a number that 90% stay below"}  # fmt: skip
RADII = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
HELD_OUT = 0.25
ON_LINES = ("exponential", "rank_exponential")  # methods for one number
FIRST = [title for title, (name, own) in METHODS.items() if name not in ON_LINES and "calibration" not in own]


def targets(table: Table, loss: str) -> list[Column]:
    """Return the columns that a loss can have as its target."""
    needs_binary = loss in ("logistic", "hinge")
    columns = (c for c in table.domain.columns if c.missing != "category")  # type: ignore[union-attr]
    return [c for c in columns if (c.size == 2 if needs_binary else not c.values)]


def pairs(table: Table) -> list[tuple[str, str]]:
    """Return every loss with every target that it can have."""
    return [(loss, column.name) for loss in LOSSES for column in targets(table, loss)]


def predicted(possible: list[tuple[str, str]], where: str) -> tuple[str, str]:
    """Ask for one of the `possible` pairs of a loss and its target."""
    losses = list(dict(possible))
    loss = st.selectbox("What to predict", losses, format_func=LOSSES.__getitem__, key=f"{where}loss", **shared())
    names = [name for kind, name in possible if kind == loss]
    last = len(names) - 1
    return loss, st.selectbox(
        "Column to predict", names, last, format_func=distinct(names).get, key=f"{where}target-{loss}", **shared()
    )


def parted(problem: RiskMinimisation, rows: Rows) -> tuple[RiskMinimisation, Rows, Rows]:
    """Return the problem on the rows that methods learn from, these rows, and those that test them."""
    training_rows, held_out = split(rows, HELD_OUT, 0)
    return replace(problem, n=training_rows.n), training_rows, held_out


def opening(table: Table, text: str, radius: Any) -> list[LearningRun]:
    """Return the runs made beforehand for what the page opens with on its sample; none for anything else."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    task = [table.name, table.schema, table.unit.most_rows, text, radius]
    if table.uploaded or table.unit.person is not None or task != stored["asked"]:
        return []
    return [LearningRun(SweepPoint.from_json(point), np.array(x)) for point, x in stored["runs"]]


@peek
def whole(table: Table, left: Any, right: Any, experts: Any) -> None:
    """Draw the error that privacy adds, then what the methods are worth on new people and how their weights spread."""
    options = pairs(table)
    if not options:
        left.info("This table has neither a column of two values nor one of numbers to learn.")
        return
    with right:
        loss, target = predicted(options, "")
        others = [name for name in table.domain.names if name != target]  # type: ignore[union-attr]
        feature_names = st.multiselect(
            "From these columns", others, others[:4], format_func=distinct(others).get, key=f"features-{target}",
            **shared(),
        )  # fmt: skip
    with left:
        heading(f"How well do other columns predict {plain(target)}?")
        budget = parameter_widgets.budget(experts)
    help_text = "How large weights may be: public, chosen by you. Auto: 10 for a classifier, else from public bounds."
    radius = experts.select_slider(
        "R, radius of the region", [parameter_widgets.AUTO, *RADII], parameter_widgets.AUTO,
            parameter_widgets.number, key="radius", help=help_text,
        bind="query-params",
    )  # fmt: skip
    methods = experts.multiselect("Methods", list(METHODS), FIRST, key="learners", bind="query-params")
    seeds = experts.number_input("Repeats", 1, 20, 3, key="table-seeds", bind="query-params")
    if not feature_names:
        left.info("Choose at least one column to predict from.")
        return
    text = task_text(loss, target, level=0.9 if loss == "quantile" else None, features=tuple(feature_names))
    problem, training_rows, held_out = parted(
        *made(table, text, None if radius == parameter_widgets.AUTO else float(radius))
    )
    runs, task = session().own("classifier", LearningRuns), (table.version, text, radius, budget.delta)
    cases, stored_runs = planned(methods, budget, int(seeds)), opening(table, text, radius)
    pressed = right.button("Learn", type="primary", icon=":material/play_arrow:", key="run-table")
    with left:
        cautions(budget, table)
        if pressed or (runs.asked is None and {case.key for case in cases} <= {run.point.key for run in stored_runs}):
            runs.start(task, (problem, training_rows, held_out), cases, stored_runs)
        watch(runs, "table")
        if runs.asked is not None and runs.asked != task:
            st.warning("What is drawn belongs to other settings. Press “Learn” to renew it.")
        excess_by_epsilon(runs, "excess")
        st.caption(f"Methods learn from {training_rows.n:,} rows; {held_out.n:,} rows test them.")
    experts.caption(f"{problem.d} weights (d), R = {problem.R:g}, G = {problem.G:.4g}.")
    if len(runs.table()):
        accuracy_tab, coefficient_tab = st.tabs(("People it has not seen", "How far its weights spread"))
        with accuracy_tab:
            _population(runs)
        with coefficient_tab:
            _coefficients(runs, budget)


def _population(runs: LearningRuns) -> None:
    """Draw what a method is worth on people it has not seen: its error and its right answers."""
    frame = runs.table()
    measure_labels = {"population_accuracy": "right answers on new people", "population_risk": "error on new people",
             "accuracy": "right answers on the rows it saw"}  # fmt: skip
    available_measures = [name for name in measure_labels if name in frame and frame[name].notna().any()]
    measure = st.segmented_control(
        "Measure",
        available_measures,
        default=available_measures[0],
        required=True,
        format_func=measure_labels.__getitem__,
        key="measure-learn",
    )
    max_epsilon = frame["epsilon"].max()
    medians = frame[frame["epsilon"] == max_epsilon].groupby("algorithm").median(numeric_only=True)
    gap, method_medians = (medians["population_risk"] - medians["risk"]).abs().max(), medians[measure]
    best = method_medians.idxmax() if "accuracy" in measure else method_medians.idxmin()
    best_text = f"{method_medians[best]:.1%}" if "accuracy" in measure else f"{method_medians[best]:.3g}"
    summary = (
        f"At ε = {max_epsilon:g} {best} is best. Its {measure_labels[measure]}: {best_text}. Errors on new people "
        "and on "
        f"the rows it saw differ by {gap:.2g} at most. That is luck of the sample, not privacy."
    )
    figure = learning_charts.by_epsilon(frame, measure, measure_labels[measure], list(METHODS), log=False)
    panel(figure, summary, frame, "held-out")


def _coefficients(runs: LearningRuns, spend: Budget) -> None:
    """Draw every run's coefficients at one ε beside those found without privacy."""
    frame = runs.parameters(spend.epsilon)
    if not len(frame) or runs.problem is None or runs.rows is None:
        st.caption(f"Nothing was learned at ε = {spend.epsilon:g} yet. Press “Learn”.")
        return
    best = best_without_privacy(runs.problem, runs.rows)
    grouped = frame.groupby(["algorithm", "coefficient"])["value"]
    spread = (grouped.max() - grouped.min()).groupby("algorithm").median()
    summary = (
        f"At ε = {spend.epsilon:g} the weights of {spread.idxmin()} differ least between repeats: by "
        f"{spread.min():.3g}. Weights may differ while predictions hardly do."
    )
    coefficient_table = pd.concat([
        frame, pd.DataFrame({"algorithm": "without privacy", "coefficient": runs.problem.names, "value": best})
    ])  # fmt: skip
    figure = learning_charts.coefficients(frame, best, runs.problem.names, list(METHODS))
    panel(
        figure,
        summary,
        coefficient_table.assign(coefficient=coefficient_table["coefficient"].map(clean)),
        "coefficients",
    )
