"""Answers on a public grid, so that they are known without error: counts as they are, other queries rounded first.

Of queries with entries that are no whole numbers, every entry is rounded to the nearest multiple of a public step, a
power of two. On n rows such an answer is a multiple of the step too, and floating point adds it up without error in
whatever order. It moves by at most half a step a row. Sensitivities are derived anew, from the rounded entries: each
coordinate of what one row moves by changes by at most one step, so Δ₁ grows by at most m steps and Δ₂ by √m.
"""

from typing import Any

import numpy as np

from ..core.errors import InputError
from ..core.types import Array
from ..queries import Explicit, Marginals, TableQueries, Union, Workload

FINEST = 32  # binary digits of an entry at the most
COARSEST = 16  # and at the least
DIGITS = 51  # binary digits of a sum over all records, so that partial sums are exact
LARGEST = 2.0**20  # entry of a query that is summed in whole numbers


def step(n: int) -> float:
    """The grid step for n rows: 2^-32, or a coarser power of two that keeps sums exact; n is at most 2^35."""
    entry_bits = min(FINEST, DIGITS - int(n).bit_length())
    if entry_bits < COARSEST:
        raise InputError(f"n={n} rows are too many for queries that are no counts; ask for counts")
    return 2.0**-entry_bits


def gridded(statistic: Any) -> bool:
    """Whether exact noise can replace the noise of a statistic, or of most statistics of a class."""
    return bool(getattr(statistic, "gridded", False))


def require(statistic: Any) -> None:
    """Raise InputError for a statistic, or class, on no public grid: rounded noise keeps no promise at δ = 0."""
    if not gridded(statistic):
        class_name = (statistic if isinstance(statistic, type) else type(statistic)).__name__
        raise InputError(
            f"delta=0: {class_name} lies on no public grid, and rounded noise would show rows; choose delta > 0"
        )


def answers_are_whole(workload: Workload) -> bool:
    """Whether n times a workload's answers are whole numbers: its queries count rows, times whole numbers.

    The entries are kept small, so that such a sum over up to 2³² rows is exact in floating point.
    """
    if not isinstance(workload, Workload):
        return False
    entries_by_part = [member.entries for member, _ in workload.members]
    return all(
        (np.abs(entries) <= LARGEST).all() and (entries == np.rint(entries)).all() for entries in entries_by_part
    )


def workload_on_grid(workload: Workload, n: int) -> tuple[Workload, float]:
    """The workload with entries rounded to a grid unless they are whole numbers, and the grid's step."""
    if answers_are_whole(workload):
        return workload, 1.0
    spacing = step(n)
    return _rounded(workload, spacing), spacing


def on_steps(weights: Array, fine: float) -> Array:
    """The weights rounded to multiples of a step, none of them to 0."""
    return np.maximum(np.rint(weights / fine), 1) * fine


def _rounded(workload: Workload, fine: float) -> Workload:
    """The workload with every entry rounded to a multiple of `fine`."""
    if isinstance(workload, Marginals):
        return workload
    if isinstance(workload, Union):
        return Union(_rounded(member, fine) for member, _ in workload.members)
    if isinstance(workload, TableQueries):
        return workload.rounded(fine)
    return Explicit(workload.domain, np.rint(workload.matrix / fine) * fine)
