"""Maps of how strongly all pairs of columns are linked, side by side, as one Vega-Lite chart.

As in `column_panels`, names of columns travel as data alone.
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dpcore.accuracy.associations import WEAK_LINK

from ..session import distinct_labels, printable_text
from .column_panels import NARROW_SCREEN, data_free_spec

MAX_MAPPED_COLUMNS = 40  # along a side
MAP_SIZE = 280
NAME_WIDTH = 84  # pixels of a column's name
NAME_CHARS = 13
LOST_COLOUR = "#D55E00"
WEAK_OPACITY = 0.35


@cache
def maps_spec() -> dict[str, Any]:
    """Return the Vega-Lite specification of the maps, without data."""
    import altair as alt  # takes half a second

    axis = {"title": None, "labelFontSize": 13, "labelLimit": NAME_WIDTH, "labelOverlap": True}
    strength = alt.Color(
        "link:Q",
        scale=alt.Scale(domain=[0, 1], clamp=True),
        legend=alt.Legend(title="link, 0 to 1", orient="bottom", labelFontSize=13),
    )
    cells = (
        alt.Chart(alt.NamedData("pairs"))
        .mark_rect(ariaRoleDescription="pair of columns", strokeWidth=2)
        .encode(
            x=alt.X(
                "across:N",
                sort=alt.EncodingSortField(field="across_rank", op="min"),
                axis=alt.Axis(labelAngle=-90, **axis),
            ),
            y=alt.Y(
                "down:N",
                sort=alt.EncodingSortField(field="down_rank", op="min"),
                axis=alt.Axis(**axis),
            ),
            color=strength,
            stroke=alt.condition("datum.lost", alt.value(LOST_COLOUR), alt.value(None)),
            opacity=alt.condition("datum.weak", alt.value(WEAK_OPACITY), alt.value(1)),
            description="text:N",
            tooltip="text:N",
        )
        .properties(width=MAP_SIZE, height=MAP_SIZE)
    )
    header = alt.Header(title=None, labelFontSize=13)
    side = alt.Facet("map:N", sort=alt.EncodingSortField(field="map_rank", op="min"), header=header)
    chart = cells.facet(facet=side, columns=2, spacing=16)
    # each map with axes of its own: shared ones would need to know how many stand in a line
    chart = chart.resolve_axis(x="independent", y="independent")
    return data_free_spec(chart, f"windowSize()[0] < {NARROW_SCREEN} ? 1 : 2")


def maps_frame(
    names: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    links_by_map: dict[str, np.ndarray],
    pair_texts: Sequence[str],
    lost: Collection[int],
) -> pd.DataFrame:
    """Return the data of the maps: one row a pair and map.

    Args:
        names: Of the columns.
        pairs: Two column numbers each.
        links_by_map: The strength of each pair's link (pairs,) by what the map shows, NaN where it
            is not known.
        pair_texts: What is said of each pair.
        lost: Numbers of pairs whose link is lost, which have a frame.

    """
    mapped_columns = _strongest_columns(len(names), pairs, links_by_map)
    labels = distinct_labels([names[a] for a in mapped_columns], NAME_CHARS)
    ranks = {a: i for i, a in enumerate(mapped_columns)}
    rows = []
    for map_rank, (title, links) in enumerate(links_by_map.items()):
        for at, (first, second) in enumerate(pairs):
            if first not in ranks or second not in ranks or np.isnan(links[at]):
                continue
            rows.append(
                {
                    "map": printable_text(title),
                    "map_rank": map_rank,
                    "across": labels[names[first]],
                    "across_rank": ranks[first],
                    "down": labels[names[second]],
                    "down_rank": ranks[second],
                    "link": float(links[at]),
                    "text": pair_texts[at],
                    "weak": bool(links[at] < WEAK_LINK),
                    "lost": at in lost,
                }
            )
    return pd.DataFrame(rows)


def _strongest_columns(
    count: int, pairs: Sequence[tuple[int, int]], links_by_map: dict[str, np.ndarray]
) -> list[int]:
    """Return the columns that are mapped: those of the strongest links, in their own order."""
    strongest = np.zeros(count)
    for links in links_by_map.values():
        for (first, second), link in zip(pairs, np.nan_to_num(links), strict=True):
            strongest[first] = max(strongest[first], link)
            strongest[second] = max(strongest[second], link)
    return sorted(np.argsort(-strongest, kind="stable")[:MAX_MAPPED_COLUMNS].tolist())
