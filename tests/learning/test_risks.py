"""Losses and risks: values against their definitions, convexity, smoothing, and G against records drawn at random.

And the smallest risks against scipy's, on every loss and region.
"""

import math

import numpy as np
from scipy.optimize import linprog, minimize

from dpcore.geometry.regions import Ball, Box, Space
from dpcore.learning.losses import (
    Logistic,
    SquaredDistance,
    absolute,
    difference,
    hinge,
    huber,
    logistic_difference,
    pinball,
)
from dpcore.learning.risks import Risk, smallest
from tests.helpers import approx, parametrize, refused, seeded

T = np.linspace(-3, 3, 601)
LOSSES = {
    "pinball": (pinball(0.3), 0.7, lambda t, b: np.maximum(0.3 * (b - t), 0.7 * (t - b))),
    "absolute": (absolute(), -0.4, lambda t, b: np.abs(t - b)),
    "hinge": (hinge(), -1.0, lambda t, b: np.maximum(0, 1 - b * t)),
    "logistic": (Logistic(), -1.0, lambda t, b: np.log(1 + np.exp(-b * t))),
    "huber": (huber(0.5), 0.2, lambda t, b: np.where(abs(t - b) <= 0.5, (t - b) ** 2, np.abs(t - b) - 0.25)),
}
every = parametrize("name", LOSSES)


@every
def test_values_are_those_of_the_definition(name):
    loss, b, expected = LOSSES[name]
    assert loss.value(T, np.array(b)) == approx(expected(T, b), abs=1e-12)


@every
def test_slopes_and_bends_are_derivatives_and_losses_are_convex(name):
    loss, b, _ = LOSSES[name]
    loss, h = loss.smoothed(0.2), 1e-5
    b = np.array(b)
    slope = (loss.value(T + h, b) - loss.value(T - h, b)) / (2 * h)
    assert loss.slope(T, b) == approx(slope, abs=1e-4)
    bend = (loss.slope(T + h, b) - loss.slope(T - h, b)) / (2 * h)
    smooth = np.abs(loss.bend(T + 2 * h, b) - loss.bend(T - 2 * h, b)) < 1e-3
    assert smooth.mean() > 0.98
    assert loss.bend(T, b)[smooth] == approx(bend[smooth], abs=1e-4)
    assert (loss.bend(T, b) >= 0).all()
    assert loss.bend(T, b).max() <= loss.curvature * (1 + 1e-12)
    assert np.abs(loss.slope(T, b)).max() <= loss.steepest


@parametrize("loss", [pinball(0.3), absolute(), hinge()], ids=lambda loss: loss.name)
def test_smoothing_adds_at_most_what_it_says(loss):
    b = np.array(1.0)
    extra = loss.smoothed(0.4).value(T, b) - loss.value(T, b)
    assert extra.min() >= -1e-15
    assert extra.max() == approx((loss.high - loss.low) * 0.4 / 4)


@parametrize("reach, value", [(1, 1.099), (2, 1.270), (5, 1.617), (10, 1.821)])
def test_the_logistic_difference_is_within_one_percent_above_the_known_values(reach, value):
    assert value - 0.0005 <= logistic_difference(float(reach)) <= value * 1.0105


@parametrize("reach", [0.0, 0.02, 0.5, 1.0, 7.0, 19.0, 1e3, math.inf])
def test_the_logistic_difference_bounds_every_pair_of_records(reach):
    rng, r = seeded(0), min(reach, 50.0)
    x = rng.normal(size=(20_000, 3))
    x *= r / np.linalg.norm(x, axis=1, keepdims=True)
    pairs = rng.normal(size=(2, 20_000, 3))
    pairs /= np.linalg.norm(pairs, axis=2, keepdims=True)
    first, second = (-w / (1 + np.exp((w * x).sum(1)))[:, None] for w in pairs)
    worst = np.linalg.norm(first - second, axis=1).max()
    assert worst <= logistic_difference(reach) <= 2
    assert worst > 0.75 * logistic_difference(reach), "and it is no idle bound"


def test_differences_of_the_other_losses():
    assert difference(pinball(0.2), location=True, reach=9) == 1
    assert difference(absolute(), location=True, reach=9) == 2
    assert difference(pinball(0.2), location=False, reach=9) == 1.6
    assert [difference(loss, location=False, reach=9) for loss in (hinge(), absolute(), huber(0.1))] == [2, 2, 2]
    assert difference(SquaredDistance((0, 0), (3, 4)), location=False, reach=9) == 5


@parametrize("level", [0, 1, math.nan])
def test_a_quantile_lies_inside_0_and_1(level):
    with refused(f"quantile={level:g} is outside"):
        pinball(level)


@parametrize("width", [0, math.inf])
def test_a_huber_width_is_positive(width):
    with refused("must be above 0 and finite"):
        huber(width)


RNG = seeded(1)
A = RNG.normal(size=(80, 3)) / 3
LABELS = np.where(A @ [3, -2, 1] + RNG.normal(size=80) > 0, 1.0, -1.0)
TARGETS = A @ [3, -2, 1] + RNG.normal(size=80)
REGIONS = {
    "large": Ball(np.zeros(3), 20.0),
    "small": Ball(np.array([0.1, 0.0, -0.2]), 0.7),
    "box": Box(np.full(3, -0.5), np.full(3, 0.6)),
    "space": Space(np.zeros(3), 1.0),
}


def risk_of(loss):
    b = LABELS if loss.margin else TARGETS
    return Risk(loss, np.column_stack([A, b]), np.ones(80))


def reference(risk, region, mu):
    """The smallest value by SLSQP, from several starts, of the loss rounded off by 1e-4."""
    smooth = risk.with_loss(risk.loss.smoothed(1e-4))

    def f(x):
        F, G = smooth.tangents(x[None])
        return F[0] + mu * (x - region.centre) @ (x - region.centre) / 2, G[0] + mu * (x - region.centre)

    options = {"jac": True, "method": "SLSQP", "options": {"ftol": 1e-14, "maxiter": 500}}
    if isinstance(region, Ball):
        inside = {"type": "ineq", "fun": lambda x: region.radius**2 - (x - region.centre) @ (x - region.centre)}
        options["constraints"] = [inside]
    elif isinstance(region, Box):
        options["bounds"] = list(zip(region.low, region.high, strict=True))
    found = [minimize(f, start, **options) for start in (region.centre, region.centre + 0.2, region.centre - 0.3)]
    return min(r.fun for r in found)


@parametrize("mu", [0.0, 0.3])
@parametrize("where", REGIONS)
@every
def test_the_smallest_value_is_that_of_an_independent_solver(name, where, mu):
    risk, region = risk_of(LOSSES[name][0]), REGIONS[where]
    x = smallest(risk, region, mu=mu)
    assert region.contains(region.project(x)[None])[0]
    assert np.allclose(region.project(x), x, atol=1e-12)
    value = risk.value(x) + mu * (x - region.centre) @ (x - region.centre) / 2
    assert value <= reference(risk, region, mu) + 2e-6
    assert value >= reference(risk, region, mu) - 2e-4


@parametrize("loss", [absolute(), pinball(0.8)], ids=lambda loss: loss.name)
def test_a_regression_on_r_d_is_a_linear_program(loss):
    cost = np.concatenate([np.zeros(3), np.full(80, -loss.low) / 80, np.full(80, loss.high) / 80])
    equal = np.hstack([risk_of(loss).A, np.eye(80), -np.eye(80)])
    bounds = [(None, None)] * 3 + [(0, None)] * 160
    found = linprog(cost, A_eq=equal, b_eq=TARGETS, bounds=bounds)
    assert risk_of(loss).value(smallest(risk_of(loss), REGIONS["space"])) == approx(found.fun, abs=1e-6)


def test_quantiles_weights_and_means_are_what_they_are_called():
    values, weights = np.array([[1.0], [2.0], [5.0], [9.0]]), np.array([1, 4, 2, 1])
    flat = np.repeat(values[:, 0], weights)
    for level in (0.1, 0.37, 0.5, 0.9):
        risk = Risk(pinball(level), values, weights, location=True)
        (x,) = smallest(risk, Ball(np.array([5.0]), 5.0))
        assert x == np.quantile(flat, level, method="inverted_cdf")
        assert smallest(risk, Ball(np.array([3.5]), 0.5)) == approx(np.clip(x, 3, 4))
    points = Risk(SquaredDistance((0, 0), (1, 2)), np.array([[0.2, 3.0], [0.4, 1.0]]), np.array([1, 3]))
    assert smallest(points, Space(np.zeros(2), 1.0)) == approx([0.35, 1.25]), "3 is outside its bounds: 2"


def test_records_with_longer_features_are_shortened_so_that_no_one_counts_more():
    risk = Risk(hinge(), np.array([[3.0, 4.0, 1.0], [0.3, 0.4, -1.0]]), np.ones(2))
    assert np.linalg.norm(risk.A, axis=1) == approx([1, 0.5])


def test_separable_classes_have_no_smallest_value_on_r_d():
    risk = Risk(Logistic(), np.array([[0.5, 0.5, 1.0], [-0.5, 0.5, -1.0]]), np.ones(2))
    with refused("no smallest value on R\\^d"):
        smallest(risk, Space(np.zeros(2), 1e-4))
    assert np.linalg.norm(smallest(risk, Ball(np.zeros(2), 3.0))) == approx(3)
