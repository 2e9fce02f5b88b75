"""Commands on tables that are read in parts: the same numbers as in memory, the same files, clear
refusals.
"""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from dpcore import read_json
from dpcore.cli.commands import schema
from dpcore.data.sources import open_source
from dpcore.schema.inference import proposal
from tests.cli.test_release import order
from tests.small_problems import (
    check_command_refused,
    integer,
    parametrize,
    private,
    run_command,
    seeded,
    write_json,
)

WIDE = {name: 30 for name in "abcdef"}  # 7.3e8 cells, which nobody lists


@pytest.fixture
def here(here):
    """A small table, and a wide one as a file and as a folder."""
    write_json("wide.json", WIDE)
    frame = pd.DataFrame((seeded(0).random((500, 6)) ** 2 * 30).astype(int), columns=list(WIDE))
    frame.to_csv("wide.csv", index=False)
    (here / "parts").mkdir()
    frame[100:].to_parquet("parts/x.parquet", row_group_size=64)
    frame[:100].to_parquet("parts/y.parquet")
    return here


def plain(told):
    """What a file says, but for the clock."""
    if isinstance(told, dict):
        return {
            name: plain(part) for name, part in told.items() if name not in ("seconds", "memory")
        }
    return [plain(part) for part in told] if isinstance(told, list) else told


def run(table, schema, *extra, algorithm="aim"):
    command = (
        f"run {table} --schema={schema} --queries=marginals:2 --algorithm={algorithm} --epsilon=1"
    )
    run_command(f"{command} --json=out.json --synthetic=out.csv", *extra)
    with open("out.json") as told, open("out.csv") as rows:
        return plain(json.load(told)) | {"rows": rows.read()}


def test_a_run_on_parts_is_the_one_in_memory():
    whole = run("wide.csv", "wide.json", "--no-stream", "--ask=a = 3 and b > 4")
    assert run("parts", "wide.json", "--ask=a = 3 and b > 4") == whole
    assert run("wide.csv", "wide.json", "--stream", "--ask=a = 3 and b > 4") == whole
    assert run("t.csv", "s.json", "--stream", algorithm="mwem") == run(
        "t.csv", "s.json", algorithm="mwem"
    )


def test_a_large_file_is_read_in_parts_unasked(monkeypatch):
    monkeypatch.setattr(open_source, "LARGE_BYTES_BY_ENDING", {".csv": 10})
    wide = (
        "run wide.csv --schema=wide.json --queries=marginals:1 --epsilon=1 "
        "--algorithm=private_evolution_table"
    )
    check_command_refused("needs the rows one by one", wide)
    run_command(f"{wide} --set=rounds=1 --no-stream")


def test_a_schema_is_measured_on_a_whole_table_however_large(monkeypatch):
    monkeypatch.setattr(open_source, "LARGE_BYTES_BY_ENDING", {".csv": 10})
    columns = {n: integer(0, 29) for n in WIDE}
    columns["a"] = private("integer", bins=4)
    write_json("open.json", {"columns": columns})
    first = ("--schema=open.json", "--epsilon=2", "--total-epsilon=9", "--total-delta=1e-6")
    check_command_refused(
        "a schema is measured on a whole table in memory",
        release("wide.csv", "one", *first, "--stream"),
    )
    run_command(release("wide.csv", "one", *first))


@parametrize("jobs", ["1", "2"])
def test_a_sweep_on_parts_has_the_points_of_one_in_memory(here, jobs):
    command = (
        "--schema=wide.json --queries=marginals:2 --algorithms=aim,residual --epsilons=1 --repeat=1"
    )
    run_command(f"sweep parts {command} --json=parts.json --jobs={jobs}")
    run_command(f"sweep wide.csv {command} --json=whole.json")
    found, whole = (plain(read_json(here / name)) for name in ("parts.json", "whole.json"))
    assert found["points"] == whole["points"]
    assert all(point["state"] == "done" for point in found["points"])
    assert found["task"] == whole["task"]


def release(table, out, *extra):
    asked = {
        "schema": "wide.json",
        "queries": "marginals:1",
        "algorithm": "residual",
        "total": None,
    }
    return order(out, *extra, table=table, **asked)


def test_nothing_is_charged_when_a_part_is_refused_or_the_records_are_needed(here):
    total = ("--total-epsilon=2", "--total-delta=1e-6")
    check_command_refused(
        "needs the rows one by one",
        release("parts", "one", "--algorithm=private_evolution_table", *total),
    )
    pd.DataFrame({name: [1, 2, 99] for name in WIDE}).to_parquet(
        "parts/z.parquet", row_group_size=2
    )
    check_command_refused(
        "z.parquet, row group 2: column 'a': 99 in row 1 is outside 0..29",
        release("parts", "one", *total),
    )
    assert not (here / "l.sqlite").exists()


@parametrize("count, rows_per_person", [("rows", 3), ("people", 1)])
def test_people_whose_rows_stand_together_are_limited_as_in_memory(count, rows_per_person):
    pd.read_csv("wide.csv").sort_values("a").to_csv("sorted.csv", index=False)
    who = ("--person=a", "--most-rows=3", f"--count={count}")
    assert run("sorted.csv", "wide.json", "--stream", *who) == run(
        "wide.csv", "wide.json", "--no-stream", *who
    )
    run_command(
        release("sorted.csv", "one", "--stream", *who, "--total-epsilon=2", "--total-delta=1e-6")
    )
    facts = read_json("one/release.json")["protects"]
    assert facts["records"] == (90 if count == "rows" else 30)
    assert facts["rows_per_person"] == rows_per_person


def test_constraints_that_records_break_are_told_of_parts_too(capsys):
    schema = {"columns": {n: integer(0, 29) for n in WIDE}}
    schema["constraints"] = [{"order": list("cab")}]
    write_json("wide.json", schema)
    command = "--schema=wide.json --queries=marginals:2 --algorithm=residual --epsilon=1"
    said = []
    for table in ("parts", "wide.csv"):
        run_command(f"run {table} {command}")
        said.append(
            [line for line in capsys.readouterr().err.splitlines() if "uses real data" in line]
        )
    assert said[0] == said[1]
    assert "of 500 rows break" in said[0][0]


def test_a_schema_of_many_cells_tells_progress_and_gives_advice_that_fits(capsys, monkeypatch):
    monkeypatch.setattr(schema, "SLOW_CELL_COUNT", 1)
    monkeypatch.setattr(
        "dpcore.cli.output_files.time", SimpleNamespace(monotonic=iter(range(0, 1000, 3)).__next__)
    )
    run_command("schema t.csv --peek")
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("note: t.csv: looking at ")
    assert said[1].startswith("0 of ")
    assert said[2].startswith("1 of ")
    monkeypatch.setattr(proposal, "guess_column", lambda *_: (_ for _ in ()).throw(MemoryError))
    run_command("schema t.csv", code=2)
    error = capsys.readouterr().err.splitlines()[-1]
    assert "t.csv: the table needs more memory than there is; try a file with fewer rows" in error
