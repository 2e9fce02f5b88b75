"""Conversions between privacy notions: golden values, quadrature, dp_accounting, and roots on the safe side."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy.integrate import quad

from dpcore.privacy.accounting import conversions
from dpcore.privacy.accounting.budget import BoundedRange, Gaussian, Pure
from tests.helpers import hockey_stick

EPSILONS = np.logspace(-4, 3, 15)
DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.5, 0.9]
RELATION = dp_accounting.NeighboringRelation


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_calibration_uses_the_budget_and_never_more(epsilon, delta):
    mu, rho = conversions.gdp_mu(epsilon, delta), conversions.zcdp_rho(epsilon, delta)
    assert epsilon * (1 - 1e-6) <= conversions.gdp_epsilon(mu, delta) <= epsilon
    assert epsilon * (1 - 1e-6) <= conversions.zcdp_epsilon(rho, delta) <= epsilon
    assert rho <= mu**2 / 2 * (1 + 1e-9), "GDP is exact, zCDP cannot allow more"


@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-6, 1e4, 1e5, 1e6, 1e9])
def test_extreme_budgets_are_calibrated_too(epsilon, delta):
    mu, rho = conversions.gdp_mu(epsilon, delta), conversions.zcdp_rho(epsilon, delta)
    assert conversions.gdp_epsilon(mu, delta) <= epsilon
    assert conversions.zcdp_epsilon(rho, delta) <= epsilon
    assert 0 < rho <= mu**2 / 2 * (1 + 1e-6)
    if epsilon >= 1e5:
        assert mu == pytest.approx(math.sqrt(2 * epsilon), rel=0.1)


def test_nothing_costs_nothing():
    assert conversions.gdp_epsilon(0, 1e-9) == 0
    assert conversions.zcdp_epsilon(0, 1e-9) == 0
    assert conversions.gdp_epsilon(1e-3, 0.5) == 0, "total variation below δ already"


@pytest.mark.parametrize("delta", [1e-100, 1e-30, 1e-9, 1e-5, 0.1])
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.1, 1, 30, 300])
def test_zcdp_agrees_with_renyi_accounting_and_is_never_looser(rho, delta):
    best = 1 + math.sqrt(math.log(1 / delta) / rho)
    orders = 1 + (best - 1) * np.exp(np.linspace(-2, 1, 301))
    for event in (dp_accounting.ZCDpEvent(rho), dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * rho))):
        accountant = RdpAccountant(orders.tolist(), RELATION.REPLACE_ONE)
        accountant.compose(event)
        theirs = accountant.get_epsilon(delta)
        assert theirs * (1 - 1e-3) <= conversions.zcdp_epsilon(rho, delta) <= theirs * (1 + 1e-12)
    assert conversions.gdp_epsilon(math.sqrt(2 * rho), delta) <= conversions.zcdp_epsilon(rho, delta)


@pytest.mark.parametrize("rho", [0.01, 0.5, 5])
def test_zcdp_holds_for_mechanisms_that_reach_it(rho):
    """The Gaussian mechanism is ρ-zCDP exactly, so its δ at the converted ε must stay below δ."""
    for delta in DELTAS:
        epsilon = conversions.zcdp_epsilon(rho, delta)
        assert conversions.gdp_log_delta(epsilon, math.sqrt(2 * rho)) <= math.log(delta)


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> np.ndarray:
    """Rényi divergence of (p, 1 − p) from (q, 1 − q)."""
    first = order * np.log(p) + (1 - order) * np.log(q)
    second = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
    return np.logaddexp(first, second) / (order - 1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ORDERS = [1.0001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 32, 100, 1000]


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 3, 10])
def test_a_bounded_range_draw_is_eps_squared_over_8_zcdp(epsilon):
    """The worst pairs are binary, their log ratios exactly ε₀ apart (Dong, Durfee, Rogers 2020); all are tried."""
    middle = np.linspace(-15, 15, 3001)
    p, q = sigmoid(middle + epsilon / 2), sigmoid(middle - epsilon / 2)
    spend = BoundedRange(epsilon)
    worst = max((renyi(p, q, order) / order).max() for order in ORDERS)
    assert worst <= spend.rho * (1 + 1e-9)
    if epsilon <= 0.1:
        assert worst >= spend.rho * 0.99, "and not less"
    for i in range(0, 3001, 100):
        pair = np.array([p[i], 1 - p[i]]), np.array([q[i], 1 - q[i]])
        assert hockey_stick(*pair, spend.pure) <= 1e-15
        assert hockey_stick(*reversed(pair), spend.pure) <= 1e-15


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 3, 10])
def test_a_pure_release_is_eps_squared_over_2_zcdp(epsilon):
    """The worst pair is randomised response, of which every ε-DP release is post-processing."""
    p = np.array([sigmoid(epsilon)])
    worst = max(renyi(p, 1 - p, order)[0] / order for order in ORDERS)
    assert worst <= Pure(epsilon).rho * (1 + 1e-9)
    if epsilon <= 0.1:
        assert worst >= Pure(epsilon).rho * 0.99


@pytest.mark.parametrize("mu", [0.1, 1, 3])
def test_a_gaussian_release_is_mu_squared_over_2_zcdp(mu):
    for order in (1.5, 2, 7):
        top = order * (order - 1) * mu**2 / 2
        area, _ = quad(lambda x: math.exp(-((x - order * mu) ** 2) / 2), order * mu - 40, order * mu + 40)  # noqa: B023
        divergence = (top + math.log(area / math.sqrt(2 * math.pi))) / (order - 1)
        assert divergence == pytest.approx(order * Gaussian(mu).rho, rel=1e-9)
    assert Gaussian(mu).pure == math.inf
