"""DPAM: without noise it is the corrected Algorithm 2, and it reaches the optimum; its plans and
its release.
"""

import math

import numpy as np
from scipy.optimize import minimize

from dpcore import ALGORITHMS, Budget, Explicit, Marginals, QueryRelease
from dpcore.accuracy.intervals.unbiased_tables import unbiased_tables
from dpcore.algorithms.algorithm import theoretical_values
from dpcore.algorithms.query_release.mirror_descent import _accelerated_descent, _choose_statistic
from dpcore.algorithms.query_release.shared import step_schedules
from dpcore.algorithms.query_release.shared.initial_model import ModelState
from dpcore.models.listed_cells import ListedCellsModel
from dpcore.privacy.accounting import conversions
from dpcore.privacy.statistics import Answers, CellAnswers
from tests.replay import exact_run
from tests.small_problems import (
    all_tables,
    approx,
    histogram,
    integer_domain,
    parametrize,
    plan_of,
    query_matrix,
    query_problem,
    random_rows,
    random_sign_queries,
    run_to_end,
    seeded,
    softmax,
)

MODES = ("reused", "subspace", "fresh")


def naive(A, truth, alpha, sigma, rounds):
    """Algorithm 2 as printed, D by D, with the sign and both α corrected."""
    k = A.shape[1]
    signed = np.vstack([A, -A])
    log_D = np.full(k, -math.log(k))
    D_ag = np.full(k, 1 / k)
    total = 0.0
    for t in range(1, rounds + 1):
        eta = t + math.sqrt(4 / (alpha * sigma)) + 1
        D_md = (total * D_ag + eta * np.exp(log_D)) / (total + eta)
        errors = truth - A @ D_md
        q = signed[np.argmax(np.concatenate([errors, -errors]))]
        log_D = (alpha * total * log_D + eta * q) / (alpha * (total + eta))
        log_D -= np.log(np.exp(log_D - log_D.max()).sum()) + log_D.max()
        D_ag = (total * D_ag + eta * np.exp(log_D)) / (total + eta)
        total += eta
    return D_ag


@parametrize("rounds", [1, 2, 5, 40])
@parametrize("noise", ["fresh", "subspace"])
def test_without_noise_it_is_the_corrected_algorithm(noise, rounds):
    domain = integer_domain(3, 4)
    workload = Marginals(domain, ["a", "ab"])
    algorithm = ALGORITHMS["dpam"](noise=noise, rounds=rounds, alpha=0.05)
    plan, curator, (*_, last) = exact_run(
        algorithm, QueryRelease(workload, 40), random_rows(domain, 40, seed=3)
    )
    assert len(curator.asked) == rounds
    expected = naive(query_matrix(workload), curator.truth, 0.05, plan["sigma"], rounds)
    assert approx(expected, abs=1e-9) == last.release.D


def smoothed(A, y, D, tau, alpha):
    errors = (y - A @ D) / tau
    largest = tau * np.logaddexp.reduce(np.concatenate([errors, -errors])) - tau * math.log(
        2 * len(y)
    )
    return largest + alpha * D @ np.log(np.maximum(D, 1e-300))


@parametrize("kind", ["marginals", "signs"])
@parametrize("alpha, tau", [(0.1, 0.1), (0.003, 0.02), (0.02, 0.002), (1e-4, 0.005)])
def test_the_descent_on_reused_noise_reaches_the_optimum_that_scipy_finds(kind, alpha, tau):
    domain = integer_domain(3, 4)
    workload = (
        Marginals(domain, ["a", "ab"]) if kind == "marginals" else random_sign_queries(domain, 8)
    )
    A = query_matrix(workload)
    y = A @ histogram(domain, random_rows(domain, 40)) + 0.02 * seeded(2).normal(size=len(A))
    *_, (D, heat) = _accelerated_descent(
        ModelState(ListedCellsModel(domain), workload, None), workload, y, alpha, tau, 2000
    )
    found = minimize(
        lambda u: smoothed(A, y, softmax(u), tau, alpha),
        np.zeros(12),
        method="BFGS",
        options={"gtol": 1e-10},
    )
    assert heat == approx(tau)
    assert D.sum() == approx(1)
    assert smoothed(A, y, D, tau, alpha) <= found.fun + 1e-6 * tau + 1e-8
    if alpha > 1e-3:
        assert np.abs(A @ (D - softmax(found.x))).max() < 1e-3


@parametrize("epsilon", [0.01, 1, 100])
@parametrize("noise", MODES)
def test_the_plan_spends_exactly_the_whole_gaussian_budget(noise, epsilon):
    problem = query_problem("2-way")[0]
    budget = Budget(epsilon, 1e-6)
    plan = plan_of("dpam", problem, budget, noise=noise)
    (charge,) = plan.planned_events
    assert charge.times == (1 if noise == "reused" else plan["rounds"])
    whole = conversions.gdp_mu(epsilon, 1e-6)
    assert math.sqrt(charge.times) * charge.spend.mu == approx(whole, rel=1e-9)
    statistics = {
        "reused": Answers(problem.workload),
        "fresh": CellAnswers(problem.workload, subspace=False),
    }
    statistic = statistics.get(noise, CellAnswers(problem.workload, subspace=True))
    assert plan["sigma"] == approx(statistic.l2 / (problem.n * charge.spend.mu))
    assert theoretical_values(ALGORITHMS["dpam"](noise=noise), problem, budget).keys() == {"alpha"}


def test_noise_goes_on_answers_of_tables_and_on_cells_where_one_cell_is_in_many_queries():
    statistic, what, _ = _choose_statistic(Marginals.all(integer_domain(2, 3, 4), 2))
    assert (type(statistic), what) == (Answers, "tables")
    statistic, what, why = _choose_statistic(
        Explicit(integer_domain(60, 5), np.hstack([np.ones((200, 1)), np.eye(200, 299)]))
    )
    assert (type(statistic), what) == (CellAnswers, "subspace")
    assert "total variance" in why
    assert _choose_statistic(random_sign_queries(integer_domain(6, 5), 10))[1] == "answers"


def test_rounds_minimise_the_bound_of_theorem_5():
    """√(log k / T) + noise √T: the descent's error at the best α counts half, as the paper drops
    its constant 2.
    """
    rounds = step_schedules.mirror_descent_rounds(n=1000, k=5000, mu=0.2, l2=1, gaussian_width=20)
    noise = 20 / (1000 * 0.2)
    assert rounds == approx(math.sqrt(math.log(5000)) / noise), "where both terms are equal"


@parametrize("noise", MODES)
def test_the_noise_of_the_published_tables_is_as_large_as_is_said(noise):
    """What five tables say of each column has 204 free numbers in all runs, of which the squared
    errors are counted.
    """
    domain = integer_domain(*[3] * 6)
    problem = all_tables(domain, 2000)
    rows = random_rows(domain, 2000)
    columns = Marginals.all(domain, 1)
    total = 0.0
    truth = columns.answers_of_rows(rows)
    for seed in range(17):
        run = run_to_end("dpam", problem, rows, seed=seed, noise=noise, rounds=10)
        found = unbiased_tables(run.release, run.measured, domain)
        parts = np.repeat([found.variance[axes] for axes in columns.axes], 3)
        total += float(((found.answers(columns) - truth) ** 2 / parts).sum())
    assert 0.8 < math.sqrt(total / 204) < 1.25
