"""First part of the Learning page: one column's quantile and its private answer.

Other methods are for experts.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, RiskMinimisation, Rows
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.core.parameters import build_from_texts
from dpcore.evaluation.experiment import ExperimentGrid, LearningTask
from dpcore.evaluation.output_laws import LineLaw, line_law, mean_excess_risk_by_mu
from dpcore.evaluation.programs.learning_program import LawSettings, quantile_program
from dpcore.evaluation.programs.program import Program
from dpcore.evaluation.sweeps.sweep import Case
from dpcore.privacy.accounting import guarantee
from dpcore.problems.parse_tasks import read_task, task_text

from ..charts import learning_charts
from ..charts.figure_frame import SYNTHETIC, epsilon_line_chart
from ..components import (
    draw_chart_panel,
    draw_heading,
    draw_program,
    draw_tabs,
    explain_missing_runs,
    hide_in_stakeholder_view,
    inline_container,
    parameter_widgets,
    show_tiles,
)
from ..components.program_panel import table_file_name
from ..jobs import wait_or_draw_progress
from ..session import (
    Table,
    distinct_labels,
    escape_figure_text,
    escape_markdown,
    persistent_widget_args,
    printable_text,
    session,
)
from .learning_release import LearnedTask, draw_value_release
from .learning_runs import LearningRuns

PARTS = ("Median", "Line", "Prediction", "For experts")  # whole in one row of a phone
EPSILONS = (0.1, 0.3, 1.0, 3.0)
MU_FACTORS = [0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0]
CALIBRATION_LABELS = {"erm": "these rows", "sco": "their population"}
UNITS = {"age": "years", "hours": "hours"}  # of the sample
STAGE_LABELS = {1: "1", 2: "2", 3: "3", 0: "by rule"}
METHOD_SETTINGS = (  # registry name, what is special in words, and as settings
    ("regularized_exponential", "", {}),
    ("regularized_exponential", ", for the population", {"calibration": "sco"}),
    ("regularized_exponential", ", steps by rule", {"stages": "0"}),
    ("exponential", "", {}),
    ("rank_exponential", "", {}),
    ("noisy_gd", "", {}),
    ("noisy_gd", ", step 4", {"step": "4"}),
    ("objective_perturbation", "", {}),
    ("output_perturbation", "", {}),
)
# by title
METHODS = {
    ALGORITHMS[name].about.title + suffix: (name, settings)
    for name, suffix, settings in METHOD_SETTINGS
}


def choose_calibration(key_prefix: str) -> str:
    """Ask for which risk theory chooses μ: "erm" or "sco"."""
    help_text = (
        "These rows: the smallest bound on the error in the table itself (empirical risk, ERM). "
        "Their population: "
        "also the distance between the rows and everyone they represent (SCO). That μ is larger "
        "and seldom better."
    )
    return st.segmented_control(
        "μ is chosen for",
        list(CALIBRATION_LABELS),
        default="erm",
        required=True,
        format_func=CALIBRATION_LABELS.__getitem__,
        key=f"{key_prefix}-calibration",
        help=help_text,
        bind="query-params",
    )


def numeric_column_names(table: Table) -> list[str]:
    """Return the columns of numbers with public bounds."""
    columns = table.domain.columns  # type: ignore[union-attr]
    return [c.name for c in columns if not c.values and c.missing != "category"]


def load_task(
    table: Table, text: str, radius: float | None = None
) -> tuple[RiskMinimisation, Rows]:
    """Return a task and its rows, made once for every table, schema and text."""
    return session().memoize(
        "learned",
        (table.version, text, radius),
        lambda: read_task(
            text, table.domain, table.limited_frame, radius=radius, group=table.unit.most_rows
        ),  # type: ignore
    )


@hide_in_stakeholder_view
def draw_quantile(
    table: Table, left_container: Any, right_container: Any, expert_container: Any
) -> None:
    """Draw the distribution of one column's private quantile, with an example.

    Other methods and the choice of μ are for experts.
    """
    names = numeric_column_names(table)
    if not names:
        left_container.info(
            "This table has no column of numbers with public bounds. Choose another table or "
            "schema on Data."
        )
        return
    with left_container:
        title_container = st.container()
        with inline_container():
            column, level = _choose_quantile(names)
        chart_container = st.container()
        budget = parameter_widgets.budget_sliders(expert_container)
    with expert_container:
        law_settings = _choose_law_settings()
    view = QuantileView.compute(table, column, level, budget, law_settings)
    with expert_container:
        _draw_law_numbers(view)
    with title_container:
        _draw_title(view)
    with chart_container:
        draw_cautions(budget, table)
        example = _draw_density(view)
    with left_container:
        _draw_promise_and_use(view, example)
    with right_container:
        _draw_radius_by_epsilon(view, table)
    if expert_container.open:
        with expert_container:
            _draw_expert_tabs(view, table)
    if table.trial is None:
        draw_program(view.program(table), table)


@dataclass(frozen=True, kw_only=True)
class QuantileView:
    """A quantile of one column, the budget of its release, and the law of the private answer."""

    column: str
    level: float
    display_name: str  # of the column
    unit: str  # of its values
    budget: Budget
    law_settings: dict[str, Any]  # arguments of `line_law`
    problem: RiskMinimisation
    rows: Rows
    law: LineLaw

    @classmethod
    def compute(
        cls,
        table: Table,
        column: str,
        level: float,
        budget: Budget,
        law_settings: dict[str, Any],
    ) -> Self:
        """Return the view of one column of a table.

        Raises InputError where there is no such law.
        """
        problem, rows = load_task(table, task_text("quantile", column, quantile_level=level))
        display_name = distinct_labels(numeric_column_names(table))[column]
        return cls(
            column=column,
            level=level,
            display_name=display_name,
            unit=({} if table.uploaded else UNITS).get(column, f"in {display_name}"),
            budget=budget,
            law_settings=law_settings,
            problem=problem,
            rows=rows,
            law=line_law(problem, rows, budget, **law_settings),
        )

    def program(self, table: Table) -> Program:
        """Return the program that computes the law, and learns one private answer."""
        settings = LawSettings(**self.law_settings)
        parameters = {"calibration": settings.calibration, "stages": settings.stages}
        if settings.factor != 1:
            parameters["mu"] = self.law.mu
        algorithm = ALGORITHMS["regularized_exponential"](**parameters)
        task = LearningTask(
            table=table_file_name(table),
            schema=table.schema,
            text=self.task_text,
            unit=table.unit.row_unit,
        )
        grid = ExperimentGrid(task=task, algorithms={"": algorithm}, budgets=(self.budget,))
        return quantile_program(grid, settings)

    @property
    def task_text(self) -> str:
        """The text of the task that learns the quantile."""
        return task_text("quantile", self.column, quantile_level=self.level)

    @property
    def radius(self) -> float:
        """Return how near the real value 9 of 10 private answers are."""
        return self.law.radius_of_90_percent


def _choose_quantile(names: list[str]) -> tuple[str, float]:
    """Draw the widgets of what is asked; return a column and the share of rows below the value."""
    column = st.selectbox(
        "Column",
        names,
        format_func=distinct_labels(names).get,
        key="learn-column",
        **persistent_widget_args(),
    )
    level = st.slider(
        "Rows below the value",
        0.01,
        0.99,
        0.5,
        0.01,
        "percent",
        key="level",
        help="50% is the median (50th percentile): half of the rows lie below that value.",
        bind="query-params",
    )
    return column, level


def _choose_law_settings() -> dict[str, Any]:
    """Draw the widgets for experts; return the arguments of `line_law`."""
    factor = st.select_slider(
        "μ, as a multiple of theory's",
        MU_FACTORS,
        1.0,
        parameter_widgets.format_setting,
        key="factor",
        help="A small μ lets the answer roam, a large one pulls it to the middle of the "
        "public range. 1: as theory says.",
        bind="query-params",
    )
    calibration_choice = choose_calibration("line")
    stages = st.segmented_control(
        "Stages",
        list(STAGE_LABELS),
        default=1,
        required=True,
        format_func=STAGE_LABELS.__getitem__,
        key="line-stages",
        help="Draws that share the budget. Each is centred at the one before and held "
        "tighter by four times the μ.",
        bind="query-params",
    )
    return {"calibration": calibration_choice, "factor": factor, "stages": stages}


def _draw_law_numbers(view: QuantileView) -> None:
    """Draw the numbers behind the law, and how it was computed."""
    law = view.law
    method_text = (
        "exactly"
        if law.stages == 1
        else f"after {law.stages} steps, by quadrature over the draw before"
    )
    st.caption(
        f"n = {view.problem.n:,}, G = {view.problem.G:g}, R = {view.problem.R:g}, "
        f"μ = {law.mu:.3g}, k = {law.k:.4g} in the first step ({method_text}). "
        f"Mean error added {law.mean_excess_risk:.3g}."
    )


def _draw_title(view: QuantileView) -> None:
    """Draw the title, which states how near the private answer is."""
    name = escape_markdown(view.display_name)
    quantile_text = (
        f"median {name}" if view.level == 0.5 else f"value with {view.level:.0%} of {name} below it"
    )
    draw_heading(
        f"Protected {quantile_text}: within {view.radius:.3g} "
        f"{escape_markdown(view.unit)} of the real one, 9 times in 10"
    )


def _draw_density(view: QuantileView) -> float:
    """Draw the law with an example that moves with the curve; return the example."""
    law = view.law
    density_table = pd.DataFrame({printable_text(view.column): law.x, "density": law.density})
    example = np.interp(0.7, np.cumsum(law.density) / law.density.sum(), law.x)
    draw_chart_panel(
        learning_charts.density_chart(law, example),
        "Shaded: 9 of 10 protected values.",
        density_table,
        "density",
    )
    return example


def _draw_promise_and_use(view: QuantileView, example: float) -> None:
    """Draw what an attacker learns at most, and what the answer is good for."""
    algorithm = build_from_texts(
        ALGORITHMS["regularized_exponential"], {"stages": str(view.law.stages)}
    )
    plan = algorithm.plan(view.problem, view.budget)
    promise = Promise.of_plan(plan, adaptive=algorithm.adaptive)
    show_tiles(
        [guess_tile_texts(promise.max_guess_probability())],
        f"Good for: saying “{example:.3g}, give or take {view.radius:.2g} {view.unit}”. "
        f"Not for: comparing groups under {2 * view.radius:.3g} {view.unit} apart.",
    )


def _draw_radius_by_epsilon(view: QuantileView, table: Table) -> None:
    """Draw how near the answer is for every ε, and the way to a release."""
    budget = view.budget

    def radius_at(epsilon: float) -> float:
        epsilon_budget = Budget(epsilon, budget.delta)
        law = line_law(view.problem, view.rows, epsilon_budget, **view.law_settings)
        return law.radius_of_90_percent

    radii = session().memoize(
        "price",
        (table.version, view.column, view.level, budget.delta, *view.law_settings.values()),
        lambda: [radius_at(epsilon) for epsilon in EPSILONS],
    )
    draw_heading(
        f"Within {radii[0]:.2g} {escape_markdown(view.unit)} at ε = {EPSILONS[0]:g}, "
        f"{radii[-1]:.2g} at {EPSILONS[-1]:g}"
    )
    frame = pd.DataFrame({"epsilon": EPSILONS, "off": radii})
    axis_title = escape_figure_text(f"off by, {view.unit}", 28)
    figure = epsilon_line_chart(frame, {"off": "9 of 10 values"}, axis_title)
    figure.add_scatter(
        x=[budget.epsilon],
        y=[view.radius],
        mode="markers",
        marker={"size": 10, "color": SYNTHETIC},
    )
    draw_chart_panel(
        figure, f"The protected value would use all of ε = {budget.epsilon:g}.", frame, "price"
    )
    if table.trial is None:
        task = LearnedTask(table=table, text=view.task_text, problem=view.problem, budget=budget)
        draw_value_release(task, view.rows, view.unit)


def _draw_expert_tabs(view: QuantileView, table: Table) -> None:
    """Draw other methods, and the choice of μ."""
    draw_tabs(
        "line-part",
        {
            "Other methods": lambda: _draw_other_methods(
                table, view.problem, view.rows, view.budget, (view.column, view.level)
            ),
            "Theory's choice of μ": lambda: _draw_risk_by_mu(
                view.problem,
                view.rows,
                view.budget,
                view.law_settings["calibration"],
                view.law.mu,
            ),
        },
    )


def draw_cautions(budget: Budget, table: Table) -> None:
    """Say what is unwise about a budget, and that these pictures show real rows."""
    for caution in guarantee.budget_warnings(budget, table.n):
        st.warning(escape_markdown(caution, 300))
    if table.uploaded:
        st.warning("These pictures use your real rows. Do not publish them.")


def _draw_risk_by_mu(
    problem: RiskMinimisation, rows: Rows, budget: Budget, calibration_choice: str, mu_in_use: float
) -> None:
    """Draw the mean excess risk against μ, with the theory's μ and the one in use.

    The excess risk is the error that privacy adds.
    """
    mus, excess, theory_mu = mean_excess_risk_by_mu(
        problem, rows, budget, calibration=calibration_choice
    )
    frame = pd.DataFrame({"mu": mus, "excess_risk": excess})
    best = frame.loc[frame["excess_risk"].idxmin()]
    summary = (
        f"Theory's μ = {theory_mu:.3g} has {excess[len(excess) // 2]:.3g}; the smallest is "
        f"{best['excess_risk']:.3g}, at "
        f"μ = {best['mu']:.3g}. Theory's μ needs public numbers only. A choice by this curve "
        "would use real data "
        "without budget. The curve is of one step and groups columns of many values into 300."
    )
    draw_chart_panel(
        learning_charts.excess_risk_chart(frame, theory_mu, mu_in_use), summary, frame, "risk-by-mu"
    )


def _draw_other_methods(
    table: Table, problem: RiskMinimisation, rows: Rows, budget: Budget, quantile_key: Any
) -> None:
    """Run every method at several ε; draw their errors."""
    runs = session().get_or_create("line", LearningRuns)
    seeds = st.number_input("Repeats", 1, 20, 5, key="line-seeds", bind="query-params", width=120)
    task = (table.version, quantile_key, budget, seeds)
    if runs.requested != task:
        runs.start(task, (problem, rows, None), plan_cases(list(METHODS), budget, int(seeds)))
    wait_or_draw_progress(runs.group, "line", wait_first=False)
    draw_excess_by_epsilon(runs, "line-rivals")


def plan_cases(names: list[str], budget: Budget, seeds: int) -> list[Case]:
    """Return the runs of every method at EPSILONS and at the chosen ε."""
    algorithms = {
        name: build_from_texts(ALGORITHMS[METHODS[name][0]], METHODS[name][1]) for name in names
    }
    cases = []
    for seed in range(seeds):
        for epsilon in sorted({*EPSILONS, budget.epsilon}):
            case_budget = Budget(epsilon, budget.delta)
            cases += [
                Case(name=name, algorithm=algorithm, budget=case_budget, seed=seed)
                for name, algorithm in algorithms.items()
            ]
    return cases


def best_method_sentence(runs: LearningRuns, frame: pd.DataFrame) -> str:
    """Name the method to which privacy adds least error, once all have run."""
    if not runs.ended:
        return "Some methods still run, so lines may move."
    last = (
        frame[frame["epsilon"] == frame["epsilon"].max()]
        .groupby("algorithm")["excess_risk"]
        .median()
    )
    return (
        f"At ε = {frame['epsilon'].max():g} {last.idxmin()} is best: privacy adds an error of "
        f"{last.min():.3g}."
    )


def draw_excess_by_epsilon(runs: LearningRuns, key: str) -> None:
    """Draw excess risk against ε with bands over repeats, and name each method without a run.

    It says why that method lacks one.
    """
    frame = runs.error_table()
    if not len(frame):
        if runs.ended:
            st.info(
                "How much error does privacy add, by each method? Press “Learn”: it takes some "
                "seconds."
            )
        return
    positive_risks = frame.assign(excess_risk=frame["excess_risk"].clip(lower=1e-12))
    figure = learning_charts.metric_by_epsilon_chart(
        positive_risks, "excess_risk", "error added", list(METHODS), log=True
    )
    draw_chart_panel(
        figure,
        best_method_sentence(runs, frame)
        + " Lines: the middle of all repeats. Shaded: all of them.",
        frame,
        key,
    )
    explain_missing_runs([run.point for run in runs.planned_outcomes], {})
