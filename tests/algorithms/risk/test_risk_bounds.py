"""The bounds of the learning paper, corrected, against closed forms, reference numbers and brute
force.
"""

import math

import numpy as np

from dpcore import Budget
from dpcore.algorithms.risk import risk_bounds as theory
from dpcore.privacy.accounting import gdp_log_delta, regularised_draw_spend
from tests.small_problems import BUDGET, approx, parametrize


@parametrize("epsilon, n, d", [(0.1, 1e3, 5), (1, 1e3, 20), (3, 5e4, 20)])
def test_the_bound_is_below_the_printed_one(epsilon, n, d):
    s = regularised_draw_spend(Budget(epsilon, 1e-6), 1, 0.01)[1]
    numbers = {"n": n, "d": d, "G": 2, "R": 1, "s": s}
    bound = theory.erm_bound(**numbers, mu=theory.erm_mu(**numbers))
    assert bound == approx(math.sqrt(2 * d) * 2 / (s * n))
    c = math.log(1e6)
    paper = (
        2 * 2 * math.sqrt(d) / (n * (math.sqrt(c + epsilon) - math.sqrt(c)))
    )  # as Theorem 6.4 prints it
    assert bound < paper


@parametrize("which", ["erm", "sco"])
def test_mu_makes_its_bound_smallest(which):
    mu, bound = (getattr(theory, f"{which}_{what}") for what in ("mu", "bound"))
    numbers = {"n": 700, "d": 4, "G": 1.5, "R": 3, "s": 0.3}
    best = bound(**numbers, mu=mu(**numbers))
    assert best == min(
        best, *(bound(**numbers, mu=mu(**numbers) * f) for f in np.geomspace(0.1, 10, 41))
    )


def test_the_bound_for_new_records_is_the_known_one():
    s = regularised_draw_spend(BUDGET, 1, 0.01)[1]
    numbers = {"n": 10_000, "d": 5, "G": 1, "R": 1, "s": s}
    mu = theory.sco_mu(**numbers)
    assert (s, mu, theory.sco_bound(**numbers, mu=mu)) == approx(
        (0.2365889, 0.014205159, 0.014205159)
    )


@parametrize("epsilon", [0.1, 1, 5])
def test_the_printed_s_is_safe_but_smaller_and_that_of_theorem_6_9_is_not_safe(epsilon):
    s = regularised_draw_spend(Budget(epsilon, 1e-6), 1, 0.01)[1]
    assert theory.paper_gdp_parameter(epsilon=epsilon, delta=1e-6) < s
    unsafe = 20 / math.sqrt(2 * math.log(3 / 4e-6))
    assert math.exp(gdp_log_delta(20, unsafe)) > 2e-6 / 3
