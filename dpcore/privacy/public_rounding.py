"""Limits within which floating-point noise still hides the effect of one row.

A sensitivity is proved for real numbers; a computed value is rounded on top of that, to a step that
grows with the numbers it is made of. The step must stay far below what one row moves.
"""

import numpy as np

from ..core.errors import InputError
from ..core.types import Array

MAX_PUBLIC_ANSWER = 1024.0  # public numbers subtracted from a true answer are clipped to ± this
MIN_QUERY_RANGE = 1 / 1024  # range of a query that is not constant


def clip_public_answers(answers: Array | float, multiplier: int = 1) -> Array:
    """Return public answers clipped so that subtracting from them loses no precision.

    Subtracting `multiplier` times a true answer in [-1, 1] then loses no precision that matters.
    The larger they are the coarser the difference is rounded: at 2⁵³ it would jump by 1 as the true
    answer passes ½, whatever one row moves. Cut off, it is rounded by 2⁻⁴³ times at the most.
    """
    return np.clip(answers, -MAX_PUBLIC_ANSWER * multiplier, MAX_PUBLIC_ANSWER * multiplier)


def require_wide_range(query_range: float) -> None:
    """Raise InputError for queries so narrow that rounding moves an answer more than a row does."""
    if 0 < query_range < MIN_QUERY_RANGE:
        raise InputError(
            f"the values of a query range over {query_range:.3g} only; scale it up, to "
            f"{MIN_QUERY_RANGE:g} at least"
        )
