"""What a run showed: the verdict, and how it settled; each part draws one finding with its tag."""

import pandas as pd
import streamlit as st

from dpcore.evaluation.run import Comparison
from dpcore.experiments.pool import Job
from dpcore.tags import Tag

from ..charts import base as charts
from ..shell.frame import heading, peek
from ..shell.results import curves, panel
from ..shell.text import plain, points, question


@peek
def verdict(job: Job, real: Comparison, promise: str) -> None:
    """The finding in one sentence, and what it cost."""
    summary = job.results[0].summary
    worst = int(real.worst(1)[0])
    typical, most = points(float(real.gaps.mean())), points(float(real.gaps[worst]))
    where = plain(question(real.workload.label(worst)), 120)
    heading("Verdict", Tag.PEEK)
    st.markdown(f"**Typical error {typical} points; worst {most}, in “{where}”.**")
    spent = summary["spent"]
    st.caption(
        f"Percentage points of all {summary['n']:,} records, over {summary['queries']:,} questions on "
        f"{summary['cells']:,} cells. Spent: ε = {spent['epsilon']:.4g} at δ = {spent['delta']:g}, "
        f"by {spent['accounting']}. Protected: {promise}."
    )


@peek
def convergence(job: Job, pinned: pd.DataFrame | None) -> None:
    """Error against rounds or against the budget spent, the median and range over seeds, and a pinned run behind."""
    frame = curves(job.results)
    heading("Does it settle?", Tag.PEEK)
    against = st.segmented_control(
        "Against", ["round", "ε spent"], default="round", required=True, key="against", bind="query-params"
    )
    x = "epsilon_spent" if against == "ε spent" else "t"
    last = frame.groupby("seed").tail(1)
    seeds = len(job.results)
    summary = f"After {int(last['t'].median()):,} rounds the worst error is {points(last['max_error'].median())} points"
    if seeds > 1:
        summary += f" (from {points(last['max_error'].min())} to {points(last['max_error'].max())} over {seeds} seeds)"
    summary += "."
    if frame["epsilon_spent"].nunique() == 1:
        summary += " The whole budget is spent before the first round; all rounds refine what it bought."
    if "population_max_error" in frame:
        summary += f" Against the population it is {points(last['population_max_error'].median())} points."
    panel(charts.convergence(frame, x, "ε spent" if x != "t" else "round", pinned), summary, frame, "convergence")
