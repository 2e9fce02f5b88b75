"""Errors predicted by simulation: from what is public, and from a release; no row is read."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, domain_from_json
from dpcore.algorithms.algorithm import make_plan
from dpcore.evaluation import predicted_errors
from dpcore.evaluation.predicted_errors import (
    MAX_RANGE_RATIO,
    PUBLIC_TABLES,
    PredictedErrors,
    draw_public_tables,
    predict_from_release,
    simulation_repeats,
)
from dpcore.evaluation.run import Run
from tests.small_problems import approx, categorical

DOMAIN = domain_from_json(
    {
        "columns": {
            "sex": categorical("F", "M"),
            "ward": categorical(*"abcdef"),
            "stage": categorical(*"1234"),
        },
        "constraints": [{"impossible": {"sex": ["M"], "ward": ["f"]}}],
    }
)
N = 3000
PROBLEM = QueryRelease(Marginals.all(DOMAIN, 2), N)
ALGORITHM = ALGORITHMS["gaussian_maxent"]()


@pytest.fixture(autouse=True)
def usual_simulations(monkeypatch):
    monkeypatch.setattr(predicted_errors, "MAX_REPEATS", 9)


def errors_of_run(rows, seed, budget):
    run = Run(ALGORITHM, PROBLEM, rows, budget, seed=seed)
    return run.finish().summarise().query_errors, run.release


@pytest.mark.parametrize("draw", PUBLIC_TABLES)
def test_a_public_table_has_n_possible_rows_and_is_the_same_again(draw):
    rows = draw(DOMAIN, N, np.random.default_rng(3))
    again = draw(DOMAIN, N, np.random.default_rng(3))
    assert rows.n == N
    assert DOMAIN.possible_rows_mask(rows.values).all()
    assert (rows.values == again.values).all()
    assert (rows.weights == again.weights).all()


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("table", range(len(PUBLIC_TABLES)))
def test_what_a_release_predicts_of_itself_is_what_is_measured(table, epsilon):
    budget = Budget(epsilon, 1e-9)
    plan = make_plan(ALGORITHM, PROBLEM, budget)
    rows = draw_public_tables(DOMAIN, N)[table]
    within = []
    for seed in range(2):
        errors, release = errors_of_run(rows, seed, budget)
        predicted = predict_from_release(
            release, ALGORITHM, PROBLEM, plan, np.random.default_rng(seed)
        )
        low, high = predicted.misplaced
        within.append(low <= errors.misplaced <= high)
        assert predicted.basis == "release"
        assert 0 < low <= high <= MAX_RANGE_RATIO * low * (1 + 1e-9)
        assert predicted.largest[1] >= predicted.largest[0]
    assert all(within)


def test_a_prediction_from_the_release_does_not_depend_on_the_rows():
    """The same release and generator predict the same; nothing else goes in."""
    budget = Budget(1.0, 1e-9)
    _, release = errors_of_run(draw_public_tables(DOMAIN, N)[0], 1, budget)
    plan = make_plan(ALGORITHM, PROBLEM, budget)
    first, second = (
        predict_from_release(release, ALGORITHM, PROBLEM, plan, np.random.default_rng(2))
        for _ in range(2)
    )
    assert first == second


def test_a_release_without_a_distribution_is_predicted_from_what_is_public():
    algorithm = ALGORITHMS["residual"]()
    budget = Budget(1.0, 1e-9)
    run = Run(algorithm, PROBLEM, draw_public_tables(DOMAIN, N)[1], budget).finish()
    plan = make_plan(algorithm, PROBLEM, budget)
    answers = replace(run.release, fit=None)  # no rows can be drawn from them
    predicted = predict_from_release(answers, algorithm, PROBLEM, plan, np.random.default_rng(0))
    assert predicted.basis == "public"
    measured = run.summarise().query_errors.misplaced
    assert predicted.misplaced[0] <= measured <= predicted.misplaced[1]


def test_more_budget_predicts_less_error():
    predicted = []
    for epsilon in (0.3, 3.0):
        budget = Budget(epsilon, 1e-9)
        errors = [errors_of_run(rows, 0, budget)[0] for rows in draw_public_tables(DOMAIN, N)]
        predicted.append(PredictedErrors.of_runs(errors, PROBLEM.workload, 3, "public"))
    assert predicted[1].misplaced[1] < predicted[0].misplaced[0]
    assert predicted[1].as_exact_as_sample > predicted[0].as_exact_as_sample
    assert predicted[0].table_columns == (2, 2)
    assert predicted[0].repeats == 1


@pytest.mark.parametrize(
    "seconds, tables, repeats", [(0, 3, 9), (0.1, 3, 9), (0.5, 3, 2), (60, 3, 1), (60, 1, 2)]
)
def test_slow_runs_are_repeated_less(seconds, tables, repeats):
    assert simulation_repeats(seconds, tables) == approx(repeats)
