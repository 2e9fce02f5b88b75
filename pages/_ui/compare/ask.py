"""Ask first: how small may ε be for one question? From public numbers where the noise is known, else from runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import streamlit as st

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.data.choice import first_columns
from dpcore.errors import InputError
from dpcore.experiments.foretold import public_noise
from dpcore.experiments.frontier import RUNS
from dpcore.numbers import brief
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag
from dpcore.theory.noise import all_within, reach
from dpcore.workloads import Marginals

from ..jobs.counting import have
from ..jobs.job import watch
from ..shell import controls
from ..shell.frame import heading, peek
from ..shell.session import session
from ..shell.state import shared, stakeholder
from ..shell.table import COMFORTABLE_CELLS, Table
from ..shell.text import distinct, plain
from .solve import CONFIDENTIAL, TOLERANCES, Solving, points_words, show
from .sweeps import TITLES, Sweep

SHARES = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]
KINDS = ["every single column", "every pair", "every triple"]  # by the number of columns asked about, as questions are


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True)
class Asked:
    """A question: all combinations of some columns within a tolerance, in a share of releases, at a δ."""

    problem: QueryRelease
    tolerance: float
    share: float
    delta: float
    enough: float | None = None  # the smallest ε known to be so
    reached: dict[float, float] = field(default_factory=dict)  # by ε, how far off these answers alone are

    @property
    def words(self) -> str:
        """The columns."""
        return " × ".join(plain(name) for name in self.problem.domain.names)


def forecasts(problem: QueryRelease, delta: float, tolerance: float, share: float) -> list[Forecast]:
    """One for each algorithm whose noise is public here, the smallest ε first; no record is read."""
    found = []
    for name, cls in solving(QueryRelease).items():
        try:
            found += _forecast(name, build(cls, {}), problem, delta, tolerance, share)
        except InputError:  # it cannot serve this problem, or this δ
            continue
    return sorted(found, key=lambda f: (f.epsilon is None, f.epsilon or -f.chance))


def _forecast(name, algorithm, problem, delta, tolerance, share) -> list[Forecast]:  # noqa: ANN001
    sigmas = {}
    for epsilon in controls.EPSILONS:
        sigmas[epsilon] = public_noise(algorithm, problem, Budget(epsilon, delta))
        if sigmas[epsilon] is None:
            return []
    m = problem.workload.m
    chances = {epsilon: all_within(tolerance, sigma, m) for epsilon, sigma in sigmas.items()}
    enough = next((epsilon for epsilon, chance in chances.items() if chance >= share), None)
    at = enough or controls.EPSILONS[-1]
    reached = {epsilon: reach(share, sigma, m) for epsilon, sigma in sigmas.items()}
    return [Forecast(name=name, epsilon=enough, chance=chances[at], sigma=sigmas[at], reached=reached)]


def front_door(table: Table, delta: float) -> Asked | None:
    """The question, and the smallest ε that answers it by public numbers; returns what was asked."""
    if table.peeked and stakeholder():
        return None
    with st.container(key="asked-what"):
        found = _question(table)
    if found is None:
        return None
    columns, tolerance, share = found
    domain = table.domain.project(columns)
    workload = Marginals(domain, [domain.names])
    problem = QueryRelease(workload, table.n, table.unit.most_rows)
    asked = Asked(problem, tolerance, share, delta)
    found = forecasts(problem, delta, tolerance, share)
    if not found:
        st.markdown(
            f"At δ = {brief(delta)}, no algorithm here says beforehand how far off {workload.m:,} answers are. "
            "Simulated releases can tell."
        )
        return asked
    forecast = found[0]
    sigma = f"{100 * forecast.sigma:.2g} points (≈ {problem.n * forecast.sigma:,.0f} rows)"
    finding, answers = _said(forecast, asked)
    with st.container(horizontal=True, vertical_alignment="center"):
        heading(finding)
        if forecast.epsilon is not None:
            _take(table, columns, forecast.epsilon, delta, forecast.name)
    st.container(key="asked-words").markdown(
        answers,
        help=f"Known without looking at a row: with {TITLES[forecast.name]}, {_percent(forecast.chance)} of releases "
        f"at this ε are. The noise's standard deviation is {sigma}, δ = {brief(delta)}. The fitted table is usually "
        "more accurate. Only simulated releases can tell: see Ranking.",
    )
    if table.trial is not None:
        st.caption("By the noise of an algorithm that has the whole budget: had the schema been known.")
    return replace(asked, enough=forecast.epsilon, reached=forecast.reached)


def _question(table: Table) -> tuple[list[str], float, float] | None:
    """The widgets: columns, tolerance, share of runs."""
    left, middle, right = st.columns([2, 1, 1])
    names, first = list(table.domain.names), first_columns(table.domain, COMFORTABLE_CELLS)[:2]
    # A column's name goes into no address of an upload.
    key = f"ask-{table.version if table.uploaded else table.name}"
    columns = left.multiselect(
        "I need", names, first, format_func=distinct(names).get, key=key, max_selections=len(KINDS), **shared(),
        help="Every combination of the values of these columns: how many rows have it. Asked alone.",
    )  # fmt: skip
    tolerance = middle.select_slider("within", TOLERANCES, 0.01, points_words, key="ask-tolerance", bind="query-params")
    share = right.select_slider("in", SHARES, 0.95, share_words, key="ask-share", bind="query-params")
    if not columns:
        st.caption("Choose a column.")
        return None
    return columns, tolerance, share


def share_words(share: float) -> str:
    """A share of releases as the slider shows it."""
    return f"{100 * share:g}% of releases"


def _said(forecast: Forecast, asked: Asked) -> tuple[str, str]:
    """The finding as a headline, and what it means in numbers."""
    n, tolerance = asked.problem.n, asked.tolerance
    answers = f"All {asked.problem.workload.m:,} shares are within {points_words(tolerance)}"
    answers += f" (≈ {n * tolerance:,.0f} of {n:,} rows)"
    if forecast.epsilon is None:
        largest = controls.number(controls.EPSILONS[-1])
        only = f"in only {_percent(forecast.chance)} of releases, even at ε = {largest}."
        return f"No ε of the sliders is enough for {asked.words} alone", f"{answers} {only}"
    finding = f"★ ε = {controls.number(forecast.epsilon)} is enough for {asked.words} alone"
    return finding, f"{answers} in at least {100 * asked.share:g}% of releases."


def _percent(share: float) -> str:
    """Rounded down: what is said is kept."""
    return f"{np.floor(share * 1000) / 10:g}%"


def _take(table: Table, columns: list[str], epsilon: float, delta: float, name: str) -> None:
    """Links to pages with exactly this; for an upload the columns in words, as no address may name them."""
    facts: dict[str, Any] = {"algorithm": ALGORITHMS[name].about.title}
    facts |= {"epsilon": controls.number(epsilon), "delta": controls.number(delta)}
    kind = KINDS[len(columns) - 1]
    if not table.uploaded:
        facts |= {f"columns-{table.name}": columns, "questions": [kind]}
    with st.container(key="next", width="content"):
        words = f"**Use ε = {facts['epsilon']} on Release**"
        st.page_link("pages/release.py", label=words, icon=":material/publish:", query_params=facts)
    st.page_link("pages/explore.py", label="See it on Explore", icon=":material/query_stats:", query_params=facts)
    if table.uploaded:
        st.caption(f"There, choose {plain(', '.join(columns), 200)} as the columns, and questions about {kind}.")


@peek
def by_runs(table: Table, asked: Asked, names: Sequence[str]) -> None:
    """Answer the same question for any algorithm by runs on the real rows, and on a press only."""
    heading(f"Which ε does each algorithm need for {asked.words}?", Tag.PEEK)
    pressed = st.button(
        "Check with simulated releases", icon=":material/search:", key="ask-by-runs",
        help=f"{RUNS} runs at each ε tried, of every algorithm chosen, are compared with the real answers.",
    )  # fmt: skip
    search, sweep, problem = session().own("ask", Solving), session().own("ask-runs", Sweep), asked.problem
    if not have(table, problem.workload, "ask"):
        return
    rows = table.rows(problem.domain.names)
    key = (table, rows, problem.domain.names, asked.tolerance, asked.share, asked.delta, tuple(names))
    if pressed:
        sweep.hold(key, lambda: (problem, rows, None), table.trial)
        search.begin(sweep, list(names), asked.tolerance, asked.delta, asked.share)
    if search.asked != key or not search.searches:
        return
    if table.uploaded:
        st.warning(CONFIDENTIAL)
    if watch(search, "ask", live=lambda: show(search)):
        show(search)
