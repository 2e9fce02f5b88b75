"""The Gaussian width w(Q) of a set of queries: estimated by Monte Carlo, and bounded from above.

w(Q) = E max_{q ∈ ±Q} ⟨q, ξ⟩ with ξ ~ N(0, I_k): the queries are closed under negation, so the
maximum is of |⟨q_j, ξ⟩|.
"""

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from ....core.errors import InputError
from ....core.types import Array, Rng
from ....problems import require_enumerable
from ....queries import Workload


def estimate_gaussian_width(workload: Workload, draws: int, rng: Rng) -> tuple[float, float]:
    """Return an estimate of the Gaussian width w(Q), and its standard error.

    The mean of max_j |⟨q_j, ξ⟩| over `draws` vectors ξ (k,). Public: no row is read. Raises
    InputError for fewer than two draws, and for cells that cannot be enumerated.
    """
    if draws < 2:
        raise InputError(f"draws={draws} must be at least 2, to tell a standard error")
    require_enumerable(workload.domain)
    k = workload.domain.size
    largest = np.array(
        [np.abs(workload.answers(rng.standard_normal(k))).max() for _ in range(draws)]
    )
    return float(largest.mean()), float(largest.std(ddof=1) / math.sqrt(draws))


def gaussian_width_bound(norms: Array) -> float:
    """Return an upper bound on the Gaussian width w(Q), from the norms ‖q_j‖₂ (m,).

    w(Q) = E max_{q ∈ ±Q} ⟨q, ξ⟩, ξ ~ N(0, I_k).

    For every λ > 0, E max ≤ (1/λ) log E Σ_j 2 cosh(λ⟨q_j, ξ⟩) = (1/λ) log Σ_j 2 exp(λ²‖q_j‖²/2) by
    Jensen; λ is chosen.
    """
    largest = float(norms.max())
    if largest == 0:
        return 0.0

    def bound(x: float) -> float:  # in units of the largest norm, λ = x/largest
        total: Any = logsumexp((x * norms / largest) ** 2 / 2)
        return (float(total) + math.log(2)) / x

    high = 2 * math.sqrt(2 * math.log(2 * len(norms)))
    minimum: Any = minimize_scalar(bound, bounds=(0.1, high), method="bounded")
    return largest * float(minimum.fun)
