"""Ask first: how small may ε be for all that is asked? From public numbers where the noise is known, else from runs."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial

import numpy as np
import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy.meaning_of_epsilon import guess_tile
from dpcore.accuracy.noise_levels import all_within, reach
from dpcore.accuracy.predicted_error import public_noise
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.accuracy.usefulness import foreseen, foreseen_sizes, uses
from dpcore.algorithms import solving
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.numbers import brief, noun
from dpcore.core.parameters import build
from dpcore.core.provenance import Tag
from dpcore.core.types import by_name, value_object
from dpcore.evaluation.sweeps.frontier import RUNS
from dpcore.queries import Workload
from dpcore.release.tiles import foretold

from ..components import heading, meaning, parameter_widgets, peek, row, show_tiles
from ..jobs import watch
from ..session import Table, session, stakeholder
from .minimum_epsilon import CONFIDENTIAL, TOLERANCES, Solving, points_words, show
from .sweep_jobs import TITLES, Sweep

SHARES = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]


@by_name
class Forecast:
    """The smallest ε of the sliders at which the noisy answers are near enough, by the noise alone; None: no ε is.

    `chance` and `sigma`, the deviation of the noise, are those at ε, or at the largest ε there is; `reached` is how far
    off the answers are at each ε of the sliders, in the share of releases that was asked for.
    """

    name: str
    epsilon: float | None
    chance: float
    sigma: float
    reached: dict[float, float]


@value_object
class Goal:
    """What is near enough: all answers within a tolerance, in a share of releases."""

    tolerance: float
    share: float
    enough: float | None = None  # the smallest ε known to be so
    name: str = ""  # of the algorithm of which that is known
    reached: dict[float, float] = field(default_factory=dict)  # by ε, how far off the answers are by noise alone


Noises = dict[str, dict[float, float]]  # by algorithm, its noise on an answer at each ε of the sliders


def noises(problem: QueryRelease, delta: float) -> Noises:
    """The deviations of the algorithms whose noise is public here; no record is read."""
    noise_levels = {}
    for name, cls in solving(QueryRelease).items():
        if not hasattr(cls, "answer_noise"):
            continue
        try:
            sigmas = {e: public_noise(build(cls, {}), problem, Budget(e, delta)) for e in parameter_widgets.EPSILONS}
        except InputError:  # it cannot serve this problem, or this δ
            continue
        if None not in sigmas.values():
            noise_levels[name] = sigmas
    return noise_levels


def forecast(known: Noises, answers: int, tolerance: float, share: float) -> Forecast | None:
    """What the algorithm with the smallest ε needs; None where no noise is known."""
    forecasts = [_forecast(name, sigmas, answers, tolerance, share) for name, sigmas in known.items()]
    return min(forecasts, key=lambda f: (f.epsilon is None, f.epsilon or -f.chance), default=None)


def _forecast(name: str, sigmas: Mapping[float, float], answers: int, tolerance: float, share: float) -> Forecast:
    chances = {epsilon: all_within(tolerance, sigma, answers) for epsilon, sigma in sigmas.items()}
    sufficient_epsilon = next((epsilon for epsilon, chance in chances.items() if chance >= share), None)
    reported_epsilon = sufficient_epsilon or parameter_widgets.EPSILONS[-1]
    error_by_epsilon = {epsilon: reach(share, sigma, answers) for epsilon, sigma in sigmas.items()}
    return Forecast(
        name=name,
        epsilon=sufficient_epsilon,
        chance=chances[reported_epsilon],
        sigma=sigmas[reported_epsilon],
        reached=error_by_epsilon,
    )


def front_door(table: Table, workload: Workload, kinds: Sequence[str], delta: float) -> Goal | None:
    """How exact all answers must be, and the smallest ε at which they are by public numbers; returns what was asked."""
    if table.peeked and stakeholder():
        return None
    with st.container(key="asked-what"):
        left_column, right_column = st.columns(2)
        help_text = "1 point is 1% of the rows. An answer says how many rows have a combination of values. Columns and "
        help_text += "questions are chosen in the sidebar."
        tolerance = left_column.select_slider(
            "All answers within",
            TOLERANCES,
            0.01,
            points_words,
            key="ask-tolerance",
            help=help_text,
            bind="query-params",
        )
        share = right_column.select_slider(
            "How often?", SHARES, 0.95, share_words, key="ask-share", bind="query-params"
        )
    problem = QueryRelease(workload, table.n, table.unit.most_rows)
    cache_key = workload.domain, tuple(kinds), problem.effective_n, delta
    noise_levels = session().memo("public-noise", cache_key, partial(noises, problem, delta))
    epsilon_forecast = forecast(noise_levels, workload.m, tolerance, share)
    if epsilon_forecast is None:
        st.markdown(
            f"At δ = {brief(delta)}, no algorithm here says beforehand how far off {workload.m:,} answers are. "
            "Simulated releases can tell."
        )
        return Goal(tolerance, share)
    help_text = meaning("frontier", "workload", "sampling floor", "point")
    with row(key="found"):
        if epsilon_forecast.epsilon is None:
            heading(f"No ε of the sliders is enough with {TITLES[epsilon_forecast.name]}")
        else:
            heading(
                f"★ Budget ε = {parameter_widgets.number(epsilon_forecast.epsilon)} is enough with "
                f"{TITLES[epsilon_forecast.name]}",
                words=help_text,
            )
            _take(epsilon_forecast.epsilon, delta, epsilon_forecast.name)
    with st.container(key="asked-words"):
        _told(table, problem, epsilon_forecast, tolerance, share, delta)
    return Goal(tolerance, share, epsilon_forecast.epsilon, epsilon_forecast.name, epsilon_forecast.reached)


def share_words(share: float) -> str:
    """A share of releases as the slider shows it."""
    return f"{100 * share:g}% of releases"


def _told(
    table: Table, problem: QueryRelease, found: Forecast, tolerance: float, share: float, delta: float
) -> None:  # fmt: skip
    """Tiles: how near all answers are, and a guess about a person; what the release is good for; how that is known."""
    epsilon = found.epsilon or parameter_widgets.EPSILONS[-1]
    unit_name = noun(table.unit.most_rows)
    tolerance_text = f"{problem.n * tolerance:,.0f} of {problem.n:,} {unit_name}"
    frequency_text = f"in {share_words(share)}"
    if found.epsilon is None:
        frequency_text = (
            f"in only {_percent(found.chance)} of releases, even at ε = {parameter_widgets.number(epsilon)}"
        )
    algorithm = build(ALGORITHMS[found.name], {})
    budget = Budget(epsilon, delta)
    plan = make_plan(algorithm, problem, budget)
    schema = None if table.trial is None else table.trial.share(budget)
    promise = promise_of(algorithm, problem, budget, schema)
    predicted_noise = foreseen(problem, plan)
    typical_error_tile = foretold(foreseen_sizes(predicted_noise, problem.workload), None, problem.n, unit_name)[:1]
    tiles = [
        *typical_error_tile,
        (f"All {problem.workload.m:,} answers within", tolerance_text, frequency_text),
        guess_tile(promise.guess()),
    ]
    info_container, _ = show_tiles(tiles, uses(predicted_noise, problem.n).sentence)
    with info_container.popover(":material/info:", type="tertiary", help="How this is known"):
        st.caption(
            f"With {TITLES[found.name]}, {_percent(found.chance)} of releases at this ε are so near. The noise's "
            f"standard deviation is {100 * found.sigma:.2g} points (≈ {problem.n * found.sigma:,.0f} {unit_name}), "
            f"δ = {brief(delta)}. The fitted table is usually more accurate. Only simulated releases can tell: see "
            "Ranking."
        )
        if table.trial is not None:
            st.caption("By the noise of an algorithm that has the whole budget: had the schema been known.")


def _percent(share: float) -> str:
    """Rounded down: what is said is kept."""
    return f"{np.floor(share * 1000) / 10:g}%"


def facts(name: str, epsilon: float, delta: float) -> dict[str, str]:
    """What the address of another page says; table, columns and questions go there with the tab."""
    query_params = {"epsilon": parameter_widgets.number(epsilon), "delta": parameter_widgets.number(delta)}
    return {"algorithm": ALGORITHMS[name].about.title} | query_params


def _take(epsilon: float, delta: float, name: str) -> None:
    """Links to pages with exactly this."""
    query_params = facts(name, epsilon, delta)
    with st.container(key="next", width="content"):
        link_label = f"**Use ε = {query_params['epsilon']} on Release**"
        st.page_link("pages/release.py", label=link_label, icon=":material/publish:", query_params=query_params)
    st.page_link("pages/explore.py", label="Explore it", icon=":material/query_stats:", query_params=query_params)


@peek
def by_runs(table: Table, sweep: Sweep, asked: Goal, names: Sequence[str]) -> None:
    """Answer the same question for any algorithm by runs on the real rows, and on a press only."""
    heading("Which ε does each algorithm need?", Tag.PEEK)
    pressed = st.button(
        "Check with simulated releases", icon=":material/search:", key="ask-by-runs",
        help=f"{RUNS} runs at each ε tried, of every algorithm chosen, are compared with the real answers.",
    )  # fmt: skip
    search = session().own("ask", Solving)
    search_key = sweep.asked, asked.tolerance, asked.share, tuple(names)
    if pressed:
        search.begin(search_key, sweep, asked.tolerance, asked.share)
    if search.asked != search_key or not search.searches:
        return
    if table.uploaded:
        st.warning(CONFIDENTIAL)
    if watch(search, "ask", live=lambda: show(search)):
        show(search)
