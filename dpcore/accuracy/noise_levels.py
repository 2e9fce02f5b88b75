"""The error of answers from noise alone, computed from public numbers."""

import math
from statistics import NormalDist

from ..core.errors import InputError


def probability_all_within(tolerance: float, sigma: float, answer_count: int) -> float:
    """Return P(max_j |ξ_j| ≤ t) for m independent ξ_j ~ N(0, σ²).

    It is (1 − erfc(t/(√2 σ)))^m, with t = `tolerance` and m = `answer_count`. Raises InputError for
    what is no tolerance, noise or number.
    """
    if not (tolerance >= 0 and 0 < sigma < math.inf and answer_count >= 1):
        raise InputError(
            f"tolerance={tolerance:g}, sigma={sigma:g}, answers={answer_count}: out of range"
        )
    outside_probability = math.erfc(tolerance / (math.sqrt(2) * sigma))
    return (
        math.exp(answer_count * math.log1p(-outside_probability))
        if outside_probability < 1
        else 0.0
    )


def tolerance_for_probability(probability: float, sigma: float, answer_count: int) -> float:
    """Return the smallest t with `probability_all_within(t, σ, m)` = `probability`.

    `probability` is a number between 0 and 1.
    """
    return sigma * NormalDist().inv_cdf((1 + probability ** (1 / answer_count)) / 2)
