"""Chart of what rules without noise reveal beside private releases, by their error."""

from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore.core.types import value_object

from ..session import escape_figure_text
from .figure_frame import (
    ERROR,
    GREY,
    MIN_FILLED_SHARE,
    REAL,
    SYNTHETIC,
    TEXT_FONT,
    finish_figure,
    spread_labels,
)

HEIGHT = 400  # pixels
LABEL_HEIGHT = 20.0  # pixels of a mark's name, with the space around it
NOISE_LABEL = "noise: a guess is right at most"


@value_object
class RuleMark:
    """A rule's mark: its name, its error and what it proves, both of 100."""

    name: str
    error: float
    proved: float
    is_chosen: bool


@value_object
class NoisePoint:
    """A point of the private releases: ε, the error and the bound on a guess, both of 100."""

    epsilon: float
    error: float
    guess: float


def alternatives_chart(
    rules: Sequence[RuleMark],
    noise: Sequence[NoisePoint],
    chosen_noise: NoisePoint,
    unit: str,
) -> go.Figure:
    """Return the chart: a mark a rule, the private releases as a curve over ε.

    `chosen_noise` is the private release at the ε of the page's slider.
    """
    figure = go.Figure()
    curve = sorted(noise, key=lambda point: point.error)
    figure.add_scatter(
        x=[point.error for point in curve],
        y=[point.guess for point in curve],
        mode="lines+markers+text",
        text=[f"ε = {point.epsilon:g}" for point in curve],
        textposition="top right",
        textfont=TEXT_FONT | {"color": SYNTHETIC},
        line={"color": SYNTHETIC, "width": 2},
        name=NOISE_LABEL,
        hovertemplate="%{text}: error %{x:.3g}, guess %{y:.3g} of 100<extra></extra>",
    )
    figure.add_scatter(
        x=[chosen_noise.error],
        y=[chosen_noise.guess],
        mode="markers",
        marker={"color": SYNTHETIC, "size": 14, "symbol": "diamond-open", "line": {"width": 3}},
        name=f"noise at ε = {chosen_noise.epsilon:g}",
        hovertemplate="your ε: error %{x:.3g}, guess %{y:.3g} of 100<extra></extra>",
    )
    figure.add_scatter(
        x=[rule.error for rule in rules],
        y=[rule.proved for rule in rules],
        mode="markers",
        marker={
            "color": [ERROR if rule.is_chosen else REAL for rule in rules],
            "size": [15 if rule.is_chosen else 11 for rule in rules],
            "symbol": "square",
        },
        customdata=[rule.name for rule in rules],
        name=f"rules: {unit} proved",
        hovertemplate="%{customdata}: error %{x:.3g}, proved %{y:.3g} of 100<extra></extra>",
    )
    figure.add_hline(50, line={"color": GREY, "dash": "dot", "width": 1})
    largest = max([point.error for point in curve] + [rule.error for rule in rules] + [1.0])
    x_range = [-0.04 * largest, 1.3 * largest]
    figure.update_xaxes(title=f"{unit} of 100 in a wrong cell", range=x_range)
    figure.update_yaxes(title="of 100", range=[-8, 112], tickvals=[0, 25, 50, 75, 100])
    figure = finish_figure(figure, HEIGHT)
    return figure.update_layout(annotations=rule_labels(rules))


def rule_labels(rules: Sequence[RuleMark]) -> list[dict]:
    """Return annotations that name the rules beside their marks, moved apart vertically."""
    ordered = sorted(rules, key=lambda rule: (rule.proved, -rule.error))
    scale = MIN_FILLED_SHARE * HEIGHT / 100
    positions = [scale * rule.proved for rule in ordered]
    label_positions = spread_labels(positions, [LABEL_HEIGHT] * len(ordered), scale * 108)
    return [
        {
            "x": rule.error,
            "y": rule.proved,
            "ax": 14,
            "ay": position - label_position,
            "xanchor": "left",
            "text": escape_figure_text(rule.name),
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": GREY,
            "font": TEXT_FONT | {"color": ERROR if rule.is_chosen else REAL},
        }
        for rule, position, label_position in zip(ordered, positions, label_positions, strict=True)
    ]
