"""Background jobs that bring a table or change its schema; the table in use stays until then.

Data draws how far a job is. A person may leave Data before its end, so every other page takes its
result in, too.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from dpcore import InputError
from dpcore.core.job import Job, JobState, StatusCallback

from ..session import (
    Table,
    escape_markdown,
    is_stakeholder_view,
    printable_text,
    session,
    whole_table,
)
from ..session.current_table import set_current_table
from ..session.render_turns import redraw_page
from ..session.session import SCHEMA_CHANGE, TABLE_UPLOAD
from ..session.stakeholder_wall import failure_reason
from .job_watcher import wait_or_draw_progress
from .thread_jobs import close_job, get_or_start_job

THREAD_KIND = "reading"
MAX_CONCURRENT_JOBS = 2  # files and changes that the server works on at a time
CANCELLED_TEXT = "Cancelled: the schema is as it was."
# What was wrong, until it is shown.
UPLOAD_PROBLEM_KEY = "_upload_problem"
SCHEMA_PROBLEM_KEY = "_schema_problem"
SchemaChange = Callable[[Table, StatusCallback], None]


def start_table_upload(read_table: Callable[[Job], Table]) -> None:
    """Begin what brings a table, and no longer what would bring another one."""
    close_job(TABLE_UPLOAD)
    get_or_start_job(TABLE_UPLOAD, None, THREAD_KIND, read_table, MAX_CONCURRENT_JOBS)


def start_schema_change(*changes: SchemaChange) -> None:
    """Start changing the schema, after the changes under way.

    A change that cannot be made is reported on the page.
    """
    current = whole_table()
    running_change = _find_running_change(current)
    if running_change is not None:
        changes = (*running_change.key[-1], *changes)
    job_key = current, current.version, changes
    get_or_start_job(
        SCHEMA_CHANGE,
        job_key,
        THREAD_KIND,
        partial(_apply_changes, current.editable_copy(), changes),
        MAX_CONCURRENT_JOBS,
    )


def store_schema_problem(current: Table, problem: str) -> None:
    """Say on the page why the schema cannot be changed so."""
    st.session_state[SCHEMA_PROBLEM_KEY] = (current.name, problem)


def cancel_table_jobs() -> None:
    """Stop reading a file and changing a schema: another table was chosen."""
    for name in (TABLE_UPLOAD, SCHEMA_CHANGE):
        close_job(name)


def draw_upload_progress() -> None:
    """Draw the progress of an upload; at its end redraw the page with its table or its error."""
    job = session().find_resource(TABLE_UPLOAD)
    if not isinstance(job, Job) or not wait_or_draw_progress(job, TABLE_UPLOAD):
        return
    new_table = job.result
    close_job(TABLE_UPLOAD)
    if job.state == JobState.DONE:
        close_job(SCHEMA_CHANGE)
        set_current_table(new_table)
    else:
        problem = (
            f"{job.error or 'Cancelled'}. The table is still the one before: "
            f"{printable_text(whole_table().name)}."
        )
        st.session_state[UPLOAD_PROBLEM_KEY] = problem
    redraw_page()


def draw_change_progress(current: Table) -> bool:
    """Draw the progress of a schema change; return whether one is under way.

    At its end the page is drawn anew with what became of it.
    """
    job = _find_running_change(current)
    if job is None:
        return False
    if not wait_or_draw_progress(job, SCHEMA_CHANGE):
        return True
    _, version, changes = job.key
    outcome = job.result
    close_job(SCHEMA_CHANGE)
    if job.state != JobState.DONE:
        store_schema_problem(current, job.error or CANCELLED_TEXT)
    elif current.version != version:
        start_schema_change(*changes)  # whom it protects was changed meanwhile: once more
    else:
        states, problem = outcome
        *earlier_states, changed_table = states
        for before in earlier_states:
            session().history.store_change(before)
        if earlier_states:
            session().table = changed_table
        if problem:
            store_schema_problem(current, problem)
    redraw_page()


def draw_stakeholder_change() -> bool:
    """Draw the progress of a schema change in the stakeholder view; return whether one runs.

    Nothing else is drawn there of the table with its rows.
    """
    return draw_change_progress(whole_table())


def undo_change() -> None:
    """Take the last change of the table back, or the ones under way."""
    _go_through_history(session().history.undo)


def redo_change() -> None:
    """Make the change again that was taken back last."""
    _go_through_history(session().history.redo)


def _go_through_history(step: Callable[[Table], Table]) -> None:
    """Put another state of the table in use; changes under way are cancelled instead."""
    current = whole_table()
    if is_change_running(current):
        close_job(SCHEMA_CHANGE)
        return
    session().table = step(current)


def is_change_running(current: Table) -> bool:
    """Return whether a change of this table has not been applied yet."""
    return _find_running_change(current) is not None


def show_upload_problem() -> None:
    """Say once why a file is not the table in use."""
    problem = st.session_state.pop(UPLOAD_PROBLEM_KEY, "")
    if problem:
        if problem.startswith("Cancelled. "):
            st.warning(escape_markdown(problem, 400))
        else:
            st.error(failure_reason(problem))


def show_schema_problem(current: Table) -> bool:
    """Say once what of the schema was not changed; whether there was anything."""
    name, problem = st.session_state.pop(SCHEMA_PROBLEM_KEY, ("", ""))
    if not problem or name != current.name:
        return False
    if problem == CANCELLED_TEXT:
        st.warning(problem)
    else:  # it may quote a cell
        st.error(
            "The schema does not serve this table yet."
            if is_stakeholder_view()
            else escape_markdown(problem, 400)
        )
    return True


def apply_finished_changes() -> bool:
    """Apply finished changes; return False, with progress drawn, if one is still running.

    It is for a page that uses what was typed on Data.
    """
    with st.container():  # so that what is below keeps its place
        draw_upload_progress()
        show_upload_problem()
        if draw_change_progress(whole_table()):
            return False
        show_schema_problem(whole_table())
    return True


def _find_running_change(current: Table) -> Job | None:
    """Return the change of this table that is under way; None where there is none."""
    job = session().find_resource(SCHEMA_CHANGE)
    return job if isinstance(job, Job) and job.key[0] is current else None


def _apply_changes(
    table_copy: Table, changes: tuple[SchemaChange, ...], job: Job
) -> tuple[list[Table], str]:
    """Return the table before each change and after the last, and what could not be changed."""
    problems = []
    states = []
    for change in changes:
        before = table_copy.editable_copy()
        try:
            change(table_copy, job.report_progress)
        except InputError as error:
            problems.append(str(error))
        if table_copy.statement != before.statement:
            states.append(before)
    return [*states, table_copy], "; ".join(problems)
