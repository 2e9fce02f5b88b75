"""What a promise is said to mean: true of the mechanisms that reach it, and computed from the plan."""

import math
import re

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from dpcore.privacy.accounting import conversions, guarantee
from dpcore.privacy.accounting.budget import Approximate, BoundedRange, Budget, Gaussian, Pure
from dpcore.privacy.accounting.guarantee import cautions
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.accounting.lifetime import events_to_json, reserved
from dpcore.theory import meaning

WORDS = re.compile(r"odds by ([^ ]+) at the most .* probability ([^ ]+); .* probability ([^ ]+) at the most")


def told(plan: Plan, *, adaptive: bool = False) -> dict:
    """The part of release.json that says what a plan promises."""
    promise = {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta, "accounting": str(plan.accounting)}
    return {
        "promise": promise | {"reserved": events_to_json(reserved(plan, adaptive))},
        "protects": {"unit": "one row"},
    }


def numbers(words: str) -> list[float]:
    found = WORDS.search(words)
    assert found
    return [float(text.replace(",", "")) for text in found.groups()]


@pytest.mark.parametrize(("epsilon", "times"), [(1, 32.6), (0.1, 271)])
def test_losses_exceed_epsilon_much_more_often_than_delta(epsilon, times):
    """Why "by e^ε except with probability δ" was wrong, and that what is said instead is right, of Gaussian noise."""
    delta, mu = 1e-9, conversions.gdp_mu(epsilon, 1e-9)

    def exceeds(t: float) -> float:
        return float(np.exp(log_ndtr(mu / 2 - t / mu)))

    assert exceeds(epsilon) == pytest.approx(times * delta, rel=0.01)
    plan = Plan(Budget(epsilon, delta), (Charge("measure", Gaussian(mu)),))
    for pairs in (meaning.promise(epsilon, delta), meaning.planned(told(plan))):
        factor, failure, guess = numbers(meaning.odds(delta, pairs))
        assert failure == pytest.approx(100 * delta)
        assert exceeds(math.log(factor)) <= failure
        assert guess >= ndtr(mu / 2)


def test_a_plan_says_more_than_its_promise():
    plan = Plan(Budget(1, 1e-9), (Charge("measure", Gaussian(conversions.gdp_mu(1, 1e-9))),))
    general, own = (numbers(meaning.odds(1e-9, p)) for p in (meaning.promise(1, 1e-9), meaning.planned(told(plan))))
    assert general == [2.75, 1e-7, 0.732]
    assert own[0] < 2.72, "Gaussian noise would give 2.62, some post-processing of it more"
    assert own[2] == pytest.approx(ndtr(0.182 / 2), abs=0.002)
    assert numbers(meaning.released(told(plan))) == own


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.3])
def test_the_words_hold_for_the_worst_mechanism_of_a_promise(epsilon, delta):
    """It tells the truth with probability δ, else randomised response: L is ∞, ε or −ε under P_1."""
    factor, failure, guess = numbers(meaning.odds(delta, meaning.promise(epsilon, delta)))
    exceeds = delta + (1 - delta) * (math.log(factor) < epsilon) / (1 + math.exp(-epsilon))
    assert exceeds <= failure * (1 + 1e-5)
    assert guess >= guarantee.best_guess(0.5, epsilon, delta) - 1e-12


@pytest.mark.parametrize(
    "charges",
    [
        (Charge("a", BoundedRange(0.02), 100),),
        (Charge("a", Pure(0.01), 20),),
        (Charge("a", Approximate(0.02, 1e-9), 10),),
        (Charge("a", Gaussian(0.05)), Charge("b", BoundedRange(0.05), 10)),
        (Charge("a", Gaussian(0.05, 1e-8)),),
    ],
    ids=["selections", "pure", "approximate", "both", "failing"],
)
def test_every_accounting_gives_pairs_that_hold(charges):
    """An adaptive plan may use up all of its room, and says no more than that allows."""
    plan = Plan(Budget(1, 1e-6), charges)
    for adaptive in (False, True):
        epsilons, deltas = meaning.planned(told(plan, adaptive=adaptive))
        assert (epsilons[-1], deltas[-1]) == (1, 1e-6)
        assert (deltas >= plan.sums.failure).all()
        for epsilon, delta in zip(epsilons.tolist(), deltas.tolist(), strict=True):
            assert epsilon == 1 or plan.sums.epsilon(delta, plan.accounting) <= epsilon * (1 + 1e-9)
    used, room = (meaning.planned(told(plan, adaptive=a))[0].min() for a in (False, True))
    assert used <= room * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-3, 1, 50, 1e6])
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_odds_are_said_at_every_epsilon(epsilon, delta):
    words = meaning.odds(delta, meaning.promise(epsilon, delta))
    guess = guarantee.best_guess(0.5, epsilon, delta)
    assert float(guess) <= float(words.split("probability ")[-1].split(" ")[0]) <= float(guess) + 1e-3
    assert ("without exception" in words) == (delta == 0)
    assert ("more than any number in use" in words) == (epsilon > 700)


def test_numbers_are_rounded_up():
    for evidence in np.linspace(0, 60, 500):
        shown = float(meaning.number(evidence).replace(",", ""))
        assert math.exp(evidence) * (1 - 1e-9) <= shown <= math.exp(evidence) * 1.011


def test_a_large_epsilon_is_cautioned_by_the_same_number():
    (caution,) = cautions(Budget(12, 1e-9), 100)
    factor = float(caution.rsplit(" ", 1)[1])
    assert factor == pytest.approx(math.exp(12) / 0.99, rel=0.01)
