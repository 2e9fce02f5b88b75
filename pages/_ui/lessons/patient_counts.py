"""The problem that all lessons are about: two counts that give one patient away, and the same with noise."""

import numpy as np
import streamlit as st

from dpcore.privacy.accounting import gdp_mu

from .lesson import DELTA

EXACT = np.array([120, 121])  # patients with a disease on two days


def published() -> np.ndarray:
    """Return both counts with Gaussian noise at ε = 1: one person moves a count by one."""
    return (EXACT + np.random.default_rng(17).normal(0, 1 / gdp_mu(1, DELTA), 2)).round().astype(int)


def problem() -> None:
    """Say what two exact counts tell about the patient who came between them, and what noise hides."""
    counts = published()
    st.markdown(
        "| Ill people | yesterday | today | only Anna came since |\n|---|---|---|---|\n"
        f"| exact count | **{EXACT[0]}** | **{EXACT[1]}** | so she is ill |\n"
        f"| random noise added | **{counts[0]}** | **{counts[1]}** | nobody can be sure |"
    )
