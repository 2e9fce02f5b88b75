"""The line that no unbiased Gaussian release of these questions is below, and how each algorithm stands to it."""

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms.query_release.shared.optimal_noise import against_line, least_rmse

from ..components import peek
from ..session import plain, session
from .sweep_jobs import TITLES, Sweep
from .theory_curves import Curves

NAME = "least of any unbiased method"

Line = dict[float, float]  # the least root mean square error, in shares, by ε


def line(sweep: Sweep, middle: pd.DataFrame) -> Line:
    """The least error at every ε of the comparison; empty where it is not known. Public numbers only."""
    if sweep.problem is None:
        return {}
    problem, budgets = sweep.problem, {job.budget.epsilon: job.budget for job in sweep.planned}

    def found() -> Line:
        values = {e: least_rmse(problem.workload, budget, problem.effective_n) for e, budget in budgets.items()}
        return {e: value for e, value in values.items() if value}

    values = session().memo("unbiased", (sweep.asked, tuple(budgets)), found)
    return {e: values[e] for e in sorted(values) if e in set(middle["epsilon"])}


def curve(least: Line) -> Curves:
    """What the chart of root mean square errors draws."""
    return {NAME: (np.array(list(least)), 100 * np.array(list(least.values())))} if least else {}


@peek
def words(sweep: Sweep, least: Line) -> None:
    """How each algorithm stands to the line at the largest ε at which it ran, in words."""
    medians = sweep.middles("rmse")
    if not least or not len(medians):
        return
    max_epsilon = max(least)
    medians_at_epsilon = medians[medians["epsilon"] == max_epsilon].sort_values("error")
    phrases = [
        f"{TITLES[str(row.algorithm)]}: {against_line(float(row.error), least[max_epsilon])}"
        for row in medians_at_epsilon.itertuples()
    ]
    st.caption(
        plain(
            f"At ε = {max_epsilon:g} the least root mean square error of any unbiased Gaussian release of these "
            "questions is "
            f"{100 * least[max_epsilon]:.3g} points. " + "; ".join(phrases) + ".",
            2000,
        )
    )
