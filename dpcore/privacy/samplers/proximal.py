"""The proximal sampler with all records at once, any dimension and convex loss. Imports targets.

From x draw y ~ N(x, ηI), then x from ∝ exp(−U(x) − ‖x − y‖²/(2η)) on K, U = k(F + μ‖x − c‖²/2), exactly: at a point
near its top F lies above a tangent plane, which makes a Gaussian envelope. Each round brings the law nearer to ∝
exp(−U): with α = k(m + μ) the strong convexity of U, the Wasserstein distance shrinks by 1 + ηα a round (coupling), a
Gaussian step turns it into KL ≤ W₂²/(2η), which the rest of the round does not enlarge, and total variation is at most
√(KL/2). So

    T = 1 + ⌈ln(W₂²/(4ητ²))/(2 ln(1 + ηα))⌉ rounds are within τ, W₂² ≤ R² from the centre of K,

whatever the records; no state of the chain but the last one leaves. η = 1/(kβ), β the loss's curvature, accepts a
constant share of proposals; kinks count as rounded over 0.1 R, which changes the speed and not the law.
Source: Chen, Chewi, Salim, Wibisono 2022, Theorem 2; Lee, Shen, Tian 2021.
"""

import math

import numpy as np

from ...losses import SquaredDistance
from ..targets import Density, RegularisedRisk

PROPOSALS = 4
MOST_WORK = 2 * 10**9  # rounds · records
KINK = 0.1


def rounds(target: RegularisedRisk, k: float, error: float) -> tuple[int, float]:
    """T and η, from public numbers; ∞ rounds are written as −1."""
    loss, region = target.loss, target.region
    smooth = loss if loss.curvature < math.inf else loss.smoothed(KINK * region.radius)  # type: ignore[union-attr]
    eta, alpha = 1 / (k * smooth.curvature), k * (loss.strength + target.mu)
    if error <= 0 or alpha <= 0:
        return -1, eta
    far = region.radius**2
    if not region.bounded:  # the mean of the law is within slope/μ + √(d/α) of c
        far = (loss.steepest / target.mu) ** 2 + len(region.centre) / alpha  # type: ignore[union-attr]
    return 1 + max(0, math.ceil((math.log(far / (4 * eta)) - 2 * math.log(error)) / (2 * math.log1p(eta * alpha)))), eta


def refuses(target: object) -> str | None:
    """Why a target cannot be drawn from here; None when it can."""
    if not isinstance(target, RegularisedRisk) or isinstance(target.loss, SquaredDistance) or target.mu == 0:
        return "the sampler proximal needs a regularised risk with mu > 0"
    return None


def too_long(target: RegularisedRisk, k: float, error: float, n: int) -> str | None:
    """Why the certificate is out of reach, from public numbers; None when it is not."""
    T, _ = rounds(target, k, error)
    if T < 0:
        return "the sampler proximal is never exact: theta must be above 0"
    if T * n > MOST_WORK:
        return f"the sampler proximal needs {T:,} rounds over n={n:,} records; take fewer, d ≤ 2, or the logistic loss"
    return None


def chain(density: Density, T: int, eta: float, rng: np.random.Generator) -> np.ndarray:
    """The T-th state (d,), from the centre of K, or c on R^d."""
    risk, region, k, mu, c = density.risk, density.region, density.k, density.mu, density.centre
    variance = 1 / (1 / eta + k * mu)
    x = region.centre if region.bounded else c
    for _ in range(T):
        y = x + math.sqrt(eta) * rng.standard_normal(len(c))
        base = variance * (y / eta + k * mu * c)
        at = region.project(base - variance * k * risk.gradient(region.project(base)))
        F, G = risk.tangents(at[None])
        mean = base - variance * k * G[0]
        while True:
            X = mean + math.sqrt(variance) * rng.standard_normal((PROPOSALS, len(c)))
            u = rng.standard_exponential(PROPOSALS)
            good = region.contains(X)
            if not good.any():
                continue
            good[good] = u[good] >= k * (risk.values(X[good]) - F[0] - (X[good] - at) @ G[0])
            if good.any():
                x = X[good.argmax()]
                break
    return x


def draw(density: Density, error: float, rng: np.random.Generator) -> np.ndarray:
    """One draw (d,) within `error` of the law in total variation."""
    target = RegularisedRisk(density.risk.loss, density.region, density.mu)
    return chain(density, *rounds(target, density.k, error), rng)
