"""The exact minimiser of a randomly tilted risk: objective perturbation.

The minimiser is found until its gradient is at most 1e-10 of the noise, which is taken off the privacy proof's ξ; a
person's part of that is far below what rounding does to any of these numbers.
"""

import numpy as np

from ...data.domain import Rows
from ...learning.risks import newton
from ..statistics.targets import PerturbedRisk


def solve(target: PerturbedRisk, rows: Rows, lam: float, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """argmin over R^d of F(x) + (Λ/n)‖x − c‖²/2 + ⟨ξ, x⟩/n, ξ ~ N(0, σ² I)."""
    risk, n, c = target.risk(rows), rows.n, target.region.centre
    tilt = sigma * rng.standard_normal(len(c)) / n
    return newton(risk, c.copy(), mu=lam / n, centre=c, tilt=tilt, tolerance=1e-10 * sigma / n)
