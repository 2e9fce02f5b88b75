"""What every algorithm keeps on every small problem: budget, seeds, valid releases, untouched inputs, lazy steps."""

import copy
import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from dpcore.algorithms import ALGORITHMS, registered_name
from dpcore.algorithms.base import make_plan
from dpcore.data.domain import Rows
from dpcore.data.schema import domain_from_json
from dpcore.errors import InputError, PrivacyWarning
from dpcore.evaluation.run import Record, Run, compare, pairs_with, subgroups
from dpcore.params import build, parameters
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.releases import Histogram, UnbiasedAnswers
from dpcore.tags import Tag
from dpcore.workloads import Marginals
from tests.helpers import (
    QUERIES,
    TASKS,
    arrays,
    codes,
    few_rounds,
    histogram,
    identical,
    random_rows,
    serves,
    task,
    variants,
    wide_task,
)

BUDGETS = [Budget(1, 1e-6), Budget(0.01, 1e-9), Budget(9, 1e-4), Budget(1, 0)]
CASES = [
    pytest.param(name, settings, budget, id=f"{name}{i}-{budget.epsilon:g}-{budget.delta:g}")
    for (i, (name, settings)), budget in itertools.product(enumerate(variants()), BUDGETS)
    if (settings == few_rounds(name) or budget in BUDGETS[::3]) and serves(name, settings, "2-way", budget)
]
every_algorithm = pytest.mark.parametrize(("name", "settings", "budget"), CASES)
every_task = pytest.mark.parametrize("where", TASKS)
quiet = pytest.mark.filterwarnings("ignore::dpcore.errors.PrivacyWarning")


# sepFEM, AIM and residual need queries on columns; these tasks hold a query matrix.
REFUSED = dict.fromkeys(("sepfem", "aim", "residual"), ("explicit", "union", "one query", "constant queries"))


def start(name, settings, where, budget, **options) -> Run:
    problem, rows = task(where)
    return Run(build(ALGORITHMS[name], settings), problem, rows, budget, **options)


def same(a: Record, b: Record) -> bool:
    """Equal in everything but the clock."""
    return (a.t, a.spent, a.empirical, a.population, a.note) == (b.t, b.spent, b.empirical, b.population, b.note)


@every_task
@pytest.mark.parametrize("name", QUERIES)
def test_every_algorithm_serves_every_task_with_its_defaults(name, where):
    assert serves(name, {}, where, Budget(1, 1e-6)) == (where not in REFUSED.get(name, ()))


@quiet
@every_task
@every_algorithm
def test_a_run_keeps_the_contract(name, settings, budget, where):
    if not serves(name, settings, where, budget):
        return
    run = start(name, settings, where, budget).finish()
    # The promise.
    planned = Counter((charge.verb, charge.spend) for charge in run.plan.charges for _ in range(charge.times))
    charged = Counter(run.events)
    if run.algorithm.adaptive:
        assert {type(spend) for _, spend in charged} <= run.plan.kinds
    else:
        assert charged == planned
    assert run.spent.epsilon <= budget.epsilon
    assert run.spent.delta <= budget.delta
    assert all(record.spent.epsilon <= run.spent.epsilon for record in run.records)
    # The release.
    assert all(np.isfinite(numbers).all() for numbers in arrays(run.release).values())
    answers = run.release.answers(run.problem.workload)
    assert answers.shape == (run.problem.workload.m,)
    free = isinstance(run.release, UnbiasedAnswers)  # may be below 0 and above 1, and says so
    assert free or (np.abs(answers) <= 1 + 1e-9).all()
    if isinstance(run.release, Histogram):
        D = run.release.D
        assert D.shape == (run.problem.domain.size,)
        assert (D >= 0).all()
        assert D.sum() == pytest.approx(1, abs=1e-9)
    whole = run.release.answers(Marginals(run.problem.domain, [run.problem.domain.names]))
    assert free or (whole > -1e-12).all()
    assert whole.sum() == pytest.approx(1, abs=1e-9)
    # The records.
    assert [record.t for record in run.records] == list(range(1, len(run.records) + 1))
    assert 1 <= len(run.records) <= run.plan["rounds"]
    assert (np.diff([record.seconds for record in run.records]) >= 0).all()
    assert run.records[-1].seconds > 0
    assert {r.tag for r in run.records} == {Tag.PEEK}
    assert run.release.tag is Tag.PAID
    gaps = np.abs(run.release.answers(run.problem.workload) - run.truth.answers)
    last = run.records[-1].empirical
    exact = 1e-15 * max(1.0, gaps.sum() if free else 0.0)
    assert (last.max_error, last.mean_error) == pytest.approx((gaps.max(), gaps.mean()), abs=exact)
    assert last.rmse == pytest.approx(np.sqrt((gaps**2).mean()), abs=exact)
    tables = [gaps[table].sum() for table in run.problem.workload.tables]
    assert last.mean_l1 == (pytest.approx(np.mean(tables), abs=exact) if tables else None)
    assert (run.truth.answers == run.problem.workload.answers_of_rows(task(where)[1])).all()


@quiet
@every_algorithm
def test_same_seed_same_records_and_another_seed_others(name, settings, budget):
    runs = [start(name, settings, "2-way", budget, seed=seed).finish() for seed in (4, 4, 5)]
    first, again, other = (run.records for run in runs)
    assert all(same(a, b) for a, b in zip(first, again, strict=True))
    assert len(first) != len(other) or not all(same(a, b) for a, b in zip(first, other, strict=True))
    assert identical(runs[0].release, runs[1].release)
    pd.testing.assert_frame_equal(runs[0].sample(30), runs[1].sample(30))
    assert not runs[0].sample(30).equals(runs[0].sample(30)), "drawn anew each time"


@quiet
@every_algorithm
def test_inputs_are_left_as_they_were(name, settings, budget):
    problem, rows = task("3-way of 4")
    before = (rows.values.copy(), rows.weights.copy(), problem.domain)
    for array in (rows.values, rows.weights):
        array.flags.writeable = False
    Run(build(ALGORITHMS[name], settings), problem, rows, budget).finish()
    assert np.array_equal(before[0], rows.values)
    assert np.array_equal(before[1], rows.weights)
    assert before[2] == problem.domain


@every_algorithm
def test_stopping_early_costs_what_was_charged_so_far(name, settings, budget):
    run = start(name, settings, "3-way of 4", budget)
    assert (run.spent.epsilon, run.records, run.release) == (0, [], None)
    last = min(run.plan["rounds"], 2)
    for record in run:
        if record.t == last:
            break
    events = run.events
    assert len(run.records) == last
    planned = sum(charge.times for charge in run.plan.charges)
    if name == "gaussian_maxent":
        assert len(events) == planned, "all is measured before the fit begins"
    elif not run.algorithm.adaptive:
        found = any(choice.name == "kept" for choice in run.plan.choices)  # a tree, before the first step
        ground = sum(charge.times for charge in run.plan.charges if charge.name) if found else 0
        assert 1 <= len(events) - ground <= math.ceil(2 * (planned - ground) / run.plan["rounds"]), "steps are lazy"
    assert run.spent == run.records[-1].spent
    assert run.release is not None
    released = run.release
    assert len(run.sample(10)) == 10
    assert run.release is released
    if len(events) < planned and not run.algorithm.adaptive:
        assert run.spent.epsilon < budget.epsilon * 0.9
    assert len(run.finish().records) > last or run.plan["rounds"] <= 2, "a stopped run goes on where it stopped"
    assert [record.t for record in run.records] == list(range(1, len(run.records) + 1))


def test_nothing_is_drawn_before_something_was_released():
    run = start("dpfw", {}, "2-way", Budget(1, 1e-6))
    with pytest.raises(InputError, match="nothing has been released yet"):
        run.sample()


@every_algorithm
def test_releases_of_earlier_steps_do_not_change_later(name, settings, budget):
    problem, rows = task("2-way")
    run = Run(build(ALGORITHMS[name], settings), problem, rows, budget)
    kept = []
    for _ in run:
        kept.append((run.release, copy.deepcopy(run.release)))
    assert all(identical(now, then) for now, then in kept)


@quiet
@pytest.mark.parametrize("every", [1, 4, 1000])
@every_algorithm
def test_fewer_records_are_the_same_ones(name, settings, budget, every):
    whole = start(name, settings, "2-way", budget).finish()
    thin = start(name, settings, "2-way", budget, every=every).finish()
    last = whole.records[-1].t
    expected = [r for r in whole.records if r.t % every == 0 or r.t == last]
    assert len(thin.records) == len(expected)
    assert all(same(a, b) for a, b in zip(thin.records, expected, strict=True))


@pytest.mark.parametrize("name", [name for name, cls in QUERIES.items() if cls.graphical])
def test_tables_too_large_are_refused_before_memory_with_their_size(name):
    domain = codes(*[1000] * 6)
    values = np.zeros((1, 6), dtype=int)
    problem = QueryRelease(Marginals.all(domain, 6), 10)
    with pytest.raises(InputError) as caught:
        Run(ALGORITHMS[name](), problem, Rows(values, np.array([10])), Budget(1, 1e-9))
    message = str(caught.value)
    assert "the tables asked have 1,00" in message
    assert "000 cells, more than 50,000,000; ask for smaller ones" in message


def test_what_a_wide_table_forbids_is_said_in_words():
    problem, _ = wide_task()
    for noise in ("fresh", "subspace"):
        with pytest.raises(InputError, match=f"noise={noise} is drawn on all cells, which cannot be listed"):
            make_plan(ALGORITHMS["dpam"](noise=noise), problem, Budget(1, 1e-6))
    triples = QueryRelease(Marginals.all(domain_from_json({f"c{i}": 2 for i in range(25)}), 3), 100)
    with pytest.raises(InputError, match="aim weighs 2,625 tables in every round, more than 2,000 on a tree"):
        make_plan(ALGORITHMS["aim"](), triples, Budget(1, 1e-6))


@quiet
@pytest.mark.parametrize("budget", [Budget(1, 1e-6), Budget(20, 0)], ids=str)
@pytest.mark.parametrize("name", [name for name, cls in QUERIES.items() if cls.graphical])
def test_a_table_whose_cells_cannot_be_listed_is_served_within_its_budget(name, budget):
    problem, rows = wide_task()
    algorithm = build(ALGORITHMS[name], few_rounds(name) | {"cells": "1500"})
    if budget.delta == 0 and name in ("gaussian_maxent", "dpam"):
        with pytest.raises(InputError, match="delta=0 cannot be promised"):
            make_plan(algorithm, problem, budget)
        return
    run = Run(algorithm, problem, rows, budget).finish()
    planned = Counter((charge.verb, charge.spend) for charge in run.plan.charges for _ in range(charge.times))
    assert run.algorithm.adaptive or Counter(run.events) == planned
    assert run.spent.epsilon <= budget.epsilon
    assert run.spent.delta <= budget.delta
    assert run.release.junction.cells <= run.plan["cells"] <= 1500
    answers = run.release.answers(problem.workload)
    assert (answers >= -1e-12).all()
    assert np.add.reduceat(answers, [table.start for table in problem.workload.tables]) == pytest.approx(1)
    assert len(run.sample(50)) == 50
    uniform = np.abs(1 / 16 - problem.workload.answers_of_rows(rows)).max()
    assert run.records[-1].empirical.max_error < uniform


@quiet
@every_algorithm
def test_population_errors_are_those_against_the_population(name, settings, budget):
    problem, rows = task("2-way")
    P = np.random.default_rng(3).dirichlet(np.ones(problem.domain.size))
    run = Run(build(ALGORITHMS[name], settings), problem, rows, budget, population=P).finish()
    blind = start(name, settings, "2-way", budget).finish()
    gaps = np.abs(run.release.answers(problem.workload) - problem.workload.answers(P))
    found = run.records[-1].population
    assert (found.max_error, found.mean_error) == pytest.approx((gaps.max(), gaps.mean()))
    assert [r.empirical for r in run.records] == [r.empirical for r in blind.records], "P is not used to fit"
    assert run.records[-1].to_json()["population_max_error"] == found.max_error
    assert blind.records[-1].population is None


@pytest.mark.parametrize("P", [np.ones(24), np.ones(23) / 23, np.r_[2.0, -1.0, np.zeros(22)], np.full(24, np.nan)])
def test_a_population_that_is_no_distribution_is_refused(P):
    with pytest.raises(InputError, match="the population must be 24 probabilities"):
        start("dpfw", {}, "2-way", Budget(1, 1e-6), population=P)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0", None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match=f"seed={seed} must be a whole number ≥ 0"):
        start("dpfw", {}, "2-way", Budget(1, 1e-6), seed=seed)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_synthetic_rows_follow_the_release_to_within_one_row(rows):
    run = start("gaussian_maxent", {}, "3-way of 4", Budget(1, 1e-6)).finish()
    domain = run.problem.domain
    frame = run.sample(rows)
    assert len(frame) == rows
    assert frame.columns.tolist() == list(domain.names)
    index = domain.index(frame.to_numpy())
    counts = np.bincount(index, minlength=domain.size)
    assert np.abs(counts - rows * run.release.D).max() < 1
    assert len(run.sample()) == run.problem.n


@pytest.mark.parametrize("rows", [0, -1])
def test_no_rows_are_refused_or_an_empty_table(rows):
    run = start("dpfw", {"rounds": "1"}, "2-way", Budget(1, 1e-6)).finish()
    try:
        assert len(run.sample(rows)) == max(rows, 0)
    except InputError as error:
        assert f"{rows}" in str(error)  # noqa: PT017 - either is fine


def test_a_weak_promise_is_warned_of_and_a_good_one_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start("dpfw", {}, "2-way", Budget(10, 1e-6))
    with pytest.warns(PrivacyWarning, match=r"delta=0.002 is at least 1/n = 0.002"):
        start("dpfw", {}, "2-way", Budget(1, 1 / 500))
    with pytest.warns(PrivacyWarning, match="epsilon=10.5 is above 10"):
        start("dpfw", {}, "2-way", Budget(10.5, 1e-6))


@every_task
@every_algorithm
def test_plans_depend_on_public_numbers_only(name, settings, budget, where):
    problem, _ = task(where)
    if not serves(name, settings, where, budget):
        return
    algorithm = build(ALGORITHMS[name], settings)
    plan = make_plan(algorithm, problem, budget)
    assert plan == make_plan(algorithm, QueryRelease(problem.workload, problem.n), budget)
    assert all(choice.why for choice in plan.choices)
    assert {p.name for p in parameters(type(algorithm))} <= {c.name for c in plan.choices}
    assert plan["rounds"] >= 1


def test_a_run_is_told_as_json_of_plain_finite_numbers():
    run = start("dpfw", {"rounds": "3"}, "2-way", Budget(1, 1e-6), seed=7).finish()
    told = run.to_json()
    assert (told["algorithm"], told["n"], told["cells"], told["queries"], told["seed"]) == ("dpfw", 500, 24, 26, 7)
    assert registered_name(run.algorithm) == "dpfw"
    assert told["final"] == run.records[-1].empirical.to_json()
    assert told["spent"]["epsilon"] == run.spent.epsilon


def test_a_comparison_shows_both_sides_and_is_a_peek():
    run = start("dpfw", {"rounds": "3"}, "2-way", Budget(1, 1e-6)).finish()
    problem, rows = task("2-way")
    other = Marginals(problem.domain, [["c"]])
    shown = compare(run.release, rows, other)
    expected = random_rows(problem.domain, problem.n)
    assert shown.real == pytest.approx(other.answers(histogram(problem.domain, expected)))
    assert shown.synthetic == pytest.approx(other.answers(run.release.D))
    assert shown.tag is Tag.PEEK


def test_a_subgroups_error_is_the_share_of_all_that_is_said_about_it_on_which_the_tables_disagree():
    run = start("dpfw", {"rounds": "3"}, "2-way", Budget(1, 1e-6)).finish()
    _, rows = task("2-way")
    domain = run.problem.domain
    found = subgroups(compare(run.release, rows, pairs_with(domain, "b")), "b")
    again = subgroups(compare(run.release, rows, pairs_with(domain)), "b")
    real, synthetic = (D.reshape(domain.shape) for D in (histogram(domain, rows), run.release.D))
    for value in range(2):
        with_a = np.abs((real - synthetic).sum(axis=2)[:, value]).sum()
        with_c = np.abs((real - synthetic).sum(axis=0)[value]).sum()
        said = 2 * (real[:, value].sum() + synthetic[:, value].sum())  # in two tables, by two tables
        assert found.error[value] == pytest.approx((with_a + with_c) / said)
    assert found.error == pytest.approx(again.error)
    assert found.share == pytest.approx(real.sum(axis=(0, 2)))
