"""What brings a table or changes its schema: worked out beside the table in use, which stays as it is until then.

Data draws how far it is. A person may leave Data before its end, so every other page takes it in, too.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from dpcore import InputError

from ..session import Table, Told, clean, plain, session, stakeholder, whole_table
from ..session.current_table import keep
from ..session.session import ARRIVAL, CHANGE
from ..session.stakeholder_wall import reason
from .job import watch
from .thread_job import Work, let_go, owned

KIND = "reading"
AT_ONCE = 2  # files and changes that the server works on at a time
CANCELLED = "Cancelled: the schema is as it was."
UNREAD, UNCHANGED = "_upload_problem", "_schema_problem"  # what was wrong, until it is shown
Change = Callable[[Table, Told], None]


def arrive(job: Callable[[Work], Table]) -> None:
    """Begin what brings a table, and no longer what would bring another one."""
    let_go(ARRIVAL)
    owned(ARRIVAL, None, KIND, job, AT_ONCE)


def attempt(*changes: Change) -> None:
    """Begin to change the schema, after what is under way; what cannot be changed so is said on the page."""
    current = whole_table()
    if (running_change := _change_of(current)) is not None:
        changes = (*running_change.of[-1], *changes)
    job_key = current, current.version, changes
    owned(CHANGE, job_key, KIND, partial(_changed, current.twin(), changes), AT_ONCE)


def refuse(current: Table, problem: str) -> None:
    """Say on the page why the schema cannot be changed so."""
    st.session_state[UNCHANGED] = (current.name, problem)


def drop() -> None:
    """Stop reading a file and changing a schema: another table was chosen."""
    for name in (ARRIVAL, CHANGE):
        let_go(name)


def arriving() -> None:
    """Draw how far an uploaded file is; at its end the page is drawn anew, with its table or with what is wrong."""
    job = session().find(ARRIVAL)
    if not isinstance(job, Work) or not watch(job, ARRIVAL):
        return
    new_table = job.result
    let_go(ARRIVAL)
    if job.state == "done":
        let_go(CHANGE)
        keep(new_table)
    else:
        problem = f"{job.error or 'Cancelled'}. The table is still the one before: {clean(whole_table().name)}."
        st.session_state[UNREAD] = problem
    st.rerun()


def changing(current: Table) -> bool:
    """Draw how far a change is, if one is under way; at its end the page is drawn anew with what became of it."""
    if (job := _change_of(current)) is None:
        return False
    if not watch(job, CHANGE):
        return True
    (_, version, changes), outcome = job.of, job.result
    let_go(CHANGE)
    if job.state != "done":
        refuse(current, job.error or CANCELLED)
    elif current.version != version:
        attempt(*changes)  # whom it protects was changed meanwhile: once more
    else:
        changed_table, problem = outcome
        if changed_table.version != version:
            session().table = changed_table
        if problem:
            refuse(current, problem)
    st.rerun()


def changing_aside() -> bool:
    """Draw how far a change is in the stakeholder view, where nothing else is drawn of the table with its rows."""
    return changing(whole_table())


def under_way(current: Table) -> bool:
    """Whether a change of this table has not been taken in yet."""
    return _change_of(current) is not None


def say_unread() -> None:
    """Say once why a file is not the table in use."""
    if problem := st.session_state.pop(UNREAD, ""):
        if problem.startswith("Cancelled. "):
            st.warning(plain(problem, 400))
        else:
            st.error(reason(problem))


def say_unchanged(current: Table) -> bool:
    """Say once what of the schema was not changed; whether there was anything."""
    name, problem = st.session_state.pop(UNCHANGED, ("", ""))
    if not problem or name != current.name:
        return False
    if problem == CANCELLED:
        st.warning(problem)
    else:  # it may quote a cell
        st.error("The schema does not serve this table yet." if stakeholder() else plain(problem, 400))
    return True


def taken_in() -> bool:
    """Whether what was typed on Data is in force, for a page that uses it; until then how far that is, drawn."""
    with st.container():  # so that what is below keeps its place
        arriving()
        say_unread()
        if changing(whole_table()):
            return False
        say_unchanged(whole_table())
    return True


def _change_of(current: Table) -> Work | None:
    """Return the change of this table that is under way; None where there is none."""
    job = session().find(CHANGE)
    return job if isinstance(job, Work) and job.of[0] is current else None


def _changed(twin: Table, changes: tuple[Change, ...], work: Work) -> tuple[Table, str]:
    """Return a copy of the table as it was changed, and in words what could not be changed."""
    problems = []
    for change in changes:
        try:
            change(twin, work.tell)
        except InputError as error:
            problems.append(str(error))
    return twin, "; ".join(problems)
