"""The meaning of (ε, δ) for someone who guesses: best guess, posterior bounds, error trade-off.

Everywhere P_1 and P_0 are the laws of what is released from two neighbouring tables, "hers" and
"another's"; the prior is the probability that a guesser gives to the first before the release, L =
log dP_1/dP_0 the evidence of an output. A mechanism is described by pairs (ε_i, δ_i), arrays of one
shape, all of which it satisfies: one promise or a curve.
"""

import math

import numpy as np
from scipy.special import expit, ndtr, ndtri

from ...core.numbers import format_short_number
from ...core.types import Array
from .budget import Budget
from .conversions import FLOAT_ERROR, pure_composition_epsilon, pure_composition_log_delta

FloatOrArray = Array | float


def worst_privacy_profile(at: FloatOrArray, epsilon: FloatOrArray, delta: FloatOrArray) -> Array:
    """Return the largest δ(at) = max_E P_1(E) − e^at P_0(E) of any (ε, δ)-DP mechanism.

    `at` may be any real number.

    The worst mechanism says the truth outright with probability δ, else gives a randomised
    response: P_1 puts δ on "hers for sure", (1 − δ)e^ε/(1 + e^ε) on a yes and (1 − δ)/(1 + e^ε) on
    a no, P_0 the mirror image. Summing what is positive in P_1 − e^at P_0 gives δ for at ≥ ε, δ +
    (1 − δ)(e^ε − e^at)/(1 + e^ε) for |at| ≤ ε, and below −ε 1 − e^at(1 − δ), as δ(−a) = 1 − e^−a(1
    − δ(a)) for neighbours that are so in both directions. Every (ε, δ)-DP mechanism is a
    post-processing of this one. Source: Kairouz, Oh, Viswanath 2015, Theorem 3.4.
    """
    at, epsilon, delta = np.broadcast_arrays(
        np.asarray(at, float), np.asarray(epsilon, float), delta
    )
    a = np.abs(at)
    inside = -np.expm1(np.minimum(a - epsilon, 0)) / (1 + np.exp(-epsilon))  # 0 where |at| ≥ ε
    above = delta + (1 - delta) * inside
    return np.where(at >= 0, above, 1 - np.exp(-a) * (1 - above))


def best_guess_probability(
    prior: FloatOrArray, epsilon: FloatOrArray, delta: FloatOrArray
) -> Array:
    """Return the highest probability of a right guess by someone with belief `prior`.

    It is the best bound of the (ε, δ) pairs.

    Saying "hers" on the event E is right with probability π P_1(E) + (1 − π)(1 − P_0(E)), that is 1
    − π + π[P_1(E) − e^a P_0(E)] with e^a = (1 − π)/π; the best E gives 1 − π + π δ(a). At π = ½ and
    one pair that is (e^ε + δ)/(1 + e^ε). Attained by the mechanism of `worst_privacy_profile`.
    Source: Kairouz, Oh, Viswanath 2015, Theorem 3.4.
    """
    p = np.asarray(prior, float)[..., None]
    right = (
        1
        - p
        + p
        * worst_privacy_profile(
            np.log1p(-p) - np.log(p), np.atleast_1d(epsilon), np.atleast_1d(delta)
        )
    )
    return np.clip(right.min(axis=-1), np.maximum(p, 1 - p)[..., 0], 1.0)


def log_odds_bound(epsilon: FloatOrArray, delta: FloatOrArray, failure: float) -> float:
    """Return the t with P_1(L > t) ≤ failure and P_0(L < −t) ≤ failure, L the log odds' move.

    It bounds how far log odds move.

    On E = {L > t} P_0(E) ≤ e^−t P_1(E), so the promise P_1(E) ≤ e^ε P_0(E) + δ gives P_1(E)(1 −
    e^(ε−t)) ≤ δ; with failure = η > δ, t = ε − log(1 − δ/η) brings P_1(E) to η. Each pair gives a
    valid t; the smallest is returned, ∞ when every δ_i ≥ η > 0. Where δ = 0 it is ε, without
    exception. Holds after any post-processing too.
    """
    e = np.atleast_1d(epsilon).astype(float)
    d = np.atleast_1d(delta).astype(float)
    usable = (d == 0) | (d < failure)
    if not usable.any():
        return math.inf
    share = d[usable] / failure if failure > 0 else np.zeros(usable.sum())
    return float(np.min(e[usable] - np.log1p(-share)))


def posterior(prior: FloatOrArray, evidence: FloatOrArray) -> Array:
    """Return the belief (posterior) after the prior's log odds moved by `evidence`.

    π e^t/(π e^t + 1 − π) for the prior π and evidence t.
    """
    p = np.asarray(prior, float)
    return expit(np.log(p) - np.log1p(-p) + evidence)


def posterior_failure_chance(delta: float) -> float:
    """Return the failure probability at which posteriors are stated: 100 δ, or √δ if less.

    At δ itself no bound holds (an output may give everything away with probability δ); here
    `log_odds_bound` of one pair exceeds ε by −log(1 − max(.01, √δ)), next to nothing.
    """
    return min(100 * delta, math.sqrt(delta))


def gaussian_guess_probability(prior: float, mu: float) -> float:
    """Return the exact `best_guess_probability` of Gaussian noise.

    π Φ(μ/2 − a/μ) + (1 − π) Φ(μ/2 + a/μ) with a = log((1 − π)/π).

    The best test says "hers" where L > a; L ~ N(±μ²/2, μ²). At π = ½ it is Φ(μ/2).
    """
    if mu == 0:
        return max(prior, 1 - prior)
    a = math.log1p(-prior) - math.log(prior)
    return float(prior * ndtr(mu / 2 - a / mu) + (1 - prior) * ndtr(mu / 2 + a / mu))


def type_2_error_bound(alpha: FloatOrArray, epsilon: FloatOrArray, delta: FloatOrArray) -> Array:
    """Return the least type II error, by (ε, δ) pairs, of any test with type I error `alpha`.

    max over pairs of max(0, 1 − δ − e^ε α, e^−ε(1 − δ − α)).
    Source: Wasserman, Zhou 2010; Dong, Roth, Su 2022, Proposition 5.
    """
    a = np.asarray(alpha, float)[..., None]
    e = np.atleast_1d(epsilon)
    d = np.atleast_1d(delta)
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(a > 0, 1 - d - np.exp(e) * a, 1 - d)
    return np.maximum(np.maximum(steep, np.exp(-e) * (1 - d - a)).max(axis=-1), 0)


def gaussian_trade_off(alpha: FloatOrArray, mu: float) -> Array:
    """Return the exact trade-off Φ(Φ⁻¹(1 − α) − μ) of μ-GDP.

    Source: Dong, Roth, Su 2022, Definition 6.
    """
    return ndtr(-ndtri(np.asarray(alpha, float)) - mu)


def composed_pairs(epsilon: float, delta: float, times: int) -> tuple[Array, Array]:
    """Return the pairs (ε_i, δ_i) that any `times` (ε, δ)-DP releases together satisfy.

    None of the pairs can be improved.

    ε_i = (k − 2i)ε, i = 0..⌊k/2⌋, are the values that the evidence of k randomised responses takes.
    With δ'_i theirs (`conversions.pure_composition_log_delta`), and as the truth stays hidden each
    time with probability (1 − δ)^k, the pair is (ε_i, 1 − (1 − δ)^k (1 − δ'_i)). Source: Kairouz,
    Oh, Viswanath 2015, Theorem 3.3.
    """
    epsilons = (times - 2 * np.arange(times // 2 + 1)) * epsilon
    responses = np.exp([pure_composition_log_delta(float(e), epsilon, times) for e in epsilons])
    return epsilons, -np.expm1(
        times * math.log1p(-delta) + np.log1p(-np.minimum(responses, 1 - 1e-16))
    )


def composed_epsilon(epsilon: float, delta: float, times: int, total_delta: float) -> float:
    """Return the least ε of `times` (ε, δ)-DP releases at `total_delta`.

    ∞ where `total_delta` is below 1 − (1 − δ)^times.

    1 − (1 − δ)^k (1 − δ') ≤ total wherever δ' ≤ 1 − e^h, h = log(1 − total) − k log(1 − δ), which
    is what is left for k randomised responses. At total = k δ that is about k(k − 1)δ²/2, the last
    digits of a difference: h is rounded up.
    """
    if total_delta >= 1:
        return 0.0
    log_not_total = math.log1p(-total_delta)
    log_all_hidden = times * math.log1p(-delta)
    error = FLOAT_ERROR * -(log_not_total + log_all_hidden)
    if log_not_total - log_all_hidden > error:
        return math.inf
    remaining_delta = -math.expm1(log_not_total - log_all_hidden + error)
    return (
        pure_composition_epsilon(epsilon, times, remaining_delta)
        if remaining_delta > 0
        else times * epsilon
    )


def budget_warnings(budget: Budget, n: int) -> list[str]:
    """Return warnings, in words, that a reader needs about the budget's promise on n rows."""
    epsilon = budget.epsilon
    delta = budget.delta
    warnings = []
    if delta >= 1 / n:
        allowed = "publishing a whole row picked at random would be allowed"
        warnings.append(
            f"delta={format_short_number(delta)} is at least 1/n = {1 / n:.3g}: {allowed}"
        )
    if epsilon > 10:
        log_odds = log_odds_bound(epsilon, delta, posterior_failure_chance(delta))
        change = f"by a factor of {math.exp(min(log_odds, 700)):.3g}"
        warnings.append(
            f"epsilon={epsilon:g} is above 10: the odds of a guess about a person may change "
            f"{change}"
        )
    return warnings
