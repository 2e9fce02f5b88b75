"""The largest spends that keep a promise, from public numbers."""

import math
from functools import lru_cache
from typing import Any

from ...core.errors import InputError
from . import conversions
from .accountants import OptimalAccountant
from .budget import Budget
from .composition import OptimalComposition
from .events import Approximate, BoundedRange, Gaussian, Pure, Spend, SubsampledGaussian

# Calibrated spends are shrunk by this, so that adding up to 1e5 of them in floating point never
# exceeds the budget.
ROUNDING_MARGIN = 1 - 1e-10
LOG_DELTA_TOLERANCE, MAX_SEARCH_STEPS = (
    1e-4,
    40,
)  # of the search for the factor that enlarges spends: tolerance in log δ, and most steps


def gaussian_spend(budget: Budget, share: float = 1.0) -> Gaussian:
    """Return the Gaussian spend that takes a share of the whole budget: μ² = share · μ*².

    Shares may sum to 1. Raises InputError when δ = 0, which no Gaussian noise can promise.
    """
    if budget.delta == 0:
        raise InputError(
            "delta=0 cannot be promised with Gaussian noise; choose delta > 0, or dpfw or mwem"
        )
    return Gaussian(
        conversions.gdp_mu(budget.epsilon, budget.delta) * ROUNDING_MARGIN * math.sqrt(share)
    )


def noise_spend(budget: Budget, share: float = 1.0) -> Gaussian | Pure:
    """Return the spend of one measurement as a share of a budget that pays for noise alone.

    Gaussian, or Laplace at δ = 0.
    """
    return (
        gaussian_spend(budget, share)
        if budget.delta > 0
        else Pure(share * budget.epsilon * ROUNDING_MARGIN)
    )


def regularised_draw_spend(budget: Budget, stages: int, theta: float) -> tuple[Gaussian, float]:
    """Return the spend of one of m equal draws from regularised densities, and their joint μ.

    m = `stages`. Each draw is s/√m-GDP and within τ/m of its law; s is the joint μ, the second
    result.

    θδ = m · failure pays for the sampler's error, τ = θδ/(1 + e^ε), and s is the largest with
    δ(ε; s) ≤ (1 − θ)δ. Raises InputError when δ = 0, which these densities cannot promise.
    """
    if budget.delta == 0:
        raise InputError(
            "delta=0 cannot be promised by a regularised density; choose delta > 0, or exponential"
        )
    failure = theta * budget.delta
    s = conversions.gdp_mu(budget.epsilon, budget.delta - failure) * ROUNDING_MARGIN
    return Gaussian(s / math.sqrt(stages), failure / stages * ROUNDING_MARGIN), s


def sampled_sum_spend(budget: Budget, rate: float, steps: int) -> SubsampledGaussian:
    """Return the spend of one of `steps` noisy Poisson-sample sums that use the budget together.

    Raises InputError when δ = 0.
    """
    if budget.delta == 0:
        raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0")
    return SubsampledGaussian(
        conversions.subsampled_multiplier(budget.epsilon, budget.delta, rate, steps), rate
    )


def equal_threshold_spend(budget: Budget, times: int) -> Approximate:
    """Return the largest spend of one of `times` equal (ε₀, δ₀)-DP releases.

    Half of δ is for their failures, the rest for composing them. Raises InputError when δ = 0.
    Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3.
    """
    if budget.delta == 0:
        raise InputError(
            "delta=0 cannot be promised by leaving out empty combinations; choose delta > 0"
        )
    epsilon_each = (
        conversions.largest_equal_epsilon(budget.epsilon, times, budget.delta / 2) * ROUNDING_MARGIN
    )
    return Approximate(epsilon_each, budget.delta / 2 / times)


def equal_draw_spend(budget: Budget, times: int) -> BoundedRange:
    """Return the largest spend of one of `times` equal exponential-mechanism draws.

    The largest by Σε, Σ ε₀²/8 or optimal composition.
    """
    epsilon = budget.epsilon / times
    if budget.delta > 0:
        epsilon = max(epsilon, math.sqrt(8 * budget.rho / times))
    spend = BoundedRange(epsilon * ROUNDING_MARGIN)
    return enlarge_spends(budget, (spend, times))[0] if times > 1 else spend


def equal_selection_spend(budget: Budget, times: int) -> BoundedRange | Pure:
    """Return the spend of one of `times` equal selections.

    The spend of `equal_draw_spend`; at δ = 0 the same ε₀ for permute-and-flip.

    Only Σε counts at δ = 0, and permute-and-flip is better there at every ε₀; its range of 2ε₀
    would cost four times the ρ of an exponential-mechanism draw.
    """
    draw_spend = equal_draw_spend(budget, times)
    return draw_spend if budget.delta > 0 else Pure(draw_spend.epsilon)


def select_and_measure_spends(
    budget: Budget,
    times: int,
    share: float,
    budget_share: float = 1.0,
    kind: type[BoundedRange] | type[Pure] = BoundedRange,
) -> tuple[BoundedRange | Pure, Gaussian | Pure]:
    """Return the spends of `times` equal selections and measurements.

    Together they use `budget_share` of the budget; `share` goes to the measurements.

    δ > 0: T(s²/8 + μ²/2) = `budget_share` · ρ, s the range of the selection, `RANGE_PER_EPSILON` ·
    ε₀ of its `kind` (Pure for a sparse vector), a mixed plan in zCDP, and then both
    `enlarge_spends`, if they are the whole plan. δ = 0: permute-and-flip or sparse vector, Laplace
    noise and T(ε₀ + ε₁) = `budget_share` · ε.
    """
    select = selection_spend(budget, (1 - share) * budget_share / times, kind)
    measure = measurement_spend(budget, share * budget_share / times)
    return (
        enlarge_spends(budget, (select, times), (measure, times))
        if budget_share == 1
        else (select, measure)
    )


def selection_spend(
    budget: Budget, budget_share: float, kind: type[BoundedRange] | type[Pure] = BoundedRange
) -> BoundedRange | Pure:
    """Return the spend of a selection that takes a share of the budget beside other spends.

    s²/8 = `budget_share` · ρ, s its range, `RANGE_PER_EPSILON` · ε₀; or ε₀ = `budget_share` · ε.
    """
    if budget.delta == 0:
        return Pure(budget_share * budget.epsilon * ROUNDING_MARGIN)
    return kind(math.sqrt(8 * budget_share * budget.rho * ROUNDING_MARGIN) / kind.RANGE_PER_EPSILON)


def measurement_spend(budget: Budget, budget_share: float) -> Gaussian | Pure:
    """Return the spend of a measurement that takes a share of the budget.

    Used beside `select_and_measure_spends`: μ²/2 = `budget_share` · ρ, or ε₁ = `budget_share` · ε.
    """
    if budget.delta == 0:
        return Pure(budget_share * budget.epsilon * ROUNDING_MARGIN)
    return Gaussian(math.sqrt(2 * budget_share * budget.rho * ROUNDING_MARGIN))


@lru_cache(maxsize=256)
def enlarge_spends(budget: Budget, *spends: tuple[Spend, int]) -> tuple[Any, ...]:
    """Return the spends, all enlarged by the largest factor ≥ 1 that optimal composition allows.

    log δ comes to within `LOG_DELTA_TOLERANCE` below that of the budget. They stay as they are
    where spends must add up, at δ = 0, and where composing them would take too long.
    """
    original_spends = tuple(spend for spend, _ in spends)
    if budget.delta == 0 or budget.additive:
        return original_spends
    target_log_delta = math.log(budget.delta)
    best_factor = 1.0
    # Were all of it Gaussian, the factor would be √(μ²/2ρ), and log δ would fall like −½ (ε/μ)².
    factor = conversions.gdp_mu(budget.epsilon, budget.delta) / math.sqrt(2 * budget.rho)
    slope = -2 * target_log_delta
    low = 1.0
    high = math.inf
    previous = None
    for _ in range(MAX_SEARCH_STEPS):
        joint = (
            OptimalAccountant.of_events(
                [(spend.enlarge(factor), times) for spend, times in spends]
            ).composition
            or OptimalComposition()
        )
        excess = max(joint.log_delta(budget.epsilon, budget.delta) - target_log_delta, -1e3)
        low, high, best_factor = (
            (factor, high, factor) if excess <= 0 else (low, factor, best_factor)
        )
        if (
            excess == math.inf
            or -LOG_DELTA_TOLERANCE <= excess <= 0
            or high < low * (1 + LOG_DELTA_TOLERANCE / 100)
        ):
            break
        if (
            previous
            and previous[0] != factor
            and (excess - previous[1]) * (factor - previous[0]) > 0
        ):
            slope = (excess - previous[1]) / math.log(factor / previous[0])
        previous = factor, excess
        factor *= math.exp(min(max(-(excess + LOG_DELTA_TOLERANCE / 2) / slope, -0.5), 0.5))
        if not low < factor < high:
            factor = (low + high) / 2
    return (
        tuple(spend.enlarge(best_factor) for spend in original_spends)
        if best_factor > 1
        else original_spends
    )
