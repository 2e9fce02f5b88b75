"""CellAnswers: noise on the cells of which only the queries' view leaves; its sensitivity and its
covariance.
"""

import math

import numpy as np

from dpcore import Explicit, Marginals
from dpcore.algorithms.query_release.shared.workload_width import gaussian_width_bound
from dpcore.privacy.accounting import Gaussian
from dpcore.privacy.statistics import CellAnswers
from tests.privacy.enumerated_neighbours import curator_of
from tests.privacy.test_exact_neighbours import LARGER, WORKLOADS
from tests.small_problems import (
    approx,
    equal_columns_domain,
    integer_domain,
    parametrize,
    query_matrix,
    random_rows,
    seeded,
)

FLAT = {
    value: Explicit(integer_domain(2, 3), np.full((2, 6), float(value))) for value in ("0", "1")
}


def test_very_wide_tables_fall_back_to_all_cells():
    domain = equal_columns_domain(24, 2)
    assert CellAnswers(Marginals.all(domain, 1), subspace=True).l2 == math.sqrt(2)
    joint = Marginals.over_axes(
        domain, [tuple(range(13))]
    )  # a record's cell there spreads over the 2^11 others alike
    assert CellAnswers(joint, subspace=True).l2 == approx(math.sqrt(2 * 2**13 / 2**24))
    narrow = Marginals(domain, [["c0", "c1"], ["c3"]])
    # With a = ±1 the sets {}, 0, 1, 01, 3 make (1 + a_0)(1 + a_1) + a_3: 5 where all agree, −1 at
    # the least.
    assert CellAnswers(narrow, subspace=True).l2 == approx(math.sqrt(2 * 6 / 2**24))


@parametrize("name", ["2-way", "uneven", "mixed", "low rank", "star", "ranges"])
def test_the_noise_has_the_covariance_of_white_noise_on_the_cells(name):
    workload = (WORKLOADS | LARGER)[name]
    draws = 500
    mu = 0.1
    rows = random_rows(workload.domain, 50)
    statistic = CellAnswers(workload, subspace=True)
    curator = curator_of(rows, Gaussian(mu), times=draws, seed=1)
    truth = workload.answers_of_rows(rows)
    noise = np.array(
        [curator.measure(statistic, Gaussian(mu)).values - truth for _ in range(draws)]
    )
    sigma = statistic.l2 / (50 * mu)
    U, s, _ = np.linalg.svd(query_matrix(workload), full_matrices=False)
    keep = s > 1e-9
    white = noise @ U[:, keep] / (s[keep] * sigma)  # standard normal if the covariance is σ² A Aᵀ
    within = 4 / math.sqrt(2 * white.size)
    assert within < 0.09, "so that 10% more or less is told apart"
    assert abs(white.std() - 1) < within
    assert np.abs(white.T @ white / draws - np.eye(keep.sum())).max() < 6 * math.sqrt(2 / draws)
    assert np.abs(noise @ (np.eye(len(U)) - U[:, keep] @ U[:, keep].T)).max() < 1e-9, (
        "and nothing outside"
    )


@parametrize("workload", (WORKLOADS | LARGER | FLAT).values(), ids=[*WORKLOADS, *LARGER, *FLAT])
def test_the_bound_on_the_gaussian_width_holds_and_is_near(workload):
    A = query_matrix(workload)
    statistic = CellAnswers(workload, subspace=True)
    assert statistic.norms == approx(np.linalg.norm(A, axis=1))
    assert np.linalg.matrix_rank(A) <= max(statistic.rank, 1)
    draws = np.abs(seeded(0).normal(size=(4000, A.shape[1])) @ A.T).max(axis=1)
    bound = gaussian_width_bound(statistic.norms)
    assert draws.mean() - 4 * draws.std() / 4000**0.5 <= bound <= 2.2 * draws.mean() + 1e-12
