"""Common frame and line labels of every chart, and DataFrames as Plotly figures.

Nothing here computes or knows an algorithm. Colours are positions in the theme's palettes
(`.streamlit/config.toml`): the browser puts those of light or dark there.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ..session import algorithm_nickname, distinct_figure_labels, escape_figure_text

REAL = "#000001"
SYNTHETIC = "#000002"
THIRD = "#000003"
FOURTH = "#000004"
FIFTH = "#000005"
SIXTH = "#000006"
ERROR = "#000007"
GREY = "#000010"
PAGE_COLOUR = "#000038"  # what the page is painted with
SHADES = [[i / 9, f"#{11 + i:06}"] for i in range(10)]
DIVERGING = [[i / 9, f"#{21 + i:06}"] for i in range(10)]
HATCHED_STYLE = {
    "color": SYNTHETIC,
    "pattern": {"shape": "/", "fillmode": "overlay", "fgcolor": PAGE_COLOUR, "fgopacity": 0.45},
}
# on every page
BAR_STYLES: dict[str, dict[str, Any]] = {
    "real": {"color": REAL},
    "synthetic": HATCHED_STYLE,
}
TEXT_FONT = {"size": 13}
POWER_AXIS = {"type": "log", "exponentformat": "power", "dtick": 1}  # an axis
LETTER_WIDTH = 7  # pixels of one, about
LEADER_LENGTH = 16  # pixels from the end of a line to its name
# pixels of a line of a name, and around a name
LETTER_HEIGHT = 17.0
NAME_GAP = 6.0
MIN_FILLED_SHARE = 0.6  # share of a figure's height that its values fill at least
ERROR_LINE_STYLES = {  # error: colour, dash, words
    "largest": (ERROR, "solid", "largest error"),
    "misplaced": (ERROR, "dash", "in a wrong cell"),
    "proved": (GREY, "dashdot", "whole runs, by theorem"),
}


class LastingFigure(go.Figure):
    """Figure that may be drawn many times: its dictionary is made when it is first drawn.

    It is not changed from then on.
    """

    @cached_property
    def _dictionary(self) -> dict[str, Any]:
        return super().to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as Plotly's script in the browser takes it."""
        return self._dictionary


def finish_figure(figure: go.Figure, height: int = 380) -> go.Figure:
    """Return `figure` with the common frame: fonts, margins and names at the ends of its lines.

    Only charts whose named traces are all lines have such names, instead of a legend.
    """
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": TEXT_FONT}
    figure.update_layout(
        height=height, margin={"l": 8, "r": 8, "t": 40, "b": 8}, legend=legend, font=TEXT_FONT
    )
    figure.update_xaxes(tickfont=TEXT_FONT, title_font=TEXT_FONT)
    figure.update_yaxes(tickfont=TEXT_FONT, title_font=TEXT_FONT)
    named_traces = [trace for trace in figure.data if trace.name and trace.showlegend is not False]
    if named_traces and all(
        trace.type == "scatter" and trace.mode.startswith("lines") for trace in named_traces
    ):
        lines = [(t.name, t.line.color, t.y[-1]) for t in named_traces]
        y_values = np.concatenate(
            [np.asarray(t.y, dtype=float) for t in figure.data if t.type == "scatter"]
        )
        height = max(height, min_figure_height(lines))
        notes = line_end_labels(lines, y_values, height, log=figure.layout.yaxis.type == "log")
        figure.update_layout(
            annotations=[*figure.layout.annotations, *notes],
            showlegend=False,
            margin_r=name_margin(lines),
        )
        figure.update_layout(height=height)
    return figure


def add_band(
    figure: go.Figure, x: Sequence, low: Sequence, high: Sequence, colour: str, **style_args: Any
) -> None:
    """Add the range between two lines over `x`; `style_args` are its other properties."""
    style = {
        "mode": "lines",
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.15,
        "line_width": 0,
    } | style_args
    figure.add_scatter(x=[*x, *x[::-1]], y=[*high, *low[::-1]], hoverinfo="skip", **style)


def log_axis(values: Iterable[float]) -> dict[str, Any]:
    """Return a logarithmic axis with a tick at each value."""
    tick_values = sorted(set(values))
    return {"type": "log", "tickvals": tick_values, "ticktext": [f"{v:g}" for v in tick_values]}


LineEnd = tuple[str, str, float]  # of a line: its name and colour, and how high it ends


def line_end_labels(
    lines: Sequence[LineEnd], y_values: np.ndarray, height: float, *, log: bool
) -> list[dict]:
    """Return annotations that name the lines at their ends, moved apart where they would overlap.

    They have the lines' colours. Names are escaped already. `y_values` are all values along the
    vertical axis, `height` is the figure's in pixels.
    """
    lines = sorted((line for line in lines if line[2] > 0 or not log), key=lambda line: line[2])
    to_axis = np.log10 if log else np.asarray
    values = to_axis(y_values[y_values > 0] if log else y_values[np.isfinite(y_values)])
    if not lines or not values.size:
        return []
    low = values.min()
    high = values.max()
    ends = [float(to_axis(line[2])) for line in lines]
    positions = [(end - low) / max(high - low, 1e-9) * MIN_FILLED_SHARE * height for end in ends]
    names = [wrapped_nickname(name).split("\n") for name, *_ in lines]
    label_positions = spread_labels(
        positions, [name_height(name) for name, *_ in lines], MIN_FILLED_SHARE * height
    )
    return [
        {
            "x": 1,
            "xref": "x domain",
            "y": end,
            "xanchor": "left",
            "ax": LEADER_LENGTH,
            "ay": position - label_position,
            "text": "<br>".join(name),
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": colour,
            "align": "left",
            "font": TEXT_FONT | {"color": colour},
        }
        for (_, colour, _), end, position, label_position, name in zip(
            lines, ends, positions, label_positions, names, strict=True
        )
    ]


def name_margin(lines: Sequence[LineEnd]) -> int:
    """Return the margin in pixels that the longest name at the end of a line takes."""
    return (
        8
        + LEADER_LENGTH
        + LETTER_WIDTH
        * max(len(part) for name, *_ in lines for part in wrapped_nickname(name).split("\n"))
    )


def name_height(name: str) -> float:
    """Return the height in pixels of a name at the end of a line, with the free space around it."""
    return NAME_GAP + LETTER_HEIGHT * len(wrapped_nickname(name).split("\n"))


def min_figure_height(lines: Sequence[LineEnd]) -> int:
    """Return the least height of a figure beside whose lines all names stand below each other."""
    return math.ceil(sum(name_height(name) for name, *_ in lines) / MIN_FILLED_SHARE)


def wrapped_nickname(title: str) -> str:
    """Return what a line is called at its end: its nickname, on several lines if it is long."""
    return "\n".join(wrap(algorithm_nickname(title), 15, break_long_words=False))


def spread_labels(
    positions: list[float], heights: list[float], max_position: float = math.inf
) -> list[float]:
    """Return label middles near `positions` such that no two labels overlap.

    The positions must ascend. No label is above `max_position`, if all have room below it.
    """
    middles: list[float] = []
    for i, position in enumerate(positions):
        middles.append(
            position if not i else max(position, middles[-1] + (heights[i - 1] + heights[i]) / 2)
        )
    for i in reversed(range(len(positions) - 1)):  # as far back down as the one below allows
        lowest = positions[i] if not i else middles[i - 1] + (heights[i - 1] + heights[i]) / 2
        middles[i] = max(
            lowest, min(middles[i], middles[i + 1] - (heights[i] + heights[i + 1]) / 2)
        )
    limit = max_position + heights[-1] / 2
    for i in reversed(range(len(positions))):
        middles[i] = min(middles[i], limit - heights[i] / 2)
        limit = middles[i] - heights[i] / 2
    return middles


def thinned_ticks(labels: list[str], max_ticks: int) -> dict[str, list]:
    """Return tick positions and texts, thinned so that they do not overlap."""
    positions = list(range(0, len(labels), max(1, -(-len(labels) // max_ticks))))
    return {"tickvals": positions, "ticktext": [labels[i] for i in positions]}


def line_chart(
    frame: pd.DataFrame,
    x: str,
    lines: dict[str, str],
    titles: tuple[str, str],
    *,
    log: str = "",
    height: int = 380,
) -> go.Figure:
    """Return a line chart of several columns of a table over its column `x`.

    `lines` maps columns to names; `log` says which axes are logarithmic: "xy", "y".
    """
    figure = go.Figure()
    styles = zip((SYNTHETIC, REAL, THIRD, FOURTH), ("solid", "dash", "dot", "dashdot"), strict=True)
    for (column, label), (colour, dash) in zip(lines.items(), styles, strict=False):
        figure.add_scatter(
            x=frame[x],
            y=frame[column],
            mode="lines",
            name=label,
            line={"color": colour, "dash": dash},
        )
    figure.update_xaxes(title=titles[0], **(POWER_AXIS if "x" in log else {}))
    return finish_figure(
        figure.update_yaxes(title=titles[1], **(POWER_AXIS if "y" in log else {})), height
    )


def epsilon_line_chart(frame: pd.DataFrame, lines: dict[str, str], unit: str) -> go.Figure:
    """Draw columns of a table over its column epsilon: a small chart from zero on."""
    figure = line_chart(frame, "epsilon", lines, ("", unit), height=180)
    axis = log_axis((0.1, 0.3, 1, 3, 10))
    figure.update_xaxes(**axis | {"ticktext": ["ε = 0.1", *axis["ticktext"][1:]]})
    return figure.update_yaxes(rangemode="tozero").update_layout(margin_t=8)


def points_axis_title(n: int, unit: str) -> str:
    """Return the name of an axis of points, with how many people one is."""
    return f"points (1 = {n / 100:,g} {unit})"


def guess_bars(
    names: list[str], values: list[float], bar_texts: list[str], top: float
) -> go.Figure:
    """Return horizontal bars on a scale up to `top`, with a question mark for the unknown one.

    `bar_texts` say what part each bar is; the name without a value has the question mark.
    """
    figure = go.Figure()
    figure.add_bar(
        x=[*values, 0],
        y=names,
        orientation="h",
        marker_color=ERROR,
        text=[*bar_texts, "<b>?</b>"],
        textposition="outside",
        cliponaxis=False,
        textfont_size=[13, 28],
        hoverinfo="skip",
        width=0.6,
    )
    figure.update_xaxes(visible=False, range=[0, 2 * top], domain=[0.4, 1])
    return finish_figure(figure.update_yaxes(autorange="reversed"), 100).update_layout(margin_t=8)


def group_error_chart(frame: pd.DataFrame, group_axis_title: str) -> go.Figure:
    """Draw the error by group, its share of the records beside its name."""
    names = [
        f"{g} ({s:.2%})"
        for g, s in zip(distinct_figure_labels(frame["group"], 20), frame["share"], strict=True)
    ]
    positions = list(range(len(names)))
    bars = {
        "type": "bar",
        "x": frame["error"].to_numpy(),
        "y": positions,
        "orientation": "h",
        "marker": {"color": ERROR},
        "customdata": names,
        "hovertemplate": "%{customdata}: %{x:.2%}<extra></extra>",
    }
    group_axis = {
        "title": {"text": escape_figure_text(group_axis_title)},
        "autorange": "reversed",
    } | thinned_ticks(names, 30)
    error_title = "share counted at a wrong value"
    error_axis = {"title": {"text": error_title}, "tickformat": ".2~%", "rangemode": "tozero"}
    figure = LastingFigure({"data": [bars], "layout": {"xaxis": error_axis, "yaxis": group_axis}})
    return finish_figure(figure, 90 + 26 * min(len(names), 30)).update_layout(margin_t=8)
