"""The row space of explicit queries: an orthonormal basis, the same answers, and no privacy lost if
it is wrong.
"""

import numpy as np

from dpcore import Explicit
from dpcore.privacy.statistics import CellAnswers
from dpcore.queries import RowSpace, factorise_row_space
from dpcore.queries import explicit_queries as module
from tests.small_problems import approx, integer_domain, parametrize, random_rows, seeded

RNG = seeded(0)


def dependent(m, rank, k):
    return RNG.uniform(-1, 1, (m, rank)) @ RNG.uniform(-1, 1, (rank, k)) / rank


KAHAN = np.triu(np.where(np.eye(40, dtype=bool), 1, -0.3)) * (1 - 0.3**2) ** (
    np.arange(40)[:, None] / 2
)
MATRICES = {
    "independent": (RNG.choice([-1.0, 1.0], (7, 60)), 7),
    "low rank": (dependent(80, 5, 60), 5),
    "a query and its complement": (np.array([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]]), 2),
    "nothing": (np.zeros((3, 6)), 0),
    "badly scaled": (np.vstack([np.eye(6), 1e-9 * np.arange(6.0)]), 6),
    "nearly dependent": (KAHAN, 40),
}
each = parametrize("name", MATRICES)


@each
def test_the_factors_are_orthonormal_and_give_the_matrix_back(name):
    A, rank = MATRICES[name]
    space = factorise_row_space(A)
    assert space.basis.shape == (rank, A.shape[1])
    assert space.coordinates.shape == (len(A), rank)
    assert space.basis @ space.basis.T == approx(np.eye(rank), abs=1e-13)
    assert space.coordinates @ space.basis == approx(A, abs=1e-13)


@each
def test_a_small_rank_is_found_from_random_combinations_and_a_larger_one_is_not_taken(name):
    A, rank = MATRICES[name]
    found = factorise_row_space(A, rank)
    if name != "badly scaled":  # where rounding leaves it to the check
        assert found is not None
        assert found.coordinates @ found.basis == approx(A, abs=1e-12)
        assert len(found.basis) == rank
    if rank > 0:
        assert factorise_row_space(A, rank - 1) is None


def test_answers_and_adjoint_through_the_space_equal_those_by_the_matrix():
    A = dependent(300, 6, 400)
    D = RNG.dirichlet(np.ones(400))
    w = RNG.normal(size=300)
    workload = Explicit(integer_domain(20, 20), A)
    assert isinstance(workload._low_rank_factors, RowSpace)
    assert workload.answers(D) == approx(A @ D, abs=1e-14)
    assert workload.adjoint(w) == approx(w @ A, abs=1e-12)
    rows = random_rows(workload.domain, 50)
    P_n = np.bincount(workload.domain.cell_numbers(rows.values), rows.weights / 50, 400)
    assert workload.answers_of_rows(rows) == approx(workload.answers(P_n), abs=1e-14)


def test_no_space_is_looked_for_where_that_costs_too_much(monkeypatch):
    monkeypatch.setattr(module, "MAX_FACTORISATION_WORK", 300 * 300 * 400 - 1)
    workload = Explicit(integer_domain(20, 20), dependent(300, 6, 400))
    assert workload.row_space is None
    assert workload.answers(np.full(400, 1 / 400)) == approx(workload.matrix.mean(axis=1))
    assert CellAnswers(workload, subspace=True).l2 == approx(np.sqrt(2))


@parametrize("stretch", [1.0, 1.3, 0.8])
def test_the_noise_covers_what_leaves_even_of_a_wrong_basis(monkeypatch, stretch):
    workload = Explicit(integer_domain(3, 4), dependent(5, 3, 12))
    right = factorise_row_space(workload.matrix)
    wrong = RowSpace(
        stretch * right.basis + (stretch - 1) * RNG.normal(size=right.basis.shape),
        right.coordinates,
    )
    monkeypatch.setattr(workload, "row_space", wrong)
    columns = wrong.basis.T
    moved = max(np.linalg.norm(a - b) for a in columns for b in columns)
    assert CellAnswers(workload, subspace=True).l2 >= moved
    assert moved > 1.5 or stretch < 1.3, "more than √2, to which a right basis is limited"
