"""Curators of tiny tables: what they hand to the noise, on every data set of a domain."""

import itertools

import numpy as np

from dpcore import Budget
from dpcore.privacy.accounting import Plan, PlannedEvent
from dpcore.privacy.curators.table_curator import TableCurator
from tests.small_problems import data_sets, neighbouring_data_sets, rows_in_cells, seeded

LARGE = Budget(1000, 0.5)


class ChosenWords:
    """In a generator's place: the 53-bit words that a test chooses, then the 64-bit ones."""

    def __init__(self, first, more=()):
        self.first = first
        self.more = list(more)
        self.asked = 0

    def integers(self, low, high, size=None, dtype=None):
        if size is not None:
            return np.broadcast_to(np.array(self.first), size)
        self.asked += 1
        return self.more.pop(0)


def plan_of(budget, *charges, **options):
    """A plan of these spends, each with how often it may be charged."""
    return Plan(budget, tuple(PlannedEvent("any", *charge) for charge in charges), **options)


def curator_of(
    rows, *spends, times=1, budget=LARGE, kind=TableCurator, exact=False, seed=0, **options
):
    """A curator of these rows whose plan allows each spend so many times."""
    plan = plan_of(budget, *((spend, times) for spend in spends), exact=exact)
    return kind(rows, rows.n, plan, seeded(seed), **options)


def mechanism_arguments(asked, verb, statistic, spend, rows, **options):
    """What a curator of these rows hands to a mechanism: the values, the scale, and a threshold
    where there is one.
    """
    getattr(curator_of(rows, spend, **options), verb)(statistic, spend)
    return asked.pop()


def largest_move(found, order):
    """How far the values of any two data sets are apart, in the ℓ1- or ℓ2-norm, and the one scale
    of their noise.
    """
    (scale,) = {scale for _, scale, *_ in found}
    values = [values for values, *_ in found]
    return max(
        float(np.linalg.norm(a - b, ord=order)) for a, b in itertools.combinations(values, 2)
    ), scale


def laws_of_neighbours(domain, n, law):
    """The laws of every ordered pair of neighbours of n records, each computed once: `law(rows)`."""
    return over_neighbours(range(domain.size), n, lambda data: law(rows_in_cells(domain, data)))


def over_neighbours(values, n, law):
    """As `laws_of_neighbours`, of data sets of n of these values: `law(data)`."""
    laws = {data: law([values[i] for i in data]) for data in data_sets(len(values), n)}
    return [
        (laws[tuple(sorted(x))], laws[tuple(sorted(y))])
        for x, y in neighbouring_data_sets(len(values), n)
    ]
