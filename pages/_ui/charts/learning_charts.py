"""Figures of the Learning page, made from DataFrames and output distributions.

Nothing here computes or knows an algorithm.
"""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpcore.evaluation.output_laws import LineLaw, PlaneLaw

from ..session import escape_figure_text
from .figure_frame import GREY, REAL, SHADES, SYNTHETIC, THIRD, finish_figure, line_chart
from .frontier_charts import epsilon_band_chart, marker_style, series_styles


def density_chart(law: LineLaw, example: float) -> go.Figure:
    """Return the density of a protected value, with the real value and an example as lines.

    The part that holds nine of ten outcomes is shaded.
    """
    figure = go.Figure()
    figure.add_scatter(
        x=law.x,
        y=law.density,
        mode="lines",
        fill="tozeroy",
        line={"color": SYNTHETIC, "width": 1.5},
        hovertemplate="%{x:.5g}: %{y:.3g}<extra></extra>",
    )
    for x, name, side, line in (
        (law.truth, "real, seen only here", "right", {"color": REAL, "dash": "dash"}),
        (example, "protected, for example", "left", {"color": SYNTHETIC}),
    ):
        figure.add_vline(
            x,
            line=line,
            annotation={"text": f"{name}: {x:.4g}", "xanchor": side, "yanchor": "bottom"},
        )
    figure.add_vrect(
        x0=law.truth - law.radius_of_90_percent,
        x1=law.truth + law.radius_of_90_percent,
        fillcolor=SYNTHETIC,
        opacity=0.15,
        line_width=0,
    )
    figure.update_yaxes(
        rangemode="tozero", title="likelier →", showticklabels=False, showgrid=False
    )
    # Low, and with room at the left where a phone's reader drags the axis.
    return finish_figure(figure, 180).update_layout(margin_l=24, margin_t=24)


def excess_risk_chart(frame: pd.DataFrame, theoretical_mu: float, mu_in_use: float) -> go.Figure:
    """Return a chart of mean excess risk against μ, with vertical lines at two values of μ.

    They are the theory's μ and the one in use.
    """
    titles = "μ, weight of the regulariser", "mean error added (units of the column)"
    figure = line_chart(frame, "mu", {"excess_risk": "error added"}, titles, log="xy")
    for value, label, side in (
        (theoretical_mu, "theory's μ →", "right"),
        (mu_in_use, "← μ in use", "left"),
    ):
        figure.add_vline(x=value, line={"color": GREY, "dash": "dash"})
        figure.add_annotation(
            x=np.log10(value), y=1, yref="paper", text=label, xanchor=side, showarrow=False
        )
    return figure


def metric_by_epsilon_chart(
    frame: pd.DataFrame, value: str, title: str, names: list[str], *, log: bool
) -> go.Figure:
    """Return a chart of one measure against ε by method: the median over seeds and the range.

    The median is a line, the range a band.
    """
    grouped = frame.dropna(subset=[value]).groupby(["algorithm", "epsilon"], sort=False)[value]
    lines = (
        grouped.agg(middle="median", low="min", high="max")
        .reset_index()
        .rename(columns={"algorithm": "line"})
    )
    return epsilon_band_chart(lines, series_styles(names), title, log=log)


def coefficient_chart(
    frame: pd.DataFrame, optimum: np.ndarray, names: tuple[str, ...], order: list[str]
) -> go.Figure:
    """Return a chart of every run's coefficients by method, beside the non-private optimum."""
    figure = go.Figure()
    styles = series_styles(order)
    position_by_name = {name: i for i, name in enumerate(names)}
    grouped = frame.groupby("algorithm", sort=False)
    for j, (method, method_runs) in enumerate(grouped, 1):
        shift = j / (len(grouped) + 2) - 0.5
        figure.add_scatter(
            x=method_runs["value"],
            y=[position_by_name[c] + shift for c in method_runs["coefficient"]],
            mode="markers",
            name=method,
            marker={**marker_style(styles[method]), "size": 6},
            hovertemplate=f"{method}: %{{x:.3g}}<extra></extra>",
        )
    figure.add_scatter(
        x=optimum,
        y=[*position_by_name.values()],
        mode="markers",
        name="without privacy",
        marker={"symbol": "line-ns", "size": 22, "line": {"width": 2, "color": GREY}},
        hovertemplate="without privacy: %{x:.3g}<extra></extra>",
    )
    labels = [escape_figure_text(name, 24) for name in names]
    figure.update_yaxes(
        autorange="reversed",
        title="weight of",
        tickvals=[*position_by_name.values()],
        ticktext=labels,
    )
    figure.update_xaxes(title="value (features scaled by bounds)")
    return finish_figure(figure, 160 + 34 * min(len(names), 24))


def coefficient_plane_chart(law: PlaneLaw, names: tuple[str, ...]) -> go.Figure:
    """Return a heat map of the density of two private coefficients, with contours of the risk.

    It also shows draws and the optimum.
    """
    figure = go.Figure()
    figure.add_heatmap(
        x=law.x1,
        y=law.x2,
        z=law.probability,
        colorscale=SHADES,
        showscale=False,
        zsmooth="best",
        hovertemplate="%{x:.3g}, %{y:.3g}: %{z:.2e}<extra></extra>",
    )
    figure.add_contour(
        x=law.x1,
        y=law.x2,
        z=law.excess,
        contours={"coloring": "lines", "showlabels": True},
        ncontours=9,
        colorscale=[[0, GREY], [1, GREY]],
        showscale=False,
        name="error added",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=law.draws[:, 0],
        y=law.draws[:, 1],
        mode="markers",
        name="draws",
        marker={"color": SYNTHETIC, "size": 5},
    )
    figure.add_scatter(
        x=law.optimum[:1],
        y=law.optimum[1:],
        mode="markers",
        name="without privacy",
        marker={"color": REAL, "size": 13, "symbol": "x"},
    )
    figure.update_xaxes(title=escape_figure_text(names[0]))
    return finish_figure(figure.update_yaxes(title=escape_figure_text(names[1])), 480)


def prediction_lines_chart(
    x: np.ndarray, lines: np.ndarray, best: np.ndarray, titles: tuple[str, str], is_percentage: bool
) -> go.Figure:
    """Return the prediction lines of many draws over x, and the non-private line.

    `lines` is (m, p) and `x` (p,). With `is_percentage` the values are in percent.
    """
    figure = go.Figure()
    for i, line in enumerate(lines):
        figure.add_scatter(
            x=x,
            y=line,
            mode="lines",
            line={"color": SYNTHETIC, "width": 1},
            opacity=0.35,
            name="private lines",
            showlegend=i == 0,
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=x,
        y=best,
        mode="lines",
        line={"color": REAL, "dash": "dash", "width": 3},
        name="without privacy",
    )
    figure.update_xaxes(title=escape_figure_text(titles[0]))
    return finish_figure(
        figure.update_yaxes(
            title=escape_figure_text(titles[1]), tickformat=".0%" if is_percentage else ""
        ),
        340,
    )


def sampler_walk_chart(frame: pd.DataFrame, b: np.ndarray) -> go.Figure:
    """Return a chart of the alternating sampler's path: y and its proposals by try.

    Accepted and refused proposals differ in look; the rows' values `b` are marks at the left.
    """
    figure = go.Figure()
    figure.add_scatter(
        x=np.zeros(len(b)),
        y=b,
        mode="markers",
        name="invented rows",
        marker={
            "color": GREY,
            "symbol": "line-ew",
            "size": 16,
            "line": {"width": 2, "color": GREY},
        },
    )
    figure.add_scatter(
        x=frame["try"], y=frame["y"], mode="lines+markers", name="y, blurred state", line_color=REAL
    )
    for accepted, outcome, colour, symbol in (
        (True, "accepted", THIRD, "circle"),
        (False, "refused", SYNTHETIC, "x"),
    ):
        proposals = frame[frame["accepted"] == accepted]
        figure.add_scatter(
            x=proposals["try"],
            y=proposals["x"],
            mode="markers",
            name=f"proposal, {outcome}",
            customdata=proposals["ρ"],
            marker={"color": colour, "symbol": symbol, "size": 10},
            hovertemplate="x′ = %{y:.3f}, ρ = %{customdata:.3f}<extra></extra>",
        )
    figure.update_xaxes(title="try")
    return finish_figure(figure.update_yaxes(title="value in −1..1"), 380)
