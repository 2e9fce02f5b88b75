"""First half of the Compare page: settings, frontier, regret table and a dot's facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import ALGORITHMS, Budget, QueryRelease, Rows
from dpcore.accuracy.work_forecast import format_bytes
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.numbers import format_percentage_points, format_short_number
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.evaluation.error_diagnosis import baseline_errors, draw_rows, empirical_distribution
from dpcore.evaluation.experiment import ExperimentGrid
from dpcore.evaluation.run import Comparison
from dpcore.evaluation.sweeps.frontier import regret_table, summarise_by_epsilon
from dpcore.queries import Workload

from ..charts import frontier_charts
from ..components import (
    CHART_CONFIG,
    draw_chart_footer,
    draw_heading,
    explain_missing_runs,
    hide_in_stakeholder_view,
    parameter_widgets,
    question_choice,
)
from ..session import Table, persistent_widget_args
from . import duration_forecast, theory_curves, unbiased_limit
from .epsilon_search import AccuracyGoal, page_query_params
from .error_measures import ErrorMeasure
from .minimum_epsilon import format_tolerance
from .sweep_jobs import ALGORITHM_TITLES, ComparedTask, Dot, Sweep

DEFAULT_ALGORITHMS = ("gaussian_maxent", "aim", "mwem")
DEFAULT_EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0)
SAMPLING_ERROR_LABEL = "luck of the sample"
BASELINE_LABELS = [SAMPLING_ERROR_LABEL, "guessing without data", "each column alone"]
SIZE_FACTORS = {
    "the table itself": 0.0,
    "a tenth of its rows": 0.1,
    "as many rows": 1.0,
    "ten times as many": 10.0,
}


# the seconds of what has not run yet, and what starts it
PlannedSweep = tuple[float, Callable[[], None]]


def draw_settings(
    table: Table, sweep: Sweep
) -> tuple[Workload, Callable[[float | None], PlannedSweep]]:
    """Draw the widgets of a comparison; return its workload and a function that plans it.

    The function may be given an ε that is advised, to plan that one, too. Raises InputError for bad
    choices.
    """
    workload, query_texts = question_choice.choose_workload(table)
    kinds = tuple(st.session_state["questions"])
    with st.expander("Algorithms, budgets", icon=":material/tune:"):
        names = _choose_algorithms()
        epsilons = _choose_epsilons()
        row_choice = _choose_rows()
        seeds = st.number_input(
            "Repeats",
            1,
            20,
            3,
            key="sweep-seeds",
            bind="query-params",
            help="Runs of each algorithm at each ε, with fresh noise.",
        )
        delta = parameter_widgets.delta_slider()

    def plan_sweep(advised: float | None) -> PlannedSweep:
        budgets = [Budget(float(v), delta) for v in sorted({*epsilons, advised} - {None})]
        task = question_choice.task_of_table(table, workload.domain.names, query_texts)
        compared = ComparedTask(
            task=task,
            table=table,
            version=table.version,
            table_rows=table.encoded_rows(workload.domain.names),
            row_choice=row_choice,
            question_kinds=kinds,
            delta=delta,
        )
        return _plan_sweep(sweep, compared, workload, names, budgets, int(seeds))

    return workload, plan_sweep


def _choose_algorithms() -> list[str]:
    """Draw the list of what can be compared; return the names of what is chosen."""
    algorithm_classes = algorithms_for_problem(QueryRelease)
    default_names = [name for name in DEFAULT_ALGORITHMS if name in algorithm_classes]
    return st.multiselect(
        "Algorithms",
        list(algorithm_classes),
        default_names,
        format_func=ALGORITHM_TITLES.__getitem__,
        key="compared",
        bind="query-params",
    )


def _choose_epsilons() -> list[float]:
    """Draw the list of budgets; return the chosen ε."""
    return st.multiselect(
        "Privacy budgets (ε)",
        parameter_widgets.EPSILON_OPTIONS,
        DEFAULT_EPSILONS,
        parameter_widgets.format_setting,
        key="epsilons",
        bind="query-params",
        help="The budget that is advised is always tried too.",
    )


def _choose_rows() -> str:
    """Draw the choice between the table and tables drawn from its population."""
    return st.selectbox(
        "Rows",
        list(SIZE_FACTORS),
        key="records",
        help="The table as it is, or tables drawn at random from its population. For an "
        "upload, the upload is taken as the population. Then both errors are shown.",
        **persistent_widget_args(),
    )


def _compared_row_count(table: Table, row_choice: str) -> int:
    """Return how many rows the compared tables have."""
    factor = SIZE_FACTORS[row_choice]
    return max(2, round(factor * table.n)) if factor else table.n


def _make_problem(
    table: Table, workload: Workload, row_choice: str, n: int
) -> tuple[QueryRelease, Any, np.ndarray | None]:
    """Return the problem, its `n` rows, and their population if there is one."""
    rows = table.encoded_rows(workload.domain.names)
    population = table.population_on(workload.domain.names)
    if not SIZE_FACTORS[row_choice]:
        return QueryRelease(workload, n, table.unit.most_rows), rows, population
    P = empirical_distribution(workload.domain, rows) if population is None else population
    drawn_rows = draw_rows(workload.domain, P, n, np.random.default_rng(0))
    return QueryRelease(workload, n), drawn_rows, P


def _plan_sweep(
    sweep: Sweep,
    compared: ComparedTask,
    workload: Workload,
    names: Sequence[str],
    budgets: Sequence[Budget],
    seeds: int,
) -> PlannedSweep:
    """Draw the forecast of a comparison's runs; return their seconds, and what starts them."""
    table = compared.table
    algorithm_classes = algorithms_for_problem(QueryRelease)
    grid = ExperimentGrid(
        task=compared.task,
        algorithms={name: build_from_texts(algorithm_classes[name], {}) for name in names},
        budgets=tuple(budgets),
        repeat=seeds,
    )
    n = _compared_row_count(table, compared.row_choice)
    problem_key = table.version, workload.domain.names, compared.question_kinds, n
    finished_keys = sweep.outcomes if sweep.requested == compared else {}
    problem = QueryRelease(workload, n, table.unit.most_rows)
    seconds = duration_forecast.draw_forecast(
        problem_key, problem, names, budgets, grid.repeat, sweep, finished_keys
    )
    run_seconds = duration_forecast.predicted_run_seconds(problem_key)
    make_problem = partial(_make_problem, table, workload, compared.row_choice, n)
    start = partial(sweep.start, compared, make_problem, grid, table.trial, run_seconds)
    return seconds, start


def sufficient_epsilon(sweep: Sweep, goal: AccuracyGoal | None) -> float | None:
    """Return the one sufficient ε the page names: from public noise, else from finished runs.

    From runs it is the smallest at which an algorithm met the goal in all its repeats; None if
    none.
    """
    if goal is None:
        return None
    max_errors = sweep.median_errors("max_error").groupby("epsilon")["high"].min()
    return goal.sufficient_epsilon or min(
        max_errors.index[max_errors <= goal.tolerance], default=None
    )


@hide_in_stakeholder_view
def draw_frontier(
    sweep: Sweep,
    measure: ErrorMeasure,
    other_table: tuple[str, Comparison] | None,
    settings_container: DeltaGenerator,
    goal: AccuracyGoal | None,
) -> Dot | None:
    """Draw the frontier chart, its sentence and its settings; return the clicked dot, if any.

    The settings are in `settings_container`. The `goal` has a line of its own: the error of noise
    alone, with the one advised ε on it.
    """
    dots = sweep.error_table(measure.value_of_dot)
    medians = summarise_by_epsilon(dots)
    if not len(medians):
        st.info("No finished run has this error yet.")
        return None
    least_errors = unbiased_limit.least_errors_by_epsilon(sweep, medians)
    lines = _choose_lines(sweep, measure, medians, settings_container)
    if goal is not None and measure.error_name == "max_error":
        _add_goal(lines, goal, sweep)
    if other_table is not None:
        _add_other_table(lines, measure, *other_table)
    if measure.error_name == "rmse" and not measure.population:
        lines.curves |= unbiased_limit.limit_curve(least_errors)
    figure = frontier_charts.frontier_chart(
        dots.dropna(subset=["error"]),
        medians,
        lines.levels,
        frontier_charts.series_styles(list(algorithms_for_problem(QueryRelease))),
        title=measure.axis_title,
        curves=lines.curves,
        titles=ALGORITHM_TITLES,
        planned_epsilons=_planned_epsilons(sweep),
        target_error=lines.target_error,
        advised_point=lines.advised_point,
        algorithm_by_curve=lines.algorithm_by_curve,
    )
    summary = _best_algorithm_summary(sweep, measure, medians, sufficient_epsilon(sweep, goal))
    clicked_dot = _draw_clickable_frontier(figure, summary, sweep)
    draw_chart_footer(summary, run_table(dots), "frontier")
    with settings_container:
        unbiased_limit.draw_limit_summary(sweep, least_errors)
    return clicked_dot


@dataclass(kw_only=True)
class _FrontierLines:
    """The lines of the frontier beside those of the algorithms: levels, curves, and the goal."""

    levels: dict[str, float]
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    algorithm_by_curve: dict[str, str]
    target_error: float | None = None  # in points
    advised_point: tuple[float, float] | None = None  # ε and its error in points


def _planned_epsilons(sweep: Sweep) -> list[float]:
    return [case.budget.epsilon for case in sweep.planned_cases]


def _choose_lines(
    sweep: Sweep,
    measure: ErrorMeasure,
    medians: pd.DataFrame,
    settings_container: DeltaGenerator,
) -> _FrontierLines:
    """Draw the widgets of the lines to compare with; return the chosen ones."""
    with settings_container:
        selected_labels = st.multiselect(
            "Lines to compare with", BASELINE_LABELS, key="lines", bind="query-params"
        )
        curves, algorithm_by_curve = theory_curves.choose_theory_curve(sweep, medians)
    baseline_levels = baseline_errors_in_points(
        sweep, measure.error_name, population=measure.population
    )
    levels = {
        f"{name}: {floor:.2g}": floor
        for name, floor in baseline_levels.items()
        if name in selected_labels
    }
    return _FrontierLines(levels=levels, curves=curves, algorithm_by_curve=algorithm_by_curve)


def _add_goal(lines: _FrontierLines, goal: AccuracyGoal, sweep: Sweep) -> None:
    """Add what is accurate enough, how far off noise alone is, and the advised ε on that curve."""
    lines.target_error = 100 * goal.tolerance
    goal_label = f"within {format_tolerance(goal.tolerance)}"
    lines.levels = {goal_label: lines.target_error} | lines.levels
    planned_epsilons = _planned_epsilons(sweep)
    error_by_epsilon = {
        epsilon: 100 * error
        for epsilon, error in goal.error_by_epsilon.items()
        if min(planned_epsilons) <= epsilon <= max(planned_epsilons)
    }
    if error_by_epsilon:
        algorithm_title = ALGORITHM_TITLES[goal.algorithm_name].partition(" + ")[0]
        promise_label = f"{100 * goal.share:g}% promised for {algorithm_title}"
        noise_curve = np.array([*error_by_epsilon]), np.array([*error_by_epsilon.values()])
        lines.curves |= {promise_label: noise_curve}
        lines.algorithm_by_curve |= {promise_label: goal.algorithm_name}
    if goal.sufficient_epsilon in error_by_epsilon:
        lines.advised_point = goal.sufficient_epsilon, error_by_epsilon[goal.sufficient_epsilon]


def _add_other_table(
    lines: _FrontierLines, measure: ErrorMeasure, name: str, comparison: Comparison
) -> None:
    """Add the error of another tool's table, where the measure is an error of the real table."""
    if measure.error_name is not None and not measure.population:
        lines.levels[name] = 100 * getattr(comparison.errors, measure.error_name)


def _draw_clickable_frontier(figure: go.Figure, summary: str, sweep: Sweep) -> Dot | None:
    """Draw the figure; return the dot that was clicked, if any."""
    event = st.plotly_chart(
        figure,
        key="frontier",
        alt=summary,
        config=CHART_CONFIG,
        on_select="rerun",
        selection_mode="points",
    )
    points = event.selection.points  # type: ignore[union-attr]
    clicked_data = [point["customdata"] for point in points if point.get("customdata")]
    clicked_dots = (
        dot
        for dot in sweep.planned_outcomes
        if [[dot.point.algorithm, dot.point.epsilon, dot.point.seed]] == clicked_data[:1]
    )
    return next(clicked_dots, None)


def _best_algorithm_summary(
    sweep: Sweep, measure: ErrorMeasure, medians: pd.DataFrame, epsilon: float | None
) -> str:
    """Return a sentence on the best algorithm and the next one at `epsilon`.

    If that ε was not tried, it is about the largest ε. It also says which share of people a sample
    as
    exact as the best has, where that is known (over all queries).
    """
    medians_at_epsilon = medians[
        medians["epsilon"]
        == (epsilon if epsilon in set(medians["epsilon"]) else medians["epsilon"].max())
    ]
    best, *others = medians_at_epsilon.nsmallest(2, "error").itertuples()
    summary = f"At ε = {best.epsilon:g}, {ALGORITHM_TITLES[best.algorithm]} is best: "
    summary += f"{measure.axis_title.partition(',')[0]} {best.error:.2g} points"
    summary += "".join(
        f" ({ALGORITHM_TITLES[other.algorithm]}: {other.error:.2g})" for other in others
    )
    sample_shares = sweep.median_errors("as_exact_as_sample").set_index(["algorithm", "epsilon"])[
        "error"
    ]
    sample_share = sample_shares.get((best.algorithm, best.epsilon))
    if sample_share is not None:
        summary += f", as exact as counting {format_percentage_points(sample_share)}% of people"
    return f"{summary}. Marks: unprotected trials on real rows."


def run_table(dots: pd.DataFrame) -> pd.DataFrame:
    """Return the finished runs as a table by ε and error, algorithms by their titles.

    Columns with unknown values are left out.
    """
    finished_runs = dots.dropna(subset=["error"]).sort_values(
        ["epsilon", "error", "seed"], kind="stable"
    )
    finished_runs = finished_runs.assign(algorithm=finished_runs["algorithm"].map(ALGORITHM_TITLES))
    return finished_runs.dropna(axis="columns", how="any").reset_index(drop=True)


def baseline_errors_in_points(
    sweep: Sweep, error_name: str | None, *, population: bool = False
) -> dict[str, float]:
    """Return the baselines' errors in points by label; empty where there are none.

    They are against the table, or with `population` against its population.
    """
    # counts cannot be drawn from
    if error_name is None or sweep.problem is None or not isinstance(sweep.rows, Rows):
        return {}
    if sweep.baselines is None:
        sweep.baselines = baseline_errors(sweep.problem, sweep.rows, sweep.reference)
    labels = {"sampling": SAMPLING_ERROR_LABEL}
    if not population:
        labels = dict(zip(("resampling", "uniform", "independent"), BASELINE_LABELS, strict=False))
    values = {
        labels[key]: getattr(base.errors, error_name)
        for key, base in sweep.baselines.items()
        if key in labels
    }
    return {key: 100 * value for key, value in values.items() if value}


@hide_in_stakeholder_view
def draw_regrets(sweep: Sweep, measure: ErrorMeasure) -> None:
    """Draw a table of each algorithm's error as a multiple of the best error at the same ε."""
    draw_heading("How much worse are the other algorithms?", Provenance.REAL_DATA)
    medians = summarise_by_epsilon(sweep.error_table(measure.value_of_dot))
    if not len(medians):
        return
    table = regret_table(medians)
    table["memory"] = [format_bytes(float(size)) for size in pd.to_numeric(table["memory"])]
    table_view = table.rename(
        columns={c: f"ε = {c:g}" for c in table.columns if not isinstance(c, str)}
    )
    table_view.insert(0, "algorithm", [ALGORITHM_TITLES[str(name)] for name in table_view.index])
    help_text = "Largest peak above the start of a run."
    column_config = {
        "memory": st.column_config.TextColumn(help=help_text),
        "seconds": st.column_config.NumberColumn(help="Median of a run's own time."),
    }
    # as text: an empty number would read "None"
    for column in (c for c in table_view.columns if c.startswith("ε")):
        table_view[column] = (
            table_view[column].map("{:.2f} ×".format, na_action="ignore").fillna("")
        )
    st.dataframe(
        table_view.style.format({"seconds": "{:.2f} s"}),
        column_config=column_config,
        hide_index=True,
    )
    st.caption(
        "How many times the smallest error at the same ε (median of the repeats). The best on "
        "the whole comes first."
    )
    briefs = (
        f"**{ALGORITHM_TITLES[name]}**: {ALGORITHMS[name].about.brief}" for name in table.index
    )
    st.caption(" · ".join(briefs))
    explain_missing_runs([dot.point for dot in sweep.planned_outcomes], ALGORITHM_TITLES)


@hide_in_stakeholder_view
def draw_dot(selected_dot: Dot) -> None:
    """Draw the facts of a clicked run, and a link to Explore with its settings.

    Table, columns and questions go with the address or the tab.
    """
    point = selected_dot.point
    draw_heading(
        f"{ALGORITHM_TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}",
        Provenance.REAL_DATA,
    )
    errors = ", ".join(
        f"{name} {value:.4g}" for name, value in point.errors.items() if value is not None
    )
    spent = point.spent
    st.caption(
        f"Used ε = {spent['epsilon']:.4g} at δ = {format_short_number(spent['delta'])}. "
        f"{errors}. {point.seconds:.2g} s.",
        help=point.algorithm,
    )
    query_params = page_query_params(point.algorithm, point.epsilon, point.delta) | {
        "seed": str(point.seed)
    }
    st.page_link(
        "pages/explore.py", label="Open exactly this run on Explore", query_params=query_params
    )
