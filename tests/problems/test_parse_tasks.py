"""Learning tasks as text: what problem and numbers they mean, and clear errors."""

import math

import numpy as np

from dpcore.evaluation.output_laws import nonprivate_minimiser
from dpcore.evaluation.truth import RiskTruth
from dpcore.problems.losses import Logistic
from dpcore.problems.parse_tasks import read_task
from dpcore.problems.regions import Ball, Box, Space
from tests.risk_problems import DOMAIN, TASKS, learning_table, risk_problem
from tests.small_problems import approx, expect_error, parametrize


@parametrize("name", TASKS)
def test_every_record_keeps_its_public_bounds(name):
    problem, rows = risk_problem(name)
    assert rows.n == problem.n == 60
    assert rows.values.dtype == float
    features = (
        rows.values[:, :-1]
        if not problem.location and problem.loss.strong_convexity == 0
        else np.zeros((1, 1))
    )
    assert np.linalg.norm(features, axis=1).max() <= 1 + 1e-12
    assert problem.G > 0
    assert problem.facts.d == len(problem.names) == len(problem.region.centre)


def test_numbers_are_kept_and_categories_spread_out():
    frame = learning_table()
    problem, rows = read_task("quantile:y:0.25", DOMAIN, frame)
    assert sorted(np.repeat(rows.values[:, 0], rows.weights)) == sorted(frame.y), "values, not bins"
    assert (problem.region.centre, problem.R, problem.G, problem.names) == ([5], 5, 1, ("y",))
    problem, rows = read_task("logistic:label:x,group", DOMAIN, frame)
    assert problem.names == ("x", "group = b", "group = c", "(intercept)"), (
        "against the first value"
    )
    assert isinstance(problem.loss, Logistic)
    expected = np.column_stack(
        [frame.x / 2, *(frame.group == g for g in "bc"), np.ones(60)]
    ) / math.sqrt(3)
    expected = np.column_stack([expected, np.where(frame.label == "yes", 1, -1)])
    given = np.repeat(rows.values, rows.weights, axis=0)
    assert sorted(map(tuple, given.round(9))) == sorted(map(tuple, expected.round(9)))


def test_regions_and_radii():
    frame = learning_table()
    assert isinstance(read_task("hinge:label:x", DOMAIN, frame, region="space")[0].region, Space)
    box = read_task("hinge:label:x", DOMAIN, frame, region="box", radius=2.0)[0].region
    assert isinstance(box, Box)
    assert box.high == approx([2, 2])
    regression = read_task("absolute:y:x", DOMAIN, frame)[0].region
    assert isinstance(regression, Ball)
    assert regression.centre == approx([0, 5 * math.sqrt(2)]), "the centre predicts the middle of y"
    assert regression.radius == approx(5 * math.sqrt(2))


@parametrize(
    "text, message",
    {
        "quantile:y:0": "outside \\(0, 1\\)",
        "quantile:y:half": "quantile='half' is not a finite number",
        "median:y": "is not understood",
        "logistic:label:x:3": "is not understood",
        "quantile:z:0.5": "there is no column 'z'",
        "logistic:label:x,x": "is named twice",
        "logistic:label:label": "target and a feature at once",
        "logistic:group:x": "has 3 values; a classifier's target needs two",
        "logistic:y:x": "a classifier's target needs two",
        "quantile:group:0.5": "holds categories",
        "huber:y:x:0": "must be above 0",
    }.items(),
)
def test_a_task_that_cannot_be_understood_is_refused(text, message):
    with expect_error(message):
        read_task(text, DOMAIN, learning_table())


def test_records_that_do_not_fit_are_refused():
    frame = learning_table()
    for text, column, values, message in (
        ("hinge:label:x", "label", "no", "one class only, 'no'"),
        ("hinge:label:group", "group", "a", "feature 'group' is constant"),
        ("quantile:y:0.5", "y", 11.0, "column 'y': 11.0 in row 1 is outside 0..10"),
        ("quantile:y:0.5", "y", [None, *frame.y[1:]], "missing"),
    ):
        with expect_error(message):
            read_task(text, DOMAIN, frame.assign(**{column: values}))
    with expect_error("no column 'x'"):
        read_task("hinge:label:x", DOMAIN, frame.drop(columns="x"))
    with expect_error("must be above 0"):
        read_task("quantile:y:0.5", DOMAIN, frame, radius=0)


def test_the_truth_is_the_non_private_optimum_and_a_held_out_part():
    problem, rows = risk_problem("median")
    _, other = read_task(TASKS["median"][0], DOMAIN, learning_table(seed=9))
    truth = RiskTruth(problem, rows, other)
    frame = learning_table()
    best = nonprivate_minimiser(problem, rows)[0]
    assert np.abs(frame.y - best).mean() == approx(np.abs(frame.y - frame.y.median()).mean())
    assert truth.min_risk == approx(np.abs(frame.y - best).mean() / 2)
    release = type("R", (), {"x": np.array([7.0])})()
    found = truth.errors_vs_sample_and_population(release)[0]
    assert found.risk == approx(np.abs(frame.y - 7).mean() / 2)
    assert found.excess_risk == approx(found.risk - truth.min_risk)
    assert (found.accuracy, found.headline[0]) == (None, "excess risk")
    assert truth.errors_vs_sample_and_population(release)[1].risk == approx(
        np.abs(learning_table(seed=9).y - 7).mean() / 2
    )
    assert RiskTruth(problem, rows, None).errors_vs_sample_and_population(release)[1] is None


def test_accuracy_counts_signs():
    problem, rows = risk_problem("hinge")
    release = type("R", (), {"x": np.array([1.0, 0.0])})()
    frame = learning_table()
    expected = ((frame.x > 0) == (frame.label == "yes"))[frame.x != 0].sum() / 60
    assert RiskTruth(problem, rows, None).errors_vs_sample_and_population(release)[
        0
    ].accuracy == approx(expected)
