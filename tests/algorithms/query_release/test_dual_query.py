"""DualQuery and DQRS: the arithmetic of their charges, their limits, and large domains."""

import math

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.algorithms.query_release.dual_query import _ExpectedEvents, _RowPlayer
from dpcore.privacy.accounting import BoundedRange, PureAccountant, ZcdpAccountant
from tests.small_problems import (
    D324,
    all_tables,
    approx,
    integer_domain,
    parametrize,
    plan_of,
    query_problem,
    random_rows,
    run_to_end,
    seeded,
)

BUDGETS = [Budget(1, 1e-9), Budget(9, 1e-3), Budget(1, 0), Budget(8, 0)]
TALL = integer_domain(*[20] * 9)  # 5e11 cells


def tall_rows(n=2000):
    """Records whose columns follow one another."""
    rng = seeded(0)
    return TALL.group_rows((rng.geometric(0.3, size=(n, 1)) + rng.integers(2, size=(n, 9))) % 20)


@parametrize("samples", [1, 7])
@parametrize("rounds", [2, 30])
@parametrize("budget", BUDGETS)
@parametrize("where, group", [("2-way", 1), ("explicit", 1), ("2-way", 5)])
def test_the_charges_of_dualquery_are_those_of_the_docstring(where, group, budget, rounds, samples):
    asked = query_problem(where)[0]
    problem = QueryRelease(asked.workload, asked.n, group)
    plan = plan_of("dualquery", problem, budget, rounds=rounds, samples=samples)
    step = plan["eta"] * problem.workload.width * group / problem.n
    assert [c.times for c in plan.planned_events] == [samples] * (rounds - 1)
    assert [c.spend.epsilon for c in plan.planned_events] == approx(
        [2 * step * (t - 1) for t in range(2, rounds + 1)]
    )
    T = rounds
    rho = samples * step**2 * T * (T - 1) * (2 * T - 1) / 12
    assert ZcdpAccountant(plan.accountant.event_counts).cost == approx(rho, rel=1e-9)
    assert PureAccountant(plan.accountant.event_counts).cost == approx(
        samples * step * T * (T - 1), rel=1e-9
    )
    if budget.delta == 0 or isinstance(plan.accountant, PureAccountant):
        assert PureAccountant(plan.accountant.event_counts).cost == approx(budget.epsilon, rel=1e-8)
    else:
        assert rho == approx(budget.rho, rel=1e-8)


@parametrize("budget", [*BUDGETS, Budget(0.01, 1e-9)])
@parametrize("where", ["2-way", "explicit", "two records"])
def test_dqrs_expects_to_spend_its_budget_and_never_needs_more_than_dualquery(where, budget):
    problem = query_problem(where)[0]
    chosen = {"rounds": 40, "samples": 10}
    plan = plan_of("dqrs", problem, budget, **chosen)
    assert plan["eta"] >= plan_of("dualquery", problem, budget, **chosen)["eta"] * (1 - 1e-5)
    expected = _ExpectedEvents(problem, budget, 40, 10, plan["eta"] * problem.workload.width)
    assert 0.5 < expected.cost <= 1
    assert (expected.fresh_draws <= 10).all()
    assert expected.bit_count == 10 * expected.reuses.sum()
    assert (expected.fresh_draws[~expected.reuses] == 10).all(), "without a bit, every draw is new"


@parametrize("seed", range(3))
def test_dqrs_is_charged_for_bits_and_for_what_they_reject(seed):
    rows = random_rows(D324, 20_000)
    problem = all_tables(D324, 20_000)
    run = Run(
        ALGORITHMS["dqrs"](rounds=150, samples=6), problem, rows, Budget(0.2, 1e-6), seed=seed
    ).finish()
    expected = _ExpectedEvents(problem, run.budget, 150, 6, run.plan["eta"])
    events = list(run.events)
    t = 2
    kept = 0
    while events:
        rejected = 6
        if expected.reuses[t - 2]:
            assert events[:6] == [("keep_draws", expected.bit_spend)] * 6
            del events[:6]
            rejected = 0
        draw = BoundedRange(2 * run.plan["eta"] * (t - 1) / 20_000)
        while (
            events
            and events[0][0] == "draw_queries"
            and events[0][1].epsilon == approx(draw.epsilon)
        ):
            del events[0]
            rejected += expected.reuses[t - 2]
        if not expected.reuses[t - 2]:
            assert rejected == 6
        kept += 6 - min(rejected, 6)
        t += 1
    assert len(run.convergence) >= 100
    assert kept > 100, "some draws were reused"
    assert 0.8 < run.spent.rho / run.budget.rho <= 1


def test_dqrs_stops_when_the_next_charge_does_not_fit(monkeypatch):
    monkeypatch.setattr(
        "dpcore.algorithms.query_release.dual_query.REJECTION_EXPONENT", 0.5
    )  # expects too little, so η is too large
    rows = random_rows(D324, 20_000)
    run = run_to_end(
        "dqrs", all_tables(D324, 20_000), rows, Budget(0.2, 1e-6), rounds=300, samples=6
    )
    assert 20 < len(run.convergence) < 300
    assert 0.95 < run.spent.rho / run.budget.rho <= 1
    assert run.spent.epsilon <= 0.2


def test_a_wrong_sign_or_memory_would_be_seen():
    """Draws pull the rows towards the records: 'more of q' gets a row of q; earlier draws weigh 0.9
    or nothing.
    """
    problem = QueryRelease(Marginals(integer_domain(4, 3), ["a"]), 10)
    for memory, second in ((0.0, 1), (0.9, 2)):
        player = _RowPlayer(problem, memory, 1.0)
        rng = seeded(0)
        for drawn, found in (([2, 2], 2), ([1], second), ([4 + 2, 4 + 2, 1], 1)):
            player.add_response(np.array(drawn), rng)
            assert player.rows[-1][0, 0] == found
        assert player.accumulated_errors(4).answers.tolist() == [0, 3 - second, second, 0]


@parametrize("name", ["dualquery", "dqrs", "fem", "sepfem", "gem", "rap"])
def test_domains_that_cannot_be_listed_are_served_and_learnt(name):
    rows = tall_rows()
    problem = QueryRelease(Marginals(TALL, ["a", "c", "ei"]), rows.n)
    chosen = (
        {"updates": 25}
        if name in ("gem", "rap")
        else {"rounds": 25} | ({"samples": 2} if "fem" in name else {})
    )
    first, *_, last = run_to_end(name, problem, rows, Budget(9, 1e-6), **chosen).convergence
    assert last.empirical.mean_l1 < first.empirical.mean_l1 * 0.85
    assert math.isfinite(last.empirical.max_error)


@parametrize("name", ["dualquery", "fem"])
def test_a_best_response_out_of_time_is_told(name):
    rows = tall_rows(200)
    problem = QueryRelease(Marginals(TALL, ["ab", "cd"]), 200)
    run = run_to_end(name, problem, rows, rounds=4, samples=3, seconds=1e-6)
    assert "time limit reached" in run.convergence[-1].note
    assert run.spent.epsilon <= 1
