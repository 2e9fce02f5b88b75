"""The Compare page's first half: what is compared, the frontier, the regret table and a dot's own facts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
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
    """The widgets of what to compare; its questions, and what plans it, also at an ε that is advised.

    Raises InputError for bad choices.
    """
    algorithm_classes = algorithms_for_problem(QueryRelease)
    workload, query_texts = question_choice.choose_workload(table)
    kinds = tuple(st.session_state["questions"])
    default_names = [name for name in DEFAULT_ALGORITHMS if name in algorithm_classes]
    with st.expander("Algorithms, budgets", icon=":material/tune:"):
        names = st.multiselect(
            "Algorithms",
            list(algorithm_classes),
            default_names,
            format_func=ALGORITHM_TITLES.__getitem__,
            key="compared",
            bind="query-params",
        )
        epsilons = st.multiselect(
            "Privacy budgets (ε)",
            parameter_widgets.EPSILON_OPTIONS,
            DEFAULT_EPSILONS,
            parameter_widgets.format_setting,
            key="epsilons",
            bind="query-params",
            help="The budget that is advised is always tried too.",
        )
        help_text = (
            "The table as it is, or tables drawn at random from its population. For an "
            "upload, the upload is taken "
        )
        help_text += "as the population. Then both errors are shown."
        size_label = st.selectbox(
            "Rows", list(SIZE_FACTORS), key="records", help=help_text, **persistent_widget_args()
        )
        help_text = "Runs of each algorithm at each ε, with fresh noise."
        seeds = st.number_input(
            "Repeats", 1, 20, 3, key="sweep-seeds", bind="query-params", help=help_text
        )
        delta = parameter_widgets.delta_slider()

    n = max(2, round(SIZE_FACTORS[size_label] * table.n)) if SIZE_FACTORS[size_label] else table.n

    def make_problem() -> tuple[QueryRelease, Any, np.ndarray | None]:
        rows = table.encoded_rows(workload.domain.names)
        population = table.population_on(workload.domain.names)
        if not SIZE_FACTORS[size_label]:
            return QueryRelease(workload, n, table.unit.most_rows), rows, population
        P = empirical_distribution(workload.domain, rows) if population is None else population
        return (
            QueryRelease(workload, n),
            draw_rows(workload.domain, P, n, np.random.default_rng(0)),
            P,
        )

    def plan_sweep(advised: float | None) -> PlannedSweep:
        budgets = [Budget(float(v), delta) for v in sorted({*epsilons, advised} - {None})]
        task = question_choice.task_of_table(table, workload.domain.names, query_texts)
        compared = ComparedTask(
            task=task,
            table=table,
            version=table.version,
            table_rows=table.encoded_rows(workload.domain.names),
            row_choice=size_label,
            question_kinds=kinds,
            delta=delta,
        )
        grid = ExperimentGrid(
            task=task,
            algorithms={name: build_from_texts(algorithm_classes[name], {}) for name in names},
            budgets=tuple(budgets),
            repeat=int(seeds),
        )
        problem_key = table.version, workload.domain.names, kinds, n
        finished_keys = sweep.outcomes if sweep.requested == compared else {}
        problem = QueryRelease(workload, n, table.unit.most_rows)
        seconds = duration_forecast.draw_forecast(
            problem_key, problem, names, budgets, grid.repeat, sweep, finished_keys
        )
        run_seconds = duration_forecast.predicted_run_seconds(problem_key)
        start = partial(
            sweep.start,
            compared,
            make_problem,
            grid,
            table.trial,
            run_seconds,
        )
        return seconds, start

    return workload, plan_sweep


def sufficient_epsilon(sweep: Sweep, goal: AccuracyGoal | None) -> float | None:
    """The one ε the page speaks of: the promised one, else the smallest at which an algorithm kept all its repeats."""
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
    """Draw the frontier with its sentence, its settings at `settings_container`; returns the dot that was clicked, if any.

    What was `goal` is a line of its own: how far off noise alone is, with the one ε on it.
    """
    dots = sweep.error_table(measure.value_of_dot)
    medians = summarise_by_epsilon(dots)
    if not len(medians):
        st.info("No finished run has this error yet.")
        return None
    least_errors = unbiased_limit.least_errors_by_epsilon(sweep, medians)
    with settings_container:
        selected_labels = st.multiselect(
            "Lines to compare with", BASELINE_LABELS, key="lines", bind="query-params"
        )
        curves, curve_owners = theory_curves.choose_theory_curve(sweep, medians)
    baseline_levels = baseline_errors_in_points(
        sweep, measure.error_name, population=measure.population
    )
    levels = {
        f"{name}: {floor:.2g}": floor
        for name, floor in baseline_levels.items()
        if name in selected_labels
    }
    planned_epsilons = [case.budget.epsilon for case in sweep.planned_cases]
    tolerance_points = None
    star = None
    if goal is not None and measure.error_name == "max_error":
        tolerance_points = 100 * goal.tolerance
        levels = {f"within {format_tolerance(goal.tolerance)}": tolerance_points} | levels
        error_by_epsilon = {
            epsilon: 100 * off
            for epsilon, off in goal.error_by_epsilon.items()
            if min(planned_epsilons) <= epsilon <= max(planned_epsilons)
        }
        if error_by_epsilon:
            promise_label = (
                f"{100 * goal.share:g}% promised for "
                f"{ALGORITHM_TITLES[goal.algorithm_name].partition(' + ')[0]}"
            )
            curves |= {
                promise_label: (
                    np.array([*error_by_epsilon]),
                    np.array([*error_by_epsilon.values()]),
                )
            }
            curve_owners |= {promise_label: goal.algorithm_name}
        if goal.sufficient_epsilon in error_by_epsilon:
            star = goal.sufficient_epsilon, error_by_epsilon[goal.sufficient_epsilon]
    if other_table is not None and measure.error_name is not None and not measure.population:
        levels[other_table[0]] = 100 * getattr(other_table[1].errors, measure.error_name)
    if measure.error_name == "rmse" and not measure.population:
        curves |= unbiased_limit.limit_curve(least_errors)
    figure = frontier_charts.frontier_chart(
        dots.dropna(subset=["error"]),
        medians,
        levels,
        frontier_charts.series_styles(list(algorithms_for_problem(QueryRelease))),
        title=measure.axis_title,
        curves=curves,
        titles=ALGORITHM_TITLES,
        planned_epsilons=planned_epsilons,
        target_error=tolerance_points,
        advised_point=star,
        algorithm_by_curve=curve_owners,
    )
    summary = _best_algorithm_summary(sweep, measure, medians, sufficient_epsilon(sweep, goal))
    event = st.plotly_chart(
        figure,
        key="frontier",
        alt=summary,
        config=CHART_CONFIG,
        on_select="rerun",
        selection_mode="points",
    )
    draw_chart_footer(summary, run_table(dots), "frontier")
    with settings_container:
        unbiased_limit.draw_limit_summary(sweep, least_errors)
    clicked_data = [p["customdata"] for p in event.selection.points if p.get("customdata")]  # type: ignore[union-attr]
    clicked_dots = (
        d
        for d in sweep.planned_outcomes
        if [[d.point.algorithm, d.point.epsilon, d.point.seed]] == clicked_data[:1]
    )
    return next(clicked_dots, None)


def _best_algorithm_summary(
    sweep: Sweep, measure: ErrorMeasure, medians: pd.DataFrame, epsilon: float | None
) -> str:
    """Which algorithm is best, and how good it and the next are: at an ε if it was tried there, else at the largest.

    Over all questions, the best is also as exact as a sample of so many people.
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
    """The runs as a table: by ε and error, algorithms by their titles, nothing that is not known."""
    finished_runs = dots.dropna(subset=["error"]).sort_values(
        ["epsilon", "error", "seed"], kind="stable"
    )
    finished_runs = finished_runs.assign(algorithm=finished_runs["algorithm"].map(ALGORITHM_TITLES))
    return finished_runs.dropna(axis="columns", how="any").reset_index(drop=True)


def baseline_errors_in_points(
    sweep: Sweep, error_name: str | None, *, population: bool = False
) -> dict[str, float]:
    """The baselines of an error, in points, against the table or its population, by their words; none without them."""
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
    """How many times the best error each choice has."""
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
    """A clicked run, and a link to Explore with its settings; table, columns and questions go with address or tab."""
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
