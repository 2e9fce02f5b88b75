"""The Compare page's first half: what is compared, the frontier, the regret table and a dot's own facts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.algorithms.forecasts import in_bytes
from dpcore.data.domain import Rows
from dpcore.evaluation.diagnosis import baselines, draw, empirical
from dpcore.evaluation.run import Comparison
from dpcore.experiments.frontier import middles, regret, step_frontier
from dpcore.numbers import brief, points
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag
from dpcore.workloads import Workload

from ..charts import frontier, screen
from ..shell import controls, questions
from ..shell.frame import heading, peek
from ..shell.results import QUIET, below
from ..shell.state import shared
from ..shell.table import Table
from ..shell.text import clean, plain
from . import forecast, overlay, unbiased
from .measures import Measure
from .solve import points_words
from .sweeps import TITLES, Dot, Sweep

FIRST = ("gaussian_maxent", "aim", "mwem")
EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0)
CHANCE, BEST = "luck: another sample of people", "best method at each ε"
LINES = [CHANCE, "guessing without data", "each column alone", BEST]
SIZES = {"the table itself": 0.0, "a tenth of its rows": 0.1, "as many rows": 1.0, "ten times as many": 10.0}


Planned = tuple[float, Callable[[], None]]  # the seconds of what has not run yet, and what starts it


def settings(table: Table, sweep: Sweep) -> tuple[Workload, Callable[[], Planned]]:
    """The widgets of what to compare; its questions, and what plans it once they are counted.

    Raises InputError for bad choices.
    """
    known = solving(QueryRelease)
    workload, _ = questions.choose(table)
    kinds = tuple(st.session_state["questions"])
    first = [name for name in FIRST if name in known]
    with st.expander("Algorithms, budgets", icon=":material/tune:"):
        names = st.multiselect(
            "Algorithms", list(known), first, format_func=TITLES.__getitem__, key="compared", bind="query-params"
        )
        values = st.multiselect(
            "Privacy budgets (ε)", controls.EPSILONS, EPSILONS, controls.number, key="epsilons", bind="query-params"
        )
        words = "The table as it is, or tables drawn at random from its population. For an upload, the upload is taken "
        words += "as the population. Then both errors are shown."
        size = st.selectbox("Rows", list(SIZES), key="records", help=words, **shared())
        words = "Runs of each algorithm at each ε, with fresh noise."
        seeds = st.number_input("Repeats", 1, 20, 3, key="sweep-seeds", bind="query-params", help=words)
        delta = st.select_slider(
            "Failure probability (δ)", controls.DELTAS, 1e-9, controls.number, key="delta", bind="query-params"
        )

    budgets = [Budget(float(v), delta) for v in sorted(values)]
    n = max(2, round(SIZES[size] * table.n)) if SIZES[size] else table.n

    def make() -> tuple[QueryRelease, Any, np.ndarray | None]:
        rows, population = table.rows(workload.domain.names), table.whence(workload.domain.names)
        if not SIZES[size]:
            return QueryRelease(workload, n, table.unit.most_rows), rows, population
        P = empirical(workload.domain, rows) if population is None else population
        return QueryRelease(workload, n), draw(workload.domain, P, n, np.random.default_rng(0)), P

    def planned() -> Planned:
        task = table, table.version, kinds, table.rows(workload.domain.names), table.unit.most_rows, delta, size
        algorithms = {name: build(known[name], {}) for name in names}
        what = table.version, workload.domain.names, kinds, n
        there = sweep.found if sweep.asked == task else {}
        problem = QueryRelease(workload, n, table.unit.most_rows)
        seconds = forecast.say(what, problem, names, budgets, int(seeds), sweep, there)
        start = partial(sweep.start, task, make, algorithms, budgets, range(int(seeds)), table.trial)
        return seconds, start

    return workload, planned


def finding(sweep: Sweep, limit: float | None) -> str:
    """Which ε tried keeps the largest error of every repeat within a limit; where none is set, what the chart shows."""
    middle = middles(sweep.table(lambda dot: dot.point.errors.get("max_error")))
    found = step_frontier(middle.assign(error=middle["high"]))
    if limit is None or not len(found):
        return "How far off is the worst answer?"
    enough = found["epsilon"][found["error"] <= limit]
    words = f"ε = {enough.iloc[0]:g}" if len(enough) else f"not even ε = {found['epsilon'].iloc[-1]:g}"
    far = "" if sweep.ended else ", so far"
    kinds = sweep.kinds[0].upper() + sweep.kinds[1:]
    return f"{kinds} of {len(sweep.problem.domain.names)} columns: {words} is enough{far}"  # type: ignore[union-attr]


@peek
def panel(
    sweep: Sweep, measure: Measure, other: tuple[str, Comparison] | None, look: DeltaGenerator, limit: float | None,
    enough: tuple[float, str] | None,
) -> Dot | None:  # fmt: skip
    """Draw the frontier with its sentence, its settings at `look`; returns the dot that was clicked, if any.

    `limit` is the largest error that somebody accepts, as a share; `enough` the ε that is advised, and its name.
    """
    dots = sweep.table(measure.of)
    middle = middles(dots)
    if not len(middle):
        st.info("No finished run has this error yet.")
        return None
    found = step_frontier(middle)
    least = unbiased.line(sweep, middle)
    with look:
        wanted = st.multiselect("Lines to compare with", LINES, [CHANCE], key="lines", bind="query-params")
        curves = overlay.choose(sweep, middle)
    floors = floors_of(sweep, measure.name, measure.scale, population=measure.population)
    levels = {f"{name}, {floor:.2g} {measure.unit}": floor for name, floor in floors.items() if name in wanted}
    zone = measure.scale * limit if limit is not None and measure.name == "max_error" else None
    if zone is not None:
        levels = {f"↓ good enough: within {points_words(limit)}": zone} | levels
    if other is not None and measure.name is not None and not measure.population:
        levels[other[0]] = measure.scale * getattr(other[1].errors, measure.name)
    if BEST in wanted:
        curves[BEST] = np.repeat(found["epsilon"], 2)[1:], np.repeat(found["error"], 2)[:-1]
    if measure.name == "rmse" and not measure.population:
        curves |= unbiased.curve(least, measure.scale)
    figure = frontier.frontier(
        dots.dropna(subset=["error"]), middle, levels, frontier.look(list(solving(QueryRelease))),
        title=measure.words, curves=curves, titles=TITLES, planned=[case.budget.epsilon for case in sweep.planned],
        zone=zone, advised=enough,
    )  # fmt: skip
    best, seeds = found.iloc[-1], int(middle["runs"].max())
    median = "error is" if seeds == 1 else f"median error of {seeds} runs is"
    summary = (
        f"At ε = {best['epsilon']:g} the smallest {median} {best['error']:.3g} {measure.unit}, by "
        f"{TITLES[best['algorithm']]}."
    )
    event = st.plotly_chart(
        figure, key="frontier", alt=summary, config=QUIET, on_select="rerun", selection_mode="points"
    )
    below(_exactness(sweep) or summary, lines(dots), "frontier")
    with look:
        unbiased.words(sweep, least)
    picked = [p["customdata"] for p in event.selection.points if p.get("customdata")]  # type: ignore[union-attr]
    same = (d for d in sweep.shown if [[d.point.algorithm, d.point.epsilon, d.point.seed]] == picked[:1])
    return next(same, None)


def _exactness(sweep: Sweep) -> str:
    """How many of the people a sample as exact as the best runs asks, in a sentence, where that is known."""
    runs = middles(sweep.table(lambda dot: dot.point.errors.get("as_exact_as_sample")))
    if not len(runs):
        return ""
    best = runs.loc[runs["error"].idxmax()]
    asked = f"asking {points(best['error'])}% of the people, without noise"
    return f"At ε = {best['epsilon']:g} the best is as exact as {asked}."


def lines(dots: pd.DataFrame) -> pd.DataFrame:
    """The runs as a table: by ε and error, algorithms by their titles, nothing that is not known."""
    known = dots.dropna(subset=["error"]).sort_values(["epsilon", "error", "seed"], kind="stable")
    known = known.assign(algorithm=known["algorithm"].map(TITLES))
    return known.dropna(axis="columns", how="any").reset_index(drop=True)


def floors_of(sweep: Sweep, name: str | None, scale: float = 1.0, *, population: bool = False) -> dict[str, float]:
    """The baselines of an error, against the table or its population, by their words; none for one without them."""
    if name is None or sweep.problem is None or not isinstance(sweep.rows, Rows):  # counts cannot be drawn from
        return {}
    if sweep.baselines is None:
        sweep.baselines = baselines(sweep.problem, sweep.rows, sweep.beside)
    words = {"sampling": CHANCE} if population else dict(zip(("resampling", "uniform", "independent"), LINES))  # noqa: B905
    values = {words[key]: getattr(base.errors, name) for key, base in sweep.baselines.items() if key in words}
    return {key: scale * value for key, value in values.items() if value}


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
    refused = {d.point.algorithm: d.point.message for d in sweep.shown if d.point.state != "done"}
    for name, why in refused.items():
        st.caption(plain(f"{TITLES[name]} has no dot: {why}", 400))


@peek
def dot(table: Table, sweep: Sweep, chosen: Dot) -> None:
    """A clicked run: its settings, a link that restores it, and its marginals beside the real ones."""
    point = chosen.point
    heading(f"{TITLES[point.algorithm]} at ε = {point.epsilon:g}, repeat number {point.seed}", Tag.PEEK)
    errors = ", ".join(f"{name} {value:.4g}" for name, value in point.errors.items() if value is not None)
    spent = point.spent
    st.caption(
        f"Used ε = {spent['epsilon']:.4g} at δ = {brief(spent['delta'])}. {errors}. {point.seconds:.2g} s.",
        help=point.algorithm,
    )
    _link(point)
    if sweep.pairs is None or chosen.pairs is None or sweep.problem is None:
        return
    domain = sweep.problem.domain
    column = st.selectbox("Column of this run", domain.names, format_func=clean, key=f"dot-{sweep.id}", **shared())
    frame = pd.DataFrame({"value": domain.columns[domain.names.index(column)].labels})
    for name, answers in (("real", sweep.real_pairs), ("synthetic", chosen.pairs)):
        frame[name] = _single(sweep, np.asarray(answers), column)
    gap = float((frame["synthetic"] - frame["real"]).abs().max())
    summary = f"{clean(column)}: the largest difference is {100 * gap:.2g} points."
    st.plotly_chart(
        screen.marginal(frame, column, sweep.problem.n, "rows"), key="dot-marginal", alt=summary, config=QUIET
    )
    below(summary, frame, "dot-marginal")


def _single(sweep: Sweep, answers: np.ndarray, column: str) -> np.ndarray:
    """One column's shares, summed out of the first pair that holds it."""
    pairs = sweep.pairs
    axis = pairs.domain.names.index(column)  # type: ignore[union-attr]
    i = next(i for i, axes in enumerate(pairs.axes) if axis in axes)  # type: ignore[union-attr]
    shape, axes = pairs.shapes[i], pairs.axes[i]  # type: ignore[union-attr]
    gone = tuple(j for j, a in enumerate(axes) if a != axis)
    return answers[pairs.tables[i]].reshape(shape).sum(axis=gone)  # type: ignore[union-attr]


def _link(point: Any) -> None:
    """Explore with exactly these settings: the table, columns and questions go along with the address, or the tab."""
    facts = {
        "algorithm": ALGORITHMS[point.algorithm].about.title, "epsilon": controls.number(point.epsilon),
        "delta": controls.number(point.delta), "seed": str(point.seed),
    }  # fmt: skip
    st.page_link("pages/explore.py", label="Open exactly this run on Explore", query_params=facts)
