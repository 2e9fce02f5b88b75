"""The error of answers from noise alone, computed from public numbers."""

import math
from statistics import NormalDist

from ..core.errors import InputError


def all_within(tolerance: float, sigma: float, answers: int) -> float:
    """P(max_j |ξ_j| ≤ t) for m independent ξ_j ~ N(0, σ²): (1 − erfc(t/(√2 σ)))^m.

    Raises InputError for what is no tolerance, noise or number.
    """
    if not (tolerance >= 0 and 0 < sigma < math.inf and answers >= 1):
        raise InputError(f"tolerance={tolerance:g}, sigma={sigma:g}, answers={answers}: out of range")
    outside_probability = math.erfc(tolerance / (math.sqrt(2) * sigma))
    return math.exp(answers * math.log1p(-outside_probability)) if outside_probability < 1 else 0.0


def reach(share: float, sigma: float, answers: int) -> float:
    """The smallest t with `all_within(t, σ, m)` = `share`, a number between 0 and 1."""
    return sigma * NormalDist().inv_cdf((1 + share ** (1 / answers)) / 2)
