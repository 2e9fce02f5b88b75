"""The written reason that a release needs after somebody has looked at the table."""

import streamlit as st

from dpcore.evaluation.project import MAX_REASON_CHARS

from ..session import Table, session


def draw_reason_input(table: Table) -> tuple[bool, str]:
    """Draw an input for a written reason; return whether one is needed, and the text."""
    if not table.uploaded or not (table.schema_uses_real_data or session().was_viewed(table)):
        return False, ""
    origin_text = (
        "Kinds, bounds or values of its schema come from the data. "
        if table.is_schema_inferred
        else ""
    )
    origin_text += (
        "Its rows, real errors or a trial of its schema were shown. "
        if session().was_viewed(table)
        else ""
    )
    st.caption(
        origin_text
        + "What you choose after such a look can reveal something about the table, which no "
        "budget counts."
    )
    text = st.text_area(
        "You have looked at this table. Why may it be released?",
        key="reason",
        max_chars=MAX_REASON_CHARS,
        height=68,
        persist_state="session",
        placeholder="Everybody can read this on the card: do not quote the data.",
    )
    return True, " ".join(text.split())
