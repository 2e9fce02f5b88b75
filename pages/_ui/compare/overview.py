"""The Compare page's first half: what is compared, the frontier, the regret table and a dot's own facts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore import ALGORITHMS, Budget, QueryRelease, Rows
from dpcore.accuracy.work_forecast import in_bytes
from dpcore.algorithms import solving
from dpcore.core.numbers import brief, points
from dpcore.core.parameters import build
from dpcore.core.provenance import Tag
from dpcore.evaluation.error_diagnosis import baselines, draw, empirical
from dpcore.evaluation.run import Comparison
from dpcore.evaluation.sweeps.frontier import middles, regret
from dpcore.queries import Workload

from ..charts import frontier_charts
from ..components import QUIET, below, heading, lacking, parameter_widgets, peek, question_choice
from ..session import Table, shared
from . import duration_forecast, theory_curves, unbiased_limit
from .epsilon_search import Goal, facts
from .error_measures import Measure
from .minimum_epsilon import points_words
from .sweep_jobs import TITLES, Dot, Sweep

FIRST = ("gaussian_maxent", "aim", "mwem")
EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0)
CHANCE = "luck of the sample"
LINES = [CHANCE, "guessing without data", "each column alone"]
SIZES = {"the table itself": 0.0, "a tenth of its rows": 0.1, "as many rows": 1.0, "ten times as many": 10.0}


Planned = tuple[float, Callable[[], None]]  # the seconds of what has not run yet, and what starts it


def settings(table: Table, sweep: Sweep) -> tuple[Workload, Callable[[float | None], Planned]]:
    """The widgets of what to compare; its questions, and what plans it, also at an ε that is advised.

    Raises InputError for bad choices.
    """
    known = solving(QueryRelease)
    workload, _ = question_choice.choose(table)
    kinds = tuple(st.session_state["questions"])
    first = [name for name in FIRST if name in known]
    with st.expander("Algorithms, budgets", icon=":material/tune:"):
        names = st.multiselect(
            "Algorithms", list(known), first, format_func=TITLES.__getitem__, key="compared", bind="query-params"
        )
        values = st.multiselect(
            "Privacy budgets (ε)", parameter_widgets.EPSILONS, EPSILONS, parameter_widgets.number,
            key="epsilons", bind="query-params",
            help="The budget that is advised is always tried too.",
        )  # fmt: skip
        words = "The table as it is, or tables drawn at random from its population. For an upload, the upload is taken "
        words += "as the population. Then both errors are shown."
        size = st.selectbox("Rows", list(SIZES), key="records", help=words, **shared())
        words = "Runs of each algorithm at each ε, with fresh noise."
        seeds = st.number_input("Repeats", 1, 20, 3, key="sweep-seeds", bind="query-params", help=words)
        delta = parameter_widgets.delta_slider()

    n = max(2, round(SIZES[size] * table.n)) if SIZES[size] else table.n

    def make() -> tuple[QueryRelease, Any, np.ndarray | None]:
        rows, population = table.rows(workload.domain.names), table.whence(workload.domain.names)
        if not SIZES[size]:
            return QueryRelease(workload, n, table.unit.most_rows), rows, population
        P = empirical(workload.domain, rows) if population is None else population
        return QueryRelease(workload, n), draw(workload.domain, P, n, np.random.default_rng(0)), P

    def planned(advised: float | None) -> Planned:
        budgets = [Budget(float(v), delta) for v in sorted({*values, advised} - {None})]
        task = table, table.version, kinds, table.rows(workload.domain.names), table.unit.most_rows, delta, size
        algorithms = {name: build(known[name], {}) for name in names}
        what = table.version, workload.domain.names, kinds, n
        there = sweep.found if sweep.asked == task else {}
        problem = QueryRelease(workload, n, table.unit.most_rows)
        seconds = duration_forecast.say(what, problem, names, budgets, int(seeds), sweep, there)
        foreseen = duration_forecast.foreseen(what)
        start = partial(sweep.start, task, make, algorithms, budgets, range(int(seeds)), table.trial, foreseen)
        return seconds, start

    return workload, planned


def enough(sweep: Sweep, asked: Goal | None) -> float | None:
    """The one ε the page speaks of: the promised one, else the smallest at which an algorithm kept all its repeats."""
    if asked is None:
        return None
    worst = sweep.middles("max_error").groupby("epsilon")["high"].min()
    return asked.enough or min(worst.index[worst <= asked.tolerance], default=None)


@peek
def panel(
    sweep: Sweep, measure: Measure, other: tuple[str, Comparison] | None, look: DeltaGenerator, asked: Goal | None
) -> Dot | None:  # fmt: skip
    """Draw the frontier with its sentence, its settings at `look`; returns the dot that was clicked, if any.

    What was `asked` is a line of its own: how far off noise alone is, with the one ε on it.
    """
    dots = sweep.table(measure.of)
    middle = middles(dots)
    if not len(middle):
        st.info("No finished run has this error yet.")
        return None
    least = unbiased_limit.line(sweep, middle)
    with look:
        wanted = st.multiselect("Lines to compare with", LINES, key="lines", bind="query-params")
        curves, owners = theory_curves.choose(sweep, middle)
    floors = floors_of(sweep, measure.name, population=measure.population)
    levels = {f"{name}: {floor:.2g}": floor for name, floor in floors.items() if name in wanted}
    planned = [case.budget.epsilon for case in sweep.planned]
    zone, star = None, None
    if asked is not None and measure.name == "max_error":
        zone = 100 * asked.tolerance
        levels = {f"within {points_words(asked.tolerance)}": zone} | levels
        own = {epsilon: 100 * off for epsilon, off in asked.reached.items() if min(planned) <= epsilon <= max(planned)}
        if own:
            promise = f"{100 * asked.share:g}% promised for {TITLES[asked.name].partition(' + ')[0]}"
            curves |= {promise: (np.array([*own]), np.array([*own.values()]))}
            owners |= {promise: asked.name}
        if asked.enough in own:
            star = asked.enough, own[asked.enough]
    if other is not None and measure.name is not None and not measure.population:
        levels[other[0]] = 100 * getattr(other[1].errors, measure.name)
    if measure.name == "rmse" and not measure.population:
        curves |= unbiased_limit.curve(least)
    figure = frontier_charts.frontier(
        dots.dropna(subset=["error"]), middle, levels, frontier_charts.look(list(solving(QueryRelease))),
        title=measure.words, curves=curves, titles=TITLES, planned=planned, zone=zone, star=star,
        owners=owners,
    )  # fmt: skip
    summary = _best(sweep, measure, middle, enough(sweep, asked))
    event = st.plotly_chart(
        figure, key="frontier", alt=summary, config=QUIET, on_select="rerun", selection_mode="points"
    )
    below(summary, lines(dots), "frontier")
    with look:
        unbiased_limit.words(sweep, least)
    picked = [p["customdata"] for p in event.selection.points if p.get("customdata")]  # type: ignore[union-attr]
    same = (d for d in sweep.shown if [[d.point.algorithm, d.point.epsilon, d.point.seed]] == picked[:1])
    return next(same, None)


def _best(sweep: Sweep, measure: Measure, middle: pd.DataFrame, at: float | None) -> str:
    """Which algorithm is best, and how good it and the next are: at an ε if it was tried there, else at the largest.

    Over all questions, the best is also as exact as a sample of so many people.
    """
    tried = middle[middle["epsilon"] == (at if at in set(middle["epsilon"]) else middle["epsilon"].max())]
    best, *others = tried.nsmallest(2, "error").itertuples()
    words = f"At ε = {best.epsilon:g}, {TITLES[best.algorithm]} is best: "
    words += f"{measure.words.partition(',')[0]} {best.error:.2g} points"
    words += "".join(f" ({TITLES[other.algorithm]}: {other.error:.2g})" for other in others)
    runs = sweep.middles("as_exact_as_sample").set_index(["algorithm", "epsilon"])["error"]
    if (same := runs.get((best.algorithm, best.epsilon))) is not None:
        words += f", as exact as counting {points(same)}% of people"
    return f"{words}. Marks: unprotected trials on real rows."


def lines(dots: pd.DataFrame) -> pd.DataFrame:
    """The runs as a table: by ε and error, algorithms by their titles, nothing that is not known."""
    known = dots.dropna(subset=["error"]).sort_values(["epsilon", "error", "seed"], kind="stable")
    known = known.assign(algorithm=known["algorithm"].map(TITLES))
    return known.dropna(axis="columns", how="any").reset_index(drop=True)


def floors_of(sweep: Sweep, name: str | None, *, population: bool = False) -> dict[str, float]:
    """The baselines of an error, in points, against the table or its population, by their words; none without them."""
    if name is None or sweep.problem is None or not isinstance(sweep.rows, Rows):  # counts cannot be drawn from
        return {}
    if sweep.baselines is None:
        sweep.baselines = baselines(sweep.problem, sweep.rows, sweep.beside)
    words = {"sampling": CHANCE} if population else dict(zip(("resampling", "uniform", "independent"), LINES))  # noqa: B905
    values = {words[key]: getattr(base.errors, name) for key, base in sweep.baselines.items() if key in words}
    return {key: 100 * value for key, value in values.items() if value}


@peek
def regrets(sweep: Sweep, measure: Measure) -> None:
    """How many times the best error each choice has."""
    heading("How much worse are the other algorithms?", Tag.PEEK)
    middle = middles(sweep.table(measure.of))
    if not len(middle):
        return
    table = regret(middle)
    table["memory"] = [in_bytes(float(size)) for size in pd.to_numeric(table["memory"])]
    shown = table.rename(columns={c: f"ε = {c:g}" for c in table.columns if not isinstance(c, str)})
    shown.insert(0, "algorithm", [TITLES[str(name)] for name in shown.index])
    words = "Largest peak above the start of a run."
    config = {
        "memory": st.column_config.TextColumn(help=words),
        "seconds": st.column_config.NumberColumn(help="Median of a run's own time."),
    }
    for column in (c for c in shown.columns if c.startswith("ε")):  # as text: an empty number would read "None"
        shown[column] = shown[column].map("{:.2f} ×".format, na_action="ignore").fillna("")
    st.dataframe(shown.style.format({"seconds": "{:.2f} s"}), column_config=config, hide_index=True)
    st.caption(
        "How many times the smallest error at the same ε (median of the repeats). The best on the whole comes first."
    )
    briefs = (f"**{TITLES[name]}**: {ALGORITHMS[name].about.brief}" for name in table.index)
    st.caption(" · ".join(briefs))
    lacking([dot.point for dot in sweep.shown], TITLES)


@peek
def dot(chosen: Dot) -> None:
    """A clicked run, and a link to Explore with its settings; table, columns and questions go with address or tab."""
    point = chosen.point
    heading(f"{TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}", Tag.PEEK)
    errors = ", ".join(f"{name} {value:.4g}" for name, value in point.errors.items() if value is not None)
    spent = point.spent
    st.caption(
        f"Used ε = {spent['epsilon']:.4g} at δ = {brief(spent['delta'])}. {errors}. {point.seconds:.2g} s.",
        help=point.algorithm,
    )
    said = facts(point.algorithm, point.epsilon, point.delta) | {"seed": str(point.seed)}
    st.page_link("pages/explore.py", label="Open exactly this run on Explore", query_params=said)
