"""The largest spends that keep a promise, from public numbers."""

import math
from collections.abc import Iterable

from ...errors import InputError
from . import conversions
from .budget import Approximate, BoundedRange, Budget, Gaussian, Pure, SubsampledGaussian

# Calibrated spends are shrunk by this, so that adding up to 1e5 of them in floating point never exceeds the budget.
MARGIN = 1 - 1e-10


def gaussian_share(budget: Budget, shares: Iterable[float]) -> tuple[Gaussian, ...]:
    """Gaussian spends that divide the whole budget: μ_i² = share_i · μ*², shares summing to 1.

    Raises InputError when δ = 0, which no Gaussian noise can promise.
    """
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0, or dpfw or mwem")
    mu = conversions.gdp_mu(budget.epsilon, budget.delta) * MARGIN
    return tuple(Gaussian(mu * math.sqrt(share)) for share in shares)


def regularised_stages(budget: Budget, stages: int, theta: float) -> tuple[Gaussian, float]:
    """One of m equal draws from regularised densities, each s/√m-GDP and within τ/m of its law; and s.

    θδ = m · failure pays for the sampler's error, τ = θδ/(1 + e^ε), and s is the largest with δ(ε; s) ≤ (1 − θ)δ.
    Raises InputError when δ = 0, which these densities cannot promise.
    """
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised by a regularised density; choose delta > 0, or exponential")
    failure = theta * budget.delta
    s = conversions.gdp_mu(budget.epsilon, budget.delta - failure) * MARGIN
    return Gaussian(s / math.sqrt(stages), failure / stages * MARGIN), s


def sampled_steps(budget: Budget, rate: float, steps: int) -> SubsampledGaussian:
    """`steps` noisy sums over Poisson samples of the records that use the whole budget; InputError when δ = 0."""
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0")
    return SubsampledGaussian(conversions.subsampled_multiplier(budget.epsilon, budget.delta, rate, steps), rate)


def equal_thresholded(budget: Budget, times: int) -> Approximate:
    """The largest ε₀ of `times` equal (ε₀, δ₀)-DP releases: half of δ for their failures, the rest for composing them.

    Raises InputError when δ = 0. Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3.
    """
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised by leaving out empty cells; choose delta > 0")
    each = conversions.optimal_share(budget.epsilon, times, budget.delta / 2) * MARGIN
    return Approximate(each, budget.delta / 2 / times)


def equal_selections(budget: Budget, times: int) -> BoundedRange:
    """The largest ε₀ of `times` equal exponential-mechanism draws: by Σε, or by Σ ε₀²/8 where that allows more."""
    epsilon = budget.epsilon / times
    if budget.delta > 0:
        epsilon = max(epsilon, math.sqrt(8 * budget.rho / times))
    return BoundedRange(epsilon * MARGIN)


def select_and_measure(
    budget: Budget, times: int, share: float, part: float = 1.0
) -> tuple[BoundedRange, Gaussian | Pure]:
    """`times` equal pairs of a selection and a measurement that use `part` of the budget, `share` of it to measure.

    δ > 0: T(ε₀²/8 + μ²/2) = part · ρ, a mixed plan in zCDP. δ = 0: Laplace noise and T(ε₀ + ε₁) = part · ε.
    """
    if budget.delta == 0:
        epsilon = part * budget.epsilon / times * MARGIN
        return BoundedRange((1 - share) * epsilon), Pure(share * epsilon)
    rho = part * budget.rho / times * MARGIN
    return BoundedRange(math.sqrt(8 * (1 - share) * rho)), Gaussian(math.sqrt(2 * share * rho))


def measure_once(budget: Budget, part: float) -> Gaussian | Pure:
    """A measurement that uses `part` of the budget beside `select_and_measure`: μ²/2 = part · ρ, or ε₁ = part · ε."""
    if budget.delta == 0:
        return Pure(part * budget.epsilon * MARGIN)
    return Gaussian(math.sqrt(2 * part * budget.rho * MARGIN))
