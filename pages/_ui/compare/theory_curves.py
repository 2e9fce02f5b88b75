"""Proved error rates beside measured errors, scaled to pass through an algorithm's dots.

Only the shape of a rate is theory; the scale comes from the algorithm's own dots.
"""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import ALGORITHMS, InputError
from dpcore.accuracy.error_rates import ERROR_RATES, RateParameters
from dpcore.algorithms.query_release.shared.workload_width import estimate_gaussian_width
from dpcore.core.numbers import format_short_number

from ..session import escape_markdown, persistent_widget_args, session
from .sweep_jobs import ALGORITHM_TITLES, Sweep

WIDTH_DRAWS = 20  # of the Gaussian width
NO_ALGORITHM = "no algorithm"
CURVE_POINTS = 30  # of a curve

CurveByTitle = dict[str, tuple[np.ndarray, np.ndarray]]


def choose_theory_curve(
    sweep: Sweep, setting_errors: pd.DataFrame
) -> tuple[CurveByTitle, dict[str, str]]:
    """Draw a choice of algorithm; return its proved error rate as a curve, and whose it is.

    The curve and the algorithm are by the curve's title; both are empty where nothing is chosen.
    """
    sweep_algorithms = set(setting_errors["algorithm"])
    name_by_title = {
        ALGORITHM_TITLES[algorithm]: algorithm
        for algorithm in ERROR_RATES
        if algorithm in sweep_algorithms
    }
    name = st.selectbox(
        "Proved error, up to constants",
        [NO_ALGORITHM, *name_by_title],
        key=f"theory-{sweep.group.id}",
        **persistent_widget_args(),
    )
    if name == NO_ALGORITHM or sweep.problem is None:
        return {}, {}
    problem = sweep.problem
    delta = sweep.planned_cases[0].budget.delta
    low = float(setting_errors["epsilon"].min())
    high = float(setting_errors["epsilon"].max())
    epsilons = np.geomspace(low / 1.1, high * 1.1, CURVE_POINTS)
    try:
        problem.require_enumerable()
        w, width_error = _workload_width(sweep)
        rate = ERROR_RATES[name_by_title[name]]
        algorithm_errors = setting_errors[setting_errors["algorithm"] == name_by_title[name]]
        middle_point = algorithm_errors.iloc[(len(algorithm_errors) - 1) // 2]
        scale = middle_point["error"] / rate.evaluate(
            _setting(sweep, float(middle_point["epsilon"]), delta, w)
        )
        values = [scale * rate.evaluate(_setting(sweep, float(e), delta, w)) for e in epsilons]
    except InputError as input_error:
        st.caption(escape_markdown(f"No theory here: {input_error}", 300))
        return {}, {}
    st.latex(rate.latex, width="content")
    bound_source = ALGORITHMS[name_by_title[name]].about.bound
    st.caption(
        f"{name}, up to constants: {bound_source}. "
        f"With n = {problem.effective_n:,.0f}, k = {problem.domain.size:,}, |Q| = "
        f"{2 * problem.workload.m:,}, "
        f"δ = {format_short_number(delta)}, w(Q) = {w:.3g} ± {width_error:.1g} (standard error "
        f"of {WIDTH_DRAWS} draws). The curve is "
        "scaled to "
        "pass through the algorithm's median at a middle ε. Only its shape is proved."
    )
    curve_title = f"{name}, theory × {scale:.2g}"
    return {curve_title: (epsilons, np.array(values))}, {curve_title: name_by_title[name]}


def _setting(sweep: Sweep, epsilon: float, delta: float, w: float) -> RateParameters:
    problem = sweep.problem
    k = problem.domain.size  # type: ignore[union-attr]
    m = problem.workload.m  # type: ignore[union-attr]
    return RateParameters(
        n=problem.effective_n, k=k, m=m, epsilon=epsilon, delta=delta, gaussian_width=w
    )  # type: ignore


def _workload_width(sweep: Sweep) -> tuple[float, float]:
    """Return the workload's Gaussian width w(Q) and its standard error, cached per comparison."""
    workload = sweep.problem.workload  # type: ignore[union-attr]
    return session().memoize(
        "width",
        sweep.requested,
        lambda: estimate_gaussian_width(workload, WIDTH_DRAWS, np.random.default_rng(0)),
    )
