"""Tables of two questions that may overlap, and how often a comparison's interval for the
population holds.

Cells are: both questions hold, only the first, only the second, neither.
"""

from functools import cache

import numpy as np

from dpcore.accuracy.intervals.question_intervals import comparison_interval
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.queries.questions import parse_question
from tests.accuracy.intervals.noisy_table import noisy_table
from tests.small_problems import integer_domain

DOMAIN = integer_domain(2, 2)
KINDS = ("difference", "ratio", "odds")
ROUNDING = 1e-9


def truth_of(kind, cells):
    """The difference, ratio or odds ratio of the population; None where it has no value."""
    p = cells[0] + cells[1]
    q = cells[0] + cells[2]
    if kind == "difference":
        return p - q
    above, below = (p, q) if kind == "ratio" else (p * (1 - q), q * (1 - p))
    return above / below if below > 1e-12 else None


@cache
def question(text):
    return parse_question(text, DOMAIN)


def compare(cells, n, kind, *, error=1e-9, asked=("a = 0", "b = 0"), level=0.95):
    """The comparison of two questions by a noisy table whose cells are these."""
    known = pool_tables(DOMAIN, [noisy_table(DOMAIN, (0, 1), cells, error)])
    first, second = map(question, asked)
    return comparison_interval(known, first, second, n, kind, level=level)


def interval_holds(found, truth):
    """Whether the population's interval holds the truth; without an end, it holds everything on
    that side.
    """
    low = -np.inf if found.population_low is None else found.population_low
    high = np.inf if found.population_high is None else found.population_high
    return low - ROUNDING <= truth <= high + ROUNDING


def coverage(cells, n, kind, rng, repeats=4000):
    """How often the interval of a comparison holds the truth, where noise is negligible."""
    outcomes, times = np.unique(rng.multinomial(n, cells, size=repeats), axis=0, return_counts=True)
    truth = truth_of(kind, cells)
    inside = [interval_holds(compare(counts / n, n, kind), truth) for counts in outcomes]
    return np.dot(inside, times) / repeats
