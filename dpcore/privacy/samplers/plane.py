"""Exact draws in one or two dimensions, any convex loss: boxes, a tangent plane on each, rejection.

F lies above its tangent plane at the middle of a box, so exp(−k · plane) lies above the density
there; boxes that hold much of that envelope are split until it fits. Every accepted point has
exactly the density's law; error: rounding. The number of proposals depends on the rows (a timing
channel).
"""

import math

import numpy as np

from ...core.types import Array, Rng
from ...problems.losses import SquaredDistance, require_sloped_loss
from ..statistics.density_targets import Density, PlainRisk, RegularisedRisk, Target

MAX_DIMENSIONS = 2
MAX_BOXES = 20_000
MAX_STEEPNESS = 1e7
PILOT_PROPOSALS = 64  # proposals from which the share that will be accepted is judged
MIN_ACCEPTED_SHARE = 0.25
# by how much less than this the log of the envelope's mass falls in a split before it is judged
MAX_LOG_MASS_FALL = 0.5


def unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a target; None when it can."""
    if not target.region.is_bounded or len(target.region.centre) > MAX_DIMENSIONS:
        return f"the sampler plane needs a bounded region of at most {MAX_DIMENSIONS} dimensions"
    return None


def too_long_reason(
    target: RegularisedRisk | PlainRisk, k: float, _error: float, _n: int
) -> str | None:
    """Return the reason why boxes that are cut so often would hardly fit; None when they do.

    From public numbers. Where a loss has kinks, its lowest points may be a line, and the density
    falls off within 1/(k · slope) of it.
    """
    if isinstance(target.loss, SquaredDistance):
        return None
    steepness = k * require_sloped_loss(target.loss).lipschitz_constant * target.region.radius
    if (steepness) > MAX_STEEPNESS:
        return (
            "the sampler plane needs too many boxes where k · slope · radius is "
            f"{steepness:.3g}; take a smaller "
            "epsilon"
        )
    return None


class TangentBoxes:
    """Boxes with the height f (m,) and slope g (m, d) of the potential at their centres.

    The centres C and half widths H are (m, d). `mass` (m,) is the log of ∫ exp(−f − ⟨g, t⟩) over
    each box.
    """

    def __init__(self, density: Density, rng: Rng) -> None:
        self.density = density
        low, high = density.region.corners
        self.C = (low + high)[None] / 2
        self.H = (high - low)[None] / 2
        self.f, self.g, self.mass = self._planes(self.C, self.H)
        log_mass = math.inf
        while len(self.C) < MAX_BOXES:
            self._split_heavy_boxes()
            previous_log_mass = log_mass
            log_mass = float(np.logaddexp.reduce(self.mass))
            # pilots cost as much as splits
            mass_is_stable = (
                len(self.C) >= 2 ** len(low) * 8
                and log_mass > previous_log_mass - MAX_LOG_MASS_FALL
            )
            if (
                mass_is_stable
                and len(self._draw_accepted_points(PILOT_PROPOSALS, rng))
                >= MIN_ACCEPTED_SHARE * PILOT_PROPOSALS
            ):
                break

    def _planes(self, C: Array, H: Array) -> tuple[Array, Array, Array]:
        """Return the height (m,), slope (m, d) of the potential at centres C, and log mass (m,).

        The log mass is over their boxes.
        """
        F, G = self.density.risk.values_and_gradients(C)
        offset = C - self.density.centre
        f = self.density.k * (F + self.density.mu * (offset**2).sum(1) / 2)
        g = self.density.k * (G + self.density.mu * offset)
        return f, g, -f + log_exp_integral(g, H).sum(1)

    def _split_heavy_boxes(self) -> None:
        """Split the boxes that hold 95% of the envelope, each in half along its longer side.

        A few hundred at the most.
        """
        order = np.argsort(-self.mass)
        share = np.exp(self.mass[order] - self.mass.max())
        heavy_boxes = order[
            : min(int(np.searchsorted(np.cumsum(share), 0.95 * share.sum())) + 1, 512)
        ]
        C = self.C[heavy_boxes]
        H = self.H[heavy_boxes].copy()
        rows = np.arange(len(heavy_boxes))
        axis = H.argmax(1)
        H[rows, axis] /= 2
        step = np.zeros_like(H)
        step[rows, axis] = H[rows, axis]
        C = np.concatenate([C - step, C + step])
        H = np.concatenate([H, H])
        region = self.density.region
        # exact for balls and boxes about their centre
        meets_region = region.contains(np.clip(region.centre, C - H, C + H))
        C = C[meets_region]
        H = H[meets_region]
        is_unsplit = np.ones(len(self.C), dtype=bool)
        is_unsplit[heavy_boxes] = False
        f, g, mass = self._planes(C, H)
        self.C = np.concatenate([self.C[is_unsplit], C])
        self.H = np.concatenate([self.H[is_unsplit], H])
        self.f = np.concatenate([self.f[is_unsplit], f])
        self.g = np.concatenate([self.g[is_unsplit], g])
        self.mass = np.concatenate([self.mass[is_unsplit], mass])

    def _draw_accepted_points(self, size: int, rng: Rng) -> Array:
        """Return the accepted ones of `size` proposals, in order."""
        box = sample_categorical_log(self.mass, size, rng)
        t = invert_exponential_cdf(self.g[box], self.H[box], rng.random((size, self.C.shape[1])))
        X = self.C[box] + t
        u = rng.standard_exponential(size)
        is_accepted = self.density.region.contains(X)
        gap = (
            self.density.potential(X[is_accepted])
            - self.f[box][is_accepted]
            - (self.g[box][is_accepted] * t[is_accepted]).sum(1)
        )
        is_accepted[is_accepted] = u[is_accepted] >= gap
        return X[is_accepted]

    def draw(self, size: int, rng: Rng) -> Array:
        """Return independent draws (size, d)."""
        accepted = []
        count = 0
        while count < size:
            X = self._draw_accepted_points(max(8, min(4 * (size - count), 4096)), rng)
            accepted.append(X)
            count += len(X)
        return np.concatenate(accepted)[:size]


def sample_categorical_log(log_mass: Array, size: int, rng: Rng) -> Array:
    """Return independent indices (size,), each drawn with probability ∝ exp(log_mass)."""
    cumulative_mass = np.cumsum(np.exp(log_mass - log_mass.max()))
    return np.minimum(
        np.searchsorted(cumulative_mass, rng.random(size) * cumulative_mass[-1], side="right"),
        len(cumulative_mass) - 1,
    )


def log_exp_integral(g: Array, h: Array) -> Array:
    """Return log ∫_{−h}^{h} exp(−gt) dt, elementwise."""
    a = np.abs(g) * h
    small = a < 1e-4
    safe = np.where(small, 1.0, a)
    return np.where(
        small,
        np.log(2 * h) + a * a / 6,
        np.log(h) - np.log(safe) + safe + np.log1p(-np.exp(-2 * safe)),
    )


def invert_exponential_cdf(g: Array, h: Array, u: Array) -> Array:
    """Return the point t in −h..h below which exp(−gt) has the share u of its mass, elementwise."""
    a = np.abs(g) * h
    small = a < 1e-9
    safe = np.where(small, 1.0, np.abs(g))
    t = -h - np.log1p(u * np.expm1(-2 * safe * h)) / safe
    return np.where(small, (2 * u - 1) * h, np.clip(np.where(g >= 0, t, -t), -h, h))


def draw(density: Density, _error: float, rng: Rng) -> Array:
    """Return one exact draw (d,)."""
    return TangentBoxes(density, rng).draw(1, rng)[0]
