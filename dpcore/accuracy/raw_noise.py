"""The error of the textbook mechanism, plain noise on every answer: a yardstick with constants."""

import math

import numpy as np

from ..privacy.accounting import Budget, noise_spend
from ..privacy.measurement import noise_scale
from ..privacy.statistics import Answers
from ..queries import Workload


def plain_noise_max_error(workload: Workload, budget: Budget, n: float) -> float:
    """Return the largest error E max_j |ξ_j| of noise ξ (m,) on all answers.

    The noise is bought with the whole budget. At δ > 0 ξ is Gaussian with σ = Δ₂/(nμ): it is at
    most σ √(2 log 2m), by the union bound over ±ξ_j. At δ = 0 ξ_j are independent Laplace variables
    with b = Δ₁/(nε): the maximum of m exponential variables is b H_m = b Σ_{i ≤ m} 1/i on average.
    """
    scale = noise_scale(Answers(workload), noise_spend(budget), n)
    m = workload.m
    return scale * (
        math.sqrt(2 * math.log(2 * m))
        if budget.delta > 0
        else float(np.sum(1 / np.arange(1, m + 1)))
    )
