"""The exact minimiser of a randomly tilted risk: objective perturbation.

It is found to a gradient of 1e-10 of the noise, or of what rounding leaves of one, whatever the rows (`minimiser`),
about the public c, which is added at the end. That remainder is taken off the privacy proof's ξ; a person's part of it
is far below what rounding does to any of these numbers.
"""

from ...data.domain import Rows
from ...learning.losses import sloped
from ...types import Array, Rng
from ..minimiser import LEAST, minimiser, rounding
from ..statistics.targets import PerturbedRisk


def solve(target: PerturbedRisk, rows: Rows, lam: float, sigma: float, rng: Rng) -> Array:
    """The minimiser over R^d of F(x) + (Λ/n)‖x − c‖²/2 + ⟨ξ, x⟩/n with ξ ~ N(0, σ² I)."""
    risk, n, c = target.risk(rows), rows.n, target.region.centre
    tilt, mu, loss = sigma * rng.standard_normal(len(c)) / n, lam / n, sloped(risk.loss)
    aim = 1e-10 * sigma / n
    goal = max(aim, LEAST * rounding(loss, c, mu=mu, n=n, tilt=tilt))
    return c + minimiser(risk, c, mu=mu, goal=goal, aim=aim, tilt=tilt)
