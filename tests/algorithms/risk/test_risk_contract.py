"""What learners pay, draw and find on small tasks; test_contract.py holds what every algorithm
keeps.
"""

import numpy as np

from dpcore import Budget, Run
from dpcore.algorithms.algorithm import make_plan
from dpcore.algorithms.risk import risk_bounds as theory
from dpcore.evaluation.output_laws import line_law
from dpcore.privacy.accounting import Gaussian, SubsampledGaussian
from dpcore.privacy.curators.risk_curator import RiskCurator
from dpcore.privacy.statistics import MeanGradient, RegularisedRisk
from tests.privacy.enumerated_neighbours import curator_of
from tests.risk_problems import LEARNERS, risk_problem
from tests.small_problems import (
    BUDGET,
    approx,
    expect_budget_error,
    expect_error,
    final_errors,
    ignore_privacy_warnings,
    parametrize,
)

pytestmark = ignore_privacy_warnings


def test_people_with_several_rows_cost_as_many_times_the_noise():
    problem, rows = risk_problem("median")
    many = type(problem)(
        problem.loss, problem.region, problem.n, problem.names, problem.location, group=3
    )
    for name, scale, ratio in (
        ("regularized_exponential", "k", 3),
        ("exponential", "k", 3),
        ("noisy_gd", "sigma", 1 / 3),
    ):
        one, three = (make_plan(LEARNERS[name](), p, BUDGET)[scale] for p in (problem, many))
        assert one == approx(ratio * three)
    with expect_error("single rows only"):
        make_plan(LEARNERS["dp_sgd"](), many, BUDGET)
    assert Run(LEARNERS["output_perturbation"](), many, rows, BUDGET).finish().spent.epsilon <= 1


def test_the_law_is_as_sharp_as_was_paid_for_and_nothing_is_touched_unpaid():
    problem, rows = risk_problem("median")
    target = RegularisedRisk(problem.loss, problem.region, 0.2, True)
    curator = curator_of(rows, Gaussian(0.1), budget=BUDGET, kind=RiskCurator)
    with expect_error("there is no sampler 'magic'"):
        curator.draw_parameter(target, "magic", Gaussian(0.1))
    with expect_error("needs the logistic loss"):
        curator.draw_parameter(target, "logistic", Gaussian(0.1))
    with expect_budget_error("does not pay for this"):
        curator.draw_parameter(target, "line", SubsampledGaussian(1.0, 0.5))
    assert curator.budget_meter.events == []
    curator.draw_parameter(target, "line", Gaussian(0.1))
    with expect_budget_error("is left"):
        curator.draw_parameter(target, "line", Gaussian(1.0))


def test_sampled_gradients_are_unbiased_and_as_noisy_as_they_say():
    problem, rows = risk_problem("median")
    spend = SubsampledGaussian(5.0, 0.5)
    curator = curator_of(rows, spend, times=1000, kind=RiskCurator)
    statistic = MeanGradient(problem.loss, problem.region, np.array([7.0]), 0.5, True)
    found = [curator.measure_sample(statistic, spend) for _ in range(1000)]
    assert {(m.statistic, m.spend) for m in found} == {(statistic, spend)}
    assert [m.stddev for m in found] == approx([5 * 0.5 / 30] * 1000)
    assert curator.measured_answers == []
    draws = np.array([m.values[0] for m in found])
    expected = statistic.value(rows)[0]
    sampling = 60 * 0.25 * 0.5 * 0.5 / (0.5 * 60) ** 2
    deviation = np.sqrt((5 * 0.5 / 30) ** 2 + sampling)
    assert draws.mean() == approx(expected, abs=4.5 * deviation / np.sqrt(1000))
    assert draws.std() == approx(deviation, rel=0.1)


@parametrize(
    "name", ["regularized_exponential", "noisy_gd", "objective_perturbation", "output_perturbation"]
)
def test_a_large_budget_finds_the_optimum(name):
    settings = {
        "noisy_gd": {"rounds": 2000, "step": 2},
        "objective_perturbation": {"share": 0.01},
    }.get(name, {})
    problem, rows = risk_problem("logistic on R^d")
    run = Run(LEARNERS[name](**settings), problem, rows, Budget(500, 0.5)).finish()
    assert final_errors(run).excess_risk < 0.02


def test_the_middle_of_the_law_follows_the_theory():
    """The mean excess risk is below the bound, and not by orders of magnitude."""
    problem, rows = risk_problem("median", 400)
    bound = make_plan(LEARNERS["regularized_exponential"](), problem, BUDGET)["risk_bound"]
    assert bound / 30 < line_law(problem, rows, BUDGET).mean_excess_risk < bound


def test_zero_stages_are_as_many_as_the_rule_of_public_numbers_says():
    problem, _ = risk_problem("median", 400)
    for epsilon in (0.1, 1, 8):
        plan = make_plan(
            LEARNERS["regularized_exponential"](stages=0), problem, Budget(epsilon, 1e-6)
        )
        expected = theory.stage_count(n=400, d=1, s=plan["s"])
        assert plan["stages"] == plan["rounds"] == plan.planned_events[0].times == expected
    assert expected == 3
