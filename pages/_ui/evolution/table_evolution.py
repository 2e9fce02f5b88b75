"""On a table: the recipe for rows, step by step; one column's shares and one pair's heat maps as they evolve."""

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, Marginals, QueryRelease, Rows
from dpcore.core.numbers import points
from dpcore.core.parameters import build
from dpcore.core.provenance import Tag
from dpcore.evaluation.run import compare
from dpcore.evaluation.sweeps.worker_pool import Result

from ..charts import explore_charts
from ..components import heading, in_memory, line, panel, parameter_widgets, peek, result_panels, tried, unfinished
from ..components.frame import shows
from ..jobs import WantedRun, tab_runs, watch
from ..session import WHOLE, Table, clean, is_withheld, say_left_out, shared, table

RECIPE = ALGORITHMS["private_evolution_table"]


def present() -> Table | None:
    """The session's table, under a line that names it; None when its schema is not complete, or it is not in memory."""
    session_table = table()
    line(session_table)
    shows(Tag.PEEK)
    tried(session_table, WHOLE)
    if is_withheld(session_table):
        say_left_out()
        return None
    return None if unfinished(session_table, "come back") or not in_memory(session_table) else session_table


def on_a_table() -> None:
    """Draw the part that evolves rows. Raises InputError for a budget that the recipe cannot serve."""
    session_table = present()
    if session_table is None:
        return
    help_text = f"{RECIPE.about.summary} Its settings were fitted on one table, UCI Adult: say so where you use it."
    st.caption("Your rows vote for the most similar invented rows, so that these become like yours.", help=help_text)
    with st.container(border=True, key="recipe-settings"):
        left_column, middle_column, right_column = st.columns(3)
        with left_column:
            budget = parameter_widgets.budget(middle_column)
        rounds = right_column.slider("Steps (T)", 1, 20, 6, key="recipe-rounds", **parameter_widgets.KEPT)
        pressed = st.button("Evolve the rows", type="primary", icon=":material/play_arrow:")
    runs = tab_runs("recipe")
    if pressed:
        rows = session_table.rows(session_table.domain.names)
        workload = Marginals.all(session_table.domain, min(2, len(session_table.domain.columns)))
        problem = QueryRelease(workload, rows.n, session_table.unit.most_rows)
        algorithm = build(RECIPE, {"rounds": str(rounds)})
        algorithm.plan(problem, budget)  # says now what is wrong
        task = {"algorithm": algorithm, "problem": problem, "budget": budget}
        wanted_run = WantedRun("recipe", rows, {**task, "seeds": (0,), "every": 1, "path": True})
        runs.start((session_table.version, budget, rounds), [wanted_run], problem)
    if not runs.jobs:
        st.info("How near do invented rows come to your table? Press the button: it takes some seconds.")
        return
    if not watch(runs, "recipe") or not runs.results:
        return
    if runs.asked[0] != session_table.version:
        st.warning("This run is of another table or schema. Press the button to renew it.")
        return
    result = runs.results[0][1]
    _settles(result)
    _evolves(session_table.rows(session_table.domain.names), result, runs.context)
    result_panels.accounts(runs.jobs[0][1])


@peek
def _settles(result: Result) -> None:
    """Draw the errors on all pairs of columns, round by round."""
    heading("Do invented rows become like yours?")
    frame = result_panels.curves([result])
    first, last = frame.iloc[0], frame.iloc[-1]
    summary = (
        f"The typical error over all pairs of columns goes from {points(first['mean_error'])} points after the first "
        f"step to {points(last['mean_error'])} after {int(last['t'])}. The largest ends at {points(last['max_error'])}."
    )
    figure = explore_charts.convergence_chart(frame, "t", "step", result.summary["n"], "rows")
    panel(figure, summary, frame, "recipe-errors")


@peek
def _evolves(rows: Rows, result: Result, problem: QueryRelease) -> None:
    """Draw one column and one pair of columns after round t."""
    domain = problem.domain
    heading("How do real and synthetic compare, step by step?")
    T = len(result.path)
    left_column, middle_column, right_column = st.columns(3)
    t = left_column.slider("After step", 1, T, T, key=f"recipe-t-{T}") if T > 1 else 1
    column = middle_column.selectbox(
        "Column", domain.names, format_func=clean, key=f"recipe-column-{hash(domain.names)}", **shared()
    )
    release = result.path[t - 1]
    column_comparison = compare(release, rows, Marginals(domain, [[column]]))
    labels = domain.columns[domain.names.index(column)].labels
    frame = pd.DataFrame({"value": labels, "real": column_comparison.real, "synthetic": column_comparison.synthetic})
    summary = (
        f"{clean(column)} after step {t}: the largest difference is "
        f"{points(float(column_comparison.gaps.max()))} points."
    )
    summary += " Every step sets single columns to their noisy shares. What evolves is how columns go together."
    panel(explore_charts.marginal(frame, column, rows.n, "rows"), summary, frame, "recipe-column")
    if len(domain.names) < 2:
        return
    pairs = {" × ".join(map(clean, pair)): pair for pair in combinations(domain.names, 2)}
    pair_names = pairs[
        right_column.selectbox("Two columns", list(pairs), key=f"recipe-pair-{hash(domain.names)}", **shared())
    ]
    pair_comparison = compare(release, rows, Marginals(domain, [pair_names]))
    a, b = (domain.columns[domain.names.index(name)] for name in pair_names)
    real, synthetic = (np.asarray(v).reshape(a.size, b.size) for v in (pair_comparison.real, pair_comparison.synthetic))
    index = pd.MultiIndex.from_product([a.labels, b.labels], names=["first", "second"]).to_frame(index=False)
    summary = (
        f"After step {t} the largest difference in this table is {points(float(pair_comparison.gaps.max()))} points."
    )
    figure = explore_charts.pair(real, synthetic, pair_names, (a.labels, b.labels))
    panel(figure, summary, index.assign(real=pair_comparison.real, synthetic=pair_comparison.synthetic), "recipe-pair")
