"""Public best responses: the integer program agrees with looking at every cell, and stops when its
time is over.
"""

import numpy as np

from dpcore import Explicit, Marginals, TableQueries, Union
from dpcore.algorithms.query_release.shared.best_response import BestResponseOracle, QuerySums
from dpcore.models.releases import SyntheticRows
from tests.small_problems import (
    all_cells,
    approx,
    expect_error,
    integer_domain,
    parametrize,
    parametrize_false_true,
    random_sign_queries,
    seeded,
)

SMALL = integer_domain(3, 1, 4, 2)
WORKLOADS = {
    "1-way": Marginals.all(SMALL, 1),
    "2-way": Marginals.all(SMALL, 2),
    "3-way": Marginals.all(SMALL, 3),
    "ranges": TableQueries.ranges(SMALL, "ac"),
    "half-spaces": TableQueries.half_spaces(SMALL, "ac", 9),
    "union": Union(
        [Marginals.all(SMALL, 3), Marginals.all(SMALL, 1), TableQueries.conjunctions(SMALL, 2, 8)]
    ),
}
HUGE = integer_domain(*[30] * 12)


def values(workload, weights, scores=None):
    """Σ_j w_j q_j(x), and the scores of x, for every cell x, by definition."""
    total = np.array([workload.answers(cell) for cell in np.eye(workload.domain.size)]) @ weights
    if scores is not None:
        total += scores[
            np.cumsum([0, *workload.domain.shape[:-1]]) + all_cells(workload.domain)
        ].sum(axis=1)
    return total


@parametrize("share", [0.0, 0.3, 1.0])
@parametrize_false_true("scored")
@parametrize("name", WORKLOADS)
def test_the_integer_program_finds_what_looking_at_all_cells_finds(name, scored, share):
    workload = WORKLOADS[name]
    rng = seeded(3)
    for _ in range(3):
        weights = rng.normal(size=workload.m) * (rng.random(workload.m) < share)
        scores = rng.normal(size=(2, sum(SMALL.shape))) if scored else None
        for oracle in (
            BestResponseOracle(workload),
            BestResponseOracle(workload, 60, max_enumerated_cells=0),
        ):
            found = oracle.argmax(weights, rng, scores)
            assert found.codes.shape == ((2 if scored else 1), 4)
            assert found.timed_out_count == 0
            for i, (code, value) in enumerate(zip(found.codes, found.values, strict=True)):
                expected = values(workload, weights, scores[i] if scored else None)
                assert value == approx(expected.max(), abs=1e-5)
                assert expected[SMALL.cell_numbers(code[None])[0]] == approx(value, abs=1e-9)


@parametrize("enumerated", [0, 10**6])
def test_ties_are_broken_by_chance_and_never_against_the_weights(enumerated):
    weights = np.array([0, 2.0, 2.0, 0, 0, 0, 0, 0, 0, 0])
    oracle = BestResponseOracle(WORKLOADS["1-way"], 60, max_enumerated_cells=enumerated)
    found = np.array([oracle.argmax(weights, seeded(i)).codes[0] for i in range(60)])
    assert not (found[:, 0] == 0).any()
    assert [len(np.unique(column)) for column in found.T[1:]] == [1, 4, 2]
    if enumerated:
        assert len(np.unique(found[:, 0])) == 2, (
            "among equal weights, an integer program may have its favourite"
        )


def test_a_time_limit_is_honoured_and_told():
    workload = Marginals.all(HUGE, 2)
    rng = seeded(0)
    weights = rng.normal(size=workload.m) * (rng.random(workload.m) < 0.02)
    scores = rng.standard_exponential((2, sum(HUGE.shape)))
    found = BestResponseOracle(workload, 1e-6).argmax(weights, rng, scores)
    assert found.timed_out_count == 2
    assert ((found.codes >= 0) & (found.codes < 30)).all()
    for code, value, row in zip(found.codes, found.values, scores, strict=True):
        counted = QuerySums(workload)
        counted.add_rows(code[None])
        assert value == approx(
            weights @ counted.sums + row.reshape(12, 30)[np.arange(12), code].sum()
        )


def test_where_cells_cannot_be_listed_few_queries_are_answered_exactly():
    """A chain of pairs with one best assignment that no column alone would choose."""
    workload = Marginals(HUGE, [[a, b] for a, b in zip(HUGE.names, HUGE.names[1:], strict=False)])
    weights = np.zeros(workload.m)
    for table in workload.tables:
        weights[table.start + 7 * 30 + 7] = 1.0
        weights[table.start] = 0.5
    found = BestResponseOracle(workload, 60).argmax(weights, seeded(0))
    assert (found.codes == 7).all()
    assert found.values == approx(11)


def test_a_query_matrix_is_enumerated_or_refused():
    workload = Union([random_sign_queries(SMALL, 3), Marginals.all(SMALL, 1)])
    rng = seeded(0)
    weights = rng.normal(size=workload.m)
    found = BestResponseOracle(workload, max_enumerated_cells=0).argmax(weights, rng)
    assert found.values[0] == approx(values(workload, weights).max())

    class Large(Explicit):
        def __init__(self):
            self.domain = HUGE
            self.m = 1

    with expect_error("more than the 10,000,000 this algorithm can enumerate"):
        BestResponseOracle(Large())


@parametrize("name", [*WORKLOADS, "signs"])
def test_rows_are_counted_as_a_release_of_them_would_answer(name):
    workload = WORKLOADS.get(name) or random_sign_queries(SMALL, 3)
    rows = all_cells(SMALL)[seeded(1).integers(24, size=10)]
    counted = QuerySums(workload)
    counted.add_rows(rows[:4])
    counted.add_rows(rows[4:])
    assert counted.sums / 10 == approx(SyntheticRows.from_rows(SMALL, rows).answers(workload))
