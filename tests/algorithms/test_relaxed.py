"""GEM and RAP: the fit's gradient and optimum, the arithmetic of their charges, and their noiseless limit."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import make_plan
from dpcore.algorithms.multiplicative_weights import SHARES
from dpcore.data import samples
from dpcore.errors import InputError
from dpcore.evaluation.run import Run
from dpcore.models.product_mixture import Generator, MixtureFit, Noisy, RelaxedRows, Target
from dpcore.privacy.accounting.budget import Accounting, Budget, Gaussian, Pure
from dpcore.privacy.measurement import Measurement, deviation
from dpcore.privacy.statistics.answers import Answers, SomeAnswers
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals, TableQueries, Union
from dpcore.workloads.products import Products, blocks
from tests.helpers import codes, random_rows, signs, softmax, task

BOTH = pytest.mark.parametrize("name", ["gem", "rap"])
MAKERS = pytest.mark.parametrize("make", [Generator, RelaxedRows])
CUBE = codes(3, 2, 4)
WORKLOADS = {
    "tables": Marginals.all(CUBE, 2),
    "signs": signs(CUBE, 4),
    "union": Union([Marginals.all(CUBE, 1), signs(CUBE, 2), TableQueries.ranges(CUBE, ["c"])]),
}


def fitted(workload, make, seed: int = 0, C: int = 3) -> tuple[MixtureFit, list[Target]]:
    rng = np.random.default_rng(seed)
    base = np.concatenate([np.log(rng.dirichlet(np.ones(size))) for size in workload.domain.shape])
    some = np.sort(rng.permutation(workload.m)[: -(-workload.m // 2)])
    targets = [
        Target(Products(workload, js), rng.normal(size=len(js)), rng.uniform(1, 9, len(js)))
        for js in (some, np.arange(1))
    ]
    return MixtureFit(workload, make(base, C, rng), base), targets


@MAKERS
@pytest.mark.parametrize("where", WORKLOADS)
def test_the_gradient_of_every_parameter_is_that_of_the_objective(where, make):
    fit, targets = fitted(WORKLOADS[where], make)
    value, g = fit.objective(targets, 2.5)
    gradients = fit.logits.backward(g)
    direct = sum(t.precision @ (t.products.answers(fit.p, fit.weights) - t.y) ** 2 for t in targets) / 2
    prior = (fit.p * np.log(fit.p / np.exp(fit.base))).sum() / 3
    assert value == pytest.approx(direct + 2.5 * prior)
    rng = np.random.default_rng(1)
    for parameter, gradient in zip(fit.logits.parameters, gradients, strict=True):
        assert parameter.shape == gradient.shape
        for _ in range(5):
            way, before, sides = rng.normal(size=parameter.shape), parameter.copy(), []
            for step in (1e-5, -1e-5):
                parameter[...] = before + step * way
                fit._make()
                sides.append(fit.objective(targets, 2.5)[0])
            parameter[...] = before
            assert (sides[0] - sides[1]) / 2e-5 == pytest.approx((way * gradient).sum(), rel=1e-6, abs=1e-6)


@MAKERS
def test_probabilities_are_positive_and_sum_to_one_in_every_column(make):
    fit, targets = fitted(WORKLOADS["tables"], make, C=5)
    fit.descend(targets, 0.1, 30)
    for block in blocks(CUBE):
        assert fit.p[block].sum(axis=0) == pytest.approx(np.ones(5))
    assert (fit.p >= 0).all()
    assert fit.p.shape == (9, 5)
    assert fit.weights.sum() == pytest.approx(1)


@MAKERS
def test_one_component_tends_to_the_optimum_of_the_objective(make):
    """With C = 1 the objective is a small problem for scipy."""
    fit, targets = fitted(WORKLOADS["signs"], make, seed=3, C=1)
    for _ in range(4):
        fit.descend(targets, 2.0, 200)
    found = fit.objective(targets, 2.0)[0]
    parts = blocks(CUBE)

    def value(x: np.ndarray) -> float:
        p = np.concatenate([softmax(x[part]) for part in parts])[:, None]
        gaps = [(t, t.products.answers(p, np.ones(1)) - t.y) for t in targets]
        loss = sum(t.precision @ gap**2 for t, gap in gaps) / 2
        return loss + 2 * float(p[:, 0] @ (np.log(p[:, 0]) - fit.base[:, 0]))

    starts = np.random.default_rng(0).normal(size=(6, 9))
    best = min(minimize(value, start, method="BFGS").fun for start in starts)
    assert found == pytest.approx(best, abs=1e-3 * abs(best))


def test_a_heavy_prior_gives_the_product_and_none_the_answers():
    workload = WORKLOADS["tables"]
    fit, _ = fitted(workload, RelaxedRows, C=20)
    truth = workload.answers(np.random.default_rng(5).dirichlet(np.ones(24)))
    target = [Target(Products(workload), truth, np.full(workload.m, 1e6))]
    fit.descend(target, 0.0, 800)
    assert np.abs(Products(workload).answers(fit.p, fit.weights) - truth).max() < 0.005
    fit.descend(target, 1e9, 600)
    assert np.abs(fit.p - np.exp(fit.base)).max() < 0.01


def test_what_is_measured_again_is_averaged_by_precision_and_counts_once():
    workload = WORKLOADS["tables"]
    noisy = Noisy(workload)
    assert noisy.targets() == []
    first, second = workload.tables[:2]
    noisy.add(second, np.full(12, 5.0), 1.0)
    noisy.add(first, np.full(6, 1.0), 0.5)
    noisy.add(first, np.full(6, 3.0), 0.25)
    (target,) = noisy.targets()
    assert target.y.tolist() == pytest.approx([(4 * 1 + 16 * 3) / 20] * 6 + [5.0] * 12)
    assert target.precision.tolist() == pytest.approx([20.0] * 6 + [1.0] * 12)
    p = np.concatenate([np.full((size, 2), 1 / size) for size in CUBE.shape])
    assert target.products.answers(p, np.full(2, 0.5)) == pytest.approx([1 / 6] * 6 + [1 / 12] * 12)


BUDGETS = [Budget(1, 1e-6), Budget(0.01, 1e-9), Budget(9, 1e-4), Budget(1, 0), Budget(20, 0)]
CHARGED = [
    (settings, each)
    for settings, each in (
        ({}, 1), ({"first": 0.4}, 1), ({"first": 0.0, "measure": "query"}, 1), ({"measure": "query"}, 1),
        ({"queries": 3}, 3), ({"queries": 2, "first": 0.0}, 2),
    )
]  # fmt: skip


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("settings", "each"), CHARGED, ids=str)
def test_the_whole_budget_is_divided_as_the_docstring_says(settings, each, budget):
    settings = {"rounds": 7, "first": 0.1} | settings | ({"queries": each} if each > 1 else {})
    algorithm = ALGORITHMS["rap" if each > 1 else "gem"](**settings)
    plan = make_plan(algorithm, task("2-way")[0], budget)
    select, measure, *single = (charge.spend for charge in plan.charges)
    assert [charge.times for charge in plan.charges] == [7 * each, 7 * each] + [1] * (algorithm.first > 0)
    share = SHARES[plan["measure"]]
    if budget.delta > 0:
        assert type(measure) is Gaussian
        whole = plan.sums.rho
        rest = (1 - algorithm.first) * whole
        assert 7 * each * select.epsilon**2 / 8 == pytest.approx((1 - share) * rest)
        assert 7 * each * measure.mu**2 / 2 == pytest.approx(share * rest)
        assert [s.mu**2 / 2 for s in single] == pytest.approx([algorithm.first * whole] * len(single))
        assert 1.05 * budget.rho < whole
        assert plan.accounting is Accounting.OPTIMAL
        assert plan.sums.epsilon(budget.delta, plan.accounting) == pytest.approx(budget.epsilon, rel=1e-4)
    else:
        assert type(measure) is Pure
        rest = (1 - algorithm.first) * budget.epsilon
        assert 7 * each * select.epsilon == pytest.approx((1 - share) * rest)
        assert 7 * each * measure.epsilon == pytest.approx(share * rest)
        assert [s.epsilon for s in single] == pytest.approx([algorithm.first * budget.epsilon] * len(single))
        assert plan.sums.pure <= budget.epsilon


class Exact:
    """A curator's stand-in without noise that keeps what it was asked."""

    def __init__(self, workload, rows) -> None:
        self.truth, self.rows, self.asked = workload.answers_of_rows(rows), rows, []

    def select(self, score, spend) -> int:
        scores = score.value(self.truth)
        self.asked.append(("select", spend, np.abs(scores).max(), score.answers))
        return int(np.argmax(scores))

    def measure(self, statistic, spend) -> Measurement:
        self.asked.append(("measure", spend, statistic))
        assert isinstance(statistic, Answers | SomeAnswers)
        values = statistic.workload.answers_of_rows(self.rows)[getattr(statistic, "part", slice(None))]
        return Measurement(values, deviation(statistic, spend, self.rows.n), statistic, spend)


ENDLESS = Budget(1e6, 1e-6)


def exact_run(name: str, where: str, budget: Budget = ENDLESS, **settings):
    problem, rows = task(where)
    algorithm = ALGORITHMS[name](**settings)
    plan, curator = make_plan(algorithm, problem, budget), Exact(problem.workload, rows)
    steps = list(algorithm.steps(problem, plan, curator, np.random.default_rng(0)))
    return problem, plan, curator, steps


@BOTH
@pytest.mark.parametrize("measure", ["query", "marginal"])
def test_each_charge_pays_for_what_it_was_planned_for(name, measure):
    _, plan, curator, steps = exact_run(name, "2-way", rounds=3, measure=measure, updates=1)
    select, paid, single = (charge.spend for charge in plan.charges)
    each = plan["queries"] if name == "rap" else 1
    assert [(verb, spend) for verb, spend, *_ in curator.asked] == [
        ("measure", single),
        *[("select", select), ("measure", paid)] * (3 * each),
    ]
    singles = curator.asked[0][2]
    assert [w for w in singles.workload.columns] == [("a",), ("b",), ("c",)]
    assert singles.l2 == pytest.approx(np.sqrt(6))
    parts = [entry[2].part for entry in curator.asked[1:] if entry[0] == "measure"]
    sizes = {part.stop - part.start for part in parts}
    assert sizes == {1} if measure == "query" else sizes <= {6, 8, 12}
    assert len(steps) == 3


@pytest.mark.parametrize("where", ["2-way", "explicit", "ranges", "union"])
def test_what_was_measured_in_a_round_counts_as_answered_by_it(where):
    problem, plan, curator, _ = exact_run("rap", where, rounds=1, queries=4, updates=1)
    truth, seen = curator.truth, [entry[3] for entry in curator.asked if entry[0] == "select"]
    assert len(seen) == plan["queries"] > 1
    known = [int(np.isclose(answers, truth, atol=1e-12).sum()) for answers in seen]
    assert known == sorted(set(known)), "each measurement settles more answers"
    for before, after in zip(seen, seen[1:], strict=False):
        changed = before != after
        assert after[changed] == pytest.approx(truth[changed])
    if plan["measure"] == "query":
        worst = [int(np.argmax(np.abs(truth - answers))) for answers in seen]
        assert len(set(worst)) == len(worst), "no query is chosen twice in a round"


@BOTH
@pytest.mark.parametrize("where", ["1-way", "2-way", "mixed", "ranges", "explicit"])
def test_without_noise_it_tends_to_the_truth(name, where):
    settings = {"queries": 6, "rounds": 3} if name == "rap" else {"rounds": 9 if where == "explicit" else 6}
    problem, _, curator, steps = exact_run(name, where, **settings, updates=60)
    errors = [np.abs(step.release.answers(problem.workload) - curator.truth).max() for step in steps]
    assert errors[-1] < 0.02
    assert errors[-1] < max(errors[0], 0.005)


@BOTH
@pytest.mark.parametrize("delta", [1e-9, 0])
def test_many_columns_are_served_and_beat_independent_ones(name, delta):
    domain = codes(*[4] * 16)  # 4e9 cells
    rng = np.random.default_rng(0)
    kind, n = rng.integers(0, 4, 20_000), 20_000
    values = np.where(rng.random((n, 16)) < 0.6, kind[:, None], rng.integers(0, 4, (n, 16)))
    rows = domain.group(values)
    workload = Marginals(domain, [["a", "b", "c"], ["d", "p"], ["h", "i", "j"], ["a", "p"]])
    run = Run(
        ALGORITHMS[name](updates=25, components=50), QueryRelease(workload, n), rows, Budget(3, delta), every=99
    ).finish()
    shares = [np.bincount(column, minlength=4) / n for column in values.T]
    product = np.concatenate(
        [np.einsum("a,b,c->abc", *(shares[a] for a in axes)).ravel() if len(axes) == 3 else
         np.outer(*(shares[a] for a in axes)).ravel() for axes in workload.axes]
    )  # fmt: skip
    assert run.records[-1].empirical.max_error < 0.2 * np.abs(product - run.truth.answers).max()
    drawn = run.sample(3000)
    assert drawn.shape == (3000, 16)
    seen = workload.answers_of_rows(domain.encode(drawn))
    assert np.abs(seen - run.release.answers(workload)).max() < 0.03


def test_a_matrix_over_too_many_cells_is_refused_before_anything_is_spent(monkeypatch):
    monkeypatch.setattr("dpcore.workloads.products.MOST_JOINT", 23)
    for workload in (WORKLOADS["signs"], WORKLOADS["union"]):
        with pytest.raises(InputError, match="ask for marginals, or choose fewer columns"):
            make_plan(ALGORITHMS["gem"](), QueryRelease(workload, 50), Budget(1, 1e-6))


@BOTH
def test_columns_nobody_asks_about_are_neither_measured_nor_invented(name):
    domain = codes(3, 2, 4)
    problem, rows = QueryRelease(Marginals(domain, [["a", "c"]]), 500), random_rows(domain, 500)
    curator = Exact(problem.workload, rows)
    algorithm = ALGORITHMS[name](rounds=2, updates=5)
    plan = make_plan(algorithm, problem, Budget(1, 1e-6))
    list(algorithm.steps(problem, plan, curator, np.random.default_rng(0)))
    assert curator.asked[0][2].workload.columns == (("a",), ("c",))


@BOTH
def test_default_selections_grow_with_the_budget(name):
    sample = samples.census(2000)
    problem = QueryRelease(Marginals.all(sample.domain, 2), 2000)
    plans = [make_plan(ALGORITHMS[name](), problem, Budget(e, 1e-9)) for e in (0.01, 0.3, 3, 1000)]
    times = [plan.charges[0].times for plan in plans]
    assert times == sorted(times)
    assert times[0] < times[-1] <= 2 * 21 + 8
    assert {plan["measure"] for plan in plans} == {"marginal"}
    assert make_plan(ALGORITHMS[name](), task("explicit")[0], Budget(1, 1e-6))["measure"] == "query"
    assert plans[0].spend("select").epsilon > 0


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_single_columns_get_enough_of_the_budget_for_little_noise(delta):
    """The mean L1 noise on a column, at the share the plan chose, is what the rule promises within its bounds."""
    domain = codes(40, 30, 50)
    problem, sizes = QueryRelease(Marginals.all(domain, 2), 20_000), []
    for epsilon in (0.01, 0.5, 50):
        plan = make_plan(ALGORITHMS["gem"](), problem, Budget(epsilon, delta))
        spend, singles = plan.charges[2].spend, Answers(Marginals.all(domain, 1))
        if isinstance(spend, Gaussian):
            mean = np.sqrt(2 / np.pi) * singles.l2 / (20_000 * spend.mu)
        else:
            mean = singles.l1 / (20_000 * spend.epsilon)
        sizes.append((plan["first"], 40 * mean))
    assert [share for share, _ in sizes][::2] == [0.4, 0.1]
    assert 0.1 < sizes[1][0] < 0.4
    assert 0.09 < sizes[1][1] <= 0.1 * (1 + 1e-6), "optimal composition leaves a little less noise than zCDP"


@BOTH
def test_a_census_is_fitted_well(name):
    sample = samples.census(5000)
    problem, rows = QueryRelease(Marginals.all(sample.domain, 2), 5000), sample.domain.encode(sample.frame)
    run = Run(ALGORITHMS[name](), problem, rows, Budget(1, 1e-9), every=99).finish()
    mwem = Run(ALGORITHMS["mwem"](), problem, rows, Budget(1, 1e-9), every=999).finish()
    assert run.records[-1].empirical.mean_l1 < 0.12
    assert run.records[-1].empirical.mean_l1 < mwem.records[-1].empirical.mean_l1
