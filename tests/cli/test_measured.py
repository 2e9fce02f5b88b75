"""Runs and releases with a schema of which some is private: measured, charged before, written, and
used again.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import ALGORITHMS, Budget, InputError, Marginals, QueryRelease, read_json
from dpcore.accuracy.meaning_of_epsilon import Promise
from dpcore.accuracy.promise_with_schema import promise_of
from dpcore.algorithms.schema_measurement.measure_columns import measure_schema
from dpcore.algorithms.schema_measurement.split_budget import split_for_schema
from dpcore.privacy.accounting import (
    GdpAccountant,
    PureAccountant,
    ZcdpAccountant,
    conversions,
    events_from_json,
)
from dpcore.release import preparation
from dpcore.release.evidence import verifier
from dpcore.release.ledger.ledger_store import LedgerStore
from dpcore.schema.partial_schema import partial_schema_from_json
from tests.cli.command_files import OPEN, people_table, run_arguments
from tests.cli.test_release import data_set, facts, order, paid, releases
from tests.small_problems import (
    approx,
    binned,
    check_command_refused,
    parametrize,
    run_command,
    write_json,
)

SECRET = "only-one-row-says-this"


@pytest.fixture
def here(here):
    """A table whose bounds and categories nobody knows, with a value that one row says."""
    frame = people_table()
    frame.loc[0] = [SECRET, "f", "999999999", "not a number"]
    frame.to_csv("t.csv", index=False)
    write_json("s.json", OPEN)
    numbers = {"columns": {name: OPEN["columns"][name] for name in ("sex", "pay", "age")}}
    write_json("numbers.json", numbers)
    typed = {"sex": OPEN["columns"]["sex"], "pay": binned("numeric", 0, 5000, 1e9)}
    write_json("typed.json", {"columns": typed})
    return here


def release(
    out="out",
    *extra,
    schema="s.json",
    epsilon=2,
    delta="1e-6",
    total="20",
    algorithm="gaussian_maxent",
):
    budget = {"epsilon": epsilon, "delta": delta, "total": (total, delta)}
    return order(out, *extra, algorithm=algorithm, schema=schema, **budget)


@parametrize("algorithm", ["gaussian_maxent", "mwem", "private_evolution_table"])
def test_a_release_measures_its_schema_and_holds_nothing_that_one_row_says(here, algorithm):
    assert "measured 'job'" in run_command(release(algorithm=algorithm))
    assert {m["tag"] for m in facts()["measured"]} == {"protected"}
    assert "found: <bdi>2 values passed the threshold of" in Path("out/card.html").read_text()
    for path in (here / "out").iterdir():
        assert SECRET.encode() not in path.read_bytes()


SPELLED = {"same": {"clerk": ["Clk.", "c"], "nobody": ["n"]}, "missing_codes": ["refused"]}


def test_codes_and_values_that_are_the_same_leave_as_they_were_stated(here):
    """No spelling of a value, and no code, is a value of the release; its schema says so again, and
    `run` and the verifier read it.
    """
    frame = people_table()
    position = np.arange(len(frame))
    is_clerk = frame["job"] == "clerk"
    frame.loc[is_clerk, "job"] = np.array(["Clk.", "c", "clerk"])[position % 3][is_clerk]
    frame.loc[position % 5 == 0, "job"] = "refused"
    frame.loc[position % 4 == 0, "age"] = "999"
    frame.to_csv("t.csv", index=False)
    columns = OPEN["columns"] | {
        "job": OPEN["columns"]["job"] | SPELLED,
        "age": OPEN["columns"]["age"] | {"missing_codes": [-9, 999]},
    }
    write_json("s.json", {"columns": columns})
    run_command(release())
    job = facts()["schema"]["columns"]["job"]
    age = facts()["schema"]["columns"]["age"]
    assert {"Clk.", "c", "refused"}.isdisjoint(job["values"])
    assert job["same"] == {"clerk": ["Clk.", "c"]}, "nobody is not among the values"
    assert job["missing_codes"] == ["refused"]
    assert job["missing"] == "category"
    assert (age["missing_codes"], age["edges"][-1] < 200) == ([-9, 999], True)
    assert not [check for check in verifier.run_checks(here / "out") if not check[0]]
    proof = " ".join((here / "out/proof.html").read_text().split())
    assert "the value that the schema states its text to be the same as" in proof
    rows = pd.read_csv("out/synthetic.csv", keep_default_na=False)
    assert set(rows["job"]) <= {*job["values"], ""}
    for schema in ("s.json", "out/schema.json"):
        options = {"table": "t.csv", "algorithm": "gaussian_maxent", "delta": "1e-6"}
        run_command(run_arguments(queries="marginals:2", schema=schema, json="r.json", **options))


def test_the_schema_is_a_later_releases_public_input():
    run_command(release())
    run_command(release("again", schema="out/schema.json"))
    claim = facts("again")
    assert claim["schema"] == facts()["schema"]
    assert claim["measured"] == []
    assert "with an earlier release" in claim["bounds"]
    assert 1.9 < paid(claim["promise"]["charges"], GdpAccountant).epsilon(1e-6) <= 2, (
        "all of it for the algorithm"
    )
    check_command_refused(
        "nothing of this schema is private",
        release("third", "--schema-share=0.2", schema="out/schema.json"),
    )


def test_a_schema_that_a_data_set_cannot_pay_for_any_more_is_refused_with_a_way_on(capsys):
    """The first release kept no δ for thresholds that may fail, so categories cannot be measured
    later; numbers can.
    """
    run_command(release("out", schema="typed.json", epsilon=1))
    run_command(release("open", epsilon=1), code=3)
    assert "enter the categories of columns in place of measuring them" in capsys.readouterr().err
    run_command(release("open", schema="numbers.json", epsilon=1))


def test_without_delta_noise_is_exact_also_where_the_first_release_was_not():
    """The data set's accounting is Gaussian DP since a release in floating point; no such noise
    keeps δ = 0.
    """
    total = "--total-delta=1e-6"
    run_command(release("out", "--noise=float", total, schema="typed.json", epsilon=1))
    assert data_set().lifetime.accounting.name == "exact Gaussian (GDP)"
    for algorithm in ("mwem", "dpfw"):
        run_command(
            release(
                algorithm, total, schema="numbers.json", delta="0", algorithm=algorithm, epsilon=1
            )
        )
        claim = facts(algorithm)
        card = Path(f"{algorithm}/card.html").read_text()
        assert "floating" not in claim["made_by"]["noise"] + card
        assert claim["made_by"]["noise"].count("exact ") >= 2
    run_command(
        release("no", "--noise=float", total, schema="numbers.json", delta="0", algorithm="mwem"),
        code=2,
    )


@parametrize("when", ["before", "while"])
def test_it_is_charged_before_the_first_draw_and_stays_so(monkeypatch, when):
    def broken(*args):
        assert len(releases()) == 1, "charged first"
        if when == "while":
            measure_schema(*args)
        raise InputError("broken on purpose")

    monkeypatch.setattr(preparation, "measure_schema", broken)
    check_command_refused("broken on purpose", release(), notes=1)
    (data,) = LedgerStore("l.sqlite").list_datasets()
    assert data.releases[0]["state"] == "failed"
    rho = sum(e.rho * t for e, t in events_from_json(data.releases[0]["events"]))
    assert 1.9 < conversions.zcdp_epsilon(rho, 1e-6 * 0.75) <= 2


def test_what_the_ledger_does_not_allow_is_not_drawn(monkeypatch, capsys):
    monkeypatch.setattr(preparation, "measure_schema", lambda *_: pytest.fail("drawn"))
    run_command(release(total="1"), code=3)
    assert "needs" in capsys.readouterr().err


def test_a_run_measures_anew_for_every_seed_within_one_budget():
    given = "--queries=marginals:2 --algorithm=gaussian_maxent --epsilon=1 --delta=1e-6 --repeat=2"
    command = f"run t.csv --schema=s.json {given}"
    run_command(f"{command} --schema-share=0.3 --json=out.json")
    first, second = read_json("out.json")
    assert first["schema"]["schema"] != second["schema"]["schema"]
    rho = first["schema"]["cost"]["rho"]
    assert rho == approx(0.3 * conversions.zcdp_rho(1, 1e-6 * 0.75))
    assert first["spent"]["mu"] ** 2 / 2 == approx(0.7 / 0.3 * rho, rel=1e-4)
    for share in ("0", "1.5", "x"):
        run_command(f"{command} --schema-share={share}", code=2)


def test_what_cannot_go_with_an_open_schema_is_refused(here):
    (here / "public.csv").write_bytes((here / "t.csv").read_bytes())
    check_command_refused(
        "public start needs a schema that is known", release("out", "--start=public.csv")
    )
    check_command_refused(
        "--jobs and --scheduler need a schema that is known",
        ["sweep", "t.csv", "--schema=s.json", "--queries=marginals:2", "--jobs=2"],
    )


def test_every_point_of_a_sweep_measures_its_own_schema_and_is_the_same_as_a_run(here):
    given = "t.csv --schema=s.json --queries=marginals:2 --delta=1e-6 --schema-share=0.2"
    sweep = (
        f"sweep {given} --epsilons=1,2 --repeat=2 --algorithms=gaussian_maxent,mwem --json=s.out"
    )
    assert "schema measured anew for every ε and seed" in run_command(sweep)
    told = read_json("s.out")
    assert {p["state"] for p in told["points"]} == {"done"}
    assert told["task"]["open"]["job"]["values"] == "private"
    assert SECRET not in (here / "s.out").read_text()
    for name in ("gaussian_maxent", "mwem"):
        run_command(f"run {given} --algorithm={name} --epsilon=2 --repeat=2 --json=r.out")
        for run in read_json("r.out"):
            (point,) = [
                p
                for p in told["points"]
                if (p["algorithm"], p["epsilon"], p["seed"]) == (name, 2, run["seed"])
            ]
            assert point["errors"] == {key: run["final"][key] for key in point["errors"]}
            assert point["spent"] == run["spent"]
    check_command_refused("another task: schema_share", sweep.replace("0.2", "0.3"), "--resume")


def schema(*extra, delta="1e-6"):
    budget = f"--epsilon=4 --delta={delta} --total-epsilon=20 --total-delta={delta}"
    return [*f"schema t.csv --private --ledger=l.sqlite {budget}".split(), *extra]


def test_the_schema_of_a_table_that_nobody_knows(here, capsys):
    printed = run_command(schema())
    found = json.loads(printed)
    messages = capsys.readouterr().err
    assert SECRET not in printed + messages
    assert re.match(
        r"note: measured with protection, values under \d+ of 3,000 rows will be hidden", messages
    ), "before anything else"
    assert {name: spec["kind"] for name, spec in found["columns"].items()} == {
        "job": "categorical",
        "sex": "categorical",
        "pay": "numeric",
        "age": "integer",
    }
    assert found["measured"] == list(found["columns"])
    (entry,) = releases()
    assert entry["state"] == "released"
    assert 3.9 < paid(entry["events"], ZcdpAccountant).epsilon(1e-6) <= 4
    (here / "found.json").write_text(printed)
    run_command(release(schema="found.json"))  # a later release's public input


def test_without_delta_a_private_schema_has_the_numbers_only():
    assert list(json.loads(run_command(schema(delta="0")))["columns"]) == ["pay", "age"]
    assert paid(releases()[0]["events"], PureAccountant).cost == approx(4)


def test_a_private_schema_states_how_its_file_is_written():
    Path("t.csv").write_bytes(Path("t.csv").read_text().replace("job", "jöb").encode("cp1252"))
    found = json.loads(run_command(schema("--file", '{"encoding": "windows-1252"}')))
    assert found["file"] == {"encoding": "windows-1252"}
    assert "jöb" in found["columns"]
    check_command_refused("is not released", schema("--file", '{"line_breaks": true}'))
    assert len(releases()) == 1, "what is refused is not paid for"


def test_a_private_schema_that_fails_stays_charged(monkeypatch):
    def broken(*_):
        assert len(releases()) == 1, "charged first"
        raise InputError("broken on purpose")

    monkeypatch.setattr("dpcore.release.measured_schema.MeasureColumns.steps", broken)
    check_command_refused("broken on purpose", schema(), notes=1)
    assert releases()[0]["state"] == "failed"


@parametrize("given", ["--private", "--epsilon=1", "--private --peek"])
def test_a_private_schema_needs_its_budget_and_ledger(given):
    check_command_refused("--private", ["schema", "t.csv", *given.split()])


def test_a_column_where_nothing_passes_says_what_epsilon_it_would_need(capsys):
    pd.read_csv("t.csv").assign(job=[f"name {i}" for i in range(3000)]).to_csv("t.csv", index=False)
    run_command(
        "run t.csv --schema=s.json --queries=marginals:1 --algorithm=gaussian_maxent --epsilon=1 "
        "--delta=1e-6"
    )
    messages = capsys.readouterr().err
    assert "'job': no value passed the threshold of" in messages
    before, after = messages.split("'job': no value passed")
    assert "rows will be hidden" in before
    words = run_command(release(epsilon=0.1))
    messages = capsys.readouterr().err
    assert "warning: measured with protection, values under" in messages
    assert "Better state the values or ranges yourself, or use more budget" in messages
    assert "150 rows (5%) would be seen at epsilon = " in words
    assert words.split("would be seen at epsilon = ")[1].split()[0] in Path(
        "out/card.html"
    ).read_text("utf-8")


@parametrize("algorithm, delta", [("gaussian_maxent", "1e-6"), ("mwem", "1e-6")])
def test_run_and_release_promise_the_same_for_one_plan_with_a_measured_schema(
    here, algorithm, delta
):
    budget = {"table": "t.csv", "schema": "s.json", "epsilon": 2, "delta": delta}
    run_command(
        run_arguments(queries="marginals:2", algorithm=algorithm, json="run.json", **budget)
    )
    run_command(release(algorithm=algorithm, delta=delta))
    run = read_json("run.json")["promise"]
    means = facts()["promise"]["means"]
    assert run == means
    columns = partial_schema_from_json(OPEN).unknown_columns
    split = split_for_schema(columns, None, len(people_table()), 1, Budget(2, float(delta)))
    problem = QueryRelease(
        Marginals.all(partial_schema_from_json(OPEN).placeholder, 2), len(people_table())
    )
    promise = promise_of(ALGORITHMS[algorithm](), problem, Budget(2, float(delta)), split)
    assert promise.to_json() == means
    assert means["guess"] < Promise(2, float(delta)).max_guess_probability(), (
        "what is planned, not ε and δ alone"
    )
