"""Losses: values against their definitions, convexity, smoothing, and G against records drawn at
random.
"""

import math

import numpy as np

from dpcore.problems.losses import (
    Logistic,
    SquaredDistance,
    absolute_loss,
    gradient_difference_bound,
    hinge_loss,
    huber_loss,
    logistic_difference_bound,
    pinball_loss,
)
from tests.small_problems import approx, expect_error, parametrize, seeded

T = np.linspace(-3, 3, 601)
LOSSES = {
    "pinball": (pinball_loss(0.3), 0.7, lambda t, b: np.maximum(0.3 * (b - t), 0.7 * (t - b))),
    "absolute": (absolute_loss(), -0.4, lambda t, b: np.abs(t - b)),
    "hinge": (hinge_loss(), -1.0, lambda t, b: np.maximum(0, 1 - b * t)),
    "logistic": (Logistic(), -1.0, lambda t, b: np.log(1 + np.exp(-b * t))),
    "huber": (
        huber_loss(0.5),
        0.2,
        lambda t, b: np.where(abs(t - b) <= 0.5, (t - b) ** 2, np.abs(t - b) - 0.25),
    ),
}
every = parametrize("name", LOSSES)


@every
def test_values_are_those_of_the_definition(name):
    loss, b, expected = LOSSES[name]
    assert loss.value(T, np.array(b)) == approx(expected(T, b), abs=1e-12)


@every
def test_slopes_and_bends_are_derivatives_and_losses_are_convex(name):
    loss, b, _ = LOSSES[name]
    loss = loss.smoothed(0.2)
    h = 1e-5
    b = np.array(b)
    slope = (loss.value(T + h, b) - loss.value(T - h, b)) / (2 * h)
    assert loss.slope(T, b) == approx(slope, abs=1e-4)
    bend = (loss.slope(T + h, b) - loss.slope(T - h, b)) / (2 * h)
    smooth = (
        np.abs(loss.second_derivative(T + 2 * h, b) - loss.second_derivative(T - 2 * h, b)) < 1e-3
    )
    assert smooth.mean() > 0.98
    assert loss.second_derivative(T, b)[smooth] == approx(bend[smooth], abs=1e-4)
    assert (loss.second_derivative(T, b) >= 0).all()
    assert loss.second_derivative(T, b).max() <= loss.curvature * (1 + 1e-12)
    assert np.abs(loss.slope(T, b)).max() <= loss.lipschitz_constant


@parametrize("loss", [pinball_loss(0.3), absolute_loss(), hinge_loss()])
def test_smoothing_adds_at_most_what_it_says(loss):
    b = np.array(1.0)
    extra = loss.smoothed(0.4).value(T, b) - loss.value(T, b)
    assert extra.min() >= -1e-15
    assert extra.max() == approx((loss.high - loss.low) * 0.4 / 4)


@parametrize("reach, value", [(1, 1.099), (2, 1.270), (5, 1.617), (10, 1.821)])
def test_the_logistic_difference_is_within_one_percent_above_the_known_values(reach, value):
    assert value - 0.0005 <= logistic_difference_bound(float(reach)) <= value * 1.0105


@parametrize("reach", [0.0, 0.02, 0.5, 1.0, 7.0, 19.0, 1e3, math.inf])
def test_the_logistic_difference_bounds_every_pair_of_records(reach):
    rng = seeded(0)
    x = rng.normal(size=(20_000, 3))
    x *= min(reach, 50.0) / np.linalg.norm(x, axis=1, keepdims=True)
    pairs = rng.normal(size=(2, 20_000, 3))
    pairs /= np.linalg.norm(pairs, axis=2, keepdims=True)
    first, second = (-w / (1 + np.exp((w * x).sum(1)))[:, None] for w in pairs)
    worst = np.linalg.norm(first - second, axis=1).max()
    assert worst <= logistic_difference_bound(reach) <= 2
    assert worst > 0.75 * logistic_difference_bound(reach), "and it is no idle bound"


def test_differences_of_the_other_losses():
    assert gradient_difference_bound(pinball_loss(0.2), location=True, max_norm=9) == 1
    assert gradient_difference_bound(absolute_loss(), location=True, max_norm=9) == 2
    assert gradient_difference_bound(pinball_loss(0.2), location=False, max_norm=9) == 1.6
    assert [
        gradient_difference_bound(loss, location=False, max_norm=9)
        for loss in (hinge_loss(), absolute_loss(), huber_loss(0.1))
    ] == [2, 2, 2]
    assert (
        gradient_difference_bound(SquaredDistance((0, 0), (3, 4)), location=False, max_norm=9) == 5
    )


@parametrize("level", [0, 1, math.nan])
def test_a_quantile_lies_inside_0_and_1(level):
    with expect_error(f"quantile={level:g} is outside"):
        pinball_loss(level)


@parametrize("width", [0, math.inf])
def test_a_huber_width_is_positive(width):
    with expect_error("must be above 0 and finite"):
        huber_loss(width)
