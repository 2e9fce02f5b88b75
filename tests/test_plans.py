"""A plan says what it will ask for: the statistic, score or target of every charge is what its run then asks."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import make_plan
from dpcore.errors import InputError
from dpcore.params import build
from dpcore.privacy import grid
from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.curator import Curator
from dpcore.privacy.statistics.answers import CellAnswers
from dpcore.problems import QueryRelease
from tests import helpers, risk_tasks
from tests.algorithms import test_evolution as points

BUDGETS = [Budget(1, 1e-6), Budget(1, 0)]
quiet = pytest.mark.filterwarnings("ignore::dpcore.errors.PrivacyWarning")


class Listener:
    """Passes every call to a curator and keeps what was charged and asked: (verb, spend, question)."""

    def __init__(self, curator: Curator) -> None:
        self._curator, self.asked = curator, []

    def __getattr__(self, name):
        def call(question, *arguments):
            before = len(self._curator.ledger.events)
            out = getattr(self._curator, name)(question, *arguments)
            self.asked += [(*event, question) for event in self._curator.ledger.events[before:]]
            return out

        return call


def kind(statistic) -> type:
    return statistic if isinstance(statistic, type) else type(statistic)


def sizes(statistic) -> dict[str, float]:
    """What the noise on a statistic depends on."""
    return {name: getattr(statistic, name) for name in ("l1", "l2", "sensitivity") if hasattr(statistic, name)}


def check(algorithm, problem, rows, budget) -> None:
    """Run, and compare what was asked with what the plan says."""
    plan = make_plan(algorithm, problem, budget)
    listener = Listener(Curator(rows, problem.n, plan, np.random.default_rng(3), group=problem.group))
    for _ in algorithm.steps(problem, plan, listener, np.random.default_rng(5)):
        pass
    asked = Counter((verb, spend, kind(question)) for verb, spend, question in listener.asked)
    said = Counter()
    for charge in plan.charges:
        said[charge.verb, charge.spend, kind(charge.statistic)] += charge.times
    if algorithm.adaptive:
        assert {(verb, what) for verb, _, what in asked} <= {(verb, what) for verb, _, what in said}
    else:
        assert asked == said
    for verb, paid, question in listener.asked:
        alike = [c for c in plan.charges if (c.verb, kind(c.statistic)) == (verb, kind(question))]
        (named,) = {c.statistic for c in alike if algorithm.adaptive or c.spend == paid}
        assert grid.gridded(named) == grid.gridded(question)
        assert isinstance(named, type) or sizes(named) == pytest.approx(sizes(question), rel=1e-12)


def planned(algorithm, problem, budget) -> bool:
    try:
        make_plan(algorithm, problem, budget)
    except InputError:
        return False
    return True


@quiet
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("where", ["2-way", "mixed", "one cell", "explicit", "ranges", "union", "constant queries"])
@pytest.mark.parametrize(("name", "settings"), helpers.variants())
def test_every_query_algorithm_asks_for_what_its_plan_says(name, settings, where, budget):
    algorithm, (problem, rows) = build(ALGORITHMS[name], settings), helpers.task(where)
    if planned(algorithm, problem, budget):
        check(algorithm, problem, rows, budget)


@quiet
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("where", ["median", "mean on R^d", "logistic"])
@pytest.mark.parametrize(("name", "settings"), risk_tasks.variants())
def test_every_learner_asks_for_what_its_plan_says(name, settings, where, budget):
    n = 3 if name == "alternating_sampler" else 60
    algorithm, (problem, rows) = build(ALGORITHMS[name], settings), risk_tasks.task(where, n)
    if planned(algorithm, problem, budget):
        check(algorithm, problem, rows, budget)


@quiet
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("name", "settings"), points.SETTINGS)
def test_every_algorithm_for_points_asks_for_what_its_plan_says(name, settings, budget):
    algorithm, (problem, rows) = build(ALGORITHMS[name], settings), points.task(points.quarter(60))
    if planned(algorithm, problem, budget):
        check(algorithm, problem, rows, budget)


@dataclass(frozen=True, kw_only=True)
class Lying:
    """An algorithm whose plan names `statistic` in place of what it measures."""

    statistic: object
    inner: object
    problem = QueryRelease
    enumerates = True
    adaptive = False

    def plan(self, problem, budget):
        plan = self.inner.plan(problem, budget)
        return replace(plan, charges=tuple(replace(c, statistic=self.statistic) for c in plan.charges))

    def steps(self, problem, plan, curator, rng):
        return self.inner.steps(problem, plan, curator, rng)


def test_a_plan_that_lies_is_caught():
    problem, rows = helpers.task("2-way")
    fresh, maxent = ALGORITHMS["dpam"](noise="subspace", rounds=3), ALGORITHMS["gaussian_maxent"](rounds=3)
    honest = make_plan(fresh, problem, BUDGETS[0]).charges[0].statistic
    check(Lying(statistic=honest, inner=fresh), problem, rows, BUDGETS[0])
    for named, inner in (
        (None, maxent),  # nothing
        (honest, maxent),  # another kind
        (CellAnswers, fresh),  # which may have whole noise
        (CellAnswers(problem.workload, subspace=False), fresh),  # and another sensitivity
    ):
        with pytest.raises(AssertionError):
            check(Lying(statistic=named, inner=inner), problem, rows, BUDGETS[0])


@pytest.mark.parametrize(("noise", "fits"), [("reused", True), ("fresh", True), ("subspace", False)])
def test_a_plan_says_whether_whole_noise_fits_what_is_measured(noise, fits):
    problem, _ = helpers.task("2-way")
    plan = make_plan(ALGORITHMS["dpam"](noise=noise), problem, BUDGETS[0])
    assert all(map(grid.gridded, plan.measured)) is fits
