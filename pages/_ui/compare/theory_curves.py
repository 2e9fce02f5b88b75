"""Proved error rates beside measured errors: their shapes, scaled to pass through an algorithm's own dots."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import InputError
from dpcore.accuracy.error_rates import RATES, Setting
from dpcore.algorithms.query_release.shared.workload_width import gaussian_width
from dpcore.core.numbers import brief

from ..session import plain, session, shared
from .sweep_jobs import TITLES, Sweep

DRAWS = 20  # of the Gaussian width
NONE = "no algorithm"
POINTS = 30  # of a curve

Curves = dict[str, tuple[np.ndarray, np.ndarray]]


def choose(sweep: Sweep, middle: pd.DataFrame) -> tuple[Curves, dict[str, str]]:
    """Ask for an algorithm; return its proved rate as a curve by its words, and whose it is, or nothing."""
    sweep_algorithms = set(middle["algorithm"])
    name_by_title = {TITLES[algorithm]: algorithm for algorithm in RATES if algorithm in sweep_algorithms}
    name = st.selectbox("Proved error, up to constants", [NONE, *name_by_title], key=f"theory-{sweep.id}", **shared())
    if name == NONE or sweep.problem is None:
        return {}, {}
    problem, delta = sweep.problem, sweep.planned[0].budget.delta
    low, high = float(middle["epsilon"].min()), float(middle["epsilon"].max())
    epsilons = np.geomspace(low / 1.1, high * 1.1, POINTS)
    try:
        problem.require_enumerable()
        w, width_error = _width(sweep)
        rate, algorithm_medians = RATES[name_by_title[name]], middle[middle["algorithm"] == name_by_title[name]]
        middle_point = algorithm_medians.iloc[(len(algorithm_medians) - 1) // 2]
        scale = middle_point["error"] / rate.at(_setting(sweep, float(middle_point["epsilon"]), delta, w))
        values = [scale * rate.at(_setting(sweep, float(e), delta, w)) for e in epsilons]
    except InputError as input_error:
        st.caption(plain(f"No theory here: {input_error}", 300))
        return {}, {}
    st.caption(
        plain(f"{name}: {rate.formula}, up to constants. ", 200)
        + f"With n = {problem.effective_n:,.0f}, k = {problem.domain.size:,}, |Q| = {2 * problem.workload.m:,}, "
        f"δ = {brief(delta)}, w(Q) = {w:.3g} ± {width_error:.1g} (standard error of {DRAWS} draws). The curve is "
        "scaled to "
        "pass through the algorithm's median at a middle ε. Only its shape is proved."
    )
    curve_title = f"{name}, theory × {scale:.2g}"
    return {curve_title: (epsilons, np.array(values))}, {curve_title: name_by_title[name]}


def _setting(sweep: Sweep, epsilon: float, delta: float, w: float) -> Setting:
    problem = sweep.problem
    k, m = problem.domain.size, problem.workload.m  # type: ignore[union-attr]
    return Setting(n=problem.effective_n, k=k, m=m, epsilon=epsilon, delta=delta, gaussian_width=w)  # type: ignore


def _width(sweep: Sweep) -> tuple[float, float]:
    """w(Q) and its standard error, once a comparison."""
    workload = sweep.problem.workload  # type: ignore[union-attr]
    return session().memo("width", sweep.asked, lambda: gaussian_width(workload, DRAWS, np.random.default_rng(0)))
