"""Bad input on the command line: one clear line, exit code 2, nothing written, never a traceback."""

import os
import subprocess
import sys

import pytest

from dpcore.cli import main
from dpcore.cli.commands import run
from tests.cli.command_files import run_arguments, write_files
from tests.small_problems import (
    QUERIES,
    check_command_refused,
    module_fixture,
    parametrize,
    run_command,
)


@module_fixture
def files(tmp_path_factory):
    """A folder with the files of `write_files`, to which nothing is written."""
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


def each(option, *values):
    """A bad run for every value of an option; `table` stands for the argument itself."""
    change = (
        (lambda v: run_arguments(v))
        if option == "table"
        else lambda v: run_arguments(**{option: v})
    )
    return {f"{option} {value[:24]!r}": change(value) for value in values}


BAD = {
    "no command": [],
    "unknown command": ["runs"],
    "no table": ["run"],
    "no schema": run_arguments(schema=None),
    "no queries": run_arguments(queries=None),
    "no algorithm": run_arguments(algorithm=None),
    "no epsilon": run_arguments(epsilon=None),
    "unknown option": run_arguments(sede="1"),
    "schema of no file": ["schema", "no.csv"],
    "both forms": ["algorithms", "--json", "--markdown"],
    **each("table", "no.csv", "empty.csv", "one.csv", ".", "", "z" * 5000 + ".csv", "a\0.csv"),
    **each(
        "schema", "no.json", "cut.json", "array.json", "", "lone.json", "columns.json", "cells.json"
    ),
    **each("columns", "a,a", ",", "a\rb", '"'),
    **each("epsilon", "nan", "9" * 5000),
    **each("delta", "x"),
    **each("algorithm", "", "DPFW"),
    **each("set", "rounds", "=1", "rounds=" + "9" * 5000),
    **each("rows", "0"),
    **each("seed", "", "9" * 400, "-9"),
    "rows beyond memory": run_arguments(synthetic="o.csv", rows="1" + "0" * 15),
    **each("json", "no/such/out.json", ".", "", "a\0b", "a\nb/c"),
    **each("synthetic", "no/such/out.csv"),
    **each("start", "", "no.csv"),
    "a long name, by persons": run_arguments(table="z" * 5000 + ".csv", person="a"),
    "a long name, in parts": run_arguments(table="z" * 5000 + ".csv", extra=["--stream"]),
    "a long name of a ledger": ["ledger", "show", "--ledger", "z" * 5000],
    **each("repeat", "0", "1000000000000"),
    **each(
        "queries",
        "",
        "2",
        "marginals:",
        "marginals:0",
        "marginals:3",
        "marginals:1.5",
        "marginals:²",
    ),
    **each(
        "queries",
        "marginals:" + "9" * 5000,
        "marginals:" + "[" * 100_000,
        "marginals:null",
        "marginals:[]",
    ),
    **each("queries", "marginals:[[]]", "marginals:[[1]]", 'marginals:["a"]', 'marginals:[["z"]]'),
    **each(
        "queries",
        'marginals:[["a","a"]]',
        'marginals:[["a"],["a"]]',
        "matrix:pipe.csv",
        "matrix:/dev/zero",
    ),
    **each(
        "queries",
        "matrix:",
        "matrix:.",
        "matrix:c.csv",
        "matrix:empty.npy",
        "matrix:text.npy",
        "matrix:m.npz",
    ),
    **each("queries", "matrix:wrong.npy", "matrix:large.npy", "matrix:complex.npy"),
}


@parametrize("given", BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(files, monkeypatch, given):
    monkeypatch.chdir(files)
    before = sorted(os.listdir())
    check_command_refused("", given)
    assert sorted(os.listdir()) == before, "nothing is written"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk without room")
@parametrize(
    "target, place", [("json", "/dev/full"), ("synthetic", "/dev/full"), ("json", "pipe.csv")]
)
def test_a_full_disk_or_a_pipe_that_nobody_reads_is_one_line_too(target, place):
    check_command_refused(place, run_arguments(**{target: place}))


def test_an_error_of_the_program_is_told_without_its_words(capsys, monkeypatch):
    """A traceback may hold cells; so may the words of an error."""

    def broken(*_):
        raise KeyError("a cell")

    monkeypatch.setattr(run, "read_problem_and_rows", broken)
    assert run_command(run_arguments(), code=70) == ""
    told = capsys.readouterr().err
    assert told.startswith("error: unexpected KeyError in run.py, line ")
    assert told.count("\n") == 1
    assert "a cell" not in told
    monkeypatch.setattr(run, "read_problem_and_rows", lambda *_: (_ for _ in ()).throw(MemoryError))
    check_command_refused("not enough memory", run_arguments())


def test_whoever_stops_reading_the_output_sees_no_traceback():
    command = f"{sys.executable} -W error -m dpcore algorithms --json | head -c 10"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment)
    assert (len(done.stdout), done.stderr) == (10, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk without room")
def test_an_output_that_cannot_be_written_is_no_error_of_the_program(capsys, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["algorithms"]) == 1
        monkeypatch.undo()
    assert capsys.readouterr().err.startswith(
        "error: the output cannot be written: No space left on device"
    )


def test_a_closed_output_is_written_to_by_nobody(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    run_command("algorithms")


@parametrize("command", ["run", "sweep"])
def test_an_empty_table_is_named_before_a_schema_is_measured(here, command):
    (here / "open.json").write_text(
        '{"columns": {"a": {"kind": "categorical", "values": "private"}}}'
    )
    s = "s" if command == "sweep" else ""
    given = (
        f"header.csv --schema=open.json --queries=marginals:1 --algorithm{s}=gaussian_maxent "
        "--delta=1e-6"
    )
    check_command_refused(
        "the table has no rows; at least 2 are needed", f"{command} {given} --epsilon{s}=1"
    )


@parametrize(
    "given, parts",
    [
        (run_arguments("nan.csv"), ["column 'a'", "'NA'", "row 3", "is missing", "1 of 3 rows"]),
        (run_arguments(algorithm="nosuch"), ["'nosuch'", *QUERIES]),
        (run_arguments(queries="matrix:lies.npy"), ["3000000000", "96 bytes follow it"]),
        (run_arguments(json="a" * 5000), ["cannot be written", "aaa…"]),
        (run_arguments(json="\udcff"), ["is not UTF-8 text: '--json=\\udcff'"]),
        (run_arguments(columns="a,z"), ["no column 'z'", "a, b"]),
    ],
)
def test_the_line_names_what_is_wrong_and_what_is_allowed(files, monkeypatch, capsys, given, parts):
    monkeypatch.chdir(files)
    main(given)
    message = capsys.readouterr().err
    assert not [part for part in parts if part not in message]
