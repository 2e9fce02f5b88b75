"""What a run showed: verdict, convergence, what was spent and chosen; each part draws one finding with its tag."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from dpcore.evaluation.run import Comparison
from dpcore.experiments.pool import Job, Result
from dpcore.tags import Tag

from ..charts import base as charts
from .frame import heading, peek
from .text import plain, points, question

QUIET = {"displaylogo": False, "displayModeBar": False}


def panel(figure: Figure, summary: str, frame: pd.DataFrame, key: str) -> None:
    """A chart with its one-sentence summary, its numbers as a table, and a download of them."""
    st.plotly_chart(figure, key=key, alt=summary, config=QUIET)
    below(summary, frame, key)


def below(summary: str, frame: pd.DataFrame, key: str) -> None:
    """What stands under every chart: a sentence, the numbers as a table, and a download of them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(plain(summary, 400))
        with st.popover("Show as table", type="tertiary", icon=":material/table:"):
            st.dataframe(frame.head(1000), hide_index=True)
            csv = frame.to_csv(index=False)
            st.download_button("Download CSV", csv, f"{key}.csv", "text/csv", key=f"{key}-csv", on_click="ignore")


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


def curves(results: list[Result]) -> pd.DataFrame:
    """The convergence records of several seeds as one table."""
    return pd.DataFrame([{"seed": r.summary["seed"], **record.to_json()} for r in results for record in r.records])


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


def accounts(job: Job) -> None:
    """What the plan settled on and why, and every charge line by line; public, made before any record was touched."""
    summary = job.results[0].summary
    heading("What was chosen, and what was spent", Tag.PUBLIC)
    plan([(name, value, summary["reasons"][name]) for name, value in summary["parameters"].items()], summary["charges"])
    spent = summary["spent"]
    st.caption(
        f"Together ε = {spent['epsilon']:.6g} at δ = {spent['delta']:g}: {spent['accounting']}, rounded up; asked for "
        f"ε = {summary['epsilon']:g}."
    )


def plan(choices: Iterable[tuple[str, object, str]], charges: Iterable[dict[str, Any]]) -> None:
    """Two tables: what was settled and why, and every charge line by line, as `Charge.to_json` has it."""
    rows = [(name, _value(value), why) for name, value, why in choices]
    st.dataframe(pd.DataFrame(rows, columns=pd.Index(["setting", "value", "why"])), hide_index=True)
    lines = [
        {
            "what": charge["what"], "mechanism": charge["kind"], "times": charge["times"],
            "each": _each(charge),
            "together (ρ)": f"{charge['rho']:.5g}",
        }
        for charge in charges
    ]  # fmt: skip
    st.dataframe(pd.DataFrame(lines), hide_index=True)


def _each(charge: dict[str, Any]) -> str:
    """The parameter of one of the charge's spends; ρ where it has no other."""
    if "mu" in charge:
        return f"μ = {charge['mu']:.5g}"
    return f"ε₀ = {charge['epsilon']:.5g}" if "epsilon" in charge else f"ρ = {charge['rho'] / charge['times']:.5g}"


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
