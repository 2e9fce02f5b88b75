"""The Evolution page's figures: arrays and DataFrames to Plotly, nothing here computes."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..session import escape_figure_text
from .figure_frame import (
    GREY,
    REAL,
    SYNTHETIC,
    TEXT_FONT,
    add_band,
    finish_figure,
    line_chart,
    log_axis,
)
from .frontier_charts import marker_style, series_styles

MAX_DOT_PIXELS = 26.0  # pixels of the heaviest candidate's dot


def evolution_step_maps(
    private: np.ndarray,
    V: np.ndarray,
    weights: np.ndarray,
    is_noise_only: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    max_noise_km: float,
    scale_bars: dict[str, float],
) -> go.Figure:
    """Return two maps side by side: the private points and the weighted candidates of one step.

    Private points (n, 2), which stay with you, are on the left; candidates V (r, 2), which may be
    published, on the right. Both show the ellipse that fills the box. A dot's area is its weight;
    where
    `is_noise_only` is true it is hollow. These hollow dots are at most `max_noise_km` km off. Below
    is
    one of the `scale_bars` each.
    """
    low, high = box
    margin = 0.03 * (high - low)
    scale_bar_y = low[1] - 3 * margin[1]
    titles = (
        f"<b>Real</b> (here made up)<br>{len(private):,} people, one place each<br>",
        "<b>Synthetic</b> (goes out)<br>" + _votes_legend(weights, is_noise_only, max_noise_km),
    )
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.03)
    figure.update_annotations(font=TEXT_FONT)
    clouds = _point_clouds(private, V, weights, is_noise_only)
    figure.add_traces(clouds, 1, [1, 2, 2]).update_traces(hovertemplate="(%{x:.3f}, %{y:.3f})")
    _draw_scale_bars(figure, scale_bars, low[0], scale_bar_y)
    _draw_bare_maps(figure, box, scale_bar_y)
    # as high as its place: two maps side by side, below titles of three lines
    return finish_figure(figure).update_layout(
        yaxis_scaleanchor="x",
        yaxis2_scaleanchor="x2",
        showlegend=False,
        height=None,
        margin_l=24,
        margin_t=58,
    )


def _votes_legend(weights: np.ndarray, is_noise_only: np.ndarray, max_noise_km: float) -> str:
    """Return two lines that say what the size and the shape of a candidate's dot mean."""
    votes_text = "◆ larger: more votes"
    if not (weights > 0).all():
        votes_text += " · × none"
    if not is_noise_only.any():
        return f"{votes_text}<br>"
    return f"{votes_text}<br>◇ only noise, up to {max_noise_km:.1f} km off"


def _point_clouds(
    private: np.ndarray, V: np.ndarray, weights: np.ndarray, is_noise_only: np.ndarray
) -> list[go.Scatter]:
    """Return the private points, the candidates without votes, and those with votes."""
    has_votes = weights > 0
    size = np.maximum(MAX_DOT_PIXELS * np.sqrt(weights[has_votes] / weights.max()), 4)
    symbols = np.where(is_noise_only[has_votes], "diamond-open", "diamond")
    private_style = {"color": REAL, "size": 5, "opacity": 0.7}
    voteless_style = {"color": GREY, "size": 5, "opacity": 0.6, "symbol": "x-thin-open"}
    voted_style = {"color": SYNTHETIC, "size": size, "opacity": 0.75, "symbol": symbols}
    cloud_styles = (
        ("real points", private, private_style),
        ("without votes", V[~has_votes], voteless_style),
        ("invented points, by votes", V[has_votes], voted_style),
    )
    return [
        go.Scatter(x=X[:, 0], y=X[:, 1], mode="markers", name=name, marker=style)
        for name, X, style in cloud_styles
    ]


def _draw_scale_bars(
    figure: go.Figure, scale_bars: dict[str, float], start_x: float, y: float
) -> None:
    """Draw one scale bar below each map, with its name."""
    for column, (name, length) in enumerate(scale_bars.items(), 1):
        figure.add_scatter(
            x=[start_x, start_x + length],
            y=[y, y],
            text=["", f"&nbsp;{name}"],
            textposition="middle right",
            mode="lines+text",
            line={"color": GREY, "width": 3},
            hoverinfo="skip",
            row=1,
            col=column,
        )


def _draw_bare_maps(
    figure: go.Figure, box: tuple[np.ndarray, np.ndarray], scale_bar_y: float
) -> None:
    """Draw the ellipse that fills the box on both maps, and take the grid and ticks away."""
    low, high = box
    margin = 0.03 * (high - low)
    figure.add_shape(
        type="circle",
        x0=low[0],
        x1=high[0],
        y0=low[1],
        y1=high[1],
        line_color=GREY,
        row="all",
        col="all",
    )
    axis_style = {
        "constrain": "domain",
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
    }
    figure.update_xaxes(range=(low[0] - margin[0], high[0] + margin[0]), **axis_style)
    figure.update_yaxes(range=(scale_bar_y - 2 * margin[1], high[1] + margin[1]), **axis_style)


def distance_chart(distance_by_step: pd.DataFrame) -> go.Figure:
    """Draw the distance against t: the median over repeats and their range, from min to max."""
    figure = line_chart(
        distance_by_step.reset_index(), "t", {"median": ""}, ("step", "km"), height=220
    )
    figure.update_traces(mode="lines+markers", marker_size=7, showlegend=False).update_xaxes(
        dtick=max(1, len(distance_by_step) // 10)
    )
    add_band(
        figure,
        distance_by_step.index,
        distance_by_step["min"],
        distance_by_step["max"],
        SYNTHETIC,
        opacity=0.18,
        name="range over repeats",
        showlegend=False,
    )
    return figure.update_yaxes(rangemode="tozero")


def settings_chart(
    results: pd.DataFrame,
    reference: pd.DataFrame,
    x_title: str,
    *,
    log: bool,
    marked_setting: tuple[str, float] | None = None,
) -> go.Figure:
    """Return a chart of mean W1 against a setting, with two standard errors, one line per `line`.

    `results` and `reference` have the columns line, x, mean and error; reference means are open
    marks.
    `marked_setting` is a vertical line with its label.
    """
    figure = go.Figure()
    styles = series_styles([*dict.fromkeys([*results["line"], *reference["line"]])])
    for frame, name_suffix, mode, marker_args in (
        (results, "", "lines+markers", {"size": 8}),
        (
            reference,
            ", reference",
            "markers",
            {"size": 13, "symbol": "circle-open", "line_width": 2},
        ),
    ):
        for name, line_frame in frame.groupby("line", sort=False):
            figure.add_scatter(
                x=line_frame["x"],
                y=line_frame["mean"],
                error_y={"array": 2 * line_frame["error"]},
                name=escape_figure_text(f"{name}{name_suffix}"),
                mode=mode,
                line_color=styles[name]["color"],
                marker=marker_style(styles[name]) | marker_args,
            )
    if marked_setting is not None:
        figure.add_vline(x=marked_setting[1], line={"color": GREY, "dash": "dash"})
        figure.add_annotation(
            x=np.log10(marked_setting[1]) if log else marked_setting[1],
            y=1.0,
            yref="paper",
            text=marked_setting[0],
            showarrow=False,
        )
    figure.update_xaxes(title=x_title, **(log_axis(results["x"]) if log else {}))
    return finish_figure(
        figure.update_yaxes(title="mean W1 (unit of length)", rangemode="tozero"), 460
    )


def method_ranking_chart(scores: pd.DataFrame, error_column: str) -> go.Figure:
    """Return a bar of the mean W1 for each method, with a dot for each seed.

    Column `error_column` says how far W1 may be off.
    """
    means = scores.groupby("method", sort=False)["w1"].mean()
    figure = go.Figure()
    figure.add_bar(
        x=means, y=means.index, orientation="h", marker_color=REAL, opacity=0.55, name="mean"
    )
    figure.add_scatter(
        x=scores["w1"],
        y=scores["method"],
        mode="markers",
        name="one run",
        error_x={"array": scores[error_column], "thickness": 1.5},
        marker={"color": SYNTHETIC, "symbol": "diamond", "size": 9},
    )
    figure.update_yaxes(autorange="reversed", title="method")
    figure.update_xaxes(
        title="distance, share of a column's range", rangemode="tozero", tickformat=".1%"
    )
    return finish_figure(figure, 150 + 50 * len(means))
