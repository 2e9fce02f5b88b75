"""A project is read again as it was saved, runs in the command line, and a stranger's is checked."""

import json
import shlex
from dataclasses import replace

import pandas as pd
import pytest

from dpcore import ALGORITHMS, Budget, PrivacyUnit, read_json
from dpcore.cli import main
from dpcore.core.versions import software_versions
from dpcore.evaluation.experiment import Experiment, QueryTask
from dpcore.evaluation.project import Project
from tests.small_problems import (
    categorical,
    check_command_refused,
    expect_error,
    integer,
    parametrize,
    seeded,
    write_json,
)

SCHEMA = {"columns": {"sex": categorical("f", "m"), "age": integer(0, 3)}}
TASK = QueryTask(
    table="other.csv", schema=SCHEMA, queries=("marginals:2",), unit=PrivacyUnit("id", 2)
)
EXPERIMENT = Experiment(
    task=TASK, algorithm=ALGORITHMS["mwem"](rounds=2), budget=Budget(1.0, 1e-9), seed=3, repeat=2
)
PROJECT = Project(
    experiment=EXPERIMENT,
    origins={"sex": "typed", "age": "read off"},
    kinds_confirmed=True,
    has_data_entries=False,
    reason="nobody looked",
    ledger="/home/a/releases",
)
DOCUMENT = PROJECT.to_json()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = seeded(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 40),
            "age": rng.integers(0, 4, 40),
            "id": rng.integers(0, 15, 40),
        }
    )
    monkeypatch.chdir(tmp_path)
    frame.to_csv("t.csv", index=False)
    write_json("schema.json", SCHEMA)
    write_json("project.json", DOCUMENT)
    return tmp_path


def test_a_project_is_read_again_as_it_was_saved():
    assert Project.from_json(json.loads(json.dumps(DOCUMENT))) == PROJECT
    assert DOCUMENT["versions"] == software_versions()


def test_an_experiment_alone_is_a_project_without_decisions():
    project = Project.from_json(EXPERIMENT.to_json())
    assert project == Project(experiment=EXPERIMENT)
    assert not project.kinds_confirmed


def test_the_command_line_runs_a_project_as_it_runs_its_command(folder):
    assert main(["run", "--experiment", "project.json", "t.csv", "--json", "a.json"]) == 0
    command = replace(EXPERIMENT, task=replace(TASK, table="t.csv")).to_command()
    assert main([*shlex.split(command)[3:], "--json", "b.json"]) == 0
    found, expected = read_json("a.json"), read_json("b.json")
    assert [run["final"] for run in found] == [run["final"] for run in expected]
    assert [run["seed"] for run in found] == [3, 4]


@parametrize(
    "words, message",
    [
        ("--epsilon 2", "--experiment says --epsilon already"),
        ("--seed 0", "--experiment says --seed already"),
        ("--schema schema.json", "--experiment says --schema already"),
        ("--set rounds=3", "--experiment says --set already"),
    ],
)
def test_what_a_project_says_is_not_said_again(folder, words, message):
    check_command_refused(message, "run", "t.csv", "--experiment=project.json", *words.split())


def test_what_nothing_says_is_asked_for(folder):
    check_command_refused(
        "required: --queries, --algorithm, --epsilon; or --experiment FILE",
        *["run", "t.csv", "--schema", "schema.json"],
    )


def test_a_project_does_not_choose_the_files_that_are_read(folder):
    started = DOCUMENT | {"start": "secret.csv", "table": "secret.csv"}
    write_json("project.json", started)
    words = ["run", "t.csv", "--experiment=project.json"]
    check_command_refused("starts from the public table 'secret.csv'", *words)
    assert main([*words, "--start", "t.csv"]) == 0


def document_without(field):
    return {name: value for name, value in DOCUMENT.items() if name != field}


WRONG = {
    "no object": [],
    "nothing": {},
    "nothing about a person": document_without("person"),
    "no epsilon": document_without("epsilon"),
    "no delta": document_without("delta"),
    "a number for a table": DOCUMENT | {"table": 1},
    "a long name": DOCUMENT | {"table": "x" * 100_001},
    "a text for a schema": DOCUMENT | {"schema": "people"},
    "a text for questions": DOCUMENT | {"queries": "marginals:2"},
    "no question": DOCUMENT | {"queries": []},
    "too many questions": DOCUMENT | {"queries": ["marginals:1"] * 10_001},
    "a number for a column": DOCUMENT | {"columns": [1]},
    "an unknown algorithm": DOCUMENT | {"algorithm": "os.system"},
    "a list for an algorithm": DOCUMENT | {"algorithm": ["mwem"]},
    "an algorithm that learns": DOCUMENT | {"algorithm": "noisy_gd", "parameters": {}},
    "an unknown parameter": DOCUMENT | {"parameters": {"__class__": 1}},
    "a parameter out of range": DOCUMENT | {"parameters": {"rounds": -1}},
    "a budget of text": DOCUMENT | {"epsilon": "1"},
    "no budget": DOCUMENT | {"epsilon": float("nan")},
    "an endless budget": DOCUMENT | {"epsilon": 10**400},
    "true for a seed": DOCUMENT | {"seed": True},
    "a seed below 0": DOCUMENT | {"seed": -1},
    "too many repeats": DOCUMENT | {"repeat": 10**9},
    "no rows of a person": DOCUMENT | {"most_rows": 0},
    "a list for a person": DOCUMENT | {"person": ["id"]},
    "a share of all": DOCUMENT | {"schema_share": 1.5},
    "a number for a start": DOCUMENT | {"start": 7},
    "a text for a flag": DOCUMENT | {"stream": "yes"},
    "decisions of another kind": DOCUMENT | {"decisions": {"age": "sure"}},
    "a list of decisions": DOCUMENT | {"decisions": ["typed"]},
    "a text for what is confirmed": DOCUMENT | {"kinds_confirmed": "yes"},
    "a long reason": DOCUMENT | {"reason": "x" * 1001},
    "a number for a ledger": DOCUMENT | {"ledger": 3},
}


@parametrize("name", WRONG)
def test_a_wrong_project_is_refused_in_words(name):
    with expect_error() as caught:
        Project.from_json(WRONG[name])
    assert len(str(caught.value)) < 400


@parametrize("content", ["{", "[" * 100_000, '"\\ud800"', "\x00", '{"epsilon": 1e999}', "NaN"])
def test_a_file_that_is_no_project_is_one_clear_line(folder, content):
    (folder / "project.json").write_text(content)
    check_command_refused("project", "run", "t.csv", "--experiment=project.json")
