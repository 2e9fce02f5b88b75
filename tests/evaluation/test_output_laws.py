"""Exact laws against draws of the library's own runs and against quadrature."""

from dataclasses import replace

import numpy as np
from scipy.stats import kstest

from dpcore import ALGORITHMS, Budget, RiskMinimisation, Rows, Run
from dpcore.evaluation import output_laws as laws
from dpcore.problems.losses import Logistic, pinball_loss
from dpcore.problems.parse_tasks import group_rows
from dpcore.problems.regions import Ball
from tests.risk_problems import risk_problem
from tests.small_problems import BUDGET, approx, expect_error, final_errors, parametrize, seeded


def column(n=5000):
    b = (
        seeded(0).gamma(2, 0.15, (n, 1)).clip(0, 2).round(1) - 1
    )  # few values, between which a law is no straight line
    return RiskMinimisation(pinball_loss(0.5), Ball(np.zeros(1), 1.0), n, ("x",), True), group_rows(
        b
    )


@parametrize("stages, calibration, budget", [(1, "sco", BUDGET), (3, "erm", Budget(8, 1e-6))])
def test_the_law_of_a_line_is_that_of_the_runs(stages, calibration, budget):
    problem, rows = column(400)
    law = laws.line_law(problem, rows, budget, stages=stages, calibration=calibration)
    algorithm = ALGORITHMS["regularized_exponential"](stages=stages, calibration=calibration)
    runs = [Run(algorithm, problem, rows, budget, seed=s).finish() for s in range(300)]
    x = np.array([run.release.x[0] for run in runs])
    excess = np.array([final_errors(run).excess_risk for run in runs])
    assert excess.mean() == approx(law.mean_excess_risk, abs=4.5 * excess.std() / np.sqrt(300))
    below = np.concatenate([[0.0], np.cumsum(law.density * (law.x[1] - law.x[0]))])
    ends = np.append(law.x, 2 * law.x[-1] - law.x[-2]) - (law.x[1] - law.x[0]) / 2
    assert below[-1] == approx(1, abs=1e-3)
    assert kstest(x, lambda v: np.interp(v, ends, below)).pvalue > 1e-3
    assert (
        kstest(law.truth + (x - law.truth) * 0.6, lambda v: np.interp(v, ends, below)).pvalue < 1e-3
    )
    low, high = np.interp(
        [law.truth - law.radius_of_90_percent, law.truth + law.radius_of_90_percent], ends, below
    )
    assert high - low == approx(0.9, abs=2e-3)
    assert law.truth == approx(laws.nonprivate_minimiser(problem, rows)[0])
    assert law.stages == stages


def test_stages_by_quadrature_are_those_of_finer_grids_and_of_shared_values(monkeypatch):
    problem, rows = column(3000)
    problem = RiskMinimisation(problem.loss, problem.region, 6000, problem.names, True)
    both = Rows(
        np.append(rows.values, [[-0.5]], 0), np.append(rows.weights, 3000)
    )  # half of them share a value
    coarse = laws.line_law(problem, both, BUDGET, stages=3)
    monkeypatch.setattr(laws, "QUADRATURE_CENTRES", 900)
    monkeypatch.setattr(laws, "LAW_CELLS", 6000)
    fine = laws.line_law(problem, both, BUDGET, stages=3)
    assert coarse.mean_excess_risk == approx(fine.mean_excess_risk, rel=0.01)
    assert coarse.radius_of_90_percent == approx(fine.radius_of_90_percent, rel=0.02)


def test_means_of_the_excess_are_those_of_quadrature():
    problem, rows = column(300)
    law = laws.line_law(
        problem,
        rows,
        BUDGET,
        factor=0.05 / laws._plan_exponential_mechanism(problem, BUDGET)["mu_star"],
    )
    density = laws._line_density(
        problem, rows, laws._plan_exponential_mechanism(problem, BUDGET, mu=0.05)
    )
    x = np.linspace(-1, 1, 100_001)
    F = laws.location_risk_values(density.risk, x)
    few = np.array([[-0.7], [0.1], [0.8]])
    assert laws.location_risk_values(density.risk, few[:, 0]) == approx(
        density.risk.values(few), abs=1e-12
    )
    p = np.exp(-density.k * (F + 0.05 * x * x / 2 - F.min()))
    assert law.mean_excess_risk == approx(p @ (F - F.min()) / p.sum(), rel=1e-3)


def test_the_curve_over_mu_passes_through_the_law_at_the_theorys():
    problem, rows = column()
    mus, excess, star = laws.mean_excess_risk_by_mu(problem, rows, BUDGET)
    assert mus[15] == approx(star)
    assert excess[15] == approx(laws.line_law(problem, rows, BUDGET).mean_excess_risk, rel=0.15), (
        "coarsened"
    )
    assert excess[15] <= 2 * star * 0.5, "within the theory's bound, μR²"


def test_the_law_of_a_plane_is_where_the_draws_are(monkeypatch):
    monkeypatch.setattr(laws, "PLANE_DRAWS", 400)
    problem, rows = risk_problem("logistic on R^d")
    problem = RiskMinimisation(Logistic(), Ball(np.zeros(2), 3.0), problem.n, problem.names)
    law = laws.plane_law(problem, rows, Budget(3, 1e-3))
    assert law.probability.sum() == approx(1)
    for axis, places in ((0, law.x1), (1, law.x2)):
        mean = law.probability.sum(axis) @ places
        assert law.draws[:, axis].mean() == approx(
            mean, abs=4.5 * law.draws[:, axis].std() / 20 + 0.02
        )
    assert np.nanmin(law.excess) > -1e-9
    with expect_error("two coefficients"):
        laws.plane_law(risk_problem("logistic")[0], rows, BUDGET)
    with expect_error("quantile or a median"):
        laws.line_law(problem, rows, BUDGET)


@parametrize("epsilon", [0.3, 1.0, 3.0])
def test_neighbours_are_kept_apart_by_no_more_than_the_gaussian(epsilon):
    grid = np.linspace(0, epsilon, 9)
    exact, s = laws.median_delta_curve(Budget(epsilon, 1e-3), grid, 40)
    promised = laws.gaussian_delta_curve(s, grid)
    assert (exact <= promised).all()
    assert exact[0] > promised[0] / 3
    assert promised[-1] <= 1e-3


def test_records_are_split_into_disjoint_groups():
    rows = Rows(np.arange(6.0)[:, None], np.array([1, 2, 3, 4, 5, 5]))
    seen, out = laws.split_rows(rows, 0.25, 3)
    assert (seen.n, out.n) == (15, 5)
    both = np.zeros(6)
    for part in (seen, out):
        both[part.values[:, 0].astype(int)] += part.weights
    assert (both == rows.weights).all()


def test_the_walk_has_a_round_for_every_accepted_proposal():
    b, proposals = laws.sampler_walk_on_invented_rows()
    assert sum(p.accepted for p in proposals) == 12
    assert [p.round for p in proposals if p.accepted] == list(range(1, 13))
    assert 1 < len(proposals) / 12 < 4
    assert (abs(b) <= 1).all()


def test_calibrations_say_what_exactness_saves():
    table = laws.calibration_table(1e-6)
    assert (table["exact"] > table["printed"]).all()
    assert (table["spent"] > 1.3e-6).all()
    row = table.iloc[(table["epsilon"] - 1).abs().argmin()]
    assert row["epsilon"] == approx(1)
    assert row["exact"] == approx(0.2367043807)


@parametrize("level, budget", [(0.5, Budget(0.5, 0)), (0.9, BUDGET)])
def test_nine_of_ten_answers_by_ranks_are_as_near_as_their_law_says(level, budget):
    problem, rows = column(400)
    problem = replace(problem, loss=pinball_loss(level))
    radius = laws.rank_radius_of_90_percent(problem, rows, budget)
    algorithm = ALGORITHMS["rank_exponential"]()
    runs = [Run(algorithm, problem, rows, budget, seed=s).finish() for s in range(400)]
    x = [run.release.x[0] for run in runs]  # type: ignore
    off = np.abs([answer - laws.nonprivate_minimiser(problem, rows)[0] for answer in x])
    assert (off <= radius).mean() == approx(0.9, abs=0.06)
    assert (off <= 0.7 * radius).mean() < 0.86
