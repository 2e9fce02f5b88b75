"""Conversions between privacy notions: μ-GDP, ρ-zCDP and (ε, δ).

Pure functions of public numbers; every root is rounded to the safe side.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erfcx, gammaln, log_ndtr

# Relative step by which a root is moved to its safe side; above the root finder's tolerance.
ROOT_SAFETY_STEP = 1e-12
# Several times the relative error of one floating-point operation, and of the special functions
# used here.
FLOAT_ERROR = 2.0**-49
# Step of the grid of privacy losses in dp_accounting: coarser is faster, and larger on the safe
# side.
PLD_INTERVAL = 1e-3


def gdp_log_delta(epsilon: float, mu: float) -> float:
    """Return log δ(ε) of a μ-GDP mechanism, rounded up.

    δ = Φ(a) − e^ε Φ(b), a = μ/2 − ε/μ, b = −μ/2 − ε/μ.

    As (a² − b²)/2 = −ε, e^ε Φ(b) is e^(−a²/2) E(y)/2, with E = erfcx, x = −a/√2 and y = −b/√2:
    nothing large cancels in δ/Φ(a) = 1 − that/Φ(a), which for a < 0 is 1 − E(y)/E(x). For a small μ
    = √2(y − x) that difference is lost in rounding. But E(x) ∝ ∫_0^∞ e^(−t² − 2xt) dt is completely
    monotone, so −E'(x) = 2/√π − 2x E(x) is convex, and E(x) − E(y) = ∫_x^y −E' is at most the
    trapezium below. Rounding leaves a small relative error in a, which moves what is compared by no
    more than a few times as much; that is added.
    Source: Balle, Wang 2018, Theorem 8; Dong, Roth, Su 2022, Corollary 2.13.
    """
    if mu == 0:
        return -math.inf
    a = mu / 2 - epsilon / mu
    b = -mu / 2 - epsilon / mu
    x = -a / math.sqrt(2)
    y = -b / math.sqrt(2)
    error = FLOAT_ERROR * (1 + mu / 2 + epsilon / mu)
    log_phi_a = float(log_ndtr(a))
    erfcx_y = float(erfcx(y))
    if a < 0:
        erfcx_x = float(erfcx(x))
        slopes = sum(2 / math.sqrt(math.pi) - 2 * s * e for s, e in ((x, erfcx_x), (y, erfcx_y)))
        trapezium = mu / math.sqrt(8) * (slopes + 8 * error) / erfcx_x
        delta_factor = min(1 - erfcx_y / erfcx_x + error, trapezium * (1 + error))
    else:
        delta_factor = 1 - math.exp(-a * a / 2 - log_phi_a) * erfcx_y / 2 + error
    return (
        log_phi_a
        + math.log(min(delta_factor, 1.0))
        + error * (1 + abs(a))
        + FLOAT_ERROR * abs(log_phi_a)
    )


@lru_cache(maxsize=4096)
def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest μ with δ(ε; μ) ≤ δ, rounded down; ε > 0, 0 < δ < 1."""
    target = _log_rounded_down(delta)

    def excess(log_mu: float) -> float:
        return max(gdp_log_delta(epsilon, math.exp(log_mu)), -1e6) - target

    # δ(ε; μ) < Φ(μ/2 − ε/μ), which is far below δ at a quarter of the μ where μ/2 − ε/μ = −z; near
    # 1 at the other end.
    z = math.sqrt(-2 * target) + 1
    low = math.log(epsilon / (math.sqrt(z * z + 2 * epsilon) + z) / 2)
    mu = math.exp(find_root(excess, low, math.log(2 * math.sqrt(2 * epsilon) + 40)))
    return round_down_to_safe(
        mu, lambda mu: gdp_log_delta(epsilon, mu) > target or gdp_epsilon(mu, delta) > epsilon
    )


@lru_cache(maxsize=4096)
def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the smallest ε ≥ 0 with δ(ε; μ) ≤ δ, rounded up; 0 < δ < 1."""
    high = (
        zcdp_epsilon(mu**2 / 2, delta) + ROOT_SAFETY_STEP
    )  # a valid bound, so the root is below it, up to rounding
    return smallest_epsilon(lambda epsilon: gdp_log_delta(epsilon, mu), delta, high)


@lru_cache(maxsize=4096)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the ε at δ of ρ-zCDP, rounded up.

    min over orders a > 1 of aρ + [log(1/δ) + (a − 1) log(1 − 1/a) − log a]/(a − 1). Any order gives
    a valid bound, so the search need not be exact.
    Source: Canonne, Kamath, Steinke 2020, Prop. 12.
    """
    if rho == 0:
        return 0.0
    log_delta = _log_rounded_down(delta)

    def bound(log_step: float) -> float:
        order_minus_one = math.exp(log_step)  # a − 1
        terms = (
            rho,
            order_minus_one * rho,
            -log_delta / order_minus_one,
            -math.log1p(order_minus_one) / order_minus_one,
            -math.log1p(1 / order_minus_one),
        )
        return sum(terms) + FLOAT_ERROR * sum(map(abs, terms))

    guess = 0.5 * math.log(
        max(-log_delta, 1e-3) / rho
    )  # a − 1 = √(log(1/δ)/ρ) minimises the leading terms
    minimum: Any = minimize_scalar(
        bound, bounds=(guess - 6, guess + 3), method="bounded", options={"xatol": 1e-9}
    )
    return max(float(minimum.fun), 0.0)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ with zcdp_epsilon(ρ, δ) ≤ ε, rounded down; ε > 0, 0 < δ < 1."""

    def excess(log_rho: float) -> float:
        return zcdp_epsilon(math.exp(log_rho), delta) - epsilon

    low = 2 * math.log(epsilon) - math.log(16 * (epsilon - math.log(delta) + 1)) - 3
    rho = math.exp(find_root(excess, low, math.log(epsilon + 40)))
    return round_down_to_safe(rho, lambda rho: zcdp_epsilon(rho, delta) > epsilon)


@lru_cache(maxsize=4096)
def subsampled_epsilon(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Return the ε at δ of `steps` noisy Poisson-sample sums at rate q, replacing one row.

    The noise is Gaussian.

    Every row's part is clipped at C and the noise on the SUM has standard deviation z·C, z =
    `noise_multiplier`; that a replacement moves the sum by up to 2C is accounted for. Privacy loss
    distributions are rounded to the safe side.
    Source: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, by dp_accounting.
    """
    import dp_accounting  # here, as it takes a second to load
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE, PLD_INTERVAL)
    accountant.compose(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise_multiplier)),
        steps,
    )
    return float(accountant.get_epsilon(delta))


@lru_cache(maxsize=256)
def subsampled_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Return a noise multiplier z with subsampled_epsilon(z, rate, steps, δ) ≤ ε.

    At most 0.3% above the smallest one.
    """
    low = high = 0.25
    while subsampled_epsilon(high, rate, steps, delta) > epsilon:
        low = high
        high = 2 * high
    while high > low * 1.003:
        middle = math.sqrt(low * high)
        if subsampled_epsilon(middle, rate, steps, delta) > epsilon:
            low = middle
        else:
            high = middle
    return high


def pure_composition_log_delta(epsilon: float, epsilon_each: float, times: int) -> float:
    """Return log δ(ε) of `times` adaptive ε₀-DP releases, rounded up.

    ε₀ = `epsilon_each`; −∞ for ε ≥ times · ε₀.

    δ = Σ_i C(T, i) [e^{(T−i)ε₀} − e^{ε+iε₀}]₊ / (1 + e^{ε₀})^T, the hockey-stick divergence of T
    randomised responses, which dominate. Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3.
    """
    if epsilon >= times * epsilon_each:
        return -math.inf
    i = np.arange(times + 1)
    gap = (
        (times - 2 * i) * epsilon_each - epsilon + FLOAT_ERROR * (times * epsilon_each + epsilon)
    )  # log of the exponentials' ratio
    i = i[gap > 0]
    gap = gap[gap > 0]
    binomial = gammaln(times + 1) - gammaln(i + 1) - gammaln(times - i + 1)
    terms = (
        binomial
        - i * epsilon_each
        + np.log(-np.expm1(-gap))
        - times * math.log1p(math.exp(-epsilon_each))
    )
    largest_term = float(terms.max())
    error = FLOAT_ERROR * (
        times * (1 + math.log1p(times) + epsilon_each) + abs(largest_term)
    )  # of what is added up, which may cancel
    return largest_term + math.log(float(np.exp(terms - largest_term).sum())) + error


def pure_composition_epsilon(epsilon_each: float, times: int, delta: float) -> float:
    """Return the smallest ε ≥ 0 with δ(ε) ≤ δ for `times` ε₀-DP releases, rounded up.

    ε₀ = `epsilon_each`; 0 < δ < 1.
    """
    max_epsilon = times * epsilon_each
    smallest = (
        smallest_epsilon(
            lambda epsilon: pure_composition_log_delta(epsilon, epsilon_each, times),
            delta,
            max_epsilon,
        )
        if times
        else 0.0
    )
    return min(smallest, max_epsilon)


def largest_equal_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return the largest ε₀ of `times` equal ε₀-DP releases within (ε, δ), rounded down.

    The largest with pure_composition_epsilon(ε₀, times, δ) ≤ ε; ε > 0, 0 < δ < 1.
    """

    def excess(epsilon_each: float) -> float:
        return pure_composition_epsilon(epsilon_each, times, delta) - epsilon

    epsilon_each = (
        find_root(excess, epsilon / times * (1 - ROOT_SAFETY_STEP), epsilon + 40)
        if times > 1
        else epsilon
    )
    return round_down_to_safe(
        epsilon_each, lambda each: pure_composition_epsilon(each, times, delta) > epsilon
    )


def _log_rounded_down(delta: float) -> float:
    """Return log δ, rounded down."""
    return math.log(delta) * (1 + FLOAT_ERROR)


def smallest_epsilon(log_delta: Callable[[float], float], delta: float, high: float) -> float:
    """Return the smallest ε ≥ 0 with log δ(ε) ≤ log δ, rounded up; ∞ where log δ(ε) is ∞.

    It is expected near `high`.
    """
    target = _log_rounded_down(delta)

    def excess(epsilon: float) -> float:
        return max(log_delta(epsilon), -1e6) - target

    if excess(0.0) <= 0:
        return 0.0
    while 0 < (excess_at_high := excess(high)) < math.inf:
        high *= 2
    return (
        round_up_to_safe(find_root(excess, 0.0, high), lambda epsilon: excess(epsilon) > 0)
        if excess_at_high <= 0
        else math.inf
    )


def round_up_to_safe(x: float, unsafe: Callable[[float], bool]) -> float:
    """Return the smallest tried number ≥ x at which `unsafe` is false.

    A root is so rounded up to its safe side.
    """
    step = ROOT_SAFETY_STEP
    while unsafe(x):
        x = x * (1 + step) + 1e-300
        step = 2 * step
    return x


def round_down_to_safe(x: float, unsafe: Callable[[float], bool]) -> float:
    """Return the largest tried number ≤ x at which `unsafe` is false.

    A root is so rounded down to its safe side.
    """
    step = ROOT_SAFETY_STEP
    while unsafe(x):
        x = x * (1 - step)
        step = 2 * step
    return x


def find_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return the point between `low` and `high` where f changes its sign, to rounding."""
    crossing: Any = brentq(f, low, high, xtol=1e-15, rtol=np.float64(1e-14))
    return float(crossing)
