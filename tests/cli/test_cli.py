"""The command line: what scripts may rely on."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from dpcore import ALGORITHMS
from dpcore.cli import main
from dpcore.core.parameters import declared_parameters
from tests.cli.command_files import run_arguments
from tests.small_problems import QUERIES, approx, parametrize, run_command


def run_json(extra="", **changes):
    """What a good run writes, with these further options as they are typed."""
    run_command(run_arguments(extra=extra.split(), json="out.json", **changes))
    return json.loads(
        Path("out.json").read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )


@parametrize("name, measure", [("dpfw", "rho"), ("gaussian_maxent", "mu")])
def test_a_run_writes_the_documented_json_and_prints_a_table(capsys, name, measure):
    out = run_json(seed="3", algorithm=name)
    documented = {
        "algorithm",
        "parameters",
        "epsilon",
        "delta",
        "spent",
        "n",
        "cells",
        "queries",
        "final",
        "records",
    }
    assert documented | {"seconds", "seed"} <= set(out)
    assert (out["algorithm"], out["epsilon"], out["delta"], out["seed"]) == (name, 1, 1e-6, 3)
    assert (out["n"], out["cells"], out["queries"]) == (100, 6, 6)
    assert set(out["final"]) == {
        "misplaced",
        "largest",
        "largest_of_group",
        "max_error",
        "mean_error",
        "rmse",
        "mean_l1",
        "as_exact_as_sample",
        "k_marginal",
    }
    assert set(out["spent"]) >= {"epsilon", "delta", measure}
    assert {p.name for p in declared_parameters(ALGORITHMS[name])} <= set(out["parameters"])
    assert all(
        {"t", "max_error", "mean_error", "seconds"} <= set(record) for record in out["records"]
    )
    assert {k: out["records"][-1][k] for k in out["final"]} == out["final"]
    printed = capsys.readouterr()
    assert f"{out['final']['misplaced']:.4g}" in printed.out
    assert "uses real data" in printed.out
    assert "error" not in printed.err


def test_a_run_stands_beside_the_least_error_of_any_unbiased_method(capsys):
    out = run_json(algorithm="gaussian_maxent")
    line = out["line"]
    assert out["tags"]["line"] == "uses real data – do not publish" == out["tags"]["final"]
    assert line["ratio"] == approx(out["final"]["rmse"] / line["least_rmse"])
    assert line["words"] in capsys.readouterr().out
    alone = run_json(algorithm="residual")
    assert alone["parameters"]["rmse"] == approx(alone["line"]["least_rmse"])
    assert run_json(delta="0", algorithm="mwem")["line"] is None


def test_repeats_are_a_list_with_seeds_counted_up(capsys):
    out = run_json("--seed 5 --repeat 3 --set rounds=4 --set alpha=0.5")
    assert [run["seed"] for run in out] == [5, 6, 7]
    assert all(
        run["parameters"]["rounds"] == 4 and run["parameters"]["alpha"] == 0.5 for run in out
    )
    assert len({run["final"]["rmse"] for run in out}) > 1
    assert run_json("--seed 6 --set rounds=4 --set alpha=0.5")["final"] == out[1]["final"]
    assert isinstance(run_json(repeat="1"), list)
    assert "  mean " in capsys.readouterr().out


def test_synthetic_people_have_rows_of_their_own():
    who = [i for i in range(40) for _ in range(1 + i % 3)]
    columns = {"who": who, "a": [i % 2 for i in who], "b": [i % 5 % 2 for i in range(len(who))]}
    pd.DataFrame(columns).to_csv("people.csv", index=False)
    spec = {"kind": "integer", "low": 0, "high": 1}
    Path("people.json").write_text(json.dumps({"columns": {"a": spec, "b": spec}}))
    people = "--person=who --most-rows=3 --person-columns=a --row-totals --rows=25"
    run_command(
        run_arguments("people.csv", people.split(), schema="people.json", synthetic="out.csv")
    )
    frame = pd.read_csv("out.csv")
    assert frame.columns.tolist() == ["who", "a", "b", "rows"]
    drawn = frame.groupby("who")
    assert len(drawn) == 25
    assert (drawn.size() == drawn["rows"].first()).all()
    assert (drawn["a"].nunique() == 1).all()


def test_synthetic_rows_look_like_the_table():
    run_command(run_arguments(synthetic="out.csv", rows="37"))
    with open("out.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["a", "b"]
    assert len(rows) == 38
    assert {row[0] for row in rows[1:]} <= {"0", "1", "2"}, "codes are whole numbers"
    run_command(run_arguments("t.csv", schema="s.json", synthetic="out.csv"))
    frame = pd.read_csv("out.csv", keep_default_na=False)
    assert (frame.columns.tolist(), len(frame)) == (["age", "sex", "pay", "edu"], 200)
    assert frame.age.dtype.kind == "i"
    assert set(frame.edu) <= {"x", "y", ""}
    assert main(run_arguments("out.csv", schema="s.json")) == 0, "and can be used as one"


@parametrize(
    "columns, queries, cells, m",
    [(None, 'marginals:[["sex","age"],["pay"]]', 90, 13), ('"edu",age', "marginals:1", 15, 8)],
)
def test_columns_and_queries_choose_the_workload(columns, queries, cells, m):
    out = run_json(
        "--set rounds=2", table="t.csv", schema="s.json", queries=queries, columns=columns
    )
    assert (out["cells"], out["queries"]) == (cells, m)


def test_a_matrix_of_queries_is_read_and_has_no_tables():
    out = run_json(queries="matrix:m.npy")
    final = out["final"]
    assert (out["queries"], final["mean_l1"]) == (4, None)
    assert (final["misplaced"], final["largest"]) == (final["mean_error"], final["max_error"])


def test_delta_0_is_pure_for_dpfw_and_delta_has_a_default():
    assert run_json(delta="0")["spent"]["delta"] == 0
    assert run_json(delta=None)["delta"] == 1e-9


def test_a_caution_is_one_line_and_the_run_goes_on(capsys):
    run_command(run_arguments(epsilon="20", delta="0.5", repeat="2"))
    told = capsys.readouterr().err.splitlines()
    warned = [line.split("=")[0] for line in told if line.startswith("warning")]
    assert warned == ["warning: delta", "warning: epsilon"]


@parametrize("name", QUERIES)
def test_the_largest_budget_that_is_legal_runs(name):
    run_command(run_arguments(epsilon="1e9", algorithm=name))


def test_algorithms_are_listed_in_three_forms():
    plain = run_command("algorithms")
    markdown = run_command("algorithms --markdown").strip().splitlines()
    told = json.loads(run_command("algorithms --json"))
    assert list(told) == list(ALGORITHMS)
    assert len(markdown) == 2 + len(ALGORITHMS)
    for name, cls in ALGORITHMS.items():
        assert name in plain
        assert [p["name"] for p in told[name]["parameters"]] == [
            p.name for p in declared_parameters(cls)
        ]
        assert all(
            f"`{p.name}`" in "".join(markdown) and p.name in plain for p in declared_parameters(cls)
        )


def test_a_schema_is_proposed_without_a_look_and_filled_with_one(capsys):
    run_command("schema t.csv")
    blind = capsys.readouterr()
    proposed = json.loads(blind.out)
    assert [c["kind"] for c in proposed["columns"].values()].count("categorical") == 3
    assert all(
        c.get("values") is c.get("low") is c.get("high") is None
        for c in proposed["columns"].values()
    )
    assert "fill in every null" in blind.err
    assert "kinds were guessed from the data" in blind.err
    run_command("schema t.csv --peek")
    peeked = capsys.readouterr()
    assert "not protected" in peeked.err
    Path("p.json").write_text(peeked.out)
    assert run_json(columns="age,sex,edu", table="t.csv", schema="p.json")["peeked"] is True


def test_values_that_may_be_the_same_are_printed_as_text_to_add_and_not_applied(capsys):
    Path("sexes.csv").write_text("sex\n" + "Male\nM\nFemale\n" * 20 + "Male\n")
    run_command("schema sexes.csv --peek")
    printed = capsys.readouterr()
    entry = json.loads(printed.out)["columns"]["sex"]
    assert (entry["values"], "same" in entry) == (["Female", "M", "Male"], False)
    note = (
        'column \'sex\': values that may be the same: add "same": {"Male": ["M"]}, and take \'M\''
    )
    assert note in printed.err
    entry |= {"values": ["Female", "Male"], "same": {"Male": ["M"]}}
    Path("p.json").write_text(json.dumps({"columns": {"sex": entry}}))
    assert (
        run_json(columns="sex", queries="marginals:1", table="sexes.csv", schema="p.json")["cells"]
        == 2
    )
    run_command("schema sexes.csv")
    assert "may be the same" not in capsys.readouterr().err, "it would quote the rows"


def test_the_module_runs_as_a_program():
    command = [sys.executable, "-W", "error", "-m", "dpcore", *run_arguments(set="rounds=3")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "used: epsilon=" in done.stdout
    assert "do not publish what a run releases" in done.stdout


def test_a_public_start_is_where_a_run_begins():
    pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]}).to_csv("public.csv", index=False)
    run = "--start public.csv --start-support --synthetic rows.csv --rows 1000"
    assert [run_json(extra, algorithm="mwem")["public_start"] for extra in ("", run)] == [
        False,
        True,
    ]
    assert {tuple(row) for row in pd.read_csv("rows.csv").to_numpy()} <= {(0, 0), (0, 1), (1, 1)}
