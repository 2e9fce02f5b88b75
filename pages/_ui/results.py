"""What a run showed: verdict, convergence, queries, marginals; each part draws one finding with its tag."""

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from dpcore.domain import Domain
from dpcore.pool import Job, Result
from dpcore.run import Comparison, compare
from dpcore.tags import Tag
from dpcore.workloads import Marginals

from . import charts
from .frame import heading
from .state import Table
from .text import clean, plain, points, question


def panel(figure: Figure, summary: str, frame: pd.DataFrame, key: str) -> None:
    """A chart with its one-sentence summary, its numbers as a table, and a download of them."""
    st.plotly_chart(figure, key=key, alt=summary, config={"displaylogo": False, "displayModeBar": False})
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(plain(summary, 300))
        with st.popover("Show as table", type="tertiary", icon=":material/table:"):
            st.dataframe(frame.head(1000), hide_index=True)
            name = f"{key}.csv"
            st.download_button(
                "Download CSV", frame.to_csv(index=False), name, "text/csv", key=f"{key}-csv", on_click="ignore"
            )


def verdict(job: Job, real: Comparison) -> None:
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
        f"by {spent['accounting']}."
    )


def convergence(job: Job) -> None:
    """Error against rounds or against the budget spent, the median and range over seeds."""
    runs = [r.records for r in job.results]
    frame = pd.DataFrame([{"seed": r, **record.to_json()} for r, records in enumerate(runs) for record in records])
    heading("Does it settle?", Tag.PEEK)
    against = st.segmented_control(
        "Against", ["round", "ε spent"], default="round", required=True, key="against", persist_state="session"
    )
    x = "epsilon_spent" if against == "ε spent" else "t"
    last = frame.groupby("seed").tail(1)
    summary = f"After {int(last['t'].median()):,} rounds the worst error is {points(last['max_error'].median())} points"
    if len(runs) > 1:
        low, high = points(last["max_error"].min()), points(last["max_error"].max())
        summary += f" (from {low} to {high} over {len(runs)} seeds)"
    summary += "."
    if frame["epsilon_spent"].nunique() == 1:
        summary += " The whole budget is spent before the first round; all rounds refine what it bought."
    panel(charts.convergence(frame, x, "ε spent" if x != "t" else "round"), summary, frame, "convergence")


def queries(real: Comparison) -> None:
    """Every query's error sorted, and the worst ten in words."""
    heading("Which questions are answered worst?", Tag.PEEK)
    worst = real.worst(len(real.gaps))
    gaps = real.gaps[worst]
    left, right = st.columns([3, 2])
    table = pd.DataFrame(
        {
            "question": [question(real.workload.label(int(j))) for j in worst[:1000]],
            "real": real.real[worst[:1000]],
            "synthetic": real.synthetic[worst[:1000]],
            "error": gaps[:1000],
        }
    )
    with left:
        tenth = points(float(gaps[len(gaps) // 10]))
        half = points(float(np.median(gaps)))
        summary = f"One question in ten is off by more than {tenth} points; half of them by more than {half}."
        panel(charts.query_errors(gaps), summary, table, "queries")
    with right:
        st.markdown("**The ten worst, in words**")
        shares = st.column_config.NumberColumn(format="percent")
        st.dataframe(
            table.head(10), hide_index=True, column_config={"real": shares, "synthetic": shares, "error": shares}
        )


def marginals(table: Table, result: Result, domain: Domain) -> None:
    """One column real beside synthetic, and two columns as heat maps on one scale."""
    release, names = result.release, domain.names
    rows = table.rows(names)
    heading("How do real and synthetic compare?", Tag.PEEK)
    column = st.selectbox("Column", names, format_func=clean, key=f"marginal-column-{hash(names)}")
    pair = compare(release, rows, Marginals(domain, [[column]]))
    labels = domain.columns[names.index(column)].labels
    frame = pd.DataFrame({"value": labels, "real": pair.real, "synthetic": pair.synthetic})
    most, where = points(float(pair.gaps.max())), clean(labels[int(pair.worst(1)[0])])
    summary = f"{clean(column)}: the largest difference is {most} points, at {where}."
    panel(charts.bars(frame, column), summary, frame, "marginal")
    if len(names) > 1:
        _pair(table, result, domain)


def _pair(table: Table, result: Result, domain: Domain) -> None:
    names = domain.names
    pairs = list(combinations(names, 2))
    chosen = st.selectbox(
        "Two columns", pairs, format_func=lambda p: " × ".join(map(clean, p)), key=f"marginal-pair-{hash(names)}"
    )
    both = compare(result.release, table.rows(names), Marginals(domain, [chosen]))
    columns = tuple(domain.columns[names.index(name)] for name in chosen)
    shape = tuple(c.size for c in columns)
    labels = (columns[0].labels, columns[1].labels)
    real, synthetic = both.real.reshape(shape), both.synthetic.reshape(shape)
    limit = float(max(real.max(), synthetic.max()))
    difference = synthetic - real
    shown = (
        ("real", real, limit),
        ("synthetic", synthetic, limit),
        ("synthetic − real", difference, float(both.gaps.max()) or 1.0),
    )
    index = [(a, b) for a in labels[0] for b in labels[1]]
    frame = pd.DataFrame(index, columns=["first", "second"]).assign(real=both.real, synthetic=both.synthetic)
    for (title, values, top), place in zip(shown, st.columns(3), strict=True):
        figure = charts.heat_map(values, title, chosen, labels, top)
        alt = f"Heat map, {title}: {' × '.join(map(clean, chosen))}"
        place.plotly_chart(figure, key=f"heat-{title}", alt=alt, config={"displayModeBar": False})
    with st.popover("Show as table", type="tertiary", icon=":material/table:"):
        st.dataframe(frame, hide_index=True)


def chosen(job: Job) -> None:
    """What the plan settled on and why; public, as it was made before any record was touched."""
    summary = job.results[0].summary
    heading("What the algorithm chose, and why", Tag.PUBLIC)
    rows = [(name, _value(value), summary["reasons"][name]) for name, value in summary["parameters"].items()]
    st.dataframe(pd.DataFrame(rows, columns=["setting", "value", "why"]), hide_index=True)


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
