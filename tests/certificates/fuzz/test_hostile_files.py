"""Files that a command reads back were written by anybody: whatever stands in them ends in one line
of error.
"""

import json
from pathlib import Path

import pytest

from dpcore import read_json
from dpcore.cli import main
from tests.cli.test_release import order
from tests.small_problems import parametrize, run_command

HOSTILE = [
    "9" * 4001,
    "-" + "9" * 400,
    "1" + "0" * 4400,
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-Infinity",
    '"\\ud800"',
    '{"\\udfff": 1}',
    "[" * 3000 + "]" * 3000,
    "null",
    "true",
    "{}",
    "[]",
    '""',
    "-1",
    "1e308",
    '"x"',
    "0.5",
    "1e-320",
]
PLACE = "a place that is filled in"


def places(value, path=()):
    """The paths to every value of a JSON file; of a list to its first one."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def filled(value, path):
    """The same file with a place in place of one value."""
    if not path:
        return PLACE
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = filled(value[path[0]], path[1:])
    return copied


def broken_copies(path):
    """Every text that a hostile copy of a JSON file holds: one value replaced, a key twice, or cut
    off.
    """
    whole = read_json(path)
    text = json.dumps(whole)
    yield from (text[: len(text) * i // 7] for i in range(7))
    yield text[:-1] + "," + text[1:]
    for place in places(whole):
        around = json.dumps(filled(whole, place))
        yield from (around.replace(json.dumps(PLACE), hostile) for hostile in HOSTILE)


TABLE = ["t.csv", "--queries=marginals:1"]
GRID = [
    "--epsilons=1",
    "--repeat=1",
    "--delta=1e-6",
    "--json=again.json",
    "--csv=again.csv",
    "--resume",
]
RUN = ["--algorithm=gaussian_maxent", "--epsilon=1", "--delta=1e-6"]
SWEEP = ["sweep", *TABLE, "--schema=s.json", "--algorithms=gaussian_maxent", *GRID]
PURPOSES = [
    "purposes",
    *TABLE,
    "--schema=s.json",
    "--algorithm=gaussian_maxent",
    "--target=sex",
    *GRID,
]
FILES = {
    "sweep": (SWEEP, "again.json"),
    "purposes": (PURPOSES, "again.json"),
    "run": (["run", *TABLE, "--schema=s.json", *RUN], "s.json"),
    "run of an open schema": (["run", *TABLE, "--schema=open.json", *RUN], "open.json"),
    "learn": (
        ["learn", "t.csv", "--schema=s.json", "--task=quantile:age:0.5", "--epsilon=1"],
        "s.json",
    ),
    "score": (["score", "t.csv", "t.csv", "--schema=s.json", "--queries=marginals:1"], "s.json"),
    "receipt": (
        ["ledger", "verify", "--ledger=l.sqlite", "--receipt=out/release.json"],
        "out/release.json",
    ),
    "ask": (["ask", "out", "sex = f", "--within=0.1", "--json"], "out/release.json"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a file of each kind that commands read back."""
    from tests.cli.command_files import write_files

    place = tmp_path_factory.mktemp("hostile")
    write_files(place)
    with pytest.MonkeyPatch.context() as moved:
        moved.chdir(place)
        open_schema = read_json("s.json")
        open_schema["columns"]["edu"] = {"kind": "categorical", "values": "private"}
        Path("open.json").write_text(json.dumps(open_schema))
        run_command(order(queries="marginals:1", algorithm="residual"))
        for command in (SWEEP, PURPOSES):
            run_command([part for part in command if part != "--resume"])
            Path("again.json").rename(f"{command[0]}.json")
    return place


@parametrize("name", FILES)
def test_no_file_that_is_read_back_breaks_a_command(folder, monkeypatch, capfd, name):
    monkeypatch.chdir(folder)
    command, path = FILES[name]
    source = Path(f"{name}.json") if path == "again.json" else Path(path)
    kept = source.read_bytes()
    codes = set()
    try:
        for text in broken_copies(source):
            Path(path).write_text(text)
            code = main(command)
            codes.add(code)
            told = capfd.readouterr().err
            assert code in (0, 1, 2), f"{told}: {text[:300]}"
            assert "Traceback" not in told
            assert code != 2 or told.splitlines()[-1].startswith("error: ")
    finally:
        source.write_bytes(kept)
    assert codes >= {2}
