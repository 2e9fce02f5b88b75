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
    same: dict[tuple[str, str], list[str]] = {}
    for one in found:
        same.setdefault((one["charges"], one["how far off"]), []).append(one["column"])
    for (charges, off), names in same.items():
        each = " each" if len(names) > 1 and charges else ""
        st.markdown(
            f"**{plain(few(names, SHOWN), 600)}**: {plain(off, 600)}."
            + f" *Cost{each}: {plain(charges, 400)}.*" * bool(charges)
        )
    with st.popover("Column by column", type="tertiary", icon=":material/table:"):
        as_table(pd.DataFrame(found), "measuring")


def lines(columns: Sequence[OpenColumn], plan: SchemaPlan | None, refused: str = "") -> list[dict[str, str]]:
    """Every column's charges, by the schema's plan, and how far off it may be; columns of a kind are alike.

    Where a plan could not be made for columns of categories they are not in it, and `refused` says why.
    """
    kinds = {} if plan is None else {column.categorical: column for column in reversed(plan.columns)}
    known = {kind: _known(column, plan) for kind, column in kinds.items()}
    nothing = {"charges": "", "how far off": refused}
    return [{"column": clean(c.name), "kind": c.kind, **known.get(c.categorical, nothing)} for c in columns]


def _known(column: OpenColumn, plan: SchemaPlan) -> dict[str, str]:
    seldom = f"; {plan.wanting(column)}" if plan.least(column) > ENOUGH * plan.n else ""
    return {"charges": _charged(column, plan), "how far off": plan.expected(column) + seldom}


def _charged(column: OpenColumn, plan: SchemaPlan) -> str:
    cost, division = Sums.of((c.spend, c.times) for c in plan.charges(column)), plan.division
    together, symbol = (cost.pure, "ε") if division.accounting is Accounting.PURE else (cost.rho, "ρ")
    failure = f", δ₀ = {cost.failure:.3g}" if cost.failure else ""
    part = together / (division.schema + division.rest)
    return f"{plan.buys(column)}: {symbol} = {together:.3g}{failure}, {part:.2%} of the budget"
