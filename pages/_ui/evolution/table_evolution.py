"""Private Evolution of table rows step by step: one column's shares, one pair's heat maps."""

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Budget, Domain, Marginals, QueryRelease, Rows
from dpcore.algorithms import Algorithm
from dpcore.core.numbers import format_percentage_points
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.evaluation.experiment import Experiment
from dpcore.evaluation.programs.query_program import query_program
from dpcore.evaluation.run import compare_with_rows
from dpcore.evaluation.sweeps.worker_pool import RunResult
from dpcore.models.releases import Release

from ..charts import explore_charts
from ..components import (
    check_rows_in_memory,
    draw_chart_panel,
    draw_heading,
    draw_program,
    draw_table_header,
    draw_trial_note,
    hide_in_stakeholder_view,
    parameter_widgets,
    question_choice,
    result_panels,
    warn_if_schema_incomplete,
)
from ..components.frame import set_page_badge
from ..jobs import PlannedRun, tab_job_group, wait_or_draw_progress
from ..session import (
    WHOLE_BUDGET_TEXT,
    Table,
    is_public_table,
    persistent_widget_args,
    printable_text,
    show_left_out_notice,
    visible_table,
)

RECIPE = ALGORITHMS["private_evolution_table"]


def available_table() -> Table | None:
    """Draw a line that names the session's table; return it, or None if it cannot be used.

    It cannot when its schema is not complete, or it is not in memory.
    """
    session_table = visible_table()
    draw_table_header(session_table)
    set_page_badge(Provenance.REAL_DATA)
    draw_trial_note(session_table, WHOLE_BUDGET_TEXT)
    if is_public_table(session_table):
        show_left_out_notice()
        return None
    return (
        None
        if warn_if_schema_incomplete(session_table, "come back")
        or not check_rows_in_memory(session_table)
        else session_table
    )


def draw_table_evolution() -> None:
    """Draw the part that evolves rows.

    Raises InputError for a budget that the recipe cannot serve.
    """
    session_table = available_table()
    if session_table is None:
        return
    help_text = (
        f"{RECIPE.about.summary} Its settings were fitted on one table, UCI Adult: say "
        "so where you use it."
    )
    st.caption(
        "Your rows vote for the most similar invented rows, so that these become like yours.",
        help=help_text,
    )
    with st.container(border=True, key="recipe-settings"):
        left_column, middle_column, right_column = st.columns(3)
        with left_column:
            budget = parameter_widgets.budget_sliders(middle_column)
        rounds = right_column.slider(
            "Steps (T)", 1, 20, 6, key="recipe-rounds", **parameter_widgets.ADDRESS_WIDGET_ARGS
        )
        pressed = st.button("Evolve the rows", type="primary", icon=":material/play_arrow:")
    runs = tab_job_group("recipe")
    algorithm = build_from_texts(RECIPE, {"rounds": str(rounds)})
    domain = session_table.unit.extend_domain(session_table.domain)
    columns_at_once = min(2, len(domain.columns))
    _draw_code(session_table, columns_at_once, algorithm, budget)
    if pressed:
        rows = session_table.encoded_rows(domain.names)
        workload = Marginals.all(domain, columns_at_once)
        problem = QueryRelease(workload, rows.n, session_table.unit.group)
        algorithm.plan(problem, budget)  # says now what is wrong
        task = {"algorithm": algorithm, "problem": problem, "budget": budget}
        wanted_run = PlannedRun("recipe", rows, {**task, "seeds": (0,), "every": 1, "path": True})
        runs.start((session_table.version, budget, rounds), [wanted_run], problem)
    if not runs.jobs:
        st.info(
            "How near do invented rows come to your table? Press the button: it takes some seconds."
        )
        return
    if not wait_or_draw_progress(runs, "recipe") or not runs.results:
        return
    if runs.requested[0] != session_table.version:
        st.warning("This run is of another table or schema. Press the button to renew it.")
        return
    result = runs.results[0][1]
    _draw_errors_by_step(result)
    _draw_step_comparison(session_table.encoded_rows(domain.names), result, runs.context)
    result_panels.draw_run_plan(runs.jobs[0])


def _draw_code(table: Table, columns_at_once: int, algorithm: Algorithm, budget: Budget) -> None:
    """Draw the code of the run on all groups of so many columns."""
    task = question_choice.task_of_table(
        table, table.domain.names, [f"marginals:{columns_at_once}"]
    )
    draw_program(query_program(Experiment(task=task, algorithm=algorithm, budget=budget)), table)


@hide_in_stakeholder_view
def _draw_errors_by_step(result: RunResult) -> None:
    """Draw the errors on all pairs of columns, round by round."""
    draw_heading("Do invented rows become like yours?")
    frame = result_panels.convergence_table([result])
    first = frame.iloc[0]
    last = frame.iloc[-1]
    summary = (
        "Measured over pairs of columns, in a wrong cell: "
        f"{format_percentage_points(first['misplaced'])} of 100 rows after the first step, "
        f"{format_percentage_points(last['misplaced'])} after {int(last['t'])}. The "
        f"largest error ends at {format_percentage_points(last['largest'])} points."
    )
    figure = explore_charts.convergence_chart(frame, "t", "step", result.summary.problem.n, "rows")
    draw_chart_panel(figure, summary, frame, "recipe-errors")


@hide_in_stakeholder_view
def _draw_step_comparison(rows: Rows, result: RunResult, problem: QueryRelease) -> None:
    """Draw one column and one pair of columns after round t."""
    domain = problem.domain
    draw_heading("How do real and synthetic compare, step by step?")
    T = len(result.path)
    left_column, middle_column, right_column = st.columns(3)
    t = left_column.slider("After step", 1, T, T, key=f"recipe-t-{T}") if T > 1 else 1
    column = middle_column.selectbox(
        "Column",
        domain.names,
        format_func=printable_text,
        key=f"recipe-column-{hash(domain.names)}",
        **persistent_widget_args(),
    )
    release = result.path[t - 1]
    _draw_column_after_step(release, rows, domain, column, t)
    if len(domain.names) < 2:
        return
    pairs = {" × ".join(map(printable_text, pair)): pair for pair in combinations(domain.names, 2)}
    pair_label = right_column.selectbox(
        "Two columns",
        list(pairs),
        key=f"recipe-pair-{hash(domain.names)}",
        **persistent_widget_args(),
    )
    _draw_pair_after_step(release, rows, domain, pairs[pair_label], t)


def _draw_column_after_step(
    release: Release, rows: Rows, domain: Domain, column: str, t: int
) -> None:
    """Draw one column's shares, real and synthetic."""
    comparison = compare_with_rows(release, rows, Marginals(domain, [[column]]))
    labels = domain.columns[domain.names.index(column)].labels
    frame = pd.DataFrame(
        {"value": labels, "real": comparison.real, "synthetic": comparison.synthetic}
    )
    summary = (
        f"{printable_text(column)} after step {t}: the largest difference is "
        f"{format_percentage_points(float(comparison.gaps.max()))} points."
        " Every step sets single columns to their noisy shares. What evolves is how "
        "columns go together."
    )
    figure = explore_charts.marginal_chart(frame, column, rows.n, "rows")
    draw_chart_panel(figure, summary, frame, "recipe-column")


def _draw_pair_after_step(
    release: Release, rows: Rows, domain: Domain, names: tuple[str, str], t: int
) -> None:
    """Draw two columns together as two maps."""
    comparison = compare_with_rows(release, rows, Marginals(domain, [names]))
    a, b = (domain.columns[domain.names.index(name)] for name in names)
    real = np.asarray(comparison.real).reshape(a.size, b.size)
    synthetic = np.asarray(comparison.synthetic).reshape(a.size, b.size)
    index = pd.MultiIndex.from_product([a.labels, b.labels], names=["first", "second"])
    frame = index.to_frame(index=False).assign(real=comparison.real, synthetic=comparison.synthetic)
    summary = (
        f"After step {t} the largest difference in this table is "
        f"{format_percentage_points(float(comparison.gaps.max()))} points."
    )
    figure = explore_charts.two_way_maps(real, synthetic, names, (a.labels, b.labels))
    draw_chart_panel(figure, summary, frame, "recipe-pair")
