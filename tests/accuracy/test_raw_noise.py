"""Plain noise: the numbers against simulations of the mechanism itself."""

import numpy as np

from dpcore import Budget, Marginals
from dpcore.accuracy.raw_noise import plain_noise_max_error
from dpcore.privacy.accounting import gaussian_spend
from tests.small_problems import integer_domain, parametrize, seeded

N = 500


@parametrize("delta", [0.0, 1e-6])
def test_plain_noise_costs_what_is_said_and_gaussian_noise_at_its_worst_a_little_less(delta):
    workload = Marginals.all(integer_domain(3, 4, 2), 2)
    budget = Budget(0.7, delta)
    worst = plain_noise_max_error(workload, budget, N)
    changed = 2 * len(workload.tables)  # a replaced record changes two cells of each table by 1/n
    rng = seeded(0)
    size = (40_000, workload.m)
    if delta:
        spend = gaussian_spend(budget)
        noise = np.abs(rng.normal(0, np.sqrt(changed) / N / spend.mu, size))
    else:
        noise = np.abs(rng.laplace(0, changed / N / budget.epsilon, size))
    assert (
        (0.75 if delta else 0.99) * worst
        < noise.max(axis=1).mean()
        < (1 if delta else 1.01) * worst
    )
