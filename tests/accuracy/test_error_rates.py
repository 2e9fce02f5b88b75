"""Rates at points computed by hand; the Gaussian width against closed forms."""

import math
import re
from dataclasses import replace

import numpy as np
from scipy.integrate import quad
from scipy.special import erf

from dpcore import ALGORITHMS, Explicit, Marginals
from dpcore.accuracy.error_rates import ERROR_RATES, RateParameters
from dpcore.accuracy.printed_formulas import GAUSSIAN_FORMULAS
from dpcore.algorithms.query_release.shared.workload_width import estimate_gaussian_width
from tests.small_problems import approx, expect_error, integer_domain, parametrize, seeded

# n ε = 10^6, d = 16 (log k = 16 log 2), log|Q| = 32 (so that every root is easy), log(1/δ) = 1, w =
# 4.
BY_HAND = RateParameters(
    n=10**6, k=2**16, m=round(math.exp(32) / 2), epsilon=1.0, delta=math.exp(-1), gaussian_width=4.0
)
VALUES = {
    "mwem": 2 * 32**0.5 / 1000,
    "dualquery": 16 ** (1 / 6) * 32**0.5 / 100,
    "fem": 8 * 32**0.5 / 1000,
    "sepfem": 2**2.5 * 32**0.5 / 1000,
    "dqrs": 16**0.2 * 8 / 10**2.4,
    "dpfw": (16 * math.log(2)) ** 0.2 * 4 / 10**2.4,
    "dpam": 2 * math.log(2) ** 0.25 * 2 / 1000,
}
USUAL = RateParameters(n=48_842, k=20_160, m=4_667, epsilon=1.0, delta=1e-9, gaussian_width=300.0)
each_row = parametrize("name", ERROR_RATES)


@each_row
def test_a_row_has_the_value_computed_by_hand(name):
    row = ERROR_RATES[name]
    assert row.evaluate(BY_HAND) == approx(VALUES[name], rel=1e-9)
    assert 2**row.epsilon_power == approx(
        row.evaluate(replace(USUAL, epsilon=2)) / row.evaluate(USUAL)
    )


def test_the_rows_are_those_of_the_table():
    assert set(VALUES) == set(ERROR_RATES) <= set(ALGORITHMS)


@parametrize("change", [{"delta": 0}, {"delta": 1}, {"n": 0}, {"epsilon": 0}, {"k": 0}, {"m": 0}])
def test_a_setting_without_meaning_is_refused(change):
    with expect_error(next(iter(change))):
        replace(USUAL, **change)


# the Gaussian width


def largest_of(m):
    """E max |N_j| of m independent standard normals: ∫ P(max > x) dx."""
    return quad(lambda x: 1 - erf(x / math.sqrt(2)) ** m, 0, 12)[0]


def test_the_width_of_one_query_and_of_orthogonal_ones_is_known():
    domain = integer_domain(4, 3, 2)
    rng = seeded(0)
    q = rng.uniform(-1, 1, domain.size)
    one, se = estimate_gaussian_width(Explicit(domain, q[None]), 4000, rng)
    assert one == approx(np.linalg.norm(q) * math.sqrt(2 / math.pi), abs=4 * se)
    assert se == approx(np.linalg.norm(q) * math.sqrt((1 - 2 / math.pi) / 4000), rel=0.1)
    for workload, norm in (
        (Explicit(domain, np.eye(24)[:7]), 1),
        (Marginals(domain, ["ab"]), math.sqrt(2)),
    ):
        mean, se = estimate_gaussian_width(workload, 4000, rng)
        assert mean == approx(norm * largest_of(workload.m), abs=4 * se)
        assert 4 * se < 0.05 * mean, "so that 5% more or less is told apart"


def test_the_width_needs_two_draws_and_cells_that_can_be_enumerated():
    with expect_error("draws=1"):
        estimate_gaussian_width(Marginals.all(integer_domain(2, 2), 1), 1, seeded(0))
    with expect_error("combinations"):
        estimate_gaussian_width(Marginals.all(integer_domain(1000, 1000, 1000), 1), 5, seeded(0))


@parametrize(
    "name, wanted",
    [
        (
            "mwem",
            r"\frac{d^{1/4} \, (\log|Q|)^{1/2} \, (\log\tfrac{1}{\delta})^{1/2}}"
            r"{(n\varepsilon)^{1/2}}",
        ),
        (
            "dpam",
            r"\frac{(\log k)^{1/4} \, (\log\tfrac{1}{\delta})^{1/4} \, w(Q)^{1/2}}"
            r"{(n\varepsilon)^{1/2}}",
        ),
    ],
)
def test_a_rate_is_typeset_from_its_powers(name, wanted):
    assert ERROR_RATES[name].latex == wanted


def test_papers_stand_in_one_place_beside_each_algorithm_and_bound():
    year = re.compile(r"\b(19|20)\d\d\b")
    for name, algorithm in ALGORITHMS.items():
        about = algorithm.about
        assert about.paper == "this project" or year.search(about.paper), name
        assert about.source.startswith(about.paper)
        assert bool(year.search(about.bound)) == (name in ERROR_RATES), name
    assert ALGORITHMS["dpfw"].about.paper == "Micali, Lezane, Betken 2025"
    assert all(year.search(formula.source) for formula in GAUSSIAN_FORMULAS)
