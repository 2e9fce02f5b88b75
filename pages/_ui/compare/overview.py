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
    algorithm_classes = solving(QueryRelease)
    workload, _ = question_choice.choose(table)
    kinds = tuple(st.session_state["questions"])
    default_names = [name for name in FIRST if name in algorithm_classes]
    with st.expander("Algorithms, budgets", icon=":material/tune:"):
        names = st.multiselect(
            "Algorithms",
            list(algorithm_classes),
            default_names,
            format_func=TITLES.__getitem__,
            key="compared",
            bind="query-params",
        )
        epsilons = st.multiselect(
            "Privacy budgets (ε)", parameter_widgets.EPSILONS, EPSILONS, parameter_widgets.number,
            key="epsilons", bind="query-params",
            help="The budget that is advised is always tried too.",
        )  # fmt: skip
        help_text = (
            "The table as it is, or tables drawn at random from its population. For an upload, the upload is taken "
        )
        help_text += "as the population. Then both errors are shown."
        size_label = st.selectbox("Rows", list(SIZES), key="records", help=help_text, **shared())
        help_text = "Runs of each algorithm at each ε, with fresh noise."
        seeds = st.number_input("Repeats", 1, 20, 3, key="sweep-seeds", bind="query-params", help=help_text)
        delta = parameter_widgets.delta_slider()

    n = max(2, round(SIZES[size_label] * table.n)) if SIZES[size_label] else table.n

    def make() -> tuple[QueryRelease, Any, np.ndarray | None]:
        rows, population = table.rows(workload.domain.names), table.whence(workload.domain.names)
        if not SIZES[size_label]:
            return QueryRelease(workload, n, table.unit.most_rows), rows, population
        P = empirical(workload.domain, rows) if population is None else population
        return QueryRelease(workload, n), draw(workload.domain, P, n, np.random.default_rng(0)), P

    def planned(advised: float | None) -> Planned:
        budgets = [Budget(float(v), delta) for v in sorted({*epsilons, advised} - {None})]
        task = table, table.version, kinds, table.rows(workload.domain.names), table.unit.most_rows, delta, size_label
        algorithms = {name: build(algorithm_classes[name], {}) for name in names}
        problem_key = table.version, workload.domain.names, kinds, n
        finished_keys = sweep.found if sweep.asked == task else {}
        problem = QueryRelease(workload, n, table.unit.most_rows)
        seconds = duration_forecast.say(problem_key, problem, names, budgets, int(seeds), sweep, finished_keys)
        run_seconds = duration_forecast.foreseen(problem_key)
        start = partial(sweep.start, task, make, algorithms, budgets, range(int(seeds)), table.trial, run_seconds)
        return seconds, start

    return workload, planned


def enough(sweep: Sweep, asked: Goal | None) -> float | None:
    """The one ε the page speaks of: the promised one, else the smallest at which an algorithm kept all its repeats."""
    if asked is None:
        return None
    max_errors = sweep.middles("max_error").groupby("epsilon")["high"].min()
    return asked.enough or min(max_errors.index[max_errors <= asked.tolerance], default=None)


@peek
def panel(
    sweep: Sweep, measure: Measure, other: tuple[str, Comparison] | None, look: DeltaGenerator, asked: Goal | None
) -> Dot | None:  # fmt: skip
    """Draw the frontier with its sentence, its settings at `look`; returns the dot that was clicked, if any.

    What was `asked` is a line of its own: how far off noise alone is, with the one ε on it.
    """
    dots = sweep.table(measure.of)
    medians = middles(dots)
    if not len(medians):
        st.info("No finished run has this error yet.")
        return None
    least_errors = unbiased_limit.line(sweep, medians)
    with look:
        selected_labels = st.multiselect("Lines to compare with", LINES, key="lines", bind="query-params")
        curves, curve_owners = theory_curves.choose(sweep, medians)
    baseline_levels = floors_of(sweep, measure.name, population=measure.population)
    levels = {f"{name}: {floor:.2g}": floor for name, floor in baseline_levels.items() if name in selected_labels}
    planned_epsilons = [case.budget.epsilon for case in sweep.planned]
    tolerance_points, star = None, None
    if asked is not None and measure.name == "max_error":
        tolerance_points = 100 * asked.tolerance
        levels = {f"within {points_words(asked.tolerance)}": tolerance_points} | levels
        error_by_epsilon = {
            epsilon: 100 * off
            for epsilon, off in asked.reached.items()
            if min(planned_epsilons) <= epsilon <= max(planned_epsilons)
        }
        if error_by_epsilon:
            promise_label = f"{100 * asked.share:g}% promised for {TITLES[asked.name].partition(' + ')[0]}"
            curves |= {promise_label: (np.array([*error_by_epsilon]), np.array([*error_by_epsilon.values()]))}
            curve_owners |= {promise_label: asked.name}
        if asked.enough in error_by_epsilon:
            star = asked.enough, error_by_epsilon[asked.enough]
    if other is not None and measure.name is not None and not measure.population:
        levels[other[0]] = 100 * getattr(other[1].errors, measure.name)
    if measure.name == "rmse" and not measure.population:
        curves |= unbiased_limit.curve(least_errors)
    figure = frontier_charts.frontier(
        dots.dropna(subset=["error"]), medians, levels, frontier_charts.look(list(solving(QueryRelease))),
        title=measure.words, curves=curves, titles=TITLES, planned=planned_epsilons, zone=tolerance_points, star=star,
        owners=curve_owners,
    )  # fmt: skip
    summary = _best(sweep, measure, medians, enough(sweep, asked))
    event = st.plotly_chart(
        figure, key="frontier", alt=summary, config=QUIET, on_select="rerun", selection_mode="points"
    )
    below(summary, lines(dots), "frontier")
    with look:
        unbiased_limit.words(sweep, least_errors)
    clicked_data = [p["customdata"] for p in event.selection.points if p.get("customdata")]  # type: ignore[union-attr]
    clicked_dots = (d for d in sweep.shown if [[d.point.algorithm, d.point.epsilon, d.point.seed]] == clicked_data[:1])
    return next(clicked_dots, None)


def _best(sweep: Sweep, measure: Measure, middle: pd.DataFrame, at: float | None) -> str:
    """Which algorithm is best, and how good it and the next are: at an ε if it was tried there, else at the largest.

    Over all questions, the best is also as exact as a sample of so many people.
    """
    medians_at_epsilon = middle[middle["epsilon"] == (at if at in set(middle["epsilon"]) else middle["epsilon"].max())]
    best, *others = medians_at_epsilon.nsmallest(2, "error").itertuples()
    summary = f"At ε = {best.epsilon:g}, {TITLES[best.algorithm]} is best: "
    summary += f"{measure.words.partition(',')[0]} {best.error:.2g} points"
    summary += "".join(f" ({TITLES[other.algorithm]}: {other.error:.2g})" for other in others)
    sample_shares = sweep.middles("as_exact_as_sample").set_index(["algorithm", "epsilon"])["error"]
    if (sample_share := sample_shares.get((best.algorithm, best.epsilon))) is not None:
        summary += f", as exact as counting {points(sample_share)}% of people"
    return f"{summary}. Marks: unprotected trials on real rows."


def lines(dots: pd.DataFrame) -> pd.DataFrame:
    """The runs as a table: by ε and error, algorithms by their titles, nothing that is not known."""
    finished_runs = dots.dropna(subset=["error"]).sort_values(["epsilon", "error", "seed"], kind="stable")
    finished_runs = finished_runs.assign(algorithm=finished_runs["algorithm"].map(TITLES))
    return finished_runs.dropna(axis="columns", how="any").reset_index(drop=True)


def floors_of(sweep: Sweep, name: str | None, *, population: bool = False) -> dict[str, float]:
    """The baselines of an error, in points, against the table or its population, by their words; none without them."""
    if name is None or sweep.problem is None or not isinstance(sweep.rows, Rows):  # counts cannot be drawn from
        return {}
    if sweep.baselines is None:
        sweep.baselines = baselines(sweep.problem, sweep.rows, sweep.beside)
    labels = {"sampling": CHANCE} if population else dict(zip(("resampling", "uniform", "independent"), LINES))  # noqa: B905
    values = {labels[key]: getattr(base.errors, name) for key, base in sweep.baselines.items() if key in labels}
    return {key: 100 * value for key, value in values.items() if value}


@peek
def regrets(sweep: Sweep, measure: Measure) -> None:
    """How many times the best error each choice has."""
    heading("How much worse are the other algorithms?", Tag.PEEK)
    medians = middles(sweep.table(measure.of))
    if not len(medians):
        return
    table = regret(medians)
    table["memory"] = [in_bytes(float(size)) for size in pd.to_numeric(table["memory"])]
    table_view = table.rename(columns={c: f"ε = {c:g}" for c in table.columns if not isinstance(c, str)})
    table_view.insert(0, "algorithm", [TITLES[str(name)] for name in table_view.index])
    help_text = "Largest peak above the start of a run."
    column_config = {
        "memory": st.column_config.TextColumn(help=help_text),
        "seconds": st.column_config.NumberColumn(help="Median of a run's own time."),
    }
    for column in (c for c in table_view.columns if c.startswith("ε")):  # as text: an empty number would read "None"
        table_view[column] = table_view[column].map("{:.2f} ×".format, na_action="ignore").fillna("")
    st.dataframe(table_view.style.format({"seconds": "{:.2f} s"}), column_config=column_config, hide_index=True)
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
    query_params = facts(point.algorithm, point.epsilon, point.delta) | {"seed": str(point.seed)}
    st.page_link("pages/explore.py", label="Open exactly this run on Explore", query_params=query_params)
