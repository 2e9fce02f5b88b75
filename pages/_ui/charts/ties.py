"""Which columns a tree ties together, as a ring of columns with a line for every pair in one clique."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ..shell.text import figure_text
from .base import GREY, REAL, finish

TURNS = 14  # columns from which names stand along the spokes


def ring(names: Sequence[str], ties: Mapping[tuple[int, int], str]) -> go.Figure:
    """Columns on a circle; `ties` say of a pair of places in which clique it stands."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(len(names), 1)
    x, y = np.cos(angles), np.sin(angles)
    figure = go.Figure()
    xs, ys = [], []
    for a, b in ties:
        xs += [x[a], x[b], None]
        ys += [y[a], y[b], None]
    figure.add_scatter(x=xs, y=ys, mode="lines", line={"color": REAL, "width": 1.2}, hoverinfo="skip")
    middles = [((x[a] + x[b]) / 2, (y[a] + y[b]) / 2, words) for (a, b), words in ties.items()]
    figure.add_scatter(
        x=[m[0] for m in middles], y=[m[1] for m in middles], mode="markers", marker={"size": 7, "opacity": 0},
        customdata=[figure_text(m[2], 120) for m in middles], hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    tied = {place for pair in ties for place in pair}
    colours = [REAL if i in tied else GREY for i in range(len(names))]
    shown = [figure_text(name, 24) for name in names]
    figure.add_scatter(
        x=x, y=y, mode="markers", marker={"size": 9, "color": colours}, customdata=shown,
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for i, name in enumerate(shown):
        left = x[i] < -1e-9
        turn = -float(np.degrees(angles[i])) + (180 if left else 0) if len(names) >= TURNS else 0.0
        side = ("right" if left else "left") if abs(x[i]) > 0.2 or turn else "center"
        figure.add_annotation(
            x=1.05 * x[i], y=1.05 * y[i], text=name, showarrow=False, textangle=turn, font_size=11,
            xanchor="center" if turn else side, yanchor="middle",
            xshift=(4 + 3 * min(len(name), 24)) * x[i] if turn else 0,
            yshift=(4 + 3 * min(len(name), 24)) * y[i] if turn else 8 * y[i],
        )  # fmt: skip
    reach = 1.45 if len(names) >= TURNS else 1.3
    axis = {"visible": False, "range": [-reach, reach], "fixedrange": True}
    figure.update_layout(showlegend=False, xaxis=axis, yaxis=axis | {"scaleanchor": "x"})
    return finish(figure, 520)
