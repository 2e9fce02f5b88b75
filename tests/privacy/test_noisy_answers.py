"""Noisy answers: their example, which of their tables were measured, and sums over them."""

import doctest

import numpy as np

from dpcore import Marginals, TableQueries, Union
from dpcore.privacy import noisy_answers
from dpcore.privacy.noisy_answers import NoisyAnswers
from tests.small_problems import integer_domain

DOMAIN = integer_domain(2, 3)
TABLES = Marginals(DOMAIN, ["ab", "b"])


def equal_noise(workload, stddev=0.1):
    return NoisyAnswers(workload, np.zeros(workload.m), np.full(workload.m, stddev))


def test_the_example_runs():
    result = doctest.testmod(noisy_answers)
    assert result.attempted > 0
    assert result.failed == 0


def test_tables_are_found_in_a_union_and_only_where_every_cell_was_measured():
    queries = TableQueries.prefixes(DOMAIN, "b")
    union = equal_noise(Union([queries, TABLES]))
    first = queries.m
    assert union.measured_tables() == [
        ((0, 1), slice(first, first + 6)),
        ((1,), slice(first + 6, first + 9)),
    ]
    union.stddev[first] = np.nan
    assert union.measured_tables() == [((1,), slice(first + 6, first + 9))]
    assert equal_noise(queries).measured_tables() == []


def test_a_sum_over_tables_says_of_its_noise_what_they_said():
    laplace = NoisyAnswers(TABLES, np.zeros(9), np.ones(9), has_laplace_noise=True)
    sums = laplace.marginalise(Marginals(DOMAIN, ["a"]))
    assert sums.has_laplace_noise
    assert not sums.shares_noise
    assert laplace.marginalise(TABLES) is laplace, "the same tables"
    queries = equal_noise(TableQueries.prefixes(DOMAIN, "b"))
    assert queries.marginalise(TABLES) is queries, "which are no tables"
