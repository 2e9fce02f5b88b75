"""Comparison of Private Evolution, PSMM and a noisy grid on numeric columns of the table.

It answers which of them to use on columns of the session's table.
"""

import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, PointRelease
from dpcore.core.numbers import format_percentage_points
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import Texts
from dpcore.evaluation.experiment import ExperimentGrid, PlacesTask
from dpcore.evaluation.programs.places_program import places_program
from dpcore.evaluation.run import FINAL_STEP_ONLY
from dpcore.problems.regions import read_scaled_points

from ..charts import evolution_charts
from ..components import (
    draw_heading,
    draw_program,
    hide_in_stakeholder_view,
    inline_container,
    parameter_widgets,
    result_panels,
)
from ..components.program_panel import table_file_name
from ..jobs import JobGroup, PlannedRun, tab_job_group, wait_or_draw_progress
from ..session import Table, escape_markdown, persistent_widget_args, printable_text
from .table_evolution import available_table

PE = "Private Evolution"
RANDOM = "random points, no data"
GRID = "grid, smoothed (PSMM)"
METHODS = {
    GRID: build_from_texts(ALGORITHMS["psmm"], {}),
    PE: build_from_texts(ALGORITHMS["private_evolution"], {}),
    "grid, raw noise": build_from_texts(ALGORITHMS["psmm"], {"post": "simplex"}),
    RANDOM: build_from_texts(ALGORITHMS["private_evolution"], {"rounds": "0"}),
}
RUNS_PER_METHOD = 3
ERROR_BOUND_COLUMN = "may be off by"


def draw_method_choice() -> None:
    """Draw the comparison of the methods.

    Raises InputError for budgets that a method cannot serve.
    """
    table = available_table()
    if table is None:
        return
    columns = [c.name for c in table.domain.columns if not c.values]  # type: ignore[union-attr]
    if len(columns) < 2:
        st.info(
            "Places need two columns of numbers with public bounds, such as latitude and "
            "longitude. This table has "
            "fewer. Bring one that has them on the Data page, or take the invented census."
        )
        return
    with st.container(border=True, key="choice-settings"):
        left_column, middle_column, right_column = st.columns(3)
        names = left_column.multiselect(
            "Columns that say where",
            columns,
            columns[:2],
            max_selections=3,
            format_func=printable_text,
            key=f"choice-{hash(tuple(columns))}",
            **persistent_widget_args(),
        )
        with middle_column:
            budget = parameter_widgets.budget_sliders(right_column)
        with inline_container():
            pressed = st.button(
                "Compare them",
                type="primary",
                icon=":material/play_arrow:",
                disabled=len(names) < 2,
            )
            runs_text = (
                f"{len(METHODS) - 1} methods run {RUNS_PER_METHOD} times each, random "
                "points are drawn once"
            )
            protection_text = f"Protects {table.unit.row_unit.description}"
            st.caption(escape_markdown(f"{protection_text}. {runs_text}.", 300))
    if table.trial is None and len(names) > 1:
        _draw_code(table, names, budget)
    run_group = tab_job_group("choice")
    if pressed:
        _start_runs(run_group, table, tuple(names), budget)
    if not run_group.jobs:
        st.info("Which method brings invented points nearest to yours? Press the button.")
        return
    if run_group.requested[0] != table.version:
        st.warning(
            "What is shown below is of another table or schema. Press the button to renew it."
        )
    if (
        wait_or_draw_progress(run_group, "choice", redraw_count=len(METHODS)) and run_group.results
    ) or len(run_group.results) >= len(METHODS):
        _draw_ranking(run_group)


def _draw_code(table: Table, names: list[str], budget: Budget) -> None:
    """Draw the code of the comparison of the methods."""
    task = PlacesTask(
        table=table_file_name(table),
        schema=table.schema,
        columns=tuple(names),
        unit=table.unit.row_unit,
    )
    grid = ExperimentGrid(task=task, algorithms=METHODS, budgets=(budget,), repeat=RUNS_PER_METHOD)
    draw_program(places_program(grid), table)


def _start_runs(run_group: JobGroup, table: Table, names: Texts, budget: Budget) -> None:
    """Start all runs of the comparison, on points in the unit box.

    Columns are scaled by public bounds, missing numbers are in the middle.
    """
    domain = table.domain.project(names)  # type: ignore[union-attr]
    region, rows = read_scaled_points(domain, table.limited_frame)
    problem = PointRelease(region, rows.n, names, table.unit.most_rows)
    shared_task = {"problem": problem, "budget": budget, "every": FINAL_STEP_ONLY}
    wanted_runs = [
        PlannedRun(name, rows, {**shared_task, "algorithm": algorithm, "seeds": (seed,)})
        for seed in range(RUNS_PER_METHOD)
        for name, algorithm in METHODS.items()
        if not (seed and name == RANDOM)  # drawn once: it is there for scale
    ]
    run_group.start((table.version, names, budget), wanted_runs, (names, rows.n, budget))


@hide_in_stakeholder_view
def _draw_ranking(run_group: JobGroup) -> None:
    names, n, budget = run_group.context
    ordered = sorted(run_group.results, key=lambda result_pair: [*METHODS].index(result_pair[0]))
    frame = pd.DataFrame(
        [{"method": method, **result.summary.errors.to_json()} for method, result in ordered]
    )
    scores = frame.rename(columns={"w1_error": ERROR_BOUND_COLUMN})
    draw_heading(f"Nearest to the real points: {scores.groupby('method')['w1'].mean().idxmin()}")
    result_panels.draw_chart_panel(
        evolution_charts.method_ranking_chart(scores, ERROR_BOUND_COLUMN),
        ranking_sentence(scores, len(names), n, budget),
        scores,
        "choice",
    )
    st.caption(
        "Distance: how far points must move on average (W1), as a share of a column's range. It "
        "is nearly exact up to "
        "2,000 different points. More points are put into 800 groups; ± says what that may change."
    )


def ranking_sentence(scores: pd.DataFrame, d: int, n: int, budget: Budget) -> str:
    """Return a sentence that ranks the methods by their means, and one that says what follows."""
    groups = scores.groupby("method")
    means = groups["w1"].mean().sort_values()
    error_bounds = groups[ERROR_BOUND_COLUMN].mean()
    distance_texts = {
        name: f"{value:.2%}"
        + (
            f" ± {format_percentage_points(error_bounds[name])}%"
            if error_bounds[name] > value / 1000
            else ""
        )
        for name, value in means.items()
    }
    best, second = (str(name) for name in means.index[:2])
    other_methods = ", ".join(
        f"{name} {value}" for name, value in distance_texts.items() if name != best
    )
    sentence = f"Of {n:,} points in {d} columns at ε = {budget.epsilon:g}, {best} is nearest: "
    sentence += f"{distance_texts[best]} of a column's range away. {other_methods}."
    if means[second] - means[best] < max(
        groups["w1"].std().fillna(0.0).max(), error_bounds[best] + error_bounds[second]
    ):
        return (
            sentence
            + " Repeats, or what the distances may be off by, differ more, so either of the best "
            "two will serve."
        )
    if best == GRID:
        return (
            sentence
            + " Use the grid where it can be listed. Evolution pays where none can be, as for "
            "images or texts."
        )
    if best == PE:
        return (
            sentence
            + " Evolution wins: the boxes of a grid are too large for these columns and this "
            "budget."
        )
    if best == RANDOM:
        return (
            sentence
            + " The budget is too small for any of them: noise alone decided where points went."
        )
    return sentence
