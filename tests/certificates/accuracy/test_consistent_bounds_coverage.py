"""Bounds of what was not measured together hold at least as often as they say, where the truth is
at an end of them.
"""

import math

import numpy as np
from scipy.optimize import linprog

from dpcore.accuracy.intervals.question_intervals import comparison_interval, question_interval
from dpcore.queries.questions import parse_question
from tests.accuracy.intervals.test_consistent_bounds import (
    DOMAIN,
    PAIRS,
    TEXTS,
    N,
    told,
    values_on_cells,
)
from tests.certificates.accuracy.test_coverage import COMPARED
from tests.small_problems import marginal_matrix, parametrize, seeded


def worst(text, tables, seed):
    """A distribution whose answer is the least that its own margins allow, and one where it is the
    largest.
    """
    D = seeded(seed).dirichlet(np.full(DOMAIN.size, 0.2))
    A = marginal_matrix(DOMAIN, tables.columns)
    g = values_on_cells(text)
    return [linprog(sign * g, A_eq=A, b_eq=tables.answers(D)).x for sign in (1, -1)]


@parametrize("sigma", [0.003, 0.05])
@parametrize("text", TEXTS[:2])
def test_they_hold_at_least_as_often_as_is_said_where_the_truth_is_at_an_end(text, sigma):
    rng = seeded(3)
    asked = parse_question(text, DOMAIN)
    g = values_on_cells(text)
    for P in worst(text, PAIRS, seed=1):
        P = np.maximum(P, 0) / np.maximum(P, 0).sum()
        table = 0
        people = 0
        runs = 60
        for _ in range(runs):
            D = rng.multinomial(N, P) / N
            found = question_interval(told(PAIRS, D, sigma, rng), asked, N)
            if found.low is None:  # nothing is said
                table = table + 1
                people = people + 1
                continue
            assert found.how.startswith("conservative: nothing was measured about")
            table += found.low - 1e-6 <= g @ D <= found.high + 1e-6
            people += found.population_low - 1e-6 <= g @ P <= found.population_high + 1e-6
        assert min(table, people) >= 0.95 * runs - 3 * math.sqrt(0.0475 * runs)


@parametrize("kind", COMPARED)
def test_two_of_them_compared_are_covered(kind):
    rng = seeded(5)
    runs = 60
    first = "a = 0 and b <= 1 and c = 1"
    second = "a = 1 and b = 0"
    P = worst(first, PAIRS, seed=2)[1]
    P = np.maximum(P, 0) / np.maximum(P, 0).sum()
    g = values_on_cells(first)
    h = values_on_cells(second)
    make = COMPARED[kind]
    table = 0
    people = 0
    for _ in range(runs):
        D = rng.multinomial(N, P) / N
        found = comparison_interval(
            told(PAIRS, D, 0.003, rng),
            parse_question(first, DOMAIN),
            parse_question(second, DOMAIN),
            N,
            kind,
        )
        assert found.how.startswith("conservative: nothing was measured about a × b × c together")
        assert found.unbiased is None
        table += found.low <= make(g @ D, h @ D) <= found.high
        people += found.population_low <= make(g @ P, h @ P) <= found.population_high
    assert min(table, people) >= 0.95 * runs - 3 * math.sqrt(0.0475 * runs)
