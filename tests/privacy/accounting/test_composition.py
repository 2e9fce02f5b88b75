"""Optimal composition: against brute opponents and closed forms; ledgers and plans that use it."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcore import ALGORITHMS, Budget
from dpcore.algorithms.algorithm import make_plan
from dpcore.privacy.accounting import (
    BoundedRange,
    Gaussian,
    GdpAccountant,
    LifetimeBudget,
    OptimalAccountant,
    Pure,
    PureAccountant,
    ZcdpAccountant,
    calibrations,
    composition,
    conversions,
    worst_case_events,
)
from dpcore.privacy.accounting.budget_meter import BudgetMeter, events_of_plan
from dpcore.privacy.accounting.composition import OptimalComposition, gdp_log_deltas
from tests.accuracy.test_accountant_comparison import delta_of, gaussian_delta, responses
from tests.privacy.enumerated_neighbours import plan_of
from tests.small_problems import BUDGET, approx, expect_budget_error, parametrize, query_problem


def rate(joint, epsilon):
    return math.exp(joint.log_delta(epsilon, 1e-9))


def brute(x, span, draws, pure, pures, mu, steps):
    """What an opponent gets at x = ε who chooses t from a grid, all draws first: no more than the
    optimum.
    """
    if draws:
        found = 0.0
        for t in np.linspace(0, span, steps):
            p = np.expm1(t - span) / np.expm1(-span)
            ends = [
                brute(x - loss, span, draws - 1, pure, pures, mu, steps) for loss in (t, t - span)
            ]
            found = max(found, p * ends[0] + (1 - p) * ends[1])
        return found
    if pures:
        p = 1 / (1 + math.exp(-pure))
        ends = [brute(x - loss, span, 0, pure, pures - 1, mu, steps) for loss in (pure, -pure)]
        return p * ends[0] + (1 - p) * ends[1]
    return gaussian_delta(x, mu)


@parametrize("mu, pure, pures", [(0.0, 0.0, 0), (0.7, 0.4, 2)])
@parametrize("span, draws", [(0.05, 2), (0.8, 3), (4.0, 2)])
def test_no_opponent_does_better_and_one_nearly_as_well(span, draws, pure, pures, mu):
    joint = OptimalComposition(mu**2, pure, pures, span, draws)
    steps = 21 if draws == 2 else 7
    for x in (0.0, 0.3 * span, 0.9 * span, 1.7 * span):
        found = rate(joint, x)
        least = brute(x, span, draws, pure, pures, mu, steps)
        assert least <= found
        assert found <= 1.1 * brute(x - 0.05 * span, span, draws, pure, pures, mu, steps) + 1e-9, (
            "or ε 0.05 s lower"
        )


def test_gaussians_alone_and_equal_pure_releases_cost_what_they_did():
    assert OptimalComposition(mu_squared=0.25).epsilon(1e-6) == conversions.gdp_epsilon(0.5, 1e-6)
    assert OptimalComposition(pure_epsilon=0.2, pure_count=9).epsilon(
        1e-6
    ) == conversions.pure_composition_epsilon(0.2, 9, 1e-6)
    at = np.array([-3.0, -0.1, 0.0, 0.2, 5.0])
    np.testing.assert_allclose(
        np.exp(gdp_log_deltas(at, 0.7)), [gaussian_delta(x, 0.7) for x in at], rtol=1e-9
    )


@given(
    st.floats(0.05, 2), st.integers(1, 12), st.floats(0.01, 1), st.integers(0, 6), st.floats(0, 1)
)
def test_more_of_anything_costs_more_and_any_number_is_read_off_the_planned_composition(
    span, draws, pure, pures, mu
):
    cost = OptimalComposition(mu**2, pure, pures, span, draws).epsilon(1e-6)
    assert cost <= draws * span + pures * pure + conversions.gdp_epsilon(mu, 1e-6) + 1e-6
    fewer = OptimalComposition(mu**2, pure, pures, span, draws - 1)
    assert fewer.epsilon(1e-6, planned_draws=draws) <= cost
    assert fewer.epsilon(1e-6, planned_draws=draws) == approx(
        fewer.epsilon(1e-6), rel=0.02, abs=1e-3
    )
    assert cost <= OptimalComposition(mu**2 + 0.01, pure, pures + 1, span, draws).epsilon(1e-6)
    assert cost <= OptimalComposition(mu**2, pure, pures, span * 1.05, draws).epsilon(1e-6) * (
        1 + 1e-3
    )


def test_what_would_take_too_long_or_is_of_another_kind_is_not_priced_so():
    assert OptimalComposition(draw_range=1e-3, draw_count=100_000).epsilon(1e-6) == math.inf
    plain = calibrations.equal_selection_spend(Budget(1, 1e-6, additive=True), 100_000)
    assert calibrations.equal_selection_spend(BUDGET, 100_000) == plain


PLANS = {
    "pmw": lambda b: calibrations.select_and_measure_spends(b, 20, 0.15, kind=Pure),
    "mwem": lambda b: calibrations.select_and_measure_spends(b, 20, 0.5),
    "select": lambda b: (calibrations.equal_selection_spend(b, 20),),
}
LEAST = {"pmw": 1.08, "mwem": 1.045, "select": 1.06}  # of the signal over zCDP's


@parametrize("budget", [Budget(0.1, 1e-6), Budget(1, 1e-9), Budget(3, 1e-6), Budget(10, 1e-9)])
@parametrize("name", PLANS)
def test_larger_spends_keep_the_promise_and_their_proportions(name, budget):
    before = PLANS[name](Budget(budget.epsilon, budget.delta, additive=True))
    after = PLANS[name](budget)
    factors = [
        getattr(b, "mu", getattr(b, "epsilon", 0)) / getattr(a, "mu", getattr(a, "epsilon", 0))
        for a, b in zip(before, after, strict=True)
    ]
    assert factors == approx([factors[0]] * len(factors))
    assert factors[0] > LEAST[name]
    plan = plan_of(budget, *((spend, 20) for spend in after))
    assert isinstance(plan.accountant, OptimalAccountant)
    # Recomputed apart: pure spends, and draws of an opponent who takes t = s/2 each time, are
    # randomised responses.
    (half,) = (
        s.epsilon / (2 if isinstance(s, BoundedRange) else 1)
        for s in after
        if not isinstance(s, Gaussian)
    )
    mu = math.sqrt(sum(20 * s.mu**2 for s in after if isinstance(s, Gaussian)))
    told = delta_of(*responses(half, 20), budget.epsilon, mu)
    assert (0.999 * budget.delta if name == "pmw" else 0) <= told <= budget.delta
    with expect_budget_error("the plan needs"):
        plan_of(budget, *((spend.enlarge(1.001), 20) for spend in after))


def optimal_ledger():
    spends = ((BoundedRange(0.15), 10), (Pure(0.1), 4), (Gaussian(0.1), 5))
    plan = plan_of(Budget(OptimalAccountant.of_events(spends).epsilon(1e-6), 1e-6), *spends)
    assert isinstance(plan.accountant, OptimalAccountant)
    return BudgetMeter(plan)


def test_a_ledger_takes_so_many_of_each_kind_no_larger_than_planned():
    ledger = optimal_ledger()
    for asked, words in [
        ((BoundedRange(0.1501), 1), "selections=inf, 10"),
        ((BoundedRange(1e-6), 11), "selections=11, 10"),
        ((Pure(0.11), 1), "releases=inf, 4"),
        ((Pure(0.1), 5), "releases=5, 4"),
        ((Gaussian(0.23), 1), r"μ²=0.0529, 0.05"),
    ]:
        assert not ledger.can_charge(*asked)
        with expect_budget_error(f"x needs {words} is left"):
            ledger.charge("x", *asked)
    assert ledger.spent.epsilon == 0
    ledger.charge("x", Gaussian(math.sqrt(0.05) * (1 - 1e-12)))
    ledger.charge("x", BoundedRange(0.01), 10)
    assert not ledger.can_charge(BoundedRange(1e-9))
    assert not ledger.can_charge(Gaussian(1e-3))
    ledger.charge("x", Pure(0.1), 4)
    assert 0 < ledger.spent.epsilon < ledger.plan.budget.epsilon


@parametrize("name", ["pmw", "mwem"])
def test_a_data_set_is_charged_with_what_adds_up_over_every_path(name):
    plan = make_plan(ALGORITHMS[name](), query_problem("2-way")[0], BUDGET)
    assert isinstance(plan.accountant, OptimalAccountant)
    for adaptive in (False, True):
        events = worst_case_events(plan, adaptive)
        assert events == events_of_plan(plan)
        for accounting in (GdpAccountant, ZcdpAccountant):
            assert (
                LifetimeBudget(Budget(9, 1e-6), accounting, 0.0).total_epsilon(events)
                >= plan.budget.epsilon
            )


@parametrize("name", ["pmw", "mwem", "pep", "rap", "gem", "dpfw", "fem"])
def test_a_plan_that_must_add_up_does(name):
    problem, _ = query_problem("2-way")
    plan = make_plan(ALGORITHMS[name](), problem, Budget(1, 1e-6, additive=True))
    assert isinstance(plan.accountant, ZcdpAccountant | PureAccountant)
    assert plan.accountant.epsilon(1e-6) == approx(1, rel=1e-5)


def test_an_algorithm_that_enlarges_its_spends_is_added_up():
    plan = make_plan(ALGORITHMS["aim"](), query_problem("2-way")[0], BUDGET)
    assert isinstance(plan.accountant, ZcdpAccountant)


def test_a_short_grid_loses_on_the_safe_side(monkeypatch):
    span = 0.2
    draws = 30
    monkeypatch.setattr(composition, "TAIL_DELTA_SHARE", 1e6)
    composition._draw_delta_curves.cache_clear()
    composition._loss_distribution.cache_clear()
    try:
        for x in np.linspace(0, 3, 31):
            half = conversions.pure_composition_log_delta(x, span / 2, draws)
            assert OptimalComposition(draw_range=span, draw_count=draws).log_delta(x, 1e-9) >= half
        assert rate(OptimalComposition(0.04, 0.1, 8, span, draws), 2.0) >= brute(
            2.0, 0, 0, 0.1, 8, 0.2, 1
        )
    finally:
        composition._draw_delta_curves.cache_clear()
        composition._loss_distribution.cache_clear()
