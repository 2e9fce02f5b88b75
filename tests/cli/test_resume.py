"""A file that --resume goes on with was written by anybody."""

import json
from pathlib import Path

import pytest

from dpcore import read_json
from tests.cli.command_files import write_files
from tests.small_problems import check_command_refused, parametrize, run_command

SWEEP = [
    "sweep",
    "t.csv",
    "--schema=s.json",
    "--queries=marginals:1",
    "--algorithms=gaussian_maxent",
    "--epsilons=1",
]
KEPT = ["--repeat=1", "--json=o.json", "--csv=o.csv"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a sweep that is done."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    run_command([*SWEEP, *KEPT])


@parametrize("hostile, words", [("9" * 301, "digits"), ('"\\ud800"', "half a character")])
@parametrize("place", ["message", "settings", "errors", "seconds", "memory", "seed", "algorithm"])
def test_hostile_numbers_and_texts_end_in_words(hostile, words, place):
    found = read_json("o.json")
    inner = {"settings": {"a": "@"}, "errors": {"max_error": "@"}}
    found["points"][0][place] = inner.get(place, "@")
    Path("o.json").write_text(json.dumps(found).replace('"@"', hostile))
    check_command_refused(words, [*SWEEP, *KEPT, "--resume"])
    assert hostile in Path("o.json").read_text(), "nothing is lost"
