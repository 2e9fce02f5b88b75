"""Intervals hold as often as they say, over many tables and many draws of the noise."""

import math

import numpy as np
from scipy.stats import norm

from dpcore.accuracy.intervals.confidence_levels import two_sided_quantile
from dpcore.accuracy.intervals.pair_intervals import ratio_ends
from dpcore.accuracy.intervals.question_intervals import (
    comparison_interval,
    independent_row_count,
    question_interval,
)
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.privacy.noisy_answers import NoisyAnswers
from tests.accuracy.intervals.noisy_table import noisy_table
from tests.accuracy.intervals.test_intervals import (
    DOMAIN,
    QUESTIONS,
    SIGMAS,
    TABLES,
    N,
    P,
    noisy,
    of,
    question,
)
from tests.small_problems import (
    approx,
    histogram,
    module_fixture,
    parametrize,
    rows_in_cells,
    seeded,
)

RUNS = 500
COMPARED = {
    "difference": lambda a, b: a - b,
    "ratio": lambda a, b: a / b,
    "odds": lambda a, b: a / (1 - a) / (b / (1 - b)),
}


@module_fixture
def worlds():
    """Tables drawn from P, and what noisy tables of them say."""
    rng = seeded(1)
    out = []
    for _ in range(RUNS):
        rows = rows_in_cells(DOMAIN, rng.choice(12, N, p=P))
        out.append((histogram(DOMAIN, rows), of(noisy(TABLES.answers_of_rows(rows), rng))))
    return out


def covered(worlds, make, true):
    """How often the table's value, and the population's, lies within."""
    table = 0
    people = 0
    for D, evidence in worlds:
        found = make(evidence)
        table += found.low <= true(D) <= found.high
        people += found.population_low <= true(P) <= found.population_high
    return table / len(worlds), people / len(worlds)


def share(text):
    q = question(text).workload
    return lambda D: float(q.answers(D)[0])


@parametrize("text", QUESTIONS)
def test_shares_are_covered_as_often_as_is_said(worlds, text):
    found = covered(worlds, lambda e: question_interval(e, question(text), N), share(text))
    assert found == approx((0.95, 0.95), abs=0.03)


@parametrize(
    "left, right",  # of the last pair, what sampling adds is not known together, and never less
    [
        ("a = 0", "b = 1"),
        ("a = 0 and b = 1", "a = 0 and b = 2"),
        ("b = 1", "b = 2"),
        ("a = 0", "c = 0"),
    ],
)
def test_differences_ratios_and_odds_are_covered(worlds, left, right):
    a, b = share(left), share(right)
    for kind, of_both in COMPARED.items():
        found = lambda e, k=kind: comparison_interval(e, question(left), question(right), N, k)  # noqa: E731
        table, people = covered(worlds, found, lambda D, of_both=of_both: of_both(a(D), b(D)))
        assert table == approx(0.95, abs=0.03), kind
        assert people >= 0.93 if right == "c = 0" else people == approx(0.95, abs=0.03), kind


@parametrize("far", [2.0, 4.0, 20.0])
@parametrize("tied", [-0.8, 0.0, 0.8])
def test_a_ratio_holds_as_often_as_is_said_however_near_to_0_its_second_share_is(far, tied):
    """One table with noise of covariance `tied`: exact far from 0; near it more often, as a set
    without end holds.
    """
    sigma = 0.01
    covariance = sigma**2 * np.array([[1, tied], [tied, 1]])
    a = 0.1
    b = far * sigma
    drawn = seeded(8).multivariate_normal([a, b], covariance, size=4000)
    ends = (covariance[0, 0], covariance[0, 1], covariance[1, 1])
    low, high = ratio_ends(drawn[:, 0], drawn[:, 1], ends, norm.ppf(0.975))
    inside = (low <= a / b) & (a / b <= high)
    assert 0.938 <= np.mean(inside) <= (0.962 if far > 5 else 0.98)
    assert np.isinf(high).any() == (far < 5), "where the second share may be 0"


def test_laplace_noise_is_covered_with_its_own_quantile():
    rng = seeded(3)
    inside = []
    truth = TABLES.answers(P)
    errors = np.concatenate(
        [np.full(t.stop - t.start, s) for t, s in zip(TABLES.tables, SIGMAS, strict=True)]
    )
    for _ in range(400):
        noise = rng.laplace(size=TABLES.m) * errors / math.sqrt(2)
        found = question_interval(
            of(NoisyAnswers(TABLES, truth + noise, errors, has_laplace_noise=True)),
            question("b = 2 and c = 1"),
            N,
        )
        inside.append(found.low <= share("b = 2 and c = 1")(P) <= found.high)
        assert found.how.startswith("conservative")
    assert np.mean(inside) >= 0.93
    assert two_sided_quantile(0.95, laplace=True) == approx(math.log(20) / math.sqrt(2))


def test_rows_of_one_person_count_as_one_for_the_population():
    """Everybody has four rows that say the same: fewer rows than are counted are independent."""
    rng = seeded(4)
    inside = []
    naive = []
    n = independent_row_count({"records": 2000, "rows_per_person": 4})
    assert n == 500
    for _ in range(400):
        share = np.repeat(rng.random(500) < 0.3, 4).mean()
        told = pool_tables(
            DOMAIN,
            [
                noisy_table(
                    DOMAIN, (0,), np.array([share, 1 - share]) + rng.normal(size=2) * 1e-3, 1e-3
                )
            ],
        )
        for found, records in ((inside, n), (naive, 2000)):
            one = question_interval(told, question("a = 0"), records)
            found.append(one.population_low <= 0.3 <= one.population_high)
    assert np.mean(inside) == approx(0.95, abs=0.03)
    assert np.mean(naive) < 0.8
