"""Which questions matter: columns, kinds of questions, and their union as one workload; how one is typed by hand."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpcore import Domain, InputError, read_queries
from dpcore.queries import Workload
from dpcore.queries.parse_queries import join_names
from dpcore.schema.inference.default_columns import first_columns

from ..session.current_table import choose as choose_columns
from ..session.current_table import chosen, give, set_choice, shared, show, unless_given
from ..session.inert_text import distinct
from ..session.session import session
from ..session.table import COMFORTABLE_CELLS, Table

GRAMMAR = (
    "Comparisons with =, !=, <, <=, >, >=, between … and …, in (…), joined by and, or, not and parentheses. "
    "Put names with spaces in double quotes."
)
ALL_COLUMNS = (
    "Where not all combinations can be listed, some algorithms keep only some columns linked. Others make rows, or say "
    "that they cannot. What a run will take is said beforehand."
)
KINDS: dict[str, Callable[[Domain], str]] = {  # as the command line writes them
    "every single column": lambda d: "marginals:1",
    "every pair": lambda d: "marginals:2",
    "every triple": lambda d: "marginals:3",
    "ranges of numbers": lambda d: f"ranges:{join_names(_ordered(d))}",
    "thresholds": lambda d: f"prefixes:{join_names(_ordered(d))}",
    "half-planes of two numbers": lambda d: f"halfspaces:{join_names(_ordered(d)[:2])}:100",
    "random conjunctions": lambda d: f"conjunctions:{min(3, len(d.names))}:100",
}


def choose(table: Table, domain: Domain | None = None) -> tuple[Workload, list[str]]:
    """The widgets for columns and questions; the workload they say, and its texts for the command line.

    They are read in the table's domain, or in another one of its columns.
    """
    domain = table.domain if domain is None else domain
    names, default_names = list(domain.names), list(first_columns(domain, COMFORTABLE_CELLS))
    help_text = "Only these are read. The number of combinations is the product of their values."
    chip_labels = distinct(names, 16)  # a chip shows no more
    widget_args: dict[str, Any] = {"format_func": chip_labels.get, "help": help_text} | shared()
    if table.uploaded:  # its columns come and go with its schema, and what was chosen of them stays
        key, set_columns = f"columns-{table.identity}", set_choice
        show(key, [name for name in chosen(key, default_names) if name in names])
        columns = st.multiselect("Columns", names, key=key, on_change=choose_columns, args=(key,), **widget_args)
    else:
        key, set_columns = f"columns-{table.name}", give
        columns = st.multiselect("Columns", names, unless_given(key, default_names), key=key, **widget_args)
    if columns == default_names != names:
        st.caption(
            f"{len(default_names)} of {len(names)} columns to begin with: the first of a handy size that are "
            "together at most "
            f"{COMFORTABLE_CELLS:,} combinations. Choose others above, or:"
        )
        st.button(
            f"Use all {len(names)} columns",
            key="all-columns",
            on_click=set_columns,
            args=(key, names),
            help=ALL_COLUMNS,
            icon=":material/select_all:",
        )
    default_kinds = ["every pair" if len(default_names) > 1 else "every single column"]
    help_text = "Several kinds are asked together."
    kinds = st.multiselect("Questions", list(KINDS), default_kinds, key="questions", help=help_text, **shared())
    if not columns or not kinds:
        raise InputError("choose at least one column and one kind of question")
    domain = domain.project(columns)
    texts = [KINDS[kind](domain) for kind in kinds]
    # One workload as long as it is asked: what was found of it, such as its answers' least error, is found again.
    return session().memo("asked", (domain, texts), lambda: read_queries(texts, domain)[0]), texts


def _ordered(domain: Domain) -> list[str]:
    """Columns of numbers; InputError when there are none."""
    names = [c.name for c in domain.columns if not c.values and c.ordered]
    if not names:
        raise InputError("none of the chosen columns holds ordered numbers; ranges and thresholds need them")
    return names
