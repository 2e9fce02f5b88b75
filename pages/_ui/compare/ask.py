"""Ask first: how small may ε be for one question? From public numbers where the noise is known, else from runs."""

from collections.abc import Sequence
from dataclasses import dataclass
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
from dpcore.theory.noise import all_within
from dpcore.workloads import Marginals

from ..jobs.counting import have
from ..jobs.job import watch
from ..shell import controls
from ..shell.frame import peek
from ..shell.session import session
from ..shell.state import shared, stakeholder
from ..shell.table import COMFORTABLE_CELLS, Table
from ..shell.text import clean, plain
from .solve import CONFIDENTIAL, TOLERANCES, Solving, points_words, show
from .sweeps import Sweep

SHARES = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]
KINDS = ["every single column", "every pair", "every triple"]  # by the number of columns asked about, as questions are


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The smallest ε of the sliders at which the noisy answers are near enough, by the noise alone; None: no ε is.

    `chance` and `sigma`, the deviation of the noise, are those at ε, or at the largest ε there is.
    """

    name: str
    epsilon: float | None
    chance: float
    sigma: float


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
    chance = sigma = 0.0
    for epsilon in controls.EPSILONS:
        noise = public_noise(algorithm, problem, Budget(epsilon, delta))
        if noise is None:
            return []
        # Where it is published exactly, noise is whole: in steps of one record.
        sigma, chance = noise, all_within(tolerance, noise, problem.workload.m, step=1 / problem.n)
        if chance >= share:
            return [Forecast(name=name, epsilon=epsilon, chance=chance, sigma=sigma)]
    return [Forecast(name=name, epsilon=None, chance=chance, sigma=sigma)]


def front_door(table: Table, delta: float, names: Sequence[str]) -> None:
    """The question, and the smallest ε that answers it: from public numbers; on a press also for `names`, from runs."""
    if table.peeked and stakeholder():
        return
    asked = _question(table)
    if asked is None:
        return
    columns, tolerance, share = asked
    workload = Marginals(table.domain.project(columns), [tuple(table.domain.project(columns).names)])
    problem = QueryRelease(workload, table.n, table.unit.most_rows)
    found = forecasts(problem, delta, tolerance, share)
    words = " × ".join(plain(name) for name in workload.domain.names)
    for forecast in found:
        sigma = f"{100 * forecast.sigma:.2g} points (≈ {problem.n * forecast.sigma:,.0f} rows)"
        st.markdown(
            _said(forecast, problem, words, tolerance),
            help=f"Known with no data used: the noise's standard deviation is {sigma}, δ = {brief(delta)}. The "
            "fitted table is usually more accurate. Only simulated releases can tell.",
        )
    if not found:
        st.markdown(
            f"At δ = {brief(delta)}, no algorithm here says beforehand how far off {workload.m:,} answers are. "
            "Simulated releases can tell."
        )
    if found and table.trial is not None:
        st.caption("By the noise of an algorithm that has the whole budget: had the schema been known.")
    best = found[0].epsilon if found else None
    with st.container(horizontal=True, vertical_alignment="center"):
        if best is not None:
            _take(table, columns, best, delta, found[0].name)
        pressed = not stakeholder() and st.button(
            "Check with simulated releases", icon=":material/search:", key="ask-by-runs",
            help=f"{RUNS} runs at each ε tried, of every algorithm chosen, are compared with the real answers.",
        )  # fmt: skip
    by_runs(pressed, table, problem, tolerance, share, delta, names)


def _question(table: Table) -> tuple[list[str], float, float] | None:
    """The widgets: columns, tolerance, share of runs."""
    left, middle, right = st.columns([2, 1, 1])
    names, first = list(table.domain.names), first_columns(table.domain, COMFORTABLE_CELLS)[:2]
    # A column's name goes into no address of an upload.
    key = f"ask-{table.version if table.uploaded else table.name}"
    columns = left.multiselect(
        "I need", names, first, format_func=clean, key=key, max_selections=len(KINDS), **shared(),
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


def _said(forecast: Forecast, problem: QueryRelease, words: str, tolerance: float) -> str:
    title, n = ALGORITHMS[forecast.name].about.title, problem.n
    answers = f"all {problem.workload.m:,} noisy answers about {words}"
    within = f"within {points_words(tolerance)} (≈ {n * tolerance:,.0f} of {n:,} rows)"
    chance = _percent(forecast.chance)
    if forecast.epsilon is None:
        return (
            f"**No ε of the sliders is enough with {title}**: even at ε = {controls.number(controls.EPSILONS[-1])} "
            f"{answers} are {within} in only {chance} of releases."
        )
    return (
        f"**ε = {controls.number(forecast.epsilon)} with {title}**: {answers} are {within} in at least {chance} "
        "of releases."
    )


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
    for label, page, icon in (("Explore", "explore", "query_stats"), ("Release", "release", "publish")):
        st.page_link(f"pages/{page}.py", label=f"Use this on {label}", icon=f":material/{icon}:", query_params=facts)
    if table.uploaded:
        st.caption(f"There, choose {plain(', '.join(columns), 200)} as the columns, and questions about {kind}.")


@peek
def by_runs(
    pressed: bool, table: Table, problem: QueryRelease, tolerance: float, share: float, delta: float,
    names: Sequence[str],
) -> None:  # fmt: skip
    """Answer the same question for any algorithm by runs on the real rows, and on a press only."""
    search, sweep = session().own("ask", Solving), session().own("ask-runs", Sweep)
    if not have(table, problem.workload, "ask"):
        return
    rows = table.rows(problem.domain.names)
    key = (table, rows, problem.domain.names, tolerance, share, delta, tuple(names))
    if pressed:
        sweep.hold(key, lambda: (problem, rows, None), table.trial)
        search.begin(sweep, list(names), tolerance, delta, share)
    if search.asked != key or not search.searches:
        return
    if table.uploaded:
        st.warning(CONFIDENTIAL)
    if watch(search, "ask", live=lambda: show(search)):
        show(search)
