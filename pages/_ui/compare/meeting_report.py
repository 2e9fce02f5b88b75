"""One-page report of a comparison: HTML without scripts, to print, mail or keep.

It is for people who were not there.
"""

from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from markupsafe import Markup

from dpcore import QueryRelease
from dpcore.accuracy.meaning_of_epsilon import (
    EXAMPLE_SUSPICION,
    Promise,
    format_percent,
    format_rare_chance,
    format_times_in_100,
)
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.numbers import format_short_number
from dpcore.core.provenance import Provenance
from dpcore.evaluation.run import Comparison, subgroup_errors
from dpcore.evaluation.sweeps.frontier import step_frontier, summarise_by_epsilon
from dpcore.release.evidence import printing

from ..charts import frontier_charts
from ..charts import frontier_svg as drawing
from ..components import draw_heading, hide_in_stakeholder_view
from ..session import Table, printable_text
from .overview import baseline_errors_in_points
from .sweep_jobs import ALGORITHM_TITLES, Sweep

ERROR_AXIS_TITLE = "largest error, points (median over repeats)"


@hide_in_stakeholder_view
def draw_download(table: Table, sweep: Sweep) -> None:
    """Draw the report's download button; the report is written when it is pressed."""
    draw_heading("Take it to a meeting", Provenance.REAL_DATA)
    has_finished_run = any(d.point.state == "done" for d in sweep.planned_outcomes)
    st.download_button(
        "One-page report (HTML)",
        lambda: render_report(table, sweep),
        "comparison.html",
        "text/html",
        icon=":material/description:",
        on_click="ignore",
        disabled=not has_finished_run,
        help="Settings, frontier, verdict, groups and what ε means; opens anywhere, prints on "
        "one or two pages.",
    )
    st.caption("It shows errors against the real table. It is for people who may see the table.")


def render_report(table: Table, sweep: Sweep) -> str:
    """Return the whole report as HTML."""
    problem = sweep.problem
    if problem is None:
        return ""
    dots = sweep.error_table(lambda d: d.point.errors.get("max_error"))
    medians = summarise_by_epsilon(dots)
    frontier_steps = step_frontier(medians)
    delta = sweep.planned_outcomes[0].point.delta
    setting_texts = {
        "Table": f"{printable_text(table.name)}, {problem.n:,} rows",
        "Columns": ", ".join(map(printable_text, problem.domain.names)),
        "Questions": f"{problem.workload.m:,}: {sweep.question_kinds}",
        "Protected": table.unit.description,
        "δ": format_short_number(delta),
        "Algorithms": ", ".join(dict.fromkeys(medians["algorithm"].map(ALGORITHM_TITLES))),
        "Repeats": str(dots["seed"].nunique()),
    }
    line_styles = frontier_charts.series_styles(
        [ALGORITHM_TITLES[name] for name in algorithms_for_problem(QueryRelease)]
    )
    promises = _promises_by_budget(sweep)
    best_run, groups = _best_run_and_groups(sweep)
    return printing.render_page(
        Path(__file__).with_name("report.html"),
        peek=Provenance.REAL_DATA,
        public=Provenance.PUBLIC,
        verdict=[
            (
                f"ε = {line.epsilon:g}",
                f"{100 * line.error:.2g} points",
                ALGORITHM_TITLES[line.algorithm],
            )
            for line in frontier_steps.itertuples()
        ],
        drawing=Markup(
            drawing.frontier_markup(
                medians.assign(
                    algorithm=medians["algorithm"].map(ALGORITHM_TITLES),
                    error=100 * medians["error"],
                ),
                baseline_errors_in_points(sweep, "max_error"),
                line_styles,
                ERROR_AXIS_TITLE,
            )
        ),
        suspicion=format_percent(EXAMPLE_SUSPICION),
        rarely=f" (except {format_rare_chance(Promise(1.0, delta).failure_probability)})"
        if delta
        else "",
        odds=_guess_rate_lines(promises),
        best=best_run,
        groups=groups,
        settings=setting_texts,
        peeked=table.schema_uses_real_data,
    )


def _promises_by_budget(sweep: Sweep) -> dict[tuple[float, str], Promise]:
    """Return the promise by ε and algorithm title, for those with a finished run.

    It is computed as on the other pages.
    """
    problem = sweep.problem
    finished_keys = {d.point.key for d in sweep.planned_outcomes if d.point.state == "done"}
    promises: dict[tuple[float, str], Promise] = {}
    for case in sweep.planned_cases:
        budget_and_title = case.budget.epsilon, ALGORITHM_TITLES[case.name]
        if case.key in finished_keys and budget_and_title not in promises:
            split = None if sweep.trial is None else sweep.trial.split_budget(case.budget)
            promises[budget_and_title] = promise_of(case.algorithm, problem, case.budget, split)
    return promises


def _guess_rate_lines(
    promises: dict[tuple[float, str], Promise],
) -> list[tuple[str, str, str, str]]:
    """Return a line per ε and guess rate: ε, suspicion, right guesses in 100, algorithms."""
    lines: dict[tuple[float, str, str], list[str]] = {}
    for (epsilon, title), promise in sorted(promises.items()):
        rate = format_times_in_100(promise.max_guess_probability())
        lines.setdefault((epsilon, promise.suspicion_percent, rate), []).append(title)
    return [
        (f"{e:g}", risen, rate, ", ".join(titles)) for (e, risen, rate), titles in lines.items()
    ]


def _best_run_and_groups(sweep: Sweep) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """Return the best run, and the smallest and largest group of each column with errors.

    Both may be empty.
    """
    best_dot = sweep.best_dot
    if best_dot is None or best_dot.pair_answers is None or sweep.pair_workload is None:
        return {}, []
    comparison = Comparison(
        sweep.pair_workload,
        np.asarray(sweep.real_pair_answers),
        np.asarray(best_dot.pair_answers),
    )
    lines = []
    for name in sweep.pair_workload.domain.names:
        group_errors = subgroup_errors(comparison, name)
        nonempty = np.flatnonzero(group_errors.share > 0)
        for i in sorted(
            {
                nonempty[group_errors.share[nonempty].argmin()],
                nonempty[group_errors.share[nonempty].argmax()],
            }
        ):
            group_name = f"{printable_text(name)}: {printable_text(group_errors.labels[i])}"
            lines.append(
                (group_name, f"{group_errors.share[i]:.2%}", f"{group_errors.error[i]:.2%}")
            )
    best_run = {
        "algorithm": ALGORITHM_TITLES[best_dot.point.algorithm],
        "epsilon": f"{best_dot.point.epsilon:g}",
        "seed": best_dot.point.seed,
    }
    return best_run, lines
