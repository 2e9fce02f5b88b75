"""The Evolution page's figures: arrays and DataFrames to Plotly, nothing here computes."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..session import figure_text
from .figure_frame import GREY, REAL, SYNTHETIC, TEXT, band, curves, finish, log_axis
from .frontier_charts import look, marker_of

LARGEST = 26.0  # pixels of the heaviest candidate's dot


def step(
    private: np.ndarray,
    V: np.ndarray,
    weights: np.ndarray,
    false: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    farthest: float,
    lengths: dict[str, float],
) -> go.Figure:
    """Draw two maps of the ellipse that fills the box: what stays with you beside what may be published.

    Private points (n, 2) are left, candidates V (r, 2) right; a dot's area is its weight, and where that is `false`, it
    is hollow. The `farthest` of these is so many km off. Below is one of `lengths` each.
    """
    low, high = box
    margin = 0.03 * (high - low)
    scale_bar_y = low[1] - 3 * margin[1]
    has_votes = weights > 0
    legend_text = "◆ larger: more votes" + ("" if has_votes.all() else " · × none")
    legend_text += f"<br>◇ only noise, up to {farthest:.1f} km off" if false.any() else "<br>"
    titles = (
        f"<b>Real</b> (here made up)<br>{len(private):,} people, one place each<br>",
        f"<b>Synthetic</b> (goes out)<br>{legend_text}",
    )
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.03).update_annotations(font=TEXT)
    size = np.maximum(LARGEST * np.sqrt(weights[has_votes] / weights.max()), 4)
    cloud_styles = (
        ("real points", private, {"color": REAL, "size": 5, "opacity": 0.7}),
        ("without votes", V[~has_votes], {"color": GREY, "size": 5, "opacity": 0.6, "symbol": "x-thin-open"}),
        (
            "invented points, by votes",
            V[has_votes],
            {
                "color": SYNTHETIC,
                "size": size,
                "opacity": 0.75,
                "symbol": np.where(false[has_votes], "diamond-open", "diamond"),
            },
        ),
    )
    clouds = [
        go.Scatter(x=X[:, 0], y=X[:, 1], mode="markers", name=name, marker=style) for name, X, style in cloud_styles
    ]
    figure.add_traces(clouds, 1, [1, 2, 2]).update_traces(hovertemplate="(%{x:.3f}, %{y:.3f})")
    for column, (name, length) in enumerate(lengths.items(), 1):
        figure.add_scatter(
            x=[low[0], low[0] + length],
            y=[scale_bar_y, scale_bar_y],
            text=["", f"&nbsp;{name}"],
            textposition="middle right",
            mode="lines+text",
            line={"color": GREY, "width": 3},
            hoverinfo="skip",
            row=1,
            col=column,
        )
    figure.add_shape(type="circle", x0=low[0], x1=high[0], y0=low[1], y1=high[1], line_color=GREY, row="all", col="all")
    axis_style = {"constrain": "domain", "showgrid": False, "zeroline": False, "showticklabels": False}
    figure.update_xaxes(range=(low[0] - margin[0], high[0] + margin[0]), **axis_style)
    figure.update_yaxes(range=(scale_bar_y - 2 * margin[1], high[1] + margin[1]), **axis_style)
    return finish(figure).update_layout(  # as high as its place: two maps side by side, below titles of three lines
        yaxis_scaleanchor="x", yaxis2_scaleanchor="x2", showlegend=False, height=None, margin_l=24, margin_t=58
    )


def distances(by: pd.DataFrame) -> go.Figure:
    """Draw the distance against t: the median over repeats and their range, from min to max."""
    figure = curves(by.reset_index(), "t", {"median": ""}, ("step", "km"), height=220)
    figure.update_traces(mode="lines+markers", marker_size=7, showlegend=False).update_xaxes(
        dtick=max(1, len(by) // 10)
    )
    band(figure, by.index, by["min"], by["max"], SYNTHETIC, opacity=0.18, name="range over repeats", showlegend=False)
    return figure.update_yaxes(rangemode="tozero")


def settings(
    found: pd.DataFrame, reference: pd.DataFrame, x_title: str, *, log: bool, mark: tuple[str, float] | None = None
) -> go.Figure:
    """Mean W1 against a setting with two standard errors; one line for each `line`; reference means as open marks.

    `found` and `reference` have line, x, mean and error. `mark` is a vertical line with its words.
    """
    figure, styles = go.Figure(), look([*dict.fromkeys([*found["line"], *reference["line"]])])
    for frame, name_suffix, mode, marker_args in (
        (found, "", "lines+markers", {"size": 8}),
        (reference, ", reference", "markers", {"size": 13, "symbol": "circle-open", "line_width": 2}),
    ):
        for name, line_frame in frame.groupby("line", sort=False):
            figure.add_scatter(
                x=line_frame["x"],
                y=line_frame["mean"],
                error_y={"array": 2 * line_frame["error"]},
                name=figure_text(f"{name}{name_suffix}"),
                mode=mode,
                line_color=styles[name]["color"],
                marker=marker_of(styles[name]) | marker_args,
            )
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
        x=found["w1"],
        y=found["method"],
        mode="markers",
        name="one run",
        error_x={"array": found[off], "thickness": 1.5},
        marker={"color": SYNTHETIC, "symbol": "diamond", "size": 9},
    )
    figure.update_yaxes(autorange="reversed", title="method")
    figure.update_xaxes(title="distance, share of a column's range", rangemode="tozero", tickformat=".1%")
    return finish(figure, 150 + 50 * len(means))
