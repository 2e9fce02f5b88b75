"""The exponential mechanism on a public grid: its laws, and what rounding takes of ε."""

import itertools
from collections import Counter

import numpy as np
from scipy.stats import kstest

from dpcore import Budget, RiskMinimisation
from dpcore.algorithms.risk.exponential_samplers import RankExponential
from dpcore.privacy import mechanisms
from dpcore.privacy.curators.risk_curator import RiskCurator
from dpcore.privacy.samplers import SAMPLERS, lattice, rank_quantile
from dpcore.privacy.samplers.line import PiecewiseGaussian
from dpcore.privacy.statistics import Density, PlainRisk, RankError
from dpcore.problems.losses import (
    Logistic,
    SquaredDistance,
    absolute_loss,
    hinge_loss,
    huber_loss,
    pinball_loss,
)
from dpcore.problems.parse_tasks import group_rows
from dpcore.problems.regions import Ball, Box
from dpcore.problems.risks import Risk
from tests.privacy.test_samplers import INTERVAL, disc, flat, follows
from tests.small_problems import (
    approx,
    data_sets,
    expect_error,
    parametrize,
    seeded,
    softmax,
)

SPAN = SquaredDistance((-1.0, -1.0), (1.0, 1.0))
TWO = Risk(SPAN, np.array([[0.5, 0.1], [0.3, 0.6]]), np.ones(2))
LINES = {
    "few values": (np.array([-0.4, 0.1, 0.3]), 25.0),
    "many values": (np.linspace(-0.8, 0.6, 1001), 335.0),
    "values beyond the ends": (np.array([-7.0, 0.1, 9.0, 9.0]), 6.0),
    "nearly flat": (np.array([-0.4, 0.1, 0.3]), 1e-3),
}
PLANES = {
    "hinge": flat(hinge_loss(), disc(3.0), 0.0, 60.0),
    "absolute, off centre": flat(absolute_loss(), Ball(np.array([0.5, 0.0]), 1.0), 0.0, 60.0),
    "huber in a box": flat(
        huber_loss(0.2), Box(np.array([-1.0, -1.0]), np.array([0.8, 1.0])), 0.0, 80.0
    ),
    "logistic, off centre": flat(Logistic(), Ball(np.array([0.5, 0.2]), 0.4), 0.0, 100.0),
    "a mean in a ball": Density(TWO, disc(0.6), 6.0, 0.0),
    "a mean in a box": Density(TWO, Box(np.full(2, -0.5), np.full(2, 0.4)), 6.0, 0.0),
}


def many(draw, density, count):
    rng = seeded(1)
    return np.array([draw(density, 0.0, rng) for _ in range(count)])


@parametrize("name", LINES)
def test_the_grid_follows_the_law_on_a_line(name):
    b, k = LINES[name]
    density = Density(
        Risk(pinball_loss(0.3), b[:, None], np.ones(len(b)), location=True), INTERVAL, k, 0.0
    )
    x = many(lattice.draw, density, 400)[:, 0]
    exact = PiecewiseGaussian(density).cdf
    assert kstest(x, exact).pvalue > 1e-3
    assert kstest(0.6 * x - 0.15, exact).pvalue < 1e-3, "another law is seen"


@parametrize("name", PLANES)
def test_the_grid_follows_the_law_in_the_plane(name):
    density = PLANES[name]
    x = many(lattice.draw, density, 150)
    assert follows(x, density)
    assert not follows(density.region.centre + 0.6 * (x - density.region.centre) + 0.15, density)


def test_digits_of_a_cell_are_geometric():
    rng = seeded(0)
    slope = np.array([[0.3, -0.3, 0.0, 40.0]]).repeat(4000, axis=0)
    j = lattice._draw_truncated_geometric(slope, np.full(slope.shape, 3), rng)
    p = np.exp(-np.outer(slope[0], np.arange(8)))
    p /= p.sum(axis=1, keepdims=True)
    seen = np.array([np.bincount(column, minlength=8) for column in j.T]) / 4000
    assert seen == approx(p, abs=0.035)


def test_a_row_counts_in_its_own_cell_and_beyond_the_ends_in_the_last():
    values = np.array([-9.0, -1.0, -1 + 2.0**-38, 0.0, 1.0, 9.0])
    assert rank_quantile.grid_cells(values, -1.0, 1.0).tolist() == [
        0,
        0,
        2,
        2**39,
        2**40 - 1,
        2**40 - 1,
    ]
    assert rank_quantile.cell_middle(2**39, -1.0, 1.0) == 2.0**-40


def test_rounding_is_taken_off_epsilon_and_refused_where_it_is_much(monkeypatch):
    target = RankError(pinball_loss(0.5), INTERVAL, True)
    assert SAMPLERS["rank"].share_after_rounding(target, 0.5e6, 10**6) == approx(1, abs=1e-8)
    assert SAMPLERS["rank"].share_after_rounding(target, 0.5e6, 10**6) < 1
    with expect_error("rounding would take .* of epsilon for n=1,000,000 rows"):
        SAMPLERS["rank"].require_supported(target, 1e-6, 0.0, 10**6)
    plain = PlainRisk(Logistic(), disc(1.0))
    assert 1 - SAMPLERS["grid"].share_after_rounding(plain, 1e3, 10**4) < 1e-5
    with expect_error("rounding would take"):
        SAMPLERS["grid"].require_supported(plain, 1e3, 0.0, 10**7)
    scales = []
    real = mechanisms.exponential
    monkeypatch.setattr(
        mechanisms, "exponential", lambda s, *rest: scales.append(s) or real(s, *rest)
    )
    risk = Risk(pinball_loss(0.5), np.zeros((4, 1)), np.ones(4), location=True)
    rank_quantile.draw(Density(risk, INTERVAL, 10.0, 0.0), 0.0, seeded(0))
    assert scales[0] == approx(np.log(2.0**39) - 5.0), "two pieces, each half a share off"


@parametrize("d, loss", [(3, hinge_loss()), (3, SPAN)])
def test_more_than_two_coefficients_are_refused_but_for_means_within_a_box(d, loss):
    with expect_error("at most 2 coefficients, or means within a box"):
        SAMPLERS["grid"].require_supported(PlainRisk(loss, Ball(np.zeros(d), 1.0)), 1.0, 0.0, 50)


class ChosenCell:
    """In a generator's place: it chooses one cell of a piece, and keeps how many there are."""

    def __init__(self, cell):
        self.cell = cell
        self.cells = 0

    def integers(self, cells):
        self.cells = int(cells)
        return self.cell


def law_of_quantile(monkeypatch, problem, budget, data):
    """The exact probability of every answer to a quantile of these rows, as the curator draws it."""
    learner = RankExponential()
    plan = learner.plan(problem, budget)
    rows = group_rows(np.array(data)[:, None])
    law = {}
    piece, pieces = 0, 1
    while piece < pieces:
        given = []

        def choose(scores, scale, _draws, _rng, piece=piece, given=given):
            given.append(scores / scale)
            return [piece]

        monkeypatch.setattr(mechanisms, "exponential", choose)
        cell, cells = 0, 1
        while cell < cells:
            rng = ChosenCell(cell)
            curator = RiskCurator(rows, problem.n, plan, rng, group=problem.group)  # type: ignore
            (step,) = learner.steps(problem, plan, curator, seeded(0))
            answer = float(step.release.x[0])  # type: ignore
            cells = rng.cells
            law[answer] = softmax(given[-1])[piece] / cells
            cell += 1
        pieces = len(given[-1])
        piece += 1
    return law


@parametrize("n, group, level", [(3, 1, 0.5), (3, 1, 0.9), (4, 1, 0.5), (4, 2, 0.5), (5, 2, 0.5)])
def test_a_private_quantile_keeps_its_promise_on_all_neighbours(monkeypatch, n, group, level):
    """By enumeration of every answer on a grid of eight cells, and of every pair of tables."""
    monkeypatch.setattr(rank_quantile, "GRID_BITS", 3)
    budget = Budget(0.9, 0.0)
    values = (-1.0, -0.2, 0.3, 1.0)
    problem = RiskMinimisation(pinball_loss(level), INTERVAL, n, ("y",), True, group)
    laws = {
        data: law_of_quantile(monkeypatch, problem, budget, [values[i] for i in data])
        for data in data_sets(len(values), n)
    }
    ratios = []
    for x, y in itertools.combinations(laws, 2):
        shared = sum((Counter(x) & Counter(y)).values())
        if n - shared > group:
            continue
        assert laws[x].keys() == laws[y].keys(), "whatever can be answered of one table"
        assert sum(laws[x].values()) == approx(1, abs=1e-12)
        ratios.append(np.log([laws[x][answer] / laws[y][answer] for answer in laws[x]]))
    assert len(laws[x]) == 8
    largest_span = max(np.ptp(ratio) for ratio in ratios)
    assert largest_span <= 0.9 * (1 + 1e-9), "ε₀-bounded range"
    if level == 0.5:
        assert largest_span >= 0.9 * (1 - 1e-6), "no noise is wasted"
