"""MWEM: what a round measures is as sensitive as it says, the arithmetic of its charges, and its noiseless limit."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import make_plan
from dpcore.algorithms.multiplicative_weights import SHARES
from dpcore.algorithms.past_measurements import PRIOR, Queries, likeliest
from dpcore.data import samples
from dpcore.errors import InputError
from dpcore.evaluation.run import Run
from dpcore.privacy.accounting.budget import Accounting, BoundedRange, Budget, Gaussian, Pure
from dpcore.privacy.accounting.calibrations import select_and_measure
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.measurement import Measurement, deviation
from dpcore.privacy.statistics.answers import SomeAnswers
from dpcore.privacy.table_curator import TableCurator
from dpcore.problems import QueryRelease
from dpcore.workloads import Explicit, Marginals, TableQueries, Union
from tests.helpers import codes, data_sets, histogram, neighbours, random_rows, rows_of, signs, softmax, task

CUBE = codes(2, 2, 2)
WORKLOADS = {
    "2-way": Marginals.all(CUBE, 2),
    "mixed": Marginals(CUBE, [["a"], ["a", "b", "c"]]),
    "signs": signs(CUBE, 4),
    "narrow": Explicit(CUBE, np.random.default_rng(0).uniform(-0.3, 0.4, (3, 8))),
    "prefixes": TableQueries(CUBE, [(["a", "b"], np.tril(np.ones((4, 4))))]),
    "union": Union([Marginals.all(CUBE, 1), signs(CUBE, 2)]),
}


def matrix(workload) -> np.ndarray:
    return np.array([workload.answers(cell) for cell in np.eye(workload.domain.size)]).T


@pytest.fixture
def asked(monkeypatch):
    """The values and scales with which the curator calls a mechanism; nothing is added."""
    notes = []
    for name in ("gaussian", "laplace"):
        monkeypatch.setattr(
            f"dpcore.privacy.mechanisms.{name}", lambda values, scale, rng: notes.append((values, scale)) or values
        )
    return notes


def ask(asked, statistic, spend, data) -> tuple[np.ndarray, float]:
    plan = Plan(Budget(1000, 0.5 * isinstance(spend, Gaussian)), (Charge("measure", spend),))
    curator = TableCurator(rows_of(CUBE, data), len(data), plan, np.random.default_rng(0))
    out = curator.measure(statistic, spend).values
    values, scale = asked.pop()
    assert np.array_equal(out, values)
    return values, scale


@pytest.mark.parametrize("name", WORKLOADS)
def test_noise_on_one_answer_or_one_table_matches_the_largest_change_between_neighbours(asked, name):
    workload = WORKLOADS[name]
    parts = [slice(j, j + 1) for j in range(workload.m)]
    A = matrix(workload)
    for part, (spend, order) in itertools.product((*parts, *workload.tables), ((Gaussian(0.7), 2), (Pure(0.7), 1))):
        statistic = SomeAnswers(workload, part)
        seen = {data: ask(asked, statistic, spend, data) for data in data_sets(8, 2)}
        assert all(v == pytest.approx(A[part] @ histogram(CUBE, rows_of(CUBE, x))) for x, (v, _) in seen.items())
        changes = [seen[tuple(sorted(x))][0] - seen[tuple(sorted(y))][0] for x, y in neighbours(8, 2)]
        largest = max(float(np.linalg.norm(change, ord=order)) for change in changes)
        (scale,) = {scale for _, scale in seen.values()}
        assert scale * 0.7 >= largest * (1 - 1e-12)
        if name != "union" and largest > 0:
            assert scale * 0.7 == pytest.approx(largest, rel=1e-12), "and no more"
            assert scale * 0.7 / 2 < largest, "half the sensitivity would be caught"


@pytest.mark.parametrize("part", [slice(0, 2), slice(0, 3), slice(2, 6), slice(30, 31), slice(-1, 0), slice(0, 1, 2)])
def test_other_parts_are_refused(part):
    with pytest.raises(InputError, match="neither one answer nor one table"):
        SomeAnswers(Marginals.all(CUBE, 2), part)


BUDGETS = [Budget(1, 1e-9), Budget(0.01, 1e-6), Budget(9, 1e-3), Budget(1, 0), Budget(8, 0)]


def adding(budget: Budget) -> Budget:
    return Budget(budget.epsilon, budget.delta, additive=True)


@pytest.mark.parametrize("rounds", [1, 7, 300])
@pytest.mark.parametrize("measure", ["query", "marginal"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_charges_are_those_of_the_docstring_and_use_the_whole_budget(budget, measure, rounds):
    plan = make_plan(ALGORITHMS["mwem"](measure=measure, rounds=rounds), task("2-way")[0], budget)
    select, paid = (charge.spend for charge in plan.charges)
    assert [charge.times for charge in plan.charges] == [rounds, rounds]
    if budget.delta > 0:
        rho = rounds * (select.epsilon**2 / 8 + paid.mu**2 / 2)
        assert plan.sums.rho == pytest.approx(rho, rel=1e-12)
        assert budget.rho < rho
        assert plan.accounting is Accounting.OPTIMAL
        added = make_plan(ALGORITHMS["mwem"](measure=measure, rounds=rounds), task("2-way")[0], adding(budget))
        assert budget.rho * (1 - 1e-9) <= added.sums.rho <= budget.rho
        assert added.accounting is Accounting.ZCDP
        assert rounds * paid.mu**2 / 2 == pytest.approx(SHARES[measure] * rho)
    else:
        epsilon = rounds * (select.epsilon + paid.epsilon)
        assert plan.sums.pure == pytest.approx(epsilon, rel=1e-12)
        assert budget.epsilon * (1 - 1e-9) <= epsilon <= budget.epsilon
        assert (type(paid), plan.accounting) == (Pure, Accounting.PURE)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_selections_and_measurements_share_the_budget(share):
    select, measure = select_and_measure(adding(Budget(1, 1e-6)), 20, share)
    assert (type(select), type(measure)) == (BoundedRange, Gaussian)
    assert 20 * measure.rho == pytest.approx(share * Budget(1, 1e-6).rho)
    assert 20 * select.rho == pytest.approx((1 - share) * Budget(1, 1e-6).rho)


@pytest.mark.parametrize("measure", ["query", "marginal"])
@pytest.mark.parametrize("budget", BUDGETS[:4], ids=str)
def test_a_run_is_charged_a_selection_and_a_measurement_each_round(budget, measure):
    problem, rows = task("2-way")
    run = Run(ALGORITHMS["mwem"](measure=measure, rounds=5), problem, rows, budget)
    for t, _ in enumerate(run, start=1):
        assert [what for what, _ in run.events] == ["select", "measure"] * t
    assert run.spent.epsilon == pytest.approx(budget.epsilon, rel=1e-4)
    assert run.spent.epsilon <= budget.epsilon


class Exact:
    """A curator's stand-in without noise: selects the worst query and answers truly."""

    def __init__(self, truth: np.ndarray, n: float) -> None:
        self.truth, self.n = truth, n

    def select(self, score, _spend) -> int:
        return int(np.argmax(score.value(self.truth)))

    def measure(self, statistic, spend) -> Measurement:
        return Measurement(statistic.value(self.truth), deviation(statistic, spend, self.n), statistic, spend)


def start(measure: str, where: str, rounds: int, budget: Budget, output: str = "last"):
    problem, rows = task(where)
    algorithm = ALGORITHMS["mwem"](measure=measure, rounds=rounds, output=output)
    plan, truth = make_plan(algorithm, problem, budget), problem.workload.answers_of_rows(rows)
    steps = algorithm.steps(problem, plan, Exact(truth, problem.n), np.random.default_rng(0))
    return problem, plan, truth, [step.release.D for step in steps]


def naive(A, truth, width, n, mu, rounds) -> list[np.ndarray]:
    """Every D rebuilt from the θ of all measurements at every single update."""
    counts, theta, order, out = np.zeros(len(A)), np.zeros(len(A)), [], []
    for _ in range(rounds):
        errors = truth - A @ softmax(theta @ A)
        j = int(np.argmax(np.concatenate([errors, -errors]))) % len(A)
        counts[j] += 1
        order = [j, *(i for i in order if i != j)]
        for i in order * 2:
            D, weight = softmax(theta @ A), 30 * (width[i] / (n * mu)) ** 2 / counts[i]
            gap = truth[i] - A[i] @ D - weight * theta[i]
            theta[i] += np.clip(gap / (weight + A[i] ** 2 @ D - (A[i] @ D) ** 2), -1, 1)
        out.append(softmax(theta @ A))
    return out


@pytest.mark.parametrize("budget", [Budget(1, 1e-6), Budget(100, 1e-6)], ids=str)
@pytest.mark.parametrize("where", ["3-way of 4", "mixed", "explicit", "cells of size 1"])
def test_without_noise_it_is_the_naive_iteration(where, budget):
    problem, plan, truth, path = start("query", where, 12, budget)
    A = matrix(problem.workload)
    width = np.ptp(A, axis=1) if where == "explicit" else np.ones(len(A))
    expected = naive(A, truth, width, problem.n, plan.spend("measure").mu, 12)
    assert np.abs(A @ (np.array(path) - expected).T).max() < 1e-9


@pytest.mark.parametrize("budget", [Budget(1, 1e-6), Budget(1, 0)], ids=str)
@pytest.mark.parametrize("measure", ["query", "marginal"])
def test_the_average_is_that_of_the_iterates(measure, budget):
    *_, path = start(measure, "2-way", 9, budget)
    *_, averages = start(measure, "2-way", 9, budget, output="average")
    assert np.allclose(averages, [np.mean(path[: t + 1], axis=0) for t in range(9)])


@pytest.mark.filterwarnings("ignore::dpcore.errors.PrivacyWarning")
@pytest.mark.parametrize(("measure", "rounds"), [("query", 60), ("marginal", 6)])
@pytest.mark.parametrize("where", ["2-way", "3-way of 4", "mixed", "1-way"])
def test_it_tends_to_the_truth(measure, rounds, where):
    problem, rows = task(where)
    errors = [
        Run(ALGORITHMS["mwem"](measure=measure, rounds=rounds), problem, rows, Budget(epsilon, 1e-6)).finish()
        for epsilon in (0.1, 1e6)
    ]
    few, many = (run.records[-1].empirical.max_error for run in errors)
    assert many < 0.01 < few


def test_replay_tends_to_the_regularised_fit():
    """The docstring's objective, from scipy."""
    domain, rng = codes(3, 4), np.random.default_rng(0)
    workload = signs(domain, 6)
    A, sigma = workload.matrix[:3], 0.05
    y = A @ rng.dirichlet(np.ones(12)) + 0.05 * rng.normal(size=3)
    past, D = Queries(workload, likeliest), np.full(12, 1 / 12)
    for _ in range(4):
        for j in range(3):
            D = past.explain(D, j, y[j : j + 1], sigma)
    for _ in range(300):  # replay only: the fourth measurement of query 0 again with an infinite deviation
        D = past.explain(D, 0, y[:1], 1e9)

    def objective(u):
        E = softmax(u)
        return 4 * np.sum(((A @ E - y) / sigma) ** 2) / 2 + PRIOR * (E @ np.log(E * 12))

    found = minimize(objective, np.zeros(12), method="BFGS", options={"gtol": 1e-9})
    assert np.abs(softmax(found.x) - D).max() < 1e-5


@pytest.mark.parametrize("name", ["signs", "union"])
def test_whole_tables_of_a_matrix_are_refused(name):
    with pytest.raises(InputError, match="measure=marginal needs queries on marginal tables"):
        make_plan(ALGORITHMS["mwem"](measure="marginal"), QueryRelease(WORKLOADS[name], 50), Budget(1, 1e-6))


@pytest.mark.parametrize("budget", [Budget(1, 1e-6), Budget(1, 0)], ids=str)
def test_queries_on_tables_are_answered_by_their_tables(budget):
    workload = Union([WORKLOADS["prefixes"], Marginals(CUBE, [["c"]])])
    run = Run(
        ALGORITHMS["mwem"](measure="marginal", rounds=4), QueryRelease(workload, 5000), random_rows(CUBE, 5000), budget
    )
    assert run.finish().records[-1].empirical.max_error < 0.05


def test_default_rounds_grow_with_the_budget_and_stay_within_what_there_is_to_ask():
    sample = samples.census(2000)
    problem = QueryRelease(Marginals.all(sample.domain, 2), 2000)
    for measure in SHARES:
        plans = [make_plan(ALGORITHMS["mwem"](measure=measure), problem, Budget(e, 1e-9)) for e in (0.01, 0.3, 3, 1000)]
        rounds = [plan["rounds"] for plan in plans]
        assert rounds == sorted(set(rounds))
        assert rounds[-1] <= (problem.workload.m if measure == "query" else 2 * len(problem.workload.tables))
    one = QueryRelease(Explicit(codes(3, 2), np.eye(6)[:1]), 10**6)
    assert make_plan(ALGORITHMS["mwem"](), one, Budget(100, 1e-9))["rounds"] == 1


def test_measuring_tables_beats_measuring_queries_and_the_last_beats_the_average():
    sample = samples.census(5000)
    problem, rows = QueryRelease(Marginals.all(sample.domain, 2), 5000), sample.domain.encode(sample.frame)
    errors = []
    for settings in ({"measure": "marginal"}, {}, {"output": "average"}):
        runs = [
            Run(ALGORITHMS["mwem"](**settings), problem, rows, Budget(1, 1e-9), seed=seed, every=999) for seed in (0, 1)
        ]
        errors.append(np.mean([run.finish().records[-1].empirical.mean_l1 for run in runs]))
    assert errors == sorted(errors)
    assert math.isclose(errors[0], 0.09, rel_tol=0.4)
