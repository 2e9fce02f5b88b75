"""Draw the problem that all lessons are about: two counts that give one patient away, and the same with noise."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dpcore.privacy.accounting.conversions import gdp_mu

from ..charts import base as charts
from ..shell.results import QUIET
from .runs import DELTA

EXACT = np.array([120, 121])  # patients with a disease on two days


def published() -> np.ndarray:
    """Return both counts with Gaussian noise at ε = 1: one person moves a count by one."""
    return (EXACT + np.random.default_rng(1).normal(0, 1 / gdp_mu(1, DELTA), 2)).round().astype(int)


def problem() -> None:
    """Say and draw what two exact counts tell about the patient who came between them, and what noise hides."""
    noisy = published()
    told, picture = st.columns([2, 3], gap="large", vertical_alignment="center")
    told.markdown(
        f"A hospital publishes how many patients have a disease: **{EXACT[0]}** on Monday, **{EXACT[1]}** on Tuesday. "
        "Only Anna came in between, so now everyone knows that she has it.\n\n"
        f"With random noise it publishes **{noisy[0]}** and **{noisy[1]}**. Is that Anna, or noise? Nobody can tell. "
        "The lessons show what this costs."
    )
    figure = go.Figure()
    for name, counts, colour, side in (
        ("exact: one more, so it is Anna", EXACT, charts.REAL, "bottom"),
        ("with noise (ε = 1): Anna or chance?", noisy, charts.SYNTHETIC, "top"),
    ):
        figure.add_scatter(
            x=["Monday", "Tuesday"], y=counts, name=name, text=counts, mode="lines+markers+text",
            textposition=f"{side} center", line_color=colour, marker_size=9,
        )  # fmt: skip
    around = [min(*EXACT, *noisy) - 3, max(*EXACT, *noisy) + 3]
    figure = charts.finish(figure.update_yaxes(title="patients", range=around), 220)
    figure.update_xaxes(range=[-0.3, 1.3])
    alt = f"Two lines: {EXACT[0]} and {EXACT[1]} patients exactly, {noisy[0]} and {noisy[1]} with noise."
    picture.plotly_chart(figure, key="patient", alt=alt, config=QUIET)
