"""State of one browser tab: its table, its work under way, and its memos of both."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import streamlit as st

from .stakeholder_view import is_stakeholder_view
from .table import Table
from .table_history import TableHistory

MAX_MEMOS_PER_NAME = 8  # results of one kind that a tab keeps
MAX_PUBLIC_MEMOS_PER_NAME = 64  # results of one kind on public samples that all tabs keep
FORGOTTEN_KEY = "_forgotten"  # that a table was, until the browser has heard it
UPLOADED_TABLE_PARAM = "table"  # in the address of a tab whose table was uploaded
TABLE_UPLOAD = "arrival"
SCHEMA_CHANGE = "change"
RELEASE_DESK = "desk"
# a file or schema being read and a release: their outcome is never drawn as is
IN_BOTH_VIEWS = (
    TABLE_UPLOAD,
    SCHEMA_CHANGE,
    RELEASE_DESK,
)
PERSISTENT_WIDGET_KEYS = ("view", "present")  # settings of a tab that say nothing about its table


class SessionResource(Protocol):
    """Resource owned by a session, closed when the table is forgotten and when the tab ends."""

    def close(self) -> None:
        """Cancel what runs and give back what is shared."""
        ...


Memos = list[tuple[Any, Any]]  # values with their keys, the oldest first
T = TypeVar("T")
H = TypeVar("H", bound=SessionResource)


@dataclass(eq=False)
class Session:
    """Browser tab's state: its `table` and what it was before, its named resources and memos.

    Resources are jobs with shared blocks and the like. `viewed_table_digests` holds keyed digests
    of
    uploads of which something was shown. They outlive `forget_table`: what a person has seen stays
    seen, and a digest says nothing of a table. `initial_query_params` is the address that the tab
    was
    opened with.

    What is run or remembered in the stakeholder view is kept apart from all else, so that nothing
    that
    was made of rows outside of it is found there; it waits for the view's end.
    """

    table: Table | None = None
    history: TableHistory = field(default_factory=TableHistory)
    resources: dict[str, SessionResource] = field(default_factory=dict)
    memos: dict[str, Memos] = field(default_factory=dict)
    viewed_table_digests: set[int] = field(default_factory=set)
    initial_query_params: dict[str, list[str]] = field(
        default_factory=lambda: {name: st.query_params.get_all(name) for name in st.query_params}
    )
    owner_key_digest: bytes = (
        b""  # the digest of the ledger key that was typed, kept on the server and not in a widget
    )
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)

    def get_or_create(self, name: str, make: Callable[[], H]) -> H:
        """Return the tab's resource called `name`, made at the first call."""
        key = _key_in_view(name)
        if key not in self.resources:
            self.resources[key] = make()
        return self.resources[key]  # type: ignore[return-value]

    def find_resource(self, name: str) -> SessionResource | None:
        """Return the tab's resource called `name`, or None."""
        return self.resources.get(_key_in_view(name))

    def close_resource(self, name: str) -> None:
        """Close what this tab holds under `name`, if there is anything."""
        resource = self.resources.pop(_key_in_view(name), None)
        if resource is not None:
            resource.close()

    def memoize(self, name: str, key: Any, compute: Callable[[], T]) -> T:
        """Return `compute()`, done once for this `key`.

        Under each name the last `MAX_MEMOS_PER_NAME` keys are remembered.
        """
        return memoize_in(self.memos, _key_in_view(name), key, compute, MAX_MEMOS_PER_NAME)

    def memoize_public(self, name: str, key: Any, compute: Callable[[], T]) -> T:
        """Return `compute()`, done once for all tabs that are about a public sample.

        The value follows from the `key` alone. A tab about any other table keeps its own.
        """
        if self.table is None or self.table.uploaded or self.table.trial is not None:
            return self.memoize(name, key, compute)
        return memoize_in(_public_memos(), name, key, compute, MAX_PUBLIC_MEMOS_PER_NAME)

    def has_memo(self, name: str, key: Any) -> bool:
        """Return whether `memoize` has stored a result for this name and key."""
        return any(memo_key == key for memo_key, _ in self.memos.get(_key_in_view(name), []))

    def mark_viewed(self, table: Table) -> None:
        """Store that something of an upload's rows was shown.

        Forgetting the table does not undo it.
        """
        if table.uploaded:
            self.viewed_table_digests.add(self._table_digest(table))

    def was_viewed(self, table: Table) -> bool:
        """Return whether rows were shown of an upload with these columns and as many rows."""
        return table.uploaded and self._table_digest(table) in self.viewed_table_digests

    def close(self) -> None:
        """Drop the table and all that was made of it: jobs, shared blocks, memos and results."""
        for resource in self.resources.values():
            resource.close()
        self.resources = {}
        self.memos = {}
        self.table = None
        self.history.clear()

    def _table_digest(self, table: Table) -> int:
        large_table = table.large_table
        if large_table is None:
            rows = len(table.frame)
        elif large_table.is_row_count_exact:
            rows = large_table.rows
        else:
            rows = -1  # nobody counted them
        return hash((self.salt, *sorted(map(str, table.frame.columns)), rows))


def memoize_in(
    memos: dict[str, Memos],
    name: str,
    key: Any,
    compute: Callable[[], T],
    limit: int = MAX_MEMOS_PER_NAME,
) -> T:
    """Return what `memos` hold under a name and key, computed where it is missing.

    Under each name the last `limit` keys stay. Lists are replaced and never changed, since other
    tabs may read them meanwhile.
    """
    for memo_key, value in memos.get(name, []):
        if memo_key == key:
            return value
    value = compute()
    memos[name] = [*memos.get(name, []), (key, value)][-limit:]
    return value


@st.cache_resource(show_spinner=False)
def _public_memos() -> dict[str, Memos]:
    """Return what all tabs of this server remember of public samples."""
    return {}


def _key_in_view(name: str) -> str:
    """Return the key of a named resource: another one in the stakeholder view."""
    return (
        name if name in IN_BOTH_VIEWS or not is_stakeholder_view() else f"{name}, for stakeholders"
    )


@st.cache_resource(scope="session", on_release=Session.close, show_spinner=False)
def _new_session() -> Session:
    return Session()


def session() -> Session:
    """Return the calling tab's session, which is closed when the tab is."""
    if "session" not in st.session_state:
        st.session_state["session"] = _new_session()
    return st.session_state["session"]


def forget_table() -> None:
    """Drop this tab's table and everything that was made of it or typed about it."""
    session().close()
    for key in [key for key in st.session_state if key not in ("session", *PERSISTENT_WIDGET_KEYS)]:
        del st.session_state[key]
    for name in ("sample", UPLOADED_TABLE_PARAM):
        st.query_params.pop(name, None)
    st.session_state[FORGOTTEN_KEY] = True
