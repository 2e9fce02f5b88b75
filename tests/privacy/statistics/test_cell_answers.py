"""CellAnswers: noise on the cells of which only the queries' view leaves; its sensitivity, privacy and covariance."""

import itertools
import math

import numpy as np
import pytest

from dpcore import theory
from dpcore.data.schema import domain_from_json
from dpcore.privacy.accounting.budget import Budget, Gaussian
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.statistics.answers import CellAnswers
from dpcore.privacy.table_curator import TableCurator
from dpcore.workloads import Explicit, Marginals, TableQueries, Union
from tests.helpers import codes, histogram, random_rows, signs

D333 = codes(3, 3, 3)
STAR = np.hstack([np.ones((20, 1)), np.eye(20, 23)])  # every query counts cell 0
WORKLOADS = {
    "2-way of 3": Marginals.all(codes(2, 2, 2), 2),
    "uneven": Marginals.all(codes(2, 3, 4), 2),
    "1-way": Marginals.all(codes(3, 2, 4), 1),
    "mixed": Marginals(codes(3, 2, 4), [["c"], ["a", "c"]]),
    "whole": Marginals(codes(3, 4), [["a", "b"], ["a"]]),
    "a column of one cell": Marginals.all(codes(1, 3, 2), 2),
    "signs": signs(codes(3, 4), 5),
    "more queries than cells": signs(codes(2, 3), 20),
    "low rank": Explicit(codes(3, 4), np.repeat(signs(codes(3, 4), 2).matrix, 3, axis=0)),
    "star": Explicit(codes(4, 6), STAR),
    "constant": Explicit(codes(2, 3), np.ones((2, 6))),
    "zero": Explicit(codes(2, 3), np.zeros((2, 6))),
}
BOUNDED = {
    "ranges": TableQueries(D333, [(["a", "b"], np.tril(np.ones((9, 9)))), (["c"], np.eye(2, 3))]),
    "union": Union([Marginals.all(D333, 1), TableQueries(D333, [(["a", "b"], np.eye(4, 9))])]),
    "union with a matrix": Union([Marginals.all(D333, 1), signs(D333, 3)]),
}
every_workload = pytest.mark.parametrize("name", [*WORKLOADS, *BOUNDED])


def workload_of(name):
    return (WORKLOADS | BOUNDED)[name]


def matrix(workload) -> np.ndarray:
    return np.array([workload.answers(cell) for cell in np.eye(workload.domain.size)]).T


def projection(A: np.ndarray) -> np.ndarray:
    return np.linalg.pinv(A, rcond=1e-10) @ A


def farthest(A: np.ndarray) -> float:
    """max ‖Π(e_z − e_z')‖₂ over all pairs of cells, Π from the pseudo-inverse."""
    columns = projection(A).T
    return max((float(np.linalg.norm(x - y)) for x, y in itertools.combinations(columns, 2)), default=0.0)


def released_mu(A: np.ndarray, sigma: float, n: int) -> float:
    """The exact μ of A(P_n + ξ), ξ ~ N(0, σ² I): the largest Mahalanobis distance of neighbours, under σ² A Aᵀ."""
    precision = np.linalg.pinv(sigma**2 * A @ A.T, rcond=1e-10)
    moves = [(x - y) / n for x, y in itertools.combinations(A.T, 2)]
    return math.sqrt(max((move @ precision @ move for move in moves), default=0.0))


@every_workload
def test_the_subspace_sensitivity_is_the_largest_projected_distance(name):
    workload = workload_of(name)
    A, statistic = matrix(workload), CellAnswers(workload, subspace=True)
    assert statistic.l2 >= farthest(A) * (1 - 1e-9)
    assert statistic.l2 <= math.sqrt(2) * (1 + 1e-9)
    assert CellAnswers(workload, subspace=False).l2 == math.sqrt(2)
    if name in WORKLOADS:
        assert statistic.l2 == pytest.approx(farthest(A), rel=1e-7, abs=1e-7)
    assert statistic.norms == pytest.approx(np.linalg.norm(A, axis=1))
    assert np.linalg.matrix_rank(A) <= max(statistic.rank, 1)


def test_the_maximum_is_not_always_where_all_columns_differ():
    workload = WORKLOADS["2-way of 3"]
    Pi = projection(matrix(workload))
    distance = np.sqrt(np.maximum(2 * (Pi[0, 0] - Pi[0]), 0))  # from cell 000; 111 is the last
    assert distance[-1] < distance.max() - 0.1
    assert CellAnswers(workload, subspace=True).l2 == pytest.approx(distance.max())


def test_the_sensitivity_on_six_columns_is_the_one_of_the_notes():
    domain = codes(9, 16, 7, 5, 2, 2)
    statistic = CellAnswers(Marginals.all(domain, 3), subspace=True)
    assert 0.57234 < statistic.l2 < 0.5724


def test_very_wide_tables_fall_back_to_all_cells():
    domain = domain_from_json({f"b{i}": 2 for i in range(21)})
    assert CellAnswers(Marginals.all(domain, 1), subspace=True).l2 == math.sqrt(2)
    narrow = Marginals(domain, [["b0", "b1"], ["b3"]])
    # With a = ±1 the sets {}, 0, 1, 01, 3 make (1 + a_0)(1 + a_1) + a_3: 5 where all agree, −1 at the least.
    assert CellAnswers(narrow, subspace=True).l2 == pytest.approx(math.sqrt(2 * 6 / 2**21))


@pytest.fixture
def scales(monkeypatch):
    """The standard deviations the curator draws with."""
    out = []
    gaussian = "dpcore.privacy.mechanisms.gaussian"
    monkeypatch.setattr(gaussian, lambda values, sigma, rng: out.append(sigma) or values)
    return out


@pytest.mark.parametrize("subspace", [True, False])
@every_workload
def test_what_leaves_is_exactly_as_private_as_it_is_charged(scales, name, subspace):
    workload, n, mu = workload_of(name), 7, 0.3
    plan = Plan(Budget(50, 1e-3), (Charge("measure", Gaussian(mu)),))
    rows = random_rows(workload.domain, n)
    curator = TableCurator(rows, n, plan, np.random.default_rng(0))
    y = curator.measure(CellAnswers(workload, subspace=subspace), Gaussian(mu)).values
    A = matrix(workload)
    assert y == pytest.approx(A @ histogram(workload.domain, rows)), "the mechanism was silenced"
    (sigma,) = scales
    if sigma > 1e-6:
        assert released_mu(A, sigma, n) <= mu * (1 + 1e-9)
        assert released_mu(A, sigma / 2, n) == pytest.approx(2 * released_mu(A, sigma, n))
    if name in WORKLOADS and subspace and farthest(A) > 1e-6:
        assert released_mu(A, sigma, n) == pytest.approx(mu, rel=1e-6), "no noise is wasted"
        assert released_mu(A, sigma / 2, n) > 1.9 * mu, "half the sensitivity would be caught"


@pytest.mark.parametrize("name", ["2-way of 3", "uneven", "mixed", "low rank", "star", "ranges"])
def test_the_noise_has_the_covariance_of_white_noise_on_the_cells(name):
    workload, draws, mu = workload_of(name), 500, 0.1
    rows, statistic = random_rows(workload.domain, 50), CellAnswers(workload, subspace=True)
    plan = Plan(Budget(1e3, 1e-3), (Charge("measure", Gaussian(mu), draws),))
    curator = TableCurator(rows, 50, plan, np.random.default_rng(1))
    A, truth = matrix(workload), workload.answers_of_rows(rows)
    noise = np.array([curator.measure(statistic, Gaussian(mu)).values - truth for _ in range(draws)])
    sigma = statistic.l2 / (50 * mu)
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    keep = s > 1e-9
    white = noise @ U[:, keep] / (s[keep] * sigma)  # standard normal if the covariance is σ² A Aᵀ
    within = 4 / math.sqrt(2 * white.size)
    assert within < 0.09, "so that 10 % more or less is told apart"
    assert abs(white.std() - 1) < within
    assert np.abs(white.T @ white / draws - np.eye(keep.sum())).max() < 6 * math.sqrt(2 / draws)
    assert np.abs(noise @ (np.eye(len(U)) - U[:, keep] @ U[:, keep].T)).max() < 1e-9, "and nothing outside"


@every_workload
def test_the_bound_on_the_gaussian_width_holds_and_is_near(name):
    A = matrix(workload_of(name))
    draws = np.abs(np.random.default_rng(0).normal(size=(4000, A.shape[1])) @ A.T).max(axis=1)
    bound = theory.gaussian_width_bound(np.linalg.norm(A, axis=1))
    assert draws.mean() - 4 * draws.std() / 4000**0.5 <= bound <= 2.2 * draws.mean() + 1e-12
