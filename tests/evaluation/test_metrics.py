"""The errors of answers by their definitions, with the single columns of the tables asked."""

import numpy as np
import pytest

from dpcore import Marginals, domain_from_json
from dpcore.evaluation.metrics import compute_errors
from dpcore.evaluation.run import Comparison
from dpcore.queries.parse_queries import read_queries
from dpcore.queries.single_columns import single_columns_of
from dpcore.schema.domain import sum_to_axes
from tests.small_problems import approx

DOMAIN = domain_from_json({"a": 2, "b": 3, "c": 4})


def random_distribution(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(DOMAIN.size))


@pytest.mark.parametrize(
    "questions",
    [
        ["marginals:1"],
        ["marginals:2"],
        ["marginals:3"],
        ['marginals:[["a","b"]]', "question:a = 0", 'marginals:[["c"]]'],
    ],
)
def test_single_columns_are_those_of_the_distribution(questions):
    workload = read_queries(questions, DOMAIN)[0]
    D = random_distribution(0)
    found = single_columns_of(workload)
    assert found.workload.axes == ((0,), (1,), (2,))
    one_way = [sum_to_axes(D.reshape(DOMAIN.shape), range(3), [a]) for a in range(3)]
    assert found.answers(workload.answers(D)) == approx(np.concatenate(one_way))


def test_rows_in_a_wrong_cell_is_the_share_that_has_to_move():
    workload = Marginals(DOMAIN, [["a", "b"]])
    truth = np.array([0.5, 0.5, 0, 0, 0, 0])
    answers = np.array([0.5, 0.3, 0.1, 0.1, 0, 0])
    errors = compute_errors(answers, truth, workload)
    assert errors.misplaced == approx(0.2)
    assert errors.mean_error == approx(0.4 / 6)


def test_misplaced_does_not_fall_because_cells_are_empty():
    """Cells that nobody is in add nothing; the mean error falls by them."""
    small = domain_from_json({"a": 2, "b": 3})
    wide = domain_from_json({"a": 2, "b": 30})
    errors = []
    for domain in (small, wide):
        workload = Marginals.all(domain, 2)
        truth = np.zeros(workload.m)
        truth[0] = 1
        answers = truth.copy()
        answers[:2] = (0.9, 0.1)
        errors.append(compute_errors(answers, truth, workload))
    assert errors[0].misplaced == approx(errors[1].misplaced)
    assert errors[1].mean_error < errors[0].mean_error / 5


def test_the_largest_error_may_be_that_of_a_single_column():
    """Errors of three cells in one row add up to a column's."""
    workload = Marginals(DOMAIN, [["a", "b"]])
    truth = np.full(6, 1 / 6)
    answers = truth + np.array([0.05, 0.05, 0.05, -0.05, -0.05, -0.05])
    errors = compute_errors(answers, truth, workload)
    assert errors.max_error == approx(0.05)
    assert errors.largest == approx(0.15)
    assert errors.largest_of_group == approx(0.15 / 0.5)
    comparison = Comparison(workload, truth, answers, 60).with_largest_error
    assert comparison.gaps.max() == approx(errors.largest)
    assert comparison.workload.label(int(comparison.worst(1)[0]))[0][0] == "a"


def test_without_tables_the_mean_error_stands_for_misplaced_rows():
    workload = read_queries(["question:a = 0 and b > 0", "question:c = 1"], DOMAIN)[0]
    D = random_distribution(1)
    truth = workload.answers(D)
    answers = truth + 0.01
    errors = compute_errors(answers, truth, workload)
    assert errors.mean_l1 is None
    assert errors.misplaced == errors.mean_error == approx(0.01)
    assert errors.largest == errors.max_error
