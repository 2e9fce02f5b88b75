"""What every column that is to be measured costs, and how far off it may be: from public numbers alone."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.algorithms.schema_measurement.measurement_plan import ENOUGH, SchemaPlan
from dpcore.privacy.accounting import Accounting, Sums
from dpcore.schema.partial_schema import OpenColumn

from ..session.inert_text import clean, few, plain
from .result_panels import as_table

SHOWN = 400  # characters of names in one line


def draw(found: Sequence[dict[str, str]]) -> None:
    """Columns of which the same is to be said stand together; each by itself in a table."""
    names_by_cost: dict[tuple[str, str], list[str]] = {}
    for cost_row in found:
        names_by_cost.setdefault((cost_row["charges"], cost_row["how far off"]), []).append(cost_row["column"])
    for (charges, error_text), names in names_by_cost.items():
        per_column = " each" if len(names) > 1 and charges else ""
        st.markdown(
            f"**{plain(few(names, SHOWN), 600)}**: {plain(error_text, 600)}."
            + f" *Cost{per_column}: {plain(charges, 400)}.*" * bool(charges)
        )
    with st.popover("Column by column", type="tertiary", icon=":material/table:"):
        as_table(pd.DataFrame(found), "measuring")


def lines(columns: Sequence[OpenColumn], plan: SchemaPlan | None, refused: str = "") -> list[dict[str, str]]:
    """Every column's charges, by the schema's plan, and how far off it may be; columns of a kind are alike.

    Where a plan could not be made for columns of categories they are not in it, and `refused` says why.
    """
    column_by_kind = {} if plan is None else {column.categorical: column for column in reversed(plan.columns)}
    texts_by_kind = {kind: _known(column, plan) for kind, column in column_by_kind.items()}
    empty_texts = {"charges": "", "how far off": refused}
    return [{"column": clean(c.name), "kind": c.kind, **texts_by_kind.get(c.categorical, empty_texts)} for c in columns]


def _known(column: OpenColumn, plan: SchemaPlan) -> dict[str, str]:
    shortage_text = f"; {plan.wanting(column)}" if plan.least(column) > ENOUGH * plan.n else ""
    return {"charges": _charged(column, plan), "how far off": plan.expected(column) + shortage_text}


def _charged(column: OpenColumn, plan: SchemaPlan) -> str:
    cost, division = Sums.of((c.spend, c.times) for c in plan.charges(column)), plan.division
    total, symbol = (cost.pure, "ε") if division.accounting is Accounting.PURE else (cost.rho, "ρ")
    failure = f", δ₀ = {cost.failure:.3g}" if cost.failure else ""
    budget_share = total / (division.schema + division.rest)
    return f"{plan.buys(column)}: {symbol} = {total:.3g}{failure}, {budget_share:.2%} of the budget"
