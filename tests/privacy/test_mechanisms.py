"""The noise, in floating point and exact: the claimed law is accepted, 10% more or less is not;
seeds are fixed.
"""

import numpy as np
from scipy import stats

from dpcore.privacy import exact_samplers, mechanisms
from tests.privacy.test_exact_bernoulli import SCORES
from tests.small_problems import parametrize, seeded, softmax

DRAWS = 40_000
NOISE = {
    "gaussian": (mechanisms.gaussian, stats.norm),
    "laplace": (mechanisms.laplace, stats.laplace),
    "exact gaussian": (exact_samplers.gaussian, stats.norm),
    "exact laplace": (exact_samplers.laplace, stats.laplace),
}
every = parametrize("name", NOISE)


@every
@parametrize("scale", [1e-9, 0.3, 7.3, 1e6, 2.0**57])
def test_additive_noise_has_the_claimed_scale(name, scale):
    mechanism, law = NOISE[name]
    noise = mechanism(np.full(DRAWS, 7.0), scale, seeded(1)) - 7
    assert stats.kstest(noise, law(scale=scale).cdf).pvalue > 1e-3
    for wrong in (0.9, 1.1):
        assert stats.kstest(noise, law(scale=wrong * scale).cdf).pvalue < 1e-6


@every
def test_additive_noise_is_independent_symmetric_and_new_in_every_cell(name):
    mechanism, _ = NOISE[name]
    rng = seeded(4)
    first, second = (mechanism(np.zeros(DRAWS), 1.0, rng) for _ in range(2))
    assert len(np.unique(np.concatenate([first, second]))) > 1.95 * DRAWS, (
        "steps of an exact one may meet"
    )
    assert abs(first.mean()) < 5 * first.std() / DRAWS**0.5
    for other in (second, np.roll(first, 1)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 5 / DRAWS**0.5


@every
def test_additive_noise_leaves_the_values_alone_and_follows_the_generator(name):
    mechanism, _ = NOISE[name]
    values = np.arange(5.0)
    values.flags.writeable = False
    first, again, other = (mechanism(values, 1.0, seeded(seed)) for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).all()


@parametrize("scale", [0.25, 2.0])
def test_selection_follows_the_exponential_mechanism_and_not_that_of_another_scale(scale):
    found = np.bincount(
        mechanisms.exponential(SCORES, scale, DRAWS, seeded(1)), minlength=len(SCORES)
    )
    assert stats.chisquare(found, DRAWS * softmax(SCORES / scale)).pvalue > 1e-3
    for wrong in (0.9, 1.1) if scale < 1 else (0.8, 1.2):
        assert stats.chisquare(found, DRAWS * softmax(SCORES / (wrong * scale))).pvalue < 1e-6


def test_selection_with_almost_no_noise_takes_the_best_and_with_much_or_where_no_record_counts_any():
    draw = mechanisms.exponential
    rng = seeded(3)
    assert set(draw(SCORES, 1e-9, 200, rng)) == {4}
    assert set(draw(SCORES, 1e9, 200, rng)) == set(draw(SCORES, 0.0, 300, rng)) == set(range(6))
    assert set(draw(np.concatenate([np.zeros(5000), [50.0]]), 0.5, 20, rng)) == {5000}
