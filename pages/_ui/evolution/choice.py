"""Which should I use? Private Evolution, PSMM and a noisy grid on columns of numbers of the session's table."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import Algorithm
from dpcore.data.domain import Column
from dpcore.geometry.regions import box, point_rows
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import PointRelease

from ..charts import evolution as evolution_charts
from ..jobs.job import watch
from ..jobs.runs import LAST, Runs, WantedRun, tab_runs
from ..shell import controls, results
from ..shell.frame import heading, peek
from ..shell.state import shared
from ..shell.table import Table
from ..shell.text import clean, plain
from .on_table import present

PE, RANDOM = "Private Evolution", "random points, no data"
METHODS: dict[str, tuple[str, dict[str, str]]] = {
    "PSMM": ("psmm", {}),
    PE: ("private_evolution", {}),
    "noisy grid": ("psmm", {"post": "simplex"}),
    RANDOM: ("private_evolution", {"rounds": "0"}),
}
RUNS = 3
OFF = "W1 may be off by"


def choose() -> None:
    """Draw the part that compares the methods. Raises InputError for budgets that a method cannot serve."""
    table = present()
    if table is None:
        return
    columns = {c.name: c for c in table.domain.columns if not c.values}  # type: ignore[union-attr]
    if len(columns) < 2:
        st.info(
            "This table has fewer than two columns of numbers with public bounds, so there are no points. "
            "The invented census has two, age and hours: choose it on the Data page, or bring a table of yours."
        )
        return
    with st.container(border=True, key="choice-settings"):
        left, middle, right = st.columns(3)
        names = left.multiselect(
            "Two or three columns", list(columns), list(columns)[:2], max_selections=3, format_func=clean,
            key=f"choice-{hash(tuple(columns))}", **shared(),
        )  # fmt: skip
        with middle:
            budget = controls.budget(right)
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button("Compare them", type="primary", icon=":material/play_arrow:", disabled=len(names) < 2)
            st.caption(plain(f"Protected: {table.unit.words}. Columns are scaled to 0..1 by their public bounds.", 300))
    mine = tab_runs("choice")
    if pressed:
        _start(mine, table, [columns[name] for name in names], budget)
    if not mine.jobs:
        st.info("Nothing has run yet. Three runs of each method take some seconds; of 20,000 rows about ten.")
        return
    if mine.asked[0] != table.version:
        st.warning("What is shown below is of another table or schema. Press the button to renew it.")
    if (watch(mine, "choice", enough=len(METHODS)) and mine.results) or len(mine.results) >= len(METHODS):
        _draw(mine)


def _start(mine: Runs, table: Table, columns: list[Column], budget: Budget) -> None:
    """Start all runs on points in the unit box: columns scaled by public bounds, missing numbers in the middle."""
    names = tuple(c.name for c in columns)
    scaled = {c.name: _scaled(c, table.kept[c.name]) for c in columns}
    region = box([0.0], [1.0], names)
    rows = point_rows(region, names, pd.DataFrame(scaled))
    problem = PointRelease(region, rows.n, names, table.unit.most_rows)
    algorithms: dict[str, Algorithm] = {name: build(ALGORITHMS[key], texts) for name, (key, texts) in METHODS.items()}
    facts = {"problem": problem, "budget": budget, "every": LAST}
    wanted = [
        WantedRun(name, rows, {**facts, "algorithm": algorithm, "seeds": (seed,)})
        for seed in range(RUNS)
        for name, algorithm in algorithms.items()
        if not (seed and name == RANDOM)  # drawn once: it is there for scale
    ]
    mine.start((table.version, names, budget), wanted, (names, rows.n, budget))


def _scaled(column: Column, cells: pd.Series) -> np.ndarray:
    """Return a column's numbers as shares of its public range; ½ where missing."""
    low, high = float(column.low or 0.0), float(column.high or 0.0)
    return np.nan_to_num((column.numbers(cells) - low) / (high - low), nan=0.5)


@peek
def _draw(mine: Runs) -> None:
    names, n, budget = mine.context
    lines = []
    for method, result in mine.results:
        final = result.summary["final"]
        lines.append(
            {"method": method, "seed": result.summary["seed"], "w1": final["w1"], OFF: final["w1_error"],
             "seconds": result.summary["seconds"]}
        )  # fmt: skip
    found = pd.DataFrame(lines)
    found["method"] = pd.Categorical(found["method"], list(METHODS), ordered=True)
    found = found.sort_values(["method", "seed"]).astype({"method": str})
    heading("Which method brings points nearest to the real ones?")
    results.panel(evolution_charts.ranking(found, OFF), verdict(found, len(names), n, budget), found, "choice")
    means = found.groupby("method", sort=False)[["w1", OFF, "seconds"]].mean().reset_index()
    st.dataframe(means.rename(columns={"w1": "mean W1", "seconds": "seconds a run"}), hide_index=True)
    st.caption(
        "A W1 of 0.01 means that points had to move by 1% of a column's range on average. It is exact, or nearly, up "
        "to 2,000 different points; more are put into 800 groups, which bound W1 from both sides: ± says how far."
    )


def verdict(found: pd.DataFrame, d: int, n: int, budget: Budget) -> str:
    """Return a sentence that ranks the methods by their means, and one that says what follows."""
    groups = found.groupby("method")
    means, off = groups["w1"].mean().sort_values(), groups[OFF].mean()
    told = {
        name: f"{value:.3g}{f' ± {off[name]:.1g}' if off[name] > value / 1000 else ''}" for name, value in means.items()
    }
    best, second = (str(name) for name in means.index[:2])
    rest = ", ".join(f"{name} {value}" for name, value in told.items() if name != best)
    said = f"On these {n:,} points in {d} dimensions at ε = {budget.epsilon:g}, {best} is nearest: "
    said += f"W1 {told[best]}; {rest}."
    if means[second] - means[best] < groups["w1"].std().fillna(0.0).max():
        return said + " Runs differ more than the best two methods do, so either will serve."
    if means[second] - means[best] < off[best] + off[second]:
        return said + " W1 is not known well enough to tell the best two apart, so either will serve."
    if best == "PSMM":
        return said + " Where a grid can be listed, use it: evolution pays where none can be, as for images or texts."
    if best == PE:
        return said + " Evolution wins here: the boxes of the grid are too large for these dimensions and this budget."
    if best == RANDOM:
        return said + " The budget is too small for any of them: noise alone decided where points went."
    return said
