"""The Learning page's fourth part: the guarantee, what exact calibration saves, where the printed one fails."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.evaluation.output_laws import calibrations, gaussian_curve, neighbour_curve, neighbour_s
from dpcore.privacy.accounting.budget import Budget
from dpcore.tags import Tag

from ..charts import learning as learning_charts
from ..shell.frame import heading
from ..shell.results import panel
from ..shell.table import Table

SMALLEST = 1e-12  # below which quadrature says nothing


def guarantee(_table: Table, spend: Budget) -> None:
    """δ(ε) of the mechanism beside the Gaussian's; the paper's closed form beside the exact calibration."""
    heading("Is it really as private as Gaussian noise?", Tag.PUBLIC)
    n = st.select_slider("Records of the invented table", [4, 10, 40, 100, 400], 40, key="neighbours",
                         bind="query-params")  # fmt: skip
    epsilons = np.linspace(0, 2 * spend.epsilon, 61)
    s = neighbour_s(spend, n=n)
    frame = pd.DataFrame(
        {
            "epsilon": epsilons,
            "gaussian": gaussian_curve(s, epsilons),
            "mechanism": neighbour_curve(spend, epsilons, n=n),
        }
    )
    frame = frame.where((frame >= SMALLEST) | (frame.columns == "epsilon"))  # a line ends there
    lines = {"gaussian": f"Gaussian noise, s = {s:.4g}: the promise", "mechanism": "the private median, exactly"}
    ratio = float(frame["mechanism"].iloc[0] / frame["gaussian"].iloc[0])
    summary = (
        f"Two invented tables of {n} numbers that differ in one record: the median's exact δ(ε), by quadrature, stays "
        f"below the Gaussian's promise everywhere; at ε = 0 it is {ratio:.0%} of it."
    )
    figure = learning_charts.curves(frame, "epsilon", lines, ("ε", "δ(ε)"), log=True)
    panel(figure.update_yaxes(dtick=2), summary, frame, "privacy-curve")

    heading("What does exact calibration save?", Tag.PUBLIC)
    table = calibrations(spend.delta)
    row = table.iloc[(table["epsilon"] - spend.epsilon).abs().argmin()]
    lines = {"exact": "exact s", "printed": "the paper's closed form (Theorem 6.4)"}
    summary = (
        f"At ε = {row['epsilon']:.3g} the exact s is {row['exact'] / row['printed']:.2f} times the closed form's, and "
        "the risk bound smaller by that factor, for the same promise."
    )
    figure = learning_charts.curves(table, "epsilon", lines, ("ε", "s, GDP parameter"), log=True)
    panel(figure.update_xaxes(type="log"), summary, table, "calibration")

    heading("Where does the printed theorem overspend?", Tag.PUBLIC)
    lines = {"spent": "spent by Theorem 6.4 as printed", "promised": "promised δ"}
    summary = (
        f"As printed, 2δ/3 pays for the density and (1 + e^ε)δ/3 for the sampler: {row['spent'] / row['promised']:.3g} "
        f"times δ at ε = {row['epsilon']:.3g}. Here the sampler's error gets θδ, and both together δ."
    )
    figure = learning_charts.curves(table, "epsilon", lines, ("ε", "δ"), log=True)
    panel(figure.update_xaxes(type="log"), summary, table, "overspent")
