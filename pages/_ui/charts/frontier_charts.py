"""The frontier's figure and its neighbours: DataFrames to Plotly, nothing here computes or knows an algorithm."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..session import escape_figure_text
from .figure_frame import (
    GREY,
    POWER_AXIS,
    REAL,
    SYNTHETIC,
    THIRD,
    add_band,
    finish_figure,
    log_axis,
)

# Most of Okabe–Ito, then Tol’s muted ones; those that are compared first look least alike.
COLOURS = ["#0072B2", "#D55E00", "#E7298A", "#CC79A7", "#E69F00", "#56B4E9"]
COLOURS += ["#AA4499", "#44AA99", "#999933", "#6A5ACD", "#00A5C8", "#009E73", "#B8860B", "#66A61E"]
COLOURS += ["#E41A1C", "#A0522D", "#8C6BB1", "#4D7A4D"]
DASHES = ["solid", "10px,3px", "7px,2px,2px,2px", "3px,2px", "14px,3px,3px,3px"]
LEVEL_DASHES = ["dot", "longdash", "dashdot", "2px,6px", "8px,8px", "longdashdot"]
MAX_BANDS = 5  # algorithms beside each other whose ranges are drawn, too
MAX_NARROW_RATIO = 20  # times the smallest error up to which the axis has room for more ticks
MARKERS = [
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "cross",
    "x",
    "star",
    "pentagon",
    "triangle-down",
]


def series_styles(names: list[str]) -> dict[str, dict[str, str]]:
    """A colour, a marker and a dash for each of `names` by its place among them.

    These are all names that there are, not those that are chosen: a choice changes no look.
    """
    return {
        name: {
            "color": COLOURS[i % len(COLOURS)],
            "symbol": MARKERS[i % len(MARKERS)],
            "dash": DASHES[i % len(DASHES)],
        }
        for i, name in enumerate(names)
    }


def line_style(style: Mapping[str, str]) -> dict[str, str]:
    """Return a look's part that is for lines."""
    return {"color": style["color"], "dash": style["dash"]}


def marker_style(style: Mapping[str, str]) -> dict[str, str]:
    """Return a look's part that is for marks."""
    return {"color": style["color"], "symbol": style["symbol"]}


def log_ticks(is_narrow: bool) -> dict[str, Any]:
    """Return round values on a logarithmic axis, more of them where it is `is_narrow`."""
    digits = (1, 1.5, 2, 3, 4, 5, 7) if is_narrow else (1, 2, 5)
    return {
        "tickvals": [digit * 10.0**power for power in range(-6, 7) for digit in digits],
        "tickformat": "~r",
    }


def frontier_chart(
    runs: pd.DataFrame,
    medians: pd.DataFrame,
    levels: Mapping[str, float],
    styles: Mapping[str, Mapping[str, str]],
    *,
    title: str,
    titles: Mapping[str, str],
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    planned_epsilons: Sequence[float],
    algorithm_by_curve: Mapping[str, str],
    target_error: float | None = None,
    advised_point: tuple[float, float] | None = None,
) -> go.Figure:
    """Error against ε: a small dot a run, and for each algorithm a line of medians in the band of all its runs.

    `levels` are horizontal lines, `curves` other ones, by their names. A dot's customdata is
    (algorithm, ε, seed). Algorithms are called by their `titles`. The axis is for all ε
    `planned_epsilons`; what lies below the level `target_error` is good enough. The `advised_point`
    is on the axis at the ε that is advised, below its error. A curve is dashed in the colour of the
    algorithm that `algorithm_by_curve` names for it. Every line carries its name at its end.
    """
    figure = go.Figure()
    draws_bands = runs["algorithm"].nunique() <= MAX_BANDS
    for name, algorithm_runs in runs.groupby("algorithm", sort=False):
        label = escape_figure_text(titles[str(name)])
        algorithm_medians = medians[medians["algorithm"] == name]
        style = styles[str(name)]
        if draws_bands:
            add_band(
                figure,
                algorithm_medians["epsilon"],
                algorithm_medians["low"],
                algorithm_medians["high"],
                style["color"],
                showlegend=False,
            )
        figure.add_scatter(
            x=algorithm_medians["epsilon"],
            y=algorithm_medians["error"],
            mode="lines",
            line=line_style(style),
            name=label,
            hoverinfo="skip",
        )
        figure.add_scatter(
            x=algorithm_runs["epsilon"],
            y=algorithm_runs["error"],
            mode="markers",
            name=label,
            showlegend=False,
            marker={**marker_style(style), "size": 6},
            customdata=algorithm_runs[["algorithm", "epsilon", "seed"]].to_numpy(dtype=object),
            hovertemplate=f"{label}, ε = %{{customdata[1]}}, repeat %{{customdata[2]}}: "
            f"%{{y:.3g}}<extra></extra>",
        )
    epsilon_range = [min(planned_epsilons) / 1.15, max(planned_epsilons) * 1.04]
    for name, (x, y) in (
        {name: (epsilon_range, [value] * 2) for name, value in levels.items()} | dict(curves)
    ).items():
        line = {"color": GREY, "dash": "solid", "width": 2}
        if name in levels:
            level_index = list(levels).index(name)
            line |= {"dash": LEVEL_DASHES[level_index % len(LEVEL_DASHES)], "width": 1}
        if name in algorithm_by_curve:
            line |= {"color": styles[algorithm_by_curve[name]]["color"], "dash": "dash"}
        figure.add_scatter(
            x=x, y=y, mode="lines", name=escape_figure_text(name, 60), line=line, hoverinfo="name"
        )
    label = [
        *runs["error"],
        *levels.values(),
        *(value for _, own in curves.values() for value in own),
    ]
    error_range = 0.75 * min(value for value in label if value > 0), 1.3 * max(label)
    figure.update_yaxes(
        title=title,
        type="log",
        range=np.log10(error_range),
        **log_ticks(error_range[1] < MAX_NARROW_RATIO * error_range[0]),
    )
    if target_error is not None:
        target_box = {
            "y0": error_range[0],
            "y1": target_error,
            "x0": 0,
            "x1": 1,
            "xref": "x domain",
        }
        figure.add_shape(
            type="rect", layer="below", fillcolor=THIRD, opacity=0.1, line_width=0, **target_box
        )
    if advised_point is not None:
        advised_epsilon, value = advised_point
        figure.add_scatter(
            x=[advised_epsilon, advised_epsilon],
            y=[1.2 * error_range[0], value],
            mode="lines+markers",
            showlegend=False,
            hoverinfo="skip",
            line={"color": GREY, "dash": "dot", "width": 1},
            marker={"symbol": "star", "size": [16, 0], "opacity": 1},
        )
    figure.update_xaxes(
        title="budget (ε): smaller protects more",
        range=np.log10(epsilon_range),
        **log_axis({*planned_epsilons} - {advised_point and advised_point[0]}),
    )
    figure.update_layout(clickmode="event+select")
    return finish_figure(figure, 360).update_layout(margin_t=8)


def error_waterfall(parts: Mapping[str, float], total: float, unit: str) -> go.Figure:
    """Parts of one question's error as steps from zero to their sum."""
    figure = go.Figure()
    figure.add_waterfall(
        x=[*parts, "all together"],
        y=[*parts.values(), total],
        measure=[*["relative"] * len(parts), "total"],
        text=[f"{v:+.3g}" for v in [*parts.values(), total]],
        textposition="outside",
        cliponaxis=False,
        increasing_marker_color=SYNTHETIC,
        decreasing_marker_color=REAL,
        totals_marker_color=GREY,
        connector_line_color=GREY,
    )
    return finish_figure(
        figure.update_yaxes(title=f"synthetic − true, {unit}", rangemode="tozero"), 360
    )


def epsilon_band_chart(
    lines: pd.DataFrame, styles: Mapping[str, Mapping[str, str]], title: str, *, log: bool = False
) -> go.Figure:
    """The middle of each line against ε, and its range as a band; `lines` has line, epsilon, middle, low, high."""
    figure = go.Figure()
    for name, line_frame in lines.groupby("line", sort=False):
        label = escape_figure_text(name, 60)
        style = styles[str(name)]
        add_band(
            figure,
            line_frame["epsilon"],
            line_frame["low"],
            line_frame["high"],
            style["color"],
            showlegend=False,
        )
        figure.add_scatter(
            x=line_frame["epsilon"],
            y=line_frame["middle"],
            mode="lines+markers",
            name=label,
            line=line_style(style),
            marker={**marker_style(style), "size": 9},
            hovertemplate=f"{label}, ε = %{{x}}: %{{y:.3g}}<extra></extra>",
        )
    figure.update_xaxes(title="ε", **log_axis(lines["epsilon"]))
    return finish_figure(
        figure.update_yaxes(title=title, **(POWER_AXIS | {"dtick": None} if log else {})), 400
    )
