"""Statistics of a risk that a curator measures, each sensitivity derived beside it."""

import math
from functools import cached_property

import numpy as np

from ...core.errors import InputError
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Array, frozen
from ...problems.losses import Loss, SquaredDistance, gradient_difference_bound
from ...problems.regions import Region
from ...problems.risks import Risk
from ...schema.domain import Rows
from ..minimiser import MIN_GOAL_PER_ROUNDING, find_minimiser, gradient_rounding_error
from .density_targets import CheckedRisk
from .statistic import Statistic

MIN_CLIP = 1e-100  # clip: far below it gradients and noise would round to 0


@frozen
class MeanGradient(CheckedRisk, Statistic):
    """The mean gradient of the loss over the rows, each row's clipped to norm ≤ `clip` = C.

    (1/n) Σ_i ∇f(x; z_i) (d,).

    Replacing a row changes one summand, from one vector of length C at the most to another: Δ₂ ≤ 2C
    for n times the value. Before they are shortened the two gradients are at most G apart
    (`difference`), for a mean the spread of its box; and shortening is the projection on a ball,
    which brings no two points further apart. So Δ₂ = min(2C, G), whether anything is shortened or
    not. G is that of K for x in K, else that of R^d. Only Gaussian noise is calibrated to it: Δ₁ ≤
    √d Δ₂.
    """

    loss: Loss
    region: Region
    x: Array
    clip: float
    location: bool = False
    gridded = False
    reads_single_rows = True

    @property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ to one row."""
        in_region = self.region.contains(self.x[None])[0]
        return min(
            2 * self.clip,
            self.G
            if in_region
            else gradient_difference_bound(self.loss, location=self.location, max_norm=math.inf),
        )

    @property
    def l1(self) -> float:
        """The ℓ1-sensitivity Δ₁ to one row."""
        return math.sqrt(len(self.x)) * self.l2

    def check(self) -> None:
        """Raise InputError also for a clip that is not above 0."""
        super().check()
        if not MIN_CLIP <= self.clip <= 1 / MIN_CLIP:
            raise InputError(
                f"clip={self.clip:g} must be above 0 and finite: {MIN_CLIP:g}..{1 / MIN_CLIP:g}"
            )

    def clipped_sum(self, values: Array, counts: Array) -> Array:
        """Return the sum of the clipped gradients (d,), row i counted counts[i] times."""
        risk = Risk(self.loss, values, np.ones(len(values)), location=self.location)
        if isinstance(self.loss, SquaredDistance):
            gradients = self.x - risk.A
            norms = np.linalg.norm(gradients, axis=1)
        else:
            slope = self.loss.slope(risk.A @ self.x, risk.b)
            gradients = risk.A
            norms = np.abs(slope) * np.linalg.norm(risk.A, axis=1)
            counts = counts * slope
        return (counts * np.minimum(1, self.clip / np.maximum(norms, 1e-300))) @ gradients

    def value(self, rows: Rows) -> Array:
        """Return the mean clipped gradient on the rows."""
        return self.clipped_sum(rows.values, rows.weights / rows.n)


@frozen
class RegularisedMinimiser(CheckedRisk, Statistic):
    """The minimiser (d,) over R^d of the regularised risk F(x) + μ‖x − c‖²/2.

    Kinks are rounded off over `width`, for n rows, which are public.

    The objective is (m + μ)-strongly convex (m = 1 for the squared distance), and between
    neighbours it differs by a G/n-Lipschitz function, so the minimiser moves by at most G/(n(m +
    μ)): Δ₂ = G/(m + μ) for n times the value. G is that of all of R^d, and holds for a rounded loss
    too, whose slopes are no steeper. What is found lies within `gradient_tolerance`/μ of the
    minimiser for all rows that there can be (`minimiser`), rounding included; both of two
    neighbours may be as far off, so 2n · goal/μ is added. It is found as x − c, and gets its noise
    there; c is added to what leaves. The squared distance has the closed form c + (mean − c)/(1 +
    μ), with nothing to be found. Raises InputError for μ = 0 without strong convexity, and where
    rounding might cost more than MOST of Δ₂: by public numbers, before any row is read. Source:
    Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1.
    """

    loss: Loss
    region: Region
    mu: float
    width: float
    n: int
    location: bool = False
    gridded = False
    reads_single_rows = True
    TOLERANCE = 1e-4
    MAX_ROUNDING_SHARE = 0.5

    @cached_property
    def G(self) -> float:  # noqa: N802 - the paper's letter
        """The Lipschitz constant of f(·; z) − f(·; z') on R^d."""
        return gradient_difference_bound(self.loss, location=self.location, max_norm=math.inf)

    @property
    def gradient_tolerance(self) -> float:
        """The gradient length that corresponds to the solver's distance from the minimiser."""
        smoothed_loss = self._smoothed_loss
        if isinstance(smoothed_loss, SquaredDistance):
            return 0.0
        eta = gradient_rounding_error(smoothed_loss, self.region.centre, mu=self.mu, n=self.n)
        return max(self.TOLERANCE * self.G / self.n, MIN_GOAL_PER_ROUNDING * eta)

    @property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ to one row."""
        return (
            (self.G + 2 * self.n * self.gradient_tolerance)
            / (self.loss.strong_convexity + self.mu)
            * ROUNDING_SLACK
        )

    @property
    def l1(self) -> float:
        """The ℓ1-sensitivity Δ₁ to one row."""
        return math.sqrt(len(self.region.centre)) * self.l2

    @property
    def _smoothed_loss(self) -> Loss:
        return (
            self.loss if isinstance(self.loss, SquaredDistance) else self.loss.smoothed(self.width)
        )

    def check(self) -> None:
        """Raise InputError for an invalid statistic, kinks, or a μ too small.

        μ = 0 needs strong convexity; else μ must not be too small for rounding.
        """
        super().check()
        self.require_strong_convexity(self.mu)
        if self.width <= 0 and self.loss.curvature == math.inf:
            raise InputError(f"width={self.width:g} must be above 0: this loss has kinks")
        rounding_share = 2 * self.n * self.gradient_tolerance / self.G
        if (rounding_share) > self.MAX_ROUNDING_SHARE:
            raise InputError(
                f"mu={self.mu:g} is too small for n={self.n:,} rows: rounding might move the "
                "minimiser by "
                f"{rounding_share:.2g} times what a row can, at most {self.MAX_ROUNDING_SHARE:g} "
                "is allowed"
            )

    def value(self, rows: Rows) -> Array:
        """Return the minimiser on the rows minus c; InputError where their number is not n."""
        if rows.n != self.n:
            raise InputError(f"the minimiser was planned for n={self.n:,} rows, not {rows.n:,}")
        risk = self.risk(rows)
        c = self.region.centre
        if isinstance(self.loss, SquaredDistance):
            return risk.w @ (risk.A - c) / (1 + self.mu)
        return find_minimiser(
            risk.with_loss(self._smoothed_loss),
            c,
            mu=self.mu,
            gradient_tolerance=self.gradient_tolerance,
            smoothing_factors=(1e4, 1e2, 1.0),
        )

    def postprocess(self, noisy: Array) -> Array:
        """Return the noisy minimiser in the region's coordinates.

        The noisy difference plus the centre c.
        """
        return self.region.centre + noisy
