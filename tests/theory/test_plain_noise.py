"""Plain noise: the numbers against simulations of the mechanism itself."""

import numpy as np
import pytest

from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.accounting.calibrations import gaussian_share
from dpcore.theory.plain_noise import plain_noise
from dpcore.workloads import Marginals
from tests.helpers import codes

N = 500


def workload():
    return Marginals.all(codes(3, 4, 2), 2)


def test_laplace_noise_costs_what_is_said():
    w, budget = workload(), Budget(0.7, 0.0)
    worst, mean = plain_noise(w, budget, N)
    scale = 2 * len(w.tables) / N / budget.epsilon  # a replaced record changes two cells of each table by 1/n
    noise = np.abs(np.random.default_rng(0).laplace(0, scale, (40_000, w.m)))
    assert mean == pytest.approx(noise.mean(), rel=0.01)
    assert worst == pytest.approx(noise.max(axis=1).mean(), rel=0.01)


def test_gaussian_noise_costs_no_more_than_is_said_and_nearly_that():
    w, budget = workload(), Budget(0.7, 1e-6)
    worst, mean = plain_noise(w, budget, N)
    (spend,) = gaussian_share(budget, [1.0])
    scale = np.sqrt(2 * len(w.tables)) / N / spend.mu
    noise = np.abs(np.random.default_rng(0).normal(0, scale, (40_000, w.m)))
    assert mean == pytest.approx(noise.mean(), rel=0.01)
    assert 0.75 * worst < noise.max(axis=1).mean() < worst
