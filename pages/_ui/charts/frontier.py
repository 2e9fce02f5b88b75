"""The frontier's figure and its neighbours: DataFrames to Plotly, nothing here computes or knows an algorithm."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..shell.text import figure_text
from .base import FOURTH, GREY, REAL, SYNTHETIC, TEXT, THIRD, finish
from .svg import DASHES

# Okabe–Ito without its yellow and grey, then Tol's muted ones.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
COLOURS += ["#AA4499", "#44AA99", "#999933", "#6A5ACD", "#A0522D", "#E7298A", "#B8860B", "#66A61E"]
SAMPLES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)  # shares of the rows
MARKERS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon", "hexagram", "triangle-down"]


def look(names: list[str]) -> dict[str, dict[str, str]]:
    """A colour and a marker for each algorithm by its place in the registry; no two alike up to a hundred."""
    return {
        name: {"color": COLOURS[i % len(COLOURS)], "symbol": MARKERS[i % len(MARKERS)]} for i, name in enumerate(names)
    }


def frontier(
    dots: pd.DataFrame,
    middle: pd.DataFrame,
    steps: pd.DataFrame,
    floors: Mapping[str, float],
    looks: Mapping[str, Mapping[str, str]],
    *,
    title: str,
    log: bool,
    titles: Mapping[str, str],
    n: float | None = None,
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    half: float | None = None,
) -> go.Figure:
    """Error against ε: a dot a run, a line of medians and a band over seeds for each algorithm, and the step frontier.

    `floors` are horizontal lines by name, `curves` theory by name. A dot's customdata is (algorithm, ε, seed). Lines
    are called by their `titles`, at their right ends. With `n` the axis is n·ε. With `half`, the error of a sample of
    half the rows, there is an axis of samples on the right.
    """
    figure = go.Figure()
    curves = {name: (x * (n or 1), y) for name, (x, y) in (curves or {}).items()}
    ticks = sorted(dots["epsilon"].unique())
    spent = dots[["algorithm", "epsilon", "seed"]].to_numpy(dtype=object)
    dots, middle, steps = (_across(frame, n) for frame in (dots, middle, steps))
    dots = dots.assign(custom=[list(line) for line in spent])
    for name, own in dots.groupby("algorithm", sort=False):
        shown = figure_text(titles[str(name)])
        mine, own_look = middle[middle["algorithm"] == name], looks[str(name)]
        if (mine["high"] > mine["low"]).any():
            band = {
                "x": [*mine["epsilon"], *mine["epsilon"][::-1]],
                "y": [*mine["high"], *mine["low"][::-1]],
            }
            figure.add_scatter(
                **band, fill="toself", fillcolor=own_look["color"], opacity=0.15, line_width=0, hoverinfo="skip",
                showlegend=False, legendgroup=name,
            )  # fmt: skip
        figure.add_scatter(
            x=mine["epsilon"], y=mine["error"], mode="lines", line={"color": own_look["color"]}, legendgroup=name,
            name=shown, hoverinfo="skip",
        )  # fmt: skip
        figure.add_scatter(
            x=own["epsilon"], y=own["error"], mode="markers", name=shown, legendgroup=name, showlegend=False,
            marker={**own_look, "size": 9, "line": {"width": 0.5, "color": "white"}},
            customdata=np.array([[*line, shown] for line in own["custom"]], dtype=object),
            hovertemplate="%{customdata[3]}, ε = %{customdata[1]}, repeat %{customdata[2]}: %{y:.3g}<extra></extra>",
        )  # fmt: skip
    if len(steps):
        figure.add_scatter(
            x=steps["epsilon"], y=steps["error"], mode="lines", name="frontier", hoverinfo="skip",
            line={"color": GREY, "width": 5, "shape": "hv"}, opacity=0.4,
        )  # fmt: skip
    for name, (x, y) in curves.items():
        line = {"color": GREY, "dash": "dash", "width": 1}
        figure.add_scatter(x=x, y=y, mode="lines", name=name, line=line, hoverinfo="name")
    span = [float(dots["epsilon"].min()), float(dots["epsilon"].max())]
    for (name, value), dash in zip(floors.items(), DASHES, strict=False):
        figure.add_scatter(
            x=span, y=[value, value], mode="lines", name=figure_text(name, 40), line={"color": GREY, "dash": dash},
            hovertemplate=f"{figure_text(name, 40)}: %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    kind = "log" if log else "linear"
    figure.update_yaxes(title=title, type=kind, **({"exponentformat": "power", "dtick": 1} if log else {}))
    values = [tick * (n or 1) for tick in ticks]
    words = "ε" if n is None else f"n·ε (n = {n:,.0f}): what error goes with, whatever the table's size"
    figure.update_xaxes(title=words, type="log", tickvals=values, ticktext=[f"{v:,.6g}" for v in values])
    figure.update_layout(clickmode="event+select")
    finish(figure, 440)
    if half:
        _sampled(figure, half, kind)
    return figure


def _sampled(figure: go.Figure, half: float, kind: str) -> None:
    """Add an axis on the right: which share f of the rows a sample has that is off as much, half · sqrt(1/f − 1)."""
    layout, space = figure.layout, 56
    for note in layout.annotations:
        note.xshift += space
    places = [half * (1 / f - 1) ** 0.5 for f in SAMPLES]
    figure.add_scatter(x=[None], y=[None], yaxis="y2", showlegend=False, hoverinfo="skip")
    beside = {"overlaying": "y", "matches": "y", "side": "right", "showgrid": False, "type": kind, "tickfont": TEXT}
    figure.update_layout(
        yaxis2=beside | {"tickvals": places, "ticktext": [f"{100 * f:g} %" for f in SAMPLES]},
        margin_r=(layout.margin.r or 0) + space,
    )
    figure.add_annotation(
        text="as exact as a sample of", x=1, y=1, xref="paper", yref="paper", xanchor="center", yanchor="bottom",
        yshift=8, showarrow=False, font=TEXT,
    )  # fmt: skip


def waterfall(parts: Mapping[str, float], total: float, unit: str) -> go.Figure:
    """Parts of one question's error as steps from zero to their sum."""
    figure = go.Figure()
    figure.add_waterfall(
        x=[*parts, "all together"], y=[*parts.values(), total], measure=[*["relative"] * len(parts), "total"],
        text=[f"{v:+.3g}" for v in [*parts.values(), total]], textposition="outside", cliponaxis=False,
        increasing_marker_color=SYNTHETIC, decreasing_marker_color=REAL, totals_marker_color=GREY,
        connector_line_color=GREY,
    )  # fmt: skip
    return finish(figure.update_yaxes(title=f"synthetic − true, {unit}", rangemode="tozero"), 360)


def flips(table: pd.DataFrame, looks: Mapping[str, Mapping[str, str]], titles: Mapping[str, str]) -> go.Figure:
    """Share of runs that say the opposite, against ε; `table` has algorithm, epsilon, share, words."""
    figure = go.Figure()
    for name, own in table.groupby("algorithm", sort=False):
        shown = figure_text(titles[str(name)])
        figure.add_scatter(
            x=own["epsilon"], y=own["share"], name=shown, mode="lines+markers", customdata=own["words"],
            line_color=looks[str(name)]["color"], marker={**looks[str(name)], "size": 9},
            hovertemplate=f"{shown}: %{{customdata}}<extra></extra>",
        )  # fmt: skip
    values = sorted(table["epsilon"].unique())
    figure.update_xaxes(title="ε", type="log", tickvals=values, ticktext=[f"{v:g}" for v in values])
    return finish(figure.update_yaxes(title="runs that say the opposite", tickformat=".0%", range=[-0.03, 1.03]), 360)


def purpose(lines: pd.DataFrame, unit: str) -> go.Figure:
    """How well something is done against ε; `lines` has line, epsilon, mean, min, max; releases come first."""
    figure, looks = go.Figure(), {"the real table": (REAL, "dash"), "a sample as exact": (THIRD, "dot")}
    looks["knowing nothing"] = GREY, "dashdot"
    for name, own in lines.groupby("line", sort=False):
        colour, dash = looks.get(str(name), (SYNTHETIC if not figure.data else FOURTH, "solid"))
        band = {"x": [*own["epsilon"], *own["epsilon"][::-1]], "y": [*own["max"], *own["min"][::-1]]}
        figure.add_scatter(
            **band, fill="toself", fillcolor=colour, opacity=0.15, line_width=0, hoverinfo="skip", showlegend=False
        )
        figure.add_scatter(
            x=own["epsilon"], y=own["mean"], mode="lines", name=figure_text(name), line={"color": colour, "dash": dash}
        )
    values = sorted(lines["epsilon"].unique())
    figure.update_xaxes(title="ε", type="log", tickvals=values, ticktext=[f"{v:g}" for v in values])
    return finish(figure.update_yaxes(title=unit), 360)


def _across(frame: pd.DataFrame, n: float | None) -> pd.DataFrame:
    return frame if n is None else frame.assign(epsilon=frame["epsilon"] * n)
