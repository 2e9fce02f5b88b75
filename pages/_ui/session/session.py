"""What one browser tab holds: its table, the work it has under way, and what it remembers of both."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import streamlit as st

from .stakeholder_view import stakeholder
from .table import Table

MEMOS = 8  # results of one kind that a tab keeps
FORGOTTEN = "_forgotten"  # that a table was, until the browser has heard it
OWN = "table"  # in the address of a tab whose table was uploaded
ARRIVAL, CHANGE, DESK = "arrival", "change", "desk"
IN_BOTH_VIEWS = (ARRIVAL, CHANGE, DESK)  # a file or schema being read and a release: their outcome is never drawn as is
KEPT_WIDGETS = ("view", "present")  # settings of a tab that say nothing about its table


class Held(Protocol):
    """Something that a session owns: it is closed when the table is forgotten, and at the tab's end."""

    def close(self) -> None:
        """Cancel what runs and give back what is shared."""
        ...


T = TypeVar("T")
H = TypeVar("H", bound=Held)


@dataclass(eq=False)
class Session:
    """One tab: its `table`, what it `held` under a name each (jobs with shared blocks), its memos, what was looked at.

    `looked` holds keyed digests of uploads of which something was shown. They outlive `forget`: what a person has seen
    stays seen, and a digest says nothing of a table. `link` is the address that the tab was opened with.

    What is run or remembered in the stakeholder view is kept apart from all else, so that nothing that was made of
    rows outside of it is found there; it waits for the view's end.
    """

    table: Table | None = None
    held: dict[str, Held] = field(default_factory=dict)
    memos: dict[str, list[tuple[Any, Any]]] = field(default_factory=dict)
    looked: set[int] = field(default_factory=set)
    link: dict[str, list[str]] = field(
        default_factory=lambda: {name: st.query_params.get_all(name) for name in st.query_params}
    )
    opened_with: bytes = b""  # the digest of the ledger key that was typed, kept on the server and not in a widget
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)

    def own(self, name: str, make: Callable[[], H]) -> H:
        """What this tab holds under `name`, made at the first call."""
        key = _in_view(name)
        if key not in self.held:
            self.held[key] = make()
        return self.held[key]  # type: ignore[return-value]

    def find(self, name: str) -> Held | None:
        """What this tab holds under `name`; None for nothing."""
        return self.held.get(_in_view(name))

    def drop(self, name: str) -> None:
        """Close what this tab holds under `name`, if there is anything."""
        resource = self.held.pop(_in_view(name), None)
        if resource is not None:
            resource.close()

    def memo(self, name: str, key: Any, compute: Callable[[], T]) -> T:
        """`compute()`, done once for this `key`; under each name the last `MEMOS` keys are remembered."""
        memos = self.memos.setdefault(_in_view(name), [])
        for memo_key, value in memos:
            if memo_key == key:
                return value
        value = compute()
        memos.append((key, value))
        del memos[:-MEMOS]
        return value

    def knows(self, name: str, key: Any) -> bool:
        """Whether a memo of this `key` is there."""
        return any(memo_key == key for memo_key, _ in self.memos.get(_in_view(name), []))

    def look(self, table: Table) -> None:
        """Remember that something of an upload's records was shown; forgetting the table does not undo it."""
        if table.uploaded:
            self.looked.add(self._digest(table))

    def has_looked(self, table: Table) -> bool:
        """Whether something was shown of the records of an upload with these columns and as many rows."""
        return table.uploaded and self._digest(table) in self.looked

    def close(self) -> None:
        """Let go of the table and of everything that was made of it: jobs, shared blocks, memos and results."""
        for resource in self.held.values():
            resource.close()
        self.held, self.memos, self.table = {}, {}, None

    def _digest(self, table: Table) -> int:
        large_table = table.large
        # any, where nobody counted them
        rows = len(table.frame) if large_table is None else large_table.rows if large_table.said else -1
        return hash((self.salt, *sorted(map(str, table.frame.columns)), rows))


def _in_view(name: str) -> str:
    """The key of what a tab holds under a name: another one in the stakeholder view."""
    return name if name in IN_BOTH_VIEWS or not stakeholder() else f"{name}, for stakeholders"


@st.cache_resource(scope="session", on_release=Session.close, show_spinner=False)
def _new() -> Session:
    return Session()


def session() -> Session:
    """The calling tab's; closed when the tab is."""
    if "session" not in st.session_state:
        st.session_state["session"] = _new()
    return st.session_state["session"]


def forget() -> None:
    """Drop this tab's table and everything that was made of it or typed about it."""
    session().close()
    for key in [key for key in st.session_state if key not in ("session", *KEPT_WIDGETS)]:
        del st.session_state[key]
    for name in ("sample", OWN):
        st.query_params.pop(name, None)
    st.session_state[FORGOTTEN] = True
