"""What (ε, δ) means, against explicit mechanisms on a few outcomes whose every event is tried, and
Gaussian noise.
"""

import itertools
import math

import numpy as np
from scipy.stats import norm

from dpcore.privacy.accounting import gdp_log_delta, guarantee
from tests.small_problems import approx, hockey_stick, parametrize

PROMISES = [(0.1, 0.0), (1.0, 0.0), (1.0, 1e-3), (0.3, 0.2), (3.0, 0.05), (10.0, 1e-9)]
PRIORS = [1e-4, 0.01, 0.1, 0.5, 0.8, 0.99]
each_promise = parametrize("epsilon, delta", PROMISES)


def worst(epsilon, delta):
    """P_1 and P_0 of: the truth with probability δ, else a randomised response."""
    yes = 1 / (1 + math.exp(-epsilon))
    no = 1 / (1 + math.exp(epsilon))
    P_1 = np.array([delta, (1 - delta) * yes, (1 - delta) * no, 0.0])
    return P_1, P_1[::-1]


def events(P_1, P_0):
    """The probabilities of all events."""
    every = np.array(list(itertools.product([0, 1], repeat=len(P_1))))
    return every @ P_1, every @ P_0


def delta_of(P_1, P_0, epsilon):
    """The least δ in both directions."""
    return max(hockey_stick(P_1, P_0, epsilon), hockey_stick(P_0, P_1, epsilon))


def gaussian_deltas(epsilons, mu):
    return np.exp([gdp_log_delta(e, mu) for e in epsilons])


@each_promise
def test_the_worst_mechanism_has_the_worst_profile(epsilon, delta):
    P_1, P_0 = worst(epsilon, delta)
    assert delta_of(P_1, P_0, epsilon) == approx(delta, abs=1e-12)
    at = np.array([-20, -3, -1, -0.3, -0.05, 0, 0.05, 0.3, 1, 2.9, 5])
    in_1, in_0 = events(P_1, P_0)
    brute = [(in_1 - math.exp(a) * in_0).max() for a in at]
    np.testing.assert_allclose(
        guarantee.worst_privacy_profile(at, epsilon, delta), brute, atol=1e-12
    )


@each_promise
@parametrize("prior", PRIORS)
def test_the_best_guess_is_that_of_the_best_event_and_randomised_response_allows_it(
    epsilon, delta, prior
):
    in_1, in_0 = events(*worst(epsilon, delta))
    brute = (prior * in_1 + (1 - prior) * (1 - in_0)).max()
    assert guarantee.best_guess_probability(prior, epsilon, delta) == approx(brute, abs=1e-12)


@parametrize("epsilon, delta, failure", [(1.0, 1e-3, 0.1), (0.2, 0.05, 0.08), (2.0, 1e-6, 1e-4)])
def test_the_evidence_bound_is_reached(epsilon, delta, failure):
    """One outcome of chance η and log ratio t, the rest spread evenly, is (ε, δ)-DP and no smaller
    t would do.
    """
    t = guarantee.log_odds_bound(epsilon, delta, failure)
    assert t > epsilon
    P_1 = np.array([failure, 1 - failure])
    P_0 = np.array([failure * math.exp(-t), 1 - failure * math.exp(-t)])
    assert delta_of(P_1, P_0, epsilon) == approx(delta, rel=1e-9)


def test_without_delta_the_evidence_is_epsilon_and_where_delta_is_too_large_nothing_is_bounded():
    assert guarantee.log_odds_bound(1.5, 0.0, 0.0) == 1.5
    assert guarantee.log_odds_bound(1.5, 0.1, 0.1) == math.inf
    assert guarantee.log_odds_bound(
        np.array([1.5, 0.5, 3]), np.array([1e-9, 0.1, 0]), 0.01
    ) == approx(1.5, abs=1e-6)
    assert 0 < guarantee.posterior_failure_chance(1e-9) == approx(1e-7)
    assert guarantee.posterior_failure_chance(0.01) == approx(0.1)


@parametrize("prior", PRIORS)
@parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_posterior_is_bayes_rule_and_randomised_response_reaches_both_ends(prior, epsilon):
    P_1, P_0 = worst(epsilon, 0.0)
    after = prior * P_1[1:3] / (prior * P_1[1:3] + (1 - prior) * P_0[1:3])
    assert guarantee.posterior(prior, epsilon) == approx(after[0])
    assert guarantee.posterior(prior, -epsilon) == approx(after[1])


@parametrize("mu", [0.05, 0.5, 2.0])
@parametrize("prior", PRIORS)
def test_gaussian_noise_is_guessed_as_its_best_threshold_allows(prior, mu):
    thresholds = np.linspace(-200, 200, 400_001)
    brute = (prior * norm.sf(thresholds - mu) + (1 - prior) * norm.cdf(thresholds)).max()
    assert guarantee.gaussian_guess_probability(prior, mu) == approx(brute, abs=1e-8)
    assert guarantee.gaussian_guess_probability(prior, 0.0) == max(prior, 1 - prior)
    epsilons = np.linspace(0, 10, 4001)
    drawn = float(guarantee.best_guess_probability(prior, epsilons, gaussian_deltas(epsilons, mu)))
    assert brute - 1e-9 <= drawn <= brute + 1e-4, (
        "an upper bound, and exact where the curve has a pair"
    )


@parametrize("mu", [0.2, 1.0])
def test_a_curve_of_pairs_draws_the_gaussian_trade_off_from_below(mu):
    alarms = np.linspace(0, 1, 51)
    epsilons = np.linspace(0, 8, 2001)
    deltas = gaussian_deltas(epsilons, mu)
    exact = guarantee.gaussian_trade_off(alarms, mu)
    drawn = guarantee.type_2_error_bound(alarms, epsilons, deltas)
    assert (drawn <= exact + 1e-9).all()
    np.testing.assert_allclose(drawn, exact, atol=1e-5)
    np.testing.assert_allclose(exact[1:-1], norm.cdf(norm.isf(alarms[1:-1]) - mu), atol=1e-12)


@each_promise
@parametrize("times", [1, 2, 3, 5])
def test_composition_is_that_of_all_outcomes_of_so_many_worst_mechanisms(epsilon, delta, times):
    P_1, P_0 = worst(epsilon, delta)
    together = [np.array([1.0]), np.array([1.0])]
    for _ in range(times):
        together = [np.outer(a, b).ravel() for a, b in zip(together, (P_1, P_0), strict=True)]
    epsilons, deltas = guarantee.composed_pairs(epsilon, delta, times)
    assert epsilons[0] == approx(times * epsilon)
    for e, d in zip(epsilons, deltas, strict=True):
        assert d == approx(delta_of(*together, e), abs=1e-12)
    for total in (1.5 * deltas[0] + 1e-4, 0.3 + 0.7 * deltas[0]):
        e = guarantee.composed_epsilon(epsilon, delta, times, total)
        assert delta_of(*together, e) <= total + 1e-12
        if e > epsilons[-1] + 1e-9:
            assert delta_of(*together, e - 1e-6) > total - 1e-12


@parametrize("delta", [1e-300, 1e-18, 1e-13, 1e-9, 1e-6, 1e-3, 0.2])
def test_two_releases_at_twice_their_delta_gain_what_its_square_allows(delta):
    left = (delta / (1 - delta)) ** 2  # 1 − (1 − 2δ)/(1 − δ)², all that the sum of both δ leaves
    gain = -math.log1p(-left * (1 + math.exp(-1)) ** 2)  # as (e² − e^ε)/(1 + e)² = left
    found = guarantee.composed_epsilon(1.0, delta, 2, 2 * delta)
    assert 2 - gain - 1e-15 <= found <= min(2.0, 2 - gain * (1 - 1e-9) + 4e-12), (
        "as near as its root is found"
    )
    assert (
        guarantee.composed_epsilon(1.0, delta, 2, (2 * delta - delta**2) * (1 - 1e-9)) == math.inf
    )


def test_composition_stays_finite_and_below_the_sum():
    assert guarantee.composed_epsilon(1.0, 0.0, 7, 0.0) == 7.0
    assert guarantee.composed_epsilon(1.0, 1e-3, 7, 1e-3) == math.inf
    assert guarantee.composed_epsilon(10.0, 1e-9, 100, 1e-7) <= 1000
    assert 1 < guarantee.composed_epsilon(0.1, 0.0, 100, 1e-6) < 6
