"""Answers on a public grid, so that whole noise fits between them: counts as they are, other queries rounded first.

Of queries with entries that are no whole numbers, every entry is rounded to the nearest multiple of a public step, a
power of two. On n records such an answer is a multiple of the step too, and floating point adds it up without error in
whatever order. It moves by at most half a step a record. Sensitivities are derived anew, from the rounded entries: each
coordinate of what one record moves by changes by at most one step, so Δ₁ grows by at most m steps and Δ₂ by √m.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..workloads import Explicit, Marginals, TableQueries, Union, Workload
from .statistics.answers import CellAnswers, SomeAnswers, whole
from .statistics.residuals import Residuals

FINEST = 32  # binary digits of an entry at the most
COARSEST = 16  # and at the least
DIGITS = 51  # of a sum over all records, so that partial sums are exact


def step(n: int) -> float:
    """2^-32, or the coarser power of two with which sums over n records stay exact; InputError for n beyond 2^35."""
    digits = min(FINEST, DIGITS - int(n).bit_length())
    if digits < COARSEST:
        raise InputError(f"n={n} records are too many for exact noise on queries that are no counts; use noise float")
    return 2.0**-digits


def workload_on_grid(workload: Workload, n: int) -> tuple[Workload, float]:
    """The workload, its entries rounded where they are no whole numbers, and the step that all are multiples of."""
    if whole(workload):
        return workload, 1.0
    fine = step(n)
    return _rounded(workload, fine), fine


def gridded(statistic: Any) -> bool:
    """Whether whole noise can stand for the noise of this statistic; of a class, as a plan names it, for most of it.

    Not within a subspace seen through tables, where noise is drawn on all cells and only what is continuous looks alike
    from every side.
    """
    within = isinstance(statistic, CellAnswers) and statistic.subspace
    return hasattr(statistic, "integer_valued") and (not within or statistic.basis is not None)


def on_grid(statistic: Any, n: int) -> tuple[Any, float]:
    """The statistic with entries on the grid, and its step; a `gridded` one."""
    if statistic.integer_valued and not isinstance(statistic, SomeAnswers):
        return statistic, 1.0
    if isinstance(statistic, CellAnswers):
        out, fine = CellAnswers(statistic.workload, statistic.subspace), step(n)
        # All that CellAnswers derives holds for any basis V: Δ is that of VP_n, and AVᵀ of the noisy one leaves.
        if statistic.basis is None:
            raise InputError("noise on all cells within a subspace cannot be put on a grid")
        vars(out)["basis"] = np.rint(statistic.basis / fine) * fine
        return out, fine
    if isinstance(statistic, Residuals):  # whole numbers times weights: those are what is rounded
        fine = step(n)
        return replace(statistic, weights=on_steps(statistic.weights, fine)), fine
    workload, fine = workload_on_grid(statistic.workload, n)
    return replace(statistic, workload=workload), fine


def on_steps(weights: np.ndarray, fine: float) -> np.ndarray:
    """Weights rounded to multiples of a step, none of them to 0."""
    return np.maximum(np.rint(weights / fine), 1) * fine


def _rounded(workload: Workload, fine: float) -> Workload:
    if isinstance(workload, Marginals):
        return workload
    if isinstance(workload, Union):
        return Union(_rounded(member, fine) for member in workload.workloads)
    if isinstance(workload, TableQueries):
        return workload.rounded(fine)
    if isinstance(workload, Explicit):
        return Explicit(workload.domain, np.rint(workload.matrix / fine) * fine)
    raise InputError(f"a {type(workload).__name__} cannot be put on a grid")
