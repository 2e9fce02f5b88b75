"""The Evolution page's figures: arrays and DataFrames to Plotly, nothing here computes."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..shell import figure_text
from .base import GREY, REAL, SYNTHETIC, TEXT, band, finish, log_axis
from .frontier import look

LARGEST = 26.0  # pixels of the heaviest candidate's dot


def step(private: np.ndarray, V: np.ndarray, weights: np.ndarray, box: tuple[np.ndarray, np.ndarray]) -> go.Figure:
    """Draw two maps of the ellipse that fills the box: what stays with you beside what may be published.

    Private points (n, 2) are left, candidates V (r, 2) right; a dot's area is its weight.
    """
    low, high = box
    margin = 0.03 * (high - low)
    titles = ("<b>Real</b><br>an example; yours stay with you", "<b>Invented</b><br>goes out in a release")
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.03).update_annotations(font=TEXT)
    kept = weights > 0
    size = np.maximum(LARGEST * np.sqrt(weights[kept] / weights.max()), 4)
    looks = (
        ("real points", private, {"color": REAL, "size": 5, "opacity": 0.7}),
        ("without votes", V, {"color": GREY, "size": 5, "opacity": 0.6, "symbol": "x-thin-open"}),
        (
            "invented points, by votes",
            V[kept],
            {"color": SYNTHETIC, "size": size, "opacity": 0.75, "symbol": "diamond"},
        ),
    )
    clouds = [go.Scatter(x=X[:, 0], y=X[:, 1], mode="markers", name=name, marker=look) for name, X, look in looks]
    figure.add_traces(clouds, 1, [1, 2, 2]).update_traces(hovertemplate="(%{x:.3f}, %{y:.3f})")
    figure.add_shape(
        type="circle", x0=low[0], x1=high[0], y0=low[1], y1=high[1], line_color=GREY, row="all", col="all"
    )  # fmt: skip
    plain = {"constrain": "domain", "showgrid": False, "zeroline": False, "showticklabels": False}
    across, up = zip(low - margin, high + margin, strict=True)
    figure.update_xaxes(range=across, **plain)
    figure.update_yaxes(range=up, **plain)
    for number in ("", "2"):
        figure.update_layout({f"yaxis{number}_scaleanchor": f"x{number}"})
    figure.update_layout(showlegend=False)
    return finish(figure).update_layout(height=None, margin_l=24)  # as high as its place: two maps side by side


def distances(records: pd.DataFrame) -> go.Figure:
    """Draw the distance against t: the median over repeats and their range."""
    figure = go.Figure()
    by = records.groupby("t")["distance"]
    middle = by.median()
    band(figure, middle.index, by.min(), by.max(), SYNTHETIC, opacity=0.18, name="range over repeats", showlegend=False)
    figure.add_scatter(
        x=middle.index, y=middle, mode="lines+markers", name="measured", line={"color": SYNTHETIC}, marker_size=7,
        showlegend=False,
    )  # fmt: skip
    figure.update_xaxes(title="step", rangemode="tozero", dtick=max(1, int(middle.index.max()) // 10))
    return finish(figure.update_yaxes(title="km", rangemode="tozero"), 220)


def settings(
    found: pd.DataFrame, reference: pd.DataFrame, x_title: str, *, log: bool, mark: tuple[str, float] | None = None
) -> go.Figure:
    """Mean W1 against a setting with two standard errors; one line for each `line`; reference means as open marks.

    `found` and `reference` have line, x, mean and error. `mark` is a vertical line with its words.
    """
    figure, looks = go.Figure(), look([*dict.fromkeys([*found["line"], *reference["line"]])])
    for frame, words, mode, more in (
        (found, "", "lines+markers", {"size": 8}),
        (reference, ", reference", "markers", {"size": 13, "symbol": "circle-open", "line_width": 2}),
    ):
        for name, own in frame.groupby("line", sort=False):
            figure.add_scatter(
                x=own["x"], y=own["mean"], error_y={"array": 2 * own["error"]}, name=figure_text(f"{name}{words}"),
                mode=mode, line_color=looks[name]["color"], marker={**looks[name], **more},
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
    figure.add_bar(x=means, y=means.index, orientation="h", marker_color=REAL, opacity=0.55, name="mean")
    figure.add_scatter(
        x=found["w1"], y=found["method"], mode="markers", name="one run",
        error_x={"array": found[off], "thickness": 1.5}, marker={"color": SYNTHETIC, "symbol": "diamond", "size": 9},
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", title="method")
    figure.update_xaxes(title="distance, share of a column's range", rangemode="tozero", tickformat=".1%")
    return finish(figure, 150 + 50 * len(means))
