"""Minimisers within a distance known beforehand: far offsets, rounding, and the way that cannot
fail.
"""

import math

import numpy as np

from dpcore.privacy import minimiser as module
from dpcore.privacy.minimiser import find_minimiser
from dpcore.privacy.statistics import RegularisedMinimiser
from dpcore.problems.losses import Logistic, absolute_loss, hinge_loss, huber_loss, pinball_loss
from dpcore.problems.parse_tasks import group_rows
from dpcore.problems.regions import Space
from dpcore.problems.risks import Risk, minimise_by_newton
from tests.small_problems import approx, expect_error, parametrize, seeded

N = 200
SPREAD = seeded(0).uniform(-3, 3, N).round(6)
A = seeded(1).normal(size=(N, 2)) / 4
LOSSES = [pinball_loss(0.5), absolute_loss(), huber_loss(0.3)]


def found(loss, b, offset):
    statistic = RegularisedMinimiser(loss, Space(np.array([offset]), 3.0), 1e-3, 0.03, N, True)
    statistic.check()
    return statistic, statistic.value(group_rows((b + offset)[:, None]))


@parametrize("offset", [2.0**31, -(2.0**40), 2.0**49])
@parametrize("loss", LOSSES)
def test_an_offset_that_all_records_share_costs_nothing_and_fails_for_no_neighbour(loss, offset):
    """A column of range 6 about a public centre: half of such tables raised an error, and which
    half was the secret.
    """
    b = np.round(SPREAD * 8) / 8  # what a float can hold beside the offset
    for last in (-3.0, -0.125, 0.0, 3.0):
        near = np.append(b[:-1], last)
        statistic, here = found(loss, near, 0.0)
        _, there = found(loss, near, offset)
        assert there == approx(here, abs=2 * statistic.gradient_tolerance / statistic.mu)
        assert statistic.postprocess(here) == approx(here)
    assert found(loss, b, offset)[0].postprocess(np.array([0.25])) == offset + 0.25


@parametrize("loss", [hinge_loss(), absolute_loss(), Logistic()])
def test_where_newton_gives_up_descent_comes_as_near_as_was_promised(loss, monkeypatch):
    b = np.where(SPREAD > 0.5, 1.0, -1.0) if loss.margin else SPREAD
    risk = Risk(loss.smoothed(0.2), np.column_stack([A, b]), np.ones(N))
    exact = minimise_by_newton(risk, np.zeros(2), mu=0.05, centre=np.zeros(2), tolerance=1e-13)
    for useless in (np.full(2, 17.0), np.full(2, np.nan)):
        monkeypatch.setattr(module, "minimise_by_newton", lambda *_, useless=useless, **__: useless)
        y = find_minimiser(risk, np.zeros(2), mu=0.05, gradient_tolerance=1e-6)
        assert np.linalg.norm(y - exact) <= 1e-6 / 0.05
    monkeypatch.setattr(module, "accelerated_descent", lambda _slope, y, **_: y)
    y = find_minimiser(risk, np.zeros(2), mu=0.05, gradient_tolerance=1e-6)
    assert np.linalg.norm(y - exact) > 0.01, "without it the answer would be wrong"


def test_a_record_beyond_all_bounds_moves_the_minimiser_by_no_more_than_another():
    for loss in LOSSES:
        b = SPREAD.copy()
        statistic, before = found(loss, b, 0.0)
        for wild in (1e300, -1e300):
            _, after = found(loss, np.append(b[:-1], wild), 0.0)
            assert abs(after - before)[0] <= statistic.l2 / N


def test_what_rounding_may_do_is_charged_and_refused_where_it_is_much():
    fine, coarse = (
        RegularisedMinimiser(hinge_loss(), Space(np.zeros(3), 10.0), mu, 0.1, 10**6)
        for mu in (1e-2, 1e-7)
    )
    for statistic in (fine, coarse):
        assert statistic.l2 * statistic.mu == approx(
            2 + 2e6 * statistic.gradient_tolerance, rel=1e-9
        )
    assert fine.gradient_tolerance == 1e-4 * 2 / 10**6
    assert coarse.gradient_tolerance > fine.gradient_tolerance
    tiny = RegularisedMinimiser(hinge_loss(), Space(np.zeros(3), 10.0), 1e-12, 0.1, 10**6)
    with expect_error("mu=1e-12 is too small for n=1,000,000 rows"):
        tiny.check()
    with expect_error("planned for n=1,000,000 rows, not 200"):
        fine.value(group_rows(np.column_stack([A, A[:, :1], np.sign(SPREAD)])))


def test_the_bound_on_rounding_covers_what_is_seen():
    """Gradients in twice the precision, at random points, are no further off than η."""
    rng = seeded(2)
    loss = huber_loss(0.01)
    risk = Risk(loss, np.column_stack([A, SPREAD]), np.ones(N))
    far = 50.0
    eta = module.gradient_rounding_error(loss, np.zeros(2), mu=loss.lipschitz_constant / far, n=N)
    wide = np.longdouble
    for _ in range(200):
        y = rng.normal(size=2) * rng.choice([0.1, 1, 20])
        t = (risk.A.astype(wide) * y.astype(wide)).sum(1) - risk.b.astype(wide)
        exact = (np.clip(t / wide(loss.width), -1, 1)[:, None] * risk.A.astype(wide)).sum(0) / wide(
            N
        )
        assert math.sqrt(float(((module._gradient(risk, y) - exact) ** 2).sum())) <= eta
