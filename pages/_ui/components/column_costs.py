"""Cost and predicted error of every column whose schema is to be measured.

From public numbers alone.
"""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.algorithms.schema_measurement.hidden_rows import (
    NEARLY_ALL_HIDDEN_ADVICE,
    HiddenRows,
)
from dpcore.algorithms.schema_measurement.predicted_errors import (
    VISIBLE_ROWS_SHARE,
    min_visible_rows,
    missing_budget_text,
    planned_events_of,
    predicted_error_text,
    purpose_text,
)
from dpcore.privacy.accounting import Plan
from dpcore.problems import ColumnMeasurement
from dpcore.schema.partial_schema import UnknownColumn

from ..session.inert_text import (
    capitalize_first,
    escape_markdown,
    join_first_printable_texts,
    printable_text,
)
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


def hidden_rows_text(hidden_rows: HiddenRows) -> str:
    """Return what measuring will hide as sentences, with advice where that is nearly all."""
    text = f"{capitalize_first(hidden_rows.text)}."
    return f"{text} {NEARLY_ALL_HIDDEN_ADVICE}." if hidden_rows.hides_nearly_all else text


def column_cost_rows(
    columns: Sequence[UnknownColumn],
    problem: ColumnMeasurement,
    plan: Plan | None,
    refusal: str = "",
) -> list[dict[str, str]]:
    """Return each column's name, kind, events by the plan, and predicted error.

    Columns of a kind have the same cost. `problem` is about those that can be measured, and `plan`
    its plan, None where there is none of them; `refusal` says why the others cannot be.
    """
    texts_by_kind = {}
    if plan is not None:
        column_by_kind = {column.is_categorical: column for column in reversed(problem.columns)}
        texts_by_kind = {
            kind: _cost_texts(column, problem, plan) for kind, column in column_by_kind.items()
        }
    empty_texts = {"charges": "", "how far off": refusal}
    return [
        {
            "column": printable_text(c.name),
            "kind": c.kind,
            **texts_by_kind.get(c.is_categorical, empty_texts),
        }
        for c in columns
    ]


def _cost_texts(column: UnknownColumn, problem: ColumnMeasurement, plan: Plan) -> dict[str, str]:
    shortage_text = ""
    if min_visible_rows(column, problem, plan) > VISIBLE_ROWS_SHARE * problem.n:
        shortage_text = f"; {missing_budget_text(column, problem, plan)}"
    return {
        "charges": _charge_text(column, plan),
        "how far off": predicted_error_text(column, problem, plan) + shortage_text,
    }


def _charge_text(column: UnknownColumn, plan: Plan) -> str:
    split = plan["split"]
    events = [(event.spend, event.times) for event in planned_events_of(column, plan)]
    cost = split.accounting.of_events(events)
    total = cost.cost
    symbol = cost.symbol
    failure = f", δ₀ = {cost.failure:.3g}" if cost.failure else ""
    budget_share = total / split.cost
    return (
        f"{purpose_text(column, plan)}: {symbol} = {total:.3g}{failure}, {budget_share:.2%} of "
        "the budget"
    )
