"""The parts of Private Evolution.

Initial points, variations, treatments of a noisy histogram, presets. Sees released objects only,
never rows.
"""

from collections.abc import Callable

import numpy as np

from ...core.types import Array, Rng, frozen
from ...problems.regions import BoundedRegion
from ...problems.transport import project_bounded_lipschitz
from ..marginal_shares import project_onto_simplex
from .evolution_bounds import variation_stddev

# A source of about `count` initial points (r, d) of the region, for (region, count, rng). It must
# not depend on the private points, nor use another generator.
InitialPointSource = Callable[[BoundedRegion, int, Rng], Array]

# A way to vary points S (r, d), for (region, S, alpha, levels, rng): the variations V (v · r, d),
# all in the region, with the points themselves first. It must not depend on the private points, nor
# use another generator. Evolution converges if this is a (γ, v, α)-API of Appendix F: the
# variations of a point z hold z itself and are at most v; and for every private z' farther than α,
# the nearest of them is at (1 − γ) of z's distance on average.
PointVariation = Callable[[BoundedRegion, Array, float, int, Rng], Array]


def uniform_points(region: BoundedRegion, count: int, rng: Rng) -> Array:
    """Return uniformly random initial points (count, d) of the region."""
    return region.uniform(count, rng)


@frozen
class PublicInitialPoints:
    """Given public points (r, d) as initial points, all of them whatever `count` is."""

    points: Array

    def __call__(self, region: BoundedRegion, count: int, rng: Rng) -> Array:
        """Return the public points, projected on the region."""
        return region.project(np.array(self.points, dtype=float))


def gaussian_variations(
    region: BoundedRegion, S: Array, alpha: float, levels: int, rng: Rng
) -> Array:
    """Return variations of the points S by normal steps at L levels, projected.

    Two steps at each level, s_l = α 2^{l−1}/(√π c_d): a (γ, 2L + 1, α)-API.

    S itself comes first, then a block of |S| varied points for every level and step.
    Source: Gonzalez, Fanti, Ramdas 2025, equation (1) and Lemma D.1.
    """
    blocks = [S]
    for level in range(1, levels + 1):
        stddev = variation_stddev(alpha=alpha, level=level, d=region.d)
        blocks += [region.project(S + stddev * rng.standard_normal(S.shape)) for _ in range(2)]
    return np.concatenate(blocks)


def distribution_from_shares(m: Array, post: str, V: Array, D: float, threshold: float) -> Array:
    """Return a distribution (v,) on V from noisy shares m (v,), or 0 everywhere if none remain.

    "truncate" drops negative ones, "threshold" those below `threshold`, "laplace" has them dropped
    already; all three normalise. "simplex" is the nearest distribution in ℓ2, "bounded-lipschitz"
    in D_BL (D the diameter of the space).
    """
    if post == "bounded-lipschitz":
        return project_bounded_lipschitz(V, m, D).weights if (m > 0).any() else np.zeros(len(m))
    if post == "simplex":
        return project_onto_simplex(m)
    nonnegative = (
        np.where(m >= threshold, np.maximum(m, 0.0), 0.0)
        if post == "threshold"
        else np.maximum(m, 0.0)
    )
    total = nonnegative.sum()
    return nonnegative / total if total > 0 else nonnegative


def repeated_candidate_indices(m: Array, threshold: float, n: int, multiplicity: int) -> Array:
    """Return the indices of S_t in Algorithm 1.

    Each candidate with a share ≥ `threshold`, nint(n m_i/B) · B times, B = `multiplicity`.
    """
    shares = np.where(m >= threshold, np.maximum(m, 0.0), 0.0)
    return np.repeat(
        np.arange(len(m)), np.rint(n * shares / multiplicity).astype(int) * multiplicity
    )


# The paper's algorithms by name, as texts for `build`.
PRESETS: dict[str, dict[str, str]] = {
    "algorithm-1": {"post": "threshold", "threshold": "4", "multiplicity": "1", "release": "last"},
    "algorithm-2": {"post": "bounded-lipschitz", "sampling": "iid", "release": "last"},
    "algorithm-3": {"post": "threshold", "sampling": "iid", "release": "last"},
    "simulations": {"post": "truncate", "sampling": "iid", "release": "last", "schedule": "paper"},
    "section-4.2": {"post": "laplace", "sampling": "iid", "release": "last"},
}
