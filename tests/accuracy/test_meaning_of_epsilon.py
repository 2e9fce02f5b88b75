"""What a promise is said to mean: true of the mechanisms that reach it, and computed from the plan."""

import math
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr, logit, ndtr

from dpcore import Budget
from dpcore.accuracy.meaning_of_epsilon import (
    EXAMPLE_SUSPICION,
    Promise,
    describe_delta,
    format_percent,
    format_rare_chance,
    format_times_in_100,
)
from dpcore.core.numbers import format_short_number
from dpcore.privacy.accounting import (
    Concentrated,
    Drawn,
    Gaussian,
    budget_warnings,
    conversions,
    guarantee,
    worst_case_events,
)
from dpcore.privacy.accounting.events import events_to_json
from tests.privacy.enumerated_neighbours import plan_of
from tests.small_problems import approx, parametrize


def moved(promise):
    """How far log odds move where a suspicion rises as far as the words say."""
    if promise.suspicion_percent == "almost 100%":
        return math.inf
    return float(
        logit(float(promise.suspicion_percent.removesuffix("%")) / 100) - logit(EXAMPLE_SUSPICION)
    )


def told(plan):
    """The part of release.json that says what a plan promises."""
    promise = {
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "accounting": plan.accountant.name,
    }
    return {
        "promise": promise | {"reserved": events_to_json(worst_case_events(plan, False))},
        "protects": {"unit": "one row"},
    }


@parametrize("epsilon, times", [(1, 32.6), (0.1, 271)])
def test_losses_exceed_epsilon_much_more_often_than_delta(epsilon, times):
    """Why "by e^ε except with probability δ" was wrong, and that what is said instead is right, of
    Gaussian noise.
    """
    delta = 1e-9
    mu = conversions.gdp_mu(epsilon, 1e-9)

    def exceeds(t):
        return float(np.exp(log_ndtr(mu / 2 - t / mu)))

    assert exceeds(epsilon) == approx(times * delta, rel=0.01)
    plan = plan_of(Budget(epsilon, delta), (Gaussian(mu),))
    for promise in (Promise(epsilon, delta), Promise.of_release(told(plan))):
        assert promise.failure_probability == approx(100 * delta)
        assert exceeds(moved(promise)) <= promise.failure_probability
        assert promise.max_guess_probability() >= ndtr(mu / 2) - 1e-15


def test_the_guess_is_exact_for_gaussian_noise_and_both_sentences_are_said():
    plan = plan_of(Budget(1, 1e-9), (Gaussian(conversions.gdp_mu(1, 1e-9)),))
    own = Promise.of_plan(plan, adaptive=False)
    alone = Promise(1, 1e-9)
    assert Promise.of_release(told(plan)).to_json() == own.to_json()
    assert own.max_guess_probability() == approx(ndtr(conversions.gdp_mu(1, 1e-9) / 2), rel=1e-12)
    assert alone.max_guess_probability() == approx(math.e / (1 + math.e))
    assert own.suspicion_sentence == alone.suspicion_sentence, (
        "what beliefs may become is the promise's"
    )
    assert own.suspicion_sentence == (
        "In the unluckiest release a suspicion of 10% about one person rises to 23.4% at most, "
        "except 1 time in 10 million."
    )
    assert own.guess_sentence == (
        "Someone who knows everyone else guesses right at most 54 times in 100 whether something "
        "is true of one person "
        "(a coin: 50)."
    )
    assert "guesses right at most 74 times in 100" in alone.guess_sentence


@parametrize("prior", [0.1, 0.5, 0.8])
@parametrize("epsilon", [0.05, 0.3, 1])
def test_the_guess_bounds_every_mechanism_of_its_rho(epsilon, prior):
    """Randomised response, Gaussian noise and pairs with one corner, each at its own ρ."""
    e = epsilon
    odds = math.exp(epsilon)
    yes = odds / (1 + odds)
    response = max(prior * yes + (1 - prior) * yes, prior, 1 - prior)
    rho = e * math.tanh(e / 2)  # its largest divergence per order: at order 1, where it is KL
    both = Promise(9.0, 1e-9, ((Concentrated(rho), 1),))
    assert response <= both.max_guess_probability(prior) + 1e-12
    if prior == 0.5:
        assert both.max_guess_probability(prior) == approx(response, rel=1e-12), "which it attains"
    assert (
        guarantee.gaussian_guess_probability(prior, math.sqrt(2 * rho))
        <= both.max_guess_probability(prior) + 1e-12
    )
    lost = Promise(9.0, 1e-9, ((Concentrated(rho, 0.01), 1), (Drawn(0.01), 2)))
    assert lost.max_guess_probability(prior) == approx(
        both.max_guess_probability(prior) + min(prior, 1 - prior) * 0.06
    )


@parametrize("epsilon", [0.1, 1, 3])
@parametrize("delta", [1e-12, 1e-6, 0.01, 0.3])
def test_the_words_hold_for_the_worst_mechanism_of_a_promise(epsilon, delta):
    """It tells the truth with probability δ, else randomised response: L is ∞, ε or −ε under P_1."""
    promise = Promise(epsilon, delta)
    exceeds = delta + (1 - delta) * (moved(promise) < epsilon) / (1 + math.exp(-epsilon))
    assert exceeds <= promise.failure_probability * (1 + 1e-5)
    assert (
        promise.max_guess_probability()
        >= guarantee.best_guess_probability(0.5, epsilon, delta) - 1e-12
    )


def test_releases_add_up():
    own = Promise.of_plan(plan_of(Budget(1, 1e-9), (Gaussian(0.1),)), adaptive=False)
    assert replace(own, releases=4).max_guess_probability() == approx(ndtr(0.1), rel=1e-12)
    many = replace(Promise(1, 1e-9), releases=4).max_guess_probability()
    assert many == approx(
        float(guarantee.best_guess_probability(0.5, *guarantee.composed_pairs(1, 1e-9, 4)))
    )


@parametrize("epsilon", [1e-3, 1, 50, 1e6])
@parametrize("delta", [0, 1e-9])
def test_both_sentences_are_said_at_every_epsilon(epsilon, delta):
    promise = Promise(epsilon, delta)
    said = float(promise.guess_sentence.split("at most ")[1].split(" ")[0]) / 100
    assert promise.max_guess_probability() - 1e-9 <= said <= promise.max_guess_probability() + 0.01
    assert ("without exception" in promise.sentences) == (delta == 0)
    assert moved(promise) >= promise.max_log_odds_change * (1 - 1e-9)
    assert ("almost 100%" in promise.sentences) == (epsilon >= 50)


def test_probabilities_are_rounded_up_and_keep_three_digits():
    assert [format_times_in_100(c) for c in (0.5, 0.5001, 0.5362, 0.9, 0.9999, 1)] == [
        f"{n} times in 100" for n in ("50", "50.1", "54", "90", "100", "100")
    ]
    assert [format_rare_chance(p) for p in (1e-9, 1e-7, 3e-7, 1e-4, 0.55)] == [
        "1 time in a billion",
        "1 time in 10 million",
        "1 time in 3.33 million",
        "1 time in 10,000",
        "55 times in 100",
    ]
    assert [describe_delta(d) for d in (0, 1e-9, 1e-6, 1e-4, 0.05)] == [
        "0",
        "1 in a billion",
        "1 in a million",
        "1 in 10,000",
        "5 in 100",
    ]
    assert [format_short_number(d) for d in (0, 1e-9, 2.5e-10, 1e9, 0.5)] == [
        "0",
        "1e-9",
        "2.5e-10",
        "1e9",
        "0.5",
    ]


def test_percentages_are_rounded_up():
    for chance in np.linspace(0, 0.99995, 500):
        assert (
            chance - 1e-9 <= float(format_percent(chance).removesuffix("%")) / 100 <= chance + 0.001
        )
    assert format_percent(0.9999999) == "almost 100%"


def test_a_large_epsilon_is_cautioned_by_the_same_number():
    (caution,) = budget_warnings(Budget(12, 1e-9), 100)
    assert float(caution.rsplit(" ", 1)[1]) == approx(math.exp(12) / 0.99, rel=0.01)
