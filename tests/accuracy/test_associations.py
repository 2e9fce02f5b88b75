"""Cramér's V: known values, and intervals that hold the truth as often as they say."""

import numpy as np
import pytest
from scipy.stats.contingency import association

from dpcore import Marginals
from dpcore.accuracy.associations import (
    association_interval,
    associations_of,
    compare_links,
    cramers_v,
    links_sentence,
)
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.privacy.noisy_answers import NoisyAnswers
from tests.small_problems import integer_domain, seeded


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (4, 3)])
def test_it_is_the_association_that_scipy_computes(shape):
    counts = seeded(0).integers(1, 50, size=shape)
    assert cramers_v(counts / counts.sum()) == pytest.approx(association(counts, method="cramer"))
    padded = np.pad(counts, 1)
    assert cramers_v(padded) == pytest.approx(cramers_v(counts)), "values nobody has do not count"


def test_it_is_0_without_a_link_and_1_where_one_column_decides_the_other():
    assert cramers_v(np.outer([0.2, 0.8], [0.5, 0.3, 0.2])) == pytest.approx(0, abs=1e-6)
    assert cramers_v(np.diag([0.2, 0.3, 0.5])) == pytest.approx(1)
    assert cramers_v(np.array([[0.5, 0.5]])) == 0
    assert cramers_v(np.array([[0.5, -0.1], [0.0, 0.0]])) == 0


def noisy_pair(table, stddev, rng):
    """The unbiased answers of one noisy table of two columns."""
    domain = integer_domain(*table.shape)
    noise = rng.normal(0, stddev, table.size)
    noisy = NoisyAnswers(
        Marginals.all(domain, 2), table.ravel() + noise, np.full(table.size, stddev)
    )
    return pool_tables(domain, [noisy])


@pytest.mark.parametrize("shape", [(2, 2), (2, 6), (5, 7)])
@pytest.mark.parametrize("link", [0.0, 0.15, 0.6])
@pytest.mark.parametrize("stddev", [0.001, 0.01])
def test_intervals_hold_the_truth_as_often_as_they_say(shape, link, stddev):
    rng = seeded(1)
    p, q = (rng.dirichlet(np.full(k, 5.0)) for k in shape)
    linked = np.zeros(shape)
    for a in range(shape[0]):
        linked[a, a % shape[1]] = p[a]
    table = (1 - link) * np.outer(p, q) + link * linked
    truth = cramers_v(table)
    hits = 0
    repeats = 200
    for _ in range(repeats):
        found = association_interval(noisy_pair(table, stddev, rng), (0, 1))
        assert 0 <= found.low <= found.value <= found.high <= 1
        hits += found.low - 1e-6 <= truth <= found.high
    assert hits / repeats >= 0.925
    if link == 0.6 and stddev == 0.001:
        assert found.high - found.low < 0.1, "and says something"


def test_what_was_not_measured_together_has_none():
    domain = integer_domain(2, 3, 1)
    tables = Marginals(domain, ["a", "b", "c"])
    unbiased = pool_tables(domain, [NoisyAnswers(tables, np.full(6, 0.3), np.full(6, 0.01))])
    assert association_interval(unbiased, (0, 1)) is None
    assert association_interval(unbiased, (0, 2)) is None


NAMES = ["a × b", "a × c", "b × c"]


@pytest.mark.parametrize(
    "reference,released,sentence",
    [
        ([0.5, 0.4, 0.0], [0.5, 0.3, 0.0], "All 2 strong links are kept"),
        ([0.5, 0.4, 0.35], [0.5, 0.3, 0.1], "2 of 3 strong links are kept; b × c is lost"),
        (
            [0.3, 0.9, 0.4],
            [0.1, 0.1, 0.1],
            "0 of 3 strong links are kept; a × c and 2 more are lost",
        ),
        ([0.1, 0.2, 0.0], [0.1, 0.2, 0.0], "No two columns are strongly linked"),
        ([0.3, 0.2, 0.0], [0.3, 0.2, 0.5], "The one strong link is kept; b × c is new"),
        ([0.3, np.nan, np.nan], [0.3, 0.0, 0.5], "The one strong link is kept"),
    ],
)
def test_a_sentence_says_what_is_kept_lost_and_new(reference, released, sentence):
    losses = compare_links(np.array(reference), np.array(released))
    assert links_sentence(losses, NAMES) == sentence


def test_every_pair_has_its_association():
    domain = integer_domain(2, 2, 3)
    tables = Marginals.all(domain, 2)
    D = np.zeros(domain.shape)
    D[0, 0, 0] = D[1, 1, 0] = 0.5
    assert associations_of(tables.answers(D.ravel()), tables) == pytest.approx([1, 0, 0])
