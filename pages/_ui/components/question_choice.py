"""Choice of columns and kinds of queries as one workload, and of a typed question."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dpcore import Domain, InputError, read_queries
from dpcore.core.types import Texts
from dpcore.data.privacy_unit import ROWS_COLUMN
from dpcore.evaluation.experiment import QueryTask
from dpcore.queries import Workload
from dpcore.queries.example_question import example_question
from dpcore.queries.parse_queries import join_column_names, windows_text
from dpcore.queries.waves import recognise_waves
from dpcore.schema.inference.default_columns import (
    MAX_PAIR_CELLS,
    MAX_PAIRED_COLUMNS,
    choose_default_columns,
    choose_paired_columns,
)

from ..session.current_table import (
    default_unless_set,
    persistent_widget_args,
    set_widget_value,
    store_choice,
    stored_choice,
    sync_widget_value,
)
from ..session.current_table import store_widget_choice as choose_columns
from ..session.inert_text import distinct_labels, escape_markdown, printable_text
from ..session.session import session
from ..session.table import COMFORTABLE_CELLS, Table
from .program_panel import table_file_name

QUESTION_GRAMMAR_TEXT = (
    "Comparisons with =, !=, <, <=, >, >=, between … and …, in (…), joined by and, or, not and "
    "parentheses. "
    "Put names with spaces in double quotes."
)
MAX_EXAMPLE_CHARS = 80  # that an empty field shows
ALL_COLUMNS_HELP = (
    "Where not all combinations can be listed, some algorithms keep only some columns linked. "
    "Others make rows, or say "
    "that they cannot. What a run will take is said beforehand."
)
WINDOW_WAVES = 3
WINDOWS_KIND = f"windows of {WINDOW_WAVES} waves"
WORKLOAD_TEXTS_BY_KIND: dict[str, Callable[[Domain], Texts]] = {  # as the command line writes them
    "every single column": lambda d: ("marginals:1",),
    "every pair": lambda d: ("marginals:2",),
    "every triple": lambda d: ("marginals:3",),
    WINDOWS_KIND: lambda d: tuple(windows_text(waves, WINDOW_WAVES) for waves in _panels(d)),
    "ranges of numbers": lambda d: (f"ranges:{join_column_names(_ordered_column_names(d))}",),
    "thresholds": lambda d: (f"prefixes:{join_column_names(_ordered_column_names(d))}",),
    "half-planes of two numbers": lambda d: (
        f"halfspaces:{join_column_names(_ordered_column_names(d)[:2])}:100",
    ),
    "random conjunctions": lambda d: (f"conjunctions:{min(3, len(d.names))}:100",),
}


def kinds_on_offer(domain: Domain) -> list[str]:
    """Return the kinds of questions about a table: windows only where it has waves."""
    has_waves = bool(recognise_waves(domain.names))
    return [kind for kind in WORKLOAD_TEXTS_BY_KIND if has_waves or kind != WINDOWS_KIND]


def begins_with_pairs(table: Table, *, may_pair: bool) -> bool:
    """Return whether questions begin with columns of which only pairs are counted, so with more.

    Where many algorithms are compared (then they may not pair), or a table is read in parts, all
    combinations are listed.
    """
    return may_pair and table.large_table is None


def first_columns(table: Table, domain: Domain, *, may_pair: bool) -> list[str]:
    """Return the columns that questions begin with, by public numbers alone."""
    if begins_with_pairs(table, may_pair=may_pair):
        return list(choose_paired_columns(domain))
    return list(choose_default_columns(domain, COMFORTABLE_CELLS))


def choose_workload(
    table: Table, domain: Domain | None = None, *, may_pair: bool = False
) -> tuple[Workload, list[str]]:
    """Draw the widgets for columns and queries; return the workload and its texts.

    The texts are for the command line. The workload is in the table's domain, or in another one of
    its columns. It begins with the `first_columns`.
    """
    domain = table.domain if domain is None else domain
    default_names = first_columns(table, domain, may_pair=may_pair)
    if begins_with_pairs(table, may_pair=may_pair):
        limit_text = (
            f"at most {MAX_PAIRED_COLUMNS}, whose pairs have at most {MAX_PAIR_CELLS:,} "
            "combinations"
        )
    else:
        limit_text = f"which have together at most {COMFORTABLE_CELLS:,} combinations"
    columns = _choose_columns(table, list(domain.names), default_names, limit_text)
    kinds = st.multiselect(
        "Questions",
        kinds_on_offer(domain),
        default_unless_set(
            "questions", ["every pair" if len(default_names) > 1 else "every single column"]
        ),
        key="questions",
        help=_questions_help(domain),
        **persistent_widget_args(),
    )
    if not columns or not kinds:
        raise InputError("choose at least one column and one kind of question")
    domain = table.unit.extend_domain(domain.project(columns))
    if table.unit.row_totals:
        st.caption(f"Beside them “{ROWS_COLUMN}”: how many rows a person has.")
    texts = [text for kind in kinds for text in WORKLOAD_TEXTS_BY_KIND[kind](domain)]
    # One workload as long as it is asked: what was found of it, such as its answers' least error,
    # is found again.
    workload = session().memoize_public(
        "asked", (domain, texts), lambda: read_queries(texts, domain)[0]
    )
    return workload, texts


def question_placeholder(domain: Domain) -> str:
    """Return what stands in an empty field of a question: an example about these columns."""
    return f"for example: {printable_text(example_question(domain), MAX_EXAMPLE_CHARS)}"


def set_columns(table: Table, names: Sequence[str]) -> None:
    """Choose columns for the list of columns, from what a click calls."""
    store = store_choice if table.uploaded else set_widget_value
    store(columns_key(table), list(names))


def kinds_of_queries(task: QueryTask) -> list[str]:
    """Return the kinds of questions that a task asks, as far as the page offers them."""
    return list(_texts_by_kind(task))


def has_other_queries(task: QueryTask) -> bool:
    """Return whether a task asks questions that the page does not offer."""
    offered_texts = {text for texts in _texts_by_kind(task).values() for text in texts}
    return not offered_texts.issuperset(task.queries)


def _texts_by_kind(task: QueryTask) -> dict[str, Texts]:
    """Return the texts of each kind of questions that a task asks, in the order of the task."""
    try:
        domain = task.planning_domain
    except InputError:  # of a schema that is not complete yet
        return {}
    texts_by_kind = {}
    for kind, texts_of in WORKLOAD_TEXTS_BY_KIND.items():
        try:
            texts = texts_of(domain)
        except InputError:  # these columns have no such questions
            continue
        if set(texts) <= set(task.queries):
            texts_by_kind[kind] = texts
    kinds = sorted(texts_by_kind, key=lambda kind: task.queries.index(texts_by_kind[kind][0]))
    return {kind: texts_by_kind[kind] for kind in kinds}


def columns_key(table: Table) -> str:
    """Return the key of the widget that chooses a table's columns."""
    return f"columns-{table.identity if table.uploaded else table.name}"


def _choose_columns(
    table: Table, names: list[str], default_names: list[str], limit_text: str
) -> list[str]:
    """Draw the list of columns, and a button for all of them as long as none was chosen."""
    chip_labels = distinct_labels(names, 16)  # a chip shows no more
    widget_args: dict[str, Any] = {
        "format_func": chip_labels.get,
        "help": "Only these are read. The number of combinations is the product of their values.",
    } | persistent_widget_args()
    key = columns_key(table)
    if table.uploaded:  # its columns come and go with its schema, and what was chosen of them stays
        chosen = [name for name in stored_choice(key, default_names) if name in names]
        default = None if sync_widget_value(key, chosen) else chosen
        columns = st.multiselect(
            "Columns", names, default, key=key, on_change=choose_columns, args=(key,), **widget_args
        )
    else:
        columns = st.multiselect(
            "Columns", names, default_unless_set(key, default_names), key=key, **widget_args
        )
    if columns == default_names != names:
        _draw_all_columns_button(table, names, len(default_names), limit_text)
    return columns


def _draw_all_columns_button(
    table: Table, names: list[str], default_count: int, limit_text: str
) -> None:
    """Say that some columns are left out at first, and offer all of them."""
    st.caption(
        f"{default_count} of {len(names)} columns to begin with: the first of a handy size, "
        f"{limit_text}. Choose others above, or:"
    )
    st.button(
        f"Use all {len(names)} columns",
        key="all-columns",
        on_click=set_columns,
        args=(table, names),
        help=ALL_COLUMNS_HELP,
        icon=":material/select_all:",
    )


def task_of_table(
    table: Table, columns: Texts, query_texts: Sequence[str], schema_share: float | None = None
) -> QueryTask:
    """Return the task of a page: queries about some columns of the session's table."""
    return QueryTask(
        table=table_file_name(table),
        schema=table.schema,
        queries=tuple(query_texts),
        columns=table.unit.names_in_table(columns),
        unit=table.unit,
        schema_share=schema_share,
    )


def _ordered_column_names(domain: Domain) -> list[str]:
    """Return the names of numeric columns; raise InputError when there are none."""
    names = [c.name for c in domain.columns if not c.values and c.ordered]
    if not names:
        raise InputError(
            "none of the chosen columns holds ordered numbers; ranges and thresholds need them"
        )
    return names


def _panels(domain: Domain) -> tuple[Texts, ...]:
    """Return the panels among the chosen columns; raise InputError when there are none."""
    panels = recognise_waves(domain.names)
    if not panels:
        raise InputError(
            f"the chosen columns hold no {WINDOW_WAVES} waves in a row, such as y1, y2, y3; choose "
            "them too, or ask other questions"
        )
    return panels


def _questions_help(domain: Domain) -> str:
    """Return the help of the choice of questions, which says what waves are where there are some.

    A table's first waves are named.
    """
    help_text = "Several kinds are asked together."
    panels = recognise_waves(domain.names)
    if not panels:
        return help_text
    first = escape_markdown(panels[0][0], 40)
    last = escape_markdown(panels[0][-1], 40)
    return (
        f"{help_text} Waves are columns of one thing at different times, here {first} to {last}. "
        f"Their windows are all tables of {WINDOW_WAVES} waves in a row."
    )
