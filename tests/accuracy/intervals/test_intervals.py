"""Intervals agree with brute-force least squares and claim nothing without evidence."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from dpcore import Marginals, TableQueries, Union
from dpcore.accuracy.intervals.cell_intervals import cell_intervals
from dpcore.accuracy.intervals.question_intervals import comparison_interval, question_interval
from dpcore.accuracy.intervals.stored_tables import tables_from_arrays, tables_to_arrays
from dpcore.accuracy.intervals.unbiased_tables import combine_releases, pool_tables, unbiased_tables
from dpcore.models.releases import Histogram
from dpcore.privacy.noisy_answers import NoisyAnswers
from dpcore.queries.questions import parse_question
from tests.accuracy.intervals.noisy_table import noisy_table
from tests.small_problems import (
    approx,
    expect_error,
    integer_domain,
    marginal_matrix,
    parametrize,
    query_matrix,
    seeded,
)

DOMAIN = integer_domain(2, 3, 2)
TABLES = Marginals(DOMAIN, ["ab", "bc", "b"])
SIGMAS = (0.02, 0.01, 0.03)
N = 400
QUESTIONS = ("a = 0", "b = 1", "a = 0 and b = 1", "b = 2 and c = 1", "a = 1 or b = 0")
P = seeded(5).dirichlet(np.full(12, 2.0))


def noisy(truth, rng, sigmas=SIGMAS):
    """The measurements of all tables, each with noise of its own size."""
    errors = np.concatenate(
        [np.full(t.stop - t.start, s) for t, s in zip(TABLES.tables, sigmas, strict=True)]
    )
    return NoisyAnswers(TABLES, truth + rng.normal(size=TABLES.m) * errors, errors)


def of(measured):
    return unbiased_tables(Histogram(DOMAIN, P), [measured], DOMAIN)


@cache
def question(text):
    return parse_question(text, DOMAIN)


def on_cells(text):
    """The values of a question on all cells."""
    return query_matrix(question(text).workload)[0]


def people(found):
    """The variance that the interval of a population stands for."""
    return ((found.population_high - found.population_low) / 2 / norm.ppf(0.975)) ** 2


@pytest.fixture
def known_tables():
    return of(noisy(TABLES.answers(P), seeded(1)))


def test_pooled_tables_are_the_least_squares_estimate():
    measured = noisy(TABLES.answers(P), seeded(0))
    W = marginal_matrix(DOMAIN, TABLES.columns)
    total = np.vstack(
        [W / measured.stddev[:, None], 1e6 * np.ones((1, 12))]
    )  # which is known to be 1
    fitted = np.linalg.pinv(total) @ np.append(measured.values / measured.stddev, 1e6)
    covariance = np.linalg.pinv(total.T @ total, hermitian=True)
    for text in QUESTIONS:
        g = on_cells(text)
        found = question_interval(of(measured), question(text), N)
        assert found.unbiased == approx(g @ fitted, abs=1e-6)
        half = norm.ppf(0.975) * math.sqrt(g @ covariance @ g)
        assert found.high - found.low == approx(2 * half, rel=1e-4)
        sampled = (g @ fitted) * (1 - g @ fitted) / N
        assert people(found) == approx(g @ covariance @ g + sampled, rel=0.05), (
            "a sample of N records"
        )
    for left, right in itertools.permutations(QUESTIONS[:4], 2):
        g = on_cells(left)
        h = on_cells(right)
        found = comparison_interval(of(measured), question(left), question(right), N, "difference")
        half = norm.ppf(0.975) * math.sqrt((g - h) @ covariance @ (g - h))
        assert found.high - found.low == approx(2 * half, rel=1e-4)
        sampled = ((g - h) ** 2 @ fitted - ((g - h) @ fitted) ** 2) / N
        least = (half / norm.ppf(0.975)) ** 2 + sampled
        assert people(found) > 0.95 * least
        assert people(found) < 1.1 * least or {left, right} == {"a = 0", "b = 2 and c = 1"}, (
            "wider where not known"
        )


def test_nothing_is_said_of_what_was_not_measured():
    single = pool_tables(DOMAIN, [noisy_table(DOMAIN, (0,), [0.4, 0.6], 0.01)])
    found = question_interval(single, question("b = 1"), N, estimate=0.3)
    assert (found.estimate, found.low, found.high, found.population_low, found.unbiased) == (
        0.3,
        *[None] * 4,
    )
    assert found.how == "cannot be bounded: nothing was measured about b"
    for kind in ("difference", "ratio", "odds"):
        both = comparison_interval(single, question("a = 0"), question("b = 1"), N, kind)
        assert (both.low, both.how) == (None, found.how)
    either = question_interval(single, question("a = 0 or b = 1"), N)
    assert (either.unbiased, either.high) == (None, 1)
    assert either.low == approx(question_interval(single, question("a = 0"), N).low, abs=1e-6), (
        "it is no less"
    )
    assert question_interval(single, question("b >= 0"), N).low == 1, (
        "every row fulfils it, whatever was measured"
    )


def test_a_ratio_to_what_may_be_0_has_no_end():
    rare = pool_tables(DOMAIN, [noisy_table(DOMAIN, (0,), [0.999, 0.001], 0.01)])
    found = comparison_interval(rare, question("a = 0"), question("a = 1"), N, "ratio")
    assert found.high is None
    far = 0.001 + 1.96 * 0.01 / math.sqrt(2)  # what the second share is at most
    assert found.low == approx((1 - far) / far, rel=1e-3), "so much or more"
    assert found.how.endswith("; no upper bound: noise does not tell (a = 1) apart from 0")
    nothing = comparison_interval(
        rare, question("a = 1"), question("a = 1 and a = 0 or a = 1"), N, "ratio"
    )
    assert (
        nothing.how
        == "cannot be bounded: noise does not tell (a = 1 and a = 0 or a = 1) apart from 0"
    )
    assert comparison_interval(rare, question("a = 1"), question("a = 0"), N, "ratio").high < 0.03
    careful = comparison_interval(rare, question("a = 1"), question("a = 0"), N, "odds")
    assert careful.low == 0
    assert careful.high < 0.03


def test_all_cells_at_once_are_the_same_intervals(known_tables):
    asked = Marginals(DOMAIN, ["ab", "ac", "c"])
    found = cell_intervals(known_tables, asked, N)
    for j in range(asked.m):
        text = " and ".join(f"{name} = {value}" for name, value in asked.label(j))
        one = question_interval(known_tables, question(text), N)
        for name, values in found.items():
            assert (one.unbiased is None) == np.isnan(values[j])
            assert np.isnan(values[j]) or values[j] == approx(getattr(one, name), abs=1e-12)


def test_queries_and_cells_without_their_table_say_nothing():
    both = Union([TableQueries.ranges(DOMAIN, "b"), Marginals(DOMAIN, ["a"])])
    found = unbiased_tables(
        Histogram(DOMAIN, P), [NoisyAnswers(both, both.answers(P), np.full(both.m, 0.1))], DOMAIN
    )
    assert found.column_sets == ((0,),)
    errors = np.append(np.full(TABLES.m - 1, 0.1), np.nan)
    some = unbiased_tables(
        Histogram(DOMAIN, P), [NoisyAnswers(TABLES, TABLES.answers(P), errors)], DOMAIN
    )
    assert set(some.column_sets) == {(0,), (1,), (2,), (0, 1), (1, 2)}
    assert some.variance[(0, 1)] == approx(0.01)
    assert some.variance[(1,)] == approx(0.01 / (3 / 6 + 3 / 6)), "not the table that lacks a cell"


def test_it_is_stored_and_read_again(known_tables):
    stored = tables_to_arrays(known_tables)
    again = tables_from_arrays(DOMAIN, stored)
    assert again.column_sets == known_tables.column_sets
    assert np.array_equal(again.parts, known_tables.parts)
    for broken in (
        {"parts": np.zeros(3)},
        {"parts": 1},
        {"variances": -known_tables.variances},
        {"variances": np.array(["a"])},
        {"sets": np.zeros((2, 9))},
    ):
        with expect_error("do not fit its schema"):
            tables_from_arrays(DOMAIN, stored | broken)


@parametrize("level", [0.4, 1.0, -1, math.nan])
def test_levels_have_limits(known_tables, level):
    with expect_error(r"outside 0.5..0.9999"):
        question_interval(known_tables, question("a = 0"), N, level=level)


def test_releases_put_together_are_least_squares_over_all_their_tables():
    rng = seeded(6)
    truth = TABLES.answers(P)
    first = noisy(truth, rng)
    again = noisy(truth, rng, (0.005, 0.04, 0.01))
    both = combine_releases([of(first), of(again)])
    one = unbiased_tables(Histogram(DOMAIN, P), [first, again], DOMAIN)
    assert set(both.column_sets) == set(one.column_sets)
    for S in one.column_sets:
        assert both.parts[both.part_slices[S]] == approx(one.parts[one.part_slices[S]], abs=1e-14)
        assert both.variance[S] == approx(one.variance[S])
    more = pool_tables(DOMAIN, [noisy_table(DOMAIN, (0, 2), np.full(4, 0.25), 0.02)])
    assert combine_releases([both, replace(more, laplace=True)]).laplace
    assert set(combine_releases([both, more]).column_sets) == {*both.column_sets, (0, 2)}, (
        "a table that only one of them measured"
    )
    with expect_error("their schemas are the same"):
        combine_releases([both, pool_tables(integer_domain(2, 3), [])])
