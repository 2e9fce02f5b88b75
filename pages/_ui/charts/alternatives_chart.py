"""Chart of what rules without noise reveal beside private releases, by their error."""

from collections.abc import Sequence
from textwrap import wrap

import plotly.graph_objects as go

from dpcore.core.types import value_object

from ..session import escape_figure_text
from .figure_frame import (
    ERROR,
    GREY,
    LETTER_HEIGHT,
    MIN_FILLED_SHARE,
    NAME_GAP,
    REAL,
    SYNTHETIC,
    TEXT_FONT,
    finish_figure,
    spread_labels,
)

HEIGHT = 400  # pixels
MAX_LABEL_CHARS = 16  # of a line of a rule's name
MAX_LABELLED_EPSILON = 10.0
MIN_LABEL_GAP = 0.09  # between two labels of the curve, as a share of the errors shown
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
    curve = sorted(noise, key=lambda point: point.epsilon)
    largest = max([point.error for point in curve] + [rule.error for rule in rules] + [1.0])
    figure.add_scatter(
        x=[point.error for point in curve],
        y=[point.guess for point in curve],
        mode="lines+markers+text",
        text=epsilon_labels(curve, MIN_LABEL_GAP * largest),
        textposition="top right",
        cliponaxis=False,
        customdata=[f"ε = {point.epsilon:g}" for point in curve],
        textfont=TEXT_FONT | {"color": SYNTHETIC},
        line={"color": SYNTHETIC, "width": 2},
        name=NOISE_LABEL,
        hovertemplate="%{customdata}: error %{x:.3g}, guess %{y:.3g} of 100<extra></extra>",
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
    x_range = [-0.04 * largest, 1.15 * largest]
    figure.update_xaxes(title=f"{unit} of 100 in a wrong cell", range=x_range)
    figure.update_yaxes(title="of 100", range=[-8, 112], tickvals=[0, 25, 50, 75, 100])
    figure = finish_figure(figure, HEIGHT)
    return figure.update_layout(annotations=rule_labels(rules, largest / 2))


def epsilon_labels(curve: Sequence[NoisePoint], min_gap: float) -> list[str]:
    """Return the labels of the curve's points, none for one too near to the last one labelled.

    Those of the largest ε come first, as they lie apart. Above ε = 10 none is labelled: there the
    names of rules are.
    """
    labels = []
    labelled_errors: list[float] = []
    for point in reversed(curve):
        is_apart = point.epsilon <= MAX_LABELLED_EPSILON and all(
            abs(point.error - error) >= min_gap for error in labelled_errors
        )
        if is_apart:
            labelled_errors.append(point.error)
        labels.append(f"ε = {point.epsilon:g}" if is_apart else "")
    return labels[::-1]


def rule_labels(rules: Sequence[RuleMark], middle: float) -> list[dict]:
    """Return annotations that name the rules beside their marks, moved apart vertically.

    Names are at the right of marks up to the `middle` of the errors, else at the left.
    """
    ordered = sorted(rules, key=lambda rule: (rule.proved, -rule.error))
    scale = MIN_FILLED_SHARE * HEIGHT / 100
    positions = [scale * rule.proved for rule in ordered]
    texts = ["<br>".join(wrap(escape_figure_text(rule.name), MAX_LABEL_CHARS)) for rule in ordered]
    heights = [NAME_GAP + LETTER_HEIGHT * (1 + text.count("<br>")) for text in texts]
    label_positions = spread_labels(positions, heights, scale * 108)
    return [
        {
            "x": rule.error,
            "y": rule.proved,
            "ax": 14 if rule.error <= middle else -14,
            "ay": position - label_position,
            "xanchor": "left" if rule.error <= middle else "right",
            "align": "left",
            "text": text,
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": GREY,
            "font": TEXT_FONT | {"color": ERROR if rule.is_chosen else REAL},
        }
        for rule, text, position, label_position in zip(
            ordered, texts, positions, label_positions, strict=True
        )
    ]
