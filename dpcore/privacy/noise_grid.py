"""Answers on a public grid, so that they are known without rounding error.

Counts stay as they are, other queries are rounded first.

Of queries with entries that are no whole numbers, every entry is rounded to the nearest multiple of
a public step, a power of two. On n rows such an answer is a multiple of the step too, and floating
point adds it up without error in whatever order. It moves by at most half a step a row.
Sensitivities are derived anew, from the rounded entries: each coordinate of what one row moves by
changes by at most one step, so Δ₁ grows by at most m steps and Δ₂ by √m.
"""

from typing import Any

import numpy as np

from ..core.errors import InputError
from ..core.types import Array
from ..queries import Explicit, Marginals, TableQueries, Union, Workload

MAX_ENTRY_BITS = 32  # binary digits of an entry at the most
MIN_ENTRY_BITS = 16  # and at the least
MAX_SUM_BITS = 51  # binary digits of a sum over all rows, so that partial sums are exact
MAX_WHOLE_ENTRY = 2.0**20  # entry of a query that is summed in whole numbers


def grid_step(n: int) -> float:
    """Return the grid step for n rows.

    2^-32, or a coarser power of two that keeps sums exact; n is at most 2^35.
    """
    entry_bits = min(MAX_ENTRY_BITS, MAX_SUM_BITS - int(n).bit_length())
    if entry_bits < MIN_ENTRY_BITS:
        raise InputError(f"n={n} rows are too many for queries that are no counts; ask for counts")
    return 2.0**-entry_bits


def has_grid(statistic: Any) -> bool:
    """Return whether exact noise can replace the noise of a statistic.

    For a class: of most statistics of that class.
    """
    return bool(getattr(statistic, "gridded", False))


def require_grid(statistic: Any) -> None:
    """Raise InputError for a statistic, or class, on no public grid.

    Rounded noise keeps no promise at δ = 0.
    """
    if not has_grid(statistic):
        class_name = (statistic if isinstance(statistic, type) else type(statistic)).__name__
        raise InputError(
            f"delta=0: {class_name} lies on no public grid, and rounded noise would show rows; "
            "choose delta > 0"
        )


def answers_are_whole(workload: Workload) -> bool:
    """Return whether n times a workload's answers are whole numbers.

    They are if its queries count rows, times whole numbers.

    The entries are kept small, so that such a sum over up to 2³² rows is exact in floating point.
    """
    if not isinstance(workload, Workload):
        return False
    entries_by_part = [member.entries for member, _ in workload.parts]
    return all(
        (np.abs(entries) <= MAX_WHOLE_ENTRY).all() and (entries == np.rint(entries)).all()
        for entries in entries_by_part
    )


def workload_on_grid(workload: Workload, n: int) -> tuple[Workload, float]:
    """Return the workload with entries rounded to a grid, and the grid's step.

    Entries that are whole numbers stay as they are.
    """
    if answers_are_whole(workload):
        return workload, 1.0
    spacing = grid_step(n)
    return _round_entries(workload, spacing), spacing


def round_weights_to_grid(weights: Array, spacing: float) -> Array:
    """Return the weights rounded to multiples of a step, none of them to 0."""
    return np.maximum(np.rint(weights / spacing), 1) * spacing


def _round_entries(workload: Workload, spacing: float) -> Workload:
    """Return the workload with every entry rounded to a multiple of `spacing`."""
    if isinstance(workload, Marginals):
        return workload
    if isinstance(workload, Union):
        return Union(_round_entries(member, spacing) for member, _ in workload.parts)
    if isinstance(workload, TableQueries):
        return workload.with_rounded_entries(spacing)
    return Explicit(workload.domain, np.rint(workload.matrix / spacing) * spacing)
