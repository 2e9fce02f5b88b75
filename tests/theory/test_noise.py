"""What noise alone does to answers, against simulation and against a real run."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from dpcore import ALGORITHMS, Budget, InputError, Marginals, QueryRelease, Run, samples
from dpcore.algorithms import solving
from dpcore.experiments.foretold import public_noise
from dpcore.params import build
from dpcore.theory.noise import all_within
from tests.helpers import all_tables, approx, parametrize, seeded

RUNS = 2000


@parametrize("answers", [1, 4, 60])
@parametrize("ratio", [1.0, 2.0, 3.2])
def test_the_chance_is_that_of_a_simulation(answers, ratio):
    noise = seeded(0).normal(0, 0.02, (RUNS, answers))
    inside = int((np.abs(noise).max(axis=1) <= ratio * 0.02).sum())
    assert binomtest(inside, RUNS, all_within(ratio * 0.02, 0.02, answers)).pvalue > 1e-3


def test_a_chance_stays_one_in_both_directions():
    assert all_within(0.0, 1.0, 3) == 0.0
    assert all_within(50.0, 1.0, 10**6) == 1.0
    assert all_within(5.0, 1.0, 10**6) == approx((1 - math.erfc(5 / math.sqrt(2))) ** 10**6)
    for bad in ((-0.1, 1, 1), (math.nan, 1, 1), (1, 0, 1), (1, math.inf, 1), (1, 1, 0)):
        with pytest.raises(InputError):
            all_within(*bad)


@parametrize("group", [1, 3])
def test_what_a_plan_says_of_its_noise_is_what_a_real_run_measures_with(group):
    sample, budget = samples.berkeley(), Budget(0.05, 1e-9)
    rows = sample.domain.encode(sample.frame)
    workload = Marginals(sample.domain, [("Gender", "Admission")])
    problem, algorithm = QueryRelease(workload, rows.n, group), ALGORITHMS["gaussian_maxent"]()
    run = Run(algorithm, problem, rows, budget).finish()
    (measured,) = run.measured
    assert public_noise(algorithm, problem, budget) == approx(measured.errors, rel=1e-9)


def test_only_a_plan_whose_noise_is_public_says_so():
    sample = samples.berkeley()
    problem = all_tables(sample.domain, 4526)
    said = {n: public_noise(build(c, {}), problem, Budget(1.0, 1e-9)) for n, c in solving(QueryRelease).items()}
    assert {name for name, sigma in said.items() if sigma is not None} == {"gaussian_maxent"}
