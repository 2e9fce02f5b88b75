"""What takes a while on this page: reading a file, and what a change of the schema needs of the records.

Both are worked out beside the table in use, which stays as it is until they are done, and if they are cancelled.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from dpcore import InputError
from dpcore.data.guessing import guess_columns
from dpcore.data.readers import UPLOADED, read
from dpcore.data.readers import LoadedTable as Read
from dpcore.data.text_format import TextFormat

from ..jobs import Work, let_go, owned, watch
from ..shell import Large, Table, Told, clean, session, table
from ..shell.state import keep

ARRIVAL, CHANGE = "arrival", "change"  # their names in a session
KIND = "reading"
AT_ONCE = 2  # files and changes that the server works on at a time
READ, LOOKED_AT = 0.5, 0.9  # shares of the work on a file
CANCELLED = "Cancelled: the schema is as it was."
Change = Callable[[Table, Told], None]


def bring(name: str, file: Any, format: TextFormat | None = None) -> None:
    """Begin to read an uploaded file, a text in a known or guessed format, and no longer another one."""
    arrive(partial(_read, name, file, format=format))


def arrive(job: Callable[[Work], Table]) -> None:
    """Begin what brings a table, and no longer what would bring another one."""
    let_go(ARRIVAL)
    owned(ARRIVAL, None, KIND, job, AT_ONCE)


def attempt(*changes: Change) -> None:
    """Begin to change the schema, after what is under way; what cannot be changed so is said on the page."""
    current = table()
    if (before := _change_of(current)) is not None:
        changes = (*before.of[-1], *changes)
    of = current, current.version, changes
    owned(CHANGE, of, KIND, partial(_changed, current.twin(), changes), AT_ONCE)


def refuse(current: Table, problem: str) -> None:
    """Say on the page why the schema cannot be changed so."""
    st.session_state["_schema_problem"] = (current.name, problem)


def drop() -> None:
    """Stop reading a file and changing a schema: another table was chosen."""
    for name in (ARRIVAL, CHANGE):
        let_go(name)


def arriving() -> None:
    """Draw how far an uploaded file is; at its end the page is drawn anew, with its table or with what is wrong."""
    work = session().held.get(ARRIVAL)
    if not isinstance(work, Work) or not watch(work, ARRIVAL):
        return
    found = work.result
    let_go(ARRIVAL)
    if work.state == "done":
        let_go(CHANGE)
        keep(found)
    else:
        words = f"{work.error or 'Cancelled'}. The table is still the one before: {clean(table().name)}."
        st.session_state["_upload_problem"] = words
    st.rerun()


def changing(current: Table) -> bool:
    """Draw how far a change is, if one is under way; at its end the page is drawn anew with what became of it."""
    if (work := _change_of(current)) is None:
        return False
    if not watch(work, CHANGE):
        return True
    (_, version, changes), found = work.of, work.result
    let_go(CHANGE)
    if work.state != "done":
        refuse(current, work.error or CANCELLED)
    elif current.version != version:
        attempt(*changes)  # whom it protects was changed meanwhile: once more
    else:
        twin, problem = found
        if twin.version != version:
            session().table = twin
        if problem:
            refuse(current, problem)
    st.rerun()


def _change_of(current: Table) -> Work | None:
    """Return the change of this table that is under way; None where there is none."""
    work = session().held.get(CHANGE)
    return work if isinstance(work, Work) and work.of[0] is current else None


def _read(name: str, file: Any, work: Work, format: TextFormat | None = None) -> Table:
    """Return the table in an uploaded file."""
    return made_of(loaded(name, file, work, format), name, work)


def loaded(name: str, file: Any, work: Work, format: TextFormat | None) -> Read:
    """What is in a file, within what an upload may be."""
    words = "The file is read"
    work.tell(0.0, words)
    return read(file, name, UPLOADED, format=format, told=lambda share: work.tell(READ * share, words))


def made_of(reading: Read, name: str, work: Work, large: Large | None = None) -> Table:
    """The table of what was read, of a `large` one its first rows; bounds are for a person to fill in.

    What its columns seem to be is guessed from the records, so its schema begins as a private peek. Raises InputError
    for a table without rows: nothing can be said of it, and it must not take the place of another one.
    """
    if reading.frame.empty:
        raise InputError(f"{name} has names of columns and no rows: bring a file that has rows, too")
    every = len(reading.frame.columns)

    def looked(at: int) -> None:
        work.tell(READ + (LOOKED_AT - READ) * at / every, f"Column {at + 1:,} of {every:,} is looked at")

    def checked(share: float, words: str) -> None:
        work.tell(LOOKED_AT + (1 - LOOKED_AT) * share, words)

    guesses = {guess.name: guess for guess in guess_columns(reading.frame, looked)}
    columns = {name: guess.entry for name, guess in guesses.items() if not guess.aside}
    schema = {"columns": columns, "peeked": True} | ({"file": said} if (said := reading.format.to_json()) else {})
    return Table(
        name, reading.frame, schema, f"Read as {reading.how}.", uploaded=True, guesses=guesses, format=reading.format,
        sha256=reading.sha256, large=large, told=checked,
    )  # fmt: skip


def _changed(twin: Table, changes: tuple[Change, ...], work: Work) -> tuple[Table, str]:
    """Return a copy of the table as it was changed, and in words what could not be changed."""
    refused = []
    for change in changes:
        try:
            change(twin, work.tell)
        except InputError as error:
            refused.append(str(error))
    return twin, "; ".join(refused)
