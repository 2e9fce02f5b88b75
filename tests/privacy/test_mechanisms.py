"""The noise: the claimed scale is accepted, 10 % more or less is rejected. All seeds are fixed."""

import numpy as np
import pytest
from scipy import stats

from dpcore.privacy import mechanisms
from tests.helpers import softmax

DRAWS = 40_000
CLAIMS = {
    "gaussian": (mechanisms.gaussian, stats.norm),
    "laplace": (mechanisms.laplace, stats.laplace),
}


def p_value(mechanism, law, scale: float, claimed: float, seed: int) -> float:
    values = np.linspace(-3, 3, DRAWS)
    noise = mechanism(values, scale, np.random.default_rng(seed)) - values
    return float(stats.kstest(noise, law(scale=claimed).cdf).pvalue)


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("scale", [1e-6, 0.3, 1.0, 700.0])
def test_additive_noise_has_the_claimed_scale(name, scale):
    assert p_value(*CLAIMS[name], scale, scale, seed=1) > 1e-3
    assert p_value(*CLAIMS[name], scale, 0.9 * scale, seed=2) < 1e-6
    assert p_value(*CLAIMS[name], scale, 1.1 * scale, seed=3) < 1e-6


@pytest.mark.parametrize("name", CLAIMS)
def test_additive_noise_is_independent_symmetric_and_new_in_every_cell(name):
    mechanism, _ = CLAIMS[name]
    rng = np.random.default_rng(4)
    first, second = (mechanism(np.zeros(DRAWS), 1.0, rng) for _ in range(2))
    assert len(np.unique(np.concatenate([first, second]))) == 2 * DRAWS
    assert abs(first.mean()) < 5 * first.std() / DRAWS**0.5
    for other in (second, np.roll(first, 1)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 5 / DRAWS**0.5


@pytest.mark.parametrize("name", CLAIMS)
def test_additive_noise_leaves_the_values_alone_and_follows_the_generator(name):
    mechanism, _ = CLAIMS[name]
    values = np.arange(5.0)
    values.flags.writeable = False
    first, again, other = (mechanism(values, 1.0, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).all()


SCORES = np.array([0.0, 0.4, 0.4, -1.0, 1.0, 0.9])


def selection_p_value(scale: float, claimed: float, seed: int) -> float:
    """Chi-square of selection frequencies at `scale` against exp(score/claimed)/Z."""
    rng = np.random.default_rng(seed)
    picked = [mechanisms.exponential(SCORES, scale, rng) for _ in range(DRAWS)]
    counts = np.bincount(picked, minlength=len(SCORES))
    return float(stats.chisquare(counts, DRAWS * softmax(SCORES / claimed)).pvalue)


@pytest.mark.parametrize("scale", [0.25, 0.5, 2.0])
def test_selection_follows_the_exponential_mechanism(scale):
    assert selection_p_value(scale, scale, seed=1) > 1e-3


@pytest.mark.parametrize("wrong", [0.9, 1.1])
@pytest.mark.parametrize("scale", [0.25, 0.5])
def test_selection_at_another_scale_is_told_apart(scale, wrong):
    assert selection_p_value(scale, wrong * scale, seed=2) < 1e-6


def test_selection_with_almost_no_noise_takes_the_best_and_with_much_noise_any():
    rng = np.random.default_rng(3)
    assert {mechanisms.exponential(SCORES, 1e-9, rng) for _ in range(200)} == {4}
    assert {mechanisms.exponential(SCORES, 1e9, rng) for _ in range(200)} == set(range(6))
    assert isinstance(mechanisms.exponential(SCORES, 1.0, rng), int)


def test_selection_does_not_change_the_scores():
    scores = SCORES.copy()
    scores.flags.writeable = False
    mechanisms.exponential(scores, 1.0, np.random.default_rng(0))
    assert (scores == SCORES).all()
