"""Which columns a tree ties together, as a square of columns with a filled cell for every pair in one clique."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ..session import figure_text, short_names
from .figure_frame import REAL, finish, ticks

MOST_NAMED = 40  # columns along a side


def square(names: Sequence[str], ties: Mapping[tuple[int, int], str]) -> go.Figure:
    """Every column against every other; `ties` say of a pair of places in which clique it stands."""
    filled = np.full((len(names), len(names)), np.nan)
    told = np.full(filled.shape, "", dtype=object)
    for (a, b), words in ties.items():
        filled[[a, b], [b, a]] = 1
        told[[a, b], [b, a]] = figure_text(words, 120)
    figure = go.Figure()
    figure.add_heatmap(
        z=filled, customdata=told, hovertemplate="%{customdata}<extra></extra>", colorscale=[[0, REAL], [1, REAL]],
        showscale=False, xgap=1, ygap=1,
    )  # fmt: skip
    named = ticks(short_names(names, 24), MOST_NAMED)
    figure.update_xaxes(tickangle=-45, constrain="domain", **named)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", **named)
    return finish(figure, 520).update_layout(margin_t=8)
