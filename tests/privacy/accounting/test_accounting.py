"""Budget, spends, plans and the ledger: refusals, what fits exactly and what no longer does, and
mixed accounting.
"""

import doctest
import math
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpcore import ALGORITHMS, Budget, BudgetError, InputError
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.parameters import build_from_texts
from dpcore.privacy.accounting import (
    ACCOUNTANTS,
    Approximate,
    BoundedRange,
    Gaussian,
    GdpAccountant,
    OptimalAccountant,
    Pure,
    PureAccountant,
    ZcdpAccountant,
    accountants,
    budget_warnings,
    conversions,
    equal_selection_spend,
    gaussian_spend,
    tightest_accountant,
)
from dpcore.privacy.accounting import events as privacy_events
from dpcore.privacy.accounting.budget_meter import BudgetMeter
from dpcore.privacy.accounting.calibrations import LOG_DELTA_TOLERANCE
from tests.privacy.enumerated_neighbours import plan_of
from tests.small_problems import (
    BUDGET,
    HUGE,
    approx,
    expect_budget_error,
    expect_error,
    few_rounds,
    parametrize,
    query_problem,
    variants,
)

BUDGETS = [
    Budget(e, d)
    for e, d in ((1e-4, 0.5), (0.1, 1e-100), (1, 1e-9), (8, 1e-3), (200, 1e-9), (200, 0.5))
]
PURE = [Budget(e, 0) for e in (1e-4, 1, 200)]


NEARLY = 1 - 1e-5  # of ε; at tiny ε and large δ the margin of μ shows


@parametrize(
    "epsilon, delta",
    [(e, 0.1) for e in (0, -1, math.inf, 9.9e-7, 1.1e9, 5e-324)]
    + [(1, d) for d in (-1e-9, 5e-324, 9e-101, 0.51, math.inf)],
)
def test_a_budget_that_promises_nothing_is_refused(epsilon, delta):
    with expect_error(
        r"=\S+ is not served; served are epsilon from 1e-06 to 1e\+09.*delta 0 or from 1e-100"
    ):
        Budget(epsilon, delta)


@parametrize("value", [math.nan, True, "1", None, HUGE])
def test_what_is_no_number_is_no_budget(value):
    for budget in ((value, 0.1), (1, value)):
        with expect_error(f"={str(value)[:9]}"):
            Budget(*budget)


def test_cautions_name_the_two_usual_mistakes():
    assert budget_warnings(Budget(10, 0.0099), 100) == []
    assert [c.split(":")[0] for c in budget_warnings(Budget(1, 0.01), 100)] == [
        "delta=0.01 is at least 1/n = 0.01"
    ]
    assert [c.split(":")[0] for c in budget_warnings(Budget(1000, 0), 100)] == [
        "epsilon=1000 is above 10"
    ]
    assert len(budget_warnings(Budget(1e9, 0.5), 2)) == 2


BAD_SPENDS = [
    (kind, value)
    for kind in (Gaussian, BoundedRange, Pure, Approximate)
    for value in (-0.5, 0, math.nan, math.inf)
]


@parametrize("kind, value", BAD_SPENDS)
def test_a_spend_that_would_give_budget_back_or_pays_for_infinite_noise_cannot_be_made(kind, value):
    with expect_error("must be finite and above 0"):
        kind(value)
    with expect_error("failure=-0.5"):
        kind(1e-9, failure=-0.5)


def uses_all(ledger):
    """Whether hardly more could be promised: at tiny ε and large δ ε says little, and δ at ε is
    compared.
    """
    spent = ledger.spent
    budget = ledger.plan.budget
    if spent.accounting is OptimalAccountant:
        joint = ledger.accountant.composition
        left = joint.log_delta(budget.epsilon, budget.delta) - math.log(budget.delta)
        nearly = left >= -2 * LOG_DELTA_TOLERANCE or spent.epsilon >= budget.epsilon * NEARLY
        return nearly and left <= 0 and spent.epsilon <= budget.epsilon
    return budget.epsilon * NEARLY <= spent.epsilon <= budget.epsilon


def charge_all(plan):
    ledger = BudgetMeter(plan)
    for charge in plan.planned_events:
        for _ in range(charge.times):
            ledger.charge(charge.verb, charge.spend)
    return ledger


@parametrize("times", [1, 2, 3, 7, 100, 3000])
@parametrize("budget", [Budget(1, 1e-9), Budget(0.01, 1e-3), Budget(40, 1e-6), Budget(1, 0)])
def test_equal_selections_fit_exactly_and_one_more_does_not(budget, times):
    spend = equal_selection_spend(budget, times)
    ledger = charge_all(plan_of(budget, (spend, times)))
    assert uses_all(ledger)
    assert not ledger.can_charge(spend)
    symbol = {
        PureAccountant: "ε",
        ZcdpAccountant: "ρ",
        OptimalAccountant: "selections",
    }[ledger.spent.accounting]
    with expect_budget_error(rf"^select needs {symbol}=[\d.e-]+, [\d.e-]+ is left$"):
        ledger.charge("select", spend)
    assert len(ledger.events) == times


@parametrize("shares", [[1.0], [0.5, 0.5], [0.1, 0.2, 0.7], [1 / 300] * 300])
@parametrize("budget", BUDGETS)
def test_gaussian_shares_use_the_whole_budget(budget, shares):
    spends = [gaussian_spend(budget, share) for share in shares]
    assert [s.mu**2 for s in spends] == approx(np.array(shares) * sum(s.mu**2 for s in spends))
    ledger = charge_all(plan_of(budget, *((s,) for s in spends)))
    assert budget.epsilon * NEARLY <= ledger.spent.epsilon <= budget.epsilon
    assert ledger.spent.to_json()["mu"] == approx(
        conversions.gdp_mu(budget.epsilon, budget.delta), rel=1e-9
    )
    with expect_budget_error(r"^measure needs μ²=[\d.e-]+, [\d.e-]+ is left$"):
        ledger.charge("measure", spends[0])


@parametrize("name, settings", variants())
def test_no_algorithm_plans_or_spends_more_than_requested(name, settings):
    """Defaults at all budgets, other choices at every fourth."""
    for budget in [*BUDGETS, *PURE][:: 1 if settings == few_rounds(name) else 4]:
        try:
            plan = make_plan(
                build_from_texts(ALGORITHMS[name], settings), query_problem("2-way")[0], budget
            )
        except InputError:
            assert budget.delta == 0
            assert name != "dpfw", "pure DP is served by dpfw"
            continue
        ledger = charge_all(plan)
        spent = ledger.spent
        if (
            ALGORITHMS[name].adaptive and spent.accounting is not OptimalAccountant
        ):  # expected, in whole charges
            assert 0.7 * budget.epsilon <= spent.epsilon <= budget.epsilon
        else:
            assert uses_all(ledger)
        assert spent.delta <= budget.delta
        assert plan.accountant.epsilon(budget.delta) <= budget.epsilon


def test_the_ledger_refuses_a_kind_the_plan_does_not_declare():
    ledger = BudgetMeter(plan_of(BUDGET, (BoundedRange(0.1), 5)))
    for spend in (Gaussian(1e-6), Pure(1e-6), Approximate(1e-6, 1e-9)):
        with expect_budget_error(
            f"paid with {type(spend).__name__}, which the plan does not declare"
        ):
            ledger.charge("measure", spend)
    assert (ledger.events, ledger.accountant.event_counts, ledger.spent.epsilon) == ([], (), 0)


def test_what_is_left_and_what_was_spent_are_told():
    ledger = BudgetMeter(plan_of(Budget(1, 0), (BoundedRange(0.4), 2)))
    ledger.charge("select", BoundedRange(0.4))
    with expect_budget_error(re.escape("select needs ε=0.7, 0.6 is left")):
        ledger.charge("select", BoundedRange(0.7))
    assert ledger.spent.to_json() == {
        "epsilon": 0.4,
        "delta": 0,
        "accounting": "sum of ε",
        "rho": 0.4**2 / 8,
    }


@parametrize("times", [3, 6, 7, 10, 49, 1000])
@parametrize("delta", [1e-9, 0.1, 0.3])
def test_a_plan_that_was_accepted_can_be_charged_to_the_end(times, delta):
    """Adding up one by one must not refuse, by rounding, what the plan multiplied."""
    failing = plan_of(Budget(1, delta), (Approximate(1e-6, 0.9 * delta / times), times))
    assert charge_all(failing).spent.delta <= delta
    assert charge_all(plan_of(Budget(1, 0), (Pure(1 / times), times))).spent.epsilon <= 1
    whole = conversions.gdp_mu(1, delta)
    for shrink in (0, 1e-14, 1e-13, 1e-12, 1e-11):
        try:
            plan = plan_of(
                Budget(1, delta), (Gaussian(whole * (1 - shrink) / math.sqrt(times)), times)
            )
        except BudgetError:
            continue
        assert charge_all(plan).spent.epsilon <= 1


def test_the_message_says_when_it_is_the_failure_probability_that_does_not_fit():
    ledger = BudgetMeter(plan_of(BUDGET, (Approximate(1e-3, 4e-7), 2)))
    with expect_budget_error(r"^x needs (failure )?δ=9e-07, (8|8.0*)e-07 is left$"):
        ledger.charge("x", Approximate(1e-3, 9e-7))


def test_a_plan_that_exceeds_its_budget_cannot_be_made():
    for delta, spend, words in (
        (0, BoundedRange(1.1), "ε=1.1 at δ=0"),
        (0, Gaussian(1e-9), "ε=inf at δ=0"),
        (1e-9, Gaussian(0.2), "ε=.* at δ=1e-9"),
        (1e-9, Approximate(0.1, 2e-9), "ε=inf at δ=1e-9"),
    ):
        with expect_budget_error(f"the plan needs {words}, ε=1 is given"):
            plan_of(Budget(1, delta), (spend,))
    with expect_error("delta=0 cannot be promised with Gaussian noise"):
        gaussian_spend(Budget(1, 0))


def test_failure_probabilities_come_off_delta():
    spent = charge_all(
        plan_of(Budget(2, 1e-6), (Approximate(0.05, 1e-8), 50), (Gaussian(0.05),))
    ).spent
    rho = 50 * 0.05**2 / 2 + 0.05**2 / 2
    assert spent.rho == approx(rho)
    assert spent.epsilon == approx(conversions.zcdp_epsilon(rho, 1e-6 - 50e-8), rel=1e-9)
    assert (spent.delta, spent.mu, spent.accounting) == (1e-6, None, ZcdpAccountant)
    pure = charge_all(plan_of(Budget(2, 8e-7), (Approximate(0.9, 4e-7), 2))).spent
    assert (pure.epsilon, pure.delta, pure.accounting) == (1.8, approx(8e-7), PureAccountant)


@parametrize("module", [accountants, privacy_events])
def test_the_examples_of_a_module_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 2
    assert result.failed == 0


@parametrize("accountant_type", ACCOUNTANTS)
def test_composing_one_by_one_is_composing_at_once_and_changes_nothing_else(accountant_type):
    nothing = accountant_type()
    events = [(Gaussian(0.1), 2), (Pure(0.2), 1), (Gaussian(0.1), 3)]
    composed = nothing
    for event, times in events:
        composed = composed.compose(event, times)
    assert nothing == accountant_type()
    assert nothing.epsilon(1e-6) == 0
    assert composed == accountant_type.of_events(events)
    assert composed.event_counts == ((Gaussian(0.1), 5), (Pure(0.2), 1))
    within = composed.as_filter(Budget(1, 1e-6))
    assert within.event_counts == ()


def test_the_cheapest_valid_accounting_is_chosen():
    for spend, times, cheapest in (
        (Gaussian(0.5), 4, GdpAccountant),
        (BoundedRange(0.01), 2, PureAccountant),
        (BoundedRange(0.01), 10_000, ZcdpAccountant),
    ):
        accountant = tightest_accountant([(spend, times)], Budget(9, 1e-6))
        assert isinstance(accountant, cheapest)
    assert ZcdpAccountant.of_events([(BoundedRange(0.01), 2)]).epsilon(0) == math.inf


KINDS = {Gaussian: (1e-3, 0.2), BoundedRange: (1e-3, 0.5), Pure: (1e-3, 0.2)}


@given(data=st.data())
def test_spends_chosen_as_one_goes_along_never_exceed_the_budget(data):
    budget = data.draw(st.sampled_from([BUDGET, Budget(0.5, 1e-9), Budget(1, 0)]))
    kinds = data.draw(
        st.sets(st.sampled_from([BoundedRange, Pure] + [Gaussian] * (budget.delta > 0)), min_size=1)
    )
    ledger = BudgetMeter(plan_of(budget, *((kind(0.01),) for kind in sorted(kinds, key=str))))
    for _ in range(data.draw(st.integers(1, 60))):
        kind = data.draw(st.sampled_from(sorted(kinds, key=str)))
        spend = kind(data.draw(st.floats(*KINDS[kind])))
        before = list(ledger.events), ledger.accountant
        if ledger.can_charge(spend):
            ledger.charge("x", spend)
            assert ledger.events == [*before[0], ("x", spend)]
        else:
            with expect_budget_error("is left"):
                ledger.charge("x", spend)
            assert (ledger.events, ledger.accountant) == before
        assert ledger.spent.epsilon <= budget.epsilon
        assert ledger.spent.delta <= budget.delta
