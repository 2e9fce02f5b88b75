"""Third part of the Learning page: a classifier or a regression by every method.

It runs over ε and repeats.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget, Column, RiskMinimisation, Rows
from dpcore.evaluation.experiment import ExperimentGrid, LearningTask
from dpcore.evaluation.output_laws import nonprivate_minimiser, split_rows
from dpcore.evaluation.programs.learning_program import methods_program
from dpcore.evaluation.sweeps.sweep import SweepPoint
from dpcore.problems.parse_tasks import task_text

from ..charts import learning_charts
from ..components import (
    draw_chart_panel,
    draw_heading,
    draw_program,
    hide_in_stakeholder_view,
    parameter_widgets,
)
from ..components.program_panel import table_file_name
from ..jobs import wait_or_draw_progress
from ..session import (
    Table,
    distinct_labels,
    escape_markdown,
    persistent_widget_args,
    printable_text,
    session,
)
from .learning_release import LearnedTask, draw_prediction_release
from .learning_runs import LearningRun, LearningRuns
from .quantile import METHODS, draw_cautions, draw_excess_by_epsilon, load_task, plan_cases

# made by `python -m tests.make_assets`
OPENING_RUNS_FILE = Path(__file__).parents[3] / "assets" / "learning.json"
LOSS_LABELS = {
    "logistic": "a chance (logistic)",
    "hinge": "yes or no (hinge)",
    "absolute": "a number (median)",
    "huber": "a number (mean-like, Huber)",
    "quantile": "a number that 90% stay below",
}
RADIUS_OPTIONS = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
HELD_OUT_SHARE = 0.25
ONE_NUMBER_METHODS = ("exponential", "rank_exponential")  # methods for one number
DEFAULT_METHODS = [
    title
    for title, (name, settings) in METHODS.items()
    if name not in ONE_NUMBER_METHODS and "calibration" not in settings
]


def target_columns(table: Table, loss: str) -> list[Column]:
    """Return the columns that a loss can have as its target."""
    needs_binary = loss in ("logistic", "hinge")
    domain_columns = table.domain.columns  # type: ignore[union-attr]
    columns = (c for c in domain_columns if c.missing != "category")
    return [c for c in columns if (c.size == 2 if needs_binary else not c.values)]


def loss_target_pairs(table: Table) -> list[tuple[str, str]]:
    """Return every loss with every target that it can have."""
    return [(loss, column.name) for loss in LOSS_LABELS for column in target_columns(table, loss)]


def choose_loss_and_target(options: list[tuple[str, str]], key_prefix: str) -> tuple[str, str]:
    """Ask for one of the `possible` pairs of a loss and its target."""
    losses = list(dict(options))
    loss = st.selectbox(
        "What to predict",
        losses,
        format_func=LOSS_LABELS.__getitem__,
        key=f"{key_prefix}loss",
        **persistent_widget_args(),
    )
    names = [name for kind, name in options if kind == loss]
    last = len(names) - 1
    return loss, st.selectbox(
        "Column to predict",
        names,
        last,
        format_func=distinct_labels(names).get,
        key=f"{key_prefix}target-{loss}",
        **persistent_widget_args(),
    )


def train_test_split(problem: RiskMinimisation, rows: Rows) -> tuple[RiskMinimisation, Rows, Rows]:
    """Return the problem on the training rows, the training rows, and the test rows."""
    training_rows, held_out = split_rows(rows, HELD_OUT_SHARE, 0)
    return replace(problem, n=training_rows.n), training_rows, held_out


def opening_runs(table: Table, text: str, radius: Any) -> list[LearningRun]:
    """Return the precomputed runs of the page's opening settings; none for anything else.

    They were made beforehand for what the page opens with on its sample.
    """
    stored = json.loads(OPENING_RUNS_FILE.read_text(encoding="utf-8"))
    task = [table.name, table.schema, table.unit.most_rows, text, radius]
    if table.uploaded or table.unit.person is not None or task != stored["asked"]:
        return []
    return [LearningRun(SweepPoint.from_json(point), np.array(x)) for point, x in stored["runs"]]


@hide_in_stakeholder_view
def draw_table_learning(
    table: Table, left_container: Any, right_container: Any, expert_container: Any
) -> None:
    """Draw the excess error, the methods' accuracy on new people, and their weights' spread.

    The excess error is what privacy adds.
    """
    options = loss_target_pairs(table)
    if not options:
        left_container.info(
            "This table has neither a column of two values nor one of numbers to learn."
        )
        return
    with right_container:
        loss, target = choose_loss_and_target(options, "")
        feature_names = _choose_features(table, target)
    with left_container:
        draw_heading(f"How well do other columns predict {escape_markdown(target)}?")
        budget = parameter_widgets.budget_sliders(expert_container)
    with expert_container:
        radius, methods, seeds = _choose_expert_settings()
    if not feature_names:
        left_container.info("Choose at least one column to predict from.")
        return
    quantile_level = 0.9 if loss == "quantile" else None
    features = tuple(feature_names)
    text = task_text(loss, target, quantile_level=quantile_level, features=features)
    radius_value = None if radius == parameter_widgets.AUTO else float(radius)
    whole_problem, rows = load_task(table, text, radius_value)
    problem, training_rows, held_out = train_test_split(whole_problem, rows)
    runs = session().get_or_create("classifier", LearningRuns)
    task = (table.version, text, radius, budget.delta)
    cases = plan_cases(methods, budget, seeds)
    stored_runs = opening_runs(table, text, radius)
    is_all_stored = {case.key for case in cases} <= {run.point.key for run in stored_runs}
    pressed = right_container.button(
        "Learn", type="primary", icon=":material/play_arrow:", key="run-table"
    )
    with left_container:
        draw_cautions(budget, table)
        if pressed or (runs.requested is None and is_all_stored):
            runs.start(task, (problem, training_rows, held_out), cases, stored_runs)
        _draw_learning_runs(runs, task)
        st.caption(f"Methods learn from {training_rows.n:,} rows; {held_out.n:,} rows test them.")
    expert_container.caption(f"{problem.d} weights (d), R = {problem.R:g}, G = {problem.G:.4g}.")
    _draw_result_tabs(runs, budget)
    if table.trial is None:
        learned_task = LearnedTask(
            table=table, text=text, problem=whole_problem, budget=budget, radius=radius_value
        )
        with right_container:
            draw_prediction_release(learned_task)
        task = LearningTask(
            table=table_file_name(table),
            schema=table.schema,
            text=text,
            unit=table.unit.row_unit,
            radius=radius_value,
            held_out=HELD_OUT_SHARE,
        )
        draw_program(methods_program(_grid_of_methods(task, methods, budget, seeds)), table)


def _grid_of_methods(
    task: LearningTask, methods: list[str], budget: Budget, seeds: int
) -> ExperimentGrid[LearningTask]:
    """Return the experiments of the page: each method at each ε with each repeat."""
    cases = plan_cases(methods, budget, seeds)
    budgets = dict.fromkeys(case.budget for case in cases)
    algorithms = {case.name: case.algorithm for case in cases}
    return ExperimentGrid(task=task, algorithms=algorithms, budgets=tuple(budgets), repeat=seeds)


def _choose_features(table: Table, target: str) -> list[str]:
    """Draw the list of the columns to predict from: all but the target."""
    names = [name for name in table.domain.names if name != target]  # type: ignore[union-attr]
    return st.multiselect(
        "From these columns",
        names,
        names[:4],
        format_func=distinct_labels(names).get,
        key=f"features-{target}",
        **persistent_widget_args(),
    )


def _choose_expert_settings() -> tuple[Any, list[str], int]:
    """Draw the widgets for experts; return the radius, the methods, and the repeats of each."""
    radius = st.select_slider(
        "R, radius of the region",
        [parameter_widgets.AUTO, *RADIUS_OPTIONS],
        parameter_widgets.AUTO,
        parameter_widgets.format_setting,
        key="radius",
        help="How large weights may be: public, chosen by you. Auto: 10 for a classifier, "
        "else from public bounds.",
        bind="query-params",
    )
    methods = st.multiselect(
        "Methods", list(METHODS), DEFAULT_METHODS, key="learners", bind="query-params"
    )
    seeds = st.number_input("Repeats", 1, 20, 3, key="table-seeds", bind="query-params")
    return radius, methods, int(seeds)


def _draw_learning_runs(runs: LearningRuns, task: tuple[Any, ...]) -> None:
    """Draw the progress of the runs, and the error that privacy adds in those that ended."""
    wait_or_draw_progress(runs.group, "table", wait_first=False)
    if runs.requested is not None and runs.requested != task:
        st.warning("What is drawn belongs to other settings. Press “Learn” to renew it.")
    draw_excess_by_epsilon(runs, "excess")


def _draw_result_tabs(runs: LearningRuns, budget: Budget) -> None:
    """Draw what the methods are worth on new people, and how their weights spread."""
    if not len(runs.error_table()):
        return
    accuracy_tab, coefficient_tab = st.tabs(
        ("People it has not seen", "How far its weights spread")
    )
    with accuracy_tab:
        _draw_population_scores(runs)
    with coefficient_tab:
        _draw_coefficients(runs, budget)


def _draw_population_scores(runs: LearningRuns) -> None:
    """Draw what a method is worth on people it has not seen: its error and its right answers."""
    frame = runs.error_table()
    measure_labels = {
        "population_accuracy": "right answers on new people",
        "population_risk": "error on new people",
        "accuracy": "right answers on the rows it saw",
    }
    available_measures = [
        name for name in measure_labels if name in frame and frame[name].notna().any()
    ]
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
    gap = (medians["population_risk"] - medians["risk"]).abs().max()
    method_medians = medians[measure]
    best = method_medians.idxmax() if "accuracy" in measure else method_medians.idxmin()
    best_text = (
        f"{method_medians[best]:.1%}" if "accuracy" in measure else f"{method_medians[best]:.3g}"
    )
    summary = (
        f"At ε = {max_epsilon:g} {best} is best. Its {measure_labels[measure]}: {best_text}. "
        "Errors on new people "
        "and on "
        f"the rows it saw differ by {gap:.2g} at most. That is luck of the sample, not privacy."
    )
    figure = learning_charts.metric_by_epsilon_chart(
        frame, measure, measure_labels[measure], list(METHODS), log=False
    )
    draw_chart_panel(figure, summary, frame, "held-out")


def _draw_coefficients(runs: LearningRuns, budget: Budget) -> None:
    """Draw every run's coefficients at one ε beside those found without privacy."""
    frame = runs.coefficient_table(budget.epsilon)
    if not len(frame) or runs.problem is None or runs.rows is None:
        st.caption(f"Nothing was learned at ε = {budget.epsilon:g} yet. Press “Learn”.")
        return
    best = nonprivate_minimiser(runs.problem, runs.rows)
    grouped = frame.groupby(["algorithm", "coefficient"])["value"]
    spread = (grouped.max() - grouped.min()).groupby("algorithm").median()
    summary = (
        f"At ε = {budget.epsilon:g} the weights of {spread.idxmin()} differ least between "
        "repeats: by "
        f"{spread.min():.3g}. Weights may differ while predictions hardly do."
    )
    coefficient_table = pd.concat(
        [
            frame,
            pd.DataFrame(
                {"algorithm": "without privacy", "coefficient": runs.problem.names, "value": best}
            ),
        ]
    )
    figure = learning_charts.coefficient_chart(frame, best, runs.problem.names, list(METHODS))
    draw_chart_panel(
        figure,
        summary,
        coefficient_table.assign(coefficient=coefficient_table["coefficient"].map(printable_text)),
        "coefficients",
    )
