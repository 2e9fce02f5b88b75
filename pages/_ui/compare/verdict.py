"""Verdict of the Compare page: which ε with which algorithm is near enough, and how that is known.

An ε is promised by noise alone, or else measured by the runs that have ended.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import guess_tile_texts
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.accuracy.usefulness import planned_tables, suitable_uses
from dpcore.accuracy.work_forecast import MIN_SECONDS_TO_MENTION, format_seconds
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import (
    format_percentage_points,
    format_points_and_count,
    format_short_number,
    unit_noun,
)
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import by_name
from dpcore.evaluation.run import Comparison
from dpcore.evaluation.sweeps.frontier import summarise_by_epsilon
from dpcore.queries.workload import table_columns
from dpcore.release.tiles import (
    Tile,
    format_share_of_rows,
    largest_error_tile,
    measured_error_tile,
)

from ..components import (
    draw_heading,
    glossary_tooltip,
    inline_container,
    largest_error_name,
    parameter_widgets,
    show_tiles,
)
from ..session import Table
from .accuracy_goal import (
    ALL_ANSWERS,
    AccuracyGoal,
    format_release_share,
    format_tolerance,
    smallest_tolerance_above,
    table_label,
)
from .duration_forecast import DurationForecast
from .error_measures import misplaced_name
from .minimum_epsilon import CONFIDENTIAL_WARNING
from .promised_epsilon import PromisedEpsilon
from .sweep_jobs import ALGORITHM_TITLES, Dot, Sweep

NOTHING_PROMISED_TEXT = (
    "Nothing is promised about single answers here. The errors are measured, on this table."
)


@by_name
class Recommendation:
    """A setting that is near enough for a goal, or that comes nearest, and how that is known.

    The needed answers are within `tolerance`, which is the goal's if it is met and wider if not. It
    is so in `runs` runs on the table, all of them; or it is promised, and then `runs` is 0.
    """

    algorithm_name: str
    epsilon: float
    tolerance: float
    meets_goal: bool
    runs: int = 0

    @property
    def is_promised(self) -> bool:
        """Whether it is known without runs, whatever the table."""
        return not self.runs


@by_name
class Advice:
    """What the page advises: for a goal, by what is promised, the recommended setting."""

    goal: AccuracyGoal
    promise: PromisedEpsilon | None
    recommendation: Recommendation | None


def recommend(
    goal: AccuracyGoal, promise: PromisedEpsilon | None, errors: pd.DataFrame | None
) -> Recommendation | None:
    """Return the setting that the page recommends: promised, else measured; None if none is known.

    `errors` are those of the needed answers, as `summarise_by_epsilon` gives them; None without
    runs. A setting counts by its worst run.
    """
    if promise is not None and promise.epsilon is not None:
        return Recommendation(
            algorithm_name=promise.algorithm_name,
            epsilon=promise.epsilon,
            tolerance=goal.tolerance,
            meets_goal=True,
        )
    return _recommend_by_runs(goal, errors)


def _recommend_by_runs(goal: AccuracyGoal, errors: pd.DataFrame | None) -> Recommendation | None:
    """Return the smallest ε that kept the tolerance, else the smallest of the nearest ones."""
    if errors is None or not len(errors):
        return None
    meets_goal = bool((errors["high"] <= goal.tolerance).any())
    tolerance = goal.tolerance
    if not meets_goal:
        tolerance = smallest_tolerance_above(float(errors["high"].min()))
    sufficient = errors[errors["high"] <= tolerance].sort_values(["epsilon", "high"])
    if not len(sufficient):  # an error above all tolerances
        return None
    best = sufficient.iloc[0]
    return Recommendation(
        algorithm_name=str(best["algorithm"]),
        epsilon=float(best["epsilon"]),
        tolerance=tolerance,
        meets_goal=meets_goal,
        runs=int(best["runs"]),
    )


def needed_errors(sweep: Sweep, goal: AccuracyGoal) -> pd.DataFrame:
    """Return the errors of the needed answers in the finished runs, by algorithm and ε."""
    return summarise_by_epsilon(
        sweep.error_table(lambda dot: sweep.error_of_need(goal, dot.answers))
    )


def verdict_text(
    goal: AccuracyGoal,
    recommendation: Recommendation | None,
    *,
    is_provisional: bool,
    forecast: DurationForecast | None = None,
) -> str:
    """Return the verdict in one sentence.

    `is_provisional` says that runs are unfinished, and `forecast` how long those will take that
    have not begun; None where nobody may run any.
    """
    if recommendation is None:
        return f"Not promised at any ε{_trials_clause(forecast, is_provisional)}"
    epsilon_text = parameter_widgets.format_setting(recommendation.epsilon)
    setting = f"ε = {epsilon_text} with {ALGORITHM_TITLES[recommendation.algorithm_name]}"
    if recommendation.is_promised:
        return f"★ Promised at {setting}"
    so_far = "so far " if is_provisional else ""
    if recommendation.meets_goal:
        return f"★ Measured {so_far}at {setting}"
    nearest = f"★ within {format_tolerance(recommendation.tolerance)} at {setting}"
    denial = f"{so_far}not within {format_tolerance(goal.tolerance)} at any ε here"
    return f"{denial[0].upper()}{denial[1:]}; {nearest}"


def _trials_clause(forecast: DurationForecast | None, is_provisional: bool) -> str:
    """Say how long it takes to find out by runs, if they can tell."""
    if is_provisional:
        return "; trials are running"
    if forecast is None:
        return " of the sliders"
    if not forecast.runs:
        return ", and no chosen algorithm can try it: choose others"
    seconds = forecast.seconds + forecast.waiting_seconds
    if seconds < MIN_SECONDS_TO_MENTION:
        return "; trials can tell in a moment"
    return f"; {forecast.runs} trials can tell in {format_seconds(seconds)}"


def draw_verdict(
    table: Table,
    problem: QueryRelease,
    delta: float,
    goal: AccuracyGoal,
    promise: PromisedEpsilon | None,
    sweep: Sweep | None,
    forecast: DurationForecast | None,
) -> Advice:
    """Draw the verdict with its tiles and links; return the advice.

    `sweep` are the runs about just this problem; None where there are none or nobody may see them.
    """
    errors = None
    is_provisional = False
    if sweep is not None:
        errors = needed_errors(sweep, goal)
        is_provisional = sweep.is_provisional
    recommendation = recommend(goal, promise, errors)
    text = verdict_text(goal, recommendation, is_provisional=is_provisional, forecast=forecast)
    with inline_container(key="found"):
        draw_heading(
            text, help_text=glossary_tooltip("frontier", "workload", "sampling floor", "point")
        )
        if recommendation is not None:
            _draw_page_links(recommendation.epsilon, delta, recommendation.algorithm_name)
    whole_epsilon = parameter_widgets.DEFAULT_TOTAL_BUDGET.epsilon
    if recommendation is not None and recommendation.epsilon > whole_epsilon:
        st.caption(
            f"A weak promise: Release proposes ε = {whole_epsilon:g} for all releases together."
        )
    with st.container(key="asked-words"):
        _draw_tiles(table, problem, delta, goal, promise, recommendation, sweep)
    return Advice(goal=goal, promise=promise, recommendation=recommendation)


def _draw_tiles(
    table: Table,
    problem: QueryRelease,
    delta: float,
    goal: AccuracyGoal,
    promise: PromisedEpsilon | None,
    recommendation: Recommendation | None,
    sweep: Sweep | None,
) -> None:
    """Draw tiles of the recommended setting, else of the promise at the largest ε: errors, guess.

    Below they say what the release is good for, and how all this is known.
    """
    if recommendation is not None:
        name = recommendation.algorithm_name
        epsilon = recommendation.epsilon
    elif promise is not None:
        name = promise.algorithm_name
        epsilon = parameter_widgets.EPSILON_OPTIONS[-1]
    else:
        return
    algorithm = build_from_texts(ALGORITHMS[name], {})
    budget = Budget(epsilon, delta)
    split = None if table.trial is None else table.trial.split_budget(budget)
    tiles = [
        *_measured_tiles(sweep, name, epsilon),
        *_promise_tiles(goal, promise, problem),
        guess_tile_texts(promise_of(algorithm, problem, budget, split).max_guess_probability()),
    ]
    noisy_tables = planned_tables(problem, make_plan(algorithm, problem, budget))
    uses = NOTHING_PROMISED_TEXT
    if noisy_tables is not None:
        uses = suitable_uses(noisy_tables, problem.n, problem.group).sentence
    info_container, _ = show_tiles(tiles, uses)
    with info_container.popover(":material/info:", type="tertiary", help="How this is known"):
        for note in _basis_notes(table, problem, delta, promise, recommendation):
            st.caption(note)


def _measured_tiles(sweep: Sweep | None, name: str, epsilon: float) -> list[Tile]:
    """Return tiles of the errors that the middle run of a setting had; empty without runs."""
    if sweep is None or sweep.problem is None:
        return []
    problem = sweep.problem
    middle_run = sweep.middle_run(name, epsilon)
    if middle_run is None:
        return []
    errors = middle_run.point.errors
    n = problem.n
    unit = unit_noun(problem.group)
    points = format_percentage_points(errors["largest"])
    name_of_largest = "Largest error"
    if middle_run.answers is not None and sweep.real_answers is not None:
        name_of_largest = largest_error_name(
            Comparison(problem.workload, sweep.real_answers, middle_run.answers)
        )
    return [
        measured_error_tile(errors["misplaced"], table_columns(problem.workload), n, unit),
        largest_error_tile(name_of_largest, errors["largest"], None, n, unit, f", {points} points"),
    ]


def measured_errors_text(sweep: Sweep, dot: Dot) -> str:
    """Return the errors of a run in words: its rows in a wrong cell, and the largest error."""
    problem = sweep.problem
    errors = dot.point.errors
    unit = unit_noun(problem.group)
    misplaced = f"{format_misplaced(errors['misplaced'], problem)} {misplaced_name(problem)}"
    return (
        f"{misplaced}, largest error {format_points_and_count(errors['largest'], problem.n, unit)}"
    )


def format_misplaced(share: float, problem: QueryRelease) -> str:
    """Return the share of rows in a wrong cell as so many of a round number of rows.

    Without tables it is the error of an answer on average, in points.
    """
    if not problem.workload.tables:
        return f"{format_percentage_points(share)} points"
    return format_share_of_rows((share,))


def _promise_tiles(
    goal: AccuracyGoal, promise: PromisedEpsilon | None, problem: QueryRelease
) -> list[Tile]:
    """Return the tile of what the noise alone promises; empty where nothing is known."""
    if promise is None:
        return []
    unit_name = unit_noun(problem.group)
    frequency_text = f"promised in {format_release_share(goal.share)}"
    if promise.epsilon is None:
        largest_epsilon = parameter_widgets.format_setting(parameter_widgets.EPSILON_OPTIONS[-1])
        frequency_text = (
            f"promised in only {_format_percent_floor(promise.chance)} of releases, "
            f"even at ε = {largest_epsilon}"
        )
    needed = f"All {problem.workload.m:,} answers"
    if goal.columns != ALL_ANSWERS:
        needed = table_label(goal.columns)
    count = f"{problem.n * goal.tolerance:,.0f} of {problem.n:,} {unit_name}"
    return [(f"{needed} within", count, frequency_text)]


def _basis_notes(
    table: Table,
    problem: QueryRelease,
    delta: float,
    promise: PromisedEpsilon | None,
    recommendation: Recommendation | None,
) -> Sequence[str]:
    """Return what the verdict rests on, sentence by sentence."""
    unit_name = unit_noun(problem.group)
    notes = []
    if promise is not None:
        title = ALGORITHM_TITLES[promise.algorithm_name]
        at_epsilon = parameter_widgets.format_setting(
            promise.epsilon or parameter_widgets.EPSILON_OPTIONS[-1]
        )
        notes.append(
            f"Promised, whatever the table: with {title} at ε = {at_epsilon}, "
            f"{_format_percent_floor(promise.chance)} of releases are so near. The noise's "
            f"standard deviation is {100 * promise.sigma:.2g} points (≈ "
            f"{problem.n * promise.sigma:,.0f} {unit_name}), δ = {format_short_number(delta)}. "
            "The fitted table is usually more accurate: its errors are measured on this table."
        )
    if recommendation is not None and not recommendation.is_promised:
        notes.append(
            f"Measured in {recommendation.runs} trials on this table, all of them so near. "
            "Another release differs a little: Ranking tries more of them."
        )
        if table.uploaded:
            notes.append(CONFIDENTIAL_WARNING)
    if table.trial is not None:
        notes.append(
            "By the noise of an algorithm that has the whole budget: had the schema been known."
        )
    return notes


def _format_percent_floor(share: float) -> str:
    """Return a share in percent, rounded down to a tenth so that it is never overstated."""
    return f"{np.floor(share * 1000) / 10:g}%"


def page_query_params(name: str, epsilon: float, delta: float) -> dict[str, str]:
    """Return the query parameters of another page's address: algorithm, ε and δ.

    Table, columns and questions go there with the tab.
    """
    query_params = {
        "epsilon": parameter_widgets.format_setting(epsilon),
        "delta": parameter_widgets.format_setting(delta),
    }
    return {"algorithm": ALGORITHMS[name].about.title} | query_params


def _draw_page_links(epsilon: float, delta: float, name: str) -> None:
    """Draw links to other pages with exactly this ε, δ and algorithm."""
    query_params = page_query_params(name, epsilon, delta)
    with st.container(key="next", width="content"):
        link_label = f"**Use ε = {query_params['epsilon']} on Release**"
        st.page_link(
            "pages/release.py",
            label=link_label,
            icon=":material/publish:",
            query_params=query_params,
        )
    st.page_link(
        "pages/explore.py",
        label="Explore it",
        icon=":material/query_stats:",
        query_params=query_params,
    )
