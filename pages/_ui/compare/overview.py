"""First half of the Compare page: settings, frontier, regret table and a dot's facts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
from dpcore.core.numbers import (
    format_percentage_points,
    format_short_number,
    unit_noun,
)
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.core.types import by_name
from dpcore.evaluation.error_diagnosis import (
    Baseline,
    baseline_errors,
    draw_rows,
    empirical_distribution,
)
from dpcore.evaluation.experiment import ExperimentGrid
from dpcore.evaluation.run import Comparison
from dpcore.evaluation.sweeps.frontier import regret_table
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
from .accuracy_goal import format_release_share, format_tolerance
from .duration_forecast import DurationForecast
from .error_measures import ErrorMeasure
from .sweep_jobs import (
    ALGORITHM_STYLES,
    ALGORITHM_TITLES,
    TABLE_ITSELF,
    ComparedTask,
    Dot,
    Sweep,
)
from .verdict import Advice, Recommendation, measured_errors_text, page_query_params

DEFAULT_ALGORITHMS = ("gaussian_maxent", "aim", "mwem")
DEFAULT_EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0)
SAMPLING_ERROR_LABEL = "luck of the sample"
NOISE_BELOW_TEXTS = {SAMPLING_ERROR_LABEL: ", less noise gains nothing"}
PROMISE_LABEL = "promised"
BASELINE_LABELS = [SAMPLING_ERROR_LABEL, "guessing without data", "each column alone"]
LINE_KEY_STYLE = """<style>.line-key {list-style: none; margin: 0 !important; font-size: 0.875rem;
padding: 0 !important;} .line-key li {margin: 0 !important; max-width: 48rem;}
.line-key small {font-size: 0.875rem; opacity: 0.75;}</style>"""
LINE_KEY_ITEM = "<li>{mark}<b>{name}</b>: {text}</li>"
LINE_MARK = '<span style="color: {colour}" aria-hidden="true">{mark}</span> '
SIZE_FACTORS = {
    TABLE_ITSELF: 0.0,
    "a tenth of its rows": 0.1,
    "as many rows": 1.0,
    "ten times as many": 10.0,
}


@by_name
class PlannedSweep:
    """A comparison as it is set: how long its unfinished runs take, and what starts them.

    `is_begun` says whether the runs that are there are of just this comparison.
    """

    forecast: DurationForecast
    start: Callable[[], None]
    is_begun: bool


def draw_settings(
    table: Table, sweep: Sweep
) -> tuple[Workload, Callable[[float | None], PlannedSweep]]:
    """Draw the widgets of a comparison; return its workload and a function that plans it.

    The function may be given an ε that is promised, to plan that one, too. Raises InputError for
    bad choices.
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

    def plan_sweep(promised: float | None) -> PlannedSweep:
        budgets = [Budget(float(v), delta) for v in sorted({*epsilons, promised} - {None})]
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
        return QueryRelease(workload, n, table.unit.group), rows, population
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
    """Return a comparison's runs with their forecast, and what starts them."""
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
    problem = QueryRelease(workload, n, table.unit.group)
    forecast = duration_forecast.forecast_runs(
        problem_key, problem, names, budgets, grid.repeat, sweep, finished_keys
    )
    run_seconds = duration_forecast.forecast_run_seconds(problem_key)
    make_problem = partial(_make_problem, table, workload, compared.row_choice, n)
    start = partial(sweep.start, compared, make_problem, grid, table.trial, run_seconds)
    return PlannedSweep(forecast=forecast, start=start, is_begun=sweep.requested == compared)


@hide_in_stakeholder_view
def draw_frontier(
    sweep: Sweep,
    measure: ErrorMeasure,
    other_table: tuple[str, Comparison] | None,
    settings_container: DeltaGenerator,
    advice: Advice,
) -> Dot | None:
    """Draw the frontier chart, its sentences and its settings; return the clicked dot, if any.

    The settings are in `settings_container`. The goal of the `advice` has lines of its own: what is
    near enough, and the error that noise alone promises.
    """
    dots = sweep.error_table(measure.value_of_dot)
    setting_errors = measure.summarise(sweep)
    if not len(setting_errors):
        st.info("No finished run has this error yet.")
        return None
    least_errors = unbiased_limit.least_errors_by_epsilon(sweep, setting_errors)
    lines = _choose_lines(sweep, measure, setting_errors, settings_container)
    if measure.is_need:
        _add_goal(lines, advice, sweep)
    lines.star = _star(advice, setting_errors, lines)
    if other_table is not None:
        _add_other_table(lines, measure, *other_table)
    if measure.error_name == "rmse" and not measure.population:
        lines.curves |= unbiased_limit.limit_curve(least_errors)
    figure = frontier_charts.frontier_chart(
        dots.dropna(subset=["error"]),
        setting_errors,
        lines.levels,
        ALGORITHM_STYLES,
        title=measure.axis_title,
        curves=lines.curves,
        titles=ALGORITHM_TITLES,
        planned_epsilons=_planned_epsilons(sweep),
        target_error=lines.target_error,
        star=lines.star,
        algorithm_by_curve=lines.algorithm_by_curve,
    )
    summary = _best_algorithm_summary(sweep, measure, setting_errors, advice.recommendation)
    clicked_dot = _draw_clickable_frontier(figure, summary, sweep)
    draw_chart_footer(summary, run_table(dots), "frontier")
    notes = lines.notes | _sample_notes(sweep, setting_errors, advice.recommendation)
    draw_line_key(list(setting_errors["algorithm"].unique()), notes)
    with settings_container:
        unbiased_limit.draw_limit_summary(sweep, least_errors)
    return clicked_dot


@dataclass(kw_only=True)
class _FrontierLines:
    """The lines of the frontier beside those of the algorithms: levels, curves, and the goal.

    `notes` say in words what a line is, by its name.
    """

    levels: dict[str, float]
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    algorithm_by_curve: dict[str, str]
    target_error: float | None = None  # in points
    star: frontier_charts.Star | None = None
    notes: dict[str, str] = field(default_factory=dict)


def _planned_epsilons(sweep: Sweep) -> list[float]:
    return [case.budget.epsilon for case in sweep.planned_cases]


def _choose_lines(
    sweep: Sweep,
    measure: ErrorMeasure,
    setting_errors: pd.DataFrame,
    settings_container: DeltaGenerator,
) -> _FrontierLines:
    """Draw the widgets of the lines to compare with; return the chosen ones."""
    with settings_container:
        selected_labels = st.multiselect(
            "Lines to compare with",
            BASELINE_LABELS,
            [SAMPLING_ERROR_LABEL],
            key="lines",
            bind="query-params",
        )
        curves, algorithm_by_curve = theory_curves.choose_theory_curve(sweep, setting_errors)
    baseline_levels = baseline_errors_in_hundredths(sweep, measure)
    levels = {
        f"{name}: {floor:.2g}{NOISE_BELOW_TEXTS.get(name, '')}": floor
        for name, floor in baseline_levels.items()
        if name in selected_labels
    }
    lines = _FrontierLines(levels=levels, curves=curves, algorithm_by_curve=algorithm_by_curve)
    if sweep.problem is not None and any(name.startswith(SAMPLING_ERROR_LABEL) for name in levels):
        lines.notes[SAMPLING_ERROR_LABEL] = luck_of_sample_text(sweep.problem.n)
    return lines


def luck_of_sample_text(n: int) -> str:
    """Return why noise below the luck of the sample is pointless."""
    return (
        f"another sample of {n:,} would be this far off anyway. Less noise than this tells "
        "nothing more about people in general."
    )


def _add_goal(lines: _FrontierLines, advice: Advice, sweep: Sweep) -> None:
    """Add what is near enough, and how far off noise alone is by its promise."""
    goal = advice.goal
    lines.target_error = 100 * goal.tolerance
    goal_label = f"within {format_tolerance(goal.tolerance)}"
    lines.levels = {goal_label: lines.target_error} | lines.levels
    promise = advice.promise
    if promise is None:
        return
    planned_epsilons = _planned_epsilons(sweep)
    error_by_epsilon = {
        epsilon: 100 * error
        for epsilon, error in promise.error_by_epsilon.items()
        if min(planned_epsilons) <= epsilon <= max(planned_epsilons)
    }
    if error_by_epsilon:
        noise_curve = np.array([*error_by_epsilon]), np.array([*error_by_epsilon.values()])
        lines.curves |= {PROMISE_LABEL: noise_curve}
        lines.algorithm_by_curve |= {PROMISE_LABEL: promise.algorithm_name}
        lines.notes[PROMISE_LABEL] = (
            f"what {format_release_share(goal.share)} with "
            f"{ALGORITHM_TITLES[promise.algorithm_name]} keep, whatever the table is."
        )


def _star(
    advice: Advice, setting_errors: pd.DataFrame, lines: _FrontierLines
) -> frontier_charts.Star | None:
    """Return the mark of the recommended setting, on the line it belongs to; None without one.

    That is the promise's curve where it is drawn, else the line of the algorithm's runs.
    """
    recommendation = advice.recommendation
    if recommendation is None:
        return None
    name = recommendation.algorithm_name
    if recommendation.is_promised and PROMISE_LABEL in lines.curves:
        epsilons, errors = lines.curves[PROMISE_LABEL]
        is_recommended = epsilons == recommendation.epsilon
        if is_recommended.any():
            error = float(errors[is_recommended][0])
            return frontier_charts.Star(recommendation.epsilon, error, name)
    at_setting = setting_errors[
        (setting_errors["algorithm"] == name)
        & (setting_errors["epsilon"] == recommendation.epsilon)
    ]
    if not len(at_setting):
        return None
    return frontier_charts.Star(recommendation.epsilon, float(at_setting["error"].iloc[0]), name)


def _add_other_table(
    lines: _FrontierLines, measure: ErrorMeasure, name: str, comparison: Comparison
) -> None:
    """Add the error of another tool's table, where the measure is an error of the real table."""
    if measure.population:
        return
    baseline = Baseline(name, comparison.errors, comparison.synthetic[None])
    error = measure.value_of_baseline(baseline)
    if error is not None:
        lines.levels[name] = error


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
    sweep: Sweep,
    measure: ErrorMeasure,
    setting_errors: pd.DataFrame,
    recommendation: Recommendation | None,
) -> str:
    """Return a sentence on the best algorithm and the next one at the ε that is spoken of."""
    errors_at_epsilon = _errors_at_spoken_epsilon(setting_errors, recommendation)
    best, *others = errors_at_epsilon.nsmallest(2, "error").itertuples()
    so_far = " so far" if sweep.is_provisional else ""
    summary = f"Measured: at ε = {best.epsilon:g}, {ALGORITHM_TITLES[best.algorithm]} is best"
    summary += f"{so_far}: {best.error:.2g} {measure.short_unit}"
    summary += "".join(
        f" ({ALGORITHM_TITLES[other.algorithm]}: {other.error:.2g})" for other in others
    )
    return f"{summary}."


def _errors_at_spoken_epsilon(
    setting_errors: pd.DataFrame, recommendation: Recommendation | None
) -> pd.DataFrame:
    """Return the errors at the recommended ε, or at the largest if that was not tried."""
    epsilon = setting_errors["epsilon"].max()
    if recommendation is not None and recommendation.epsilon in set(setting_errors["epsilon"]):
        epsilon = recommendation.epsilon
    return setting_errors[setting_errors["epsilon"] == epsilon]


def _sample_notes(
    sweep: Sweep, setting_errors: pd.DataFrame, recommendation: Recommendation | None
) -> dict[str, str]:
    """Return which sample is as exact as the best setting, over all queries, where it is known."""
    errors_at_epsilon = _errors_at_spoken_epsilon(setting_errors, recommendation)
    best = next(errors_at_epsilon.nsmallest(1, "error").itertuples())
    sample_share = sweep.median_error("as_exact_as_sample", str(best.algorithm), best.epsilon)
    if sample_share is None or sweep.problem is None:
        return {}
    percent = format_percentage_points(sample_share)
    unit = unit_noun(sweep.problem.group)
    setting = f"{ALGORITHM_TITLES[best.algorithm]} at ε = {best.epsilon:g}"
    return {setting: f"as exact as counting only {percent}% of the {unit}, without noise."}


def describe_algorithm(name: str) -> tuple[str, str, str]:
    """Return an algorithm's name, six words that say what it does, and its authors and year."""
    about = ALGORITHMS[name].about
    return ALGORITHM_TITLES[name], about.brief, about.source


def draw_line_key(names: Sequence[str], line_notes: Mapping[str, str]) -> None:
    """Draw a list that says what the lines are: of each algorithm, and of others by their notes."""
    items = []
    for name in names:
        title, brief, source = describe_algorithm(name)
        style = ALGORITHM_STYLES[name]
        mark = frontier_charts.MARKERS[style["symbol"]]
        items.append(
            LINE_KEY_ITEM.format(
                mark=LINE_MARK.format(colour=style["color"], mark=mark),
                name=title,
                text=f"{brief}. <small>{source}</small>",
            )
        )
    items += [
        LINE_KEY_ITEM.format(mark="", name=name[0].upper() + name[1:], text=text)
        for name, text in line_notes.items()
    ]
    st.html(f'{LINE_KEY_STYLE}<ul class="line-key">{"".join(items)}</ul>')


def run_table(dots: pd.DataFrame) -> pd.DataFrame:
    """Return the finished runs as a table by ε and error, algorithms by their titles.

    Columns with unknown values are left out.
    """
    finished_runs = dots.dropna(subset=["error"]).sort_values(
        ["epsilon", "error", "seed"], kind="stable"
    )
    finished_runs = finished_runs.assign(algorithm=finished_runs["algorithm"].map(ALGORITHM_TITLES))
    return finished_runs.dropna(axis="columns", how="any").reset_index(drop=True)


def baseline_errors_in_hundredths(sweep: Sweep, measure: ErrorMeasure) -> dict[str, float]:
    """Return the baselines' errors by label, as a measure counts them; empty without any.

    They are against the table, or against its population where the measure is.
    """
    # counts cannot be drawn from
    if sweep.problem is None or not isinstance(sweep.rows, Rows):
        return {}
    if sweep.baselines is None:
        sweep.baselines = baseline_errors(sweep.problem, sweep.rows, sweep.reference)
    labels = {"sampling": SAMPLING_ERROR_LABEL}
    if not measure.population:
        labels = dict(zip(("resampling", "uniform", "independent"), BASELINE_LABELS, strict=True))
    values = {
        labels[key]: measure.value_of_baseline(baseline)
        for key, baseline in sweep.baselines.items()
        if key in labels
    }
    return {label: value for label, value in values.items() if value}


@hide_in_stakeholder_view
def draw_regrets(sweep: Sweep, measure: ErrorMeasure) -> None:
    """Draw a table of each algorithm's error as a multiple of the best error at the same ε."""
    draw_heading("How much worse are the other algorithms?", Provenance.REAL_DATA)
    setting_errors = measure.summarise(sweep)
    if not len(setting_errors):
        return
    table = regret_table(setting_errors)
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
        f"How many times the smallest error at the same ε ({measure.repeat_text}). The best on "
        "the whole comes first."
    )
    explain_missing_runs([dot.point for dot in sweep.planned_outcomes], ALGORITHM_TITLES)


@hide_in_stakeholder_view
def draw_dot(sweep: Sweep, selected_dot: Dot) -> None:
    """Draw the facts of a clicked run, and a link to Explore with its settings.

    Table, columns and questions go with the address or the tab.
    """
    point = selected_dot.point
    draw_heading(
        f"{ALGORITHM_TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}",
        Provenance.REAL_DATA,
    )
    spent = point.spent
    st.caption(
        f"Measured: {measured_errors_text(sweep, selected_dot)}. Used ε = "
        f"{spent['epsilon']:.4g} at δ = {format_short_number(spent['delta'])}. "
        f"{point.seconds:.2g} s.",
        help=point.algorithm,
    )
    query_params = page_query_params(point.algorithm, point.epsilon, point.delta) | {
        "seed": str(point.seed)
    }
    st.page_link(
        "pages/explore.py", label="Open exactly this run on Explore", query_params=query_params
    )
