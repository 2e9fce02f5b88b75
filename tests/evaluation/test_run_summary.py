"""What a finished run showed, as fields and as JSON."""

import doctest
import json
import pickle
from dataclasses import replace

import pytest

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run, samples
from dpcore.evaluation import run_summary
from dpcore.evaluation.release_errors import TaskScore
from dpcore.evaluation.truth import PointErrors
from tests.small_problems import approx

BUDGET = Budget(1.0, 1e-6)
JSON_NAMES = (
    "algorithm parameters reasons epsilon delta spent promise charges n rows_per_person cells "
    "queries public_start constraints peeked seed tags final records seconds memory"
)


@pytest.fixture(scope="module")
def run():
    """A finished run on a public table, compared with a population."""
    sample = samples.titanic()
    rows = sample.domain.encode(sample.frame)
    problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    population = problem.prior
    algorithm = ALGORITHMS["gaussian_maxent"]()
    return Run(algorithm, problem, rows, BUDGET, seed=3, population=population).finish()


def test_the_example_runs():
    results = doctest.testmod(run_summary)
    assert results.failed == 0
    assert results.attempted > 5


def test_the_json_has_the_names_that_scripts_rely_on_in_their_order(run):
    document = run.summarise().to_json()
    assert list(document) == JSON_NAMES.split()
    assert json.loads(json.dumps(document)) == document | {
        "tags": {name: str(tag) for name, tag in document["tags"].items()}
    }
    last = document["records"][-1]
    assert list(last) == ["t", *document["final"], "epsilon_spent", "seconds"]
    assert {name: last[name] for name in document["final"]} == document["final"]


def test_the_json_states_the_fields(run):
    summary = run.summarise()
    document = summary.to_json()
    assert document["spent"] == run.spent.to_json()
    assert document["promise"] == run.promise.to_json()
    assert document["charges"] == [event.to_json() for event in run.plan.planned_events]
    assert document["parameters"] == {s.name: s.value for s in run.plan.settings}
    assert document["final"]["rmse"] == summary.query_errors.rmse
    assert document["final"]["population_rmse"] == run.convergence[-1].population.rmse
    assert (document["n"], document["seed"]) == (run.problem.n, 3)
    assert document["seconds"] == summary.seconds == run.convergence[-1].seconds


def test_scores_take_the_place_of_errors_in_the_json_alone(run):
    score = TaskScore("find a link", 0.5, "share", 1.0, None, 0.0)
    summary = replace(run.summarise(), scores=(score,))
    assert summary.final_results == {"find a link": score.to_json()}
    assert summary.to_json()["final"] == summary.final_results
    assert summary.errors == run.convergence[-1].empirical


def test_a_summary_travels_between_processes_without_the_statistics_of_its_plan(run):
    assert any(event.statistic is not None for event in run.plan.planned_events)
    summary = run.summarise()
    arrived = pickle.loads(pickle.dumps(summary))
    assert all(event.statistic is None for event in arrived.planned_events)
    assert arrived == summary
    assert arrived.promise.max_guess_probability() == approx(run.promise.max_guess_probability())


def test_errors_of_points_are_no_errors_of_queries(run):
    point = replace(run.convergence[-1], empirical=PointErrors(0.1, 0.0))
    with pytest.raises(TypeError, match="no errors of queries"):
        _ = point.query_errors
