"""Charts of error against ε: the privacy–accuracy frontier, error waterfall and bands.

DataFrames to Plotly; nothing here computes or knows an algorithm.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.core.types import value_object

from ..session import escape_figure_text
from .figure_frame import (
    GREY,
    PAGE_COLOUR,
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
FRONTIER_HEIGHT = 420  # pixels: as much as the first screen has room for
MAX_BANDS = 5  # algorithms beside each other whose ranges are drawn, too
MIN_TICK_RATIO = 1.42  # of two ticks of the axis of ε whose numbers do not meet on a small screen
MAX_NARROW_RATIO = 20  # times the smallest error up to which the axis has room for more ticks
MARKERS = {  # as a letter of text
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "cross": "✚",
    "x": "✖",
    "star": "★",
    "pentagon": "⬟",
    "triangle-down": "▼",
}


@value_object
class Star:
    """The mark of the recommended setting: on the line of an algorithm, at an ε and its error."""

    epsilon: float
    error: float
    algorithm: str


def series_styles(names: list[str]) -> dict[str, dict[str, str]]:
    """Return a colour, a marker and a dash for each name, by its position in `names`.

    `names` are all names that exist, not those that are chosen: a choice changes no look.
    """
    symbols = list(MARKERS)
    return {
        name: {
            "color": COLOURS[i % len(COLOURS)],
            "symbol": symbols[i % len(symbols)],
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
    setting_errors: pd.DataFrame,
    levels: Mapping[str, float],
    styles: Mapping[str, Mapping[str, str]],
    *,
    title: str,
    titles: Mapping[str, str],
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    planned_epsilons: Sequence[float],
    algorithm_by_curve: Mapping[str, str],
    target_error: float | None = None,
    star: Star | None = None,
) -> go.Figure:
    """Return a chart of error against ε: a dot per run, and each algorithm's line and band.

    The line goes through the errors of its settings, the band holds all its runs. `levels` are
    horizontal lines, `curves` other ones, by their names. A dot's customdata is (algorithm, ε,
    seed). Algorithms are called by their `titles`. The axis is for all ε in `planned_epsilons`;
    what lies below the level `target_error` is good enough. The `star` is on its line, in the
    line's colour. A curve is dashed in the colour of the algorithm that `algorithm_by_curve` names
    for it. Every line carries its name at its end.
    """
    figure = go.Figure()
    _add_algorithms(figure, runs, setting_errors, styles, titles)
    epsilon_range = [min(planned_epsilons) / 1.15, max(planned_epsilons) * 1.04]
    _add_levels(figure, levels, epsilon_range)
    _add_curves(figure, curves, algorithm_by_curve, styles)
    low_error, high_error = _error_range(runs, levels, curves)
    _set_error_axis(figure, title, low_error, high_error)
    if target_error is not None:
        _shade_below_target(figure, low_error, target_error)
    if star is not None:
        _add_star(figure, star, styles[star.algorithm]["color"], low_error)
    figure.update_xaxes(
        title="budget (ε): smaller protects more",
        range=np.log10(epsilon_range),
        **log_axis(_epsilon_ticks(planned_epsilons, star)),
    )
    figure.update_layout(clickmode="event+select")
    return finish_figure(figure, FRONTIER_HEIGHT).update_layout(margin_t=8)


def _error_range(
    runs: pd.DataFrame,
    levels: Mapping[str, float],
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> tuple[float, float]:
    """Return the ends of the axis of errors: a little more than all that is drawn."""
    curve_errors = (value for _, errors in curves.values() for value in errors)
    all_errors = [*runs["error"], *levels.values(), *curve_errors]
    return 0.75 * min(value for value in all_errors if value > 0), 1.3 * max(all_errors)


def _set_error_axis(figure: go.Figure, title: str, low_error: float, high_error: float) -> None:
    """Make the axis of errors logarithmic, with more ticks where it is short."""
    figure.update_yaxes(
        title=title,
        type="log",
        range=np.log10((low_error, high_error)),
        **log_ticks(high_error < MAX_NARROW_RATIO * low_error),
    )


def _add_algorithms(
    figure: go.Figure,
    runs: pd.DataFrame,
    setting_errors: pd.DataFrame,
    styles: Mapping[str, Mapping[str, str]],
    titles: Mapping[str, str],
) -> None:
    """Draw all algorithms, with bands as long as they are few."""
    draws_bands = runs["algorithm"].nunique() <= MAX_BANDS
    for name, algorithm_runs in runs.groupby("algorithm", sort=False):
        algorithm_errors = setting_errors[setting_errors["algorithm"] == name]
        label = escape_figure_text(titles[str(name)])
        _add_algorithm(
            figure, algorithm_runs, algorithm_errors, label, styles[str(name)], draws_bands
        )


def _add_algorithm(
    figure: go.Figure,
    runs: pd.DataFrame,
    setting_errors: pd.DataFrame,
    label: str,
    style: Mapping[str, str],
    draws_band: bool,
) -> None:
    """Draw one algorithm: a dot a run, a line of its settings' errors, and the band of all runs."""
    if draws_band:
        add_band(
            figure,
            setting_errors["epsilon"],
            setting_errors["low"],
            setting_errors["high"],
            style["color"],
            showlegend=False,
        )
    figure.add_scatter(
        x=setting_errors["epsilon"],
        y=setting_errors["error"],
        mode="lines",
        line=line_style(style),
        name=label,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=runs["epsilon"],
        y=runs["error"],
        mode="markers",
        name=label,
        showlegend=False,
        marker={**marker_style(style), "size": 6},
        customdata=runs[["algorithm", "epsilon", "seed"]].to_numpy(dtype=object),
        hovertemplate=f"{label}, ε = %{{customdata[1]}}, repeat %{{customdata[2]}}: "
        f"%{{y:.3g}}<extra></extra>",
    )


def _add_levels(
    figure: go.Figure, levels: Mapping[str, float], epsilon_range: Sequence[float]
) -> None:
    """Draw thin horizontal lines, each in the next dash."""
    for i, (name, value) in enumerate(levels.items()):
        dash = LEVEL_DASHES[i % len(LEVEL_DASHES)]
        style = {"color": GREY, "dash": dash, "width": 1}
        _add_named_line(figure, name, epsilon_range, [value, value], style)


def _add_curves(
    figure: go.Figure,
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    algorithm_by_curve: Mapping[str, str],
    styles: Mapping[str, Mapping[str, str]],
) -> None:
    """Draw curves: grey, or dashed in the colour of the algorithm that they belong to."""
    for name, (x, y) in curves.items():
        style = {"color": GREY, "dash": "solid", "width": 2}
        if name in algorithm_by_curve:
            colour = styles[algorithm_by_curve[name]]["color"]
            style |= {"color": colour, "dash": "dash"}
        _add_named_line(figure, name, x, y, style)


def _add_named_line(
    figure: go.Figure,
    name: str,
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    style: dict[str, Any],
) -> None:
    figure.add_scatter(
        x=x, y=y, mode="lines", name=escape_figure_text(name, 60), line=style, hoverinfo="name"
    )


def _shade_below_target(figure: go.Figure, low_error: float, target_error: float) -> None:
    """Highlight the errors that are good enough, from the foot of the chart to the target."""
    target_box = {"y0": low_error, "y1": target_error, "x0": 0, "x1": 1, "xref": "x domain"}
    figure.add_shape(
        type="rect", layer="below", fillcolor=THIRD, opacity=0.1, line_width=0, **target_box
    )


def _epsilon_ticks(planned_epsilons: Sequence[float], star: Star | None) -> list[float]:
    """Return the ticks of the axis of ε: all planned ones, but none too near below the star."""
    if star is None:
        return sorted({*planned_epsilons})
    return sorted(
        epsilon
        for epsilon in {*planned_epsilons, star.epsilon}
        if epsilon == star.epsilon
        or max(epsilon / star.epsilon, star.epsilon / epsilon) >= MIN_TICK_RATIO
    )


def _add_star(figure: go.Figure, star: Star, colour: str, low_error: float) -> None:
    """Draw a star on its line, and a thin line from it down to its ε on the axis."""
    figure.add_shape(
        type="line",
        x0=star.epsilon,
        x1=star.epsilon,
        y0=low_error,
        y1=star.error,
        line={"color": GREY, "dash": "dot", "width": 1},
    )
    figure.add_scatter(
        x=[star.epsilon],
        y=[star.error],
        mode="markers",
        showlegend=False,
        hoverinfo="skip",
        cliponaxis=False,
        unselected={"marker": {"opacity": 1}},  # while a run is clicked
        marker={
            "symbol": "star",
            "size": 18,
            "color": colour,
            "opacity": 1,
            "line": {"color": PAGE_COLOUR, "width": 1.5},
        },
    )


def error_waterfall(parts: Mapping[str, float], total: float, unit: str) -> go.Figure:
    """Return a waterfall of the parts of one query's error, from zero to their total."""
    figure = go.Figure()
    figure.add_waterfall(
        x=[*parts, "all together"],
        y=[*parts.values(), total],
        measure=[*("relative" for _ in parts), "total"],
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
    """Return a chart against ε: each line's middle value, and its range as a band.

    `lines` has the columns line, epsilon, middle, low, high.
    """
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
