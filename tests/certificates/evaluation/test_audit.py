"""The distinguishing game: bounds that hold, a bug that is caught, and every algorithm playable."""

import json
import math

import numpy as np
from scipy.special import ndtr

from dpcore import ALGORITHMS, Budget
from dpcore.evaluation.audit.distinguishing_game import (
    PLANTED_BUGS,
    _direct_epsilon_bound,
    _hit_rate_bounds_at,
    _least_additive_cost,
    _RunScorer,
    play_distinguishing_game,
    with_fewest_rounds,
)
from dpcore.privacy.accounting import GdpAccountant, PureAccountant, ZcdpAccountant
from tests.small_problems import QUERIES, approx, expect_error, parametrize, run_command, seeded


def quick(name):
    return with_fewest_rounds(ALGORITHMS[name]())


@parametrize("name", QUERIES)
def test_every_algorithm_can_be_audited(name):
    found = play_distinguishing_game(quick(name), Budget(1, 0.01), runs=20)
    assert found.kept
    assert 0 < found.promised <= 1
    assert found.hits[-1] == found.false_alarms[-1] == 1
    assert (np.diff(found.hits) >= 0).all()
    assert found.limit[-1] == 1
    json.dumps(found.to_json(), allow_nan=False)


@parametrize("budget", [Budget(2, 0), Budget(2, 0.01)])
def test_half_the_sensitivity_is_caught_and_the_right_one_is_not(budget):
    sound, broken = (
        play_distinguishing_game(quick("dpfw"), budget, runs=1200, bug=bug) for bug in PLANTED_BUGS
    )
    assert sound.kept
    assert sound.epsilon_low > 0.5, "the game is not blind"
    assert not broken.kept
    assert broken.epsilon_low > broken.promised, "seen without trusting any accounting"


def test_half_the_noise_is_caught_at_small_delta():
    """Where (ε, δ) alone shows nothing in so few runs, the accounting's own cost does."""
    sound, broken = (
        play_distinguishing_game(quick("dpam"), Budget(6, 1e-6), runs=400, bug=bug)
        for bug in PLANTED_BUGS
    )
    assert sound.kept
    assert broken.epsilon_low < broken.promised < broken.accounted_low


def test_rates_bound_the_truth_with_the_stated_confidence():
    rng = seeded(0)
    missed = 0
    for _ in range(400):
        scores = [rng.random(200), rng.random(200) + 0.3]
        p, q = _hit_rate_bounds_at(scores, np.array([0.8]), False)
        missed += p[0] > 0.5 or q[0] < 0.2
        swapped = _hit_rate_bounds_at(scores, np.array([0.8]), True)
        missed += swapped[0][0] > 0.8 or swapped[1][0] < 0.5
    assert missed <= 5


def test_costs_are_those_of_mechanisms_that_reach_them():
    thresholds = np.linspace(-2, 2, 9)
    mu = 0.7
    p = ndtr(mu - thresholds)
    q = ndtr(-thresholds)
    assert _least_additive_cost(p, q, GdpAccountant) == approx(np.full(9, mu**2))
    assert (_least_additive_cost(p, q, ZcdpAccountant) <= mu**2 / 2).all(), (
        "a test sees no more than there is"
    )
    assert _least_additive_cost(p, q, ZcdpAccountant).max() > 0.5 * mu**2 / 2
    e = math.exp(1.5)
    answered = np.array([e / (1 + e)]), np.array([1 / (1 + e)])
    assert _least_additive_cost(*answered, PureAccountant) == approx([1.5])
    assert _direct_epsilon_bound(*answered, 0.0) == approx([1.5])
    assert _least_additive_cost(answered[1], answered[0], PureAccountant) == [0]


def test_a_test_learns_what_sets_two_samples_apart():
    rng = seeded(0)
    blurred = [rng.normal(0, 1, (500, 3)) + shift for shift in ([0, 0, 0], [0, 2, 0])]
    counted = [
        rng.choice([0.25, 0.5, 0.75], (500, 1), p=p) for p in ([0.8, 0.1, 0.1], [0.1, 0.8, 0.1])
    ]
    for samples in (blurred, counted):
        scores = [_RunScorer(*samples)(x) for x in samples]
        assert np.mean(scores[1]) - np.mean(scores[0]) > np.std(scores[0])


@parametrize("given", [{"runs": 19}, {"runs": 10**7}, {"bug": "off-by-one"}])
def test_games_that_cannot_be_played_are_refused(given):
    with expect_error(next(iter(given))):
        play_distinguishing_game(quick("dpfw"), Budget(1, 0), **given)


def test_the_command_tells_by_its_exit_code_and_judges_transcripts_where_it_is_asked_to():
    game = [
        "audit",
        "--algorithm=gaussian_maxent",
        "--epsilon=6",
        "--runs=20",
        "--transcripts=1000",
    ]
    assert "mu " in (told := run_command(game))
    assert "99% confidence, 1000 transcripts" in told
    told = json.loads(
        run_command(game, "--bug=half-sensitivity", "--json", code=1)
    )  # twenty runs show nothing
    assert told["bug"] == "half-sensitivity"
    assert told["kept"]
    assert not told["transcripts"]["kept"]
    assert told["transcripts"]["low"] > told["transcripts"]["promised"]
    for few in ("--transcripts=5", "--runs=5"):
        run_command(game, few, code=2)
