"""The paper's own sampler, Algorithms 1 and 2, for teaching: single rows at random, n ≤ 200.

y ~ N(x, ηI), which may leave K and is not projected. Then x', z are drawn from N((y + ηαc)/(1 +
ηα), η/(1 + ηα) I) on K, α = kμ; with fresh rows j, p = Π k(f_j(z) − f_j(x')), ρ = 1 + Σ p, where
the a-th term is the last with probability a/(1 + a); x' is accepted when u ≤ ρ/2. E[ρ | x', z] = Σ
Δ^a/a! = exp(k(F(z) − F(x'))), Δ that exponent, so accepted points have the law ∝ exp(−kF) times the
Gaussian, up to the clipping of ρ to 0..2. There is no cap on the sum, nor on the tries: either
would change the law.

Error of a step: |clip(ρ) − ρ| ≤ (|ρ − 1| − 1)⁺ and |ρ − 1| ≤ Σ_{a≤N} Π |Δ_j|, P(N ≥ a) = 1/a!.
Along one row's features x' and z are no wider apart than two draws of N(0, η') (Caffarelli), so
|Δ_j| is at most σ|g| in distribution, g standard normal, σ = kL√(2η'). Products are largest, in the
convex order, when all factors are equal: the error is at most E(Σ_{a≤N} (σ|g|)^a − 1)⁺, as the
normaliser E ρ ≥ 1 (Jensen). Half of τ pays for T such steps, half for mixing, as in `proximal`.
Source: Gopi, Lee, Liu 2022, Algorithms 1 and 2, Lemmas 5.4 and 5.5.
"""

import math
from bisect import bisect
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from ...core.types import Array, Rng, frozen
from ...problems.losses import SquaredDistance, require_sloped_loss
from ..statistics.density_targets import Density, RegularisedRisk, Target

MAX_ROWS = 200
MAX_SERIES_TERMS = 40


@frozen
class Proposal:
    """One proposal of Algorithm 2: y, x', z (d,), ρ and whether x' was accepted.

    Shown on public samples only.
    """

    round: int
    y: Array
    x: Array
    z: Array
    rho: float
    accepted: bool


@lru_cache
def step_error(sigma: float) -> float:
    """Return the total variation error of one step.

    E(Σ_{a≤N} (σ|g|)^a − 1)⁺ for standard normal g and P(N = a) = 1/a! − 1/(a + 1)!.
    """
    g = np.linspace(0, 20, 40_001)
    weight = np.exp(-(g**2) / 2) * math.sqrt(2 / math.pi) * (g[1] - g[0])
    weight[0] /= 2
    t = sigma * g
    power = np.ones_like(g)
    total = np.zeros_like(g)
    error = 0.0
    for a in range(1, MAX_SERIES_TERMS):
        power = power * t
        total = total + power
        probability = 1 / math.factorial(a) - 1 / math.factorial(a + 1)
        error += probability * float(weight @ np.maximum(total - 1, 0))
    return error


@lru_cache
def largest_sigma_for_step_error(error: float) -> float:
    """Return the largest σ with step_error(σ) ≤ error, to 0.1% and rounded down."""
    low = 1e-3
    high = 1.0
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        if step_error(middle) > error:
            high = middle
        else:
            low = middle
    return low


def rounds_and_step(target: RegularisedRisk, k: float, error: float) -> tuple[int, float]:
    """Return the number of rounds T and the step η for a total variation of at most `error`.

    From public numbers.
    """
    alpha = k * target.mu
    max_slope = require_sloped_loss(target.loss).lipschitz_constant
    T = 1
    for _ in range(30):
        inner_step = (
            largest_sigma_for_step_error(error / (2 * T)) / (k * max_slope)
        ) ** 2 / 2  # η' = η/(1 + ηα)
        eta = inner_step / (1 - inner_step * alpha) if inner_step * alpha < 0.5 else 1 / alpha
        required_rounds = math.log(target.region.radius**2 / (eta * error**2)) / (
            2 * math.log1p(eta * alpha)
        )
        required_rounds = 1 + max(0, math.ceil(required_rounds))
        if required_rounds <= T:
            return T, eta
        T = math.ceil(required_rounds * 1.02)
    return T, eta  # not reached: T grows by a logarithm of itself


def unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a target; None when it can."""
    if (
        not isinstance(target, RegularisedRisk)
        or isinstance(target.loss, SquaredDistance)
        or target.mu == 0
    ):
        return "the alternating sampler needs a regularised risk with mu > 0"
    return None if target.region.is_bounded else "the alternating sampler needs a bounded region"


def too_long_reason(_target: Target, _k: float, _error: float, n: int) -> str | None:
    """Return the reason why a draw would take too long; None when it would not.

    From public numbers.
    """
    return f"the alternating sampler is for n ≤ {MAX_ROWS}, not {n:,}" if n > MAX_ROWS else None


def estimate_exponential(difference: Callable[[], float], rng: Rng) -> float:
    """Return a random ρ with mean exp(E difference()).

    1 + Σ_a Π_{i≤a} difference(), ended at a w.p. a/(1 + a).
    """
    rho = 1.0
    product = 1.0
    a = 0
    while True:
        a += 1
        product *= difference()
        rho += product
        if rng.random() < a / (1 + a):
            return rho


def run_proposals(density: Density, T: int, eta: float, rng: Rng, x: Array) -> Iterator[Proposal]:
    """Yield every proposal of T rounds from x.

    For public samples only, because the proposals follow the rows.
    """
    risk = density.risk
    region = density.region
    k = density.k
    c = density.centre
    shrink = 1 + eta * k * density.mu
    deviation = math.sqrt(eta / shrink)
    loss = require_sloped_loss(risk.loss)
    cumulative_weights = np.cumsum(risk.w).tolist()
    A = risk.A
    b = risk.b
    for t in range(1, T + 1):
        y = x + math.sqrt(eta) * rng.standard_normal(len(c))
        middle = (y + eta * k * density.mu * c) / shrink

        def draw_in_region(middle: Array = middle) -> Array:
            while True:
                v = middle + deviation * rng.standard_normal(len(middle))
                if region.contains(v[None])[0]:
                    return v

        while True:
            next_x = draw_in_region()
            z = draw_in_region()
            loss_rises = k * (loss.value(A @ z, b) - loss.value(A @ next_x, b))  # by row

            def difference(rises: Array = loss_rises) -> float:
                return rises[
                    min(
                        bisect(cumulative_weights, rng.random() * cumulative_weights[-1]),
                        len(cumulative_weights) - 1,
                    )
                ]

            rho = estimate_exponential(difference, rng)
            accepted = bool(rng.random() <= rho / 2)
            yield Proposal(t, y, next_x, z, rho, accepted)
            if accepted:
                x = next_x
                break


def draw(density: Density, error: float, rng: Rng) -> Array:
    """Return one draw (d,) within `error` of the law in total variation.

    Only the last state leaves.
    """
    target = RegularisedRisk(density.risk.loss, density.region, density.mu)
    T, eta = rounds_and_step(target, density.k, error)
    x = density.region.centre.copy()
    for proposal in run_proposals(density, T, eta, rng, x):
        if proposal.accepted:
            x = proposal.x
    return x
