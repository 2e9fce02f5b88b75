"""Lower bounds of a logistic potential about a point, and draws from their envelopes.

See `envelope`. Also Gaussians cut off at a region. Both shapes have the same attributes; `log_mass`
is the log of ∫ exp(−bound), so that the smaller one accepts more.
"""

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln, log_ndtr, ndtri_exp

from ...core.types import Array, Rng, frozen
from ...problems.regions import Ball, Box, Region
from .plane import invert_exponential_cdf, log_exp_integral, sample_categorical_log

SHELL_COUNT = 400
RADIUS_COUNT = 200
# by how much the exponent has to rise, beside 2d, before one tangent does for all radii beyond
REQUIRED_EXPONENT_RISE = 30.0
BATCH_SIZES = (64, 4096)  # points of a Gaussian tried at once, first and at the most


@frozen
class GaussianEnvelope:
    """The envelope exp(−½vᵀPv − ⟨l, v⟩) about x̂ on the half-space ⟨q, v⟩ ≥ `floor`."""

    at: Array
    P: Array
    linear: Array
    lift: float  # constant of the lower bound on the exponent
    q: Array
    floor: float
    exponent_floor: float  # a lower bound on the exponent on all of K

    @property
    def log_mass(self) -> float:
        """log of the integral of the envelope over the half-space."""
        L = np.linalg.cholesky(self.P)
        deviation = float(np.linalg.norm(solve_triangular(L, self.q, lower=True)))
        mean = -np.linalg.solve(self.P, self.linear)
        standardised_floor = (self.floor - float(self.q @ mean)) / deviation
        size = len(self.at) * math.log(2 * math.pi) - float(np.linalg.slogdet(self.P)[1])
        return (
            size / 2
            - float(self.linear @ mean) / 2
            - self.lift
            + float(log_ndtr(-standardised_floor))
        )

    def draw(self, size: int, rng: Rng) -> Array:
        """Return points v (size, d) of the Gaussian N(−P⁻¹l, P⁻¹) on the half-space."""
        L = np.linalg.cholesky(self.P)
        mean = -np.linalg.solve(self.P, self.linear)
        V = mean + solve_triangular(L.T, rng.standard_normal((len(mean), size)), lower=False).T
        half = solve_triangular(L, self.q, lower=True)
        across = solve_triangular(L.T, half, lower=False)
        deviation = float(np.linalg.norm(half))
        middle = float(self.q @ mean)
        variance = deviation**2
        u = np.log1p(-rng.random(size))  # log of a uniform in (0, 1]
        t = -ndtri_exp(np.minimum(u + log_ndtr(-(self.floor - middle) / deviation), -1e-300))
        return V + np.outer((middle + deviation * t - V @ self.q) / variance, across)

    def bound(self, V: Array) -> Array:
        """Return the lower bound on k(F_μ(x̂ + v) − F_μ(x̂)) at every row of V."""
        return self.lift + V @ self.linear + ((V @ self.P) * V).sum(1) / 2


class RadialEnvelope:
    """The envelope exp(lift + slack r − φ(κr)r²) about x̂, r = ‖v‖_M.

    It is log-concave along r, so below its tangents.

    They are taken in the middle of shells, and at the end of the last one for all radii beyond.
    B(r) = φ(κr)r² − slack r is convex and B(0) = 0, so B'(r)r ≥ B(r), and where B ≥ d the density
    r^{d−1}e^{−B} falls. No point of K is beyond `widest`. The attributes are those of
    `GaussianEnvelope`. Raises LinAlgError where the envelope does not fall.
    """

    def __init__(
        self,
        at: Array,
        M: Array,
        kappa: float,
        slack: float,
        lift: float,
        widest: float,
        exponent_floor: float,
    ) -> None:
        self.at = at
        self.M = M
        self.exponent_floor = exponent_floor
        self._inverse_root = np.linalg.inv(np.linalg.cholesky(M)).T
        self._d = len(at)
        self._lift = lift
        radii = np.geomspace(0.5, 1e4, RADIUS_COUNT) * math.sqrt(self._d)
        sufficient_radii = radii[
            phi(kappa * radii) * radii**2 - slack * radii >= REQUIRED_EXPONENT_RISE + 2 * self._d
        ]
        grid_end = min(sufficient_radii.min(initial=math.inf), widest)
        if not math.isfinite(grid_end):
            raise np.linalg.LinAlgError("the envelope has no end")
        self._half_width = grid_end / SHELL_COUNT / 2
        tangent_radii = np.append((2 * np.arange(SHELL_COUNT) + 1) * self._half_width, grid_end)
        self._tangent_radii = tangent_radii
        S = kappa * tangent_radii
        h = phi(S) * tangent_radii**2
        slope = tangent_radii * np.where(
            S < 1e-3, 1 - S / 2 + S * S / 6, -np.expm1(-S) / np.maximum(S, 1e-300)
        )
        self._height = h - slack * tangent_radii - (self._d - 1) * np.log(tangent_radii)
        self._slope = slope - slack - (self._d - 1) / tangent_radii
        self._slope[-1] = max(self._slope[-1], 1 / grid_end)  # less only at `widest`
        within = log_exp_integral(self._slope[:-1], self._half_width)
        beyond = -np.log(self._slope[-1])
        self._mass = np.append(within, beyond) - self._height
        log_sphere_area = (
            math.log(2) + self._d / 2 * math.log(math.pi) - float(gammaln(self._d / 2))
        )
        self.log_mass = (
            log_sphere_area
            + float(np.logaddexp.reduce(self._mass))
            + lift
            - float(np.linalg.slogdet(M)[1]) / 2
        )

    def draw(self, size: int, rng: Rng) -> Array:
        """Return points v (size, d) of the envelope."""
        shell = sample_categorical_log(self._mass, size, rng)
        u = rng.random(size)
        beyond = -np.log1p(-u) / self._slope[-1]
        t = np.where(
            shell < SHELL_COUNT,
            invert_exponential_cdf(self._slope[shell], self._half_width, u),
            beyond,
        )
        X = rng.standard_normal((size, self._d))
        return (
            X * ((self._tangent_radii[shell] + t) / np.linalg.norm(X, axis=1))[:, None]
        ) @ self._inverse_root.T

    def bound(self, V: Array) -> Array:
        """Return a lower bound on k(F_μ(x̂ + v) − F_μ(x̂)) at every row of V.

        It is minus the log of what `draw` draws from.
        """
        r = np.sqrt(((V @ self.M) * V).sum(1))
        shell = np.minimum(r / (2 * self._half_width), SHELL_COUNT).astype(int)
        tangent = self._height[shell] + self._slope[shell] * (r - self._tangent_radii[shell])
        return tangent + (self._d - 1) * np.log(np.maximum(r, 1e-300)) - self._lift


def phi(S: Array | float) -> Array:
    """Return the function (e^{−S} + S − 1)/S² elementwise: ½ at 0, falling and convex."""
    S = np.asarray(S, dtype=float)
    return np.where(
        S < 1e-3, 0.5 - S / 6 + S * S / 24, (np.expm1(-S) + S) / np.maximum(S, 1e-3) ** 2
    )


def draw_truncated_gaussian(
    mean: Array, variance: float, region: Region, size: int, rng: Rng
) -> Array:
    """Return exact independent draws (size, d) from N(mean, variance · I), cut off at a region.

    The law is restricted to the region, however far the mean lies.

    In a box points outside are refused or, where most are, each coordinate inverts its distribution
    function. In a ball of radius R about m, for any λ ≥ 0, the density lies below itself times
    exp(λ(R² − ‖x − m‖²)/2): a Gaussian of precision P = 1/variance + λ, accepted with probability
    exp(−λ(R² − ‖x − m‖²)/2). λ is the smallest with E‖x − m‖² ≤ R², so that not too many are
    refused.
    """
    deviation = math.sqrt(variance)
    if isinstance(region, Box):
        X = mean + deviation * rng.standard_normal((BATCH_SIZES[0], len(mean)))
        X = X[region.contains(X)]
        if len(X) >= size:  # however many were refused, the others have the law
            return X[:size]
        from scipy.stats import (
            truncnorm,
        )  # here, as it takes longer to load than all of this package

        low = (region.low - mean) / deviation
        high = (region.high - mean) / deviation
        high = np.maximum(
            high, np.nextafter(low, np.inf)
        )  # two ends that a far mean rounds to one would be refused
        X = truncnorm.rvs(
            low, high, loc=mean, scale=deviation, size=(size, len(mean)), random_state=rng
        )
        return region.project(np.asarray(X))
    if not isinstance(region, Ball):
        return mean + deviation * rng.standard_normal((size, len(mean)))
    m = region.centre
    squared_radius = region.radius**2
    d = len(mean)
    pull = (mean - m) / variance
    P = max(
        1 / variance,
        (d + math.sqrt(d * d + 4 * squared_radius * float(pull @ pull))) / (2 * squared_radius),
    )
    lam = P - 1 / variance
    accepted = []
    count = 0
    batch_size = max(BATCH_SIZES[0], 2 * size)
    while count < size:
        X = m + pull / P + rng.standard_normal((batch_size, d)) / math.sqrt(P)
        squared_room = squared_radius - ((X - m) ** 2).sum(1)
        X = X[
            (squared_room >= 0) & (rng.standard_exponential(batch_size) >= lam * squared_room / 2)
        ]
        accepted.append(X)
        count = count + len(X)
        batch_size = min(2 * batch_size, BATCH_SIZES[1])
    return region.project(np.concatenate(accepted)[:size])
