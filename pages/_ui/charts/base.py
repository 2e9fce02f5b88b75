"""DataFrames to Plotly figures; nothing here computes or knows an algorithm. Colours are the Okabe–Ito ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..shell.text import figure_text

REAL, SYNTHETIC, THIRD, FOURTH, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7A7A7A"
LINES = {  # error: colour, dash, words
    "max_error": (SYNTHETIC, "solid", "worst query"),
    "mean_error": (REAL, "dash", "mean over queries"),
    "population_max_error": (FOURTH, "dot", "worst query, against the population"),
    "population_mean_error": (THIRD, "dashdot", "mean, against the population"),
}


def finish(figure: go.Figure, height: int = 380) -> go.Figure:
    """A figure with the margins, height and legend of every figure."""
    return figure.update_layout(frame_of(height))


def frame_of(height: int) -> dict[str, Any]:
    """The margins, height and legend of every figure."""
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}
    return {"height": height, "margin": {"l": 10, "r": 10, "t": 40, "b": 10}, "legend": legend}


def ticks(labels: list[str], most: int) -> dict[str, list]:
    """Tick positions and texts, thinned so that they do not overlap."""
    shown = list(range(0, len(labels), max(1, -(-len(labels) // most))))
    return {"tickvals": shown, "ticktext": [labels[i] for i in shown]}


def convergence(records: pd.DataFrame, x: str, x_title: str) -> go.Figure:
    """Errors against `x`: the median over seeds as a line, the range over seeds as a band."""
    figure = go.Figure()
    for name, (colour, dash, words) in LINES.items():
        if name not in records:
            continue
        by = records.groupby(x)[name]
        middle, low, high = by.median(), by.min(), by.max()
        if records["seed"].nunique() > 1:
            band = {"x": [*middle.index, *middle.index[::-1]], "y": [*high, *low[::-1]]}
            figure.add_scatter(
                **band, fill="toself", fillcolor=colour, opacity=0.18, line_width=0, hoverinfo="skip", showlegend=False
            )
        mode = "lines" if len(middle) > 1 else "markers"
        figure.add_scatter(
            x=middle.index, y=middle, mode=mode, name=words, line={"color": colour, "dash": dash}, marker_size=10
        )
    figure.update_yaxes(title="error (difference of probabilities)", type="log", exponentformat="power", dtick=1)
    return finish(figure.update_xaxes(title=x_title, rangemode="tozero"))


def groups(frame: pd.DataFrame, title: str) -> go.Figure:
    """Error by group, the smallest group on top, its share of the records beside its name."""
    names = [f"{figure_text(g, 20)} ({s:.2%})" for g, s in zip(frame["group"], frame["share"], strict=True)]
    places = list(range(len(names)))
    bars = {
        "type": "bar", "x": frame["error"].to_numpy(), "y": places, "orientation": "h", "marker": {"color": SYNTHETIC},
        "customdata": names, "hovertemplate": "%{customdata}: %{x:.2%}<extra></extra>",
    }  # fmt: skip
    beside = {"title": {"text": figure_text(title)}, "autorange": "reversed"} | ticks(names, 30)
    words = "disagreement: 0% says the same, 100% nothing in common"
    below = {"title": {"text": words}, "tickformat": ".2~%", "rangemode": "tozero"}
    layout = frame_of(120 + 26 * min(len(names), 30)) | {"xaxis": below, "yaxis": beside}
    return go.Figure({"data": [bars], "layout": layout})


def bars(frame: pd.DataFrame, title: str) -> go.Figure:
    """Real beside synthetic shares of one column's values."""
    figure = go.Figure()
    names = [figure_text(v, 22) for v in frame["value"]]
    for name, colour, pattern in (("real", REAL, ""), ("synthetic", SYNTHETIC, "/")):
        if name not in frame:
            continue
        figure.add_bar(
            x=list(range(len(names))), y=frame[name], name=name,
            marker={"color": colour, "pattern": {"shape": pattern}},
            customdata=names, hovertemplate="%{customdata}: %{y:.4f}",
        )  # fmt: skip
    figure.update_xaxes(title=figure_text(title), **ticks(names, 24))
    figure.update_layout(barmode="group", bargap=0.2)
    return finish(figure.update_yaxes(title="share of records", rangemode="tozero", tickformat=".2~%"))


def heat_map(
    values: np.ndarray,
    title: str,
    axes: tuple[str, str],
    labels: tuple[Sequence[str], Sequence[str]],
    limit: float,
    *,
    signed: bool,
) -> go.Figure:
    """A 2-way table on a scale from 0, or from −`limit` where `signed`, to `limit`."""
    rows, columns = ([figure_text(v, 14) for v in axis] for axis in labels)
    figure = go.Figure()
    figure.add_heatmap(
        z=values, zmin=-limit if signed else 0, zmax=limit, colorscale="RdBu" if signed else "Blues",
        colorbar={"thickness": 10, "tickformat": ".2~%"},
        customdata=np.array([[(r, c) for c in columns] for r in rows]),
        hovertemplate="%{customdata[0]}, %{customdata[1]}: %{z:.2%}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=figure_text(axes[1]), tickangle=-45, **ticks(columns, 12))
    figure.update_yaxes(title=figure_text(axes[0]), autorange="reversed", **ticks(rows, 16))
    return finish(figure.update_layout(title={"text": title, "font_size": 14}), 360)
