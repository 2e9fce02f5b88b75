"""The closed set of laws that a parameter is drawn from, the privacy of each derived beside it.

F(x) = (1/n) Σ_i f(x; z_i) on a convex K. Replacing one row changes F by a function that is
G/n-Lipschitz on K (`losses.gradient_difference_bound`); b rows of a person, by b such functions:
`effective_n` = n/b. As with noise, how sharp a density may be follows from what is paid.
"""

import math
from typing import Any

import numpy as np
from scipy.special import erfcx

from ...core.errors import InputError
from ...core.numbers import bisect_interval
from ...core.types import Array, frozen
from ...problems.losses import Logistic, Loss, PiecewiseLinear, SquaredDistance, require_sloped_loss
from ...problems.regions import Ball, Box, Region, Space
from ...problems.risks import LossOnRegion, Risk
from ...schema.domain import Rows
from ..accounting.events import Approximate, BoundedRange, Gaussian
from ..minimiser import (
    MIN_GOAL_PER_ROUNDING,
    descent_schedule,
    gradient_rounding_error,
    max_minimiser_distance,
)

MAX_COMPUTED_TAIL = 100.0  # beyond which a difference of normal tails is bounded, not computed
MAX_BISECTIONS = 200


@frozen
class Density:
    """The density ∝ exp(−k(F(x) + μ‖x − c‖²/2)) on K.

    It holds the rows, so only a draw from it is released.
    """

    risk: Risk
    region: Region
    k: float
    mu: float
    at: Array | None = None

    @property
    def centre(self) -> Array:
        """The centre c (d,): that of K unless another was given."""
        return self.region.centre if self.at is None else self.at

    def potential(self, X: Array) -> Array:
        """Return the potential k(F + μ‖x − c‖²/2) (m,) at every row of X (m, d)."""
        return self.k * (self.risk.values(X) + self.mu * ((X - self.centre) ** 2).sum(1) / 2)


class CheckedRisk(LossOnRegion):
    """A target made of a loss and a region.

    `check` refuses those whose Lipschitz constant G is not derived.
    """

    def check(self) -> None:
        """Raise InputError for an unknown loss or region."""
        if type(self.loss) not in (PiecewiseLinear, Logistic, SquaredDistance) or type(
            self.region
        ) not in (
            Ball,
            Box,
            Space,
        ):
            raise InputError(f"{type(self.loss).__name__} is not a loss whose G is known here")
        if self.location and self.loss.margin:
            raise InputError(
                f"the loss {self.loss.name} takes its target for ±1; a location has none"
            )
        d = len(self.region.centre)
        for name in ("x", "at"):
            point = getattr(self, name, None)
            if point is not None and (point.shape != (d,) or not np.isfinite(point).all()):
                raise InputError(
                    f"{name} of shape {point.shape} must be a finite point of d={d} coordinates"
                )

    def require_strong_convexity(self, mu: float) -> None:
        """Raise InputError for μ < 0, and for μ = 0 where the loss is not strongly convex.

        Nothing holds then.
        """
        if not 0 <= mu < math.inf or self.loss.strong_convexity + mu == 0:
            raise InputError(
                f"mu={mu:g} must be above 0: this loss is not strongly convex, so nothing is "
                "promised"
            )


class _ExponentialLaw(CheckedRisk):
    """The base of laws ∝ exp(−k(F(x) + μ‖x − c‖²/2)) on K.

    A subclass derives k from what is paid.
    """

    mu: Any
    at: Any
    k: Any  # (unit, spend): the inverse temperature k that a spend pays for

    def density(self, rows: Rows, effective_n: float, spend: Any) -> Density:
        """Return the density that these rows define."""
        return Density(self.risk(rows), self.region, self.k(effective_n, spend), self.mu, self.at)


@frozen
class RegularisedRisk(_ExponentialLaw):
    """A draw by the regularised risk: x ∝ exp(−k(F(x) + μ‖x − c‖²/2)) on K.

    It costs as much as s-GDP noise.

    The exponent is k(m + μ)-strongly convex (m = 1 for the squared distance, else 0), and between
    neighbours it differs by a kG/unit-Lipschitz function. Hence the law is (kG/unit)/√(k(m + μ)) =
    G√k/(unit √(m + μ))-GDP, and k = (m + μ)(s · unit/G)². Equality for quadratics on R^d: then it
    is the Gaussian mechanism. c = `at` is any public point, such as an earlier draw, or the centre
    of K.
    Source: Gopi, Lee, Liu 2022, Theorem 2.1.
    """

    loss: Loss
    region: Region
    mu: float
    location: bool = False
    at: Array | None = None
    payable = (Gaussian,)

    def check(self) -> None:
        """Raise InputError for an invalid target, and for μ = 0 without strong convexity.

        Its draw has no Gaussian guarantee then.
        """
        super().check()
        self.require_strong_convexity(self.mu)

    def k(self, effective_n: float, spend: Gaussian) -> float:
        """Return the inverse temperature k that `spend` pays for."""
        return (self.loss.strong_convexity + self.mu) * (spend.mu * effective_n / self.G) ** 2


@frozen
class _RangedDraw(_ExponentialLaw):
    """The base of exponential mechanisms at ε₀ on a bounded K, without a regulariser."""

    loss: Loss
    region: Region
    location: bool = False
    mu = 0.0
    at = None
    payable = (BoundedRange,)


class PlainRisk(_RangedDraw):
    """A draw by the risk: x ∝ exp(−kF(x)) on a bounded K, the exponential mechanism at ε₀.

    Between neighbours F differs by a G/unit-Lipschitz function, whose values on K span at most G ·
    diameter/unit; so log-likelihood ratios span at most k times that, and k = ε₀ · unit/(G ·
    diameter). Source: McSherry, Talwar 2007.
    """

    def check(self) -> None:
        """Raise InputError also for R^d, on which this law does not exist."""
        super().check()
        if not self.region.is_bounded:
            raise InputError("the exponential mechanism needs a bounded region: a ball or a box")

    def k(self, effective_n: float, spend: BoundedRange) -> float:
        """Return the inverse temperature k that `spend` pays for."""
        return spend.epsilon * effective_n / (self.G * self.region.diameter)


class RankError(_RangedDraw):
    """A draw by ranks, x ∝ exp(−k|#{z_i ≤ x}/n − q|) on an interval K.

    The exponential mechanism at ε₀.

    Rows are first moved to the steps of a public grid, each by itself, so that neighbours stay
    neighbours. Replacing one row moves #{z_i ≤ x} by at most 1, so that the exponent moves by
    k/unit at most either way, ratios span 2k/unit, and k = ε₀ · unit/2. The sampler "rank" reads
    ranks and not the risk, and draws a step.
    Source: Smith 2011, Algorithm 2; McSherry, Talwar 2007.
    """

    sensitivity = 1.0  # of the number of rows up to x, to one row

    def check(self) -> None:
        """Raise InputError for everything but a quantile of one column on an interval."""
        super().check()
        is_one_column = self.location and len(self.region.centre) == 1
        if not is_one_column or not isinstance(self.loss, PiecewiseLinear) or self.loss.margin:
            raise InputError("ranks are for a quantile of one column with public bounds")

    def k(self, effective_n: float, spend: BoundedRange) -> float:
        """Return the inverse temperature k that `spend` pays for."""
        return spend.epsilon * effective_n / 2


@frozen
class PerturbedRisk(CheckedRisk):
    """The minimiser of a randomly perturbed risk, an (ε₀, δ₀)-DP release.

    argmin over R^d of n F(x) + Λ‖x − c‖²/2 + ⟨ξ, x⟩, ξ ~ N(0, σ² I).

    For b replaced rows (n public) and a loss with |g'| ≤ L, g'' ≤ β, ‖a‖ ≤ 1, ε₂ = `share` · ε₀, ε₁
    = ε₀ − ε₂. The map from x to ξ = −n∇F(x) − Λ(x − c) is one to one, and the density of x is that
    of ξ times its determinant.

    - Determinants: nH = M + φ''aaᵀ with M ⪰ ΛI, for the row replaced last, so replacing it changes
      the determinant by 1 + β/Λ at most; Λ = β/(e^{ε₂/b} − 1) makes that e^{ε₂} for b of them.
    - Densities: ξ' = ξ + Δ, Δ = Σ ±g'_j a_j over 2b rows, and Δ depends on ξ, the a_j do not: Z_j =
      ⟨ξ, a_j⟩/σ is normal of variance ‖a_j‖² ≤ 1. With s = 2bL/σ and Z̄ the mean of the 2b |Z_j|,
      the log of the ratio is (2⟨ξ, Δ⟩ + ‖Δ‖²)/(2σ²) ≤ sZ̄ + s²/2, and with that of the determinants
      the law's δ at ε₀ is at most E(1 − e^{ε₁ − s²/2 − sZ̄})⁺ = E(1 − e^{−s(Z̄ − u)})⁺ ≤ s E(Z̄ −
      u)⁺, u = ε₁/s − s/2, as 1 − e^{−t} ≤ t. (· − u)⁺ is convex, so that of a mean is at most the
      mean of those of its parts, however they hang together, and larger variances only enlarge it:
      for u ≥ 0, δ ≤ s E(|Z| − u)⁺ = 2s(φ(u) − uΦ(−u)), Z standard normal, for any b. s is the
      largest with u ≥ 0 for which that is at most δ₀, and σ = 2bL/s.
    - Ends: ξ is drawn again until ‖ξ‖ ≤ σ√(d + 2√(dl) + 2l), l = ln((1 + e^ε₀)/(`TAIL_DELTA_SHARE`
      · δ₀)). A standard normal vector is longer with probability e^−l at most (Laurent, Massart
      2000, Lemma 1), so both laws change by e^−l in total variation, which costs (1 + e^ε₀)e^−l =
      `TAIL_DELTA_SHARE` · δ₀; δ₀ above is the rest. Now all that the solver needs is public: its
      `gradient_tolerance`, and its steps (`minimiser`).
    - Residual: what is found has a gradient of n F + … of length n · `gradient_tolerance`, not 0.
      It is refused beforehand unless that is at most `MAX_RESIDUAL_SHARE` of 2bL, what a person's
      rows do, and of σ. It shifts ξ as a row's gradient does, so σ is larger by 2 ·
      `MAX_RESIDUAL_SHARE`, for both neighbours. That it is no smooth function of ξ is left to the
      rounding of Gaussian noise, of which it is a kind: δ > 0 here, always.

    Source: Kifer, Smith, Thakurta 2012, Algorithm 1, for replacement; the privacy loss of linear
    learners follows one normal number a row, as in Redberg, Koskela, Wang 2023; the bound over
    several rows is this project's.
    """

    loss: Loss
    region: Region
    share: float
    location: bool = False
    payable = (Approximate,)
    TAIL_DELTA_SHARE = 0.01
    MAX_RESIDUAL_SHARE = 0.01
    MAX_STEPS = 10**6
    MAX_WORK = 10**12

    def check(self) -> None:
        """Raise InputError for an invalid target, losses with kinks, and the squared distance.

        The squared distance has a slope without bound.
        """
        super().check()
        if isinstance(self.loss, SquaredDistance) or self.loss.curvature == math.inf:
            raise InputError(
                "objective perturbation needs a smooth loss with a bounded slope, not "
                f"{self.loss.name}"
            )

    def calibrate(self, n: int, effective_n: float, spend: Approximate) -> tuple[float, float]:
        """Return the regularisation Λ and the noise σ that `spend` pays for.

        InputError where no end or bound is proved.
        """
        if spend.failure == 0:
            raise InputError("objective perturbation needs delta > 0")
        b = n / effective_n
        density_epsilon = (1 - self.share) * spend.epsilon
        lam = self.loss.curvature / math.expm1(min(self.share * spend.epsilon / b, 500.0))
        max_shift = 2 * b * require_sloped_loss(self.loss).lipschitz_constant
        sigma = (
            max_shift
            * (1 + 2 * self.MAX_RESIDUAL_SHARE)
            / largest_shift(density_epsilon, (1 - self.TAIL_DELTA_SHARE) * spend.failure)
        )
        self._require_solvable(
            n, lam, sigma, self.MAX_RESIDUAL_SHARE * min(max_shift, sigma), spend
        )
        return lam, sigma

    def max_noise_length(self, sigma: float, spend: Approximate) -> float:
        """Return the length within which the noise ξ is drawn."""
        d = len(self.region.centre)
        tail_exponent = float(np.logaddexp(0.0, spend.epsilon)) - math.log(
            self.TAIL_DELTA_SHARE * spend.failure
        )
        return sigma * math.sqrt(d + 2 * math.sqrt(d * tail_exponent) + 2 * tail_exponent)

    def gradient_tolerance(self, n: int, lam: float, sigma: float, spend: Approximate) -> float:
        """Return the gradient length of the mean risk that is reached for all rows.

        1e-10 σ/n, or what rounding leaves.
        """
        tilt = self.max_noise_length(sigma, spend) / n
        eta = gradient_rounding_error(
            require_sloped_loss(self.loss), self.region.centre, mu=lam / n, n=n, tilt=tilt
        )
        return max(1e-10 * sigma / n, MIN_GOAL_PER_ROUNDING * eta)

    def _require_solvable(
        self, n: int, lam: float, sigma: float, max_residual: float, spend: Approximate
    ) -> None:
        """Raise InputError where a solution would take too long or be off by too much.

        From public numbers.
        """
        loss = require_sloped_loss(self.loss)
        c = self.region.centre
        mu = lam / n
        tolerance = self.gradient_tolerance(n, lam, sigma, spend)
        advice = f"choose a smaller epsilon, a share below {self.share:g} or another algorithm"
        if not n * tolerance <= max_residual:
            residual_share = n * tolerance / max_residual * self.MAX_RESIDUAL_SHARE
            raise InputError(
                f"rounding might keep objective perturbation off its solution, for n={n:,} rows: "
                f"by {residual_share:.2g} of what a row does, "
                f"at most {self.MAX_RESIDUAL_SHARE:g} is allowed; {advice}"
            )
        max_distance = max_minimiser_distance(loss, c, mu, self.max_noise_length(sigma, spend) / n)
        rounds, steps = descent_schedule(max_distance, mu, loss.curvature + mu, tolerance)
        if not rounds * steps <= min(self.MAX_STEPS, self.MAX_WORK / n):
            raise InputError(
                f"objective perturbation might need {rounds * steps:.3g} steps over n={n:,} "
                f"rows, too many; {advice}"
            )


def largest_shift(epsilon: float, delta: float) -> float:
    """Return the largest s ≤ √(2ε), rounded down, with 2s(φ(u) − uΦ(−u)) ≤ δ, u = ε/s − s/2.

    See `PerturbedRisk`. In logs, as δ may be tiny: φ(u) − uΦ(−u) = φ(u)(1 − u m(u)), m = Φ(−u)/φ(u)
    by the scaled erfc; from u = MAX_COMPUTED_TAIL on 1 − u m(u) ≤ 1/(1 + u²) takes its place
    (Gordon 1941), where the difference would be lost to rounding.
    """

    def log_delta(s: float) -> float:
        u = epsilon / s - s / 2
        mills = math.sqrt(math.pi / 2) * float(erfcx(u / math.sqrt(2)))
        tail_factor = 1 / (1 + u * u) if u > MAX_COMPUTED_TAIL else 1 - u * mills
        return math.log(2 * s * tail_factor) - u * u / 2 - math.log(2 * math.pi) / 2

    low = 0.0
    high = math.sqrt(2 * epsilon)
    if log_delta(high) <= math.log(delta):
        return high
    return bisect_interval(lambda s: log_delta(s) <= math.log(delta), low, high, MAX_BISECTIONS)[
        0
    ] * (1 - 1e-9)


Target = RegularisedRisk | PlainRisk | RankError | PerturbedRisk
