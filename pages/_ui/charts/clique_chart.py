"""Chart of a junction tree's cliques: a square of columns, filled for pairs in one clique."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ..session import distinct_figure_labels, escape_figure_text
from .figure_frame import REAL, finish_figure, thinned_ticks

MAX_NAMED_COLUMNS = 40  # columns along a side


def clique_square(names: Sequence[str], clique_by_pair: Mapping[tuple[int, int], str]) -> go.Figure:
    """Return a square of all column pairs, filled for those that share a clique.

    `clique_by_pair` maps a pair of column positions to the text of their clique, shown on hover.
    """
    filled = np.full((len(names), len(names)), np.nan)
    hover_texts = np.full(filled.shape, "", dtype=object)
    for (a, b), clique_text in clique_by_pair.items():
        filled[[a, b], [b, a]] = 1
        hover_texts[[a, b], [b, a]] = escape_figure_text(clique_text, 120)
    figure = go.Figure()
    figure.add_heatmap(
        z=filled,
        customdata=hover_texts,
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=[[0, REAL], [1, REAL]],
        showscale=False,
        xgap=1,
        ygap=1,
    )
    axis_ticks = thinned_ticks(distinct_figure_labels(names, 24), MAX_NAMED_COLUMNS)
    figure.update_xaxes(tickangle=-45, constrain="domain", **axis_ticks)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", **axis_ticks)
    return finish_figure(figure, 520).update_layout(margin_t=8)
