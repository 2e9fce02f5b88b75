"""Draw the Learning page's first part: one column's quantile, its private answer, and other methods for experts."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, RiskMinimisation, Rows
from dpcore.accuracy.meaning_of_epsilon import Promise, guess_tile_texts
from dpcore.core.parameters import build_from_texts
from dpcore.evaluation.output_laws import line_law, mean_excess_risk_by_mu
from dpcore.evaluation.sweeps.sweep import Case
from dpcore.privacy.accounting import guarantee
from dpcore.problems.parse_tasks import read_task, task_text

from ..charts import learning_charts
from ..charts.figure_frame import SYNTHETIC, epsilon_line_chart
from ..components import (
    draw_chart_panel,
    draw_heading,
    draw_tabs,
    explain_missing_runs,
    hide_in_stakeholder_view,
    inline_container,
    parameter_widgets,
    show_tiles,
)
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
    return [c.name for c in table.domain.columns if not c.values and c.missing != "category"]  # type: ignore


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
    """Draw the law of one column's private quantile with an example; other methods and the choice of μ for experts."""
    names = numeric_column_names(table)
    if not names:
        left_container.info(
            "This table has no column of numbers with public bounds. Choose another table or "
            "schema on Data."
        )
        return
    display_names = distinct_labels(names)
    with left_container:
        title = st.container()
        with inline_container():
            column = st.selectbox(
                "Column",
                names,
                format_func=display_names.get,
                key="learn-column",
                **persistent_widget_args(),
            )
            help_text = (
                "50% is the median (50th percentile): half of the rows lie below that value."
            )
            level = st.slider(
                "Rows below the value",
                0.01,
                0.99,
                0.5,
                0.01,
                "percent",
                key="level",
                help=help_text,
                bind="query-params",
            )
        unit = ({} if table.uploaded else UNITS).get(column, f"in {display_names[column]}")
        chart_container = st.container()
        budget = parameter_widgets.budget_sliders(expert_container)
    help_text = (
        "A small μ lets the answer roam, a large one pulls it to the middle of the "
        "public range. 1: as theory says."
    )
    factor = expert_container.select_slider(
        "μ, as a multiple of theory's",
        MU_FACTORS,
        1.0,
        parameter_widgets.format_setting,
        key="factor",
        help=help_text,
        bind="query-params",
    )
    with expert_container:
        calibration_choice = choose_calibration("line")
        help_text = (
            "Draws that share the budget. Each is centred at the one before and held "
            "tighter by four times the μ."
        )
        stages = st.segmented_control(
            "Stages",
            list(STAGE_LABELS),
            default=1,
            required=True,
            format_func=STAGE_LABELS.__getitem__,
            key="line-stages",
            help=help_text,
            bind="query-params",
        )
    problem, rows = load_task(table, task_text("quantile", column, quantile_level=level))
    law_settings = {"calibration": calibration_choice, "factor": factor, "stages": stages}
    law = line_law(problem, rows, budget, **law_settings)
    how = (
        "exactly"
        if law.stages == 1
        else f"after {law.stages} steps, by quadrature over the draw before"
    )
    expert_container.caption(
        f"n = {problem.n:,}, G = {problem.G:g}, R = {problem.R:g}, μ = {law.mu:.3g}, k = "
        f"{law.k:.4g} in the first "
        f"step ({how}). Mean error added {law.mean_excess_risk:.3g}."
    )
    name = escape_markdown(display_names[column])
    quantile_text = (
        f"median {name}" if level == 0.5 else f"value with {level:.0%} of {name} below it"
    )
    with title:
        draw_heading(
            f"Protected {quantile_text}: within {law.radius_of_90_percent:.3g} "
            f"{escape_markdown(unit)} of the real one, 9 times in 10"
        )
    with chart_container:
        draw_cautions(budget, table)
        density_table = pd.DataFrame({printable_text(column): law.x, "density": law.density})
        # it moves with the curve
        example = np.interp(0.7, np.cumsum(law.density) / law.density.sum(), law.x)
        draw_chart_panel(
            learning_charts.density_chart(law, example),
            "Shaded: 9 of 10 protected values.",
            density_table,
            "density",
        )
    with left_container:
        algorithm = build_from_texts(
            ALGORITHMS["regularized_exponential"], {"stages": str(law.stages)}
        )
        promise = Promise.of_plan(algorithm.plan(problem, budget), adaptive=algorithm.adaptive)
        show_tiles(
            [guess_tile_texts(promise.max_guess_probability())],
            f"Good for: saying “{example:.3g}, give or take {law.radius_of_90_percent:.2g} "
            f"{unit}”. "
            f"Not for: comparing groups under {2 * law.radius_of_90_percent:.3g} {unit} apart.",
        )
    with right_container:
        errors = session().memoize(
            "price",
            (table.version, column, level, budget.delta, *law_settings.values()),
            lambda: [
                line_law(
                    problem, rows, Budget(e, budget.delta), **law_settings
                ).radius_of_90_percent
                for e in EPSILONS
            ],
        )
        draw_heading(
            f"Within {errors[0]:.2g} {escape_markdown(unit)} at ε = {EPSILONS[0]:g}, "
            f"{errors[-1]:.2g} at {EPSILONS[-1]:g}"
        )
        frame = pd.DataFrame({"epsilon": EPSILONS, "off": errors})
        figure = epsilon_line_chart(
            frame, {"off": "9 of 10 values"}, escape_figure_text(f"off by, {unit}", 28)
        )
        figure.add_scatter(
            x=[budget.epsilon],
            y=[law.radius_of_90_percent],
            mode="markers",
            marker={"size": 10, "color": SYNTHETIC},
        )
        draw_chart_panel(
            figure, f"The protected value would use all of ε = {budget.epsilon:g}.", frame, "price"
        )
        with st.container(key="next", width="content"):
            st.page_link("pages/release.py", label="**Go to Release**", icon=":material/publish:")
        st.caption("There you publish a protected table. Its median has an error of its own.")
    if expert_container.open:
        with expert_container:
            draw_tabs(
                "line-part",
                {
                    "Other methods": lambda: _draw_other_methods(
                        table, problem, rows, budget, (column, level)
                    ),
                    "Theory's choice of μ": lambda: _draw_risk_by_mu(
                        problem, rows, budget, calibration_choice, law.mu
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
    """Draw the mean error that privacy adds (excess risk) against μ, with theory's μ and the one in use."""
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
    """Draw excess risk against ε with bands over repeats; name each method that lacks a run, and why."""
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
