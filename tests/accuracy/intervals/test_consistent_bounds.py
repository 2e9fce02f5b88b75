"""What was not measured together: bounds that every table meets which agrees with the measurements,
and no wider.
"""

import numpy as np
from scipy.optimize import linprog

from dpcore import Marginals
from dpcore.accuracy.intervals.consistent_bounds import compatible_bounds
from dpcore.accuracy.intervals.question_intervals import question_interval
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.privacy.noisy_answers import NoisyAnswers
from dpcore.queries.questions import parse_question
from tests.accuracy.intervals.noisy_table import noisy_table
from tests.small_problems import (
    approx,
    integer_domain,
    marginal_matrix,
    parametrize,
    query_matrix,
    seeded,
)

DOMAIN = integer_domain(2, 3, 2, 4)
PAIRS = Marginals.all(DOMAIN, 2)
SINGLES = Marginals.all(DOMAIN, 1)
N = 1000
TEXTS = (
    "a = 0 and b = 1 and c = 1",
    "a = 0 and b <= 1 and c = 1 and d = 2",
    "a = 1 or c = 0 or d >= 2",
    "(a = 0 and b = 1) or (c = 1 and d = 3)",
    "a = 0 and not (b = 1 and c = 1)",
)


def told(tables, D, sigma, rng=None):
    """Noisy tables of a distribution."""
    values = tables.answers(D) + (0.0 if rng is None else rng.normal(size=tables.m) * sigma)
    return pool_tables(tables.domain, [NoisyAnswers(tables, values, np.full(tables.m, sigma))])


def values_on_cells(text, domain=DOMAIN):
    return query_matrix(parse_question(text, domain).workload)[0]


def extremes(domain, tables, D, text):
    """The least and largest answer of all tables over the whole domain with the same margins."""
    A = marginal_matrix(domain, tables.columns)
    g = values_on_cells(text, domain)
    return [sign * linprog(sign * g, A_eq=A, b_eq=tables.answers(D)).fun for sign in (1, -1)]


BITS = Marginals.all(integer_domain(2, 2, 2), 2)
ASKED = [(tables, text) for tables in (SINGLES, PAIRS) for text in TEXTS]
ASKED += [(BITS, text) for text in (TEXTS[0], TEXTS[-1], "a = 1 or b = 0 or c = 1")]


@parametrize("tables, text", ASKED)
@parametrize("seed", range(3))
def test_without_noise_no_table_with_the_same_margins_is_outside(tables, text, seed):
    """Equal to the extremes where no other column, and no value treated like another, is tied to
    what is asked.
    """
    D = seeded(seed).dirichlet(np.full(tables.domain.size, 0.2))
    low, high = extremes(tables.domain, tables, D, text)
    found = compatible_bounds(told(tables, D, 1e-9), parse_question(text, tables.domain), N, 0.95)
    ends = (0.0, 1.0) if found is None else found[0]
    assert ends[0] <= low + 1e-6
    assert ends[1] >= high - 1e-6
    if tables is not PAIRS:
        assert ends == approx((low, high), abs=2e-6)


def test_they_are_as_wide_as_noise_makes_them():
    """Three columns that decide each other in pairs: the third order is known, but for z standard
    errors.
    """
    D = np.zeros(DOMAIN.shape)
    D[0, 0, 0, 0] = 0.3
    D[1, 1, 1, 1] = 0.7
    sigma = 0.01
    found = question_interval(
        told(PAIRS, D.ravel(), sigma), parse_question("a = 0 and b = 0 and c = 0", DOMAIN), N
    )
    alone = question_interval(
        told(PAIRS, D.ravel(), sigma), parse_question("a = 0 and b = 0", DOMAIN), N
    )
    assert found.low < 0.3 < found.high
    assert alone.high - 0.3 < found.high - 0.3 < 1.6 * (alone.high - 0.3)
    assert found.high - found.low < 6 * (alone.high - alone.low)


def test_what_no_table_meets_is_widened_until_one_does():
    """Noise far below 0: there is no distribution within the errors as stated."""
    impossible = pool_tables(
        DOMAIN,
        [
            noisy_table(DOMAIN, (0, 1), [-0.5, 0.5, 0.5, 0.2, 0.2, 0.1], 0.001),
            noisy_table(DOMAIN, (2,), np.full(2, 0.5), 0.01),
        ],
    )
    found = question_interval(impossible, parse_question("a = 0 and b = 0 and c = 0", DOMAIN), N)
    assert 0 <= found.low <= found.high <= 0.6


def test_questions_of_too_many_kinds_are_left_out():
    domain = integer_domain(20, 20, 20, 20)
    singles = pool_tables(
        domain, [noisy_table(domain, (i,), np.full(20, 0.05), 0.01) for i in range(4)]
    )
    text = " or ".join(f"(a = {i} and b = {i} and c = {i} and d = {i})" for i in range(19))
    assert compatible_bounds(singles, parse_question(text, domain), N, 0.95) is None
    assert question_interval(singles, parse_question(text, domain), N).how.startswith(
        "cannot be bounded"
    )
