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


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("scale", [1e-6, 0.3, 1.0, 700.0])
def test_additive_noise_has_the_claimed_scale(name, scale):
    mechanism, law = CLAIMS[name]
    values = np.linspace(-3, 3, DRAWS)
    noise = mechanism(values, scale, np.random.default_rng(1)) - values
    assert stats.kstest(noise, law(scale=scale).cdf).pvalue > 1e-3
    for wrong in (0.9, 1.1):
        assert stats.kstest(noise, law(scale=wrong * scale).cdf).pvalue < 1e-6


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


@pytest.mark.parametrize("scale", [0.25, 0.5, 2.0])
def test_selection_follows_the_exponential_mechanism_and_not_that_of_another_scale(scale):
    rng = np.random.default_rng(1)
    counts = np.bincount([mechanisms.exponential(SCORES, scale, rng) for _ in range(DRAWS)], minlength=len(SCORES))
    assert stats.chisquare(counts, DRAWS * softmax(SCORES / scale)).pvalue > 1e-3
    for wrong in (0.9, 1.1) if scale < 1 else ():
        assert stats.chisquare(counts, DRAWS * softmax(SCORES / (wrong * scale))).pvalue < 1e-6


def test_selection_with_almost_no_noise_takes_the_best_and_with_much_noise_any():
    rng = np.random.default_rng(3)
    assert {mechanisms.exponential(SCORES, 1e-9, rng) for _ in range(200)} == {4}
    assert {mechanisms.exponential(SCORES, 1e9, rng) for _ in range(200)} == set(range(6))
