"""Show what a plan costs by each accountant, and beside it what the papers' closed forms say."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.accuracy import accountant_comparison, printed_formulas
from dpcore.core.numbers import brief

from ..charts import privacy_charts as promise
from ..components import panel
from .planned_release import Planned

BEST = "best accountant"


def costs(budget: Budget, planned: Planned) -> None:
    """Draw the privacy curve of the plan by each accountant and the papers' closed forms."""
    left, right = st.columns(2, gap="large")
    deltas, once, at = planned.deltas, planned.curves(1), nearest(planned.deltas, budget)
    with left:
        st.markdown("**How much budget this plan uses at most, by each way to add it up. The smallest holds**")
        tightest = min(once, key=lambda name: once[name][at])
        said = f"At δ = {brief(deltas[at])} the plan uses {listed(once, at)}. Smallest: {tightest}."
        draw(once, deltas, budget, said, "privacy-curve")
    with right:
        st.markdown("**What formulas printed in papers say that it uses**")
        forms = accountant_comparison.printed(planned.charges, deltas)
        best = np.min(list(once.values()), axis=0)
        draw({BEST: best, **forms}, deltas, budget, _verdict(forms, best, at), "closed-forms")
    with st.expander("Where these formulas come from", icon=":material/receipt:"):
        st.dataframe(_sources(forms), hide_index=True)


def draw(curves: dict[str, np.ndarray], deltas: np.ndarray, budget: Budget, said: str, key: str) -> None:
    """Draw privacy curves by name, that of the best accountant behind the others, and the budget as a star."""
    frame = pd.DataFrame({"δ": deltas, **{f"ε, {name}": c for name, c in curves.items()}})
    figure = promise.privacy_curves(curves, deltas, (budget.epsilon, budget.delta), thick=BEST)
    panel(figure, said, frame, key)


def nearest(deltas: np.ndarray, budget: Budget) -> int:
    """Return where the budget's δ lies among the deltas; 1e-9 where it is 0."""
    return int(np.argmin(np.abs(np.log(deltas) - math.log(budget.delta or 1e-9))))


def listed(curves: dict[str, np.ndarray], at: int) -> str:
    """Say the ε of every curve at one place."""
    return ", ".join(f"ε = {c[at]:.4g} ({name})" for name, c in curves.items())


def _verdict(forms: dict[str, np.ndarray], best: np.ndarray, at: int) -> str:
    """Which printed forms promise more than is true, and how far the others are off."""
    here = {name: float(f[at]) for name, f in forms.items() if np.isfinite(f[at])}
    loose = max(here.values()) / best[at] if here and best[at] > 0 else math.nan
    text = f"At this δ the printed formulas say up to {loose:.2g} times what the plan uses." if loose >= 1 else ""
    with np.errstate(invalid="ignore"):
        unsafe = [name for name, f in forms.items() if (f < best * (1 - 1e-6)).any()]
    claims = ", ".join(f"“{name}”" for name in unsafe)
    return text + (f" Lines left of the grey band promise more than is known to hold: {claims}." if unsafe else "")


def _sources(forms: dict[str, np.ndarray]) -> pd.DataFrame:
    known = {p.name: p for p in printed_formulas.GAUSSIAN}
    rows = []
    for name in forms:
        p = known.get(name)
        if p is not None:
            where = "any ε" if p.largest == math.inf else f"ε ≤ {p.largest:g}"
            rows.append((name, p.formula, where, p.source))
        elif name == "strong composition":
            rows.append(
                (name, "ε = 4ε₀ √(2T ln(1/δ))", "ln(1/δ) ≥ ε₀² T", "linear queries, Theorem 6, behind its DPFW")
            )
        else:
            rows.append((name, f"ε = {name}", "any ε", "linear queries, proof of Theorem 5; Bun, Steinke 2016"))
    return pd.DataFrame(rows, columns=["closed form", "formula", "proved for", "source"])
