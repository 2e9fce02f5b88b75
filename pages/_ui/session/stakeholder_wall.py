"""The wall of the stakeholder view: what a page may know of a private table there, and the words for all the rest.

`session.table` hands every page a `PublicTable` in place of a private `Table` as long as the view is on, and a session
keeps what was run there apart. So nothing that a page draws can depend on a row: a new panel that asks for rows, or for
anything made of them, draws the words below until somebody adds what it needs to `PublicTable`, which is the list of
what may be shown. Only the row count, the file's name and headings, and what a person entered stand on it.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import streamlit as st

from dpcore import Domain, InputError, PrivacyUnit, domain_from_json
from dpcore.core.types import frozen
from dpcore.schema.partial_schema import OpenSchema, is_open, open_schema_from_json

from .inert_text import plain
from .stakeholder_view import stakeholder
from .table import Entry, Table

LEFT_OUT = (
    "Other numbers here come from trials on the real table, so this view leaves them out. Make a release to show them."
)
SCHEMA = (
    "The schema of this table was filled in from its rows. So this view leaves it out, and all that rests on it. Turn "
    "the view off under Share ▾ to enter values and bounds yourself."
)
NOT_COUNTED = (
    "The rows of this table are not counted yet, so nothing can be predicted. Turn the view off under Share ▾ and open "
    "this page once."
)
REASON = (
    "This could not be done. The reason may quote the table, so this view leaves it out. Turn the view off under "
    "Share ▾ to read it."
)
LIMITED = (
    "Predicted for all {size:,} rows. How many count, with the limit for each person, is read from the table, so this "
    "view leaves it out."
)
PREPARED = (
    "This page shows what was released. To prepare a release, the table is read: turn the view off under Share ▾, "
    "release, and turn it on again."
)
SAID = "_left-out"  # whether the page that is drawn has said what is left out


class WithheldError(InputError):
    """Raised where more of a private table is asked for than the view shows; its words are always the same."""

    def __init__(self) -> None:
        super().__init__(LEFT_OUT)


@frozen
class PublicTable:
    """A private table as the stakeholder view knows it; whatever else a `Table` has raises WithheldError.

    Args:
        name: Of the file.
        names: The headings of its columns, in the file's order.
        size: How many rows it has; None where nobody has counted them.
        unit: Whom the guarantee protects.
        version: That of the table's schema, a random text; widgets are named by it.
        identity: That of the table, a random text; widgets that outlive a change of its schema are named by it.
        entries: What a person entered about each column; empty where the schema was filled in from the rows.
        constraints: What a person entered that cannot be, as it stands in the schema.
        schema: Both, as a file holds them.
        domain: What the schema says; None where it is not complete, or is left out.
        opening: The same of a schema of which some is to be measured.
        why: Why this view leaves the schema out, in words; empty where it does not.

    """

    name: str
    names: list[str]
    size: int | None
    unit: PrivacyUnit
    version: str
    identity: str
    entries: dict[str, Entry]
    constraints: list[Any]
    schema: dict[str, Any]
    domain: Domain | None
    opening: OpenSchema | None
    why: str
    uploaded: bool = True
    trial: None = None
    large: None = None  # how its rows are read is no matter of this view
    source: str = ""
    kept_words: str = ""  # how many rows a limit keeps is read from the table

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what is not public."""
        if name.startswith("__"):  # what Python itself looks for, to copy or to compare
            raise AttributeError(name)
        raise WithheldError

    @property
    def n(self) -> int:
        """How many rows there are, whatever the limit for each person: how many count is read from the table."""
        if self.size is None:
            raise WithheldError
        return self.size

    @property
    def many(self) -> str:
        """How many rows there are, in words."""
        return "rows not counted yet" if self.size is None else f"{self.size:,} rows"

    @property
    def guessed(self) -> bool:
        """Whether the schema was filled in from the rows."""
        return self.why == SCHEMA

    @property
    def peeked(self) -> bool:
        """Whether what is known of the schema was filled in from the rows; a trial is not known here."""
        return self.guessed


def public_face(whole: Table) -> PublicTable:
    """Return what may be shown of a private table.

    The schema is read by itself: whether it serves the table depends on the rows.
    """
    omission_reason, domain, partial_schema = "", None, None
    if whole.guessed:
        omission_reason = SCHEMA
    elif whole.size is None:
        omission_reason = NOT_COUNTED
    if not omission_reason and all(whole.names.count(name) == 1 for name in whole.entries):
        domain, partial_schema = _stated(whole.schema)
    is_user_input = not whole.guessed
    return PublicTable(
        name=whole.name,
        names=whole.names,
        size=whole.size,
        unit=whole.unit,
        version=whole.version,
        identity=whole.identity,
        entries=whole.entries if is_user_input else {},
        constraints=whole.constraints if is_user_input else [],
        schema=whole.schema if is_user_input else {},
        domain=domain,
        opening=partial_schema,
        why=omission_reason,
    )


def _stated(schema: dict[str, Any]) -> tuple[Domain | None, OpenSchema | None]:
    """Return what a schema says as a domain, or as one of which some is to be measured; neither for none."""
    try:
        if is_open(schema):
            return None, open_schema_from_json(schema)
        return domain_from_json(schema), None
    except InputError:
        return None, None


def is_withheld(table: Table | PublicTable) -> bool:
    """Whether a page knows of this table what is public only."""
    return isinstance(table, PublicTable)


def say_left_out() -> None:
    """Say once on a page that something is left out, and what to do."""
    if st.session_state.get(SAID):
        return
    st.session_state[SAID] = True
    st.info(LEFT_OUT, icon=":material/visibility_off:")
    st.page_link("pages/release.py", label="Open Release", icon=":material/publish:")


def reason(error: object, longest: int = 400) -> str:
    """Return for markdown why something could not be done: it may quote a cell, so the view leaves it out."""
    return unless_private(plain(error, longest))


def unless_private(markdown: str) -> str:
    """Return these words on what could not be done, or in the view that they are left out."""
    return REASON if stakeholder() else markdown


def begin() -> None:
    """A page begins: nothing is said yet."""
    st.session_state[SAID] = False


def guarded(draw: Callable[[], None]) -> None:
    """Draw a page; where it asks for what is left out, say so and draw no more of it."""
    try:
        draw()
    except WithheldError:
        say_left_out()
