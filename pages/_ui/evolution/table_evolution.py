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
    mine = table()
    line(mine)
    shows(Tag.PEEK)
    tried(mine, WHOLE)
    if is_withheld(mine):
        say_left_out()
        return None
    return None if unfinished(mine, "come back") or not in_memory(mine) else mine


def on_a_table() -> None:
    """Draw the part that evolves rows. Raises InputError for a budget that the recipe cannot serve."""
    mine = present()
    if mine is None:
        return
    words = f"{RECIPE.about.summary} Its settings were fitted on one table, UCI Adult: say so where you use it."
    st.caption("Your rows vote for the most similar invented rows, so that these become like yours.", help=words)
    with st.container(border=True, key="recipe-settings"):
        left, middle, right = st.columns(3)
        with left:
            budget = parameter_widgets.budget(middle)
        rounds = right.slider("Steps (T)", 1, 20, 6, key="recipe-rounds", **parameter_widgets.KEPT)
        pressed = st.button("Evolve the rows", type="primary", icon=":material/play_arrow:")
    runs = tab_runs("recipe")
    if pressed:
        rows = mine.rows(mine.domain.names)
        workload = Marginals.all(mine.domain, min(2, len(mine.domain.columns)))
        problem = QueryRelease(workload, rows.n, mine.unit.most_rows)
        algorithm = build(RECIPE, {"rounds": str(rounds)})
        algorithm.plan(problem, budget)  # says now what is wrong
        facts = {"algorithm": algorithm, "problem": problem, "budget": budget}
        wanted = WantedRun("recipe", rows, {**facts, "seeds": (0,), "every": 1, "path": True})
        runs.start((mine.version, budget, rounds), [wanted], problem)
    if not runs.jobs:
        st.info("How near do invented rows come to your table? Press the button: it takes some seconds.")
        return
    if not watch(runs, "recipe") or not runs.results:
        return
    if runs.asked[0] != mine.version:
        st.warning("This run is of another table or schema. Press the button to renew it.")
        return
    result = runs.results[0][1]
    _settles(result)
    _evolves(mine.rows(mine.domain.names), result, runs.context)
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
    left, middle, right = st.columns(3)
    t = left.slider("After step", 1, T, T, key=f"recipe-t-{T}") if T > 1 else 1
    column = middle.selectbox(
        "Column", domain.names, format_func=clean, key=f"recipe-column-{hash(domain.names)}", **shared()
    )
    release = result.path[t - 1]
    single = compare(release, rows, Marginals(domain, [[column]]))
    labels = domain.columns[domain.names.index(column)].labels
    frame = pd.DataFrame({"value": labels, "real": single.real, "synthetic": single.synthetic})
    summary = f"{clean(column)} after step {t}: the largest difference is {points(float(single.gaps.max()))} points."
    summary += " Every step sets single columns to their noisy shares. What evolves is how columns go together."
    panel(explore_charts.marginal(frame, column, rows.n, "rows"), summary, frame, "recipe-column")
    if len(domain.names) < 2:
        return
    pairs = {" × ".join(map(clean, pair)): pair for pair in combinations(domain.names, 2)}
    chosen = pairs[right.selectbox("Two columns", list(pairs), key=f"recipe-pair-{hash(domain.names)}", **shared())]
    both = compare(release, rows, Marginals(domain, [chosen]))
    a, b = (domain.columns[domain.names.index(name)] for name in chosen)
    real, synthetic = (np.asarray(v).reshape(a.size, b.size) for v in (both.real, both.synthetic))
    index = pd.MultiIndex.from_product([a.labels, b.labels], names=["first", "second"]).to_frame(index=False)
    summary = f"After step {t} the largest difference in this table is {points(float(both.gaps.max()))} points."
    figure = explore_charts.pair(real, synthetic, chosen, (a.labels, b.labels))
    panel(figure, summary, index.assign(real=both.real, synthetic=both.synthetic), "recipe-pair")
