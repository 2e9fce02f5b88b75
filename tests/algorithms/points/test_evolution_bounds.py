"""Schedules and bounds of Private Evolution against golden numbers and their own definitions."""

import math

from dpcore import ALGORITHMS, Budget, PointRelease
from dpcore.algorithms.points import evolution_bounds as theory
from tests.point_problems import BALL
from tests.small_problems import approx, parametrize

GOLDEN = {  # n (d = 2, D = 2, ε = 1, δ = 1e-4): T, σ, α, L, n_s, |V|
    1_000: (14, 1.68571557e-2, 0.259670, 3, 22, 154),
    10_000: (18, 1.91142179e-3, 0.087440, 5, 158, 1738),
    100_000: (23, 2.16064889e-4, 0.029398, 7, 1195, 17925),
}


def test_golden_constants():
    assert theory.variation_constant(2) == approx(5.13411648, rel=1e-8)
    assert theory.contraction_rate(2) == approx(0.00774987)


@parametrize("n, row", GOLDEN.items())
def test_golden_schedules(n, row):
    T, sigma, alpha, levels, samples, candidates = row
    problem = PointRelease(BALL, n, ("x", "y"))
    plan = ALGORITHMS["private_evolution"](schedule="paper").plan(problem, Budget(1, 1e-4))
    assert (plan["rounds"], plan["levels"], plan["samples"]) == (T, levels, samples)
    assert plan["sigma"] == approx(sigma, rel=1e-8)
    assert plan["alpha"] == approx(alpha, abs=6e-7)
    assert plan["samples"] * (2 * plan["levels"] + 1) == candidates
    assert ALGORITHMS["private_evolution"]().plan(problem, Budget(1, 1e-4))["rounds"] == round(
        math.log(n)
    )


def test_cells_of_a_partition_grow_with_the_budget():
    assert theory.partition_cell_count(n=1000, epsilon=1, delta=0) == 1000
    assert theory.partition_cell_count(n=1000, epsilon=1, delta=math.exp(-4)) == approx(500)
