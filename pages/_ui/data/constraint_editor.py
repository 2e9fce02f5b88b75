"""Editor of the combinations that cannot occur: chosen from lists, each taken away by one click."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpcore import InputError, domain_from_json
from dpcore.core.job import StatusCallback
from dpcore.core.types import Json
from dpcore.schema.column import MISSING_LABEL, Column
from dpcore.schema.editing import constraint_choices
from dpcore.schema.partial_schema import is_private_entry

from ..components import inline_container
from ..jobs.table_changes import start_schema_change
from ..session import Table, capitalize_first, escape_markdown, printable_text, session

NEVER_TOGETHER = "These values never occur together"
ONLY_WITH = "These values occur only with those"
NEVER_FALLS = "These numbers never fall from left to right"
KINDS = (NEVER_TOGETHER, ONLY_WITH, NEVER_FALLS)
CONSTRAINTS_HELP = (
    "What everybody knows cannot be. No synthetic row breaks one. A real row that does is counted "
    "as it is."
)
MAX_WORDS_CHARS = 300
KEY_PREFIX = "combination-"


def draw_constraint_editor(current: Table) -> None:
    """Draw the combinations that cannot occur, and the lists from which one is chosen."""
    st.caption(CONSTRAINTS_HELP)
    for position, constraint in enumerate(current.constraints):
        sentence = capitalize_first(constraint_choices.constraint_in_words(constraint))
        with inline_container(key=f"constraint-{position}"):
            st.markdown(escape_markdown(sentence, MAX_WORDS_CHARS), width="content")
            st.button(
                "Remove",
                key=f"remove-constraint-{position}",
                type="tertiary",
                on_click=_remove_constraint,
                args=(constraint,),
            )
    columns = session().memoize(
        "constraint-columns", current.version, lambda: _choosable_columns(current)
    )
    if len(columns) < 2:
        st.caption("Combinations can be chosen once two columns are ready.")
        return
    kind = st.selectbox(
        "Kind of combination", KINDS, key=f"{KEY_PREFIX}kind", persist_state="session", width=440
    )
    if kind == NEVER_FALLS:
        _draw_order_choice(columns)
    else:
        _draw_value_choice(columns, kind)


def _choosable_columns(current: Table) -> list[Column]:
    """Return the columns that are ready and whose values a list can hold."""
    entries = current.entries
    names = [name for name in current.valid_column_names if not is_private_entry(entries[name])]
    try:
        domain = domain_from_json({"columns": {name: entries[name] for name in names}})
    except InputError:
        return []
    return [c for c in domain.columns if c.size <= constraint_choices.MAX_CHOICE_CELLS]


def _draw_order_choice(columns: Sequence[Column]) -> None:
    names = constraint_choices.orderable_names(columns)
    if len(names) < 2:
        st.caption("There are less than two columns of numbers.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="order-choice"):
        choice = st.multiselect(
            "Columns, from the smallest number to the largest",
            names,
            key=f"{KEY_PREFIX}order-{hash(names)}",
            format_func=printable_text,
            persist_state="session",
            width=560,
        )
        st.button(
            "Add it",
            key="add-order",
            disabled=len(choice) < 2,
            on_click=_add_constraint,
            args=({"order": [*choice]},),
        )


def _draw_value_choice(columns: Sequence[Column], kind: str) -> None:
    """Draw a list of columns and one of values, twice, and the button that adds the choice."""
    choice: list[Column] = []
    codes: list[list[int]] = []
    with st.container(horizontal=True, vertical_alignment="bottom", key="value-choice"):
        for position, label in enumerate(("Column", "Other column")):
            column = _draw_column_choice(columns, position, label)
            choice.append(column)
            codes.append(_draw_values(column, position))
        is_complete = choice[0].name != choice[1].name and all(codes)
        st.button(
            "Add it",
            key="add-combination",
            disabled=not is_complete,
            on_click=_add_choice,
            args=(kind, [column.name for column in choice], codes),
        )


def _draw_column_choice(columns: Sequence[Column], position: int, label: str) -> Column:
    by_name = {column.name: column for column in columns}
    name = st.selectbox(
        label,
        [*by_name],
        position,
        key=f"{KEY_PREFIX}column-{position}-{hash(tuple(by_name))}",
        format_func=printable_text,
        persist_state="session",
        width=200,
    )
    return by_name.get(name, columns[position])


def _draw_values(column: Column, position: int) -> list[int]:
    """Draw the values of a column to choose from; return the codes of those chosen."""
    key = f"{KEY_PREFIX}{position}-{column.name}-{hash(column.labels)}"  # other values, other list
    options: dict[str, Any] = {"format_func": printable_text, "persist_state": "session"}
    if column.values:
        labels = st.multiselect(
            "its values", column.labels, key=f"{key}-values", width=280, **options
        )
        return sorted(column.labels.index(label) for label in labels)
    first = st.selectbox(
        "from",
        column.labels,
        None,
        key=f"{key}-from",
        placeholder="Choose",
        width=150,
        **options,
    )
    last = st.selectbox(
        "to",
        column.labels[: column.nonmissing_size],
        None,
        key=f"{key}-to",
        placeholder="the same",
        disabled=first == MISSING_LABEL,
        width=150,
        **options,
    )
    return [] if first is None else constraint_choices.codes_of_choice(column, first, last)


def _apply_choice(
    kind: str,
    names: list[str],
    codes: list[list[int]],
    target: Table,
    _progress: StatusCallback,
) -> None:
    """Add the chosen combination to the schema."""
    columns = {column.name: column for column in _choosable_columns(target)}
    choice = [columns[name] for name in names if name in columns]
    if kind == ONLY_WITH:
        target.set_constraints(
            constraint_choices.allowed_combination(choice, codes, target.constraints)
        )
        return
    _append_constraint(constraint_choices.impossible_combination(choice, codes), target)


def _add_choice(kind: str, names: list[str], codes: list[list[int]]) -> None:
    """Start adding the chosen combination to the schema."""
    start_schema_change(partial(_apply_choice, kind, names, codes))


def _add_constraint(constraint: Json) -> None:
    """Start adding a constraint to the schema."""
    start_schema_change(lambda target, _: _append_constraint(constraint, target))


def _append_constraint(constraint: Json, target: Table) -> None:
    """Add a constraint to the schema, unless it is there."""
    if constraint not in target.constraints:
        target.set_constraints([*target.constraints, constraint])


def _remove_constraint(constraint: Json) -> None:
    """Start taking a constraint out of the schema."""

    def change(target: Table, _progress: StatusCallback) -> None:
        target.set_constraints([other for other in target.constraints if other != constraint])

    start_schema_change(change)
