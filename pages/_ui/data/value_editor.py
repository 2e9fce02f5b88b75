"""Editor below the grid for one column's values: those that are the same, and codes for missing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from dpcore import InputError
from dpcore.core.job import StatusCallback
from dpcore.schema.cell_text import canonical_text_of_value
from dpcore.schema.column_readings import ANY_CASE, AS_WRITTEN
from dpcore.schema.editing import code_values, merged_values
from dpcore.schema.editing.code_values import Code
from dpcore.schema.partial_schema import is_private_entry

from ..components import inline_container
from ..jobs.table_changes import start_schema_change, store_schema_problem
from ..session import (
    Table,
    escape_markdown,
    is_stakeholder_view,
    join_first_printable_texts,
    printable_text,
    whole_table,
)
from ..session.table import INFERRED_FROM_DATA, USER_INPUT
from . import grid_edits

EDITOR_KEY = "_edited-values"  # the column whose values are edited, and its table's identity
MAX_LINE_CHARS = 200
MAX_GROUPS_SHOWN = 8  # suggestions at once
NEW_CODE_KEY = "new-code-"
CodeChange = Callable[..., dict[str, Any]]  # of the entry of a code's column


def can_edit_values(entry: object) -> bool:
    """Return whether a used column has values that can be merged, or codes beside them."""
    if not isinstance(entry, dict) or is_private_entry(entry):
        return False
    if entry.get("kind") == "categorical":
        is_as_written = entry.get("read", AS_WRITTEN) in (AS_WRITTEN, ANY_CASE)
        return is_as_written and isinstance(entry.get("values"), list)
    return " of " not in str(entry.get("read", "")) and "kind" in entry


def value_notes(current: Table, name: str) -> list[str]:
    """Return what was merged in a column, what may be, and its codes with values of their own."""
    entry = current.entries.get(name)
    if not isinstance(entry, dict) or is_private_entry(entry):
        return []
    notes = [
        f"{join_first_printable_texts(texts, 30)} counted as {printable_text(value, 20)}"
        for value, texts in merged_values.merged_texts(entry).items()
    ]
    own_codes = code_values.own_codes_of(entry, current.codes_of(name))
    if own_codes:
        noun = "a value of its own" if len(own_codes) == 1 else "values of their own"
        notes.append(f"{join_first_printable_texts([*map(_code_text, own_codes)])} {noun}")
    notes += [
        f"{join_first_printable_texts(texts, 30)} may be {printable_text(value, 20)}"
        for value, texts in current.suggested_merges(name).items()
    ]
    return notes


def open_editor(name: str) -> None:
    """Open the editor for a column; what a click in its row calls."""
    st.session_state[EDITOR_KEY] = whole_table().identity, name


def draw_editor_choice(current: Table) -> None:
    """Draw a drop-down of the columns whose values can be edited, where no row can be clicked."""
    names = [name for name, entry in current.entries.items() if can_edit_values(entry)]
    if not names or is_stakeholder_view():
        return
    key = f"edited-column-{current.identity}"
    st.selectbox(
        "Edit the values of",
        names,
        None,
        key=key,
        format_func=printable_text,
        placeholder="Choose a column",
        on_change=_open_chosen,
        args=(key,),
    )


def _open_chosen(key: str) -> None:
    name = st.session_state[key]
    if name is None:
        _close_editor()
    else:
        open_editor(name)


def draw_value_editor(current: Table) -> None:
    """Draw the editor of the column that was clicked; nothing where none was."""
    identity, name = st.session_state.get(EDITOR_KEY, ("", ""))
    entry = current.entries.get(name)
    if identity != current.identity or is_stakeholder_view() or not isinstance(entry, dict):
        return
    if not can_edit_values(entry):
        return
    with st.container(border=True, key="value-editor"):
        with inline_container(key="value-editor-head"):
            st.markdown(f"**Values of {escape_markdown(printable_text(name))}**", width="stretch")
            st.button("Close", key="close-values", type="tertiary", on_click=_close_editor)
        if entry.get("kind") == "categorical":
            _draw_merges(current, name, entry)
        _draw_codes(current, name, entry)


def _close_editor() -> None:
    st.session_state.pop(EDITOR_KEY, None)


def _draw_merges(current: Table, name: str, entry: dict[str, Any]) -> None:
    """Draw the values that are the same, those that may be, and a choice of others."""
    for position, (value, texts) in enumerate(merged_values.merged_texts(entry).items()):
        _draw_line(
            value,
            {"Take apart": (_split, (name, value))},
            f"apart-{position}",
            before=f"{join_first_printable_texts(texts, 60)} counted as",
        )
    suggestions = [*current.suggested_merges(name).items()]
    for position, (value, texts) in enumerate(suggestions[:MAX_GROUPS_SHOWN]):
        _draw_line(
            value,
            {"Count as one": (_merge, (name, value, tuple(texts)))},
            f"merge-{position}",
            before=f"{join_first_printable_texts(texts, 60)} may be the same as",
        )
    if len(suggestions) > MAX_GROUPS_SHOWN:
        st.caption(f"{len(suggestions) - MAX_GROUPS_SHOWN} more after these.")
    _draw_own_merge(name, entry)


def _draw_line(
    value: str,
    actions: dict[str, tuple[Callable[..., None], tuple[Any, ...]]],
    key: str,
    *,
    before: str = "",
    after: str = "",
) -> None:
    """Draw a sentence about a value, which stands bold in it, and a button for each action."""
    sentence = (
        f"{escape_markdown(before, MAX_LINE_CHARS)} **{escape_markdown(value)}** "
        f"{escape_markdown(after, MAX_LINE_CHARS)}"
    )
    with inline_container(key=f"value-line-{key}"):
        st.markdown(sentence.strip(), width="content")
        for label, (on_click, args) in actions.items():
            st.button(label, key=f"{key}-{label}", on_click=on_click, args=args)


def _draw_own_merge(name: str, entry: dict[str, Any]) -> None:
    """Draw drop-downs by which a person merges any values of the column."""
    values = [*map(canonical_text_of_value, entry["values"])]
    if len(values) < 2:
        return
    key = f"{name}-{hash(tuple(values))}"  # other values, other lists
    with st.container(horizontal=True, vertical_alignment="bottom", key="own-merge"):
        texts = st.multiselect(
            "Values that are the same",
            values,
            key=f"merged-{key}",
            format_func=printable_text,
            persist_state="session",
            width=380,
        )
        value = st.selectbox(
            "Count them as",
            texts or values[:1],
            key=f"merged-name-{key}-{hash(tuple(texts))}",
            format_func=printable_text,
            persist_state="session",
            disabled=len(texts) < 2,
            width=220,
        )
        st.button(
            "Count as one",
            key="own-merge-button",
            disabled=len(texts) < 2,
            on_click=_merge,
            args=(name, value, tuple(texts)),
        )


def _draw_codes(current: Table, name: str, entry: dict[str, Any]) -> None:
    """Draw the codes of a column and what each counts as, and a field to add one."""
    missing = code_values.missing_codes_of(entry)
    candidates = current.codes_of(name)
    own_codes = code_values.own_codes_of(entry, candidates)
    for position, code in enumerate(candidates):
        if code in missing:
            state = "counts as missing"
        elif code in own_codes:
            state = "is a value of its own"
        elif entry.get("kind") == "categorical":
            continue
        else:
            state = "is a number like the others"
        changes = _code_changes(entry, code, is_missing=code in missing, is_own=code in own_codes)
        actions = {label: (_change_code, (name, code, change)) for label, change in changes.items()}
        _draw_line(_code_text(code), actions, f"code-{position}", after=state)
    with st.container(horizontal=True, vertical_alignment="bottom", key="code-field"):
        key = NEW_CODE_KEY + name
        st.text_input(
            "Another value that means missing",
            key=key,
            placeholder="such as -9 or refused",
            max_chars=60,
            persist_state="session",
            width=280,
        )
        st.button("Count as missing", key="add-code", on_click=_add_code, args=(name, key))


def _code_changes(
    entry: dict[str, Any], code: Code, *, is_missing: bool, is_own: bool
) -> dict[str, CodeChange]:
    """Return what else a code can count as, by the label of the button that does it."""
    is_category = entry.get("kind") == "categorical"
    can_have_bin = code_values.has_range(entry) and not isinstance(code, str)
    changes: dict[str, CodeChange] = {}
    if not is_missing:
        changes["Count as missing"] = code_values.count_as_missing
    elif is_category or can_have_bin:
        changes["Make it a value of its own"] = code_values.give_own_value
    if not is_category and (is_missing or is_own):
        changes["No code: a number like the others"] = code_values.drop_code
    return changes


def _code_text(code: Code) -> str:
    return code if isinstance(code, str) else f"{code:g}"


def _merge(name: str, value: str, texts: tuple[str, ...]) -> None:
    """Start reading these texts of a column as one value."""
    start_schema_change(partial(_apply_merge, name, value, texts))
    grid_edits.renew_grid([name])


def _apply_merge(
    name: str, value: str, texts: tuple[str, ...], target: Table, progress: StatusCallback
) -> None:
    entry = target.entries[name]
    old_values = {canonical_text_of_value(v) for v in entry.get("values") or ()}
    origin = USER_INPUT if old_values.issuperset([value, *texts]) else INFERRED_FROM_DATA
    changed = merged_values.merge_values(entry, value, texts)
    target.update_entries({name: changed}, origin, progress)


def _split(name: str, value: str) -> None:
    """Start taking a column's merged values apart."""

    def change(target: Table, progress: StatusCallback) -> None:
        changed = merged_values.split_value(target.entries[name], value)
        target.update_entries({name: changed}, progress=progress)

    start_schema_change(change)
    grid_edits.renew_grid([name])


def _change_code(name: str, code: Code, change: CodeChange) -> None:
    """Start changing what a code of a column counts as."""
    start_schema_change(lambda target, progress: target.change_code(name, code, change, progress))
    grid_edits.renew_grid([name])


def _add_code(name: str, key: str) -> None:
    """Count the value in a text field as missing."""
    current = whole_table()
    try:
        code = code_values.parse_code(current.entries[name], st.session_state.get(key) or "")
    except InputError as error:
        store_schema_problem(current, str(error))
        return
    st.session_state[key] = ""
    _change_code(name, code, code_values.count_as_missing)
