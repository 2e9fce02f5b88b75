"""Every accountant against mechanisms whose whole curve can be computed: never below the truth, and
near it.
"""

import math

import numpy as np
from scipy.stats import binom

from dpcore import Budget
from dpcore.accuracy import accountant_comparison
from dpcore.accuracy.accountant_comparison import (
    GDP,
    OPTIMAL,
    PLD,
    PURE,
    RENYI,
    ZCDP,
    epsilon_curves,
    epsilon_delta_pairs,
    printed_epsilon_curves,
)
from dpcore.accuracy.printed_formulas import GAUSSIAN_FORMULAS
from dpcore.privacy.accounting import (
    Approximate,
    BoundedRange,
    Concentrated,
    Gaussian,
    GdpAccountant,
    LifetimeBudget,
    PlannedEvent,
    Pure,
    PureAccountant,
    SubsampledGaussian,
    ZcdpAccountant,
    conversions,
)
from dpcore.privacy.accounting.events import Filtered
from tests.small_problems import approx, hockey_stick, parametrize

DELTAS = np.array([1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.3])


def plan(*spends):
    return tuple(PlannedEvent("x", spend, times) for spend, times in spends)


def costs(*spends):
    """What a plan of these spends costs at the DELTAS, by accountant."""
    return epsilon_curves(plan(*spends), DELTAS)


def responses(epsilon, times):
    """Losses and their chances under P_1, of `times` randomised responses."""
    yes = np.arange(times + 1)
    return (2 * yes - times) * epsilon, binom.pmf(yes, times, 1 / (1 + math.exp(-epsilon)))


def delta_of(losses, chances, at, mu=0.0):
    """δ(at) of a law of losses, beside a Gaussian release of μ."""
    return float((chances * [gaussian_delta(at - loss, mu) for loss in losses]).sum())


def gaussian_delta(at, mu):
    """δ(at) at any sign, δ(−a) = 1 − e^−a(1 − δ(a))."""
    one = math.exp(conversions.gdp_log_delta(abs(at), mu)) if mu else 0.0
    return one if at >= 0 else 1 - math.exp(at) * (1 - one)


def never_below(found, law, mu=0.0):
    """No accountant says less than a law of losses costs, beside a Gaussian release of μ."""
    for name, epsilons in found.items():
        for e, d in zip(epsilons, DELTAS, strict=True):
            assert delta_of(*law, e, mu) <= d * (1 + 1e-6) + 1e-15, name


@parametrize("mu, times", [(0.18, 1), (0.02, 100), (1.0, 4)])
def test_gaussian_plans_cost_the_same_by_gdp_and_losses_and_more_by_the_others(mu, times):
    found = costs((Gaussian(mu), times))
    assert PURE not in found
    whole = mu * math.sqrt(times)
    assert accountant_comparison.gaussian_mu(plan((Gaussian(mu), times))) == approx(whole)
    assert found[GDP] == approx([conversions.gdp_epsilon(whole, d) for d in DELTAS], rel=1e-12)
    assert found[PLD] == approx(found[GDP], rel=2e-3, abs=1e-4)
    assert (found[PLD] >= found[GDP] * (1 - 1e-4) - 1e-9).all()
    assert (found[ZCDP] >= found[GDP]).all()
    assert found[RENYI][:4] == approx(found[ZCDP][:4], rel=1e-3)


@parametrize("mu", [0.0, 0.5])
@parametrize("epsilon, times", [(0.05, 60), (0.3, 10), (1.0, 3)])
def test_pure_releases_beside_a_gaussian_one_never_cost_less_than_the_truth(epsilon, times, mu):
    found = costs(*[(Pure(epsilon), times), *([(Gaussian(mu), 1)] if mu else [])])
    law = responses(epsilon, times)
    never_below(found, law, mu)
    assert (PURE in found) == (mu == 0)
    for e, d in zip(found[PLD], DELTAS, strict=True):
        if 0.01 < e < times * epsilon * 0.98 + 10 * mu:
            assert delta_of(*law, e * 0.97 - 0.003, mu) > d, "and the loss distribution hardly more"


def binary(epsilon, top):
    """The pair whose log ratios are `top` and `top` − ε₀."""
    q = np.expm1(top - epsilon) / (math.exp(top) * math.expm1(-epsilon))
    P_0 = np.array([q, 1 - q])
    return P_0 * np.exp([top, top - epsilon]), P_0


@parametrize("epsilon", [0.01, 0.4, 3.0])
def test_the_profile_of_a_draw_is_the_largest_over_all_its_pairs(epsilon):
    at = np.linspace(-1.3 * epsilon, 1.3 * epsilon, 41)
    tops = np.linspace(0, epsilon, 4001)[1:-1]
    brute = np.max([[hockey_stick(*binary(epsilon, t), a) for a in at] for t in tops[::20]], axis=0)
    ours = accountant_comparison.privacy_profile(BoundedRange(epsilon), at)
    assert (ours >= brute - 1e-12).all()
    assert ours == approx(brute, rel=1e-7, abs=2e-4 * epsilon)


@parametrize("epsilon", [1e-4, 0.01, 0.4, 3.0])
def test_renyi_divergences_are_the_largest_over_all_pairs(epsilon):
    orders = np.array([1.01, 1.05, 1.5, 2, 5, 20, 300, 1000])
    brute = []
    for top in np.linspace(0, epsilon, 3001)[1:-1]:
        P_1, P_0 = binary(epsilon, top)
        terms = np.log(P_0)[:, None] + np.array([top, top - epsilon])[:, None] * orders
        brute.append(np.logaddexp(*terms) / (orders - 1))
    assert accountant_comparison.renyi_divergence_bounds(BoundedRange(epsilon), orders) == approx(
        np.max(brute, axis=0), rel=1e-4
    )
    p = 1 / (1 + math.exp(-epsilon))
    terms = [orders * math.log(a) + (1 - orders) * math.log(b) for a, b in ((p, 1 - p), (1 - p, p))]
    pure = accountant_comparison.renyi_divergence_bounds(Pure(epsilon), orders)
    assert pure == approx(np.logaddexp(*terms) / (orders - 1), rel=1e-4, abs=1e-15)


@parametrize("epsilon, times", [(0.05, 80), (0.5, 10)])
def test_draws_never_cost_less_than_any_repeated_pair(epsilon, times):
    found = costs((BoundedRange(epsilon), times))
    first = np.arange(times + 1)
    for top in np.linspace(0, epsilon, 41)[1:-1]:
        P_1, _ = binary(epsilon, top)
        law = first * top + (times - first) * (top - epsilon), binom.pmf(first, times, P_1[0])
        never_below(found, law)
    assert found[RENYI][1] < found[PLD][1], (
        "one pair that is worst everywhere composes worse: said on the page"
    )
    assert (found[RENYI] <= found[ZCDP] * (1 + 1e-3)).all()
    assert (found[OPTIMAL] <= 1.005 * found[RENYI]).all()
    assert (found[OPTIMAL][2:5] < 0.99 * found[RENYI][2:5]).all(), (
        "an opponent who chooses every pair gets less"
    )


def test_sums_over_samples_are_priced_by_loss_distributions_alone():
    sampled = SubsampledGaussian(2.0, 0.1)
    found = epsilon_curves(plan((sampled, 3)), np.array([1e-9, 1e-3]))
    expected = [conversions.subsampled_epsilon(2.0, 0.1, 3, d) for d in (1e-9, 1e-3)]
    assert list(found) == [PLD]
    assert found[PLD] == approx(expected, rel=1e-7)
    assert np.isinf(costs((sampled, 3), (Pure(0.1), 1))[PLD]).all()
    assert printed_epsilon_curves(plan((sampled, 3)), DELTAS) == {}


def test_failure_probabilities_come_off_delta():
    found = costs((Approximate(0.1, 1e-6), 5))
    without = epsilon_curves(plan((Pure(0.1), 5)), DELTAS - 5e-6)
    for name in (ZCDP, RENYI, PLD, OPTIMAL, PURE):
        assert np.isinf(found[name][:3]).all(), name
        assert found[name][3:] == approx(without[name][3:], rel=1e-9)
    assert accountant_comparison.gaussian_mu(plan((Gaussian(0.1, 1e-6), 1))) is None
    assert printed_epsilon_curves(plan((Gaussian(0.1, 1e-6), 1)), DELTAS) == {}


def test_pairs_hold_together_and_say_what_is_true_without_delta():
    epsilons, deltas = epsilon_delta_pairs(epsilon_curves(plan((Pure(0.2), 5)), DELTAS), DELTAS)
    assert (epsilons[-1], deltas[-1]) == (1.0, 0.0)
    law = responses(0.2, 5)
    for e, d in zip(epsilons, deltas, strict=True):
        assert delta_of(*law, e) <= d + 1e-15
    assert 0.0 not in epsilon_delta_pairs(costs((Gaussian(0.2), 1)), DELTAS)[1]


@parametrize("epsilon", [0.05, 0.5, 2.0])
@parametrize("delta", [1e-9, 1e-4])
def test_printed_forms_are_the_papers_noise_solved_for_epsilon(epsilon, delta):
    n = 1000
    T = 30
    log = math.log
    sigmas = {
        "classical": math.sqrt(4 * T * log(1.25 / delta)) / (n * epsilon),
        "linear queries": 4 * math.sqrt(T * log(1 / delta)) / (n * epsilon),
        "Private Evolution": 4 * math.sqrt(T * log(1.25 / delta)) / (n * epsilon),
    }
    mus = {name: math.sqrt(2 * T) / (n * sigma) for name, sigma in sigmas.items()}
    a = log(1 / (2 * delta))
    mus["regularised exp. mechanism"] = math.sqrt(2 * a + 2 * epsilon) - math.sqrt(2 * a)
    mus["regularised, small ε"] = epsilon / math.sqrt(2 * log(3 / (4 * 1.5 * delta)))
    assert set(mus) == {form.name for form in GAUSSIAN_FORMULAS}
    for form in GAUSSIAN_FORMULAS:
        assert form.evaluate(mus[form.name], delta) == approx(epsilon, rel=1e-12)
        if epsilon <= form.max_epsilon:
            assert conversions.gdp_epsilon(mus[form.name], delta) <= epsilon, "proved there"


def test_printed_forms_of_draws_are_strong_composition_where_it_holds():
    out = printed_epsilon_curves(plan((BoundedRange(0.01), 50)), DELTAS)
    assert set(out) == {"ρ + 2√(ρ ln(1/δ))", "strong composition"}
    assert out["strong composition"] == approx(0.04 * np.sqrt(100 * np.log(1 / DELTAS)), rel=1e-7)
    assert np.isnan(
        printed_epsilon_curves(plan((Pure(1.0), 50)), DELTAS)["strong composition"]
    ).all()
    assert (out["ρ + 2√(ρ ln(1/δ))"] >= costs((BoundedRange(0.01), 50))[ZCDP]).all()
    assert set(
        printed_epsilon_curves(plan((BoundedRange(0.01), 50), (Gaussian(0.1), 1)), DELTAS)
    ) == {"ρ + 2√(ρ ln(1/δ))"}


def test_a_ledger_s_curves_add_up_every_kind_of_event():
    total = Budget(3, 1e-5)
    gaussian = ((Gaussian(0.2), 3),)
    life = LifetimeBudget(total, GdpAccountant, 0.0)
    found = accountant_comparison.ledger_epsilon_curves(life, gaussian, DELTAS)
    assert found[GDP][2] == approx(conversions.gdp_epsilon(0.2 * math.sqrt(3), 1e-6))
    assert next(iter(found)) == GDP, "the fixed accounting comes first"
    mixed = (*gaussian, (BoundedRange(0.1), 5), (Filtered(0.01), 1))
    found = accountant_comparison.ledger_epsilon_curves(life, mixed, DELTAS)
    rho = 3 * 0.02 + 5 * 0.1**2 / 8 + 0.01
    assert found[ZCDP][2] == approx(conversions.zcdp_epsilon(rho, 1e-6))
    assert found[GDP][2] == approx(
        conversions.gdp_epsilon(math.sqrt(life.composed_cost(mixed)), 1e-6)
    )
    assert PLD not in found, "no pair of laws is known to be worst for what is only concentrated"
    assert found[RENYI][2] <= found[ZCDP][2] * (1 + 1e-3)
    only = accountant_comparison.ledger_epsilon_curves(
        LifetimeBudget(total, ZcdpAccountant, 0.0), ((Concentrated(rho), 1),), DELTAS
    )
    assert set(only) == {ZCDP, RENYI}
    assert accountant_comparison.ledger_epsilon_curves(life, (), DELTAS) == {}


@parametrize("accounting", [GdpAccountant, ZcdpAccountant, PureAccountant])
def test_what_may_ever_be_charged_meets_the_total_promise(accounting):
    life = LifetimeBudget(
        Budget(3, 1e-5), accounting, 1e-5 if accounting is PureAccountant else 2e-6
    )
    curve = accountant_comparison.lifetime_epsilon_curve(life, np.array([1e-6, 1e-5, 1e-3]))
    assert curve[0] == math.inf, "failures alone need more"
    assert curve[1] == approx(3)
    assert curve[1] <= 3
    assert curve[2] <= curve[1]
