"""Problem that all lessons are about: two exact counts reveal one patient, noise hides it."""

import numpy as np
import streamlit as st

from dpcore.privacy.accounting import gdp_mu

from .lesson import DELTA

EXACT_COUNTS = np.array([120, 121])  # patients with a disease on two days


def noisy_counts() -> np.ndarray:
    """Return both counts with Gaussian noise at ε = 1: one person moves a count by one."""
    return (
        (EXACT_COUNTS + np.random.default_rng(17).normal(0, 1 / gdp_mu(1, DELTA), 2))
        .round()
        .astype(int)
    )


def draw_problem() -> None:
    """Draw what two exact counts reveal about the patient who came between, and noise hides."""
    counts = noisy_counts()
    st.markdown(
        "| Ill people | yesterday | today | only Anna came since |\n|---|---|---|---|\n"
        f"| exact count | **{EXACT_COUNTS[0]}** | **{EXACT_COUNTS[1]}** | so she is ill |\n"
        f"| with noise | **{counts[0]}** | **{counts[1]}** | nobody can be sure |"
    )
