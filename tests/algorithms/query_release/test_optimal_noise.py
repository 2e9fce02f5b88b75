"""The least noise of any unbiased Gaussian release: against a brute-force optimum over all positive
matrices.
"""

import itertools
import math

import numpy as np

from dpcore import Budget, Explicit, Marginals, TableQueries, Union
from dpcore.algorithms.query_release.shared.optimal_noise import (
    compare_with_bound,
    least_rmse,
    least_total_variance,
    optimise_noise,
)
from dpcore.privacy.accounting import gdp_mu
from dpcore.queries.residual_spaces import residual_spaces
from tests.small_problems import (
    BUDGET,
    D324,
    approx,
    integer_domain,
    marginal_matrix,
    minimise_distribution,
    parametrize,
    query_matrix,
    random_sign_queries,
)

TINY = {
    "binary pair": (integer_domain(2, 2), ["ab"]),
    "binary triple": (integer_domain(2, 2, 2), ["abc"]),
    "nested": (integer_domain(2, 3), ["a", "ab"]),
    "pair and single": (integer_domain(2, 2, 3), ["ab", "c"]),
    "chain": (integer_domain(2, 3, 2), ["ab", "bc"]),
    "three alike": (integer_domain(3, 3), ["a", "b", "ab"]),
    "with a column of one value": (integer_domain(1, 2, 3), ["ab", "bc"]),
}


def brute_force(W):
    """The least tr(W X⁺ Wᵀ) over all X ⪰ 0 with (e_z − e_z')ᵀ X (e_z − e_z') ≤ 1, from below and
    from above.

    Its dual: max over weights of pairs of the squared nuclear norm of W (Σ λ (e_z − e_z')(e_z −
    e_z')ᵀ)^½.
    """
    k = W.shape[1]
    pairs = np.array([np.eye(k)[a] - np.eye(k)[b] for a, b in itertools.combinations(range(k), 2)])
    centre = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, : k - 1]]))[0][
        :, 1:
    ]  # sums to 0: n is public
    pairs, W = pairs @ centre, W @ centre
    values, vectors = np.linalg.eigh(W.T @ W)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T

    def solve(weights):
        inner, basis = np.linalg.eigh(root @ (pairs.T * weights) @ pairs @ root)
        size = np.sqrt(np.maximum(inner, 0))
        inverse = np.where(size > 1e-7 * size.max(), 1 / np.maximum(size, 1e-300), 0)
        X = root @ (basis * inverse) @ basis.T @ root
        return float(size.sum()), np.einsum("pi,ij,pj->p", pairs, X, pairs) / size.sum()

    def negative(weights):
        total, costs = solve(weights)
        return -math.log(total), -costs / 2

    weights = np.full(len(pairs), 1 / len(pairs))
    for _ in range(2):
        weights = np.maximum(minimise_distribution(negative, weights), 1e-14)
        weights /= weights.sum()
    total, costs = solve(weights)
    return total**2, total**2 * costs.max()


@parametrize("where", TINY)
def test_the_optimum_is_that_of_a_brute_force_search_over_all_gaussian_releases(where):
    domain, columns = TINY[where]
    found = optimise_noise(Marginals(domain, columns))
    below, above = brute_force(marginal_matrix(domain, columns))
    assert found.lower_bound == approx(below)
    assert found.upper_bound == approx(found.lower_bound, rel=1e-8)
    assert above == approx(below, rel=1e-4), "the search itself has ended"


def test_columns_are_alike_only_where_their_exchange_leaves_the_tables_as_they_are():
    ring = ["ab", "bc", "cd", "ad"]  # of which only opposite corners are exchangeable
    for columns, alike in (
        (["ab", "bc", "d"], ((0, 2), (1,), (3,))),
        (ring, ((0, 2), (1, 3))),
        ("abcd", ((0, 1, 2, 3),)),
    ):
        assert residual_spaces(Marginals(integer_domain(3, 3, 3, 3), columns)).classes == alike


def test_many_pairs_of_columns_are_bounded_from_both_sides(monkeypatch):
    tables = Marginals.all(integer_domain(3, 4, 5, 6, 7), 2)
    exact = optimise_noise(tables)
    monkeypatch.setattr("dpcore.queries.residual_spaces.MAX_AGREEMENT_PATTERNS", 1)
    found = optimise_noise(tables)
    assert found.lower_bound == approx(exact.lower_bound), "the hill's top is the highest here"
    assert exact.upper_bound <= found.upper_bound <= 1.5 * exact.lower_bound
    monkeypatch.undo()
    assert exact.spaces.changes_by_pattern(found.information).max() <= 1


@parametrize(
    "W",
    [random_sign_queries(integer_domain(3, 2), 9), TableQueries.ranges(integer_domain(3, 2), "ab")],
)
def test_the_bound_of_a_matrix_is_below_the_brute_force_optimum(W):
    below, _ = brute_force(query_matrix(W))
    assert 0.5 * below < least_total_variance(W) <= below * (1 + 1e-9)


def test_queries_on_tables_have_the_bound_of_their_matrix(monkeypatch):
    domain = D324

    def on_tables():
        return Union([TableQueries.ranges(domain, "ac"), Marginals(domain, ["b", "ab"])])

    asked = on_tables()
    expected = least_total_variance(Explicit(domain, query_matrix(asked)))
    assert least_total_variance(asked) == approx(expected)
    both = Union([asked, random_sign_queries(domain, 2)])
    assert least_total_variance(both) == approx(
        least_total_variance(Explicit(domain, query_matrix(both)))
    )
    monkeypatch.setattr(
        "dpcore.algorithms.query_release.shared.optimal_noise.MAX_GRAM_ROWS", asked.base.m
    )
    again = on_tables()
    assert again.m > again.base.m
    assert least_total_variance(again) == approx(expected)
    monkeypatch.setattr("dpcore.algorithms.query_release.shared.optimal_noise.MAX_GRAM_ROWS", 3)
    assert least_total_variance(Union([TableQueries.ranges(domain, "ac")])) is None


def test_the_line_is_in_shares_and_needs_gaussian_noise():
    tables = Marginals.all(integer_domain(2, 3, 2), 2)
    budget = BUDGET
    expected = math.sqrt(optimise_noise(tables).lower_bound / tables.m) / (500 * gdp_mu(1, 1e-6))
    assert least_rmse(tables, budget, 500) == approx(expected, rel=1e-9)
    assert least_rmse(tables, budget, 250) == approx(2 * expected, rel=1e-9)
    assert least_rmse(tables, Budget(1, 0), 500) is None
    assert least_rmse(Marginals.all(integer_domain(1), 1), budget, 5) == 0


@parametrize(
    "rmse, words",
    [
        (0.01, "2.1 × below what any unbiased method could do, because answers support each other"),
        (0.0205, "as little as any unbiased method could have"),
        (0.042, "2 × above the least that an unbiased method could have"),
    ],
)
def test_how_an_error_stands_to_the_line_in_words(rmse, words):
    assert compare_with_bound(rmse, 0.021) == words
