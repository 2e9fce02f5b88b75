"""The charts of the one screen: small, in percentage points, and never without how far the noise moves them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..shell.text import figure_text
from .base import GREY, LINES, REAL, SYNTHETIC, ticks

HEIGHT = 232
HINT = {"size": 11}
FADED = 0.18
SHORT = {
    "max_error": "worst", "mean_error": "mean", "population_max_error": "worst (pop.)",
    "population_mean_error": "mean (pop.)",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What a convergence curve is shown with: `theory` by the error's name, `stages` (where, words), a `pinned` run."""

    theory: Mapping[str, float] = field(default_factory=dict)
    stages: Sequence[tuple[float, str]] = ()
    pinned: pd.DataFrame | None = None


def convergence(records: pd.DataFrame, x: str, title: str, n: int, noun: str, beside: Beside) -> go.Figure:
    """Errors against `x`: the first run as a line, the range over its replays as a band; theory and a pinned run."""
    figure = go.Figure()
    first = records[records["seed"] == records["seed"].iloc[0]].set_index("t", drop=False)
    for name, (colour, dash, _) in LINES.items():
        if name not in records:
            continue
        if records["seed"].nunique() > 1:
            _band(figure, records, first, x, name, colour)
        words = SHORT[name]
        line = {"color": colour, "dash": dash, "width": 2}
        _line(figure, first[x], first[name], words, line, n, noun)
    if beside.pinned is not None:
        own = beside.pinned[beside.pinned["seed"] == beside.pinned["seed"].iloc[0]]
        line = {"color": GREY, "dash": "longdash", "width": 2}
        _line(figure, own[x], own["max_error"], "worst, pinned A", line, n, noun)
    for name, value in beside.theory.items():
        words = "plain noise" if name == "max_error" else "plain noise, mean"
        line = {"color": LINES[name][0], "dash": "dot", "width": 1}
        ends = pd.Series([min(0.0, first[x].min()), first[x].max()])
        _line(figure, ends, pd.Series([value, value]), words, line, n, noun, "lines")
        figure.data[-1].update(showlegend=name == "max_error")
    for at, words in beside.stages:
        figure.add_vline(at, line={"color": GREY, "dash": "dash", "width": 1}, annotation_text=words)
        figure.layout.annotations[-1].update(font=HINT, yanchor="bottom", y=0.99, xanchor="left")
    figure.update_yaxes(title="error, points", type="log", dtick=1, tickformat="~g")
    figure.update_xaxes(title=title, rangemode="tozero")
    return _small(figure)


def _line(
    figure: go.Figure, x: pd.Series, y: pd.Series, words: str, line: dict, n: int, noun: str, mode: str = ""
) -> None:
    shown = mode or ("lines" if x.nunique() > 1 else "markers")
    last = slice(None) if x.nunique() > 1 else slice(-1, None)
    y = y[last]
    figure.add_scatter(
        x=x[last], y=100 * y, mode=shown, name=words, line=line, marker={"color": line["color"], "size": 10},
        customdata=y * n, hovertemplate=f"%{{y:.3g}} points ≈ %{{customdata:,.1f}} {noun}",
    )  # fmt: skip


def _band(figure: go.Figure, records: pd.DataFrame, first: pd.DataFrame, x: str, name: str, colour: str) -> None:
    """From the smallest to the largest error of all runs; one that has ended stays where it ended."""
    runs = records.pivot(index="t", columns="seed", values=name).ffill()
    low, high = runs.min(axis=1), runs.max(axis=1)
    at = pd.Series(runs.index, runs.index) if x == "t" else first[x].reindex(runs.index).ffill().bfill()
    if at.nunique() == 1:
        at, low, high = pd.Series([at.iloc[-1]] * 2), low.iloc[[-1, -1]], high.iloc[[-1, -1]]
        line = {"color": colour, "width": 6}
        figure.add_scatter(
            x=at, y=[100 * low.iloc[0], 100 * high.iloc[0]], mode="lines", line=line, opacity=0.4, hoverinfo="skip",
            showlegend=False,
        )  # fmt: skip
        return
    figure.add_scatter(
        x=[*at, *at[::-1]], y=[*(100 * high), *(100 * low[::-1])], fill="toself", fillcolor=colour, opacity=FADED,
        line_width=0, mode="lines", hoverinfo="skip", showlegend=False,
    )  # fmt: skip


def questions(table: pd.DataFrame, n: int, noun: str) -> go.Figure:
    """Errors of the worst questions, worst first, with their range over the replays where `low` and `high` are given.

    `table` has question, error and the range; drag over the dots to mark some.
    """
    figure, rank = go.Figure(), np.arange(1, len(table) + 1)
    bars = None
    if "low" in table:
        bars = {
            "array": 100 * (table["high"] - table["error"]), "arrayminus": 100 * (table["error"] - table["low"]),
            "symmetric": False, "width": 0, "thickness": 1, "color": "rgba(122,122,122,0.3)",
        }  # fmt: skip
    figure.add_scatter(
        x=rank, y=100 * table["error"], mode="markers", error_y=bars, name="error",
        marker={"color": SYNTHETIC, "size": 5}, unselected={"marker": {"opacity": 0.2}},
        customdata=np.column_stack([[figure_text(q, 80) for q in table["question"]], table["error"] * n]),
        hovertemplate=f"%{{customdata[0]}}<br>%{{y:.3g}} points ≈ %{{customdata[1]:,.1f}} {noun}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="questions, worst first", type="log", dtick=1, tickformat=",d")
    figure.update_yaxes(title="error, points", rangemode="tozero")
    return _small(figure.update_layout(dragmode="select", selectdirection="h", showlegend=False))


def columns(involved: pd.DataFrame) -> go.Figure:
    """The mean error of the marked questions by the column they involve; `involved` has column, error, questions."""
    names = [figure_text(c, 14) for c in involved["column"]]
    figure = go.Figure()
    figure.add_bar(
        x=100 * involved["error"], y=list(range(len(names))), orientation="h", marker_color=REAL,
        customdata=np.column_stack([names, involved["questions"]]),
        hovertemplate="%{customdata[0]}: %{x:.3g} points, %{customdata[1]} questions<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", **ticks(names, 12))
    figure.update_xaxes(title="mean, points", rangemode="tozero", nticks=4)
    return _small(figure)


def marginal(frame: pd.DataFrame, title: str, n: int, noun: str) -> go.Figure:
    """Real beside synthetic shares of one column's values; error bars where the replays' `low` and `high` are given."""
    figure = go.Figure()
    names = [figure_text(v, 22) for v in frame["value"]]
    for name, colour, pattern in (("real", REAL, ""), ("synthetic", SYNTHETIC, "/"), ("pinned A", GREY, "x")):
        if name not in frame:
            continue
        bars = None
        if name == "synthetic" and "low" in frame:
            above, below = frame["high"] - frame[name], frame[name] - frame["low"]
            bars = {
                "array": 100 * above,
                "arrayminus": 100 * below,
                "symmetric": False,
                "thickness": 2,
                "width": 5,
                "color": "#808080",
            }
        figure.add_bar(
            x=list(range(len(names))), y=100 * frame[name], name=name, error_y=bars,
            marker={"color": colour, "pattern": {"shape": pattern}},
            customdata=np.column_stack([names, frame[name] * n]),
            hovertemplate=f"%{{customdata[0]}}: %{{y:.3f}} % ≈ %{{customdata[1]:,.0f}} {noun}",
        )  # fmt: skip
    figure.update_xaxes(title=figure_text(title), **ticks(names, 14))
    figure.update_yaxes(title="% of records", rangemode="tozero")
    return _small(figure.update_layout(barmode="group", bargap=0.2))


def pair(
    real: np.ndarray, synthetic: np.ndarray, axes: tuple[str, str], labels: tuple[Sequence[str], Sequence[str]]
) -> go.Figure:
    """A 2-way table real and synthetic on one scale, and their difference on one of its own."""
    rows, across = ([figure_text(v, 12) for v in axis] for axis in labels)
    titles = ("real, %", "synthetic, %", "synthetic − real, points")
    figure = make_subplots(1, 3, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.1)
    most = 100 * float(max(real.max(), synthetic.max()))
    gap = 100 * float(np.abs(synthetic - real).max()) or 1.0
    cells = np.array([[(r, c) for c in across] for r in rows])
    for place, values in enumerate((real, synthetic, synthetic - real), start=1):
        signed = place == 3
        colorbar = {"thickness": 7, "x": 1.0 if signed else 0.64, "xanchor": "left", "tickfont": HINT, "nticks": 4}
        figure.add_heatmap(
            z=100 * values, zmin=-gap if signed else 0, zmax=gap if signed else most, row=1, col=place,
            colorscale="RdBu" if signed else "Blues", colorbar=colorbar, showscale=place > 1, customdata=cells,
            hovertemplate="%{customdata[0]}, %{customdata[1]}: %{z:.3g}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(tickangle=-45, tickfont=HINT, **ticks(across, 7))
    figure.update_xaxes(title={"text": figure_text(axes[1]), "font": HINT}, row=1, col=2)
    figure.update_yaxes(autorange="reversed", tickfont=HINT, **ticks(rows, 9))
    figure.update_yaxes(title={"text": figure_text(axes[0]), "font": HINT}, row=1, col=1)
    figure.update_annotations(font_size=12)
    return _small(figure).update_layout(margin_t=22)


def _small(figure: go.Figure) -> go.Figure:
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0, "font": HINT, "entrywidth": 66}
    margin = {"l": 4, "r": 4, "t": 24, "b": 4}
    figure.update_xaxes(title_standoff=4)
    return figure.update_layout(height=HEIGHT, margin=margin, legend=legend)
