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
    noisy = published()
    st.markdown(
        f"A hospital publishes **{EXACT[0]}** ill people, then **{EXACT[1]}**. Only Anna came in between: "
        f"all know she is ill. With random changes (noise): **{noisy[0]}**, then **{noisy[1]}**. Nobody can be sure."
    )
