"""What noise alone does to answers, against their law and against a real run."""

import math

from scipy.stats import norm

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, samples
from dpcore.accuracy.noise_levels import probability_all_within
from dpcore.accuracy.predicted_error import predicted_noise_stddev
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.parameters import build_from_texts
from tests.small_problems import all_tables, approx, expect_error, parametrize


def test_the_chance_is_that_of_independent_normal_numbers():
    assert probability_all_within(0.0, 1.0, 3) == 0.0
    assert probability_all_within(50.0, 1.0, 10**6) == 1.0
    for ratio, sigma, answers in ((1.0, 1.0, 1), (3.2, 0.02, 60), (5.0, 1.0, 10**6)):
        assert probability_all_within(ratio * sigma, sigma, answers) == approx(
            (2 * norm.cdf(ratio) - 1) ** answers
        )
    for bad in ((-0.1, 1, 1), (math.nan, 1, 1), (1, 0, 1), (1, math.inf, 1), (1, 1, 0)):
        with expect_error():
            probability_all_within(*bad)


@parametrize("group", [1, 3])
def test_what_a_plan_says_of_its_noise_is_what_a_real_run_measures_with(group):
    sample = samples.berkeley()
    budget = Budget(0.05, 1e-9)
    rows = sample.domain.encode(sample.frame)
    workload = Marginals(sample.domain, [("Gender", "Admission")])
    problem = QueryRelease(workload, rows.n, group)
    algorithm = ALGORITHMS["gaussian_maxent"]()
    (measured,) = Run(algorithm, problem, rows, budget).finish().measured
    assert predicted_noise_stddev(algorithm, problem, budget) == approx(measured.stddev, rel=1e-9)


def test_only_a_plan_whose_noise_is_public_says_so():
    problem = all_tables(samples.berkeley().domain, 4526)
    said = {
        n: predicted_noise_stddev(build_from_texts(c, {}), problem, Budget(1.0, 1e-9))
        for n, c in algorithms_for_problem(QueryRelease).items()
    }
    assert {name for name, sigma in said.items() if sigma is not None} == {"gaussian_maxent"}
