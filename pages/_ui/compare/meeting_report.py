"""Report of a comparison: HTML without scripts, to print, mail or keep.

It is for people who were not there.
"""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from markupsafe import Markup

from dpcore import ALGORITHMS, Budget
from dpcore.accuracy.meaning_of_epsilon import (
    EXAMPLE_SUSPICION,
    Promise,
    format_percent,
    format_rare_chance,
    format_times_in_100,
    guess_tile_texts,
)
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.core.numbers import format_short_number
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.evaluation.programs.query_program import comparison_program
from dpcore.evaluation.run import Comparison, subgroup_errors
from dpcore.evaluation.sweeps.frontier import step_frontier
from dpcore.release.evidence import printing

from ..charts import frontier_svg as drawing
from ..components import draw_heading, draw_program, hide_in_stakeholder_view
from ..session import Table, printable_text
from .accuracy_goal import AccuracyGoal, format_release_share, format_tolerance
from .error_measures import ErrorMeasure, misplaced_name
from .overview import (
    baseline_errors_in_hundredths,
    describe_algorithm,
    luck_of_sample_text,
)
from .sweep_jobs import ALGORITHM_STYLES, ALGORITHM_TITLES, Sweep
from .verdict import Advice, format_misplaced, measured_errors_text, verdict_text


@hide_in_stakeholder_view
def draw_download(table: Table, sweep: Sweep, measure: ErrorMeasure, advice: Advice) -> None:
    """Draw the report's download button; the report is written when it is pressed."""
    draw_heading("Take it to a meeting", Provenance.REAL_DATA)
    st.download_button(
        "One-page report (HTML)",
        lambda: render_report(table, sweep, measure, advice),
        "comparison.html",
        "text/html",
        icon=":material/description:",
        on_click="ignore",
        disabled=not sweep.finished_runs,
        help="What was decided and is recommended, the chart, groups and what ε means; opens "
        "anywhere, prints on A4.",
    )
    st.caption("It shows errors against the real table. It is for people who may see the table.")
    if sweep.grid is None:
        return
    if sweep.is_of_whole_table:
        draw_program(comparison_program(sweep.grid), table)
    else:
        st.caption("Code is there for runs on the table itself, not on rows drawn from it.")


def render_report(table: Table, sweep: Sweep, measure: ErrorMeasure, advice: Advice) -> str:
    """Return the whole report as HTML, with the error on its chart that `measure` measures."""
    if sweep.problem is None:
        return ""
    setting_errors = measure.summarise(sweep)
    names = list(setting_errors["algorithm"].unique())
    delta = sweep.planned_cases[0].budget.delta
    promises = _promises_by_budget(sweep)
    best_run, groups = _best_run_and_groups(sweep)
    today = datetime.datetime.now(datetime.UTC)
    return printing.render_page(
        Path(__file__).with_name("report.html"),
        peek=Provenance.REAL_DATA,
        public=Provenance.PUBLIC,
        table_name=printable_text(table.name),
        date=f"{today.day} {today:%B %Y}",
        decided=_decision_texts(table, sweep, advice.goal),
        recommended=recommendation_sentences(sweep, advice),
        measure=measure,
        verdict=_verdict_lines(sweep, measure, setting_errors),
        headline=misplaced_name(sweep.problem),
        drawing=Markup(_drawing(sweep, measure, setting_errors, advice.goal)),
        luck=luck_of_sample_text(sweep.problem.n),
        algorithms=[describe_algorithm(name) for name in names],
        suspicion=format_percent(EXAMPLE_SUSPICION),
        rarely=f" (except {format_rare_chance(Promise(1.0, delta).failure_probability)})"
        if delta
        else "",
        odds=_guess_rate_lines(promises),
        best=best_run,
        groups=groups,
        peeked=table.schema_uses_real_data,
    )


def _decision_texts(table: Table, sweep: Sweep, goal: AccuracyGoal) -> dict[str, str]:
    """Return what was decided before the runs, by its name."""
    problem = sweep.problem
    points = [dot.point for dot in sweep.finished_runs]
    names = dict.fromkeys(ALGORITHM_TITLES[point.algorithm] for point in points)
    return {
        "Near enough": f"{goal.needed_text(problem.workload)} within "
        f"{format_tolerance(goal.tolerance)} in {format_release_share(goal.share)}",
        "Columns": ", ".join(map(printable_text, problem.domain.names)),
        "Questions": f"{problem.workload.m:,}: {sweep.question_kinds}",
        "Protected": table.unit.description,
        "Failure probability (δ)": format_short_number(sweep.planned_cases[0].budget.delta),
        "Algorithms tried": ", ".join(names),
        "Budgets tried (ε)": ", ".join(
            f"{epsilon:g}" for epsilon in sorted({point.epsilon for point in points})
        ),
        "Repeats": str(len({point.seed for point in points})),
    }


def recommendation_sentences(sweep: Sweep, advice: Advice) -> list[str]:
    """Return what is recommended, how far off it is and how that is known; a sentence each."""
    recommendation = advice.recommendation
    verdict = verdict_text(
        advice.goal, recommendation, is_provisional=sweep.is_provisional
    ).replace("★ ", "")
    if recommendation is None or sweep.problem is None:
        return [f"{verdict}."]
    name = recommendation.algorithm_name
    sentences = [f"{verdict}."]
    if not recommendation.meets_goal:
        sentences.append("Nearer answers need a larger ε, fewer columns or fewer questions.")
    if recommendation.is_promised:
        sentences.append(
            f"{format_release_share(advice.goal.share)} keep "
            f"{format_tolerance(advice.goal.tolerance)}, whatever the table is."
        )
    middle_run = sweep.middle_run(name, recommendation.epsilon)
    if middle_run is not None:
        sentences.append(f"Measured there: {measured_errors_text(sweep, middle_run)}.")
    budget = Budget(recommendation.epsilon, sweep.planned_cases[0].budget.delta)
    algorithm = build_from_texts(ALGORITHMS[name], {})
    promise = promise_of(algorithm, sweep.problem, budget, sweep.split_budget(budget))
    sentences.append(f"{' '.join(guess_tile_texts(promise.max_guess_probability()))}.")
    return sentences


def _verdict_lines(
    sweep: Sweep, measure: ErrorMeasure, setting_errors: pd.DataFrame
) -> list[tuple[str, str, str, str]]:
    """Return a line per ε: the best algorithm, its error and its rows in a wrong cell."""
    lines = []
    for best in step_frontier(setting_errors).itertuples():
        at_setting = setting_errors[
            (setting_errors["algorithm"] == best.algorithm)
            & (setting_errors["error"] == best.error)
        ]
        misplaced = sweep.median_error(
            "misplaced", str(best.algorithm), float(at_setting["epsilon"].iloc[0])
        )
        misplaced_text = ""
        if misplaced is not None:
            misplaced_text = format_misplaced(misplaced, sweep.problem)
        lines.append(
            (
                f"ε = {best.epsilon:g}",
                ALGORITHM_TITLES[best.algorithm],
                f"{best.error:.2g} {measure.short_unit}",
                misplaced_text,
            )
        )
    return lines


def _drawing(
    sweep: Sweep, measure: ErrorMeasure, setting_errors: pd.DataFrame, goal: AccuracyGoal
) -> str:
    """Return the frontier as SVG, each algorithm as on the page."""
    levels = baseline_errors_in_hundredths(sweep, measure)
    if measure.is_need:
        levels = {f"within {format_tolerance(goal.tolerance)}": 100 * goal.tolerance} | levels
    return drawing.frontier_markup(
        setting_errors.assign(algorithm=setting_errors["algorithm"].map(ALGORITHM_TITLES)),
        levels,
        {ALGORITHM_TITLES[name]: style for name, style in ALGORITHM_STYLES.items()},
        title=measure.axis_title,
        unit=measure.unit,
    )


def _promises_by_budget(sweep: Sweep) -> dict[tuple[float, str], Promise]:
    """Return the promise by ε and algorithm title, for those with a finished run.

    It is computed as on the other pages.
    """
    problem = sweep.problem
    finished_keys = {dot.point.key for dot in sweep.finished_runs}
    promises: dict[tuple[float, str], Promise] = {}
    for case in sweep.planned_cases:
        budget_and_title = case.budget.epsilon, ALGORITHM_TITLES[case.name]
        if case.key in finished_keys and budget_and_title not in promises:
            split = sweep.split_budget(case.budget)
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
