"""Residuals: what tables say beyond their margins, and what is refused; their privacy is in
test_exact_neighbours.
"""

import math

import numpy as np

from dpcore import Marginals
from dpcore.privacy.statistics import Residuals
from dpcore.queries.residual_spaces import cached_residual_spaces
from tests.privacy.test_exact_neighbours import RESIDUALS, measured
from tests.small_problems import (
    approx,
    expect_error,
    integer_domain,
    parametrize,
    random_rows,
    random_sign_queries,
)


@parametrize("name", RESIDUALS)
def test_where_pairs_of_records_are_too_many_each_term_is_bounded(monkeypatch, name):
    (exact,) = measured(name)
    monkeypatch.setattr("dpcore.queries.residual_spaces.MAX_AGREEMENT_PATTERNS", 0)
    (bounded,) = measured(name)
    assert exact.l2 * (1 - 1e-12) <= bounded.l2 <= 1.5 * exact.l2


def test_its_values_are_the_tables_centred_along_each_column():
    (statistic,) = measured("residuals of pairs")
    rows = random_rows(statistic.workload.domain, 50)
    spaces = cached_residual_spaces(statistic.workload)
    ends = np.cumsum([math.prod((2, 3, 2)[a] for a in S) for S in spaces.type_of])
    parts = np.split(statistic.value(rows), ends[:-1])
    (where,) = [i for i, S in enumerate(spaces.type_of) if S == (0, 1)]
    table = np.zeros((2, 3))
    np.add.at(table, tuple(rows.values[:, :2].T), rows.weights / 50)
    table = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    assert parts[where] == approx(6 * statistic.weights[spaces.type_of[(0, 1)]] * table.ravel())


@parametrize(
    "weights", [[0, 0.1], [0.1], [0.1] * 3, [-0.1, 0.1], [np.nan, 0.1], [0.3, 0.3], [1e-9] * 2]
)
def test_weights_that_do_not_fit_are_refused(weights):
    tables = Marginals(integer_domain(3, 3), ["ab"])  # two types: a column, and both
    with expect_error("residuals of 2 types of tables|scale it up"):
        Residuals(tables, np.array(weights, dtype=float)).check()


def test_other_workloads_have_none():
    with expect_error("Explicit is not marginal tables"):
        Residuals(random_sign_queries(integer_domain(2, 2), 3), np.ones(1)).check()
