"""The comparison on one page, for people who were not there: HTML without scripts, to print, mail or keep."""

from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from markupsafe import Markup

from dpcore import QueryRelease
from dpcore.accuracy.meaning_of_epsilon import SUSPICION, Promise, one_in, percent, times_in_100
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.algorithms import solving
from dpcore.core.numbers import brief
from dpcore.core.provenance import Tag
from dpcore.evaluation.run import Comparison, subgroups
from dpcore.evaluation.sweeps.frontier import middles, step_frontier
from dpcore.release.evidence import printing

from ..charts import frontier_charts
from ..charts import frontier_svg as drawing
from ..components import heading, peek
from ..session import Table, clean
from .overview import floors_of
from .sweep_jobs import TITLES, Sweep

TITLE = "largest error, points (median over repeats)"


@peek
def download(table: Table, sweep: Sweep) -> None:
    """The button; the page is written when it is pressed."""
    heading("Take it to a meeting", Tag.PEEK)
    has_finished_run = any(d.point.state == "done" for d in sweep.shown)
    st.download_button(
        "One-page report (HTML)", lambda: page(table, sweep), "comparison.html", "text/html",
        icon=":material/description:", on_click="ignore", disabled=not has_finished_run,
        help="Settings, frontier, verdict, groups and what ε means; opens anywhere, prints on one or two pages.",
    )  # fmt: skip
    st.caption("It shows errors against the real table. It is for people who may see the table.")


def page(table: Table, sweep: Sweep) -> str:
    """The whole report."""
    problem = sweep.problem
    if problem is None:
        return ""
    dots = sweep.table(lambda d: d.point.errors.get("max_error"))
    medians = middles(dots)
    frontier_steps = step_frontier(medians)
    delta = sweep.shown[0].point.delta
    setting_texts = {
        "Table": f"{clean(table.name)}, {problem.n:,} rows",
        "Columns": ", ".join(map(clean, problem.domain.names)),
        "Questions": f"{problem.workload.m:,}: {sweep.kinds}",
        "Protected": table.unit.words,
        "δ": brief(delta),
        "Algorithms": ", ".join(dict.fromkeys(medians["algorithm"].map(TITLES))),
        "Repeats": str(dots["seed"].nunique()),
    }
    line_styles = frontier_charts.look([TITLES[name] for name in solving(QueryRelease)])
    promises = _promises(sweep)
    best_run, groups = _groups(sweep)
    return printing.page(
        Path(__file__).with_name("report.html"),
        peek=Tag.PEEK,
        public=Tag.PUBLIC,
        verdict=[
            (f"ε = {line.epsilon:g}", f"{100 * line.error:.2g} points", TITLES[line.algorithm])
            for line in frontier_steps.itertuples()
        ],
        drawing=Markup(
            drawing.frontier(
                medians.assign(algorithm=medians["algorithm"].map(TITLES), error=100 * medians["error"]),
                floors_of(sweep, "max_error"),
                line_styles,
                TITLE,
            )
        ),
        suspicion=percent(SUSPICION),
        rarely=f" (except {one_in(Promise(1.0, delta).failure)})" if delta else "",
        odds=_odds(promises),
        best=best_run,
        groups=groups,
        settings=setting_texts,
        peeked=table.peeked,
    )


def _promises(sweep: Sweep) -> dict[tuple[float, str], Promise]:
    """Return the promise of each ε and algorithm with a run that is done, as the other pages compute it."""
    problem, finished_keys = sweep.problem, {d.point.key for d in sweep.shown if d.point.state == "done"}
    promises: dict[tuple[float, str], Promise] = {}
    for case in sweep.planned:
        budget_and_title = case.budget.epsilon, TITLES[case.name]
        if case.key in finished_keys and budget_and_title not in promises:
            schema = None if sweep.trial is None else sweep.trial.share(case.budget)
            promises[budget_and_title] = promise_of(case.algorithm, problem, case.budget, schema)
    return promises


def _odds(promises: dict[tuple[float, str], Promise]) -> list[tuple[str, str, str, str]]:
    """Return a line for each ε and rate of right guesses: ε, suspicion, the rate, and the algorithms it holds for."""
    lines: dict[tuple[float, str, str], list[str]] = {}
    for (epsilon, title), promise in sorted(promises.items()):
        rate = times_in_100(promise.guess())
        lines.setdefault((epsilon, promise.suspicion, rate), []).append(title)
    return [(f"{e:g}", risen, rate, ", ".join(titles)) for (e, risen, rate), titles in lines.items()]


def _groups(sweep: Sweep) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """The best run, and of every column its smallest and its largest group; both may be empty."""
    best_dot = sweep.best
    if best_dot is None or best_dot.pairs is None or sweep.pairs is None:
        return {}, []
    comparison, lines = Comparison(sweep.pairs, np.asarray(sweep.real_pairs), np.asarray(best_dot.pairs)), []
    for name in sweep.pairs.domain.names:
        group_errors = subgroups(comparison, name)
        nonempty = np.flatnonzero(group_errors.share > 0)
        for i in sorted(
            {nonempty[group_errors.share[nonempty].argmin()], nonempty[group_errors.share[nonempty].argmax()]}
        ):
            group_name = f"{clean(name)}: {clean(group_errors.labels[i])}"
            lines.append((group_name, f"{group_errors.share[i]:.2%}", f"{group_errors.error[i]:.2%}"))
    best_run = {
        "algorithm": TITLES[best_dot.point.algorithm],
        "epsilon": f"{best_dot.point.epsilon:g}",
        "seed": best_dot.point.seed,
    }
    return best_run, lines
