"""Small charts of the Explore page, in percentage points and with the spread by noise.

Each is written as plain dictionaries and made a figure once: a figure that is added to is checked
anew at every addition, which took most of the time in which all of them answer a slider.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from ..session import distinct_figure_labels, escape_figure_text
from .figure_frame import (
    BAR_STYLES,
    DIVERGING,
    ERROR,
    ERROR_LINE_STYLES,
    GREY,
    SHADES,
    TEXT_FONT,
    LastingFigure,
    line_end_labels,
    name_margin,
    points_axis_title,
    thinned_ticks,
)

# of a chart, and of a sentence below it
CHART_HEIGHT = 256
CAPTION_HEIGHT = 18
MARGIN = {"l": 4, "r": 4, "t": 24, "b": 4}
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0, "font": TEXT_FONT}
BAND_OPACITY = 0.18
MARKED_QUANTILE = 0.9
STAGE_TEXT = "closer fit begins"
FULL_COLOUR_POINTS = 1.0  # points of difference at which a map's colour is full
MAP_GAP = 0.05  # between two heat maps, as a share of the width
MAP_WIDTH = (1 - MAP_GAP) / 2
TURNED_LABELS = {"autotickangles": [0, -45]}  # names along an axis, where they would meet

FigureSpec = dict[str, Any]  # a part of a figure, as Plotly's schema has it
LEGEND_WHISKER: FigureSpec = {  # as Plotly draws no whiskers in legends
    "type": "scatter",
    "mode": "markers",
    "x": [None],
    "y": [None],
    "marker": {"symbol": "line-ns", "size": 12, "line": {"width": 2, "color": ERROR}},
}
_BAND_SPEC: FigureSpec = {
    "type": "scatter",
    "mode": "lines",
    "hoverinfo": "skip",
    "fill": "toself",
    "opacity": BAND_OPACITY,
    "line": {"width": 0},
}
_STAGE_LINE: FigureSpec = {
    "xref": "x",
    "yref": "y domain",
    "type": "line",
    "y0": 0,
    "y1": 1,
    "line": {"color": GREY, "width": 1},
}
_STAGE_NOTE: FigureSpec = {
    "xref": "x",
    "yref": "y domain",
    "y": 1,
    "yanchor": "bottom",
    "xanchor": "left",
    "showarrow": False,
    "font": TEXT_FONT,
}
_MAP_TITLE: FigureSpec = {
    "y": 1,
    "xref": "paper",
    "yref": "paper",
    "yanchor": "bottom",
    "showarrow": False,
    "font": TEXT_FONT,
}
_DIFFERENCE_STYLE: FigureSpec = {
    "colorscale": DIVERGING,
    "zmin": -FULL_COLOUR_POINTS,
    "zmax": FULL_COLOUR_POINTS,
    "colorbar": {
        "thickness": 8,
        "x": 1,
        "len": 0.7,
        "tickfont": TEXT_FONT,
        "tickvals": [-FULL_COLOUR_POINTS, 0, FULL_COLOUR_POINTS],
        "ticktext": ["≤−1", "0", "≥1"],
    },
}


def convergence_chart(
    records: pd.DataFrame,
    x: str,
    title: str,
    n: int,
    unit: str,
    *,
    raw_noise: float | None = None,
    stages: Sequence[float] = (),
    pinned: pd.DataFrame | None = None,
) -> go.Figure:
    """Return a chart of errors against `x`: the first run as a line, all replays as a band.

    The error of raw noise and a pinned run are drawn where given. `stages` are where a new fit
    begins.
    """
    first_run = records[records["seed"] == records["seed"].iloc[0]].set_index("t", drop=False)
    lines = _error_lines(records, first_run, x, n, unit)
    if pinned is not None:
        lines.append(_pinned_line(pinned, x, n, unit))
    if raw_noise is not None:
        lines.append(_raw_noise_line(raw_noise, first_run[x], n, unit))
    named_lines = [line for line in lines if "name" in line]
    ends = [(t["name"], t["line"]["color"], np.asarray(t["y"])[-1]) for t in named_lines]
    notes = line_end_labels(
        ends,
        np.concatenate([np.asarray(line["y"]) for line in lines]),
        CHART_HEIGHT - CAPTION_HEIGHT,
        log=True,
    )
    return _small_figure(
        lines,
        xaxis=_axis_spec(title, rangemode="tozero"),
        yaxis=_axis_spec(points_axis_title(n, unit), type="log", dtick="D2", tickformat="~g"),
        shapes=[_STAGE_LINE | {"x0": at, "x1": at} for at in stages],
        annotations=[_STAGE_NOTE | {"x": at, "text": STAGE_TEXT} for at in stages] + notes,
        showlegend=False,
        margin=MARGIN | {"r": name_margin(ends)},
        height=CHART_HEIGHT - CAPTION_HEIGHT,
    )


def _error_lines(
    records: pd.DataFrame, first_run: pd.DataFrame, x: str, n: int, unit: str
) -> list[FigureSpec]:
    """Return a line for each kind of error of the first run, in the band of all runs."""
    lines: list[FigureSpec] = []
    for name, (colour, dash, label) in ERROR_LINE_STYLES.items():
        if name not in records:
            continue
        if records["seed"].nunique() > 1:
            lines.append(_run_range_spec(records, first_run, x, name, colour))
        style = {"color": colour, "dash": dash, "width": 2}
        label = _error_name(name, label, first_run)
        lines.append(_line_spec(first_run[x], first_run[name], label, style, n, unit))
    return lines


def _error_name(name: str, label: str, first_run: pd.DataFrame) -> str:
    """Return the words for an error: of questions without tables, the mean error."""
    if name == "misplaced" and "mean_l1" in first_run and first_run["mean_l1"].isna().all():
        return "error on average"
    return label


def _pinned_line(pinned: pd.DataFrame, x: str, n: int, unit: str) -> FigureSpec:
    """Return the largest error of the first of the pinned runs."""
    first_run = pinned[pinned["seed"] == pinned["seed"].iloc[0]]
    style = {"color": GREY, "dash": "longdash", "width": 2}
    return _line_spec(first_run[x], first_run["largest"], "largest error, A", style, n, unit)


def _raw_noise_line(raw_noise: float, positions: pd.Series, n: int, unit: str) -> FigureSpec:
    """Return a horizontal line: the error of noise alone, as wide as the run."""
    style = {"color": GREY, "dash": "dot", "width": 1}
    ends = pd.Series([min(0.0, positions.min()), positions.max()])
    levels = pd.Series([raw_noise, raw_noise])
    return _line_spec(ends, levels, "noise alone", style, n, unit) | {"mode": "lines"}


def _line_spec(
    x: pd.Series, y: pd.Series, name: str, line: FigureSpec, n: int, unit: str
) -> FigureSpec:
    mode, point_slice = ("lines", slice(None)) if x.nunique() > 1 else ("markers", slice(-1, None))
    y = y[point_slice]
    return {
        "type": "scatter",
        "x": x[point_slice],
        "y": 100 * y,
        "mode": mode,
        "name": name,
        "line": line,
        "marker": {"color": line["color"], "size": 10},
        "customdata": y * n,
        "hovertemplate": f"%{{y:.3g}} points ≈ %{{customdata:,.1f}} {unit}",
    }


def _run_range_spec(
    records: pd.DataFrame, first_run: pd.DataFrame, x: str, name: str, colour: str
) -> FigureSpec:
    """Return the band from the smallest to the largest error of all runs along `x`.

    A run that has ended stays at its last error.
    """
    runs = records.pivot(index="t", columns="seed", values=name).ffill()
    low = 100 * runs.min(axis=1)
    high = 100 * runs.max(axis=1)
    positions = (
        pd.Series(runs.index, runs.index)
        if x == "t"
        else first_run[x].reindex(runs.index).ffill().bfill()
    )
    if positions.nunique() == 1:
        ends = {"x": [positions.iloc[-1], positions.iloc[-1]], "y": [low.iloc[-1], high.iloc[-1]]}
        return {
            **_BAND_SPEC,
            **ends,
            "fill": "none",
            "line": {"color": colour, "width": 6},
            "opacity": 0.4,
        }
    return _band_spec(positions, low, high, colour)


def _band_spec(positions: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str) -> FigureSpec:
    """Return the specification of a filled band between two lines."""
    x = np.asarray(positions)
    low = np.asarray(low)
    high = np.asarray(high)
    return _BAND_SPEC | {
        "x": np.append(x, x[::-1]),
        "y": np.append(high, low[::-1]),
        "fillcolor": colour,
    }


def query_error_chart(
    table: pd.DataFrame, n: int, unit: str, errors: np.ndarray, marked_positions: Sequence[int] = ()
) -> go.Figure:
    """Return a chart of all queries' errors in ascending order, as a band over all runs.

    `errors` are the errors of each run, (runs, m). The worst queries, the rows of `table` with
    question
    and error, are dots; dragging over them marks some, and those at `marked_positions` are marked
    at
    the beginning. A box ends where 9 of 10 queries end.
    """
    shares = np.linspace(0, 1, 201)
    error_quantiles = 100 * np.quantile(errors, shares, axis=1)
    marked_error = 100 * float(np.quantile(errors[0], MARKED_QUANTILE))
    dots = _question_dots(table, n, unit, errors.shape[1])
    if marked_positions:
        dots["selectedpoints"] = list(marked_positions)
    band = _band_spec(shares, error_quantiles.min(axis=1), error_quantiles.max(axis=1), ERROR) | {
        "line": {"color": ERROR, "width": 1}
    }
    quantile_box = {
        "type": "rect",
        "x0": 0,
        "x1": MARKED_QUANTILE,
        "y0": 0,
        "y1": marked_error,
        "line": {"color": GREY, "dash": "dot"},
    }
    return _small_figure(
        [dots, band],
        xaxis=_axis_spec(
            "answers, from best to worst",
            range=[-0.02, 1.02],
            tickvals=[0.5, MARKED_QUANTILE],
            ticktext=["half", "9 of 10"],
        ),
        yaxis=_axis_spec(points_axis_title(n, unit), rangemode="tozero"),
        shapes=[quantile_box],
        annotations=[
            {
                "x": MARKED_QUANTILE,
                "y": marked_error,
                "text": f"{marked_error:.2g} points",
                "ax": -36,
                "font": TEXT_FONT,
            }
        ],
        dragmode="select",
        selectdirection="h",
        showlegend=False,
    )


def _question_dots(table: pd.DataFrame, n: int, unit: str, question_count: int) -> FigureSpec:
    """Return a dot for each of the worst questions, the worst at the right."""
    labels = [escape_figure_text(question, 80) for question in table["question"]]
    return {
        "type": "scatter",
        "x": 1 - np.arange(len(table)) / question_count,
        "y": 100 * table["error"],
        "mode": "markers",
        "marker": {"color": ERROR, "size": 5},
        "customdata": np.column_stack([labels, table["error"] * n]),
        "hovertemplate": f"%{{customdata[0]}}<br>%{{y:.3g}} points ≈ %{{customdata[1]:,.1f}} "
        f"{unit}<extra></extra>",
    }


def marginal_chart(frame: pd.DataFrame, title: str, n: int, unit: str) -> go.Figure:
    """Return bars of one column's real and synthetic shares, with a whisker on each synthetic bar.

    The whisker is the confidence interval for the table, where that is given (`table from`,
    `table to`), else the range over the replays (`low`, `high`).
    """
    names = distinct_figure_labels(frame["value"], 22)
    bars = []
    for name, style in (
        BAR_STYLES | {"pinned A": {"color": GREY, "pattern": {"shape": "x"}}}
    ).items():
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
                "hovertemplate": f"%{{customdata[0]}}: %{{y:.3f}}% ≈ %{{customdata[1]:,.0f}} "
                f"{unit}",
            }
        )
    for name, end_columns in (
        ("95% range", ("table from", "table to")),
        ("range of repeats", ("low", "high")),
    ):
        if end_columns[0] in frame:
            bars += [
                _whisker_spec(frame, names, name, end_columns),
                LEGEND_WHISKER | {"name": name},
            ]
            break
    return _small_figure(
        bars,
        xaxis=_axis_spec(escape_figure_text(title), **thinned_ticks(names, 14), **TURNED_LABELS),
        yaxis=_axis_spec("%", rangemode="tozero"),
        barmode="group",
        bargap=0.2,
    )


def _whisker_spec(
    frame: pd.DataFrame, names: list[str], name: str, end_columns: tuple[str, str]
) -> FigureSpec:
    """Return invisible points with a whisker for each value's range, upon its synthetic bar.

    That bar is the right one of two, or the middle one of three.
    """
    low_column, high_column = end_columns
    low = 100 * frame[low_column].to_numpy(dtype=float)
    high = 100 * frame[high_column].to_numpy(dtype=float)
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
        "hovertemplate": f"%{{customdata[0]}}: %{{customdata[1]:.3f}} to "
        f"%{{customdata[2]:.3f}}%<extra>{name}</extra>",
    }


def two_way_maps(
    real: np.ndarray,
    synthetic: np.ndarray,
    axes: tuple[str, str],
    labels: tuple[Sequence[str], Sequence[str]],
) -> go.Figure:
    """Return heat maps of a real 2-way marginal and of the synthetic one's difference from it.

    The difference has a scale of FULL_COLOUR_POINTS points both ways from 0, the same for every
    table
    and release: a difference of 0.2 points looks as small as it is. The cell that differs most has
    a
    frame.
    """
    row_title, column_title = distinct_figure_labels(axes, 18)
    difference = 100 * (synthetic - real)
    max_share = 100 * float(real.max())
    real_style = {"colorscale": SHADES, "zmin": 0, "zmax": max_share, "showscale": False}
    cell_texts = _cell_texts(labels, synthetic)
    worst_cell_box = _worst_cell_box(difference)
    maps: list[FigureSpec] = []
    layout: dict[str, Any] = {
        "annotations": [_MAP_TITLE | {"text": row_title, "x": 0, "xanchor": "right", "xshift": -6}],
        "shapes": [worst_cell_box, worst_cell_box | {"xref": "x2", "yref": "y2"}],
    }
    for axis_suffix, map_title, values, style in (
        ("", f"real, up to {max_share:.2g}%", 100 * real, real_style),
        ("2", "difference, points", difference, _DIFFERENCE_STYLE),
    ):
        left_edge = (MAP_WIDTH + MAP_GAP) * len(axis_suffix)
        maps.append(
            {
                **cell_texts,
                **style,
                "z": values,
                "xaxis": f"x{axis_suffix}",
                "yaxis": f"y{axis_suffix}",
            }
        )
        layout["annotations"].append(
            _MAP_TITLE | {"text": map_title, "x": left_edge + MAP_WIDTH / 2, "xanchor": "center"}
        )
        layout |= _map_axes(axis_suffix, left_edge, column_title)
    return _small_figure(maps, **layout)


def _cell_texts(labels: tuple[Sequence[str], Sequence[str]], synthetic: np.ndarray) -> FigureSpec:
    """Return what both maps say of a cell: its labels, and the synthetic share on hover."""
    return {
        "type": "heatmap",
        "x": distinct_figure_labels(labels[1], 12),
        "y": distinct_figure_labels(labels[0], 14),
        "customdata": 100 * synthetic,
        "hovertemplate": "%{y}, %{x}: %{z:.3g}, synthetic %{customdata:.3g}%<extra></extra>",
    }


def _worst_cell_box(difference: np.ndarray) -> FigureSpec:
    """Return a frame around the cell that differs most."""
    row, column = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    return {
        "type": "rect",
        "x0": column - 0.5,
        "x1": column + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": ERROR, "width": 3},
    }


def _map_axes(axis_suffix: str, left_edge: float, column_title: str) -> dict[str, Any]:
    """Return the two axes of one of the maps side by side; only the first one names its rows."""
    row_axis = {
        "type": "category",
        "anchor": f"x{axis_suffix}",
        "tickfont": TEXT_FONT,
        "autorange": "reversed",
    }
    if axis_suffix:
        row_axis |= {"showticklabels": False, "ticks": ""}
    else:
        row_axis |= {"tickprefix": "\u2003"}
    # The browser knows how wide a map is: it turns the names, and leaves out those that would
    # overlap.
    column_axis = _axis_spec(
        column_title,
        type="category",
        anchor=f"y{axis_suffix}",
        domain=[left_edge, left_edge + MAP_WIDTH],
        **TURNED_LABELS,
    )
    return {f"xaxis{axis_suffix}": column_axis, f"yaxis{axis_suffix}": row_axis}


def _axis_spec(title: str, **axis_args: Any) -> FigureSpec:
    return {"title": {"text": title}, "tickfont": TEXT_FONT} | axis_args


def _small_figure(data: list[FigureSpec], **layout: Any) -> go.Figure:
    full_layout = {"height": CHART_HEIGHT, "margin": MARGIN, "legend": LEGEND} | layout
    for name in [name for name in full_layout if name.startswith("xaxis")]:
        full_layout[name] = full_layout[name] | {
            "title": full_layout[name].get("title", {}) | {"standoff": 4}
        }
    # Checking a figure takes ten times as long as making it; tests check every chart here.
    return LastingFigure(
        {"data": [_with_arrays(part) for part in data], "layout": full_layout}, _validate=False
    )


def _with_arrays(part: FigureSpec) -> FigureSpec:
    """Return `part` with every pandas Series replaced by an array.

    An unchecked figure takes arrays only.
    """
    return {
        name: value.to_numpy() if isinstance(value, pd.Series) else value
        for name, value in part.items()
    }
