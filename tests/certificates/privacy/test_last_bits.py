"""A search for outputs at δ = 0 whose last digits tell one data set from its neighbour.

As an audit did: draws of a private quantile began at the smallest row's own float, and of 6,000
draws 87 had digits that a neighbour allowed in 2 of 6,000: ε ≥ 1.70 where 0.1 was promised.
"""

import math

import numpy as np
from scipy.stats import beta

from dpcore import ALGORITHMS, Budget, Run
from dpcore.privacy import exact_samplers
from dpcore.problems.parse_tasks import read_task
from tests import risk_problems
from tests.small_problems import ignore_privacy_warnings, parametrize

EPSILON = 0.1
DRAWS = 3000
SURE = 1e-6
STEPS = tuple(2.0**-power for power in range(40, 60, 2))


def reached(number, anchor):
    """Whether a float comes of a 53-bit uniform number times `anchor`, as of a piece from 0 to a
    row's number.
    """
    near = round(number / anchor * 2.0**53)
    return any(anchor * ((near + j) * 2.0**-53) == number for j in range(-2, 3))


def features(x, anchors):
    """Signs in the digits of an output: remainders by powers of two, and exact differences from
    rows' numbers.
    """
    found = []
    for number in x:
        found += [math.fmod(number, step) == 0 for step in STEPS]
        for anchor in anchors:
            gap = number - anchor
            found += [math.fmod(gap, step) == 0 for step in STEPS]
            found.append(anchor + gap == number)
            found += [math.frexp(gap)[0] * 2**bits % 1 == 0 for bits in (40, 44, 48, 52)]
            found += [
                0 < number < anchor / shrink and reached(number, anchor)
                for shrink in (4, 8, 16, 32)
            ]
    return found


def least_epsilon(here, there):
    """A lower bound on ε, all but surely, from how often each sign was seen with either data set."""
    tests = 2 * here.shape[1]
    out = 0.0
    for a, b in ((here, there), (there, here)):
        k = a.sum(axis=0)
        m = b.sum(axis=0)
        low = np.where(k > 0, beta.ppf(SURE / tests, np.maximum(k, 1), len(a) - k + 1), 0.0)
        high = np.where(
            m < len(b), beta.ppf(1 - SURE / tests, m + 1, np.maximum(len(b) - m, 1)), 1.0
        )
        out = max(out, float(np.log(np.maximum(low, 1e-300) / high).max()))
    return out


def drawn(name, text, frame, anchors):
    problem, rows = read_task(text, risk_problems.DOMAIN, frame)
    budget = Budget(EPSILON, 0)
    runs = (Run(ALGORITHMS[name](), problem, rows, budget, seed=seed) for seed in range(DRAWS))
    return np.array([features(run.finish().release.x, anchors) for run in runs])


@ignore_privacy_warnings
@parametrize(
    "name, text", [("rank_exponential", "quantile:y:0.5"), ("exponential", "quantile:y:0.5")]
)
def test_last_digits_of_a_parameter_tell_no_row(name, text):
    table = risk_problems.learning_table(3)
    table["y"] = [5.1, 7.3, 9.75]
    other = table.copy()
    other.loc[0, "y"] = 4.7
    anchors = (5.1, 4.7)
    here, there = (drawn(name, text, frame, anchors) for frame in (table, other))
    assert least_epsilon(here, there) <= EPSILON


def test_last_digits_of_noise_tell_no_count():
    """Every count leads to multiples of the same public step; rounded noise leads each to floats of
    its own.
    """
    rng = np.random.default_rng(0)
    near, far = (exact_samplers.laplace(np.full(DRAWS, count), 10.0, rng) for count in (0, 1))
    assert (
        least_epsilon(*(np.array([features([v], ()) for v in values]) for values in (near, far)))
        <= EPSILON
    )
    loose = (count + rng.laplace(0.0, 10.0, DRAWS) for count in (0, 2**20))
    seen = [np.array([features([v], ()) for v in values]) for values in loose]
    assert least_epsilon(*seen) > 1, "the search sees what it looks for"
