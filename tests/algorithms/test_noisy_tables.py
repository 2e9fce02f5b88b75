"""Noisy tables: their example, and what stays of a table that is replaced or dropped."""

import doctest

import numpy as np
import pytest

from dpcore.algorithms import noisy_tables
from dpcore.algorithms.noisy_tables import NoisyTables
from tests.small_problems import approx, integer_domain

DOMAIN = integer_domain(2, 3)


def two_tables():
    tables = NoisyTables(DOMAIN)
    tables.add((1,), np.array([0.5, 0.3, 0.2]), 0.1)
    tables.add((0,), np.array([0.6, 0.4]), 0.2)
    return tables


def test_the_example_runs():
    result = doctest.testmod(noisy_tables)
    assert result.attempted > 0
    assert result.failed == 0


def test_tables_come_in_the_order_in_which_they_were_added_with_their_own_deviations():
    answers = two_tables().arrays()
    assert answers.workload.axes == ((1,), (0,))
    assert answers.values == approx([0.5, 0.3, 0.2, 0.6, 0.4])
    assert answers.stddev == approx([0.1] * 3 + [0.2] * 2)


def test_all_tables_of_noisy_answers_are_added_as_one_by_one():
    tables = two_tables()
    tables.add_all(tables.arrays())
    assert tables.arrays().values == approx(two_tables().arrays().values)
    assert tables.arrays().stddev == approx(two_tables().arrays().stddev / np.sqrt(2))


def test_replaced_cells_keep_the_precision_that_was_measured():
    tables = two_tables()
    tables.replace_values((1,), np.full(3, 1 / 3))
    assert tables.arrays().values[:3] == approx(np.full(3, 1 / 3))
    assert tables.arrays().stddev[:3] == approx(np.full(3, 0.1))
    with pytest.raises(KeyError):
        tables.replace_values((0, 1), np.zeros(6))


def test_a_dropped_table_counts_on_in_the_sum_of_precisions():
    tables = two_tables()
    tables.restrict([(0,)])
    assert list(tables) == [(0,)]
    assert (1,) not in tables
    assert tables.precision == approx(0.1**-2 + 0.2**-2)
