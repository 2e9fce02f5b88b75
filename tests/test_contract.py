"""What every algorithm keeps on every small problem: budget, seeds, valid releases, untouched
inputs, lazy steps.
"""

import copy
import math
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcore import (
    ALGORITHMS,
    Budget,
    InputError,
    Marginals,
    PointRelease,
    QueryRelease,
    RiskMinimisation,
    Rows,
    Run,
)
from dpcore.algorithms.algorithm import Step, make_plan
from dpcore.core.errors import PrivacyWarning
from dpcore.core.parameters import build_from_texts, declared_parameters
from dpcore.core.provenance import Provenance
from dpcore.evaluation.run import compare_with_rows, pairs_with_column, subgroup_errors
from dpcore.models.releases import Histogram, UnbiasedAnswers
from dpcore.problems.transport import w1_distance
from tests import point_problems, risk_problems
from tests.every_problem import problem_and_records
from tests.replay import record_run, replay
from tests.small_problems import (
    BUDGET,
    QUERIES,
    TASKS,
    all_tables,
    approx,
    expect_error,
    few_rounds,
    final_errors,
    histogram,
    ignore_privacy_warnings,
    integer_domain,
    parametrize,
    plan_of,
    query_problem,
    release_arrays,
    releases_are_identical,
    seeded,
    variants,
    wide_query_problem,
)

PURE = Budget(1, 0)
BUDGETS = [BUDGET, PURE, Budget(0.01, 1e-9)]
KINDS = {
    QueryRelease: (variants(), TASKS, ("mixed", "union")),
    PointRelease: (point_problems.variants(), point_problems.REGIONS, ()),
}
KINDS[RiskMinimisation] = (
    risk_problems.variants(),
    risk_problems.TASKS,
    ("mean on R^d", "logistic"),
)
COMMON = {QueryRelease: "2-way", PointRelease: "disc", RiskMinimisation: "median"}


def grid_of_cases():
    """Defaults on all tasks, variants on two or three, and each budget somewhere; nothing is
    planned here.
    """
    for kind, (settings, tasks, two) in KINDS.items():
        # which plan for seconds
        seen = set()
        most = 2 if kind is RiskMinimisation else 3
        for name, setting in settings:
            wheres = (COMMON[kind], *two) if name in seen else tasks
            seen.add(name)
            for where in wheres:
                for budget in BUDGETS[: most if where == COMMON[kind] else 1]:
                    label = "-".join(
                        [
                            name,
                            *setting.values(),
                            where.replace(" ", "_"),
                            f"{budget.epsilon:g}",
                            f"{budget.delta:g}",
                        ]
                    )
                    yield pytest.param(name, setting, where, budget, id=label)


every_case = parametrize("name, settings, where, budget", list(grid_of_cases()))
every_variant = parametrize("name, settings", variants())

# sepFEM, AIM and residual need queries on columns; these tasks hold a query matrix.
REFUSED = dict.fromkeys(
    ("sepfem", "aim", "residual"), ("explicit", "union", "one query", "constant queries")
)


def served(name, settings, where, budget):
    """The algorithm, its problem, its records and its plan; no plan where the budget or the task is
    refused.
    """
    algorithm, (problem, rows) = (
        build_from_texts(ALGORITHMS[name], settings),
        problem_and_records(name, where),
    )
    for array in (rows.values, rows.weights):
        array.flags.writeable = False
    try:
        return algorithm, problem, rows, make_plan(algorithm, problem, budget)
    except InputError:
        return algorithm, problem, rows, None


def start(name, settings, where, budget, **options):
    problem, rows = query_problem(where)
    return Run(build_from_texts(ALGORITHMS[name], settings), problem, rows, budget, **options)


def same(a, b):
    """Equal in everything but the clock."""
    return (a.t, a.spent, a.empirical, a.population, a.note) == (
        b.t,
        b.spent,
        b.empirical,
        b.population,
        b.note,
    )


@parametrize("name", QUERIES)
def test_every_algorithm_serves_every_task_with_its_defaults_or_says_what_it_needs(name):
    for where in TASKS:
        with (
            expect_error(f"{name} needs queries on ")
            if where in REFUSED.get(name, ())
            else nullcontext()
        ):
            plan_of(name, query_problem(where)[0], BUDGET)


def test_every_variant_serves_a_task_of_the_grid():
    for kind, (settings, _, two) in KINDS.items():
        for name, setting in settings:
            assert any(
                served(name, setting, where, BUDGET)[-1] for where in (COMMON[kind], *two)
            ), (name, setting)
    learners = {name for name in risk_problems.LEARNERS if served(name, {}, "median", PURE)[-1]}
    assert learners == {"exponential", "rank_exponential"}


@ignore_privacy_warnings
@every_case
def test_a_run_keeps_the_contract(name, settings, where, budget):
    algorithm, problem, rows, plan = served(name, settings, where, budget)
    if plan is None:
        return
    assert plan == make_plan(algorithm, replace(problem), budget), "of public numbers only"
    assert all(choice.why for choice in plan.settings)
    assert {p.name for p in declared_parameters(type(algorithm))} <= {c.name for c in plan.settings}
    run = record_run(algorithm, problem, rows, budget, plan)
    copies = [copy.deepcopy(run.release) for _ in run]
    assert all(map(releases_are_identical, run.path, copies)), (
        "later steps leave earlier releases alone"
    )
    replay(run)  # on the records the releases depend through the curator only
    # The promise.
    planned = Counter(
        (charge.verb, charge.spend) for charge in plan.planned_events for _ in range(charge.times)
    )
    charged = Counter(run.events)
    assert (
        {type(spend) for _, spend in charged} <= plan.spend_types
        if algorithm.adaptive
        else charged == planned
    )
    assert run.spent.epsilon <= budget.epsilon
    assert run.spent.delta <= budget.delta
    assert all(record.spent.epsilon <= run.spent.epsilon for record in run.convergence)
    # The records.
    assert counts_up(run)
    assert 1 <= len(run.convergence) <= plan["rounds"]
    assert (np.diff([record.seconds for record in run.convergence]) >= 0).all()
    assert run.convergence[-1].seconds > 0
    assert {r.tag for r in run.convergence} == {Provenance.REAL_DATA}
    assert run.release.tag is Provenance.RELEASED
    assert all(np.isfinite(numbers).all() for numbers in release_arrays(run.release).values())
    RELEASED[ALGORITHMS[name].problem](run, rows)


def counts_up(run):
    return [record.t for record in run.convergence] == list(range(1, len(run.convergence) + 1))


def answers_hold(run, rows):
    answers = run.release.answers(run.problem.workload)
    workload = run.problem.workload
    assert answers.shape == (workload.m,)
    free = isinstance(run.release, UnbiasedAnswers)  # may be below 0 and above 1, and says so
    assert free or (np.abs(answers) <= 1 + 1e-9).all()
    if isinstance(run.release, Histogram):
        D = run.release.D
        assert D.shape == (run.problem.domain.size,)
        assert (D >= 0).all()
        assert D.sum() == approx(1, abs=1e-9)
    whole = run.release.answers(Marginals(run.problem.domain, [run.problem.domain.names]))
    assert free or (whole > -1e-12).all()
    assert whole.sum() == approx(1, abs=1e-9)
    gaps = np.abs(answers - run.truth.answers)
    last = final_errors(run)
    exact = 1e-15 * max(1.0, gaps.sum() if free else 0.0)
    assert (last.max_error, last.mean_error) == approx((gaps.max(), gaps.mean()), abs=exact)
    assert last.rmse == approx(np.sqrt((gaps**2).mean()), abs=exact)
    tables = [gaps[table].sum() for table in workload.tables]
    assert last.mean_l1 == (approx(np.mean(tables), abs=exact) if tables else None)
    assert (run.truth.answers == workload.answers_of_rows(rows)).all()


def parameter_holds(run, _rows):
    assert run.spent.epsilon > 0.98 * run.plan.budget.epsilon, "nothing is left over"
    assert run.release.x.shape == (run.problem.d,)
    assert run.problem.region.contains(run.release.x[None])[0]
    last = final_errors(run)
    assert last.excess_risk > -1e-6
    assert last.excess_risk == approx(last.risk - run.truth.min_risk)


def points_hold(run, rows):
    release = run.release
    assert run.problem.region.project(release.points) == approx(release.points, abs=1e-12)
    assert release.weights.min() >= 0
    assert release.weights.sum() == approx(1, abs=1e-12)
    assert (
        final_errors(run).w1
        == w1_distance(rows.values, rows.weights, release.points, release.weights).value
    )
    assert run.summarise().to_json()["final"] == final_errors(run).to_json()
    frame = run.sample(40)
    assert (len(frame), tuple(frame.columns)) == (40, run.problem.names)


RELEASED = {
    QueryRelease: answers_hold,
    PointRelease: points_hold,
    RiskMinimisation: parameter_holds,
}


@ignore_privacy_warnings
@every_variant
def test_same_seed_same_run_whatever_is_recorded_of_it_and_another_seed_another(name, settings):
    """Fewer records are the same ones, and a population that errors are compared with is not used
    to fit.
    """
    P = seeded(3).dirichlet(np.ones(24))
    first, other = (start(name, settings, "2-way", BUDGET, seed=seed).finish() for seed in (4, 5))
    assert len(first.convergence) != len(other.convergence) or not all(
        map(same, first.convergence, other.convergence)
    )
    again = start(name, settings, "2-way", BUDGET, seed=4, every=4, population=P).finish()
    assert releases_are_identical(first.release, again.release)
    kept = [r for r in first.convergence if r.t % 4 == 0 or r.t == first.convergence[-1].t]
    assert [
        same(replace(r, population=None), k) for r, k in zip(again.convergence, kept, strict=True)
    ] == [True] * len(kept)
    assert (first.sample(30) == again.sample(30)).all(axis=None)
    assert not first.sample(30).equals(first.sample(30)), "drawn anew each time"
    workload = first.problem.workload
    found = again.convergence[-1].population
    gaps = np.abs(again.release.answers(workload) - workload.answers(P))
    assert (found.max_error, found.mean_error) == approx((gaps.max(), gaps.mean()))
    assert again.convergence[-1].to_json()["population_max_error"] == found.max_error
    assert first.convergence[-1].population is None


@ignore_privacy_warnings
@parametrize("name, settings", [*point_problems.variants(), *risk_problems.variants()[::3]])
def test_same_seed_same_points_and_parameters_and_another_seed_others(name, settings):
    algorithm, problem, rows, plan = served(
        name, settings, COMMON[ALGORITHMS[name].problem], BUDGET
    )
    if plan:
        first, again, other = (
            Run(algorithm, problem, rows, BUDGET, seed=s, plan=plan).finish().release
            for s in (4, 4, 5)
        )
        assert releases_are_identical(first, again)
        assert not releases_are_identical(first, other) or len(release_arrays(first)["points"]) == 1


@every_variant
def test_stopping_early_costs_what_was_charged_so_far(name, settings):
    run = start(name, settings, "3-way of 4", BUDGET)
    assert (run.spent.epsilon, run.convergence, run.release) == (0, [], None)
    last = min(run.plan["rounds"], 2)
    for record in run:
        if record.t == last:
            break
    events = run.events
    assert len(run.convergence) == last
    planned = sum(charge.times for charge in run.plan.planned_events)
    if name == "gaussian_maxent":
        assert len(events) == planned, "all is measured before the fit begins"
    elif not run.algorithm.adaptive:
        found = any(
            choice.name == "kept" for choice in run.plan.settings
        )  # a tree, before the first step
        ground = (
            sum(charge.times for charge in run.plan.planned_events if charge.name) if found else 0
        )
        assert (
            1 <= len(events) - ground <= math.ceil(2 * (planned - ground) / run.plan["rounds"])
        ), "steps are lazy"
    assert run.spent == run.convergence[-1].spent
    assert run.release is not None
    released = run.release
    assert len(run.sample(10)) == 10
    assert run.release is released
    if len(events) < planned and not run.algorithm.adaptive:
        assert run.spent.epsilon < BUDGET.epsilon * 0.9
    assert len(run.finish().convergence) > last or run.plan["rounds"] <= 2, (
        "a stopped run goes on where it stopped"
    )
    assert counts_up(run)


def test_nothing_is_drawn_before_something_was_released():
    run = start("dpfw", {}, "2-way", BUDGET)
    with expect_error("nothing has been released yet"):
        run.sample()


@parametrize("name", [name for name, cls in QUERIES.items() if cls.graphical])
def test_tables_too_large_are_refused_before_memory_with_their_size(name):
    rows = Rows(np.zeros((1, 6), dtype=int), np.array([10]))
    with expect_error(
        "the tables asked have 1,00.*000 combinations, more than 50,000,000; ask for smaller ones"
    ):
        Run(ALGORITHMS[name](), all_tables(integer_domain(*[1000] * 6), 10, 6), rows, BUDGET)


@parametrize("where", ["explicit", "union"])
@parametrize("name", ["mwem", "pmw", "rap", "gem"])
def test_tables_of_a_query_matrix_are_refused_in_words(name, where):
    with expect_error("measure=marginal needs queries on marg"):
        plan_of(name, query_problem(where)[0], BUDGET, measure="marginal")


def test_what_a_wide_table_forbids_is_said_in_words():
    problem, _ = wide_query_problem()
    for noise in ("fresh", "subspace"):
        with expect_error(f"noise={noise} is drawn on all combinations, which cannot be listed"):
            plan_of("dpam", problem, BUDGET, noise=noise)


@ignore_privacy_warnings
@parametrize("budget", [BUDGET, Budget(20, 0)])
@parametrize("name", [name for name, cls in QUERIES.items() if cls.graphical])
def test_a_table_whose_cells_cannot_be_listed_is_served_within_its_budget(name, budget):
    problem, rows = wide_query_problem()
    algorithm = build_from_texts(ALGORITHMS[name], few_rounds(name) | {"cells": "1500"})
    if budget.delta == 0 and name in ("gaussian_maxent", "dpam"):
        with expect_error("delta=0 cannot be promised"):
            make_plan(algorithm, problem, budget)
        return
    run = record_run(algorithm, problem, rows, budget).finish()
    if budget == BUDGET:
        replay(run)
    assert run.spent.epsilon <= budget.epsilon
    assert run.spent.delta <= budget.delta
    assert run.release.junction.cells <= run.plan["cells"] <= 1500
    answers = run.release.answers(problem.workload)
    assert (answers >= -1e-12).all()
    assert np.add.reduceat(answers, [table.start for table in problem.workload.tables]) == approx(1)
    assert len(run.sample(50)) == 50
    uniform = np.abs(1 / 16 - problem.workload.answers_of_rows(rows)).max()
    assert final_errors(run).max_error < uniform


@parametrize("P", [np.ones(23) / 23, np.r_[2.0, -1.0, np.zeros(22)], np.full(24, np.nan)])
def test_a_population_that_is_no_distribution_is_refused(P):
    with expect_error("the population must be 24 probabilities"):
        start("dpfw", {}, "2-way", BUDGET, population=P)


@parametrize("seed", [-1, 1.5, True])
def test_a_seed_is_a_whole_number(seed):
    with expect_error(f"seed={seed} must be a whole number ≥ 0"):
        start("dpfw", {}, "2-way", BUDGET, seed=seed)


def test_a_weak_promise_is_warned_of_and_a_good_one_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start("dpfw", {}, "2-way", Budget(10, 1e-6))
    with pytest.warns(PrivacyWarning, match="epsilon=10.5 is above 10"):
        start("dpfw", {}, "2-way", Budget(10.5, 1e-6))


def test_a_subgroups_error_is_the_share_of_all_that_is_said_about_it_on_which_the_tables_disagree():
    run = start("dpfw", {"rounds": "3"}, "2-way", BUDGET).finish()
    _, rows = query_problem("2-way")
    domain = run.problem.domain
    shown = compare_with_rows(run.release, rows, pairs_with_column(domain, "b"))
    found = subgroup_errors(shown, "b")
    assert shown.synthetic == approx(pairs_with_column(domain, "b").answers(run.release.D))
    assert shown.tag is Provenance.REAL_DATA
    again = subgroup_errors(compare_with_rows(run.release, rows, pairs_with_column(domain)), "b")
    real, synthetic = (D.reshape(domain.shape) for D in (histogram(domain, rows), run.release.D))
    for value in range(2):
        with_a = np.abs((real - synthetic).sum(axis=2)[:, value]).sum()
        with_c = np.abs((real - synthetic).sum(axis=0)[value]).sum()
        said = 2 * (
            real[:, value].sum() + synthetic[:, value].sum()
        )  # in two tables, by two tables
        assert found.error[value] == approx((with_a + with_c) / said)
    assert found.error == approx(again.error)
    assert found.share == approx(real.sum(axis=(0, 2)))


@dataclass(frozen=True, kw_only=True)
class Leaking:
    """DPFW that peeks: past the verbs, at the records inside the curator. Never do this."""

    inner = ALGORITHMS["dpfw"](rounds=3)
    problem = inner.problem
    enumerates = True
    adaptive = False

    def plan(self, problem, budget):
        return self.inner.plan(problem, budget)

    def steps(self, problem, plan, curator, rng):
        for step in self.inner.steps(problem, plan, curator, rng):
            held = getattr(getattr(curator, "_curator", curator), "_rows", None)
            peek = 0.0 if held is None else 1e-9 * held.values[0, 0]
            D = step.release.D + peek
            yield Step(step.t, Histogram(problem.domain, D / D.sum()), step.note)


def test_a_leak_is_caught():
    problem, rows = query_problem("2-way")
    rows.values[0, 0] = 1
    with pytest.raises(AssertionError, match="bit for bit"):
        replay(record_run(Leaking(), problem, rows, BUDGET).finish())
