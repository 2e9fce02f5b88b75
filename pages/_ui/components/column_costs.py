"""Cost and predicted error of every column whose schema is to be measured.

From public numbers alone.
"""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.algorithms.schema_measurement.measurement_plan import VISIBLE_ROWS_SHARE, SchemaPlan
from dpcore.schema.partial_schema import UnknownColumn

from ..session.inert_text import escape_markdown, join_first_printable_texts, printable_text
from .result_panels import draw_downloadable_table

MAX_NAMES_CHARS = 400  # characters of names in one line


def draw_column_costs(cost_rows: Sequence[dict[str, str]]) -> None:
    """Draw the columns' measurement costs, grouped where equal, and a table of each."""
    names_by_cost: dict[tuple[str, str], list[str]] = {}
    for cost_row in cost_rows:
        names_by_cost.setdefault((cost_row["charges"], cost_row["how far off"]), []).append(
            cost_row["column"]
        )
    for (charges, error_text), names in names_by_cost.items():
        per_column = " each" if len(names) > 1 and charges else ""
        st.markdown(
            f"**{escape_markdown(join_first_printable_texts(names, MAX_NAMES_CHARS), 600)}**: "
            f"{escape_markdown(error_text, 600)}."
            + (f" *Cost{per_column}: {escape_markdown(charges, 400)}.*" if charges else "")
        )
    with st.popover("Column by column", type="tertiary", icon=":material/table:"):
        draw_downloadable_table(pd.DataFrame(cost_rows), "measuring")


def column_cost_rows(
    columns: Sequence[UnknownColumn], plan: SchemaPlan | None, refusal: str = ""
) -> list[dict[str, str]]:
    """Return each column's name, kind, events by the schema's plan, and predicted error.

    Columns of a kind have the same cost. Where a plan could not be made for columns of categories
    they
    are not in it, and `refusal` says why.
    """
    column_by_kind = (
        {} if plan is None else {column.is_categorical: column for column in reversed(plan.columns)}
    )
    texts_by_kind = {kind: _cost_texts(column, plan) for kind, column in column_by_kind.items()}
    empty_texts = {"charges": "", "how far off": refusal}
    return [
        {
            "column": printable_text(c.name),
            "kind": c.kind,
            **texts_by_kind.get(c.is_categorical, empty_texts),
        }
        for c in columns
    ]


def _cost_texts(column: UnknownColumn, plan: SchemaPlan) -> dict[str, str]:
    shortage_text = (
        f"; {plan.missing_budget_text(column)}"
        if plan.min_visible_rows(column) > VISIBLE_ROWS_SHARE * plan.n
        else ""
    )
    return {
        "charges": _charge_text(column, plan),
        "how far off": plan.predicted_error_text(column) + shortage_text,
    }


def _charge_text(column: UnknownColumn, plan: SchemaPlan) -> str:
    division = plan.division
    cost = division.accounting.of_events([(c.spend, c.times) for c in plan.charges_of(column)])
    total = cost.cost
    symbol = cost.symbol
    failure = f", δ₀ = {cost.failure:.3g}" if cost.failure else ""
    budget_share = total / (division.schema_cost + division.algorithm_cost)
    return (
        f"{plan.purpose_text(column)}: {symbol} = {total:.3g}{failure}, {budget_share:.2%} of "
        "the budget"
    )
