"""A command, a script and a notebook give the numbers that the page's own calls give."""

import ast
import doctest
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import (
    ALGORITHMS,
    Budget,
    PointRelease,
    PrivacyUnit,
    QueryRelease,
    RiskMinimisation,
    Run,
    domain_from_json,
    read_json,
    read_queries,
    read_table,
    read_task,
)
from dpcore.cli import main
from dpcore.core.parameters import build_from_texts
from dpcore.core.versions import software_versions
from dpcore.evaluation.experiment import (
    Experiment,
    ExperimentGrid,
    LearningTask,
    PlacesTask,
    QueryTask,
)
from dpcore.evaluation.output_laws import line_law, split_rows
from dpcore.evaluation.programs import program as program_module
from dpcore.evaluation.programs.learning_program import (
    LawSettings,
    methods_program,
    quantile_program,
)
from dpcore.evaluation.programs.places_program import places_program
from dpcore.evaluation.programs.query_program import comparison_program, query_program
from dpcore.evaluation.programs.release_program import ReleaseSettings, release_program
from dpcore.problems.regions import read_scaled_points
from tests.small_problems import (
    categorical,
    integer,
    parametrize,
    private,
    seeded,
    write_json,
)

HOSTILE = 'a\'; import os # """ $(rm) {x} \u202e'
SCHEMA = {
    "columns": {
        "sex": categorical("f", "m"),
        HOSTILE: integer(0, 9),
        "hours": integer(0, 40),
    }
}
UNITS = {"rows": PrivacyUnit(), "people": PrivacyUnit("id", 2)}
QUERY_UNITS = UNITS | {
    "everyone once": PrivacyUnit("id", 3, counts_people=True),
    "totals of rows": PrivacyUnit(
        "id", 3, counts_people=True, row_totals=True, person_columns=("sex", HOSTILE)
    ),
    "successions": PrivacyUnit(
        "id", 3, counts_people=True, succession_columns=("sex",), time_column=HOSTILE
    ),
}
BUDGETS = (Budget(1.0, 1e-6), Budget(2.0, 1e-6))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    rng = seeded(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 90),
            HOSTILE: rng.integers(0, 10, 90),
            "hours": rng.integers(0, 41, 90),
            "id": rng.integers(0, 30, 90),
        }
    )
    monkeypatch.chdir(tmp_path)
    frame.to_csv("t.csv", index=False)
    write_json("schema.json", SCHEMA)
    return tmp_path


def script_names(program):
    """What a script leaves, by name."""
    names = {}
    exec(compile(program.to_python(), "script", "exec"), names)
    return names


def notebook_names(program):
    """What the cells of a notebook leave, one after the other."""
    document = json.loads(program.to_notebook())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert document["metadata"]["versions"] == software_versions()
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    names = {}
    for cell in document["cells"]:
        assert isinstance(cell["source"], list)
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "cell", "exec"), names)
    return names


def run_commands(program, *more):
    """The JSON that each command of a program writes."""
    documents = []
    for command in program.commands:
        assert main([*shlex.split(command)[3:], *more, "--json", "o.json"]) == 0
        documents.append(json.loads(Path("o.json").read_text()))
    return documents


def table_and_domain(unit):
    domain = domain_from_json(SCHEMA)
    return unit.bound_contributions(read_table("t.csv"), domain.names), domain


def errors_of_run(run):
    return json.loads(json.dumps(run.finish().summarise().final_results))


def without_seconds(document):
    return {name: value for name, value in document.items() if name != "seconds"}


def query_task(unit):
    queries = ["marginals:2", "question:sex = f"]
    if unit.succession_columns:  # more columns: fewer tables of them, for time's sake
        queries = ["marginals:1", *(f"successions:{name}" for name in unit.succession_columns)]
    return QueryTask(table="t.csv", schema=SCHEMA, queries=tuple(queries), unit=unit)


def queries_run(unit, algorithm, budget, seed):
    domain = unit.extend_domain(domain_from_json(SCHEMA))
    rows = unit.encode(domain, read_table("t.csv"))
    workload = read_queries(query_task(unit).queries, domain)[0]
    problem = QueryRelease(workload, rows.n, group=unit.group)
    return Run(algorithm, problem, rows, budget, seed=seed)


@parametrize("unit", QUERY_UNITS.values(), ids=QUERY_UNITS)
def test_an_experiment_runs_as_script_notebook_and_command_with_the_same_errors(unit):
    algorithm = ALGORITHMS["mwem"](rounds=3)
    experiment = Experiment(
        task=query_task(unit), algorithm=algorithm, budget=BUDGETS[0], seed=4, repeat=2
    )
    program = query_program(experiment)
    expected = [
        errors_of_run(queries_run(unit, algorithm, BUDGETS[0], seed)) for seed in experiment.seeds
    ]
    for names in (script_names(program), notebook_names(program)):
        assert [errors_of_run(run) for run in names["runs"]] == expected
    (documents,) = run_commands(program)
    assert [document["final"] for document in documents] == expected


def test_a_comparison_has_the_errors_of_each_run():
    unit = UNITS["people"]
    algorithms = {"mwem": ALGORITHMS["mwem"](rounds=2), "residual": ALGORITHMS["residual"]()}
    grid = ExperimentGrid(
        task=query_task(unit), algorithms=algorithms, budgets=BUDGETS, seed=1, repeat=2
    )
    program = comparison_program(grid)
    expected = {
        (name, budget.epsilon, seed): errors_of_run(queries_run(unit, algorithm, budget, seed))
        for name, algorithm in algorithms.items()
        for budget in BUDGETS
        for seed in grid.seeds
    }
    for names in (script_names(program), notebook_names(program)):
        assert errors_by_case(names["results"]) == expected
    (document,) = run_commands(program)
    assert {
        (p["algorithm"], p["epsilon"], p["seed"]): p["errors"] for p in document["points"]
    } == expected


def errors_by_case(results):
    """The errors of a script's results, by algorithm, ε and seed."""
    lines = json.loads(json.dumps(results))
    keys = ("algorithm", "epsilon", "seed")
    return {
        tuple(line[key] for key in keys): {n: v for n, v in line.items() if n not in keys}
        for line in lines
    }


def test_learning_by_several_methods_is_tested_on_the_same_rows():
    unit = UNITS["people"]
    methods = {
        "noisy": ALGORITHMS["noisy_gd"](),
        "noisy, step 4": build_from_texts(ALGORITHMS["noisy_gd"], {"step": "4"}),
    }
    task = LearningTask(
        table="t.csv",
        schema=SCHEMA,
        text="logistic:sex:hours",
        unit=unit,
        radius=5.0,
        held_out=0.25,
    )
    grid = ExperimentGrid(task=task, algorithms=methods, budgets=BUDGETS, repeat=2)
    table, domain = table_and_domain(unit)
    problem, rows = read_task(task.text, domain, table, radius=5.0, group=unit.most_rows)
    training_rows, held_out = split_rows(rows, 0.25, 0)
    problem = RiskMinimisation(
        problem.loss,
        problem.region,
        training_rows.n,
        problem.names,
        problem.location,
        problem.group,
    )

    def run(algorithm, budget, seed):
        return Run(algorithm, problem, training_rows, budget, seed=seed, population=held_out)

    expected = {
        (name, budget.epsilon, seed): errors_of_run(run(algorithm, budget, seed))
        for name, algorithm in methods.items()
        for budget in BUDGETS
        for seed in grid.seeds
    }
    assert all("population_risk" in errors for errors in expected.values())
    program = methods_program(grid)
    for names in (script_names(program), notebook_names(program)):
        assert errors_by_case(names["results"]) == expected
    runs = [document for documents in run_commands(program) for document in documents]
    assert [document["final"] for document in runs] == list(
        expected[name, budget.epsilon, seed]
        for name in methods
        for budget in BUDGETS
        for seed in grid.seeds
    )


def test_a_quantile_has_the_law_of_the_page_and_an_answer_of_the_same_plan():
    task = LearningTask(table="t.csv", schema=SCHEMA, text="quantile:hours:0.5")
    table, domain = table_and_domain(PrivacyUnit())
    problem, rows = read_task(task.text, domain, table)
    law = line_law(problem, rows, BUDGETS[0], calibration="sco", factor=3.0, stages=1)
    algorithm = ALGORITHMS["regularized_exponential"](calibration="sco", stages=1, mu=law.mu)
    grid = ExperimentGrid(task=task, algorithms={"a": algorithm}, budgets=BUDGETS[:1])
    program = quantile_program(grid, LawSettings("sco", 3.0, 1))
    for names in (script_names(program), notebook_names(program)):
        assert names["law"].radius_of_90_percent == law.radius_of_90_percent
        assert names["run"].plan["k"] == law.k
    ((document,),) = run_commands(program)
    assert document["k"] == pytest.approx(law.k)
    assert document["parameter"] == names["run"].release.x.tolist()


def test_points_are_scaled_and_released_alike():
    unit = UNITS["people"]
    task = PlacesTask(table="t.csv", schema=SCHEMA, columns=(HOSTILE, "hours"), unit=unit)
    methods = {"grid": ALGORITHMS["psmm"](), "raw": ALGORITHMS["psmm"](post="simplex")}
    grid = ExperimentGrid(task=task, algorithms=methods, budgets=BUDGETS[:1], repeat=2)
    table, domain = table_and_domain(unit)
    region, rows = read_scaled_points(domain.project(task.columns), table)
    problem = PointRelease(region, rows.n, task.columns, unit.most_rows)
    expected = {
        (name, 1.0, seed): errors_of_run(
            Run(algorithm, problem, rows, BUDGETS[0], seed=seed, every=10**9)
        )
        for name, algorithm in methods.items()
        for seed in grid.seeds
    }
    program = places_program(grid)
    for names in (script_names(program), notebook_names(program)):
        assert errors_by_case(names["results"]) == expected
    runs = [document for documents in run_commands(program) for document in documents]
    assert [document["final"] for document in runs] == list(expected.values())


def test_a_missing_number_is_in_the_middle():
    domain = domain_from_json(
        {"columns": {"a": integer(0, 4), "b": integer(10, 20, missing="category")}}
    )
    frame = pd.DataFrame({"b": ["10", "", "20"], "a": ["4", "1", "0"]})
    _, rows = read_scaled_points(domain, frame)
    assert sorted(map(tuple, rows.values.tolist())) == [(0.0, 1.0), (0.25, 0.5), (1.0, 0.0)]


@parametrize("kind", ["script", "notebook", "command"])
def test_a_release_is_made_with_the_promise_and_the_parts_that_it_says(kind):
    unit = UNITS["people"]
    experiment = Experiment(
        task=query_task(unit), algorithm=ALGORITHMS["residual"](), budget=BUDGETS[0]
    )
    settings = ReleaseSettings(
        ledger="l.sqlite",
        folder="first",
        dataset="--people",
        total=Budget(3.0, 1e-5),
        rows=17,
        neutralize=True,
        reason="none was looked at",
    )
    program = release_program(experiment, settings)
    if kind == "command":
        assert main(shlex.split(program.commands[0])[3:]) == 0
    else:
        names = {"script": script_names, "notebook": notebook_names}[kind](program)
        assert names["number"] == 1
    facts = read_json("first/release.json")
    assert facts["dataset"]["name"] == "--people"
    assert facts["dataset"]["total"] == {"epsilon": 3.0, "delta": 1e-5}
    assert facts["promise"]["epsilon"] == 1.0
    assert 0 < facts["dataset"]["spent"]["epsilon"] <= 1.0
    assert len(pd.read_csv("first/synthetic.csv")) == 17
    answers = pd.read_csv("first/answers.csv")
    table, domain = table_and_domain(unit)
    assert len(answers) == read_queries(experiment.task.queries, domain)[0].m


def test_what_only_a_command_says_has_no_code():
    open_schema = {"columns": {**SCHEMA["columns"], "job": private("categorical")}}
    measured = QueryTask(table="t.csv", schema=open_schema, queries=("marginals:1",))
    started = QueryTask(table="t.csv", schema=SCHEMA, queries=("marginals:1",), start="p.csv")
    for task in (measured, started):
        experiment = Experiment(
            task=task, algorithm=ALGORITHMS["gaussian_maxent"](), budget=BUDGETS[0]
        )
        program = query_program(experiment)
        assert program.cells == ()
        assert program.commands == (experiment.to_command(),)


def test_every_form_says_its_versions():
    experiment = Experiment(
        task=query_task(PrivacyUnit()), algorithm=ALGORITHMS["residual"](), budget=BUDGETS[0]
    )
    program = query_program(experiment)
    for text in (program.to_command(), program.to_python(), program.to_notebook()):
        assert f"numpy {np.__version__}" in text
        assert f"python {software_versions()['python']}" in text
    assert program.to_command().startswith("# ")


def test_a_name_with_line_breaks_stays_one_literal():
    name = 'x\n"""\nimport os\r\u2028\x00'
    task = QueryTask(table=name, schema=SCHEMA, queries=("marginals:1",))
    experiment = Experiment(task=task, algorithm=ALGORITHMS["residual"](), budget=BUDGETS[0])
    script = query_program(experiment).to_python()
    assigned = {
        node.targets[0].id: node.value
        for node in ast.parse(script).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert ast.literal_eval(assigned["TABLE"]) == name
    assert ast.literal_eval(assigned["SCHEMA"])["columns"][HOSTILE]["high"] == 9
    assert script.isprintable() or all(c.isprintable() or c == "\n" for c in script)


def test_the_example_of_the_module_runs():
    results = doctest.testmod(program_module)
    assert results.attempted
    assert not results.failed
