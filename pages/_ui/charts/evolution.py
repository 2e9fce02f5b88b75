"""The Evolution page's figures: arrays and DataFrames to Plotly, nothing here computes."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..shell.text import figure_text
from .base import FOURTH, GREY, REAL, SYNTHETIC, TEXT, THIRD, band, finish, log_axis

MARKS = [(REAL, "circle"), (SYNTHETIC, "square"), (THIRD, "diamond"), (FOURTH, "triangle-up"), (GREY, "x")]
DASHES = ["solid", "dash", "dashdot", "dot", "longdash"]
LARGEST = 26.0  # pixels of the heaviest candidate's dot


def step(private: np.ndarray, V: np.ndarray, weights: np.ndarray, box: tuple[np.ndarray, np.ndarray]) -> go.Figure:
    """Draw two maps of the ellipse that fills the box: what stays with you beside what may be published.

    Private points (n, 2) are left, candidates V (r, 2) right; a dot's area is its weight.
    """
    low, high = (np.asarray(end, dtype=float) for end in box)
    margin = 0.03 * (high - low)
    titles = ("<b>Real</b><br>stays with you", "<b>Invented</b><br>may be published")
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.03).update_annotations(font=TEXT)
    figure.add_traces(_clouds(private, V, weights), 1, [1, 2, 2])
    figure.add_shape(
        type="circle", x0=low[0], x1=high[0], y0=low[1], y1=high[1], line_color=GREY, row="all", col="all"
    )  # fmt: skip
    plain = {"constrain": "domain", "showgrid": False, "zeroline": False, "showticklabels": False}
    across, up = ([low[i] - margin[i], high[i] + margin[i]] for i in (0, 1))
    figure.update_xaxes(range=across, **plain)
    figure.update_yaxes(range=up, **plain)
    for number in ("", "2"):
        figure.update_layout({f"yaxis{number}_scaleanchor": f"x{number}"})
    figure.update_layout(showlegend=False)
    return finish(figure, 400).update_layout(margin_l=24)  # beside its settings it is in view as a whole while it plays


def _clouds(private: np.ndarray, V: np.ndarray, weights: np.ndarray) -> list[go.Scatter]:
    """Return three traces: private points, all candidates, those that were chosen."""
    kept = weights > 0
    size = LARGEST * np.sqrt(weights[kept] / weights.max())
    dots = {"color": REAL, "size": 5, "opacity": 0.7, "symbol": "circle"}
    crosses = {"color": GREY, "size": 5, "opacity": 0.6, "symbol": "x-thin-open"}
    chosen = {"color": SYNTHETIC, "size": np.maximum(size, 4), "opacity": 0.75, "symbol": "diamond"}
    place = {"mode": "markers", "hovertemplate": "(%{x:.3f}, %{y:.3f})"}
    return [
        go.Scatter(x=private[:, 0], y=private[:, 1], name="real points", marker=dots, **place),
        go.Scatter(x=V[:, 0], y=V[:, 1], name="without votes", marker=crosses, **place),
        go.Scatter(
            x=V[kept, 0], y=V[kept, 1], mode="markers", name="invented points, by votes",
            marker=chosen, customdata=weights[kept], hovertemplate="(%{x:.3f}, %{y:.3f}): %{customdata:.2%}",
        ),
    ]  # fmt: skip


def distances(records: pd.DataFrame) -> go.Figure:
    """Draw the distance against t: the median over repeats and their range."""
    figure = go.Figure()
    by = records.groupby("t")["distance"]
    middle, low, high = by.median(), by.min(), by.max()
    if records["seed"].nunique() > 1:
        band(figure, middle.index, low, high, SYNTHETIC, opacity=0.18, name="range over repeats", showlegend=False)
    figure.add_scatter(
        x=middle.index, y=middle, mode="lines+markers", name="measured", line={"color": SYNTHETIC}, marker_size=7,
        showlegend=False,
    )  # fmt: skip
    figure.update_xaxes(title="step", rangemode="tozero", dtick=max(1, int(middle.index.max()) // 10))
    return finish(figure.update_yaxes(title="distance", rangemode="tozero", tickformat=".0%"), 260)


def settings(
    found: pd.DataFrame, reference: pd.DataFrame, x_title: str, *, log: bool, mark: tuple[str, float] | None = None
) -> go.Figure:
    """Mean W1 against a setting with two standard errors; one line for each `line`; reference means as open marks.

    `found` and `reference` have line, x, mean and error. `mark` is a vertical line with its words.
    """
    figure = go.Figure()
    for i, (name, own) in enumerate(found.groupby("line", sort=False)):
        colour, symbol = MARKS[i % len(MARKS)]
        line = {"color": colour, "dash": DASHES[i % len(DASHES)]}
        figure.add_scatter(
            x=own["x"], y=own["mean"], error_y={"array": 2 * own["error"]}, name=figure_text(name), line=line,
            mode="lines+markers", marker={"symbol": symbol, "size": 8},
        )  # fmt: skip
        known = reference[reference["line"] == name]
        if len(known):
            figure.add_scatter(
                x=known["x"], y=known["mean"], error_y={"array": 2 * known["error"]}, mode="markers",
                name=figure_text(f"{name}, reference"),
                marker={"symbol": f"{symbol}-open", "size": 13, "color": colour, "line_width": 2},
            )  # fmt: skip
    if mark is not None:
        figure.add_vline(x=mark[1], line={"color": GREY, "dash": "dash"})
        figure.add_annotation(
            x=np.log10(mark[1]) if log else mark[1], y=1.0, yref="paper", text=mark[0], showarrow=False
        )
    figure.update_xaxes(title=x_title, **(log_axis(found["x"]) if log else {}))
    return finish(figure.update_yaxes(title="mean W1 (unit of length)", rangemode="tozero"), 460)


def ranking(found: pd.DataFrame, off: str) -> go.Figure:
    """W1 of each method as a bar of its mean, and a dot for each seed; column `off` says how far W1 may be off."""
    means = found.groupby("method", sort=False)["w1"].mean()
    figure = go.Figure()
    names = [figure_text(name, 40) for name in means.index]
    place = {name: i for i, name in enumerate(means.index)}
    figure.add_bar(x=means, y=list(range(len(means))), orientation="h", marker_color=REAL, opacity=0.55, name="mean")
    figure.add_scatter(
        x=found["w1"], y=[place[m] for m in found["method"]], mode="markers", name="one run, ± error of W1",
        error_x={"array": found[off], "thickness": 1.5}, marker={"color": SYNTHETIC, "symbol": "diamond", "size": 9},
    )  # fmt: skip
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, autorange="reversed", title="method")
    figure.update_xaxes(title="distance W1 (share of a column's range)", rangemode="tozero")
    return finish(figure, 150 + 50 * len(names))
