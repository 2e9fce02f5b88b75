"""How the file in use was read: what was assumed of it, each settled by one click."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
import streamlit as st

from dpcore.core.job import StatusCallback
from dpcore.core.types import Json, Texts
from dpcore.data.table_shape import Doubt
from dpcore.schema.text_format import (
    DELIMITER_NAMES,
    ENCODING_NAMES,
    FIRST_LINE,
    NO_HEADER,
    SPACES_BETWEEN_COLUMNS,
)

from ..components import inline_container
from ..jobs.table_changes import UPLOAD_PROBLEM_KEY, start_schema_change
from ..session import (
    Table,
    capitalize_first,
    escape_markdown,
    printable_text,
    session,
    whole_table,
)
from . import server_tables
from .file_reading import start_reading_upload

FILE_GONE_TEXT = "The file is no longer at hand. Choose it again."
MAX_DOUBT_CHARS = 400
MAX_DOUBTS_SHOWN = 3  # questions at once
BARS_KEY = "first-values"  # of the switch by which a person says not to look at the table
FIRST_LINES_HEIGHT = 212  # pixels
LAST_LINES_HEIGHT = 142
MAX_LAST_LINES = 4  # that are seen without scrolling
LINE_BREAK_TEXTS = {False: "Read each line as a row", True: "Allow line breaks inside values"}
FORMAT_CHOICES = (
    ("encoding", "Read as {}", ENCODING_NAMES),
    ("delimiter", "Separate by {}", DELIMITER_NAMES),
    ("line_breaks", "{}", LINE_BREAK_TEXTS),
)
READ_AS = "read as"  # the column of the preview that says what each line was taken for
NAMES_LINE = "names"
ROW_LINE = "row"
LEFT_OUT_LINE = "left out"


def open_doubts(current: Table) -> list[Doubt]:
    """Return the doubts that could be answered otherwise, and that a person has not settled."""
    return [
        doubt
        for doubt in current.doubts
        if doubt.statement and not set(doubt.statement) & set(current.stated_format)
    ]


def draw_reading_doubts(current: Table) -> None:
    """Draw what was assumed of the file's shape, with one click to confirm or change each.

    Beside it are the file's first lines as they were read, and those left out at its end.
    """
    doubts = open_doubts(current)
    if not doubts:
        return
    with st.container(border=True, key="reading-doubts"):
        questions, preview = st.columns(2, gap="medium")
        with preview:
            shows_lines = _draw_first_lines(current)
        with questions:
            noun = "question" if len(doubts) == 1 else "questions"
            st.markdown(f"**{len(doubts)} {noun} about the file**")
            for doubt in doubts[:MAX_DOUBTS_SHOWN]:
                _draw_doubt(doubt)
                if shows_lines and "skip_end" in doubt.statement:
                    _draw_last_lines(current)
            if len(doubts) > MAX_DOUBTS_SHOWN:
                st.caption(f"{len(doubts) - MAX_DOUBTS_SHOWN} more after these.")


def _draw_first_lines(current: Table) -> bool:
    """Draw the file's first lines as they were read; return whether they are unfolded.

    They are folded for a person who does not look at the table.
    """
    if not current.first_lines:
        return False
    is_looked_at = bool(st.session_state.get(BARS_KEY, True))
    lines = st.expander(
        "The file's first lines", is_looked_at, key="file-lines", on_change="rerun", type="compact"
    )
    if not lines.open:
        return False
    session().mark_viewed(current)
    first_lines = _lines_frame(current.first_lines)
    first_lines.insert(0, READ_AS, _line_kinds(current))
    first_lines.index = pd.RangeIndex(1, len(first_lines) + 1, name="line")
    lines.dataframe(
        first_lines, height=FIRST_LINES_HEIGHT, alt="The file's first lines as they were read."
    )
    return True


def _draw_last_lines(current: Table) -> None:
    """Draw the lines left out at the file's end."""
    st.dataframe(
        _lines_frame(current.last_lines),
        hide_index=True,
        height="content" if len(current.last_lines) < MAX_LAST_LINES else LAST_LINES_HEIGHT,
        alt="The lines left out at the file's end.",
    )


def _draw_doubt(doubt: Doubt) -> None:
    """Draw one assumption in a sentence, with a button that confirms it and one that does not."""
    text = escape_markdown(doubt.text, MAX_DOUBT_CHARS)
    st.markdown(f"{capitalize_first(text)}.")
    with inline_container(key=f"doubt-{doubt.kind}"):
        st.button("Yes, right", key=f"right-{doubt.kind}", on_click=_confirm_doubt, args=(doubt,))
        st.button(
            reading_text(doubt.statement),
            key=f"other-{doubt.kind}",
            on_click=_read_again,
            args=(doubt.statement,),
        )


def _confirm_doubt(doubt: Doubt) -> None:
    start_schema_change(partial(_state_as_read, doubt))


def _state_as_read(doubt: Doubt, target: Table, _progress: StatusCallback) -> None:
    """State the settings of the file that a doubt is about as they were guessed."""
    names = {*doubt.statement, *({"delimiter"} if doubt.kind == "sep_line" else ())}
    settings = {name: getattr(target.text_format, name) for name in names}
    if not settings.get("delimiter"):  # shown by the header, or spaces
        settings.pop("delimiter", None)
    target.stated_format = {**target.stated_format, **settings}


def _lines_frame(lines: Sequence[Texts]) -> pd.DataFrame:
    """Return lines of a file with a column for each of their values."""
    frame = pd.DataFrame([*lines]).fillna("").map(lambda cell: printable_text(str(cell)))
    return frame.set_axis([str(number) for number in range(1, len(frame.columns) + 1)], axis=1)


def _line_kinds(current: Table) -> list[str]:
    """Return for each of the file's first lines what it was read as."""
    lines = current.first_lines
    header = current.text_format.header
    if header == NO_HEADER:
        return [ROW_LINE for _ in lines]
    if header == FIRST_LINE:
        filled = [number for number, line in enumerate(lines, start=1) if any(map(str.strip, line))]
        header = filled[0] if filled else 1
    last_names_line = int(header)
    first_names_line = last_names_line - current.text_format.header_lines + 1
    kinds = []
    for number in range(1, len(lines) + 1):
        if number < first_names_line:
            kinds.append(LEFT_OUT_LINE)
        elif number <= last_names_line:
            kinds.append(NAMES_LINE)
        else:
            kinds.append(ROW_LINE)
    return kinds


def draw_format_choices(current: Table) -> None:
    """Draw buttons that read a text file again in another format, one click each."""
    st.caption("One click reads the file again.")
    with st.container(horizontal=True):
        for name, label, text_by_value in FORMAT_CHOICES:
            for value in (
                value for value in text_by_value if value != getattr(current.text_format, name)
            ):
                button_text = label.format(text_by_value[value])
                st.button(
                    button_text,
                    key=f"again-{button_text}",
                    on_click=_read_again,
                    args=({name: value},),
                )


def reading_text(settings: Json) -> str:
    """Return what a click does that reads a file with these settings, in words."""
    if settings.get("header") == NO_HEADER:
        return "No, line 1 is a row"
    if "header" in settings:
        return f"No, line {settings['header']} holds the names"
    if "skip_end" in settings:
        return "No, leave no line out"
    if "sheet" in settings:
        return f"Take the sheet {escape_markdown(printable_text(settings['sheet']), 60)}"
    if "encoding" in settings:
        return f"Read as {ENCODING_NAMES.get(settings['encoding'], settings['encoding'])}"
    if settings.get("delimiter"):
        return f"Separate by {DELIMITER_NAMES[settings['delimiter']]}"
    return "No, spaces are part of the values"


def _read_again(settings: Json) -> None:
    """Read the file in use once more, with some settings of its format stated otherwise.

    What a person has not stated so far is guessed anew.
    """
    current = whole_table()
    stated = {**current.stated_format, **settings}
    if settings.get("delimiter") and stated.get("spaces") == SPACES_BETWEEN_COLUMNS:
        del stated["spaces"]
    uploaded = st.session_state.get("upload")
    keys = (server_tables.PATH_WIDGET_KEY, server_tables.FILE_WIDGET_KEY)
    matching_keys = [
        key for key in keys if Path(st.session_state.get(key) or "").name == current.name
    ]
    if getattr(uploaded, "name", None) == current.name:
        start_reading_upload(uploaded.name, uploaded, stated)
    elif matching_keys:
        server_tables.start_reading_server_table(matching_keys[0], stated)
    else:
        st.session_state[UPLOAD_PROBLEM_KEY] = FILE_GONE_TEXT
