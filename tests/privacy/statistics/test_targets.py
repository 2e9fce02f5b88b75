"""Laws of parameters: golden calibration, and their privacy by quadrature over neighbouring data
sets.
"""

import math

import numpy as np
from scipy.stats import norm

from dpcore import Budget
from dpcore.privacy.accounting import (
    Approximate,
    BoundedRange,
    Gaussian,
    conversions,
    regularised_draw_spend,
)
from dpcore.privacy.statistics import (
    MeanGradient,
    PerturbedRisk,
    PlainRisk,
    RankError,
    RegularisedMinimiser,
    RegularisedRisk,
)
from dpcore.privacy.statistics.density_targets import largest_shift
from dpcore.problems.losses import (
    Logistic,
    SquaredDistance,
    absolute_loss,
    hinge_loss,
    huber_loss,
    pinball_loss,
)
from dpcore.problems.parse_tasks import group_rows
from dpcore.problems.regions import Ball, Space
from tests.privacy.enumerated_neighbours import over_neighbours
from tests.risk_problems import quadrature
from tests.small_problems import approx, expect_error, hockey_stick, parametrize, seeded

UNIT = Ball(np.zeros(1), 1.0)
LINE = Space(np.zeros(1), 1.0)
GRID = np.linspace(-1, 1, 8001)
X = (GRID[1:] + GRID[:-1]) / 2
WIDTH = GRID[1] - GRID[0]
VALUES = (-1.0, -0.2, 0.3, 1.0)
RECORDS = [(a, b) for a in (-1.0, 0.5, 1.0) for b in (-1.0, 1.0)]
N = 3
ROOM = 1 + 1e-5  # for the quadrature: the bounds are met almost exactly


def rows(data):
    return group_rows(np.array(data, dtype=float).reshape(N, -1))


def law(target, spend, data):
    """The density on X that a target describes."""
    return quadrature(target.density(rows(data), N, spend).potential(X[:, None]), WIDTH)


LOCATIONS = [pinball_loss(0.5), pinball_loss(0.1), absolute_loss(), huber_loss(0.3)]
GLMS = [Logistic(), hinge_loss()]
POINTS = SquaredDistance((-1.0,), (1.0,))
every_loss = parametrize("loss", [*LOCATIONS, *GLMS])


def values_of(loss):
    """The records to try with a loss: numbers, or features and labels."""
    return [(v,) for v in VALUES] if loss in LOCATIONS or loss is POINTS else RECORDS


@parametrize("stages", [1, 2, 3, 6])
@parametrize("theta", [0, 0.01, 0.3])
def test_the_error_of_the_sampler_is_part_of_delta(stages, theta):
    budget = Budget(0.7, 1e-5)
    spend, s = regularised_draw_spend(budget, stages, theta)
    tau = stages * budget.sampler_error(spend.failure)
    delta = math.exp(conversions.gdp_log_delta(0.7, spend.mu * math.sqrt(stages)))
    assert delta + (1 + math.exp(0.7)) * tau <= 1e-5
    assert delta + (1 + math.exp(0.7)) * tau >= 1e-5 * (1 - 1e-6), "and all of it is used"
    assert s == approx(spend.mu * math.sqrt(stages))


def farthest(values, law, width, epsilon):
    """The largest δ of any neighbours, of laws at points `width` apart."""
    return width * max(hockey_stick(p, q, epsilon) for p, q in over_neighbours(values, N, law))


def worst(target, spend, values, epsilon):
    return farthest(values, lambda data: law(target, spend, data), WIDTH, epsilon)


@parametrize("mu", [0.3, 3.0])
@every_loss
def test_a_regularised_density_is_at_least_as_private_as_a_gaussian(loss, mu):
    target = RegularisedRisk(loss, UNIT, mu, loss in LOCATIONS)
    s = 0.8
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        allowed = math.exp(conversions.gdp_log_delta(epsilon, s))
        assert worst(target, Gaussian(s), values_of(loss)[:4], epsilon) <= allowed * ROOM


def test_on_a_wide_region_with_a_strong_regulariser_no_noise_is_wasted():
    """The law is nearly the Gaussian mechanism there, so that half the sensitivity would be caught."""
    target = RegularisedRisk(absolute_loss(), UNIT, 8.0, True)
    s = 2.0
    allowed = math.exp(conversions.gdp_log_delta(1, s))
    assert allowed * 0.9 < worst(target, Gaussian(s), (-1.0, 1.0), 1) <= allowed * ROOM


def test_the_squared_distance_on_r_d_is_exactly_the_gaussian_mechanism():
    target = RegularisedRisk(POINTS, LINE, 0.0)
    k = target.k(N, Gaussian(0.6))
    assert k**-0.5 == approx((2 / N) / 0.6), "σ = Δ₂/s"
    gaps = target.density(rows((1, 0, 0)), N, Gaussian(0.6)).potential(
        np.array([[1 / 3], [1 / 3 + k**-0.5]])
    )
    assert np.diff(gaps) == approx(0.5), "one σ from the mean"


@every_loss
def test_the_plain_density_is_pure_and_of_bounded_range(loss):
    location = loss in LOCATIONS
    spans = []
    target = PlainRisk(loss, UNIT, location)
    for p, q in over_neighbours(
        values_of(loss), N, lambda data: law(target, BoundedRange(0.9), data)
    ):
        ratio = np.log(p / q)
        spans.append(np.ptp(ratio))
        assert np.abs(ratio).max() <= 0.9 + 1e-9
    assert max(spans) <= 0.9 + 1e-9
    if location and not loss.width:
        assert max(spans) > 0.899, "no noise is wasted"


def test_ranks_are_of_bounded_range():
    k = RankError(pinball_loss(0.4), UNIT, True).k(N, BoundedRange(0.9))
    spans = []
    law = lambda data: quadrature(k * np.abs((np.array(data)[:, None] <= X).mean(0) - 0.4), WIDTH)  # noqa: E731
    for p, q in over_neighbours(VALUES, N, law):
        spans.append(np.ptp(np.log(p / q)))
    assert 0.45 < max(spans) <= 0.9 + 1e-9


@parametrize("epsilon, delta", [(1.0, 0.05), (0.5, 1e-4)])
@parametrize("loss", [Logistic(), huber_loss(0.5)])
def test_objective_perturbation_keeps_its_promise(loss, epsilon, delta):
    """In one dimension x ↦ ξ is monotone, so the law of x is exact: φ(ξ(x)/σ) ξ'(x)/σ."""
    target = PerturbedRisk(loss, LINE, 0.2)
    lam, sigma = target.calibrate(N, N, Approximate(epsilon, delta))
    x = np.linspace(-60, 60, 40_001)
    step = x[1] - x[0]

    def density(data, sigma):
        risk = target.risk(rows(data))
        xi = -N * risk.values_and_gradients(x[:, None])[1][:, 0] - lam * x
        slope = lam + N * (
            risk.w[:, None] * risk.A**2 * loss.second_derivative(risk.A * x, risk.b[:, None])
        ).sum(0)
        return norm.pdf(xi, scale=sigma) * slope

    def worst(sigma, values):
        return farthest(values, lambda data: density(data, sigma), step, epsilon)

    assert density((RECORDS[0],) * N, sigma).sum() * step == approx(1, abs=2e-3)
    apart = [(0.0, 1.0), (1.0, -1.0), (1.0, 1.0)]
    assert max(worst(sigma, RECORDS[:4]), worst(sigma, apart)) <= delta
    assert worst(sigma / 4, apart) > delta
    assert target.calibrate(N, N / 2, Approximate(epsilon, delta))[1] > 1.9 * sigma
    with expect_error("needs delta > 0"):
        target.calibrate(N, N, Approximate(epsilon, 0.0))


@parametrize("epsilon, delta", [(0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-9), (1.0, 1e-2)])
def test_the_tilt_of_objective_perturbation_is_what_its_bound_asks_for(epsilon, delta):
    """Two records whose features meet at any angle, by quadrature over the plane of the tilt."""
    s = largest_shift(epsilon, delta)
    u = epsilon / s - s / 2
    z = np.linspace(u, u + 15, 300_001)
    bound = s * 2 * np.trapezoid((z - u) * norm.pdf(z), z)
    assert delta * (1 - 1e-5) < bound <= delta * (1 + 1e-6)
    turn = 2 * np.pi * (np.arange(720) + 0.5) / 720
    r = np.linspace(u / 2, u + 15, 6001)
    for angle in (0.0, 0.1, 0.5, 1.0, np.pi / 2):
        mean = (np.abs(np.cos(turn)) + np.abs(np.cos(turn - angle))) / 2  # of both |Z|, at radius 1
        lost = (
            np.maximum(-np.expm1(-s * (r[:, None] * mean - u)), 0)
            * (r * np.exp(-r * r / 2))[:, None]
        )
        true = np.trapezoid(lost.mean(1), r)
        assert true <= delta * 1.001
        if angle == 0:
            assert true > 0.7 * delta, "and not far below"
    t = norm.isf(delta / 4)
    assert s > 1.05 * 2 * epsilon / (t + math.sqrt(t * t + 2 * epsilon)), (
        "four tails in a union cost more"
    )


@parametrize("loss", [*GLMS, absolute_loss(), POINTS])
def test_a_minimiser_moves_by_no_more_than_its_sensitivity(loss):
    statistic = RegularisedMinimiser(loss, UNIT, 0.4, 0.01, N)
    values = values_of(loss if loss is POINTS else GLMS[0])[:4]
    moves = [
        abs(a - b)
        for a, b in over_neighbours(values, N, lambda d: float(statistic.value(rows(d))[0]))
    ]
    assert max(moves) <= statistic.l2 / N
    assert max(moves) > 0.2 * statistic.l2 / N


@parametrize("clip", [0.2, 1.0, 3.0])
@parametrize("loss", [*LOCATIONS, *GLMS, POINTS])
def test_a_clipped_gradient_moves_by_no_more_than_its_sensitivity(loss, clip):
    values = values_of(loss)[:4]
    largest = 0.0
    for x in (-1.0, -0.3, 0.0, 0.9):
        statistic = MeanGradient(loss, UNIT, np.array([x]), clip, loss in LOCATIONS)
        found = over_neighbours(values, N, lambda data, s=statistic: float(s.value(rows(data))[0]))
        largest = max(largest, *(abs(a - b) / (statistic.l2 / N) for a, b in found))
    assert 0.3 < largest <= 1 + 1e-12


@parametrize("clip", [0.1, 0.7, 1.0, 2.0, 9.0])
def test_a_mean_s_gradient_moves_by_the_spread_of_its_box_however_it_is_clipped(clip):
    """In the plane, from inside the box and from far outside; clipped or not, no pair of records is
    further apart.
    """
    low = (-1.0, 0.0)
    high = (1.0, 1.0)
    loss = SquaredDistance(low, high)
    largest = 0.0
    corners = np.array([(a, b) for a in (-1, 1) for b in (0, 1)], dtype=float)
    points = np.concatenate([corners, seeded(0).uniform(low, high, (30, 2))])
    for x in (np.array([0.0, 0.5]), np.array([1.0, 1.0]), np.array([5.0, -3.0])):
        statistic = MeanGradient(loss, Ball(np.array([0.0, 0.5]), 1.2), x, clip)
        assert statistic.l2 == approx(min(2 * clip, loss.box_diameter))
        cut = np.array([statistic.clipped_sum(p[None], np.ones(1)) for p in points])
        apart = np.linalg.norm(cut[:, None] - cut[None], axis=2).max()
        assert apart <= statistic.l2 * (1 + 1e-12)
        largest = max(largest, float(apart) / statistic.l2)
    assert largest > 0.95, "nor is it larger than need be"


def test_what_promises_nothing_is_refused():
    with expect_error("delta=0 cannot be promised by a regularised density"):
        regularised_draw_spend(Budget(1, 0), 1, 0.01)
    for target, words in (
        (RegularisedRisk(pinball_loss(0.5), LINE, 0.0, True), "mu=0 must be above 0"),
        (PlainRisk(hinge_loss(), LINE), "needs a bounded region"),
        (PerturbedRisk(hinge_loss(), UNIT, 0.2), "smooth loss"),
        (RankError(hinge_loss(), UNIT, False), "ranks are for a quantile"),
        (RankError(POINTS, UNIT, True), "ranks are for a quantile"),
    ):
        with expect_error(words):
            target.check()
