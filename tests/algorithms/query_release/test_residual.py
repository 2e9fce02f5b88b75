"""`residual`: unbiased, consistent, with exact variances, and as little noise as can be."""

import math

import numpy as np

from dpcore import Budget, Explicit, Marginals, QueryRelease, TableQueries, Union
from dpcore.algorithms import Residual
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.query_release.shared.optimal_noise import least_rmse
from dpcore.privacy.accounting import gdp_mu
from dpcore.privacy.statistics import Answers
from tests.small_problems import (
    BUDGET,
    D324,
    all_tables,
    approx,
    expect_error,
    final_errors,
    integer_domain,
    query_problem,
    random_rows,
    random_sign_queries,
    run_to_end,
    seeded,
)

RUNS = 200


def test_answers_are_unbiased_with_the_standard_errors_that_are_said_and_the_least_there_are():
    problem, rows = query_problem("mixed")
    runs = [run_to_end("residual", problem, rows, seed=seed) for seed in range(RUNS)]
    workload = problem.workload
    errors = np.array([run.release.answers(workload) - run.truth.answers for run in runs])
    said = runs[0].release.standard_errors(workload)
    assert np.abs(errors.mean(axis=0) / said).max() < 4.5 / math.sqrt(RUNS)
    assert errors.std(axis=0) == approx(said, rel=5 / math.sqrt(2 * RUNS))
    assert np.sqrt((said**2).mean()) == approx(runs[0].plan["rmse"])
    assert runs[0].plan["rmse"] == approx(least_rmse(workload, BUDGET, problem.n))
    raw = Answers(workload).l2 / (problem.n * gdp_mu(1, 1e-6))
    assert raw / runs[0].plan["rmse"] > 1.3


def test_what_was_not_measured_has_no_standard_error():
    problem, rows = query_problem("2-way")
    part = QueryRelease(Marginals(problem.domain, ["ab", "c"]), problem.n)
    release = run_to_end("residual", part, rows).release
    asked = Marginals(problem.domain, ["a", "c", "ac"])
    known = np.isfinite(release.standard_errors(asked))
    assert [known[table].all() for table in asked.tables] == [True, True, False]
    assert not known[asked.tables[2]].any()
    spread = release.table((0,))[:, None] / 4 + release.table((2,)) / 3 - 1 / 12
    assert release.table((0, 2)) == approx(spread), "and is taken to be even"


def test_queries_on_tables_and_matrices_are_read_off_the_answers():
    asked = Union([TableQueries.ranges(D324, "ac"), Marginals(D324, ["b"])])
    release = run_to_end("residual", QueryRelease(asked, 300), random_rows(D324, 300)).release
    D = release.table((0, 1, 2)).ravel()
    assert release.answers(asked) == approx(asked.answers(D))
    matrix = random_sign_queries(D324, 4)
    assert release.answers(matrix) == approx(matrix.answers(D))
    wide = integer_domain(*[9] * 7)
    few = run_to_end(
        "residual", all_tables(wide, 50, 1), wide.group_rows(np.zeros((50, 7), int))
    ).release
    with expect_error("4,782,969 combinations is more than"):
        few.answers(Explicit.__new__(Explicit))


def test_a_fit_is_made_on_request_and_is_not_negative():
    problem, rows = query_problem("3-way of 4")
    plain = run_to_end("residual", problem, rows, Budget(0.1, 1e-6))
    assert plain.release.answers(problem.workload).min() < 0
    fitted = run_to_end("residual", problem, rows, Budget(0.1, 1e-6), fit="nonnegative")
    assert fitted.release.D.min() >= 0
    assert fitted.convergence[0].empirical == plain.convergence[0].empirical
    assert final_errors(fitted).rmse < 0.7 * final_errors(plain).rmse, "it borrows strength"
    assert len(plain.sample(10)) == 10, "rows come of such a fit"


def test_many_columns_need_no_rows_and_refuse_a_fit_that_cannot_be_held():
    domain = integer_domain(*[9] * 12)
    rows = domain.group_rows(seeded(0).integers(0, 9, (200, 12)))
    problem = all_tables(domain, 200)
    run = run_to_end("residual", problem, rows)
    assert final_errors(run).rmse == approx(run.plan["rmse"], rel=0.05)
    with expect_error("fit no distribution that could be held"):
        run.sample(10)
    with expect_error("fit no distribution that could be held"):
        make_plan(Residual(fit="nonnegative"), problem, BUDGET)
