"""Wall of the stakeholder view: a private table's public facts, and a text for the others.

`visible_table` hands every page a `PublicTable` in place of a private `Table` as long as the view
is on, and a session keeps what was run there apart. So nothing that a page draws can depend on a
row: a new panel that asks for rows, or for anything made of them, draws the words below until
somebody adds what it needs to `PublicTable`, which is the list of what may be shown. Only the row
count, the file's name and headings, and what a person entered stand on it.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import streamlit as st

from dpcore import Domain, InputError, PrivacyUnit, domain_from_json
from dpcore.core.types import frozen
from dpcore.schema.partial_schema import (
    PartialSchema,
    has_private_columns,
    partial_schema_from_json,
)

from .inert_text import escape_markdown
from .stakeholder_view import is_stakeholder_view
from .table import SchemaEntry, Table

LEFT_OUT_TEXT = (
    "Other numbers here come from trials on the real table, so this view leaves them "
    "out. Make a release to show them."
)
SCHEMA_LEFT_OUT_TEXT = (
    "The schema of this table was filled in from its rows. So this view leaves it out, and all "
    "that rests on it. Turn "
    "the view off under Share ▾ to enter values and bounds yourself."
)
ROWS_NOT_COUNTED_TEXT = (
    "The rows of this table are not counted yet, so nothing can be predicted. Turn the view off "
    "under Share ▾ and open "
    "this page once."
)
REASON_LEFT_OUT_TEXT = (
    "This could not be done. The reason may quote the table, so this view leaves it out. Turn "
    "the view off under "
    "Share ▾ to read it."
)
PREDICTED_FOR_ALL_ROWS_TEXT = (
    "Predicted for all {size:,} rows. How many count, with the limit for each person, is read "
    "from the table, so this "
    "view leaves it out."
)
ONLY_RELEASED_TEXT = (
    "This page shows what was released. To prepare a release, the table is read: turn the view "
    "off under Share ▾, "
    "release, and turn it on again."
)
NOTICE_SHOWN_KEY = "_left-out"  # whether the page that is drawn has said what is left out


class WithheldError(InputError):
    """Error for a request beyond what the view shows of a private table; its text is fixed."""

    def __init__(self) -> None:
        super().__init__(LEFT_OUT_TEXT)


@frozen
class PublicTable:
    """Public facts of a private table; any other `Table` attribute raises WithheldError.

    Args:
        name: Of the file.
        names: The headings of its columns, in the file's order.
        row_count: How many rows it has, or people where these count; None where nobody has
            counted them.
        unit: Whom the guarantee protects.
        version: That of the table's schema, a random text; widgets are named by it.
        identity: That of the table, a random text; widgets that outlive a change of its schema are
            named by it.
        entries: What a person entered about each column; empty where the schema was filled in from
            the rows.
        constraints: What a person entered that cannot be, as it stands in the schema.
        schema: Both, as a file holds them.
        domain: What the schema says; None where it is not complete, or is left out.
        partial_schema: The same of a schema of which some is to be measured.
        why: Why this view leaves the schema out, in words; empty where it does not.

    """

    name: str
    names: list[str]
    row_count: int | None
    unit: PrivacyUnit
    version: str
    identity: str
    entries: dict[str, SchemaEntry]
    constraints: list[Any]
    schema: dict[str, Any]
    domain: Domain | None
    partial_schema: PartialSchema | None
    schema_omission_reason: str
    uploaded: bool = True
    trial: None = None
    large_table: None = None  # how its rows are read is no matter of this view
    source: str = ""
    limited_rows_text: str = ""  # how many rows a limit keeps is read from the table

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what is not public."""
        if name.startswith("__"):  # what Python itself looks for, to copy or to compare
            raise AttributeError(name)
        raise WithheldError

    @property
    def n(self) -> int:
        """Number of rows, before any limit of rows per person, or of people where these count.

        How many count under the limit is read from the table, so it is not known here. Raises
        WithheldError where nobody has counted the rows.
        """
        if self.row_count is None:
            raise WithheldError
        return self.row_count

    @property
    def row_count_text(self) -> str:
        """How many rows there are, or people where these count, in words."""
        noun = "people" if self.unit.counts_people else "rows"
        return f"{noun} not counted yet" if self.row_count is None else f"{self.row_count:,} {noun}"

    @property
    def is_schema_inferred(self) -> bool:
        """Whether the schema was filled in from the rows."""
        return self.schema_omission_reason == SCHEMA_LEFT_OUT_TEXT

    @property
    def schema_uses_real_data(self) -> bool:
        """Whether the known schema was filled in from the rows; a trial is not known here."""
        return self.is_schema_inferred


def public_table_of(private_table: Table) -> PublicTable:
    """Return what may be shown of a private table.

    The schema is read by itself: whether it serves the table depends on the rows.
    """
    omission_reason = ""
    public_count = private_table.public_count
    domain = None
    partial_schema = None
    if private_table.is_schema_inferred:
        omission_reason = SCHEMA_LEFT_OUT_TEXT
    elif public_count is None:
        omission_reason = ROWS_NOT_COUNTED_TEXT
    if not omission_reason and all(
        private_table.names.count(name) == 1 for name in private_table.entries
    ):
        domain, partial_schema = _read_schema(private_table.schema)
    is_user_input = not private_table.is_schema_inferred
    return PublicTable(
        name=private_table.name,
        names=private_table.names,
        row_count=public_count,
        unit=private_table.unit,
        version=private_table.version,
        identity=private_table.identity,
        entries=private_table.entries if is_user_input else {},
        constraints=private_table.constraints if is_user_input else [],
        schema=private_table.schema if is_user_input else {},
        domain=domain,
        partial_schema=partial_schema,
        schema_omission_reason=omission_reason,
    )


def _read_schema(schema: dict[str, Any]) -> tuple[Domain | None, PartialSchema | None]:
    """Return the domain of a schema, or the partial schema; None for both if it is neither.

    A partial schema is one of which some is to be measured.
    """
    try:
        if has_private_columns(schema):
            return None, partial_schema_from_json(schema)
        return domain_from_json(schema), None
    except InputError:
        return None, None


def predicted_size_note(table: PublicTable) -> str:
    """Return in words for how many rows something is predicted, where a limit leaves some out.

    It is "" where each row is one person, and where people count: how many there are is public.
    """
    if table.unit.person is None or table.unit.counts_people:
        return ""
    return PREDICTED_FOR_ALL_ROWS_TEXT.format(size=table.n)


def is_public_table(table: Table | PublicTable) -> bool:
    """Return whether only public facts of this table are known to the page."""
    return isinstance(table, PublicTable)


def show_left_out_notice() -> None:
    """Say once on a page that something is left out, and what to do."""
    if st.session_state.get(NOTICE_SHOWN_KEY):
        return
    st.session_state[NOTICE_SHOWN_KEY] = True
    st.info(LEFT_OUT_TEXT, icon=":material/visibility_off:")
    st.page_link("pages/release.py", label="Open Release", icon=":material/publish:")


def failure_reason(error: object, max_chars: int = 400) -> str:
    """Return an error's reason as markdown; left out in the stakeholder view.

    It may quote raw text.
    """
    return text_unless_stakeholder(escape_markdown(error, max_chars))


def text_unless_stakeholder(markdown: str) -> str:
    """Return these words on what could not be done, or in the view that they are left out."""
    return REASON_LEFT_OUT_TEXT if is_stakeholder_view() else markdown


def reset_left_out_notice() -> None:
    """Reset the notice of left-out sections at the beginning of a page."""
    st.session_state[NOTICE_SHOWN_KEY] = False


def draw_until_withheld(draw: Callable[[], None]) -> None:
    """Draw a page; where it asks for what is left out, say so and draw no more of it."""
    try:
        draw()
    except WithheldError:
        show_left_out_notice()
