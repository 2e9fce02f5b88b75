"""Show what a plan costs by each accountant, and beside it what the papers' closed forms say."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.accuracy import accountant_comparison, printed_formulas
from dpcore.core.numbers import format_short_number

from ..charts import privacy_charts as promise
from ..components import draw_chart_panel
from .planned_release import PlannedRelease

BEST_CURVE_NAME = "best accountant"


def draw_costs(budget: Budget, planned: PlannedRelease) -> None:
    """Draw the privacy curve of the plan by each accountant and the papers' closed forms."""
    left_column, right_column = st.columns(2, gap="large")
    deltas = planned.deltas
    curves = planned.epsilon_curves_by_accountant(1)
    delta_index = nearest_delta_index(deltas, budget)
    with left_column:
        st.markdown(
            "**How much budget this plan uses at most, by each way to add it up. The smallest "
            "holds**"
        )
        tightest = min(curves, key=lambda name: curves[name][delta_index])
        summary = (
            f"At δ = {format_short_number(deltas[delta_index])} the plan uses "
            f"{epsilons_text(curves, delta_index)}. Smallest: {tightest}."
        )
        draw_privacy_curves(curves, deltas, budget, summary, "privacy-curve")
    with right_column:
        st.markdown("**What formulas printed in papers say that it uses**")
        printed_curves = accountant_comparison.printed_epsilon_curves(planned.charges, deltas)
        best_curve = np.min(list(curves.values()), axis=0)
        draw_privacy_curves(
            {BEST_CURVE_NAME: best_curve, **printed_curves},
            deltas,
            budget,
            _printed_formula_verdict(printed_curves, best_curve, delta_index),
            "closed-forms",
        )
    with st.expander("Where these formulas come from", icon=":material/receipt:"):
        st.markdown(_formula_sources(printed_curves))


def draw_privacy_curves(
    curves: dict[str, np.ndarray], deltas: np.ndarray, budget: Budget, summary: str, key: str
) -> None:
    """Draw privacy curves by name, the best accountant's behind, and the budget as a star."""
    frame = pd.DataFrame({"δ": deltas, **{f"ε, {name}": c for name, c in curves.items()}})
    figure = promise.privacy_curve_chart(
        curves, deltas, (budget.epsilon, budget.delta), thick_name=BEST_CURVE_NAME
    )
    draw_chart_panel(figure, summary, frame, key)


def nearest_delta_index(deltas: np.ndarray, budget: Budget) -> int:
    """Return where the budget's δ lies among the deltas; 1e-9 where it is 0."""
    return int(np.argmin(np.abs(np.log(deltas) - math.log(budget.delta or 1e-9))))


def epsilons_text(curves: dict[str, np.ndarray], delta_index: int) -> str:
    """Say the ε of every curve at one place."""
    return ", ".join(f"ε = {c[delta_index]:.4g} ({name})" for name, c in curves.items())


def _printed_formula_verdict(
    printed_curves: dict[str, np.ndarray], best_curve: np.ndarray, delta_index: int
) -> str:
    """Return which printed formulas promise more than is true, and the others' excess."""
    epsilons = {
        name: float(f[delta_index])
        for name, f in printed_curves.items()
        if np.isfinite(f[delta_index])
    }
    overstatement = (
        max(epsilons.values()) / best_curve[delta_index]
        if epsilons and best_curve[delta_index] > 0
        else math.nan
    )
    text = (
        f"At this δ the printed formulas say up to {overstatement:.2g} times what the plan uses."
        if overstatement >= 1
        else ""
    )
    with np.errstate(invalid="ignore"):
        unsafe = [name for name, f in printed_curves.items() if (f < best_curve * (1 - 1e-6)).any()]
    claims = ", ".join(f"“{name}”" for name in unsafe)
    return text + (
        f" Lines left of the grey band promise more than is known to hold: {claims}."
        if unsafe
        else ""
    )


def _formula_sources(printed_curves: dict[str, np.ndarray]) -> str:
    """Return a Markdown table of the formulas, typeset, with the authors and years of each."""
    formulas = {p.name: p for p in printed_formulas.GAUSSIAN_FORMULAS}
    lines = ["| closed form | formula | proved for | source |", "|---|---|---|---|"]
    for name in printed_curves:
        proved_range = "any ε"
        formula = formulas.get(name)
        if formula is not None:
            latex = formula.latex
            source = formula.source
            if formula.max_epsilon != math.inf:
                proved_range = f"ε ≤ {formula.max_epsilon:g}"
        elif name == "strong composition":
            source = f"{printed_formulas.LINEAR_QUERIES}, Theorem 6, behind its DPFW"
            latex = r"\varepsilon = 4\varepsilon_0 \sqrt{2T \ln(1/\delta)}"
            proved_range = r"$\ln(1/\delta) \ge \varepsilon_0^2 T$"
        else:
            source = f"Bun, Steinke 2016; {printed_formulas.LINEAR_QUERIES}, proof of Theorem 5"
            latex = r"\varepsilon = \rho + 2\sqrt{\rho \ln(1/\delta)}"
        lines.append(f"| {name} | ${latex}$ | {proved_range} | {source} |")
    return "\n".join(lines)
