"""The proximal sampler with all rows at once, any dimension and convex loss.

From x draw y ~ N(x, ηI), then x from ∝ exp(−U(x) − ‖x − y‖²/(2η)) on K, U = k(F + μ‖x − c‖²/2),
exactly: at a point near its top F lies above a tangent plane, which makes a Gaussian envelope. Each
round brings the law nearer to ∝ exp(−U): with α = k(m + μ) the strong convexity of U, the
Wasserstein distance shrinks by 1 + ηα a round (coupling), a Gaussian step turns it into KL ≤
W₂²/(2η), which the rest of the round does not enlarge, and total variation is at most √(KL/2). So

    T = 1 + ⌈ln(W₂²/(4ητ²))/(2 ln(1 + ηα))⌉ rounds are within τ, W₂² ≤ R² from the centre of K,

whatever the rows; no state of the chain but the last one leaves. η = 1/(kβ), β the loss's
curvature, accepts a constant share of proposals; kinks count as rounded over 0.1 R, which changes
the speed and not the law.

Without a regulariser (`PlainRisk`, bounded K) last states are drawn with kμ = 2/R² and kept with
probability w = exp(kμ‖x − c‖²/2 − 1), 1/e at the least, each from a new chain until one is kept:
that turns ∝ exp(−U) into ∝ exp(−kF). Where chains are within τ' of their law, what is kept is
within 3eτ'/2 of its own: |p − q| integrates to 2τ', so w(p − q) adds τ'/E w at the most, and the
two normalisers differ by τ'/E w, of which half counts; τ' = 2τ/(3e).
Source: Chen, Chewi, Salim, Wibisono 2022, Theorem 2; Lee, Shen, Tian 2021.
"""

import math

import numpy as np

from ...core.types import Array, Rng
from ...problems.losses import Loss, SquaredDistance, require_sloped_loss
from ...problems.regions import Region
from ..statistics.density_targets import Density, PlainRisk, RegularisedRisk, Target
from .shapes import draw_truncated_gaussian

PROPOSALS_PER_BATCH = 4
MAX_WORK = 2 * 10**9  # rounds · rows
KINK_WIDTH_SHARE = 0.1
THINNING_ERROR_FACTOR = (
    1.5 * math.e
)  # factor by which keeping only some states may enlarge their error


def rounds_and_step(
    loss: Loss, region: Region, mu: float, k: float, error: float
) -> tuple[int, float]:
    """Return the number of rounds T of one chain and the step η, from public numbers.

    `error` is above 0.
    """
    smooth_loss = (
        loss
        if loss.curvature < math.inf
        else require_sloped_loss(loss).smoothed(KINK_WIDTH_SHARE * region.radius)
    )
    if loss.strong_convexity + mu == 0:
        mu = _unit_regularisation(region, k)
        error = error / THINNING_ERROR_FACTOR
    eta = 1 / (k * smooth_loss.curvature)
    strength = loss.strong_convexity + mu
    log_squared_distance = 2 * math.log(
        region.radius
    )  # in logarithms, as μ may be any number above 0
    if not region.is_bounded:
        # The law's mean is within `lipschitz_constant`/μ of c; it varies by d/α, α = k · strength.
        log_variance = math.log(len(region.centre)) - math.log(k) - math.log(strength)
        log_squared_distance = float(
            np.logaddexp(
                2 * math.log(require_sloped_loss(loss).lipschitz_constant / mu), log_variance
            )
        )
    required_rounds = (log_squared_distance - math.log(4 * eta) - 2 * math.log(error)) / (
        2 * math.log1p(strength / smooth_loss.curvature)
    )
    return 1 + math.ceil(min(max(required_rounds, 0.0), MAX_WORK)), eta


def _unit_regularisation(region: Region, k: float) -> float:
    """Return the regularisation μ with kμR²/2 = 1."""
    return 2 / (k * region.radius**2)


def unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a target; None when it can."""
    if isinstance(target, RegularisedRisk | PlainRisk) and not isinstance(
        target.loss, SquaredDistance
    ):
        regularised = isinstance(target, RegularisedRisk)
        if target.mu > 0 if regularised else target.region.is_bounded:
            return None
    return "the sampler proximal needs a risk with mu > 0, or a bounded region"


def too_long_reason(
    target: RegularisedRisk | PlainRisk, k: float, error: float, n: int
) -> str | None:
    """Return the reason why the certificate is out of reach; None when it is not.

    From public numbers.
    """
    T, _ = rounds_and_step(target.loss, target.region, target.mu, k, error)
    if T * n > MAX_WORK:
        return (
            f"the sampler proximal needs {T:,} rounds over n={n:,} rows; take fewer, d ≤ 2, "
            "or the logistic loss"
        )
    return None


def run_chain(density: Density, T: int, eta: float, rng: Rng) -> Array:
    """Return the chain's T-th state (d,), started at the centre of K, or at c on R^d."""
    risk = density.risk
    region = density.region
    k = density.k
    mu = density.mu
    c = density.centre
    variance = 1 / (1 / eta + k * mu)
    x = region.centre if region.is_bounded else c
    for _ in range(T):
        y = x + math.sqrt(eta) * rng.standard_normal(len(c))
        base = variance * (y / eta + k * mu * c)
        at = region.project(base - variance * k * risk.gradient(region.project(base)))
        F, G = risk.values_and_gradients(at[None])
        mean = base - variance * k * G[0]
        while True:
            X = draw_truncated_gaussian(mean, variance, region, PROPOSALS_PER_BATCH, rng)
            u = rng.standard_exponential(PROPOSALS_PER_BATCH)
            is_accepted = u >= k * (risk.values(X) - F[0] - (X - at) @ G[0])
            if is_accepted.any():
                x = X[is_accepted.argmax()]
                break
    return x


def draw(density: Density, error: float, rng: Rng) -> Array:
    """Return one draw (d,) within `error` of the law in total variation."""
    loss = density.risk.loss
    region = density.region
    k = density.k
    T, eta = rounds_and_step(loss, region, density.mu, k, error)
    if loss.strong_convexity + density.mu > 0:
        return run_chain(density, T, eta, rng)
    regularised_density = Density(density.risk, region, k, _unit_regularisation(region, k))
    c = region.centre
    while True:
        x = run_chain(regularised_density, T, eta, rng)
        if rng.standard_exponential() >= 1 - float((x - c) @ (x - c)) / region.radius**2:
            return x
