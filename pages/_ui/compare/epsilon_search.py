"""Smallest ε for a wanted accuracy: from public noise levels where known, else from runs."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import guess_tile_texts
from dpcore.accuracy.noise_levels import probability_all_within, tolerance_for_probability
from dpcore.accuracy.predicted_error import predicted_noise_stddev
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.accuracy.usefulness import planned_tables, suitable_uses
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import format_short_number, unit_noun
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.core.types import by_name, value_object
from dpcore.evaluation.sweeps.frontier import DEFAULT_RUNS_PER_EPSILON
from dpcore.queries import Workload

from ..components import (
    draw_heading,
    glossary_tooltip,
    hide_in_stakeholder_view,
    inline_container,
    parameter_widgets,
    show_tiles,
)
from ..jobs import wait_or_draw_progress
from ..session import Table, is_stakeholder_view, session
from .minimum_epsilon import (
    CONFIDENTIAL_WARNING,
    TOLERANCE_OPTIONS,
    MinEpsilonSearch,
    draw_answers,
    format_tolerance,
)
from .sweep_jobs import ALGORITHM_TITLES, Sweep

RELEASE_SHARES = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]


@by_name
class EpsilonForecast:
    """Smallest ε of the sliders at which an algorithm's noise alone meets an accuracy goal.

    `epsilon` is None where no ε does. `chance` and `sigma`, the standard deviation of the noise,
    are
    those at ε, or at the largest ε there is; `error_by_epsilon` is how far off the answers are at
    each
    ε of the sliders, in the share of releases that was asked for.
    """

    algorithm_name: str
    epsilon: float | None
    chance: float
    sigma: float
    error_by_epsilon: dict[float, float]


@value_object
class AccuracyGoal:
    """What is near enough: all answers within a tolerance, in a share of releases."""

    tolerance: float
    share: float
    sufficient_epsilon: float | None = None  # the smallest ε known to be so
    algorithm_name: str = ""  # of the algorithm of which that is known
    # by ε, how far off the answers are by noise alone
    error_by_epsilon: dict[float, float] = field(default_factory=dict)


# by algorithm, its noise on an answer at each ε of the sliders
NoiseByAlgorithm = dict[str, dict[float, float]]


def public_noise_levels(problem: QueryRelease, delta: float) -> NoiseByAlgorithm:
    """Return each algorithm's noise standard deviation by ε, where it is publicly known.

    No row is read.
    """
    noise_levels = {}
    for name, cls in algorithms_for_problem(QueryRelease).items():
        if not hasattr(cls, "answer_noise"):
            continue
        try:
            sigmas = {
                e: predicted_noise_stddev(build_from_texts(cls, {}), problem, Budget(e, delta))
                for e in parameter_widgets.EPSILON_OPTIONS
            }
        except InputError:  # it cannot serve this problem, or this δ
            continue
        if None not in sigmas.values():
            noise_levels[name] = sigmas
    return noise_levels


def best_forecast(
    noise_levels: NoiseByAlgorithm, answers: int, tolerance: float, share: float
) -> EpsilonForecast | None:
    """Return the forecast of the algorithm that needs the smallest ε; None without any.

    There is none where no noise is known.
    """
    forecasts = [
        _forecast_algorithm(name, sigmas, answers, tolerance, share)
        for name, sigmas in noise_levels.items()
    ]
    return min(forecasts, key=lambda f: (f.epsilon is None, f.epsilon or -f.chance), default=None)


def _forecast_algorithm(
    name: str, sigmas: Mapping[float, float], answers: int, tolerance: float, share: float
) -> EpsilonForecast:
    chances = {
        epsilon: probability_all_within(tolerance, sigma, answers)
        for epsilon, sigma in sigmas.items()
    }
    sufficient_epsilon = next(
        (epsilon for epsilon, chance in chances.items() if chance >= share), None
    )
    reported_epsilon = sufficient_epsilon or parameter_widgets.EPSILON_OPTIONS[-1]
    error_by_epsilon = {
        epsilon: tolerance_for_probability(share, sigma, answers)
        for epsilon, sigma in sigmas.items()
    }
    return EpsilonForecast(
        algorithm_name=name,
        epsilon=sufficient_epsilon,
        chance=chances[reported_epsilon],
        sigma=sigmas[reported_epsilon],
        error_by_epsilon=error_by_epsilon,
    )


def draw_accuracy_goal(
    table: Table, workload: Workload, kinds: Sequence[str], delta: float
) -> AccuracyGoal | None:
    """Draw the accuracy sliders and the smallest sufficient ε; return the goal chosen there.

    The goal says how exact all answers must be; the ε comes from public numbers.
    """
    if table.schema_uses_real_data and is_stakeholder_view():
        return None
    with st.container(key="asked-what"):
        tolerance, share = _choose_goal()
    problem = QueryRelease(workload, table.n, table.unit.most_rows)
    cache_key = workload.domain, tuple(kinds), problem.effective_n, delta
    noise_levels = session().memoize(
        "public-noise", cache_key, partial(public_noise_levels, problem, delta)
    )
    epsilon_forecast = best_forecast(noise_levels, workload.m, tolerance, share)
    if epsilon_forecast is None:
        st.markdown(
            f"At δ = {format_short_number(delta)}, no algorithm here says beforehand how far off "
            f"{workload.m:,} answers are. "
            "Simulated releases can tell."
        )
        return AccuracyGoal(tolerance, share)
    with inline_container(key="found"):
        _draw_sufficient_epsilon(epsilon_forecast, delta)
    with st.container(key="asked-words"):
        _draw_forecast_tiles(table, problem, epsilon_forecast, tolerance, share, delta)
    return AccuracyGoal(
        tolerance,
        share,
        epsilon_forecast.epsilon,
        epsilon_forecast.algorithm_name,
        epsilon_forecast.error_by_epsilon,
    )


def _choose_goal() -> tuple[float, float]:
    """Draw the two sliders of the goal and return their values.

    These are how exact all answers must be, and in which share of releases.
    """
    left_column, right_column = st.columns(2)
    tolerance = left_column.select_slider(
        "All answers within",
        TOLERANCE_OPTIONS,
        0.01,
        format_tolerance,
        key="ask-tolerance",
        help="1 point is 1% of the rows. An answer says how many rows have a combination "
        "of values. Columns and questions are chosen in the sidebar.",
        bind="query-params",
    )
    share = right_column.select_slider(
        "How often?",
        RELEASE_SHARES,
        0.95,
        format_release_share,
        key="ask-share",
        bind="query-params",
    )
    return tolerance, share


def _draw_sufficient_epsilon(epsilon_forecast: EpsilonForecast, delta: float) -> None:
    """Say which ε is enough with which algorithm, with links to pages that use it."""
    title = ALGORITHM_TITLES[epsilon_forecast.algorithm_name]
    if epsilon_forecast.epsilon is None:
        draw_heading(f"No ε of the sliders is enough with {title}")
        return
    epsilon_text = parameter_widgets.format_setting(epsilon_forecast.epsilon)
    draw_heading(
        f"★ Budget ε = {epsilon_text} is enough with {title}",
        help_text=glossary_tooltip("frontier", "workload", "sampling floor", "point"),
    )
    _draw_page_links(epsilon_forecast.epsilon, delta, epsilon_forecast.algorithm_name)


def format_release_share(share: float) -> str:
    """Return a share of releases as the slider shows it."""
    return f"{100 * share:g}% of releases"


def _draw_forecast_tiles(
    table: Table,
    problem: QueryRelease,
    epsilon_forecast: EpsilonForecast,
    tolerance: float,
    share: float,
    delta: float,
) -> None:
    """Draw tiles for a forecast: predicted error, guess rate, possible uses and its basis.

    The predicted error is how near all answers are; the guess is one about a person.
    """
    epsilon = epsilon_forecast.epsilon or parameter_widgets.EPSILON_OPTIONS[-1]
    unit_name = unit_noun(table.unit.most_rows)
    tolerance_text = f"{problem.n * tolerance:,.0f} of {problem.n:,} {unit_name}"
    frequency_text = f"in {format_release_share(share)}"
    if epsilon_forecast.epsilon is None:
        frequency_text = (
            f"in only {_format_percent_floor(epsilon_forecast.chance)} of releases, "
            f"even at ε = {parameter_widgets.format_setting(epsilon)}"
        )
    algorithm = build_from_texts(ALGORITHMS[epsilon_forecast.algorithm_name], {})
    budget = Budget(epsilon, delta)
    plan = make_plan(algorithm, problem, budget)
    split = None if table.trial is None else table.trial.split_budget(budget)
    promise = promise_of(algorithm, problem, budget, split)
    predicted_noise = planned_tables(problem, plan)
    tiles = [
        (f"All {problem.workload.m:,} answers within", tolerance_text, frequency_text),
        guess_tile_texts(promise.max_guess_probability()),
    ]
    info_container, _ = show_tiles(tiles, suitable_uses(predicted_noise, problem.n).sentence)
    with info_container.popover(":material/info:", type="tertiary", help="How this is known"):
        st.caption(
            f"With {ALGORITHM_TITLES[epsilon_forecast.algorithm_name]}, "
            f"{_format_percent_floor(epsilon_forecast.chance)} of releases at this ε are so "
            "near. The noise's "
            f"standard deviation is {100 * epsilon_forecast.sigma:.2g} points (≈ "
            f"{problem.n * epsilon_forecast.sigma:,.0f} {unit_name}), "
            f"δ = {format_short_number(delta)}. The fitted table is usually more accurate. Only "
            "simulated releases can tell: see "
            "Ranking."
        )
        if table.trial is not None:
            st.caption(
                "By the noise of an algorithm that has the whole budget: had the schema been known."
            )


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


@hide_in_stakeholder_view
def draw_search_by_runs(
    table: Table, sweep: Sweep, goal: AccuracyGoal, names: Sequence[str]
) -> None:
    """Answer the same question for any algorithm by runs on the real rows, and on a press only."""
    draw_heading("Which ε does each algorithm need?", Provenance.REAL_DATA)
    pressed = st.button(
        "Check with simulated releases",
        icon=":material/search:",
        key="ask-by-runs",
        help=f"{DEFAULT_RUNS_PER_EPSILON} runs at each ε tried, of every algorithm chosen, are "
        "compared with the real answers.",
    )
    search = session().get_or_create("ask", MinEpsilonSearch)
    search_key = sweep.requested, goal.tolerance, goal.share, tuple(names)
    if pressed:
        search.start_search(search_key, sweep, goal.tolerance, goal.share)
    if search.requested != search_key or not search.searches:
        return
    if table.uploaded:
        st.warning(CONFIDENTIAL_WARNING)
    if wait_or_draw_progress(search.group, "ask", draw_partial=lambda: draw_answers(search)):
        draw_answers(search)
