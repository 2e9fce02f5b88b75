"""Conversions against dp_accounting, and rounded to the safe side for every budget, by a hundred
digits.
"""

import math

import mpmath
import numpy as np
import pytest

from dpcore.privacy.accounting import conversions
from tests.small_problems import parametrize, seeded

DELTAS = [
    1e-300,
    3e-279,
    1e-199,
    1e-66,
    1e-30,
    2e-14,
    1e-9,
    1e-6,
    1e-3,
    0.05,
    0.4,
    0.5,
    0.6,
    0.9,
    0.99,
]
EPSILONS = 10.0 ** np.linspace(-6, 9, 46)


every_delta = parametrize("delta", DELTAS)


def log_of(number):
    return mpmath.log(mpmath.mpf(number))


def gaussian_log_delta(epsilon, mu):
    """log of Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    e = mpmath.mpf(epsilon)
    m = mpmath.mpf(mu)
    below = [mpmath.erfc(-x / mpmath.sqrt(2)) / 2 for x in (m / 2 - e / m, -m / 2 - e / m)]
    return mpmath.log(below[0] - mpmath.exp(e) * below[1])


def kairouz_log_delta(epsilon, each, times):
    """log of Σ_i C(T, i) [e^((T−i)ε₀) − e^(ε+iε₀)]₊/(1 + e^ε₀)^T."""
    e = mpmath.mpf(epsilon)
    one = mpmath.exp(mpmath.mpf(each))
    terms = [
        mpmath.binomial(times, i) * max(one ** (times - i) - mpmath.exp(e) * one**i, 0)
        for i in range(times + 1)
    ]
    total = mpmath.fsum(terms) / (1 + one) ** times
    return mpmath.log(total) if total else mpmath.mpf("-inf")


def test_nothing_costs_nothing():
    assert conversions.gdp_epsilon(0, 1e-9) == 0
    assert conversions.zcdp_epsilon(0, 1e-9) == 0
    assert conversions.gdp_epsilon(1e-3, 0.5) == 0, "total variation below δ already"


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(100):
        yield


@every_delta
def test_the_gaussian_room_is_rounded_down_and_next_to_nothing_is_lost(delta):
    target = log_of(delta)
    for epsilon in EPSILONS.tolist():
        mu = conversions.gdp_mu(epsilon, delta)
        assert gaussian_log_delta(epsilon, mu) <= target, f"epsilon={epsilon}"
        assert gaussian_log_delta(epsilon, mu * (1 + 1e-8)) > target, f"epsilon={epsilon}"
        assert (
            math.log(delta)
            >= conversions.gdp_log_delta(epsilon, mu)
            >= gaussian_log_delta(epsilon, mu)
        )


@parametrize("mu", [1e-5, 1e-3, 0.1, 1, 3, 10, 20])
def test_the_delta_of_gaussian_noise_is_the_hockey_stick_divergence_and_rounded_up(mu):
    for epsilon in (0, 1e-4, 0.1, 1, 5, 50, 200):
        if epsilon / mu < 150:  # beyond, δ < exp(−10000)
            found = conversions.gdp_log_delta(epsilon, mu)
            exact = float(gaussian_log_delta(epsilon, mu))
            assert exact <= found <= exact + 1e-8 + 1e-9 * abs(exact)


@parametrize("seed", range(2))
def test_the_gaussian_room_is_rounded_down_at_random_budgets(seed):
    """Of 700 such budgets 37 had more room than they should."""
    rng = seeded(seed)
    for epsilon, digits in zip(
        (10 ** rng.uniform(-6, 9, 100)).tolist(), rng.uniform(0.005, 300, 100), strict=True
    ):
        delta = 10.0 ** -(digits if rng.random() < 0.5 else digits / 20)
        mu = conversions.gdp_mu(epsilon, delta)
        assert gaussian_log_delta(epsilon, mu) <= log_of(delta), f"({epsilon}, {delta})"


@every_delta
def test_the_epsilon_of_gaussian_noise_is_rounded_up(delta):
    target = log_of(delta)
    for mu in (10.0 ** np.linspace(-7, 4.5, 24)).tolist():
        epsilon = conversions.gdp_epsilon(mu, delta)
        assert gaussian_log_delta(epsilon, mu) <= target, f"mu={mu}"
        if epsilon > 1e-12 * mu:
            assert gaussian_log_delta(epsilon * (1 - 1e-7), mu) > target, f"mu={mu}"


@every_delta
def test_the_room_of_zcdp_is_rounded_down_and_used(delta):
    """Some order must prove what is claimed."""
    for epsilon in EPSILONS[::4].tolist():
        claimed = conversions.zcdp_rho(epsilon, delta)
        assert epsilon * (1 - 1e-6) <= conversions.zcdp_epsilon(claimed, delta) <= epsilon
        assert claimed <= conversions.gdp_mu(epsilon, delta) ** 2 / 2 * (1 + 1e-6), (
            "GDP is exact, zCDP cannot allow more"
        )

        rho = mpmath.mpf(claimed)

        def bound(log_step, rho=rho):
            step = mpmath.exp(log_step)
            order = 1 + step
            gained = step * mpmath.log(step / order) - mpmath.log(order) - log_of(delta)
            return order * rho + gained / step

        guess = 0.5 * math.log(max(-math.log(delta), 1e-3) / claimed)
        steps = [guess + shift for shift in np.linspace(-6, 3, 30)]
        best = min(range(30), key=lambda j: bound(steps[j]))
        low = mpmath.mpf(steps[max(best - 1, 0)])
        high = mpmath.mpf(steps[min(best + 1, 29)])
        for _ in range(40):
            third = (high - low) / 3
            low, high = (
                (low, high - third)
                if bound(low + third) < bound(high - third)
                else (low + third, high)
            )
        assert bound((low + high) / 2) <= mpmath.mpf(epsilon), f"epsilon={epsilon}"


@parametrize("times", [1, 2, 7, 40])
@parametrize("delta", [1e-300, 1e-30, 1e-9, 0.05, 0.6])
def test_the_share_of_equal_releases_is_rounded_down(times, delta):
    target = log_of(delta)
    for epsilon in (10.0 ** np.linspace(-6, 6, 13)).tolist():
        each = conversions.largest_equal_epsilon(epsilon, times, delta)
        assert kairouz_log_delta(epsilon, each, times) <= target or each * times <= epsilon, (
            f"epsilon={epsilon}"
        )
        assert each >= epsilon / times * (1 - 1e-9)
        for share in (each, each / 3):
            claimed = conversions.pure_composition_epsilon(share, times, delta)
            assert kairouz_log_delta(claimed, share, times) <= target or claimed == share * times
            less = claimed - 1e-5 * (claimed + share)
            assert less < 0 or kairouz_log_delta(less, share, times) > target, "and hardly"
