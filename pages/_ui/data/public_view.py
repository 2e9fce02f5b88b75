"""Data page in the stakeholder view of a private table: typed facts and what follows.

It shows what a person entered, and what follows from it alone.
"""

import pandas as pd
import streamlit as st

from ..components import draw_downloadable_table, draw_heading
from ..jobs import table_changes
from ..session import distinct_labels, escape_markdown, printable_text, show_left_out_notice
from ..session.stakeholder_wall import REASON_LEFT_OUT_TEXT, PublicTable
from . import schema_measurement, table_choice
from .column_entries import NOT_USED, TEXT_BY_READING, public_values_text
from .column_grid import POLICY_TEXTS
from .readiness import draw_forecasts


def draw_public_view(current: PublicTable) -> None:
    """Draw the schema as a person entered it, the cost of measuring it, and a run's forecast."""
    table_changes.draw_stakeholder_change()
    # kept, so that it is there when the view ends
    if st.session_state.get(table_changes.SCHEMA_PROBLEM_KEY):
        st.warning(REASON_LEFT_OUT_TEXT)
    if current.schema_omission_reason:
        st.info(current.schema_omission_reason, icon=":material/visibility_off:")
    else:
        draw_heading("What you entered about its columns")
        draw_downloadable_table(pd.DataFrame(_schema_rows(current)), "entered")
        if current.domain is not None and current.domain.constraints:
            constraints_text = "; ".join(
                constraint.description for constraint in current.domain.constraints
            )
            st.caption(
                escape_markdown(
                    f"Impossible combinations: {printable_text(constraints_text)}.", 400
                )
            )
        schema_measurement.draw_measurement_panel(current, None)
    if current.domain is not None:
        draw_heading("What a run would take")
        draw_forecasts(current)
    with st.expander("Save or load these settings"):
        if not current.schema_omission_reason:
            table_choice.draw_schema_download(current)
        table_choice.draw_schema_upload(current)
    show_left_out_notice()


def _schema_rows(current: PublicTable) -> list[dict[str, str]]:
    """Return a line for each column of the table, in its order."""
    labels = distinct_labels(current.names, 40)
    return [_schema_row(labels[name], current.entries.get(name)) for name in current.names]


def _schema_row(name: str, entry: object) -> dict[str, str]:
    """Return what was entered about one column; of one that has no entry, that it is not used."""
    if not isinstance(entry, dict):
        return {"column": name, "what it is": NOT_USED}
    reading = str(entry.get("kind")), str(entry.get("read", ""))
    return {
        "column": name,
        "what it is": TEXT_BY_READING.get(reading, " ".join(reading)),
        "public values or range": public_values_text(entry),
        "missing": _policy_text(entry.get("missing", "refuse")),
        "out of range": _policy_text(entry.get("out_of_range", "refuse")),
    }


def _policy_text(policy: object) -> str:
    """Return in words what a policy for raw text does, or the policy itself if unknown."""
    return POLICY_TEXTS.get(str(policy), printable_text(policy))
