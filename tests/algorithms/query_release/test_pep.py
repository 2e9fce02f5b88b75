"""PEP: its projection against scipy's, and its rounds."""

import math
from functools import partial

import numpy as np

from dpcore import Marginals
from dpcore.algorithms.query_release.pep import interval_projection_step
from dpcore.algorithms.query_release.shared.initial_model import ModelState
from dpcore.algorithms.query_release.shared.select_and_measure import QueryHistory, QueryMeasurement
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.models.tree_model import QuerySupport
from tests.small_problems import (
    approx,
    integer_domain,
    minimise_distribution,
    parametrize,
    parametrize_false_true,
    query_matrix,
    random_sign_queries,
    seeded,
)

DOMAIN = integer_domain(3, 4)
MARGINALS = Marginals.all(DOMAIN, 1)
ONE = QuerySupport(0, (0,), (0,), 1.0)  # of an indicator


@parametrize_false_true("uniform")
@parametrize("slack", [0.3, 4.0])
@parametrize("name", ["marginals", "signs"])
def test_visits_in_turn_tend_to_the_projection(name, slack, uniform):
    """min KL(D ‖ D_0) within the intervals, from scipy."""
    workload = MARGINALS if name == "marginals" else random_sign_queries(DOMAIN, 6)
    rng = seeded(0)
    sigma = np.array([0.02, 0.05, 0.03, 0.04])
    D_0 = np.full(12, 1 / 12) if uniform else rng.dirichlet(np.full(12, 5))
    measured = [0, 2, 4, 5]
    A = query_matrix(workload)[measured]
    a = A @ rng.dirichlet(np.ones(12))
    ground = ModelState(ListedCellsModel(DOMAIN), workload, None)
    past = QueryHistory(ground, partial(interval_projection_step, slack=slack), sweeps=(2, 2000))
    D = D_0
    for j, answer, deviation in zip(measured, a, sigma, strict=True):
        D = past.refit(D, j, np.array([answer]), deviation)
    D = past.refit(D, measured[0], a[:1], 1e9, is_last=True)

    def objective(E):
        E = np.maximum(E, 1e-12)
        return E @ np.log(E / D_0), np.log(E / D_0) + 1

    inside = {
        "type": "ineq",
        "fun": lambda E: np.concatenate([slack * sigma - A @ E + a, slack * sigma + A @ E - a]),
    }
    assert np.abs(D - minimise_distribution(objective, D_0, inside)).max() < 2e-5
    assert (np.abs(A @ D - a) <= slack * sigma + 1e-6).all()


def test_a_constraint_that_is_met_is_left_alone_and_one_that_is_let_go_returns_to_nought():
    fact = QueryMeasurement(ONE, 0.5, 100.0)  # an interval of 0.5 ± 0.1
    assert interval_projection_step(fact, 0.45, 0.2475, 1.0) == 0
    assert interval_projection_step(fact, 0.3, 0.21, 1.0) == approx(
        math.log(0.4 / 0.6) - math.log(0.3 / 0.7)
    )
    assert interval_projection_step(fact, 0.7, 0.21, 1.0) == approx(
        math.log(0.6 / 0.4) - math.log(0.7 / 0.3)
    )
    fact.theta = 0.1
    assert interval_projection_step(fact, 0.55, 0.2475, 1.0) == -0.1
    assert -0.1 < interval_projection_step(fact, 0.41, 0.2419, 1.0) < 0, (
        "back to the edge, no further"
    )


def test_answers_outside_what_a_query_can_be_are_clipped():
    for answer, edge in ((-0.5, 0.1), (1.5, 0.9)):
        assert interval_projection_step(
            QueryMeasurement(ONE, answer, 100.0), 0.5, 0.25, 1.0
        ) == approx(math.log(edge / (1 - edge)))
