"""Risks and their smallest values against scipy, on every loss and region."""

import numpy as np
from scipy.optimize import linprog, minimize

from dpcore.problems.losses import (
    Logistic,
    SquaredDistance,
    absolute_loss,
    hinge_loss,
    huber_loss,
    pinball_loss,
)
from dpcore.problems.regions import Ball, Box, Space
from dpcore.problems.risks import Risk, minimise_risk
from tests.small_problems import approx, expect_error, parametrize, seeded

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
        F, G = smooth.values_and_gradients(x[None])
        return F[0] + mu * (x - region.centre) @ (x - region.centre) / 2, G[0] + mu * (
            x - region.centre
        )

    options = {"jac": True, "method": "SLSQP", "options": {"ftol": 1e-14, "maxiter": 500}}
    if isinstance(region, Ball):
        inside = {
            "type": "ineq",
            "fun": lambda x: region.radius**2 - (x - region.centre) @ (x - region.centre),
        }
        options["constraints"] = [inside]
    elif isinstance(region, Box):
        options["bounds"] = list(zip(region.low, region.high, strict=True))
    found = [
        minimize(f, start, **options)
        for start in (region.centre, region.centre + 0.2, region.centre - 0.3)
    ]
    return min(r.fun for r in found)


@parametrize("mu", [0.0, 0.3])
@parametrize("where", REGIONS)
@parametrize(
    "loss", [Logistic(), hinge_loss(), absolute_loss(), huber_loss(0.4), pinball_loss(0.8)]
)
def test_the_smallest_value_is_that_of_an_independent_solver(loss, where, mu):
    risk = risk_of(loss)
    region = REGIONS[where]
    x = minimise_risk(risk, region, mu=mu)
    assert region.contains(region.project(x)[None])[0]
    assert np.allclose(region.project(x), x, atol=1e-12)
    value = risk.value(x) + mu * (x - region.centre) @ (x - region.centre) / 2
    assert value <= reference(risk, region, mu) + 2e-6
    assert value >= reference(risk, region, mu) - 2e-4


@parametrize("loss", [absolute_loss(), pinball_loss(0.8)])
def test_a_regression_on_r_d_is_a_linear_program(loss):
    cost = np.concatenate([np.zeros(3), np.full(80, -loss.low) / 80, np.full(80, loss.high) / 80])
    equal = np.hstack([risk_of(loss).A, np.eye(80), -np.eye(80)])
    found = linprog(cost, A_eq=equal, b_eq=TARGETS, bounds=[(None, None)] * 3 + [(0, None)] * 160)
    assert risk_of(loss).value(minimise_risk(risk_of(loss), REGIONS["space"])) == approx(
        found.fun, abs=1e-6
    )


def test_quantiles_weights_and_means_are_what_they_are_called():
    values = np.array([[1.0], [2.0], [5.0], [9.0]])
    weights = np.array([1, 4, 2, 1])
    flat = np.repeat(values[:, 0], weights)
    for level in (0.1, 0.37, 0.5, 0.9):
        risk = Risk(pinball_loss(level), values, weights, location=True)
        (x,) = minimise_risk(risk, Ball(np.array([5.0]), 5.0))
        assert x == np.quantile(flat, level, method="inverted_cdf")
        assert minimise_risk(risk, Ball(np.array([3.5]), 0.5)) == approx(np.clip(x, 3, 4))
    points = Risk(
        SquaredDistance((0, 0), (1, 2)), np.array([[0.2, 3.0], [0.4, 1.0]]), np.array([1, 3])
    )
    assert minimise_risk(points, Space(np.zeros(2), 1.0)) == approx([0.35, 1.25]), (
        "3 is outside its bounds: 2"
    )


def test_records_with_longer_features_are_shortened_so_that_no_one_counts_more():
    risk = Risk(hinge_loss(), np.array([[3.0, 4.0, 1.0], [0.3, 0.4, -1.0]]), np.ones(2))
    assert np.linalg.norm(risk.A, axis=1) == approx([1, 0.5])


def test_separable_classes_have_no_smallest_value_on_r_d():
    risk = Risk(Logistic(), np.array([[0.5, 0.5, 1.0], [-0.5, 0.5, -1.0]]), np.ones(2))
    with expect_error("no smallest value on R\\^d"):
        minimise_risk(risk, Space(np.zeros(2), 1e-4))
    assert np.linalg.norm(minimise_risk(risk, Ball(np.zeros(2), 3.0))) == approx(3)
