"""The charts of the one screen: small, in percentage points, and never without how far the noise moves them.

Each is said as plain dictionaries and made a figure once: a figure that is added to is checked anew at every addition,
which took most of the time in which all of them answer a slider.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from ..session import figure_text, short_names
from .figure_frame import BARS, DIVERGING, ERROR, GREY, LINES, SHADES, TEXT, in_points, named_ends, room, ticks

HEIGHT, FOOT = 256, 18  # of a chart, and of a sentence below it
MARGIN = {"l": 4, "r": 4, "t": 24, "b": 4}
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0, "font": TEXT}
FADED, MOST = 0.18, 0.9
STAGE = "closer fit begins"
APART = 1.0  # points of difference at which a map's colour is full
GAP = 0.05  # between two heat maps, as a share of the width
WIDE = (1 - GAP) / 2
TURNED = {"autotickangles": [0, -45]}  # names along an axis, where they would meet

Spec = dict[str, Any]  # a part of a figure, as Plotly's schema has it
LEGEND_WHISKER: Spec = {  # as Plotly draws no whiskers in legends
    "type": "scatter",
    "mode": "markers",
    "x": [None],
    "y": [None],
    "marker": {"symbol": "line-ns", "size": 12, "line": {"width": 2, "color": ERROR}},
}
_BAND: Spec = {
    "type": "scatter",
    "mode": "lines",
    "hoverinfo": "skip",
    "fill": "toself",
    "opacity": FADED,
    "line": {"width": 0},
}


def convergence_chart(
    records: pd.DataFrame,
    x: str,
    title: str,
    n: int,
    noun: str,
    *,
    raw_noise: float | None = None,
    stages: Sequence[float] = (),
    pinned: pd.DataFrame | None = None,
) -> go.Figure:
    """Errors against `x`: the first run as a line, the range over its replays as a band; raw noise and a pinned run.

    `stages` are where a new fit begins.
    """
    lines: list[Spec] = []
    first_run = records[records["seed"] == records["seed"].iloc[0]].set_index("t", drop=False)
    for name, (colour, dash, label) in LINES.items():
        if name not in records:
            continue
        if records["seed"].nunique() > 1:
            lines.append(_band(records, first_run, x, name, colour))
        lines.append(_line(first_run[x], first_run[name], label, {"color": colour, "dash": dash, "width": 2}, n, noun))
    if pinned is not None:
        pinned_run = pinned[pinned["seed"] == pinned["seed"].iloc[0]]
        line = {"color": GREY, "dash": "longdash", "width": 2}
        lines.append(_line(pinned_run[x], pinned_run["max_error"], "largest error, A", line, n, noun))
    if raw_noise is not None:
        line = {"color": GREY, "dash": "dot", "width": 1}
        ends = pd.Series([min(0.0, first_run[x].min()), first_run[x].max()])
        lines.append(_line(ends, pd.Series([raw_noise] * 2), "noise alone", line, n, noun) | {"mode": "lines"})
    axis_refs = {"xref": "x", "yref": "y domain"}
    stage_line = axis_refs | {"type": "line", "y0": 0, "y1": 1, "line": {"color": GREY, "width": 1}}
    stage_note = axis_refs | {"y": 1, "yanchor": "bottom", "xanchor": "left", "showarrow": False, "font": TEXT}
    named_lines = [line for line in lines if "name" in line]
    ends = [(t["name"], t["line"]["color"], np.asarray(t["y"])[-1]) for t in named_lines]
    notes = named_ends(ends, np.concatenate([np.asarray(line["y"]) for line in lines]), HEIGHT - FOOT, log=True)
    return _small(
        lines,
        xaxis=_axis(title, rangemode="tozero"),
        yaxis=_axis(in_points(n, noun), type="log", dtick="D2", tickformat="~g"),
        shapes=[stage_line | {"x0": at, "x1": at} for at in stages],
        annotations=[stage_note | {"x": at, "text": STAGE} for at in stages] + notes,
        showlegend=False,
        margin=MARGIN | {"r": room(ends)},
        height=HEIGHT - FOOT,
    )


def _line(x: pd.Series, y: pd.Series, words: str, line: Spec, n: int, noun: str) -> Spec:
    mode, point_slice = ("lines", slice(None)) if x.nunique() > 1 else ("markers", slice(-1, None))
    y = y[point_slice]
    return {
        "type": "scatter",
        "x": x[point_slice],
        "y": 100 * y,
        "mode": mode,
        "name": words,
        "line": line,
        "marker": {"color": line["color"], "size": 10},
        "customdata": y * n,
        "hovertemplate": f"%{{y:.3g}} points ≈ %{{customdata:,.1f}} {noun}",
    }


def _band(records: pd.DataFrame, first: pd.DataFrame, x: str, name: str, colour: str) -> Spec:
    """From the smallest to the largest error of all runs; one that has ended stays where it ended."""
    runs = records.pivot(index="t", columns="seed", values=name).ffill()
    low, high = 100 * runs.min(axis=1), 100 * runs.max(axis=1)
    positions = pd.Series(runs.index, runs.index) if x == "t" else first[x].reindex(runs.index).ffill().bfill()
    if positions.nunique() == 1:
        ends = {"x": [positions.iloc[-1]] * 2, "y": [low.iloc[-1], high.iloc[-1]]}
        return _BAND | ends | {"fill": "none", "line": {"color": colour, "width": 6}, "opacity": 0.4}
    return _between(positions, low, high, colour)


def _between(at: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str) -> Spec:
    """The range between two lines."""
    x, low, high = np.asarray(at), np.asarray(low), np.asarray(high)
    return _BAND | {"x": np.append(x, x[::-1]), "y": np.append(high, low[::-1]), "fillcolor": colour}


def questions(table: pd.DataFrame, n: int, noun: str, gaps: np.ndarray, marked: Sequence[int] = ()) -> go.Figure:
    """Errors of all questions, from the smallest to the largest: a band over all runs.

    `gaps` are the errors of each run, (runs, m). The worst questions, the `table` with question and error, are dots;
    drag over them to mark some. `marked` are so at the beginning. Where 9 of 10 questions end has a mark.
    """
    shares = np.linspace(0, 1, 201)
    error_quantiles, marked_error = 100 * np.quantile(gaps, shares, axis=1), 100 * float(np.quantile(gaps[0], MOST))
    dots = {
        "type": "scatter",
        "x": 1 - np.arange(len(table)) / gaps.shape[1],
        "y": 100 * table["error"],
        "mode": "markers",
        "marker": {"color": ERROR, "size": 5},
        "customdata": np.column_stack([[figure_text(q, 80) for q in table["question"]], table["error"] * n]),
        "hovertemplate": f"%{{customdata[0]}}<br>%{{y:.3g}} points ≈ %{{customdata[1]:,.1f}} {noun}<extra></extra>",
    }
    if marked:
        dots["selectedpoints"] = list(marked)
    band = _between(shares, error_quantiles.min(axis=1), error_quantiles.max(axis=1), ERROR) | {
        "line": {"color": ERROR, "width": 1}
    }
    quantile_box = {
        "type": "rect",
        "x0": 0,
        "x1": MOST,
        "y0": 0,
        "y1": marked_error,
        "line": {"color": GREY, "dash": "dot"},
    }
    return _small(
        [dots, band],
        xaxis=_axis(
            "answers, from best to worst", range=[-0.02, 1.02], tickvals=[0.5, MOST], ticktext=["half", "9 of 10"]
        ),
        yaxis=_axis(in_points(n, noun), rangemode="tozero"),
        shapes=[quantile_box],
        annotations=[{"x": MOST, "y": marked_error, "text": f"{marked_error:.2g} points", "ax": -36, "font": TEXT}],
        dragmode="select",
        selectdirection="h",
        showlegend=False,
    )


def marginal(frame: pd.DataFrame, title: str, n: int, noun: str) -> go.Figure:
    """Real beside synthetic shares of one column's values, and a whisker upon each synthetic one.

    It is the interval for the table, where that is given (`table from`, `table to`), else the range over the replays
    (`low`, `high`).
    """
    names, bars = short_names(frame["value"], 22), []
    for name, style in (BARS | {"pinned A": {"color": GREY, "pattern": {"shape": "x"}}}).items():
        if name not in frame:
            continue
        bars.append(
            {
                "type": "bar",
                "x": list(range(len(names))),
                "y": 100 * frame[name],
                "name": name,
                "marker": style,
                "customdata": np.column_stack([names, frame[name] * n]),
                "hovertemplate": f"%{{customdata[0]}}: %{{y:.3f}}% ≈ %{{customdata[1]:,.0f}} {noun}",
            }
        )
    for name, end_columns in (("95% range", ("table from", "table to")), ("range of repeats", ("low", "high"))):
        if end_columns[0] in frame:
            bars += [_whiskers(frame, names, name, end_columns), LEGEND_WHISKER | {"name": name}]
            break
    return _small(
        bars,
        xaxis=_axis(figure_text(title), **ticks(names, 14), **TURNED),
        yaxis=_axis("%", rangemode="tozero"),
        barmode="group",
        bargap=0.2,
    )


def _whiskers(frame: pd.DataFrame, names: list[str], name: str, ends: tuple[str, str]) -> Spec:
    """The range of each value, upon its synthetic bar: the right one of two, the middle one of three."""
    low, high = (100 * frame[end].to_numpy(dtype=float) for end in ends)
    middle = (low + high) / 2
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.arange(len(names)) + (0.0 if "pinned A" in frame else 0.2),
        "y": middle,
        "name": name,
        "marker": {"size": 1, "color": ERROR},
        "showlegend": False,
        "error_y": {"array": high - middle, "thickness": 2, "width": 7, "color": ERROR},
        "customdata": np.column_stack([names, low, high]),
        "hovertemplate": f"%{{customdata[0]}}: %{{customdata[1]:.3f}} to %{{customdata[2]:.3f}}%<extra>{name}</extra>",
    }


def pair(
    real: np.ndarray, synthetic: np.ndarray, axes: tuple[str, str], labels: tuple[Sequence[str], Sequence[str]]
) -> go.Figure:
    """A 2-way table, and how far the synthetic one is from it on a scale of APART points both ways from 0.

    That scale is the same for every table and release: a difference of 0.2 points looks as small as it is. The cell
    that differs most has a frame.
    """
    row_labels, column_labels = short_names(labels[0], 14), short_names(labels[1], 12)
    row_title, column_title = short_names(axes, 18)
    difference, max_share = 100 * (synthetic - real), 100 * float(real.max())
    row, column = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    worst_cell_box = {
        "type": "rect",
        "x0": column - 0.5,
        "x1": column + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": ERROR, "width": 3},
    }
    title_spec = {"y": 1, "xref": "paper", "yref": "paper", "yanchor": "bottom", "showarrow": False, "font": TEXT}
    scale = {
        "thickness": 8,
        "x": 1,
        "len": 0.7,
        "tickfont": TEXT,
        "tickvals": [-APART, 0, APART],
        "ticktext": ["≤−1", "0", "≥1"],
    }
    real_style = {"colorscale": SHADES, "zmin": 0, "zmax": max_share, "showscale": False}
    difference_style = {"colorscale": DIVERGING, "zmin": -APART, "zmax": APART, "colorbar": scale}
    maps: list[Spec] = []
    layout: dict[str, Any] = {
        "annotations": [title_spec | {"text": row_title, "x": 0, "xanchor": "right", "xshift": -6}],
        "shapes": [worst_cell_box, worst_cell_box | {"xref": "x2", "yref": "y2"}],
    }
    for axis_suffix, map_title, values, style in (
        ("", f"real, up to {max_share:.2g}%", 100 * real, real_style),
        ("2", "difference, points", difference, difference_style),
    ):
        left_edge = (WIDE + GAP) * len(axis_suffix)
        maps.append(
            {
                "type": "heatmap",
                "x": column_labels,
                "y": row_labels,
                "z": values,
                "xaxis": f"x{axis_suffix}",
                "yaxis": f"y{axis_suffix}",
                "customdata": 100 * synthetic,
                "hovertemplate": "%{y}, %{x}: %{z:.3g}, synthetic %{customdata:.3g}%<extra></extra>",
            }
            | style
        )
        layout["annotations"].append(title_spec | {"text": map_title, "x": left_edge + WIDE / 2, "xanchor": "center"})
        # The browser knows how wide a map is: it turns the names, and leaves out those that would overlap.
        layout[f"xaxis{axis_suffix}"] = _axis(
            column_title, type="category", anchor=f"y{axis_suffix}", domain=[left_edge, left_edge + WIDE], **TURNED
        )
        row_axis = {"type": "category", "anchor": f"x{axis_suffix}", "tickfont": TEXT, "autorange": "reversed"}
        layout[f"yaxis{axis_suffix}"] = row_axis | (
            {"showticklabels": False, "ticks": ""} if axis_suffix else {"tickprefix": "\u2003"}
        )
    return _small(maps, **layout)


def _axis(title: str, **more: Any) -> Spec:
    return {"title": {"text": title}, "tickfont": TEXT} | more


def _small(data: list[Spec], **layout: Any) -> go.Figure:
    full_layout = {"height": HEIGHT, "margin": MARGIN, "legend": LEGEND} | layout
    for name in [name for name in full_layout if name.startswith("xaxis")]:
        full_layout[name] = full_layout[name] | {"title": full_layout[name].get("title", {}) | {"standoff": 4}}
    # Checking a figure takes ten times as long as making it; tests check every chart here.
    return go.Figure({"data": [_plainly(part) for part in data], "layout": full_layout}, _validate=False)


def _plainly(part: Spec) -> Spec:
    """The part with arrays where it has pandas' series, as an unchecked figure takes them."""
    return {name: value.to_numpy() if isinstance(value, pd.Series) else value for name, value in part.items()}
