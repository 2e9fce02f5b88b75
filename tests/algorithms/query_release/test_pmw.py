"""PMW and the sparse vector: exact output laws on all neighbours, what is charged, what is said to
a stream.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dpcore import Budget, Marginals
from dpcore.algorithms.query_release.pmw import pass_levels
from dpcore.privacy import mechanisms
from dpcore.privacy.accounting import BoundedRange, Pure
from dpcore.privacy.curators.table_curator import SPARSE_VECTOR_STEP
from dpcore.privacy.statistics import AbsoluteErrors, SignedErrors, sparse_vector_laplace_scales
from tests.privacy.enumerated_neighbours import curator_of
from tests.small_problems import (
    BUDGETS,
    approx,
    data_sets,
    expect_budget_error,
    ignore_privacy_warnings,
    integer_domain,
    neighbouring_data_sets,
    parametrize,
    query_problem,
    random_sign_queries,
    rows_in_cells,
    run_to_end,
    seeded,
)

PAIR = integer_domain(2, 2)
N = 2
WORKLOADS = {"1-way": Marginals.all(PAIR, 1), "signs": random_sign_queries(PAIR, 4, seed=2)}


def law(values, threshold, scale):
    """P(the first above is 0, 1, …, none): ∫ f(ν) Π_{l<i} P(value_l + noise < ν) P(value_i + noise
    ≥ ν) dν.

    By Gauss–Legendre between all kinks, far beyond where anything is left.
    """
    reach = 40 * max(threshold, scale)
    kinks = np.unique(
        [-reach, *(s * reach / 2**i for i in range(1, 12) for s in (-1, 1)), 0, *values, reach]
    )
    x, w = np.polynomial.legendre.leggauss(24)
    half = np.diff(kinks)[:, None] / 2
    nu = ((kinks[:-1, None] + half) + half * x).ravel()
    weight = (half * w).ravel()
    density = weight * stats.laplace.pdf(nu, scale=threshold)
    below = np.ones_like(nu)
    out = []
    for value in values:
        out.append(float(density @ (below * stats.laplace.sf(nu - value, scale=scale))))
        below = below * stats.laplace.cdf(nu - value, scale=scale)
    return np.array([*out, float(density @ below)])


@pytest.fixture
def asked(monkeypatch):
    """What the curator asks for: the threshold and its scale, then the values of a batch and
    theirs.
    """
    notes = []
    monkeypatch.setattr(
        "dpcore.privacy.mechanisms.laplace",
        lambda v, scale, rng: notes.append((v, scale)) or v + 0.25,
    )
    monkeypatch.setattr(
        "dpcore.privacy.mechanisms.first_above", lambda noisy, level: notes.append(level)
    )
    return notes


def far_from_0(workload, level):
    """Whether any of four answers is at least so far from 0."""
    return AbsoluteErrors(workload, np.arange(4), np.zeros(4), level)


def laws(asked, name, spend):
    """The law of the answer on every data set, over a batch of all queries and the first two once
    more.
    """
    workload = WORKLOADS[name]
    batch = np.r_[np.arange(workload.m), :2]
    answers = seeded(3).random(len(batch))
    out = {}
    for data in data_sets(4, N):
        curator = curator_of(rows_in_cells(PAIR, data), spend)
        curator.above_threshold(AbsoluteErrors(workload, batch, answers, 0.3), spend)
        (_, threshold), (values, scale), _ = (asked.pop(0) for _ in range(3))
        out[data] = law(values, threshold, scale)
        assert out[data].sum() == approx(1, abs=1e-9)
    return out


@parametrize("spend", [Pure(0.3), Pure(1.0), Pure(3.0)])
@parametrize("name", WORKLOADS)
def test_all_answers_up_to_the_first_above_cost_what_was_paid(asked, name, spend):
    found = laws(asked, name, spend)
    worst = max(
        np.abs(np.log(found[tuple(sorted(x))] / found[tuple(sorted(y))])).max()
        for x, y in neighbouring_data_sets(4, N)
    )
    assert worst <= spend.epsilon * (1 + 1e-9)
    assert worst > 0.4 * spend.epsilon, "and use it"


def test_the_worst_case_needs_all_of_the_noise():
    """Values that fall by Δ before one that rises by Δ: half the noise breaks the promise, all of
    it keeps it.
    """
    many = 60
    Δ = 1.0
    ε = 1.0
    x = np.r_[np.full(many, 1.0), 0.0]
    y = np.r_[np.full(many, 0.0), 1.0]
    threshold, scale = sparse_vector_laplace_scales(Δ, ε)
    for share, kept in ((1.0, True), (0.5, False)):
        p, q = (law(v - 3, share * threshold, share * scale) for v in (x, y))
        assert (np.abs(np.log(p / q)).max() <= ε) == kept


def test_scales_are_those_of_one_record_or_of_a_group(asked):
    workload = WORKLOADS["signs"]
    for group in (1, 2):
        curator = curator_of(rows_in_cells(PAIR, range(4)), Pure(0.5), group=group)
        curator.above_threshold(far_from_0(workload, 0.0), Pure(0.5))
        first = 0.5 / (1 + 2 ** (2 / 3))
        (_, threshold), (_, scale), _ = (asked.pop(0) for _ in range(3))
        assert threshold * SPARSE_VECTOR_STEP == approx(2 * group / first, rel=1e-5)
        assert scale * SPARSE_VECTOR_STEP == approx(2 * 2 * group / (0.5 - first), rel=1e-5)


def test_a_threshold_is_paid_once_and_kept_until_a_query_is_above_it(asked, monkeypatch):
    """And of two that were planned there is no third."""
    spend = Pure(500.0)
    curator = curator_of(rows_in_cells(PAIR, [0, 3]), spend, times=2)
    errors = far_from_0(WORKLOADS["1-way"], 0.9)
    for _ in range(3):
        assert curator.above_threshold(errors, spend) is None
    assert curator.budget_meter.events == [("above_threshold", spend)]
    assert asked[0][1] * SPARSE_VECTOR_STEP == approx((1 + 2 ** (2 / 3)) / 500, rel=1e-5)
    assert asked[2::2] == [0.25] * 3
    monkeypatch.setattr("dpcore.privacy.mechanisms.first_above", lambda noisy, level: 2)
    for paid in (1, 2):
        assert curator.above_threshold(errors, spend) == 2
        assert len(curator.budget_meter.events) == paid
    with expect_budget_error("above_threshold needs"):
        curator.above_threshold(errors, spend)


def test_a_threshold_in_use_serves_nothing_else():
    spend = Pure(1.0)
    workload = WORKLOADS["1-way"]
    curator = curator_of(rows_in_cells(PAIR, [0, 3]), spend, BoundedRange(1.0), times=3)
    errors = far_from_0(workload, 32.0)
    assert curator.above_threshold(errors, spend) is None
    with expect_budget_error("a threshold is in use: nothing else may be asked"):
        curator.select(SignedErrors(workload, np.zeros(4)), BoundedRange(1.0))
    with expect_budget_error("the threshold in use was planned for Pure"):
        curator.above_threshold(errors, Pure(0.5))
    wide = far_from_0(WORKLOADS["signs"], 32.0)
    with expect_budget_error("at sensitivity 1"):
        curator.above_threshold(wide, spend)
    assert curator.budget_meter.events == [("above_threshold", spend)]


VALUES = np.array([0.2, -0.4, 0.9, 0.3])


@parametrize("claimed, kept", [(1.0, True), (0.8, False), (1.25, False)])
def test_draws_follow_the_law(claimed, kept):
    rng = seeded(1)
    draws = 30_000
    thresholds = rng.laplace(0, 0.5, draws)
    found = [mechanisms.first_above(mechanisms.laplace(VALUES, 0.5, rng), nu) for nu in thresholds]
    counts = np.bincount([4 if i is None else i for i in found], minlength=5)
    p = stats.chisquare(counts, draws * law(VALUES, claimed * 0.5, claimed * 0.5)).pvalue
    assert (p > 1e-3) if kept else (p < 1e-6)


@ignore_privacy_warnings
@parametrize("updates", [1, 40])
@parametrize("budget", BUDGETS)
def test_a_run_is_charged_for_every_update_and_for_a_threshold_in_use(budget, updates):
    run = run_to_end("pmw", *query_problem("2-way"), budget, updates=updates)
    compare, measure = (charge.spend for charge in run.plan.planned_events)
    made = sum("update on" in record.note for record in run.convergence)
    in_use = "update on" not in run.convergence[-1].note  # a threshold that no query came above
    events = [what for what, _ in run.events]
    assert events == ["above_threshold", "measure"] * made + ["above_threshold"] * in_use
    assert run.spent.rho == approx(made * measure.rho + (made + in_use) * compare.rho)
    assert run.plan.accountant.epsilon(budget.delta) == approx(budget.epsilon, rel=1e-4)
    assert run.spent.epsilon <= budget.epsilon
    assert made == updates or sum("end of pass" in record.note for record in run.convergence) == 10
    assert len(run.convergence) == made + sum(
        "none above" in record.note for record in run.convergence
    )


@ignore_privacy_warnings
@parametrize("order", ["workload", "random"])
@parametrize("epsilon", [1, 1000])
def test_every_query_arrives_once_a_pass(order, epsilon):
    problem, rows = query_problem("3-way of 4")
    run = run_to_end("pmw", problem, rows, Budget(epsilon, 1e-6), passes=1, order=order, updates=9)
    notes = [record.note for record in run.convergence]
    updates = sum("update on" in note for note in notes)
    unchecked = [
        int(note.split("the last one, ")[1].split(" ")[0]) for note in notes if "unchecked" in note
    ]
    assert (
        sum(int(note.split(" ")[0]) for note in notes) + updates + sum(unchecked)
        == problem.workload.m
    )
    assert 0 < updates <= 9


def test_levels_fall_geometrically_to_the_last():
    assert pass_levels(0.03, 3) == approx([0.3, math.sqrt(0.3 * 0.03), 0.03])
    assert pass_levels(0.7, 4) == approx([0.7] * 4)
