"""Draw a release's columns as one small picture (SVG) for a card, from released numbers alone."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from ...accuracy.column_views import ColumnView, GroupView
from ...schema.domain import Domain

MAX_PICTURES = 12  # on a card
PICTURES_ACROSS = 3
MAX_BARS = 24
WIDTH = 220  # of one picture, with the space around it
HEIGHT = 104
BAR_WIDTH = 200  # of all bars together
BAR_HEIGHT = 56
BAR_TOP = 24
NAME_CHARS = 22
LABEL_CHARS = 12
BAR_COLOUR = "#d55e00"
WHISKER_COLOUR = "#1b1b1b"

# Names and values stand between tags, never within one: verify.py reads tags for what acts.
_BAR = Markup(
    '<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" '
    'role="img"><title>{text}</title></rect>'
)
_WHISKER = Markup(
    '<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}"/>'
)
_TEXT = Markup(
    '<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{text}</text>'
)


def draw_column_pictures(view: GroupView, domain: Domain, n: int, unit: str) -> Markup:
    """Return the first columns of a view, each as bars of synthetic rows with their intervals.

    Args:
        view: All rows of a release, its columns in the order of the pictures.
        domain: Names columns and values.
        n: The number of rows of the table.
        unit: What is counted.

    """
    columns = view.views[:MAX_PICTURES]
    lines = math.ceil(len(columns) / PICTURES_ACROSS)
    titles = _distinct_titles([domain.names[column.axis] for column in columns])
    pictures = Markup("").join(
        _picture(
            column,
            domain,
            n,
            unit,
            title=titles[i],
            x=i % PICTURES_ACROSS * WIDTH,
            y=i // PICTURES_ACROSS * HEIGHT,
        )
        for i, column in enumerate(columns)
    )
    return Markup(
        '<svg viewBox="0 0 {width} {height}" role="group" aria-label="{label}">{pictures}</svg>'
    ).format(
        width=PICTURES_ACROSS * WIDTH,
        height=lines * HEIGHT,
        label=f"{len(columns)} of {len(view.views)} columns: synthetic {unit} with each value",
        pictures=pictures,
    )


def _distinct_titles(names: Sequence[str]) -> list[str]:
    """Return short names; those that would look alike are numbered."""
    short_names = [_leave_middle_out(name, NAME_CHARS) for name in names]
    titles = list(short_names)
    for i, name in enumerate(names):
        if short_names.count(short_names[i]) > 1:
            titles[i] = f"{_leave_middle_out(name, NAME_CHARS - 5)} ({i + 1})"
    return titles


def _picture(
    column: ColumnView, domain: Domain, n: int, unit: str, *, title: str, x: int, y: int
) -> Markup:
    """Return one column's name, bars, intervals, and the labels of its first and last bar."""
    name = domain.names[column.axis]
    labels = domain.columns[column.axis].labels
    codes = _shown_codes(column)
    highest = _highest_share(column, codes)
    slot = BAR_WIDTH / len(codes)
    parts = [_text(x, y + 15, title, size=14)]
    for at, code in enumerate(codes):
        share = float(column.released[code])
        text = f"{name} {labels[code]}: {n * max(share, 0.0):,.0f} {unit}"
        ends = _interval(column, code)
        if ends is not None:
            text += f" (95%: {n * ends[0]:,.0f} to {n * ends[1]:,.0f})"
        height = BAR_HEIGHT * max(share, 0.0) / highest
        bar_x = x + at * slot + 0.1 * slot
        base = y + BAR_TOP + BAR_HEIGHT
        parts.append(
            _BAR.format(
                x=bar_x,
                y=base - height,
                width=0.8 * slot,
                height=height,
                colour=BAR_COLOUR,
                text=text,
            )
        )
        if ends is not None:
            low, high = (base - BAR_HEIGHT * end / highest for end in ends)
            whisker = _WHISKER.format(
                x=bar_x + 0.4 * slot, low=low, high=high, colour=WHISKER_COLOUR
            )
            parts.append(whisker)
    label_y = y + BAR_TOP + BAR_HEIGHT + 14
    parts.append(_text(x, label_y, _leave_middle_out(labels[codes[0]], LABEL_CHARS)))
    if len(codes) > 1:
        last = _leave_middle_out(labels[codes[-1]], LABEL_CHARS)
        parts.append(_text(x + BAR_WIDTH, label_y, last, anchor="end"))
    return Markup("").join(parts)


def _shown_codes(column: ColumnView) -> list[int]:
    """Return the values that have a bar: those of the most synthetic rows, in their own order."""
    order = sorted(range(len(column.released)), key=lambda code: -column.released[code])
    return sorted(order[:MAX_BARS])


def _interval(column: ColumnView, code: int) -> tuple[float, float] | None:
    """Return the ends of one value's interval; None where nothing bounds it."""
    if column.bounds is None or math.isnan(column.bounds.low[code]):
        return None
    return float(column.bounds.low[code]), float(column.bounds.high[code])


def _highest_share(column: ColumnView, codes: Sequence[int]) -> float:
    """Return the share that reaches the top of the picture."""
    intervals = [_interval(column, code) for code in codes]
    ends = [interval[1] for interval in intervals if interval is not None]
    return max([*ends, *(float(column.released[code]) for code in codes), 1e-9])


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start") -> Markup:
    return _TEXT.format(x=x, y=y, size=size, anchor=anchor, text=text)


def _leave_middle_out(text: str, max_chars: int) -> str:
    """Return a text without its middle where it is long."""
    if len(text) <= max_chars:
        return text
    return f"{text[: max_chars // 2]}…{text[max_chars // 2 + 1 - max_chars :]}"
