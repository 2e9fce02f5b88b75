"""Expert part of the Learning page: the median's exact privacy, and a theorem's failure.

It shows where a printed theorem fails.
"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget
from dpcore.evaluation.output_laws import (
    calibration_table,
    gaussian_delta_curve,
    median_delta_curve,
)

from ..charts.figure_frame import line_chart
from ..components import draw_chart_panel, draw_heading, parameter_widgets
from ..session import Table
from .learning_release import INVENTED_ROWS_TEXT

MIN_QUADRATURE_DELTA = 1e-12  # below which quadrature says nothing


def draw_exact_privacy(
    _table: Table, left_container: Any, right_container: Any, expert_container: Any
) -> None:
    """Draw δ(ε) of the median beside the Gaussian's, exact calibration, and Theorem 6.4's cost."""
    with right_container:
        budget = parameter_widgets.budget_sliders(expert_container)
        n = st.select_slider(
            "Rows of the invented table",
            [4, 10, 40, 100, 400],
            40,
            key="neighbours",
            bind="query-params",
        )
        st.caption(INVENTED_ROWS_TEXT)
    with left_container:
        draw_heading("Is the private median as private as Gaussian noise?")
        _draw_privacy_curves(budget, n)
    exact_tab, printed_tab = st.tabs(
        ("What exact calibration saves", "Where the printed theorem overspends")
    )
    table = calibration_table(budget.delta)
    row = table.iloc[(table["epsilon"] - budget.epsilon).abs().argmin()]
    with exact_tab:
        lines = {"exact": "exact s", "printed": "the paper's closed form (Theorem 6.4)"}
        summary = (
            f"At ε = {row['epsilon']:.3g} the exact s is {row['exact'] / row['printed']:.2f} "
            "times the closed form's. "
            "The risk bound is smaller by that factor, for the same promise."
        )
        _draw_over_epsilon(table, lines, "s, parameter of Gaussian DP", summary, "calibration")
    with printed_tab:
        lines = {"spent": "used by Theorem 6.4 as printed", "promised": "promised δ"}
        summary = (
            f"As printed, 2δ/3 is for the density and (1 + e^ε)δ/3 for the sampler. That is "
            f"{row['spent'] / row['promised']:.3g} times δ at ε = {row['epsilon']:.3g}. Here "
            "both together use δ."
        )
        _draw_over_epsilon(table, lines, "failure probability (δ)", summary, "overspent")


def _draw_over_epsilon(
    table: pd.DataFrame, lines: dict[str, str], title: str, summary: str, key: str
) -> None:
    """Draw columns of the table against ε, with what they say."""
    draw_chart_panel(
        line_chart(table, "epsilon", lines, ("privacy budget (ε)", title), log="xy"),
        summary,
        table,
        key,
    )


def _draw_privacy_curves(budget: Budget, n: int) -> None:
    """Draw the exact δ(ε) of the private median of two invented tables, below the Gaussian's."""
    epsilons = np.linspace(0, 2 * budget.epsilon, 61)
    exact, s = median_delta_curve(budget, epsilons, n)
    frame = pd.DataFrame(
        {"epsilon": epsilons, "gaussian": gaussian_delta_curve(s, epsilons), "mechanism": exact}
    )
    # a line ends there
    frame = frame.where((frame >= MIN_QUADRATURE_DELTA) | (frame.columns == "epsilon"))
    lines = {
        "gaussian": f"Gaussian noise, s = {s:.4g}: the promise",
        "mechanism": "the private median, exactly",
    }
    ratio = float(frame["mechanism"].iloc[0] / frame["gaussian"].iloc[0])
    summary = (
        f"Two invented tables of {n} numbers differ in one row. The median's exact δ(ε) stays "
        "below the Gaussian's "
        f"promise everywhere. At ε = 0 it is {ratio:.0%} of it."
    )
    figure = line_chart(
        frame, "epsilon", lines, ("privacy budget (ε)", "failure probability (δ)"), log="y"
    )
    # one line ends early
    figure.update_layout(annotations=(), showlegend=True).update_yaxes(dtick=2)
    draw_chart_panel(figure, summary, frame, "privacy-curve")
