"""The Data page in the stakeholder view of a private table: what a person entered, and what follows from it alone."""

import pandas as pd
import streamlit as st

from ..components import as_table, heading
from ..jobs import table_changes
from ..session import clean, distinct, plain, say_left_out
from ..session.stakeholder_wall import REASON, PublicTable
from . import schema_measurement, table_choice
from .column_entries import ASIDE, SAID, said
from .column_grid import POLICIES
from .readiness import readiness


def show(current: PublicTable) -> None:
    """Draw the schema as a person entered it, what measuring it would cost, and what a run would take."""
    table_changes.changing_aside()
    if st.session_state.get(table_changes.UNCHANGED):  # kept, so that it is there when the view ends
        st.warning(REASON)
    if current.why:
        st.info(current.why, icon=":material/visibility_off:")
    else:
        heading("What you entered about its columns")
        as_table(pd.DataFrame(_lines(current)), "entered")
        if current.domain is not None and current.domain.constraints:
            constraints_text = "; ".join(constraint.words for constraint in current.domain.constraints)
            st.caption(plain(f"Impossible combinations: {clean(constraints_text)}.", 400))
        schema_measurement.panel(current, None)
    if current.domain is not None:
        heading("What a run would take")
        readiness(current)
    with st.expander("Save or load these settings"):
        if not current.why:
            table_choice.download_schema(current)
        table_choice.upload_schema(current)
    say_left_out()


def _lines(current: PublicTable) -> list[dict[str, str]]:
    """Return a line for each column of the table, in its order."""
    labels = distinct(current.names, 40)
    return [_line(labels[name], current.entries.get(name)) for name in current.names]


def _line(name: str, entry: object) -> dict[str, str]:
    """Return what was entered about one column; of one that has no entry, that it is not used."""
    if not isinstance(entry, dict):
        return {"column": name, "what it is": ASIDE}
    reading = str(entry.get("kind")), str(entry.get("read", ""))
    return {
        "column": name,
        "what it is": SAID.get(reading, " ".join(reading)),
        "public values or range": said(entry),
        "missing": _policy(entry.get("missing", "refuse")),
        "out of range": _policy(entry.get("out_of_range", "refuse")),
    }


def _policy(entered: object) -> str:
    """Return in words what becomes of such cells; as it stands in the schema where it is no such word."""
    return POLICIES.get(str(entered), clean(entered))
