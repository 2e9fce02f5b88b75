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
    first_names = first_columns(table.domain, COMFORTABLE_CELLS)
    return _there(table, counted_table.check(table.domain, first_names), "check")


def have(table: Table, workload: Workload, key: str = "asked") -> bool:
    """Whether the records of a table are counted by what a workload asks; as `ready`, after it."""
    return table.large is None or _there(table, counted_table.questions(workload), key)


def told(work: Work, large: Large) -> Watch:
    """Return a function that tells a job how many rows of a table were read."""
    start = time.monotonic()

    def read(rows: int) -> None:
        rate = rows / max(time.monotonic() - start, 1e-3)
        rows_text = f"{rows:,} of {large.rows:,}" if large.said else f"{rows:,} of about {max(large.rows, rows):,}"
        work.tell(min(rows / max(large.rows, 1), 1.0), f"{rows_text} rows read, {rate:,.0f} a second")

    return read


def _there(table: Table, wanted: WantedTables, key: str) -> bool:
    missing = counted_table.missing(table.counts, wanted, table.unit)
    name = NAME + key
    if missing is None or table.large is None:
        return True
    job_key = table.version, missing.domain.names, missing.tables
    job = owned(name, job_key, KIND, partial(_count, table.large, table.unit, missing))
    if not watch(job, name):
        return False
    new_counts = job.result
    if isinstance(new_counts, Counts):
        if all(earlier.n == new_counts.n for earlier in table.counts.values()):
            let_go(name)
            table.count(new_counts)
            return True
        job.result = CHANGED
    if job.result:
        _refused(job.result)
    st.button(AGAIN, key=f"again-{name}", icon=":material/replay:", on_click=let_go, args=(name,))
    return False


def _count(large: Large, unit: PrivacyUnit, wanted: WantedTables, work: Work) -> Counts | str:
    """Return the counts, or in words what the schema refuses: that may quote a cell, and is not for everybody."""
    progress = told(work, large)
    try:
        with counted_table.named(large.source.name):
            source = limited(large.source, unit, wanted.domain.names)
            counts = source.count(wanted.domain, wanted.tables, progress)
            if counts.n < 2:
                raise InputError(f"has {counts.n or 'no'} row{'s' * (not counts.n)}; at least 2 are needed")
    except InputError as error:
        work.tell(work.progress, work.words)  # ends here what was asked to end, whatever it says
        return str(error)
    return Counts(wanted.domain, counts.n, counts.tables)


def _refused(words: str) -> None:
    if stakeholder():
        st.warning("The schema does not serve this table yet.")
    _quoted(words)


@peek
def _quoted(words: str) -> None:
    tag(Tag.PEEK)
    st.error(plain(words, 400))
