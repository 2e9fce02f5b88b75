"""The exact minimiser of a randomly tilted risk: objective perturbation.

It is found to a gradient of 1e-10 of the noise, or of what rounding leaves of one, whatever the
rows (`minimiser`), about the public c, which is added at the end. How long that takes, and what
remains, is bounded by public numbers and checked before the charge (`PerturbedRisk`), where the
remainder is paid for.
"""

import numpy as np

from ...core.types import Array, Rng
from ...schema.domain import Rows
from ..accounting.events import Approximate
from ..minimiser import find_minimiser
from ..statistics.density_targets import PerturbedRisk


def draw_perturbed_minimiser(
    target: PerturbedRisk, rows: Rows, lam: float, sigma: float, spend: Approximate, rng: Rng
) -> Array:
    """Return the minimiser of a risk perturbed by Gaussian noise.

    argmin over R^d of F(x) + (Λ/n)‖x − c‖²/2 + ⟨ξ, x⟩/n with ξ ~ N(0, σ² I), ‖ξ‖ ≤
    `target.max_noise_length`.
    """
    risk = target.risk(rows)
    n = rows.n
    c = target.region.centre
    max_length = target.max_noise_length(sigma, spend)
    xi = sigma * rng.standard_normal(len(c))
    while np.linalg.norm(xi) > max_length:  # of a public law: it sees no row
        xi = sigma * rng.standard_normal(len(c))
    gradient_tolerance = target.gradient_tolerance(n, lam, sigma, spend)
    return c + find_minimiser(
        risk,
        c,
        mu=lam / n,
        gradient_tolerance=gradient_tolerance,
        newton_tolerance=1e-10 * sigma / n,
        tilt=xi / n,
    )
