"""The Data page in the stakeholder view of a private table: what a person entered, and what follows from it alone."""

import pandas as pd
import streamlit as st

from ..jobs import changes
from ..shell import as_table, clean, distinct, heading, plain, say_left_out
from ..shell.wall import REASON, PublicTable
from . import choosing, measuring
from .entries import ASIDE, SAID, said
from .grid import POLICIES
from .readiness import readiness


def show(current: PublicTable) -> None:
    """Draw the schema as a person entered it, what measuring it would cost, and what a run would take."""
    changes.changing_aside()
    if st.session_state.get(changes.UNCHANGED):  # kept, so that it is there when the view ends
        st.warning(REASON)
    if current.why:
        st.info(current.why, icon=":material/visibility_off:")
    else:
        heading("What you entered about its columns")
        as_table(pd.DataFrame(_lines(current)), "entered")
        if current.domain is not None and current.domain.constraints:
            words = "; ".join(constraint.words for constraint in current.domain.constraints)
            st.caption(plain(f"Impossible combinations: {clean(words)}.", 400))
        measuring.panel(current, None)
    if current.domain is not None:
        heading("What a run would take")
        readiness(current)
    with st.expander("Save or load these settings"):
        if not current.why:
            choosing.download_schema(current)
        choosing.upload_schema(current)
    say_left_out()


def _lines(current: PublicTable) -> list[dict[str, str]]:
    """Return a line for each column of the table, in its order."""
    shown = distinct(current.names, 40)
    return [_line(shown[name], current.entries.get(name)) for name in current.names]


def _line(name: str, entry: object) -> dict[str, str]:
    """Return what was entered about one column; of one that has no entry, that it is not used."""
    if not isinstance(entry, dict):
        return {"column": name, "what it is": ASIDE}
    kind = str(entry.get("kind")), str(entry.get("read", ""))
    return {
        "column": name,
        "what it is": SAID.get(kind, " ".join(kind)),
        "public values or range": said(entry),
        "missing": _policy(entry.get("missing", "refuse")),
        "out of range": _policy(entry.get("out_of_range", "refuse")),
    }


def _policy(entered: object) -> str:
    """Return in words what becomes of such cells; as it stands in the schema where it is no such word."""
    return POLICIES.get(str(entered), clean(entered))
