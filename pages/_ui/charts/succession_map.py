"""A map of what follows what in two rows of a person, as one Vega-Lite chart.

As in `column_panels`, names and values travel as data alone.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pandas as pd

from dpcore.accuracy.intervals.question_intervals import Interval
from dpcore.core.types import frozen

from ..session import distinct_labels, printable_text

CELL_SIZE = 36  # pixels of a cell's side
NAME_WIDTH = 130  # pixels of a value's name
NAME_CHARS = 18
WEAK_OPACITY = 0.35


@frozen
class SuccessionCell:
    """A cell of the map: the values in the first and the second row, and its share of people."""

    first: str
    second: str
    interval: Interval

    @property
    def is_weak(self) -> bool:
        """Whether the share may be 0, by its interval."""
        return not self.interval.low

    @property
    def range_text(self) -> str:
        """The share of people with its interval, in words."""
        interval = self.interval
        share_text = (
            "unknown" if interval.estimate is None else f"{interval.estimate:.1%} of people"
        )
        if interval.low is None or interval.high is None:
            return f"{share_text}, without a bound"
        return f"{share_text} ({interval.low:.1%} to {interval.high:.1%})"


@cache
def map_spec() -> dict[str, Any]:
    """Return the Vega-Lite specification of the map, without data."""
    import altair as alt  # takes half a second

    axis: dict[str, Any] = {"labelFontSize": 13, "titleFontSize": 13, "labelLimit": NAME_WIDTH}
    chart = (
        alt.Chart(alt.NamedData("cells"))
        .mark_rect(ariaRoleDescription="what follows what")
        .encode(
            x=alt.X(
                "second:N",
                sort=alt.EncodingSortField(field="second_rank", op="min"),
                axis=alt.Axis(
                    title="then", orient="top", labelAngle=-45, labelOverlap=False, **axis
                ),
            ),
            y=alt.Y(
                "first:N",
                sort=alt.EncodingSortField(field="first_rank", op="min"),
                axis=alt.Axis(title="first", **axis),
            ),
            color=alt.Color(
                "share:Q",
                scale=alt.Scale(zero=True),
                legend=alt.Legend(title="share of people", format=".1%", labelFontSize=13),
            ),
            opacity=alt.condition("datum.weak", alt.value(WEAK_OPACITY), alt.value(1)),
            description="text:N",
            tooltip="text:N",
        )
        .properties(width={"step": CELL_SIZE}, height={"step": CELL_SIZE})
    )
    spec = chart.to_dict(validate=False)
    del spec["data"]
    spec.pop("config", None)
    spec["usermeta"] = {"embedOptions": {"renderer": "svg"}}
    return spec


def map_frame(cells: Sequence[SuccessionCell]) -> pd.DataFrame:
    """Return the data of the map: one row a cell whose share is known."""
    first_labels = distinct_labels([cell.first for cell in cells], NAME_CHARS)
    second_labels = distinct_labels([cell.second for cell in cells], NAME_CHARS)
    first_ranks = {value: rank for rank, value in enumerate(first_labels)}
    second_ranks = {value: rank for rank, value in enumerate(second_labels)}
    return pd.DataFrame(
        [
            {
                "first": first_labels[cell.first],
                "first_rank": first_ranks[cell.first],
                "second": second_labels[cell.second],
                "second_rank": second_ranks[cell.second],
                "share": cell.interval.estimate,
                "text": f"{_arrow_text(cell)}: {cell.range_text}",
                "weak": cell.is_weak,
            }
            for cell in cells
            if cell.interval.estimate is not None
        ]
    )


def numbers_frame(cells: Sequence[SuccessionCell]) -> pd.DataFrame:
    """Return the shares of the cells and their intervals, in percent, as a table."""
    return pd.DataFrame(
        [
            {
                "first": printable_text(cell.first),
                "then": printable_text(cell.second),
                "% of people": _percent(cell.interval.estimate),
                "from": _percent(cell.interval.low),
                "to": _percent(cell.interval.high),
            }
            for cell in cells
        ]
    )


def map_sentence(cells: Sequence[SuccessionCell]) -> str:
    """Return what the map shows in one sentence: the pair that is most frequent."""
    known = [cell for cell in cells if cell.interval.estimate is not None]
    if not known:
        return "The release does not say what follows what."
    top = max(known, key=lambda cell: cell.interval.estimate or 0)
    return f"Most often {_arrow_text(top)}: {top.range_text}."


def _arrow_text(cell: SuccessionCell) -> str:
    return f"{printable_text(cell.first, 40)} → {printable_text(cell.second, 40)}"


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 2)
