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

from ..shell import figure_text, short_names
from .base import BARS, DIVERGING, ERROR, GREY, LINES, SHADES, TEXT, in_points, named_ends, room, ticks

HEIGHT = 240
MARGIN = {"l": 4, "r": 4, "t": 24, "b": 4}
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0, "font": TEXT}
FADED, STAGE = 0.18, "refining begins"
APART = 1.0  # points of difference at which a map's colour is full
GAP = 0.15  # between two of three heat maps, as a share of the width: on a phone a scale stands there
WIDE = (1 - 2 * GAP) / 3
TURNED = {"autotickangles": [0, -45]}  # names along an axis, where they would meet

Spec = dict[str, Any]  # a part of a figure, as Plotly's schema has it
LEGEND_WHISKER: Spec = {  # as Plotly draws no whiskers in legends
    "type": "scatter", "mode": "markers", "x": [None], "y": [None],
    "marker": {"symbol": "line-ns", "size": 12, "line": {"width": 2, "color": ERROR}},
}  # fmt: skip
_BAND: Spec = {
    "type": "scatter", "mode": "lines", "hoverinfo": "skip", "fill": "toself", "opacity": FADED,
    "line": {"width": 0},
}  # fmt: skip


def convergence_chart(
    records: pd.DataFrame, x: str, title: str, n: int, noun: str, *, raw_noise: float | None = None,
    stages: Sequence[float] = (), pinned: pd.DataFrame | None = None,
) -> go.Figure:  # fmt: skip
    """Errors against `x`: the first run as a line, the range over its replays as a band; raw noise and a pinned run.

    `stages` are where a new fit begins.
    """
    lines: list[Spec] = []
    first = records[records["seed"] == records["seed"].iloc[0]].set_index("t", drop=False)
    for name, (colour, dash, short) in LINES.items():
        if name not in records:
            continue
        if records["seed"].nunique() > 1:
            lines.append(_band(records, first, x, name, colour))
        lines.append(_line(first[x], first[name], short, {"color": colour, "dash": dash, "width": 2}, n, noun))
    if pinned is not None:
        own = pinned[pinned["seed"] == pinned["seed"].iloc[0]]
        line = {"color": GREY, "dash": "longdash", "width": 2}
        lines.append(_line(own[x], own["max_error"], "largest error, A", line, n, noun))
    if raw_noise is not None:
        line = {"color": GREY, "dash": "dot", "width": 1}
        ends = pd.Series([min(0.0, first[x].min()), first[x].max()])
        lines.append(_line(ends, pd.Series([raw_noise, raw_noise]), "simple noise", line, n, noun) | {"mode": "lines"})
    upon = {"xref": "x", "yref": "y domain"}
    rule = upon | {"type": "line", "y0": 0, "y1": 1, "line": {"color": GREY, "width": 1}}
    place = upon | {"y": 1, "yanchor": "bottom", "xanchor": "left", "showarrow": False, "font": TEXT}
    named = [line for line in lines if "name" in line]
    ends = [(t["name"], t["line"]["color"], np.asarray(t["y"])[-1]) for t in named]
    notes = named_ends(ends, np.concatenate([np.asarray(line["y"]) for line in lines]), HEIGHT, log=True)
    return _small(
        lines,
        xaxis=_axis(title, rangemode="tozero"),
        yaxis=_axis(in_points(n, noun), type="log", dtick="D2", tickformat="~g"),
        shapes=[rule | {"x0": at, "x1": at} for at in stages],
        annotations=[place | {"x": at, "text": STAGE} for at in stages] + notes,
        showlegend=False,
        margin=MARGIN | {"r": room(ends)},
    )


def _line(x: pd.Series, y: pd.Series, words: str, line: Spec, n: int, noun: str) -> Spec:
    mode, last = ("lines", slice(None)) if x.nunique() > 1 else ("markers", slice(-1, None))
    y = y[last]
    return {
        "type": "scatter", "x": x[last], "y": 100 * y, "mode": mode, "name": words, "line": line,
        "marker": {"color": line["color"], "size": 10}, "customdata": y * n,
        "hovertemplate": f"%{{y:.3g}} points ≈ %{{customdata:,.1f}} {noun}",
    }  # fmt: skip


def _band(records: pd.DataFrame, first: pd.DataFrame, x: str, name: str, colour: str) -> Spec:
    """From the smallest to the largest error of all runs; one that has ended stays where it ended."""
    runs = records.pivot(index="t", columns="seed", values=name).ffill()
    low, high = 100 * runs.min(axis=1), 100 * runs.max(axis=1)
    at = pd.Series(runs.index, runs.index) if x == "t" else first[x].reindex(runs.index).ffill().bfill()
    if at.nunique() == 1:
        ends = {"x": [at.iloc[-1]] * 2, "y": [low.iloc[-1], high.iloc[-1]]}
        return _BAND | ends | {"fill": "none", "line": {"color": colour, "width": 6}, "opacity": 0.4}
    return _between(at, low, high, colour)


def _between(at: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str) -> Spec:
    """The range between two lines."""
    x, low, high = np.asarray(at), np.asarray(low), np.asarray(high)
    return _BAND | {"x": np.append(x, x[::-1]), "y": np.append(high, low[::-1]), "fillcolor": colour}


def questions(
    table: pd.DataFrame, n: int, noun: str, marked: Sequence[int] = (), worlds: np.ndarray | None = None
) -> go.Figure:
    """Errors of the worst questions, worst first; behind them the range of the k-th largest error over `worlds`.

    `table` has question and error, `worlds` the errors of each repeat, (repeats, m), in points of 1; drag over the dots
    to mark some. `marked` are so at the beginning.
    """
    band: list[Spec] = []
    if worlds is not None:
        ranked = 100 * -np.sort(-worlds, axis=1)[:, : len(table)]
        band = [_between(np.arange(1, len(table) + 1), ranked.min(axis=0), ranked.max(axis=0), ERROR)]
    dots = {
        "type": "scatter", "x": np.arange(1, len(table) + 1), "y": 100 * table["error"], "mode": "markers",
        "name": "error",
        "marker": {"color": ERROR, "size": 5}, "unselected": {"marker": {"opacity": 0.2}},
        "customdata": np.column_stack([[figure_text(q, 80) for q in table["question"]], table["error"] * n]),
        "hovertemplate": f"%{{customdata[0]}}<br>%{{y:.3g}} points ≈ %{{customdata[1]:,.1f}} {noun}<extra></extra>",
    }  # fmt: skip
    if marked:
        dots["selectedpoints"] = list(marked)
    return _small(
        [dots, *band],
        xaxis=_axis("one dot an answer, from worst to best", type="log", dtick=1, tickformat=",d"),
        yaxis=_axis(in_points(n, noun), rangemode="tozero"),
        dragmode="select", selectdirection="h", showlegend=False,
    )  # fmt: skip


def marginal(frame: pd.DataFrame, title: str, n: int, noun: str) -> go.Figure:
    """Real beside synthetic shares of one column's values, and a whisker upon each synthetic one.

    It is the interval for the table, where that is given (`table from`, `table to`), else the range over the replays
    (`low`, `high`).
    """
    names, bars = short_names(frame["value"], 22), []
    for name, look in (BARS | {"pinned A": {"color": GREY, "pattern": {"shape": "x"}}}).items():
        if name not in frame:
            continue
        bars.append(
            {
                "type": "bar", "x": list(range(len(names))), "y": 100 * frame[name], "name": name, "marker": look,
                "customdata": np.column_stack([names, frame[name] * n]),
                "hovertemplate": f"%{{customdata[0]}}: %{{y:.3f}}% ≈ %{{customdata[1]:,.0f}} {noun}",
            }
        )  # fmt: skip
    for name, ends in (("95% range", ("table from", "table to")), ("range of repeats", ("low", "high"))):
        if ends[0] in frame:
            bars += [_whiskers(frame, names, name, ends), LEGEND_WHISKER | {"name": name}]
            break
    return _small(
        bars,
        xaxis=_axis(figure_text(title), **ticks(names, 14), **TURNED),
        yaxis=_axis("%", rangemode="tozero"),
        barmode="group", bargap=0.2,
    )  # fmt: skip


def _whiskers(frame: pd.DataFrame, names: list[str], name: str, ends: tuple[str, str]) -> Spec:
    """The range of each value, upon its synthetic bar: the right one of two, the middle one of three."""
    low, high = (100 * frame[end].to_numpy(dtype=float) for end in ends)
    middle = (low + high) / 2
    return {
        "type": "scatter", "mode": "markers", "x": np.arange(len(names)) + (0.0 if "pinned A" in frame else 0.2),
        "y": middle, "name": name, "marker": {"size": 1, "color": ERROR}, "showlegend": False,
        "error_y": {"array": high - middle, "thickness": 2, "width": 7, "color": ERROR},
        "customdata": np.column_stack([names, low, high]),
        "hovertemplate": f"%{{customdata[0]}}: %{{customdata[1]:.3f}} to %{{customdata[2]:.3f}}%<extra>{name}</extra>",
    }  # fmt: skip


def pair(
    real: np.ndarray, synthetic: np.ndarray, axes: tuple[str, str], labels: tuple[Sequence[str], Sequence[str]]
) -> go.Figure:
    """A 2-way table real and synthetic on one scale, and their difference on a scale of APART points both ways from 0.

    That scale is the same for every table and release: a difference of 0.2 points looks as small as it is. The cell
    that differs most has a frame.
    """
    rows, across = short_names(labels[0], 14), short_names(labels[1], 12)
    most = 100 * float(max(real.max(), synthetic.max()))
    # The browser knows how wide a map is: it turns the names, and leaves out those that would overlap.
    along: Spec = {"type": "category", "tickfont": TEXT} | TURNED
    down = {"type": "category", "tickfont": TEXT, "autorange": "reversed"}
    maps: list[Spec] = []
    layout: dict[str, Any] = {"annotations": [], "shapes": []}
    apart = synthetic - real
    row, column = np.unravel_index(np.abs(apart).argmax(), apart.shape)
    frame = {"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    frame |= {"line": {"color": ERROR, "width": 2}}
    for place, (name, values) in enumerate((("real, %", real), ("synthetic", synthetic), ("difference", apart))):
        signed, number = place == 2, str(place + 1) * (place > 0)
        x = 1.0 if signed else 2 * WIDE + GAP + 0.01
        colorbar = {
            "thickness": 7, "x": x, "xpad": 3, "xanchor": "left", "tickfont": TEXT, "nticks": 4,
            "labelalias": {"1": f"{'≥' * signed}1", "−1": "≤−1"}
        }  # fmt: skip
        maps.append(
            {
                "type": "heatmap", "x": across, "y": rows, "z": 100 * values,
                "zmin": -APART if signed else 0, "zmax": APART if signed else most,
                "xaxis": f"x{number}", "yaxis": f"y{number}", "colorscale": DIVERGING if signed else SHADES,
                "colorbar": colorbar, "showscale": place > 0,
                "hovertemplate": "%{y}, %{x}: %{z:.3g}<extra></extra>",
            }
        )  # fmt: skip
        left, right = place * (WIDE + GAP), place * (WIDE + GAP) + WIDE
        bare = {"showticklabels": False, "ticks": ""} if place else {}
        layout[f"xaxis{number}"] = along | {"anchor": f"y{number}", "domain": [left, right]} | bare
        layout[f"yaxis{number}"] = down | {"anchor": f"x{number}", "domain": [0, 1], "matches": "y"} | bare
        layout["shapes"].append(frame | {"xref": f"x{number}", "yref": f"y{number}"})
        above = {"text": name, "x": (left + right) / 2, "y": 1, "xref": "paper", "yref": "paper", "yanchor": "bottom"}
        layout["annotations"].append(above | {"xanchor": "center", "showarrow": False, "font": TEXT})
    for axis, name in zip(("yaxis", "xaxis"), short_names(axes, 18), strict=True):
        layout[axis] |= {"title": {"text": name, "font": TEXT}}
    return _small(maps, **layout)


def _axis(title: str, **more: Any) -> Spec:
    return {"title": {"text": title}, "tickfont": TEXT} | more


def _small(data: list[Spec], **layout: Any) -> go.Figure:
    given = {"height": HEIGHT, "margin": MARGIN, "legend": LEGEND} | layout
    for name in [name for name in given if name.startswith("xaxis")]:
        given[name] = given[name] | {"title": given[name].get("title", {}) | {"standoff": 4}}
    # Checking a figure takes ten times as long as making it; tests check every chart here.
    return go.Figure({"data": [_plainly(part) for part in data], "layout": given}, _validate=False)


def _plainly(part: Spec) -> Spec:
    """The part with arrays where it has pandas' series, as an unchecked figure takes them."""
    return {name: value.to_numpy() if isinstance(value, pd.Series) else value for name, value in part.items()}
