"""The Compare page's first half: what is compared, the frontier, the regret table and a dot's own facts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.data.domain import Rows
from dpcore.evaluation.diagnosis import baselines, draw, empirical
from dpcore.evaluation.run import Comparison
from dpcore.experiments.frontier import middles, regret, steps
from dpcore.numbers import brief
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag
from dpcore.workloads import Workload

from ..charts import base as charts
from ..charts import frontier
from ..shell import controls, questions
from ..shell.frame import heading, peek
from ..shell.results import QUIET, below
from ..shell.state import shared
from ..shell.table import Table
from ..shell.text import clean, plain
from . import forecast, overlay, unbiased
from .measures import Measure
from .sweeps import TITLES, Dot, Sweep

FIRST = ("gaussian_maxent", "aim", "dpam", "mwem", "pep", "dpfw")
EPSILONS = (0.1, 0.3, 1.0, 3.0)
FLOOR = "a sample of this size"
SIZES = {"the table itself": 0.0, "a tenth of its rows": 0.1, "as many rows": 1.0, "ten times as many": 10.0}


def settings(table: Table, sweep: Sweep) -> tuple[list[str], Workload, Callable[[], None]]:
    """The widgets of what to compare; the questions, in two forms, and what starts it. InputError for bad choices."""
    known = solving(QueryRelease)
    workload, texts = questions.choose(table)
    first = [name for name in FIRST if name in known]
    names = st.multiselect(
        "Algorithms", list(known), first, format_func=TITLES.__getitem__, key="compared", bind="query-params"
    )
    values = st.multiselect(
        "Privacy budgets (ε)", controls.EPSILONS, EPSILONS, controls.number, key="epsilons", bind="query-params"
    )
    with st.expander("More: δ, repeats, rows", icon=":material/tune:"):
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
    asked = table.version, workload.domain.names, tuple(texts), n
    forecast.say(asked, QueryRelease(workload, n, table.unit.most_rows), names, budgets, int(seeds), sweep)

    def make() -> tuple[QueryRelease, Any, np.ndarray | None]:
        rows, population = table.rows(workload.domain.names), table.whence(workload.domain.names)
        if not SIZES[size]:
            return QueryRelease(workload, n, table.unit.most_rows), rows, population
        P = empirical(workload.domain, rows) if population is None else population
        return QueryRelease(workload, n), draw(workload.domain, P, n, np.random.default_rng(0)), P

    def start() -> None:
        task = (table, table.rows(workload.domain.names), table.unit.most_rows, texts, delta, size)
        algorithms = {name: build(known[name], {}) for name in names}
        sweep.start(task, make, algorithms, budgets, range(int(seeds)), table.trial)

    return texts, workload, start


@peek
def panel(sweep: Sweep, measure: Measure, other: tuple[str, Comparison] | None, look: DeltaGenerator) -> Dot | None:
    """Draw the frontier with its sentence, its settings at `look`; returns the dot that was clicked, if any."""
    dots = sweep.table(measure.of)
    middle = middles(dots)
    if not len(middle):
        st.info("No finished run has this error yet.")
        return None
    found = steps(middle)
    floors = floors_of(sweep, measure.name, measure.scale, population=measure.population)
    half = floors.get(FLOOR)  # of a sample of half the rows too: it is off by sqrt(1/f - 1) times as much
    if other is not None and measure.name is not None and not measure.population:
        floors[other[0]] = measure.scale * getattr(other[1].errors, measure.name)
    least = unbiased.line(sweep, middle)
    with look:
        log = st.segmented_control(
            "Axis", ["logarithmic", "linear"], default="logarithmic", required=True, key="axis", bind="query-params"
        )
        words = "With n·ε, tables of different sizes can be laid side by side: noise goes with 1/(n·ε)."
        against_n = st.segmented_control(
            "Against", ["ε", "n·ε"], default="ε", required=True, key="scale", bind="query-params", help=words
        )
        curves = overlay.choose(sweep, middle)
    curves |= unbiased.curve(least, measure.scale) if measure.name == "rmse" and not measure.population else {}
    figure = frontier.frontier(
        dots.dropna(subset=["error"]), middle, found, floors, frontier.look(list(solving(QueryRelease))),
        title=measure.words, log=log == "logarithmic", curves=curves, titles=TITLES,
        n=float(sweep.problem.n) if against_n == "n·ε" and sweep.problem else None,
        half=half,
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
    below(summary + " Click a dot to see its run.", lines(dots), "frontier")
    unbiased.words(sweep, least)
    picked = [p["customdata"] for p in event.selection.points if p.get("customdata")]  # type: ignore[union-attr]
    if not picked:
        return None
    name, epsilon, seed = picked[0][:3]
    same = (d for d in sweep.shown if (d.point.algorithm, d.point.epsilon, d.point.seed) == (name, epsilon, seed))
    return next(same, None)


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
    words = {"uniform": "knowing nothing", "independent": "ignoring links", "resampling": FLOOR}
    if population:
        words = {"sampling": "the table's own sampling error"}
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
    table["memory"] = pd.to_numeric(table["memory"]) / 2**20
    shown = table.rename(columns={c: f"ε = {c:g}" for c in table.columns if not isinstance(c, str)})
    shown.insert(0, "algorithm", [TITLES[str(name)] for name in shown.index])
    config: dict[str, Any] = {"algorithm": st.column_config.TextColumn(width=260)}  # or names are cut off
    words = "Largest peak above the start of a run; 0 where it fits into what earlier runs left free."
    config["memory"] = st.column_config.NumberColumn(help=words)
    config["seconds"] = st.column_config.NumberColumn(help="Median of a run's own time.")
    kinds = {c: "{:.2f} ×" for c in shown.columns if c.startswith("ε")}
    kinds |= {"memory": "{:.1f} MiB", "seconds": "{:.2f} s"}
    st.dataframe(shown.style.format(kinds, na_rep="–"), column_config=config, hide_index=True)
    st.caption(
        "Median error over repeats, as a multiple of the best one at the same ε. The best on the whole comes first."
    )
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
    st.plotly_chart(charts.bars(frame, column), key="dot-marginal", alt=summary, config=QUIET)
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
