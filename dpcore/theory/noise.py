"""The error of answers from noise alone, computed from public numbers."""

import math

from ..errors import InputError


def all_within(tolerance: float, sigma: float, answers: int, step: float = 0.0) -> float:
    """P(max_j |ξ_j| ≤ t) for m independent ξ_j ~ N(0, σ²): (1 − erfc(t/(√2 σ)))^m; a lower bound where noise is whole.

    `step` is 1/n where discrete Gaussian noise may be drawn on n times the answers instead: only ⌊t/step⌋ whole steps
    are then counted. With the discrete normaliser Z ≥ σ√(2π) and a falling density, P(ξ ≥ K + 1) ≤ P(N(0, σ²) ≥ K) in
    steps, so that what is returned bounds both from below. Raises InputError for what is no tolerance, noise or number.
    """
    if not (tolerance >= 0 and 0 < sigma < math.inf and 0 <= step < math.inf and answers >= 1):
        raise InputError(f"tolerance={tolerance:g}, sigma={sigma:g}, answers={answers}, step={step:g}: out of range")
    reached = math.floor(tolerance / step * (1 + 1e-12)) * step if step else tolerance
    outside = math.erfc(reached / (math.sqrt(2) * sigma))
    return math.exp(answers * math.log1p(-outside)) if outside < 1 else 0.0
