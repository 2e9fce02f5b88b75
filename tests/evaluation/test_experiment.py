"""An experiment written as JSON, as a command and as code is the same one when it is read again."""

import doctest
import json
import shlex
from dataclasses import replace

import pytest

from dpcore import ALGORITHMS, Budget, PrivacyUnit
from dpcore.cli import build_parser
from dpcore.cli.experiment_arguments import experiment_from_arguments
from dpcore.cli.sweep_points import grid_from_arguments
from dpcore.core.parameters import build_from_texts
from dpcore.evaluation import experiment as experiment_module
from dpcore.evaluation.experiment import SCHEMA_FILE, Experiment, QueryTask
from tests.small_problems import (
    QUERIES,
    categorical,
    expect_error,
    integer,
    parametrize,
    private,
    seeded,
    write_json,
)

SCHEMA = {"columns": {"sex": categorical("f", "m"), "age, in years": integer(0, 3)}}
OPEN_SCHEMA = {"columns": {**SCHEMA["columns"], "job": private("categorical")}}
TASK = QueryTask(table="t.csv", schema=SCHEMA, queries=("marginals:1", "question:sex = f"))
TASKS = {
    "plain": TASK,
    "some columns": QueryTask(
        table="t.csv", schema=SCHEMA, queries=("marginals:1",), columns=("age, in years",)
    ),
    "people": QueryTask(
        table="a table.csv", schema=SCHEMA, queries=("marginals:2",), unit=PrivacyUnit("id", 4)
    ),
    "everyone once": QueryTask(
        table="t.csv",
        schema=SCHEMA,
        queries=("marginals:2",),
        unit=PrivacyUnit("id", 4, counts_people=True),
    ),
    "totals of rows": QueryTask(
        table="t.csv",
        schema=SCHEMA,
        queries=("marginals:2",),
        unit=PrivacyUnit(
            "id", 4, counts_people=True, row_totals=True, person_columns=("age, in years",)
        ),
    ),
    "successions": QueryTask(
        table="t.csv",
        schema=SCHEMA,
        queries=("marginals:2", "successions:sex"),
        unit=PrivacyUnit(
            "id",
            4,
            counts_people=True,
            succession_columns=("sex",),
            time_column="age, in years",
        ),
    ),
    "rows of a promise": QueryTask(
        table="t.csv", schema=SCHEMA, queries=("marginals:2",), unit=PrivacyUnit(None, 3)
    ),
    "public start": QueryTask(
        table="t.csv",
        schema=SCHEMA,
        queries=("marginals:2",),
        start="public.csv",
        start_support=True,
    ),
    "names that begin like options": QueryTask(
        table="-t.csv", schema=SCHEMA, queries=("marginals:2",), unit=PrivacyUnit("--id", 4)
    ),
    "read in parts": QueryTask(
        table="folder", schema=SCHEMA, queries=("marginals:2",), stream=True
    ),
    "read whole": QueryTask(table="t.csv", schema=SCHEMA, queries=("marginals:2",), stream=False),
    "measured schema": QueryTask(
        table="t.csv", schema=OPEN_SCHEMA, queries=("marginals:1",), schema_share=1 / 3
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment_of(task=TASK, name="gaussian_maxent", epsilon=1.0, **more):
    algorithm = ALGORITHMS[name]()
    return Experiment(task=task, algorithm=algorithm, budget=Budget(epsilon, 1e-9), **more)


def parse_command(experiment):
    """The experiment that the command line's own parser and door make of its command."""
    write_json(SCHEMA_FILE, experiment.task.schema)
    words = shlex.split(experiment.to_command())
    assert words[:3] == ["python", "-m", "dpcore"]
    return experiment_from_arguments(build_parser().parse_args(words[3:]))


def test_the_example_of_the_module_runs():
    results = doctest.testmod(experiment_module)
    assert results.attempted
    assert not results.failed


@parametrize("name", TASKS)
def test_json_and_the_command_give_the_same_experiment(folder, name):
    experiment = experiment_of(TASKS[name], seed=7, repeat=2)
    assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment
    parsed = parse_command(experiment)
    table = parsed.task.table.removeprefix("./")
    assert replace(parsed, task=replace(parsed.task, table=table)) == experiment


@parametrize("name", QUERIES)
def test_every_algorithm_is_read_again(folder, name):
    experiment = experiment_of(name=name)
    assert Experiment.from_json(experiment.to_json()) == experiment
    assert parse_command(experiment) == experiment


def test_numbers_are_read_again_to_the_last_digit(folder):
    for number in seeded(1).uniform(1e-5, 10, 40).tolist():
        algorithm = build_from_texts(ALGORITHMS["dpfw"], {"alpha": repr(number)})
        budget = Budget(number, number * 1e-9)
        experiment = Experiment(task=TASK, algorithm=algorithm, budget=budget, seed=2**63 - 1)
        assert parse_command(experiment) == experiment
        assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment


@parametrize(
    "document",
    [None, [], {}, "text", {"table": "t.csv"}, {**experiment_of().to_json(), "seed": "1"}],
)
def test_what_is_no_experiment_is_refused(document):
    with expect_error():
        Experiment.from_json(document)


def test_a_grid_is_of_the_same_task(folder):
    write_json(SCHEMA_FILE, SCHEMA)
    words = shlex.split("sweep t.csv --schema schema.json --queries marginals:1")
    words += ["--queries", "question:sex = f"]
    words += shlex.split("--epsilons 1,3 --delta 1e-9 --seed 2 --repeat 4")
    algorithms = {"mwem": ALGORITHMS["mwem"]()}
    args = build_parser().parse_args(words)
    grid = grid_from_arguments(args, algorithms)
    assert grid.task == TASK
    assert grid.budgets == (Budget(1, 1e-9), Budget(3, 1e-9))
    assert list(grid.seeds) == [2, 3, 4, 5]
    assert grid.algorithms == algorithms


def test_a_column_that_is_left_out_does_not_stop_a_run():
    columns = {
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "note": {"kind": "text"},
        "age": {"kind": "integer", "low": None, "high": None},
        "pay": {"kind": "numeric", "bounds": "private", "bins": 0},
        "cafe\u0301, old": {"kind": "integer", "low": 0, "high": 1},
    }
    constraints = [{"impossible": {"age": [1], "sex": ["m"]}}, {"impossible": {"sex": ["m"]}}]
    schema = {"columns": columns, "constraints": constraints, "measured": ["age"]}
    task = QueryTask(
        table="t.csv",
        schema=schema,
        queries=("marginals:1",),
        columns=("sex", "caf\u00e9, old"),
    )
    assert task.planning_domain.names == ("sex", "cafe\u0301, old")
    with expect_error("column 'note'"):
        _ = QueryTask(table="t.csv", schema=schema, queries=("marginals:1",)).planning_domain
