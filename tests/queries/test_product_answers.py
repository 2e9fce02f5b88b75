"""Product distributions: their answers by enumeration, gradients by finite differences, and rows
drawn of a mixture.
"""

import numpy as np

from dpcore import Marginals
from dpcore.models.releases import ProductMixture
from dpcore.queries import product_answers
from dpcore.queries.product_answers import ProductAnswers, column_slices
from tests.small_problems import (
    D324,
    TASKS,
    all_cells,
    approx,
    histogram,
    integer_domain,
    parametrize,
    query_problem,
    seeded,
)

WIDE = integer_domain(*[20] * 14)  # 1.6e18 cells


def mixture(domain, C):
    rng = seeded(0)
    parts = [rng.dirichlet(np.full(size, 0.7), C) for size in domain.shape]
    return ProductMixture(domain, np.concatenate(parts, axis=1), rng.dirichlet(np.ones(C)))


def enumerated(release):
    """D (k,) cell by cell."""
    D = np.zeros(release.domain.size)
    for weight, row in zip(release.weights, release.probabilities, strict=True):
        parts = [
            row[block][all_cells(release.domain)[:, i]]
            for i, block in enumerate(column_slices(release.domain))
        ]
        D += weight * np.prod(parts, axis=0)
    return D


@parametrize("where", TASKS)
def test_answers_are_those_of_the_enumerated_mixture(where):
    workload = query_problem(where)[0].workload
    release = mixture(workload.domain, 4)
    assert release.answers(workload) == approx(workload.answers(enumerated(release)), abs=1e-12)


@parametrize(
    "few",
    [0, product_answers.WHOLE_TABLE_RATIO, 10**6],
    ids=["cell by cell", "as it is", "whole tables"],
)
@parametrize("share", [1, 2], ids=["all", "half"])
@parametrize("where", TASKS)
def test_chosen_answers_and_their_gradients(monkeypatch, where, share, few):
    monkeypatch.setattr(product_answers, "WHOLE_TABLE_RATIO", few)
    workload = query_problem(where)[0].workload
    release = mixture(workload.domain, 3)
    js = seeded(1).permutation(workload.m)[: -(-workload.m // share)]
    p = release.probabilities.T.copy()
    some = ProductAnswers(workload, js)
    assert some.answers(p, release.weights) == approx(release.answers(workload)[js], abs=1e-12)
    v = seeded(2).normal(size=len(js))
    numeric = np.zeros_like(p)
    for place in np.ndindex(*p.shape):
        sides = []
        for step in (
            0.5,
            -0.5,
        ):  # answers are linear in each single entry, so that any step is exact
            moved = p.copy()
            moved[place] += step
            sides.append(v @ some.answers(moved, release.weights))
        numeric[place] = sides[0] - sides[1]
    assert some.gradient(p, release.weights, v) == approx(numeric, abs=1e-11)


def test_pieces_of_components_and_of_cells_add_up(monkeypatch):
    workload = query_problem("3-way of 4")[0].workload
    release = mixture(workload.domain, 7)
    p = release.probabilities.T.copy()
    v = np.arange(float(workload.m))
    whole = ProductAnswers(workload)
    expected = whole.answers(p, release.weights), whole.gradient(p, release.weights, v)
    monkeypatch.setattr(product_answers, "MAX_BLOCK_ENTRIES", 20)
    monkeypatch.setattr(product_answers, "CELLS_PER_CHUNK", 2)
    for few in (0, 10**6):
        monkeypatch.setattr(product_answers, "WHOLE_TABLE_RATIO", few)
        pieces = ProductAnswers(workload)
        assert pieces.answers(p, release.weights) == approx(expected[0], abs=1e-12)
        assert pieces.gradient(p, release.weights, v) == approx(expected[1], abs=1e-12)


def test_a_domain_that_cannot_be_enumerated_is_answered():
    workload = Marginals(WIDE, ["acn", "b"])
    release = mixture(WIDE, 3)
    a, c, i = (release.probabilities[:, column_slices(WIDE)[axis]] for axis in (0, 2, 13))
    table = np.einsum("w,wa,wc,wi->aci", release.weights, a, c, i)
    assert release.answers(workload)[workload.tables[0]] == approx(table.ravel())
    assert release.sample(5, seeded(0)).shape == (5, 14)


@parametrize("rows", [1, 3, 10, 400])
@parametrize("C", [1, 3, 200])
def test_rows_drawn_follow_the_mixture_closely(rows, C):
    release = mixture(D324, C)
    singles = Marginals.all(release.domain, 1)
    gaps = []
    for seed in range(12):
        frame = release.sample(rows, seeded(seed))
        assert frame.shape == (rows, 3)
        counts = singles.answers_of_rows(release.domain.group_rows(frame.to_numpy()))
        gaps.append(rows * (counts - release.answers(singles)))
    assert (
        np.abs(gaps).max() <= 2 * C + 1
        if C < 200
        else np.abs(gaps).max() < max(4 * np.sqrt(rows / 4), 2)
    )


def test_rows_drawn_have_the_mixtures_joint_distribution():
    release = mixture(integer_domain(3, 2, 2), 4)
    D = enumerated(release)
    seen = np.zeros(12)
    for seed in range(40):
        frame = release.sample(500, seeded(seed))
        seen += histogram(release.domain, release.domain.group_rows(frame.to_numpy())) / 40
    bound = 4 * np.sqrt(0.25 / 20_000)
    assert np.abs(seen - D).max() < bound
    alone = ProductMixture(
        release.domain, (release.weights @ release.probabilities)[None], np.ones(1)
    )
    assert np.abs(enumerated(alone) - D).max() > 2 * bound, (
        "columns that were independent would be seen"
    )
