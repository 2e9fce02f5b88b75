"""Statistics of a risk that a Curator measures, each sensitivity derived beside it. Imports targets.

As in `statistics`, sensitivities are those of n times the value when one record is replaced; the Curator divides by n.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...data.domain import Rows
from ...errors import InputError
from ...geometry.regions import Region, Space
from ...learning.losses import Loss, SquaredDistance
from ...learning.risks import Risk, newton
from .answers import ROOM
from .targets import KnownRisk

SMALLEST = 1e-100  # clip: far below it gradients and noise would round to 0


@dataclass(frozen=True, eq=False)
class MeanGradient(KnownRisk):
    """(1/n) Σ_i ∇f(x; z_i) (d,), every record's gradient first shortened to norm `clip` = C where it is longer.

    Replacing a record changes one summand: Δ₂ = 2C for n times the value. Where no gradient can be longer than C (C at
    least the loss's steepest slope, ‖a‖ ≤ 1) nothing is shortened, and the change is at most G as well (`difference`).
    Only Gaussian noise is calibrated to it: Δ₁ ≤ √d Δ₂.
    """

    loss: Loss
    region: Region
    x: np.ndarray
    clip: float
    location: bool = False
    view: ClassVar[str] = "rows"

    @property
    def l2(self) -> float:
        """Δ₂ for one record."""
        free = not isinstance(self.loss, SquaredDistance) and self.clip >= self.loss.steepest
        return min(2 * self.clip, self.G) if free and self.region.contains(self.x[None])[0] else 2 * self.clip

    @property
    def l1(self) -> float:
        """Δ₁ for one record."""
        return math.sqrt(len(self.x)) * self.l2

    def check(self) -> None:
        """Also refuse a clip that is not above 0."""
        super().check()
        if not SMALLEST <= self.clip <= 1 / SMALLEST:
            raise InputError(f"clip={self.clip:g} must be above 0 and finite: {SMALLEST:g}..{1 / SMALLEST:g}")

    def clipped_sum(self, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Σ of the shortened gradients (d,), each record counted so many times."""
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

    def value(self, rows: Rows) -> np.ndarray:
        """The mean on the records."""
        return self.clipped_sum(rows.values, rows.weights / rows.n)

    def leaving(self, noisy: np.ndarray) -> np.ndarray:
        """All of it."""
        return noisy


@dataclass(frozen=True, eq=False)
class RegularisedMinimiser(KnownRisk):
    """argmin over R^d of F(x) + μ‖x − c‖²/2 (d,), kinks rounded off over `width`.

    The objective is (m + μ)-strongly convex (m = 1 for the squared distance), and between neighbours it differs by a
    G/n-Lipschitz function, so the minimiser moves by at most G/(n(m + μ)): Δ₂ = G/(m + μ) for n times the value. G is
    that of all of R^d, and holds for a rounded loss too, whose slopes are no steeper. The solver ends with a gradient
    of at most `TOLERANCE` · G/n, which moves each of two minimisers by that share of Δ₂ at the most, and is added.
    Raises InputError for μ = 0 without strong convexity. Source: Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1.
    """

    loss: Loss
    region: Region
    mu: float
    width: float
    location: bool = False
    view: ClassVar[str] = "rows"
    TOLERANCE: ClassVar[float] = 1e-4

    @property
    def l2(self) -> float:
        """Δ₂ for one record."""
        whole = MeanGradient(self.loss, Space(self.region.centre, 1.0), self.region.centre, 1.0, self.location).G
        return whole / (self.loss.strength + self.mu) * (1 + 2 * self.TOLERANCE) * ROOM

    @property
    def l1(self) -> float:
        """Δ₁ for one record."""
        return math.sqrt(len(self.region.centre)) * self.l2

    def check(self) -> None:
        """Also refuse μ = 0 without strong convexity, and kinks."""
        super().check()
        if not 0 <= self.mu < math.inf or self.loss.strength + self.mu == 0:
            raise InputError(f"mu={self.mu:g} must be above 0: this loss is not strongly convex")
        if self.width <= 0 and self.loss.curvature == math.inf:
            raise InputError(f"width={self.width:g} must be above 0: this loss has kinks")

    def value(self, rows: Rows) -> np.ndarray:
        """The minimiser on the records; ArithmeticError where rounding keeps it from the promised precision."""
        risk, c = self.risk(rows), self.region.centre
        if isinstance(self.loss, SquaredDistance):
            return (risk.mean + self.mu * c) / (1 + self.mu)
        goal = self.TOLERANCE * self.G / rows.n
        x = c.copy()
        for width in (1e4, 1e2, 1.0):
            smooth = risk.with_loss(self.loss.smoothed(width * self.width))
            x = newton(smooth, x, mu=self.mu, centre=c, tolerance=goal)
        left = float(np.linalg.norm(smooth.gradient(x) + self.mu * (x - c)))
        if left > goal:
            raise ArithmeticError(f"the minimiser was found to a gradient of {left:.3g} only, not {goal:.3g}")
        return x

    def leaving(self, noisy: np.ndarray) -> np.ndarray:
        """All of it."""
        return noisy


RiskStatistic = MeanGradient | RegularisedMinimiser
