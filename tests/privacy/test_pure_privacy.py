"""What is promised at δ = 0 lies on a public grid and is drawn without rounding, in seeded runs
too.

The support of an output must not depend on rows: a value that one data set allows and its neighbour
does not tells them apart for certain, whatever ε is.
"""

import math

import numpy as np

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease, Run
from dpcore.core.parameters import build_from_texts
from dpcore.privacy import exact_samplers
from dpcore.privacy.accounting import BoundedRange, Gaussian, Pure
from dpcore.privacy.curators.point_curator import PointCurator
from dpcore.privacy.curators.risk_curator import RiskCurator
from dpcore.privacy.statistics import (
    CellAnswers,
    MeanGradient,
    PlainRisk,
    RegularisedMinimiser,
    Votes,
)
from dpcore.problems import PointRelease, RiskMinimisation
from dpcore.problems.losses import Logistic, SquaredDistance, pinball_loss
from dpcore.problems.parse_tasks import group_rows, read_task
from dpcore.problems.regions import Ball, Box
from tests import point_problems, risk_problems
from tests.every_problem import problem_and_records
from tests.privacy.enumerated_neighbours import curator_of
from tests.privacy.test_exact_neighbours import WORKLOADS
from tests.small_problems import (
    QUERIES,
    approx,
    expect_error,
    few_rounds,
    ignore_privacy_warnings,
    parametrize,
    rows_in_cells,
    seeded,
)

PURE = Budget(1, 0)
POINTS = {name: cls for name, cls in ALGORITHMS.items() if cls.problem is PointRelease}
CASES = [
    *((name, where) for name in QUERIES for where in ("2-way", "mixed", "explicit", "union")),
    *((name, where) for name in POINTS for where in point_problems.REGIONS),
    *((name, where) for name in risk_problems.LEARNERS for where in risk_problems.TASKS),
]


def built(name):
    cls = ALGORITHMS[name]
    return build_from_texts(cls, few_rounds(name)) if cls.problem is QueryRelease else cls()


@ignore_privacy_warnings
@parametrize("name, where", CASES)
def test_all_that_is_promised_at_delta_0_is_drawn_without_rounding_or_refused(
    name, where, monkeypatch
):
    """Noise is in whole steps of a size that public numbers give, and no float ever serves as
    noise.
    """
    problem, rows = problem_and_records(name, where)
    try:
        run = Run(built(name), problem, rows, PURE)
    except InputError:  # from public numbers: nothing was charged
        return

    def rounded(*_):
        raise AssertionError("noise in floating point at delta=0")

    def stepped(counts, scale, rng, law=exact_samplers.laplace):
        out = law(counts, scale, rng)
        if scale > 0:
            step = 2.0 ** math.frexp(max(scale, exact_samplers.MIN_SCALE) * (1 + 1e-12))[1] / (
                2 * exact_samplers.MIN_STEPS_PER_SCALE
            )
            assert (out / step == np.rint(out / step)).all()
            assert (counts == np.rint(counts)).all()
        return out

    monkeypatch.setattr("dpcore.privacy.mechanisms.laplace", rounded)
    monkeypatch.setattr("dpcore.privacy.mechanisms.gaussian", rounded)
    monkeypatch.setattr("dpcore.privacy.exact_samplers.laplace", stepped)
    run.finish()
    charged = [spend for _, spend in run.events]
    assert charged or run.plan["rounds"] == 0
    assert not any(isinstance(spend, Gaussian) for spend in charged)
    assert run._curator.exact_draw_counts.total() == len(charged), (
        "every use of the budget was drawn exactly"
    )
    if isinstance(problem, RiskMinimisation):
        x = run.release.x
        assert x == approx(nearest_middle(problem.region, x, name), rel=0, abs=0)


def nearest_middle(region, x, name):
    """The middle of the public grid's cell that x lies in, from public numbers and the cell's
    number.
    """
    (low, high), c = region.corners, region.centre
    if name == "rank_exponential":
        cell = np.floor((x - low) / (high - low) * 2.0**40)
        return low + (high - low) * ((cell + 0.5) / 2.0**40)
    step = ((high - c) - (low - c)) / 2.0**30
    cell = np.rint((x - c - (low - c)) / step - 0.5)
    return region.project(c + ((low - c) + (cell + 0.5) * step))


@ignore_privacy_warnings
@parametrize("name", ["rank_exponential", "exponential"])
@parametrize(
    "text", ["quantile:y:0.5", "absolute:y", "huber:y:x:1.5", "mean:x,y", "logistic:label:x"]
)
def test_outputs_of_two_neighbours_have_the_same_possible_digits(name, text):
    """Each output of either data set is the middle of a cell: a set that no row takes part in."""
    table = risk_problems.learning_table(30)
    other = table.copy()
    other.loc[0, ["x", "y"]] = [-1.237, 9.871]
    for frame in (table, other):
        problem, rows = read_task(text, risk_problems.DOMAIN, frame)
        for seed in range(8):
            try:
                run = Run(ALGORITHMS[name](), problem, rows, PURE, seed=seed)
            except InputError:
                assert name == "rank_exponential"
                return
            x = run.finish().release.x
            assert (x == nearest_middle(problem.region, x, name)).all()


def test_what_has_no_grid_is_refused_at_delta_0_before_the_charge():
    disc = Ball(np.zeros(2), 1.0)
    line = Ball(np.zeros(1), 1.0)
    points = group_rows(seeded(0).uniform(-0.5, 0.5, (9, 3)))
    spend = Pure(0.5)
    for statistic in (
        MeanGradient(Logistic(), disc, np.zeros(2), 1.0),
        RegularisedMinimiser(Logistic(), disc, 0.1, 0.1, 9),
    ):
        curator = curator_of(points, spend, kind=RiskCurator, budget=PURE)
        with expect_error("delta=0: .* lies on no public grid"):
            curator.measure(statistic, spend)
        assert curator.budget_meter.events == []
    workload = WORKLOADS["2-way"]
    curator = curator_of(rows_in_cells(workload.domain, [0, 3]), spend, budget=PURE)
    with expect_error("delta=0: CellAnswers lies on no public grid"):
        curator.measure(CellAnswers(workload, subspace=True), spend)
    assert curator.budget_meter.events == []
    numbers = group_rows(seeded(0).uniform(-1, 1, (9, 1)))
    ranged = BoundedRange(0.5)
    for sampler in ("line", "plane", "gaussian", "proximal"):
        loss = SquaredDistance((-1.0,), (1.0,)) if sampler == "gaussian" else pinball_loss(0.5)
        curator = curator_of(numbers, ranged, kind=RiskCurator, budget=PURE)
        with expect_error(f"delta=0: the sampler {sampler} draws in floating point"):
            curator.draw_parameter(PlainRisk(loss, line, sampler != "gaussian"), sampler, ranged)
        assert curator.budget_meter.events == []


def test_votes_at_delta_0_get_exact_noise_in_seeded_runs():
    points = group_rows(seeded(0).uniform(-0.5, 0.5, (9, 2)))
    curator = curator_of(points, Pure(0.5), kind=PointCurator, budget=PURE)
    values = curator.measure(Votes(np.eye(2)), Pure(0.5)).values
    step = 2.0 ** math.frexp(4.0)[1] / (2 * exact_samplers.MIN_STEPS_PER_SCALE)
    assert values * 9 / step == approx(np.rint(values * 9 / step), rel=1e-12)
    assert curator.exact_draw_counts == {"Laplace noise": 1}


def test_a_box_of_means_in_many_dimensions_is_served():
    box = Box(np.zeros(6), np.full(6, 2.0))
    rows = group_rows(seeded(0).uniform(0, 2, (5000, 6)))
    target = PlainRisk(SquaredDistance((0.0,) * 6, (2.0,) * 6), box)
    curator = curator_of(rows, BoundedRange(1000.0), kind=RiskCurator, budget=Budget(1000, 0))
    x = curator.draw_parameter(target, "grid", BoundedRange(1000.0))
    assert x == approx(rows.values.mean(axis=0), abs=0.02)
