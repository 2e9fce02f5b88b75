"""Charts with their sentence, table and download, and tables of what a plan spends."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import streamlit as st
from plotly.graph_objects import Figure

from dpcore.core.numbers import format_short_number
from dpcore.core.provenance import Provenance
from dpcore.evaluation.sweeps.sweep import SweepPoint
from dpcore.evaluation.sweeps.worker_pool import RunJob, RunResult
from dpcore.privacy.accounting import PlannedEvent, Setting

from ..session.inert_text import escape_markdown
from .chart_pictures import draw_picture_buttons
from .frame import draw_heading, inline_container

# A drag over a chart zooms, a double click goes back: it has no buttons, for it would cut off the
# rings that show their focus. Buttons below it save it, with its source in the picture.
CHART_CONFIG = {"displaylogo": False, "displayModeBar": False}
MAX_SHOWN_ROWS = 1000  # of a table on a page: its download has all


def draw_chart_panel(figure: Figure, summary: str, frame: pd.DataFrame, key: str) -> None:
    """Draw a chart with its one-sentence summary, its numbers as a table, and their download."""
    st.plotly_chart(figure, key=key, alt=summary, config=CHART_CONFIG)
    draw_chart_footer(summary, frame, key)


def draw_chart_footer(summary: str, frame: pd.DataFrame, key: str) -> None:
    """Draw what is below every chart: a sentence, the numbers as a table, and their download."""
    with inline_container():
        st.caption(escape_markdown(summary, 400))
        with st.popover("Show as table", type="tertiary", icon=":material/table:"):
            draw_downloadable_chart(frame, key, summary)


def draw_downloadable_chart(
    frame: pd.DataFrame,
    key: str,
    title: str,
    *,
    chart_key: str = "",
    epsilon: float | None = None,
    first_rows: pa.Table | None = None,
) -> None:
    """Draw the numbers of a chart with all downloads: CSV, and the chart as PNG and SVG.

    Args:
        frame: The numbers.
        key: Names the downloads.
        title: What the chart says.
        chart_key: The key of the chart's element, where it is another one.
        epsilon: The budget that the chart is about; None for that of the page's slider, if any.
        first_rows: What `rows_to_show` returns, where it is made already.

    """
    draw_downloadable_table(frame, key, first_rows)
    draw_picture_buttons(chart_key or key, title, epsilon, name=key)


def rows_to_show(frame: pd.DataFrame) -> pa.Table:
    """Return the rows of a table that a page shows, as they are sent."""
    return pa.Table.from_pandas(frame.head(MAX_SHOWN_ROWS))


def draw_downloadable_table(
    frame: pd.DataFrame, key: str, first_rows: pa.Table | None = None
) -> None:
    """Draw numbers as a table, with their download; `first_rows` are those to show, if made."""
    shown = frame.head(MAX_SHOWN_ROWS) if first_rows is None else first_rows
    st.dataframe(shown, hide_index=True)
    csv = partial(frame.to_csv, index=False)  # written when it is asked for
    st.download_button(
        "Download CSV", csv, f"{key}.csv", "text/csv", key=f"{key}-csv", on_click="ignore"
    )


def explain_missing_runs(points: Iterable[SweepPoint], titles: Mapping[str, str]) -> None:
    """Name each algorithm that lacks a run, by its title if it has one, and say why."""
    for name, message in {
        point.algorithm: point.message for point in points if point.state != "done"
    }.items():
        st.caption(escape_markdown(f"{titles.get(name, name)} lacks a run: {message}", 400))


def convergence_table(results: list[RunResult]) -> pd.DataFrame:
    """Return the convergence points of several runs, one per seed, as one table."""
    return pd.DataFrame(
        [
            {"seed": result.summary.seed, **point.to_json()}
            for result in results
            for point in result.summary.convergence
        ]
    )


def draw_run_plan(job: RunJob) -> None:
    """Draw the settings of a run's plan with their reasons, and every event line by line.

    The plan is public, made before any row was read.
    """
    summary = job.results[0].summary
    draw_heading("What was chosen, and what it used", Provenance.PUBLIC)
    draw_plan_tables(summary.settings, summary.planned_events)
    spent = summary.spent
    split = job.task.split
    if split is not None:
        st.caption(
            f"This is the algorithm's part alone: {split.share:.1%} of the budget of ε = "
            f"{summary.budget.epsilon:g} is the "
            "schema's, which a trial measured here."
        )
    st.caption(
        f"Together ε = {spent.epsilon:.6g} at δ = {format_short_number(spent.delta)}: "
        f"{spent.accounting.name}, rounded up; "
        f"asked for ε = {summary.budget.epsilon:g}."
    )


def draw_plan_tables(settings: Iterable[Setting], planned_events: Iterable[PlannedEvent]) -> None:
    """Draw two tables: what was settled and why, and every planned event line by line."""
    rows = [
        {"setting": setting.name, "value": _format_value(setting.value), "why": setting.why}
        for setting in settings
    ]
    st.dataframe(rows, hide_index=True)
    charges = [event.to_json() for event in planned_events]
    charge_rows = [
        {
            "what": charge["what"],
            "mechanism": charge["kind"],
            "times": charge["times"],
            "each": _format_event_parameter(charge),
            "together (ρ)": f"{charge['rho']:.5g}",
        }
        for charge in charges
    ]
    st.dataframe(charge_rows, hide_index=True)


def _format_event_parameter(charge: dict[str, Any]) -> str:
    """Return the parameter of one repetition of an event: μ or ε₀, else ρ."""
    if "mu" in charge:
        return f"μ = {charge['mu']:.5g}"
    return (
        f"ε₀ = {charge['epsilon']:.5g}"
        if "epsilon" in charge
        else f"ρ = {charge['rho'] / charge['times']:.5g}"
    )


def _format_value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
