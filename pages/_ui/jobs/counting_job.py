"""Counting a table that is read in parts: beside the page, with progress and Cancel, each count once in a session."""

import time
from functools import partial

import streamlit as st

from dpcore import InputError, PrivacyUnit
from dpcore.core.provenance import Tag
from dpcore.core.types import Watch
from dpcore.data.sources.gathered_counts import Counts
from dpcore.data.sources.limited_rows_source import limited
from dpcore.data.sources.source import CHANGED
from dpcore.queries import Workload
from dpcore.schema.inference.default_columns import first_columns

from ..components import peek, tag
from ..session import COMFORTABLE_CELLS, Large, Table, counted_table, plain, stakeholder
from ..session.counted_table import WantedTables
from .job import watch
from .thread_job import Work, let_go, owned

KIND = "counting"
NAME = "count-"  # before the names of counts in a session
AGAIN = "Count again"


def ready(table: Table) -> bool:
    """Whether every cell in use of a table was read once, and its rows counted; always, where it is in memory.

    Until then the page shows how far that is, or why it cannot be.
    """
    if table.large is None or table.domain is None:
        return True
    first = first_columns(table.domain, COMFORTABLE_CELLS)
    return _there(table, counted_table.check(table.domain, first), "check")


def have(table: Table, workload: Workload, key: str = "asked") -> bool:
    """Whether the records of a table are counted by what a workload asks; as `ready`, after it."""
    return table.large is None or _there(table, counted_table.questions(workload), key)


def told(work: Work, large: Large) -> Watch:
    """Return a function that tells a job how many rows of a table were read."""
    start = time.monotonic()

    def read(rows: int) -> None:
        rate = rows / max(time.monotonic() - start, 1e-3)
        of = f"{rows:,} of {large.rows:,}" if large.said else f"{rows:,} of about {max(large.rows, rows):,}"
        work.tell(min(rows / max(large.rows, 1), 1.0), f"{of} rows read, {rate:,.0f} a second")

    return read


def _there(table: Table, wanted: WantedTables, key: str) -> bool:
    left = counted_table.missing(table.counts, wanted, table.unit)
    name = NAME + key
    if left is None or table.large is None:
        return True
    of = table.version, left.domain.names, left.tables
    work = owned(name, of, KIND, partial(_count, table.large, table.unit, left))
    if not watch(work, name):
        return False
    found = work.result
    if isinstance(found, Counts):
        if all(known.n == found.n for known in table.counts.values()):
            let_go(name)
            table.count(found)
            return True
        work.result = CHANGED
    if work.result:
        _refused(work.result)
    st.button(AGAIN, key=f"again-{name}", icon=":material/replay:", on_click=let_go, args=(name,))
    return False


def _count(large: Large, unit: PrivacyUnit, wanted: WantedTables, work: Work) -> Counts | str:
    """Return the counts, or in words what the schema refuses: that may quote a cell, and is not for everybody."""
    watching = told(work, large)
    try:
        with counted_table.named(large.source.name):
            source = limited(large.source, unit, wanted.domain.names)
            found = source.count(wanted.domain, wanted.tables, watching)
            if found.n < 2:
                raise InputError(f"has {found.n or 'no'} row{'s' * (not found.n)}; at least 2 are needed")
    except InputError as error:
        work.tell(work.progress, work.words)  # ends here what was asked to end, whatever it says
        return str(error)
    return Counts(wanted.domain, found.n, found.tables)


def _refused(words: str) -> None:
    if stakeholder():
        st.warning("The schema does not serve this table yet.")
    _quoted(words)


@peek
def _quoted(words: str) -> None:
    tag(Tag.PEEK)
    st.error(plain(words, 400))
