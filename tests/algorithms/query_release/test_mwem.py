"""MWEM and PEP share the arithmetic of their charges; what MWEM replays and how it does without
noise.
"""

from dataclasses import replace

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.query_release.mwem import MEASUREMENT_SHARES
from dpcore.algorithms.query_release.pep import MEASUREMENT_SHARE
from dpcore.privacy.accounting import OptimalAccountant, Pure, PureAccountant, ZcdpAccountant
from dpcore.privacy.measurement import noise_stddev
from dpcore.privacy.statistics import SomeAnswers
from tests.replay import exact_run
from tests.small_problems import (
    BUDGET,
    BUDGETS,
    approx,
    expect_error,
    integer_domain,
    parametrize,
    query_matrix,
    query_problem,
    softmax,
)

CUBE = integer_domain(2, 2, 2)


@parametrize(
    "part", [slice(0, 2), slice(0, 3), slice(2, 6), slice(30, 31), slice(-1, 0), slice(0, 1, 2)]
)
def test_other_parts_are_refused(part):
    with expect_error("neither one answer nor one table"):
        SomeAnswers(Marginals.all(CUBE, 2), part)


ONE = SomeAnswers(Marginals.all(CUBE, 2), slice(0, 1))


CHARGED = [
    *(("mwem", {"measure": how}, MEASUREMENT_SHARES[how], 1, 0.0) for how in MEASUREMENT_SHARES),
    ("pep", {}, MEASUREMENT_SHARE, 1, 0.0),
    *(
        ("gem", {"first": first, "measure": how}, MEASUREMENT_SHARES[how], 1, first)
        for first in (0.0, 0.4)
        for how in MEASUREMENT_SHARES
    ),
    *(
        (
            "rap",
            {"first": first, "queries": q, "measure": "query"},
            MEASUREMENT_SHARES["query"],
            q,
            first,
        )
        for q, first in ((3, 0.1), (2, 0.0))
    ),
]


@parametrize("rounds", [1, 100])
@parametrize("name, settings, share, each, first", CHARGED)
@parametrize("budget", BUDGETS[::2])
def test_the_charges_are_those_of_the_docstring_and_use_the_whole_budget(
    budget, name, settings, share, each, first, rounds
):
    """`first` of the budget for single columns; of the rest `share` for measurements, equal in all
    rounds.
    """
    (problem, _), algorithm = query_problem("2-way"), ALGORITHMS[name](rounds=rounds, **settings)
    plan = make_plan(algorithm, problem, budget)
    select, paid, *single = (charge.spend for charge in plan.planned_events)
    assert [charge.times for charge in plan.planned_events] == [rounds * each] * 2 + [1] * (
        first > 0
    )
    assert name != "pep" or plan["sigma"] == approx(noise_stddev(ONE, paid, problem.n))
    spends = (select, paid, *single)
    if budget.delta > 0:
        added = make_plan(algorithm, problem, replace(budget, additive=True))
        assert (
            budget.rho * (1 - 1e-9)
            <= ZcdpAccountant(added.accountant.event_counts).cost
            <= budget.rho
        )
        assert isinstance(added.accountant, ZcdpAccountant)
        assert budget.rho < ZcdpAccountant(plan.accountant.event_counts).cost
        assert isinstance(plan.accountant, OptimalAccountant)
        costs = [spend.rho for spend in spends]
        whole = ZcdpAccountant(plan.accountant.event_counts).cost
    else:
        assert (
            budget.epsilon * (1 - 1e-9)
            <= PureAccountant(plan.accountant.event_counts).cost
            <= budget.epsilon
        )
        assert (type(paid), type(plan.accountant)) == (Pure, PureAccountant)
        costs = [spend.pure_epsilon for spend in spends]
        whole = PureAccountant(plan.accountant.event_counts).cost
    parts = [(1 - share) * (1 - first), share * (1 - first), *[first] * len(single)]
    assert np.multiply(costs, [charge.times for charge in plan.planned_events]) == approx(
        np.multiply(parts, whole)
    )


def start(measure, where, rounds, budget, output="last"):
    problem, rows = query_problem(where)
    algorithm = ALGORITHMS["mwem"](measure=measure, rounds=rounds, output=output)
    plan, curator, steps = exact_run(algorithm, problem, rows, budget)
    return problem, plan, curator.truth, [step.release.D for step in steps]


def naive(A, truth, width, n, mu, rounds):
    """Every D rebuilt from the θ of all measurements at every single update."""
    counts = np.zeros(len(A))
    theta = np.zeros(len(A))
    order = []
    out = []
    for _ in range(rounds):
        errors = truth - A @ softmax(theta @ A)
        j = int(np.argmax(np.concatenate([errors, -errors]))) % len(A)
        counts[j] += 1
        order = [j, *(i for i in order if i != j)]
        for i in order * 2:
            D = softmax(theta @ A)
            weight = 30 * (width[i] / (n * mu)) ** 2 / counts[i]
            gap = truth[i] - A[i] @ D - weight * theta[i]
            theta[i] += np.clip(gap / (weight + A[i] ** 2 @ D - (A[i] @ D) ** 2), -1, 1)
        out.append(softmax(theta @ A))
    return out


@parametrize("budget", [BUDGET, Budget(100, 1e-6)])
@parametrize("where", ["3-way of 4", "mixed", "explicit", "cells of size 1"])
def test_without_noise_it_is_the_naive_iteration(where, budget):
    problem, plan, truth, path = start("query", where, 12, budget)
    A = query_matrix(problem.workload)
    width = np.ptp(A, axis=1) if where == "explicit" else np.ones(len(A))
    expected = naive(A, truth, width, problem.n, plan.spend_of("measure").mu, 12)
    assert np.abs(A @ (np.array(path) - expected).T).max() < 1e-9


@parametrize("budget", [BUDGET, Budget(1, 0)])
@parametrize("measure", ["query", "marginal"])
def test_the_average_is_that_of_the_iterates(measure, budget):
    *_, path = start(measure, "2-way", 9, budget)
    *_, averages = start(measure, "2-way", 9, budget, output="average")
    assert np.allclose(averages, [np.mean(path[: t + 1], axis=0) for t in range(9)])
