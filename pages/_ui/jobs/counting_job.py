"""Counting of a table read in parts: in the background, with progress and Cancel.

Each count is made once in a session.
"""

import time
from functools import partial

import streamlit as st

from dpcore import InputError, PrivacyUnit
from dpcore.core.job import Job
from dpcore.core.provenance import Provenance
from dpcore.core.types import ProgressCallback
from dpcore.data.sources.gathered_counts import GatheredCounts
from dpcore.data.sources.limited_rows_source import limit_source
from dpcore.data.sources.source import CHANGED_MESSAGE
from dpcore.queries import Workload
from dpcore.schema.inference.default_columns import choose_default_columns

from ..components import draw_badge_if_different, hide_in_stakeholder_view
from ..session import (
    COMFORTABLE_CELLS,
    LargeTable,
    Table,
    counted_table,
    escape_markdown,
    is_stakeholder_view,
)
from ..session.counted_table import TablesToCount
from .job_watcher import wait_or_draw_progress
from .thread_jobs import close_job, get_or_start_job

THREAD_KIND = "counting"
NAME_PREFIX = "count-"  # before the names of counts in a session
RETRY_LABEL = "Count again"


def ensure_rows_counted(table: Table) -> bool:
    """Return whether a large table's rows are checked and counted; start that if not.

    Checked means that every raw text in use was read once. True for a table in memory. Until then
    the
    page shows how far that is, or why it cannot be.
    """
    if table.large_table is None or table.domain is None:
        return True
    first_names = choose_default_columns(table.domain, COMFORTABLE_CELLS)
    return _ensure_tables_counted(
        table, counted_table.tables_for_validation(table.domain, first_names), "check"
    )


def ensure_workload_counted(table: Table, workload: Workload, key: str = "asked") -> bool:
    """Return whether a table's rows are counted by a workload's tables; start that if not.

    As `ensure_rows_counted`, after it.
    """
    return table.large_table is None or _ensure_tables_counted(
        table, counted_table.tables_for_workload(workload), key
    )


def row_progress_callback(job: Job, large_table: LargeTable) -> ProgressCallback:
    """Return a function that tells a job how many rows of a table were read."""
    start = time.monotonic()

    def report_rows(rows: int, _total: None) -> None:
        rate = rows / max(time.monotonic() - start, 1e-3)
        rows_text = (
            f"{rows:,} of {large_table.rows:,}"
            if large_table.is_row_count_exact
            else f"{rows:,} of about {max(large_table.rows, rows):,}"
        )
        job.report_progress(
            min(rows / max(large_table.rows, 1), 1.0),
            f"{rows_text} rows read, {rate:,.0f} a second",
        )

    return report_rows


def _ensure_tables_counted(table: Table, requested: TablesToCount, key: str) -> bool:
    missing = counted_table.find_missing_tables(table.counts, requested, table.unit)
    name = NAME_PREFIX + key
    if missing is None or table.large_table is None:
        return True
    job_key = table.version, missing.domain.names, missing.tables
    job = get_or_start_job(
        name, job_key, THREAD_KIND, partial(_count_tables, table.large_table, table.unit, missing)
    )
    if not wait_or_draw_progress(job, name):
        return False
    new_counts = job.result
    if isinstance(new_counts, GatheredCounts):
        if all(earlier.n == new_counts.n for earlier in table.counts.values()):
            close_job(name)
            table.add_counts(new_counts)
            return True
        job.results = [CHANGED_MESSAGE]
    if job.result:
        _show_refusal(job.result)
    st.button(
        RETRY_LABEL, key=f"again-{name}", icon=":material/replay:", on_click=close_job, args=(name,)
    )
    return False


def _count_tables(
    large_table: LargeTable, unit: PrivacyUnit, requested: TablesToCount, job: Job
) -> GatheredCounts | str:
    """Return the counts, or in words why the schema refuses the rows.

    The words may quote raw text, and are not for everybody.
    """
    progress = row_progress_callback(job, large_table)
    try:
        with counted_table.hide_path_in_errors(large_table.source.name):
            source = limit_source(large_table.source, unit, requested.domain.names)
            counts = source.count(requested.domain, requested.tables, progress)
            n = counts.n // source.votes_per_unit
            if n < 2:
                rows_text = "1 row" if n else "no rows"
                raise InputError(f"has {rows_text}; at least 2 are needed")
    except InputError as error:
        # ends here what was asked to end, whatever it says
        job.report_progress(job.progress, job.status_text)
        return str(error)
    return GatheredCounts(requested.domain, n, counts.tables, votes_per_unit=source.votes_per_unit)


def _show_refusal(message: str) -> None:
    if is_stakeholder_view():
        st.warning("The schema does not serve this table yet.")
    _show_quoting_error(message)


@hide_in_stakeholder_view
def _show_quoting_error(message: str) -> None:
    draw_badge_if_different(Provenance.REAL_DATA)
    st.error(escape_markdown(message, 400))
