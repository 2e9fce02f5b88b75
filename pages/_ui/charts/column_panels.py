"""Small multiples of all columns: one panel a column, worst first, as one Vega-Lite chart.

The specification knows no table: names and values of a table travel as data, never as names of
fields or as expressions, so that they are shown and not interpreted. Altair writes it once; later
only data are sent.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dpcore import Domain
from dpcore.accuracy.column_views import ColumnView, GroupView
from dpcore.core.numbers import format_percentage_points

from ..session import distinct_labels, printable_text

PICK = "pick"  # the selection of values by click
CELL_FIELD = "cell"  # which a click returns: a column's number and a value's
MAX_PANELS = 30  # on one screen
MAX_PANEL_VALUES = 24  # values that a panel shows one by one
OTHERS_CODE = -1  # of all values that a panel does not show one by one
PANEL_WIDTH = 128
PANEL_HEIGHT = 50
PANEL_STEP = 173  # pixels from one panel to the next, with its axis
PAGE_MARGIN = 44  # pixels that no panel may take
SIDEBAR_WIDTH = 330  # pixels that a sidebar takes where there is one
NARROW_SCREEN = 900  # pixels up to which a sidebar takes no room
LABEL_CHARS = 9
LETTER_WIDTH = 7
NAME_CHARS = 15
SERIES = ("real", "synthetic")
WHISKER_COLOUR = "#7A7A7A"  # seen on light and dark
FADED_OPACITY = 0.3
# an axis's numbers with what is left out of their zeros: 2,000 is 2k
AXIS_NUMBERS = (
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + 'M' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + 'k' : format(datum.value, '~g')"
)


@cache
def panels_spec(*, with_real: bool, with_sidebar: bool) -> dict[str, Any]:
    """Return the Vega-Lite specification of the panels, without data.

    Args:
        with_real: Whether real bars stand beside the synthetic ones, which a legend then names.
        with_sidebar: Whether a sidebar takes room on a wide screen.

    """
    import altair as alt  # takes half a second

    pick = alt.selection_point(name=PICK, fields=[CELL_FIELD], toggle="true", empty=False)
    across = alt.X("left:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    upward = alt.Axis(
        title=None, tickCount=2, labelExpr=AXIS_NUMBERS, labelFontSize=13, domain=False
    )
    legend = None
    if with_real:
        legend = alt.Legend(title=None, orient="top", labelFontSize=13)
    base = alt.Chart(alt.NamedData("cells"))
    bars = base.mark_rect(ariaRoleDescription="bar").encode(
        x=across,
        x2="right:Q",
        y=alt.Y("rows:Q", axis=upward, scale=alt.Scale(zero=True)),
        y2="floor:Q",
        color=alt.Color("series:N", scale=alt.Scale(domain=SERIES), legend=legend),
        opacity=alt.condition("datum.faded", alt.value(FADED_OPACITY), alt.value(1)),
        description="text:N",
    )
    whiskers = (
        base.mark_rule(strokeWidth=2, color=WHISKER_COLOUR, aria=False)
        .encode(x="middle:Q", y="low:Q", y2="high:Q")
        .transform_filter("isValid(datum.low)")
    )
    labels = (
        base.mark_text(baseline="top", dy=4, fontSize=13, color="currentColor", aria=False)
        .encode(x="slot:Q", y=alt.value(PANEL_HEIGHT), text="label:N")
        .transform_filter("datum.label")
    )
    targets = (
        base.mark_rect(opacity=0, cursor="pointer", aria=False)
        .encode(x="slot_left:Q", x2="slot_right:Q", tooltip="both:N")
        .transform_filter("datum.last")
        .add_params(pick)
    )
    header = alt.Header(title=None, labelFontSize=13, labelLimit=PANEL_STEP - 12, labelPadding=2)
    panel = alt.Facet("panel:N", sort=alt.EncodingSortField(field="rank", op="min"), header=header)
    chart = (
        alt.layer(bars, whiskers, labels, targets)
        .properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
        .facet(facet=panel, columns=6, spacing={"row": 24, "column": 8})
        .resolve_scale(y="independent")
    )
    return data_free_spec(chart, _columns_signal(with_sidebar=with_sidebar))


def data_free_spec(chart: Any, columns_signal: str) -> dict[str, Any]:
    """Return an Altair chart of facets as Vega-Lite without its data and theme, drawn as SVG.

    `columns_signal` is an expression of how many facets stand beside each other.
    """
    spec = chart.to_dict(validate=False)
    del spec["data"]
    spec.pop("config", None)
    spec["usermeta"] = {"embedOptions": {"renderer": "svg"}}
    spec["columns"] = {"signal": columns_signal}
    return spec


def _columns_signal(*, with_sidebar: bool) -> str:
    """Return how many panels stand beside each other, as an expression of the window's width."""
    sidebar = f"(windowSize()[0] > {NARROW_SCREEN} ? {SIDEBAR_WIDTH} : 0)" if with_sidebar else "0"
    return f"max(1, floor((windowSize()[0] - {PAGE_MARGIN} - {sidebar}) / {PANEL_STEP}))"


def panels_frame(
    view: GroupView, views: Sequence[ColumnView], domain: Domain, n: int, unit: str
) -> pd.DataFrame:
    """Return the data of the panels: one row a bar.

    Args:
        view: The group that is shown.
        views: Those of its columns that are drawn, in order.
        domain: Names columns and values.
        n: The number of rows of the whole table.
        unit: What is counted.

    """
    names = distinct_labels([domain.names[v.axis] for v in views], NAME_CHARS)
    rows = []
    for rank, column in enumerate(views):
        chosen = view.group.get(column.axis)
        rows += _panel_rows(column, rank, names, domain, n, unit, chosen)
    return pd.DataFrame(rows)


def _panel_rows(
    column: ColumnView,
    rank: int,
    names: Mapping[str, str],
    domain: Domain,
    n: int,
    unit: str,
    chosen: Sequence[int] | None,
) -> list[dict[str, Any]]:
    """Return the bars of one column's panel, from left to right."""
    name = domain.names[column.axis]
    cells = _shown_values(column, domain)
    labels = _fitting_labels([label for _, label, _ in cells])
    title = names[name]
    if column.misplaced is not None:
        title += f" · {format_share(column.misplaced)}"
    rows = []
    for at, (code, value, codes) in enumerate(cells):
        shares = {"synthetic": float(column.released[codes].sum())}
        if column.real is not None:
            shares = {"real": float(column.real[codes].sum())} | shares
        low, high = _interval(column, codes)
        slot = 1 / len(cells)
        bar = 0.84 * slot / len(shares)
        texts = {
            series: _bar_text(n * share, n * low, n * high, unit, series)
            for series, share in shares.items()
        }
        label = f"{printable_text(name)} {printable_text(value)}"
        for i, (series, share) in enumerate(shares.items()):
            bar_start = at * slot + 0.08 * slot + i * bar
            is_released = series == "synthetic"
            rows.append(
                {
                    "panel": title,
                    "rank": rank,
                    "left": bar_start,
                    "right": bar_start + bar,
                    "middle": bar_start + bar / 2,
                    "slot": (at + 0.5) * slot,
                    "slot_left": at * slot,
                    "slot_right": (at + 1) * slot,
                    "series": series,
                    "rows": n * share,
                    "floor": 0.0,
                    "low": n * low if is_released else np.nan,
                    "high": n * high if is_released else np.nan,
                    CELL_FIELD: f"{column.axis}:{code}",
                    "text": f"{label}: {texts[series]}",
                    "both": f"{label}: {'; '.join(texts.values())}",
                    "label": labels[at] if is_released else "",
                    "faded": chosen is not None and code not in chosen,
                    "last": is_released,
                }
            )
    return rows


def _shown_values(column: ColumnView, domain: Domain) -> list[tuple[int, str, list[int]]]:
    """Return the code, label and codes of each bar: the largest values, and the others together."""
    labels = domain.columns[column.axis].labels
    count = len(labels)
    if count <= MAX_PANEL_VALUES:
        return [(code, labels[code], [code]) for code in range(count)]
    order = np.argsort(-column.released, kind="stable")
    largest = sorted(int(code) for code in order[: MAX_PANEL_VALUES - 1])
    others = sorted(int(code) for code in order[MAX_PANEL_VALUES - 1 :])
    bars = [(code, labels[code], [code]) for code in largest]
    return [*bars, (OTHERS_CODE, f"{len(others)} others", others)]


def _interval(column: ColumnView, codes: Sequence[int]) -> tuple[float, float]:
    """Return the interval of one value's share; NaN for several together, and where unknown."""
    if column.bounds is None or len(codes) > 1:
        return math.nan, math.nan
    return float(column.bounds.low[codes[0]]), float(column.bounds.high[codes[0]])


def _fitting_labels(values: Sequence[str]) -> list[str]:
    """Return what is written below each bar: nothing where it would meet its neighbour."""
    labels = [printable_text(value, LABEL_CHARS) for value in values]
    widest = max(map(len, labels)) * LETTER_WIDTH + LETTER_WIDTH
    step = max(math.ceil(widest * len(labels) / PANEL_WIDTH), 1)
    return [label if at % step == 0 else "" for at, label in enumerate(labels)]


def _bar_text(rows: float, low: float, high: float, unit: str, series: str) -> str:
    """Return what a bar says: its rows, and the interval of a synthetic one."""
    text = f"{series} {rows:,.0f} {unit}"
    if series == "synthetic" and not math.isnan(low):
        text += f" (95%: {low:,.0f} to {high:,.0f})"
    return text


def format_share(share: float) -> str:
    """Return a share of rows in a wrong cell in percent, to two significant digits."""
    return f"{format_percentage_points(share)}%"
