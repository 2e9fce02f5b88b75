"""What a release says of two rows of one person: a map of what follows what."""

from collections.abc import Callable, Sequence

import streamlit as st

from dpcore import Domain
from dpcore.accuracy.intervals.question_intervals import Interval
from dpcore.core.types import Json
from dpcore.data.row_pairs import pair_in_domain
from dpcore.queries.questions import Question
from dpcore.queries.succession_questions import single_row_question, succession_question

from ..charts import succession_map
from ..charts.succession_map import SuccessionCell
from ..components import draw_heading
from ..session import escape_markdown

MAX_MAPPED_VALUES = 24  # along a side
WEAK_TEXT = "Pale squares may be 0."
EVERYONE_ONCE_TEXT = "Everyone counts once: the pairs of one person share one vote."

IntervalOfQuestion = Callable[[Question], Interval]


def draw_successions(domain: Domain, protects: Json, interval_of: IntervalOfQuestion) -> None:
    """Draw a map for each column of whose successions a release tells.

    Args:
        domain: Of the release.
        protects: What the release says of whom it protects.
        interval_of: The release's interval of a question.

    """
    for name in protects["successions"]:
        draw_heading(f"{escape_markdown(name, 60)}: what follows what")
        cells = succession_cells(domain, name, interval_of)
        sentence = succession_map.map_sentence(cells)
        st.markdown(escape_markdown(sentence, 300))
        frame = succession_map.map_frame(cells)
        if len(frame):
            st.vega_lite_chart(
                frame,
                succession_map.map_spec(),
                width="content",
                key=f"follows-{name}",
                alt=sentence,
            )
        single_text = single_row_text(domain, name, interval_of)
        caption = f"{order_text(protects)} {EVERYONE_ONCE_TEXT} {single_text} {WEAK_TEXT}"
        st.caption(caption + _left_out_text(domain, name))
        with st.popover("Show as table", type="tertiary", icon=":material/table:"):
            st.dataframe(succession_map.numbers_frame(cells), hide_index=True)


def succession_cells(
    domain: Domain, name: str, interval_of: IntervalOfQuestion
) -> Sequence[SuccessionCell]:
    """Return the cells of a column's map: of people with two rows, and of its first values."""
    first, second = (domain.column(pair_name) for pair_name in pair_in_domain(domain, name))
    labels = first.labels[:MAX_MAPPED_VALUES]
    cells = list[SuccessionCell]()
    for i, first_label in enumerate(labels):
        for second_label in labels:
            j = second.labels.index(second_label)
            interval = interval_of(succession_question(domain, first, i, second, j))
            cells.append(SuccessionCell(first_label, second_label, interval))
    return cells


def single_row_text(domain: Domain, name: str, interval_of: IntervalOfQuestion) -> str:
    """Return a sentence on how many people have only one row."""
    interval = interval_of(single_row_question(domain, name))
    cell = SuccessionCell("", "", interval)
    return f"With only one row: {cell.range_text}."


def order_text(protects: Json) -> str:
    """Return a sentence on which rows of a person are a pair."""
    time_column = protects.get("time_column")
    if time_column is None:
        return "Pairs are any two rows of a person, in both orders."
    return f"Each row is followed by the person's next, by {escape_markdown(time_column, 60)}."


def _left_out_text(domain: Domain, name: str) -> str:
    first, _ = pair_in_domain(domain, name)
    size = domain.column(first).size
    if size <= MAX_MAPPED_VALUES:
        return ""
    return f" Shown are the first {MAX_MAPPED_VALUES} of {size} values; questions reach all."
