"""Least error of any unbiased Gaussian release, and each algorithm's distance to it.

It is a line on the chart of errors, for the queries of the comparison.
"""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms.query_release.shared.optimal_noise import compare_with_bound, least_rmse

from ..components import hide_in_stakeholder_view
from ..session import escape_markdown, session
from .sweep_jobs import ALGORITHM_TITLES, Sweep
from .theory_curves import CurveByTitle

CURVE_TITLE = "least of any unbiased method"

LeastErrors = dict[float, float]  # the least root mean square error, in shares, by ε


def least_errors_by_epsilon(sweep: Sweep, setting_errors: pd.DataFrame) -> LeastErrors:
    """Return the least unbiased Gaussian error at each finished ε; empty where unknown.

    Only public numbers are used.
    """
    if sweep.problem is None:
        return {}
    problem = sweep.problem
    budgets = {job.budget.epsilon: job.budget for job in sweep.planned_cases}

    def compute_least_errors() -> LeastErrors:
        values = {
            e: least_rmse(problem.workload, budget, problem.effective_n)
            for e, budget in budgets.items()
        }
        return {e: value for e, value in values.items() if value}

    values = session().memoize("unbiased", (sweep.requested, tuple(budgets)), compute_least_errors)
    return {e: values[e] for e in sorted(values) if e in set(setting_errors["epsilon"])}


def limit_curve(least_errors: LeastErrors) -> CurveByTitle:
    """Return the least errors as a curve for the chart of root mean square errors."""
    return (
        {CURVE_TITLE: (np.array(list(least_errors)), 100 * np.array(list(least_errors.values())))}
        if least_errors
        else {}
    )


@hide_in_stakeholder_view
def draw_limit_summary(sweep: Sweep, least_errors: LeastErrors) -> None:
    """Draw a text that compares each algorithm's error with the limit at the largest ε."""
    medians = sweep.median_errors("rmse")
    if not least_errors or not len(medians):
        return
    max_epsilon = max(least_errors)
    medians_at_epsilon = medians[medians["epsilon"] == max_epsilon].sort_values("error")
    phrases = [
        f"{ALGORITHM_TITLES[str(row.algorithm)]}: "
        f"{compare_with_bound(float(row.error), least_errors[max_epsilon])}"
        for row in medians_at_epsilon.itertuples()
    ]
    st.caption(
        escape_markdown(
            f"At ε = {max_epsilon:g} the least root mean square error of any unbiased Gaussian "
            "release of these "
            "questions is "
            f"{100 * least_errors[max_epsilon]:.3g} points. " + "; ".join(phrases) + ".",
            2000,
        )
    )
