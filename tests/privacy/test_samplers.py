"""Samplers against quadrature, and mistakes that the tests must see."""

import math
from functools import cache

import numpy as np
from scipy.stats import kstest

from dpcore.privacy.accounting import BoundedRange
from dpcore.privacy.samplers import (
    SAMPLERS,
    alternating,
    choose_sampler,
    envelope,
    proximal,
    rank_quantile,
    shapes,
)
from dpcore.privacy.samplers.line import PiecewiseGaussian
from dpcore.privacy.samplers.plane import TangentBoxes
from dpcore.privacy.samplers.shapes import draw_truncated_gaussian
from dpcore.privacy.statistics import Density, PlainRisk, RankError, RegularisedRisk
from dpcore.problems.losses import (
    Logistic,
    SquaredDistance,
    absolute_loss,
    hinge_loss,
    huber_loss,
    pinball_loss,
)
from dpcore.problems.parse_tasks import group_rows
from dpcore.problems.regions import Ball, Box, Space
from dpcore.problems.risks import Risk
from tests.risk_problems import quadrature
from tests.small_problems import approx, expect_error, parametrize, seeded

INTERVAL = Ball(np.zeros(1), 1.0)
THREE = absolute_loss(), np.array([-0.4, 0.1, 0.3])


def disc(radius):
    return Ball(np.zeros(2), radius)


def on_grid(density, low, high):
    """Nodes x and the density there by Gauss's rule between kinks; edges and the distribution
    function there.

    F is straight between kinks, so that five nodes a cell leave nothing but rounding.
    """
    knots = np.unique(np.concatenate([np.clip(density.risk.b, low, high), [low, high]]))
    edges = np.unique(np.concatenate([np.linspace(low, high, 2001), knots]))
    nodes, weights = np.polynomial.legendre.leggauss(5)
    x = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2).ravel()
    w = (np.diff(edges)[:, None] * weights / 2).ravel()
    F = np.interp(x, knots, density.risk.values(knots[:, None]))
    potential = density.k * (F + density.mu * (x - density.centre[0]) ** 2 / 2)
    p = np.exp(potential.min() - potential)
    p /= p @ w
    return x, p, edges, np.append(0, np.cumsum((p * w).reshape(-1, 5).sum(1)))


LINES = {
    "many values": (pinball_loss(0.5), np.linspace(-0.8, 0.6, 1001), INTERVAL, 0.006, 334.9),
    "few values": (pinball_loss(0.3), np.array([-0.5, -0.5, 0.2, 0.9]), INTERVAL, 0.5, 40.0),
    "sharp": (pinball_loss(0.5), np.linspace(-1, 1, 41), INTERVAL, 1e-3, 1e5),
    "no regulariser": (*THREE, INTERVAL, 0.0, 25.0),
    "off centre": (
        pinball_loss(0.9),
        np.array([0.0, 0.1, 7.0]),
        Ball(np.array([4.0]), 2.0),
        2.0,
        8.0,
    ),
    "box": (
        pinball_loss(0.9),
        np.array([0.0, 0.1, 5.0]),
        Box(np.array([0.0]), np.array([5.0])),
        0.2,
        3.0,
    ),
    "strong regulariser": (*THREE, INTERVAL, 50.0, 25.0),
    "whole line": (*THREE, Space(np.zeros(1), 1.0), 0.7, 9.0),
}


def line_of(name):
    loss, b, region, mu, k = LINES[name]
    rows = group_rows(b[:, None])
    return Density(Risk(loss, rows.values, rows.weights, location=True), region, k, mu)


@parametrize("name", LINES)
def test_the_line_is_exact_on_every_shape_of_density(name):
    density = line_of(name)
    low, high = (
        (-8.0, 8.0) if name == "whole line" else (float(v[0]) for v in density.region.corners)
    )
    _, _, edges, cdf = on_grid(density, low, high)
    exact = PiecewiseGaussian(density)
    assert (
        exact.cdf(np.array([low - 1, low, high, high + 1])) == [0, 0, 1, 1]
    ).all() or name == "whole line"
    assert np.abs(exact.cdf(edges) - cdf).max() < 1e-9
    assert kstest(exact.draw(4000, seeded(0)), exact.cdf).pvalue > 1e-3
    assert SAMPLERS["line"].draw(density, 0.0, seeded(0)).shape == (1,)


@parametrize("name", ["few values", "sharp", "no regulariser", "strong regulariser"])
def test_pieces_are_inverted_to_the_last_digits(name):
    exact = PiecewiseGaussian(line_of(name))
    piece = np.arange(len(exact.width)).repeat(7)
    target = np.tile([1e-12, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12], len(exact.width))
    assert exact._share_within(piece, exact._invert(piece, target)) == approx(
        target, rel=1e-9, abs=1e-14
    )


def test_ranks_are_drawn_from_their_law():
    target = RankError(pinball_loss(0.4), INTERVAL, True)
    rows = group_rows(np.array([[-0.5], [-0.5], [0.1], [0.7], [0.7]]))
    density = target.density(rows, 5, BoundedRange(1.2))
    edges = np.linspace(-1, 1, 2001)
    x = (edges[1:] + edges[:-1]) / 2
    W = (np.repeat(rows.values[:, 0], rows.weights)[:, None] <= x).mean(0)
    p = quadrature(density.k * np.abs(W - 0.4), 1e-3)
    rng = seeded(0)
    draws = [rank_quantile.draw(density, 0.0, rng)[0] for _ in range(4000)]
    assert (
        kstest(draws, lambda v: np.interp(v, edges, np.append(0, np.cumsum(p) * 1e-3))).pvalue
        > 1e-3
    )


RNG = seeded(3)
A2 = RNG.normal(size=(200, 2))
A2 /= np.maximum(1, np.linalg.norm(A2, axis=1, keepdims=True))
LABELS = np.where(A2 @ [2, -1] + RNG.normal(size=200) > 0, 1.0, -1.0)
TARGETS = A2 @ [1.0, -0.5] + RNG.normal(size=200) / 3


def flat(loss, region, mu, k):
    b = LABELS if loss.margin else TARGETS
    return Density(Risk(loss, np.column_stack([A2, b]), np.ones(200)), region, k, mu)


@cache
def marginals(density):
    """Distribution functions of x₁ and x₂ on a grid."""
    low, high = density.region.corners
    axes = [np.linspace(a, b, 201) for a, b in zip(low, high, strict=True)]
    X = np.stack(
        np.meshgrid(*[(axis[1:] + axis[:-1]) / 2 for axis in axes], indexing="ij"), -1
    ).reshape(-1, 2)
    p = density.potential(X)
    p = np.where(density.region.contains(X), np.exp(p.min() - p), 0).reshape(200, 200)
    p /= p.sum()
    return [(axes[i], np.append(0, np.cumsum(p.sum(1 - i)))) for i in (0, 1)]


def follows(draws, density):
    tests = [
        kstest(draws[:, i], lambda v, axis=axis, cdf=cdf: np.interp(v, axis, cdf)).pvalue
        for i, (axis, cdf) in enumerate(marginals(density))
    ]
    return min(tests) > 1e-3


PLANES = {
    "hinge": flat(hinge_loss(), disc(3.0), 0.05, 60.0),
    "absolute": flat(absolute_loss(), Ball(np.array([0.5, 0.0]), 1.0), 0.2, 300.0),
    "huber in a box": flat(
        huber_loss(0.2), Box(np.array([-1.0, -1.0]), np.array([0.8, 1.0])), 0.0, 80.0
    ),
    "logistic": flat(Logistic(), disc(3.0), 0.02, 100.0),
    "on the boundary": flat(Logistic(), disc(0.4), 0.02, 400.0),
}


@parametrize("name", PLANES)
def test_the_plane_is_exact(name):
    density = PLANES[name]
    rng = seeded(0)
    boxes = TangentBoxes(density, rng)
    draws = boxes.draw(3000, rng)
    assert follows(draws, density)
    assert not follows(draws * 0.9, density), "a wrong scale is seen"
    step = boxes.H * rng.uniform(-1, 1, boxes.H.shape)
    gap = density.potential(boxes.C + step) - boxes.f - (boxes.g * step).sum(1)
    assert gap.min() > -1e-9, "planes lie below"


@parametrize("fallen", [30.0, -2.5])
@parametrize("name", ["logistic", "on the boundary", "on R^d"])
def test_the_logistic_envelope_is_exact_inside_on_the_boundary_and_on_r_d(
    name, fallen, monkeypatch
):
    """Also where one tangent stands for many radii."""
    monkeypatch.setattr(shapes, "REQUIRED_EXPONENT_RISE", fallen)
    density = (PLANES | {"on R^d": flat(Logistic(), Space(np.zeros(2), 1.0), 0.2, 40.0)})[name]
    rng = seeded(1)
    draws = envelope.rejection_sample(density, 3000, rng)
    bounded = density if density.region.is_bounded else flat(Logistic(), disc(6.0), 0.2, 40.0)
    assert follows(draws, bounded)
    assert not follows(draws * 0.9, bounded)
    over = envelope.logistic_envelope(density)
    V = over.draw(4000, rng)
    if isinstance(over, shapes.RadialEnvelope):
        inside = (
            -((V @ over.M) * V).sum(1) / 2
            + np.linalg.slogdet(over.M)[1] / 2
            - math.log(2 * math.pi)
        )
        weight = np.exp(
            inside + over.bound(V) + over.log_mass
        )  # of a normal law, drawn by the envelope
        assert weight.mean() == approx(1, abs=5 * weight.std() / 4000**0.5)
        assert weight.std() < 2
    V = np.concatenate([V, 3 * V])
    V = V[density.region.contains(over.at + V)]
    gap = density.potential(over.at + V) - density.potential(over.at[None]) - over.bound(V)
    assert gap.min() > -1e-6, "the envelope lies above"
    assert np.exp(-gap[:2000]).mean() > 0.1, "and near"


def test_plain_draws_pay_for_what_thinning_adds_to_their_error():
    region = disc(2.0)
    plain, eta = proximal.rounds_and_step(Logistic(), region, 0.0, 40.0, 1e-3)
    pulled = 2 / (40 * 4)
    assert (plain, eta) == proximal.rounds_and_step(
        Logistic(), region, pulled, 40.0, 1e-3 / (1.5 * math.e)
    )
    assert plain > proximal.rounds_and_step(Logistic(), region, pulled, 40.0, 1e-3)[0]
    for tiny in (1e-300, 1e-310):  # k falls with μ, so that the law is all but even on K
        assert proximal.rounds_and_step(Logistic(), region, tiny, tiny, 1e-3)[0] == 1
        assert (
            proximal.rounds_and_step(Logistic(), region, tiny, 40.0, 1e-3)[0] > proximal.MAX_WORK
        ), "which is refused"


def test_rejection_gives_up_only_when_it_is_told_to():
    density = PLANES["logistic"]
    rng = seeded(0)
    assert 0 < len(envelope.rejection_sample(density, 3000, rng, 1)) < 3000
    assert len(envelope.rejection_sample(density, 500, rng)) == 500


CUTS = {
    "ball": (disc(0.6), 6.0),
    "box": (Box(np.full(2, -0.5), np.full(2, 0.4)), 6.0),
    "mean far outside": (Ball(np.array([-0.8, 0.3]), 0.1), 200.0),
    "nearly flat": (disc(0.1), 1e-3),
}


@parametrize("name", CUTS)
def test_the_gaussian_is_cut_off_at_the_region(name):
    region, k = CUTS[name]
    loss = SquaredDistance((-1.0, -1.0), (1.0, 1.0))
    density = Density(Risk(loss, np.array([[0.5, 0.1], [0.3, 0.6]]), np.ones(2)), region, k, 0.3)
    draws = draw_truncated_gaussian(
        (density.risk.mean + 0.3 * region.centre) / 1.3, 1 / (k * 1.3), region, 2000, seeded(0)
    )
    assert follows(draws, density)
    assert not follows(region.centre + 0.9 * (draws - region.centre), density)
    assert region.contains(SAMPLERS["gaussian"].draw(density, 0.0, seeded(1))[None])[0]


def test_the_alternating_sampler_follows_its_law_and_a_negated_sign_does_not(monkeypatch):
    loss = pinball_loss(0.5)
    b = np.array([[-0.6], [-0.2], [0.1], [0.8], [0.9]])
    density = Density(Risk(loss, b, np.ones(5), location=True), INTERVAL, 4.0, 0.5)

    def draws():
        found = []
        x = np.zeros(1)
        tries = 0
        for proposal in alternating.run_proposals(density, 8_000, 0.05, seeded(0), x):
            tries += 1
            if proposal.accepted:
                found.append(proposal.x[0])
        assert tries / len(found) == approx(2.0, abs=0.1)
        return found[300::12]

    exact = PiecewiseGaussian(density).cdf
    assert kstest(draws(), exact).pvalue > 1e-3
    real = alternating.estimate_exponential
    monkeypatch.setattr(
        alternating,
        "estimate_exponential",
        lambda difference, rng: real(lambda: -difference(), rng),
    )
    assert kstest(draws(), exact).pvalue < 1e-3


def test_the_alternating_schedule_pays_for_every_step():
    T, eta = alternating.rounds_and_step(
        RegularisedRisk(pinball_loss(0.5), INTERVAL, 0.6, True), 3.0, 1e-2
    )
    assert T < 10_000
    alpha = 3.0 * 0.6
    sigma = 3.0 * 0.5 * math.sqrt(2 * eta / (1 + eta * alpha))
    assert T * alternating.step_error(sigma) <= 0.5e-2 * 1.001
    mixing = math.sqrt(1 / (2 * eta) * (1 + eta * alpha) ** (-2 * (T - 1)) / 2)
    assert mixing <= 0.5e-2 * 1.001


def test_the_first_sampler_that_serves_is_chosen_and_others_say_why_not():
    plane = disc(1.0)
    four = Ball(np.zeros(4), 1.0)
    sharp = RegularisedRisk(hinge_loss(), plane, 1.0)
    for target, paid, unpaid in (
        (RegularisedRisk(pinball_loss(0.5), INTERVAL, 1.0, True), "line", "line"),
        (RegularisedRisk(huber_loss(0.5), INTERVAL, 1.0, True), "plane", "plane"),
        (sharp, "plane", "plane"),
        (RegularisedRisk(Logistic(), plane, 1.0), "logistic", "plane"),
        (
            RegularisedRisk(SquaredDistance((0.0,) * 4, (1.0,) * 4), four, 0.0),
            "gaussian",
            "gaussian",
        ),
        (RegularisedRisk(hinge_loss(), four, 1.0), "proximal", None),
        (PlainRisk(hinge_loss(), four), "proximal", None),
        (RegularisedRisk(Logistic(), four, 1.0), "logistic", None),
        (PlainRisk(Logistic(), four), "logistic", None),
    ):
        assert choose_sampler(target, 1e-9) == paid
        if unpaid:
            assert choose_sampler(target, 0.0) == unpaid
        else:
            with expect_error("no sampler serves here.*theta must be above 0"):
                choose_sampler(target, 0.0)
    with expect_error("never exactly: theta must be above 0"):
        SAMPLERS["proximal"].require_supported(sharp, 10.0, 0.0, 50)
    with expect_error("rounds over n=1,000,000 rows"):
        SAMPLERS["proximal"].require_supported(
            RegularisedRisk(hinge_loss(), plane, 1e-4), 1e6, 1e-9, 10**6
        )
    with expect_error("n ≤ 200, not 201"):
        SAMPLERS["alternating"].require_supported(sharp, 10.0, 1e-9, 201)
    with expect_error("needs too many boxes"):
        SAMPLERS["plane"].require_supported(sharp, 1e8, 0.0, 50)
    SAMPLERS["plane"].require_supported(sharp, 1e6, 0.0, 50)
