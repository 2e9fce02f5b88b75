"""What every column that is to be measured costs, and how far off it may be: from public numbers alone."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from dpcore.data.open_schema import OpenColumn
from dpcore.privacy.accounting.budget import Accounting, Sums
from dpcore.schemas.plan import ENOUGH, SchemaPlan

from .results import as_table
from .text import clean, plain

SHOWN = 40  # names in one line


def draw(lines: Sequence[dict[str, str]]) -> None:
    """Columns of which the same is to be said stand together; each by itself in a table."""
    same: dict[tuple[str, str], list[str]] = {}
    for one in lines:
        same.setdefault((one["charges"], one["how far off"]), []).append(one["column"])
    for (charges, off), names in same.items():
        named = plain(", ".join(names[:SHOWN]) + f" and {len(names) - SHOWN} more" * (len(names) > SHOWN), 600)
        each = " each" if len(names) > 1 and charges else ""
        st.markdown(f"**{named}**: {plain(off, 600)}." + f" *Cost{each}: {plain(charges, 400)}.*" * bool(charges))
    with st.popover("Column by column", type="tertiary", icon=":material/table:"):
        as_table(pd.DataFrame(lines), "measuring")


def line(column: OpenColumn, plan: SchemaPlan | None, refused: str = "") -> dict[str, str]:
    """A column's charges as the schema's plan names them and how far off it may be, or why it cannot be measured."""
    known = {"column": clean(column.name), "kind": column.kind}
    if plan is None or refused:
        return known | {"charges": "", "how far off": refused}
    seldom = f"; {plan.wanting(column)}" if plan.least(column) > ENOUGH * plan.n else ""
    return known | {"charges": _charged(column, plan), "how far off": plan.expected(column) + seldom}


def _charged(column: OpenColumn, plan: SchemaPlan) -> str:
    charges, division = plan.charges(column), plan.division
    cost = Sums.of((c.spend, c.times) for c in charges)
    together, symbol = (cost.pure, "ε") if division.accounting is Accounting.PURE else (cost.rho, "ρ")
    kinds = (c.statistic if isinstance(c.statistic, type) else type(c.statistic) for c in charges)
    named = ", ".join(f"{c.verb} {kind.__name__}" for c, kind in zip(charges, kinds, strict=True))
    failure = f", δ₀ = {cost.failure:.3g}" if cost.failure else ""
    part = together / (division.schema + division.rest)
    return f"{named}: {symbol} = {together:.3g}{failure}, {part:.2%} of the budget"
