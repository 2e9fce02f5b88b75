"""All columns at once, and a group by a click on their bars: real beside synthetic, or released."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import Domain, InputError
from dpcore.accuracy.column_views import GroupView, view_group
from dpcore.accuracy.intervals.group_intervals import Group
from dpcore.core.types import by_name
from dpcore.evaluation.group_counts import count_group
from dpcore.models.releases import Release, UnbiasedAnswers
from dpcore.schema.domain import Countable

from ..charts import column_panels
from ..components import draw_downloadable_chart, draw_heading, inline_container
from ..session import escape_markdown, printable_text, session

MAX_LISTED_VALUES = 3  # of a column, in the name of a group
HINT_TEXT = "Click bars to see a group; click again to leave it."
ERROR_NOTE = "After a name: {} in a wrong cell, {}. Whiskers: 95% intervals."
FREE_TEXT = "It uses no budget: everything here comes from what was released."


@by_name
class PanelSource:
    """What the panels show: a release of `n` rows, and the real rows where they may be seen.

    `key` names the widgets; `with_sidebar` says whether the page has one. The release was made
    with the budget `epsilon`.
    """

    key: str
    domain: Domain
    release: Release
    unbiased_answers: UnbiasedAnswers | None
    n: int
    unit: str
    rows: Countable | None
    with_sidebar: bool
    epsilon: float


def draw_panels(source: PanelSource) -> None:
    """Draw the panels of all columns for the group that is clicked, and what they say."""
    version_key = f"{source.key}-version"
    version = st.session_state.setdefault(version_key, 0)
    chart_key = f"{source.key}-{version}"
    group = clicked_group(st.session_state.get(chart_key), source.domain)
    all_rows = _view_of_all_rows(source)
    view = all_rows
    if group:
        try:
            view = _view(source, group)
        except InputError as error:
            st.caption(escape_markdown(error, 400))
    order = [column.axis for column in all_rows.views]  # so that no panel moves at a click
    views = sorted(view.views, key=lambda column: order.index(column.axis))
    summary = finding(source, view)
    draw_heading(escape_markdown(summary, 400))
    with inline_container(key=f"{source.key}-line"):
        note = ERROR_NOTE.format(source.unit, "predicted" if source.rows is None else "measured")
        st.caption(f"{HINT_TEXT} {note}" + (f" {FREE_TEXT}" if source.rows is None else ""))
        if view.group:
            st.button(
                f"All {source.unit}",
                icon=":material/close:",
                type="tertiary",
                key=f"{source.key}-clear",
                on_click=_use_new_chart,
                args=(version_key,),
            )
        with st.popover("Show as table", type="tertiary", icon=":material/table:"):
            draw_downloadable_chart(
                numbers_table(source, view),
                source.key,
                summary,
                chart_key=chart_key,
                epsilon=source.epsilon,
            )
    first = 0
    if len(views) > column_panels.MAX_PANELS:
        first = _choose_first_panel(source.key, len(views))
    visible_views = views[first : first + column_panels.MAX_PANELS]
    st.vega_lite_chart(
        column_panels.panels_frame(view, visible_views, source.domain, source.n, source.unit),
        column_panels.panels_spec(
            with_real=source.rows is not None, with_sidebar=source.with_sidebar
        ),
        key=chart_key,
        on_select="rerun",
        selection_mode=column_panels.PICK,
        alt=summary,
    )


def _view_of_all_rows(source: PanelSource) -> GroupView:
    """Return what all columns show of all rows, which is read once for a release and rows."""
    return session().memoize(
        f"{source.key}-all", (source.release, source.rows), lambda: _view(source, {})
    )


def _view(source: PanelSource, group: Group) -> GroupView:
    """Return what all columns show of a group."""
    real = None
    if source.rows is not None:
        real = count_group(source.rows, source.domain, group)
    return view_group(
        source.release,
        source.domain,
        group,
        real=real,
        unbiased_answers=source.unbiased_answers,
    )


def _use_new_chart(version_key: str) -> None:
    """Replace the chart by one in which nothing is clicked: only the browser can clear a click."""
    st.session_state[version_key] += 1


def _choose_first_panel(key: str, count: int) -> int:
    """Draw the choice of a screen of columns, and return the first column on it."""
    starts = list(range(0, count, column_panels.MAX_PANELS))
    start = st.segmented_control(
        "Columns, worst first",
        starts,
        default=0,
        required=True,
        format_func=lambda at: f"{at + 1}–{min(at + column_panels.MAX_PANELS, count)} of {count}",
        key=f"{key}-screen",
        persist_state="session",
    )
    return start or 0


def clicked_group(event: Mapping[str, Any] | None, domain: Domain) -> Group:
    """Return the group that clicks on bars make: any of a column's values, and all columns.

    Clicks that name no value of the domain are left out: a browser may send anything.
    """
    if not event:
        return {}
    clicks = event.get("selection", {}).get(column_panels.PICK, [])
    group: dict[int, tuple[int, ...]] = {}
    for click in clicks:
        axis_text, _, code_text = str(click.get(column_panels.CELL_FIELD, "")).partition(":")
        if not axis_text.isdecimal() or not code_text.isdecimal():
            continue
        axis = int(axis_text)
        code = int(code_text)
        if axis < len(domain.shape) and code < domain.shape[axis]:
            group[axis] = tuple(sorted({*group.get(axis, ()), code}))
    return group


def group_name(group: Group, domain: Domain) -> str:
    """Return a group in words: `sex = Female and age = 17–24 or 25–34`."""
    return " and ".join(
        f"{printable_text(domain.names[axis])} = {_values_text(domain.columns[axis].labels, codes)}"
        for axis, codes in sorted(group.items())
    )


def _values_text(labels: Sequence[str], codes: Sequence[int]) -> str:
    texts = [printable_text(labels[code]) for code in codes[:MAX_LISTED_VALUES]]
    more_count = len(codes) - len(texts)
    return " or ".join(texts) + (f" or {more_count} more" if more_count else "")


def finding(source: PanelSource, view: GroupView) -> str:
    """Return what the panels say: of all rows the worst column, of a group its size and error."""
    is_measured = source.rows is not None
    error_kind = "" if is_measured else " (predicted)"
    if not view.group:
        worst = view.views[0]
        name = printable_text(source.domain.names[worst.axis])
        if worst.misplaced is None:
            return f"All {len(view.views)} columns"
        share = column_panels.format_share(worst.misplaced)
        return f"Worst of {len(view.views)} columns: {name}, {share} in a wrong cell{error_kind}"
    size = view.released_size if view.real_size is None else view.real_size
    text = f"{group_name(view.group, source.domain)}: {source.n * size:,.0f} {source.unit}"
    bounds = view.size_bounds
    if bounds is not None and not is_measured and not math.isnan(bounds.low[0]):
        text += f" ({source.n * bounds.low[0]:,.0f} to {source.n * bounds.high[0]:,.0f})"
    if view.misplaced is not None:
        share = column_panels.format_share(view.misplaced)
        text += f", {share} in a wrong cell{error_kind}"
    return text


def numbers_table(source: PanelSource, view: GroupView) -> pd.DataFrame:
    """Return every number of the panels, one row a value, for a table and its download."""
    rows = []
    for column in view.views:
        labels = source.domain.columns[column.axis].labels
        for code, label in enumerate(labels):
            row = {"column": source.domain.names[column.axis], "value": label}
            if column.real is not None:
                row["real"] = source.n * column.real[code]
            row["synthetic"] = source.n * column.released[code]
            if column.bounds is not None:
                row["from"] = source.n * column.bounds.low[code]
                row["to"] = source.n * column.bounds.high[code]
            rows.append(row)
    return pd.DataFrame(rows).round(1)
