"""Schedules and bounds of Private Evolution against golden numbers and their own definitions."""

import math

import numpy as np
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.geometry.regions import Ball
from dpcore.privacy.accounting import conversions
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import PointRelease
from dpcore.theory import evolution as theory

GOLDEN = {  # n (d = 2, D = 2, ε = 1, δ = 1e-4): T, σ, α, L, n_s, |V|
    1_000: (14, 1.68571557e-2, 0.259670, 3, 22, 154),
    10_000: (18, 1.91142179e-3, 0.087440, 5, 158, 1738),
    100_000: (23, 2.16064889e-4, 0.029398, 7, 1195, 17925),
}


def test_golden_constants():
    found = [conversions.gdp_mu(*pair) for pair in ((1, 1e-4), (1, 1e-5), (1, 1e-9), (3, 1e-9))]
    assert found == pytest.approx([0.313902458, 0.268051123, 0.181974807, 0.514476265], rel=2e-9)
    assert theory.variation_constant(2) == pytest.approx(5.13411648, rel=1e-8)
    assert theory.contraction(2) == pytest.approx(0.00774987, rel=1e-6)


@pytest.mark.parametrize(("n", "row"), GOLDEN.items())
def test_golden_schedules(n, row):
    T, sigma, alpha, levels, samples, candidates = row
    problem = PointRelease(Ball(np.zeros(2), 1.0), n, ("x", "y"))
    plan = ALGORITHMS["private_evolution"](schedule="paper").plan(problem, Budget(1, 1e-4))
    assert (plan["rounds"], plan["levels"], plan["samples"]) == (T, levels, samples)
    assert plan["sigma"] == pytest.approx(sigma, rel=1e-8)
    assert plan["alpha"] == pytest.approx(alpha, abs=6e-7)
    assert plan["samples"] * (2 * plan["levels"] + 1) == candidates
    assert ALGORITHMS["private_evolution"]().plan(problem, Budget(1, 1e-4))["rounds"] == round(math.log(n))


def test_the_analytic_noise_is_smaller_than_the_sketch_and_the_statement():
    for n, delta, T in ((1000, 1e-4, 14), (10**5, 1e-9, 23)):
        exact = theory.noise(n=n, mu=conversions.gdp_mu(1, delta), steps=T)
        sketch = theory.theorem_noise(n=n, epsilon=1, delta=delta, steps=T)
        assert 1.1 < sketch / exact < 1.5
        assert 2 * sketch / exact < 2.8, "the statement prints twice the sketch"


def test_the_recursion_is_its_closed_form_and_tends_to_the_error():
    start, err, gamma = 1.4, 0.3, theory.contraction(2)
    value = start
    for T in range(1, 30):
        value = (1 - gamma) * value + gamma * err
        assert theory.recursion(start=start, error=err, steps=T, d=2) == pytest.approx(value, rel=1e-12)
    assert theory.recursion(start=start, error=err, steps=10**5, d=2) == pytest.approx(err)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_bounds_shrink_with_the_data_and_scale_with_the_space(d):
    complexity = [theory.gaussian_complexity(count=m, d=d, D=1.0) for m in (10, 10**4, 10**8, 10**12)]
    assert complexity == sorted(complexity, reverse=True)
    assert complexity[-1] < complexity[0]
    assert theory.gaussian_complexity(count=500, d=d, D=3.0) == pytest.approx(
        3 * theory.gaussian_complexity(count=500, d=d, D=1.0)
    )
    bounds = [
        theory.partition_bound(n=n, mu=0.3, cells=max(1, n // 10), cell_diameter=n ** (-1 / d), d=d, D=1.0)
        for n in (10**3, 10**6, 10**12)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert theory.rate(sigma=1e-4, d=d, D=2.0) == pytest.approx(2 * d * 1e-4 ** (1 / max(d, 2)))
    err = theory.error(alpha=0.1, sigma=1e-3, levels=4, samples=100, d=d, D=1.0)
    assert err > 0.1 / theory.contraction(d)


def test_the_theorems_steps_forget_the_unit_of_length_and_are_vacuous_for_small_n():
    assert theory.theorem_steps(n=1000, d=2, epsilon=1, delta=1e-4) == 1
    assert theory.theorem_steps(n=10**7, d=2, epsilon=1, delta=1e-4) > 100


def test_closeness_needs_an_epsilon_that_grows_with_the_dimension():
    needs = [theory.closeness_epsilon(eta=0.01, radius=1.0, d=d, failure=0.1) for d in (1, 5, 50)]
    assert needs[1] == pytest.approx(math.log((50**5 - 1) * 9), rel=1e-9)
    assert needs == sorted(needs)
    assert needs[2] == pytest.approx(50 * math.log(50) + math.log(9))
    assert theory.closeness_epsilon(eta=0.6, radius=1.0, d=3, failure=0.1) == 0


def test_the_threshold_bound_is_small_for_clusters_and_vacuous_for_scattered_points():
    def bound(**shape):
        return theory.threshold_bound(n=10**4, epsilon=1, delta=1e-5, d=2, D=1.0, **shape)

    assert bound(positive=1, small=0) < 0.01
    assert bound(positive=5000, small=5000) > 1
    assert theory.partition_cells(n=1000, epsilon=1, delta=0) == 1000
    assert theory.partition_cells(n=1000, epsilon=1, delta=math.exp(-4)) == pytest.approx(500)
