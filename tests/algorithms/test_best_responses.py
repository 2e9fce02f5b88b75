"""DualQuery, DQRS, FEM and sepFEM, and their public best responses: charges, limits, and large domains.

The integer program agrees with looking at every cell, and stops when its time is over.
"""

import itertools
import math

import numpy as np

from dpcore import ALGORITHMS, Budget, Explicit, Marginals, QueryRelease, Run, TableQueries, Union
from dpcore.algorithms.base import make_plan
from dpcore.algorithms.dual_query import _Expected, _RowPlayer
from dpcore.algorithms.oracles import Counter, Oracle
from dpcore.privacy.accounting import Accounting, BoundedRange, equal_selections
from dpcore.releases import Records
from tests.helpers import (
    BUDGET,
    D324,
    all_tables,
    approx,
    cells,
    codes,
    finished,
    parametrize,
    plan_of,
    random_rows,
    refused,
    seeded,
    signs,
    task,
)

BUDGETS = [Budget(1, 1e-9), Budget(9, 1e-3), Budget(1, 0), Budget(8, 0)]
TALL = codes(*[20] * 9)  # 5e11 cells


def tall_rows(n=2000):
    """Records whose columns follow one another."""
    rng = seeded(0)
    values = (rng.geometric(0.3, size=(n, 1)) + rng.integers(2, size=(n, 9))) % 20
    return TALL.group(values)


@parametrize("samples", [1, 7])
@parametrize("rounds", [2, 30])
@parametrize("budget", BUDGETS, ids=str)
@parametrize("where, group", [("2-way", 1), ("explicit", 1), ("2-way", 5)])
def test_the_charges_of_dualquery_are_those_of_the_docstring(where, group, budget, rounds, samples):
    asked = task(where)[0]
    problem = QueryRelease(asked.workload, asked.n, group)
    plan = plan_of("dualquery", problem, budget, rounds=rounds, samples=samples)
    step = plan["eta"] * problem.workload.width * group / problem.n
    assert [c.times for c in plan.charges] == [samples] * (rounds - 1)
    ranges = [2 * step * (t - 1) for t in range(2, rounds + 1)]
    assert [c.spend.epsilon for c in plan.charges] == approx(ranges)
    T = rounds
    rho = samples * step**2 * T * (T - 1) * (2 * T - 1) / 12
    assert plan.sums.rho == approx(rho, rel=1e-9)
    assert plan.sums.pure == approx(samples * step * T * (T - 1), rel=1e-9)
    if budget.delta == 0 or plan.accounting is Accounting.PURE:
        assert plan.sums.pure == approx(budget.epsilon, rel=1e-8)
    else:
        assert rho == approx(budget.rho, rel=1e-8)


@parametrize("budget", [*BUDGETS, Budget(0.01, 1e-9)], ids=str)
@parametrize("where", ["2-way", "explicit", "two records"])
def test_dqrs_expects_to_spend_its_budget_and_never_needs_more_than_dualquery(where, budget):
    problem = task(where)[0]
    chosen = {"rounds": 40, "samples": 10}
    plan = plan_of("dqrs", problem, budget, **chosen)
    fresh = plan_of("dualquery", problem, budget, **chosen)
    assert plan["eta"] >= fresh["eta"] * (1 - 1e-5)
    expected = _Expected(problem, budget, 40, 10, plan["eta"] * problem.workload.width)
    assert 0.5 < expected.cost <= 1
    assert (expected.redraws <= 10).all()
    assert expected.bits == 10 * expected.reuses.sum()
    assert (expected.redraws[~expected.reuses] == 10).all(), "without a bit, every draw is new"


@parametrize("seed", range(3))
def test_dqrs_is_charged_for_bits_and_for_what_they_reject(seed):
    rows = random_rows(D324, 20_000)
    problem = all_tables(D324, 20_000)
    algorithm = ALGORITHMS["dqrs"](rounds=150, samples=6)
    run = Run(algorithm, problem, rows, Budget(0.2, 1e-6), seed=seed).finish()
    expected = _Expected(problem, run.budget, 150, 6, run.plan["eta"])
    events, t = list(run.events), 2
    kept = 0
    while events:
        rejected = 6
        if expected.reuses[t - 2]:
            assert events[:6] == [("keep_draws", expected.bit)] * 6
            del events[:6]
            rejected = 0
        draw = BoundedRange(2 * run.plan["eta"] * (t - 1) / 20_000)
        while events and events[0][0] == "draw_queries" and events[0][1].epsilon == approx(draw.epsilon):
            del events[0]
            rejected += expected.reuses[t - 2]
        if not expected.reuses[t - 2]:
            assert rejected == 6
        kept += 6 - min(rejected, 6)
        t += 1
    assert len(run.records) >= 100
    assert kept > 100, "some draws were reused"
    assert 0.8 < run.spent.rho / run.budget.rho <= 1


def test_dqrs_stops_when_the_next_charge_does_not_fit(monkeypatch):
    monkeypatch.setattr("dpcore.algorithms.dual_query.REJECTED", 0.5)  # expects too little, so η is too large
    rows = random_rows(D324, 20_000)
    problem = all_tables(D324, 20_000)
    run = finished("dqrs", problem, rows, Budget(0.2, 1e-6), rounds=300, samples=6)
    assert 20 < len(run.records) < 300
    assert 0.95 < run.spent.rho / run.budget.rho <= 1
    assert run.spent.epsilon <= 0.2


def test_a_wrong_sign_or_memory_would_be_seen():
    """Draws pull the rows towards the records: 'more of q' gets a row of q; earlier draws weigh 0.9 or nothing."""
    problem = QueryRelease(Marginals(codes(4, 3), [["a"]]), 10)
    for memory, second in ((0.0, 1), (0.9, 2)):
        player, rng = _RowPlayer(problem, memory, 1.0), seeded(0)
        for drawn, found in (([2, 2], 2), ([1], second), ([4 + 2, 4 + 2, 1], 1)):
            player.respond(np.array(drawn), rng)
            assert player.rows[-1][0, 0] == found
        assert player.errors(4).answers.tolist() == [0, 3 - second, second, 0]


@parametrize("name", ["dualquery", "dqrs", "fem", "sepfem"])
def test_domains_that_cannot_be_listed_are_served_and_learnt(name):
    rows = tall_rows()
    problem = QueryRelease(Marginals(TALL, [["a"], ["c"], ["e", "i"]]), rows.n)
    chosen = {"rounds": 25} | ({"samples": 2} if "fem" in name else {})
    first, *_, last = finished(name, problem, rows, Budget(9, 1e-6), **chosen).records
    assert last.empirical.mean_l1 < first.empirical.mean_l1 * 0.85
    assert math.isfinite(last.empirical.max_error)


@parametrize("name", ["dualquery", "fem"])
def test_a_best_response_out_of_time_is_told(name):
    rows = tall_rows(200)
    problem = QueryRelease(Marginals(TALL, [["a", "b"], ["c", "d"]]), 200)
    run = finished(name, problem, rows, rounds=4, samples=3, seconds=1e-6)
    assert "time limit reached" in run.records[-1].note
    assert run.spent.epsilon <= 1


@parametrize("rounds", [1, 25])
@parametrize("budget", [Budget(1, 1e-9), Budget(9, 1e-3), Budget(1, 0)], ids=str)
@parametrize("name", ["fem", "sepfem"])
def test_a_run_is_charged_one_selection_a_round_and_nothing_else(name, budget, rounds):
    """As `test_contract` holds that charges are the planned ones."""
    (charge,) = plan_of(name, task("2-way")[0], budget, rounds=rounds, samples=2).charges
    assert (charge.verb, charge.spend, charge.times) == ("select", equal_selections(budget, rounds), rounds)


class Selecting:
    """Stands in for a curator: selects what it is told and keeps what it was asked."""

    def __init__(self, *indices):
        self.indices, self.scores = list(indices), []

    def select(self, score, spend):
        self.scores.append(score)
        return self.indices.pop(0)


def steps(name, problem, curator, **chosen):
    algorithm = ALGORITHMS[name](**chosen)
    plan = make_plan(algorithm, problem, BUDGET)
    return list(algorithm.steps(problem, plan, curator, seeded(0)))


@parametrize("name", ["fem", "sepfem"])
def test_rows_follow_what_was_selected(name):
    problem = all_tables(D324, 10, 1)
    m = problem.workload.m
    curator = Selecting(1, m + 3, m + 3, 7, 7, 0)  # more a = 1, less b = 0, more c = 2
    last = steps(name, problem, curator, rounds=6, samples=8, scale=1e-3, judged="round")[-1]
    answers = curator.scores[-1].answers
    assert answers[[1, 3, 7]].tolist() == [1, 0, 1]
    assert last.t == 6
    assert "a = 0" in last.note


@parametrize("name", ["fem", "sepfem"])
def test_random_scores_are_drawn_anew_for_every_row(name):
    problem = all_tables(D324, 10, 1)
    curator = Selecting(0)
    (step,) = steps(name, problem, curator, rounds=1, samples=200, scale=1.0)
    assert len(step.release.counts) > 15, "with nothing selected yet, any cell may be best"
    assert (step.release.answers(problem.workload) < 0.8).all()


def test_errors_are_those_of_the_round_or_of_recent_rows_and_released_are_all_or_the_tail():
    problem = all_tables(D324, 10)
    for judged, output in itertools.product(("round", "recent"), ("all", "tail")):
        curator = Selecting(*range(8))
        told = steps("fem", problem, curator, rounds=8, samples=3, judged=judged, output=output)
        asked = [score.answers for score in curator.scores]
        totals = [step.release.counts.sum() for step in told]
        expected = [3 * (t - t // 4 * (output == "tail")) for t in range(1, 9)]
        assert totals == expected
        if output == "all":
            sums = [step.release.answers(problem.workload) * 3 * step.t for step in told]
            rounds = np.diff([np.zeros(problem.workload.m), *sums], axis=0) / 3
            share, recent = (1.0 if judged == "round" else 0.5), rounds[0]
            for own, seen in zip(rounds, asked, strict=True):
                recent = recent + share * (own - recent)
                assert seen == approx(recent)


def test_separators_are_added_where_they_are_missing():
    for workload, missing in (
        (Marginals.all(D324, 2), 9),
        (Marginals.all(D324, 1), 0),
        (Marginals(D324, [["a"], ["b", "c"]]), 6),
        (Union([Marginals(D324, [["b"]]), TableQueries.ranges(D324, ["a"])]), 7),
    ):
        curator = Selecting(0)
        steps("sepfem", QueryRelease(workload, 10), curator, rounds=1)
        asked = curator.scores[0]
        assert asked.workload.m == workload.m + missing
        assert asked.answers.shape == (asked.workload.m,)
        assert [asked.workload.label(j) for j in range(workload.m)] == [workload.label(j) for j in range(workload.m)]


SMALL = codes(3, 1, 4, 2)
WORKLOADS = {
    "1-way": Marginals.all(SMALL, 1),
    "2-way": Marginals.all(SMALL, 2),
    "3-way": Marginals.all(SMALL, 3),
    "ranges": TableQueries.ranges(SMALL, ["a", "c"]),
    "half-spaces": TableQueries.half_spaces(SMALL, ["a", "c"], 9),
    "union": Union([Marginals.all(SMALL, 3), Marginals.all(SMALL, 1), TableQueries.conjunctions(SMALL, 2, 8)]),
}
HUGE = codes(*[30] * 12)


def values(workload, weights, scores=None):
    """Σ_j w_j q_j(x), and the scores of x, for every cell x, by definition."""
    total = np.array([workload.answers(cell) for cell in np.eye(workload.domain.size)]) @ weights
    if scores is not None:
        starts = np.cumsum([0, *workload.domain.shape[:-1]])
        total += scores[starts + cells(workload.domain)].sum(axis=1)
    return total


@parametrize("share", [0.0, 0.3, 1.0])
@parametrize("scored", [False, True])
@parametrize("name", WORKLOADS)
def test_the_integer_program_finds_what_looking_at_all_cells_finds(name, scored, share):
    workload, rng = WORKLOADS[name], seeded(3)
    for _ in range(3):
        weights = rng.normal(size=workload.m) * (rng.random(workload.m) < share)
        scores = rng.normal(size=(2, sum(SMALL.shape))) if scored else None
        for oracle in (Oracle(workload), Oracle(workload, 60, enumerated=0)):
            found = oracle.argmax(weights, rng, scores)
            assert found.codes.shape == ((2 if scored else 1), 4)
            assert found.late == 0
            for i, (code, value) in enumerate(zip(found.codes, found.values, strict=True)):
                expected = values(workload, weights, scores[i] if scored else None)
                assert value == approx(expected.max(), abs=1e-5)
                assert expected[SMALL.index(code[None])[0]] == approx(value, abs=1e-9)


@parametrize("enumerated", [0, 10**6])
def test_ties_are_broken_by_chance_and_never_against_the_weights(enumerated):
    workload, weights = WORKLOADS["1-way"], np.array([0, 2.0, 2.0, 0, 0, 0, 0, 0, 0, 0])
    oracle = Oracle(workload, 60, enumerated=enumerated)
    found = np.array([oracle.argmax(weights, seeded(i)).codes[0] for i in range(60)])
    assert not (found[:, 0] == 0).any()
    assert [len(np.unique(column)) for column in found.T[1:]] == [1, 4, 2]
    if enumerated:
        assert len(np.unique(found[:, 0])) == 2, "among equal weights, an integer program may have its favourite"


def test_a_time_limit_is_honoured_and_told():
    workload, rng = Marginals.all(HUGE, 2), seeded(0)
    weights = rng.normal(size=workload.m) * (rng.random(workload.m) < 0.02)
    scores = rng.standard_exponential((2, sum(HUGE.shape)))
    found = Oracle(workload, 1e-6).argmax(weights, rng, scores)
    assert found.late == 2
    assert ((found.codes >= 0) & (found.codes < 30)).all()
    for code, value, row in zip(found.codes, found.values, scores, strict=True):
        counted = Counter(workload)
        counted.add(code[None])
        assert value == approx(weights @ counted.sums + row.reshape(12, 30)[np.arange(12), code].sum())


def test_where_cells_cannot_be_listed_few_queries_are_answered_exactly():
    """A chain of pairs with one best assignment that no column alone would choose."""
    workload = Marginals(HUGE, [[a, b] for a, b in zip(HUGE.names, HUGE.names[1:], strict=False)])
    weights = np.zeros(workload.m)
    for table in workload.tables:
        weights[table.start + 7 * 30 + 7] = 1.0
        weights[table.start] = 0.5
    found = Oracle(workload, 60).argmax(weights, seeded(0))
    assert (found.codes == 7).all()
    assert found.values == approx(11)


def test_a_query_matrix_is_enumerated_or_refused():
    workload, rng = Union([signs(SMALL, 3), Marginals.all(SMALL, 1)]), seeded(0)
    weights = rng.normal(size=workload.m)
    found = Oracle(workload, enumerated=0).argmax(weights, rng)
    assert found.values[0] == approx(values(workload, weights).max())

    class Large(Explicit):
        def __init__(self):
            self.domain, self.m = HUGE, 1

    with refused("more than the 10,000,000 this algorithm can enumerate"):
        Oracle(Large())


@parametrize("name", [*WORKLOADS, "signs"])
def test_rows_are_counted_as_a_release_of_them_would_answer(name):
    workload = WORKLOADS.get(name) or signs(SMALL, 3)
    rows = cells(SMALL)[seeded(1).integers(24, size=10)]
    counted = Counter(workload)
    counted.add(rows[:4])
    counted.add(rows[4:])
    assert counted.sums / 10 == approx(Records.of(SMALL, rows).answers(workload))
