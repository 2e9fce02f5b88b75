"""Constraints on the command line: rows keep them, a peek says how many records do not, and a
release says nothing.
"""

import pandas as pd
import pytest

from tests.cli.command_files import SCHEMA, run_arguments
from tests.cli.test_release import released
from tests.small_problems import run_command, write_json

TYPED = [
    {"impossible": {"sex": "f", "age": {"to": 21}}},
    {"within": ["sex", "edu"], "which": {"m": "x"}},
]


@pytest.fixture
def here(here):
    write_json("typed.json", SCHEMA | {"constraints": TYPED})
    return here


def kept(frame):
    """Whether no row breaks a constraint; what is missing breaks none."""
    child = (frame["sex"] == "f") & (frame["age"] <= 21)
    return not child.any() and not ((frame["sex"] == "m") & (frame["edu"] == "y")).any()


def test_a_run_keeps_constraints_and_says_what_breaks_them_as_a_peek(capsys):
    run_command(run_arguments("t.csv", schema="typed.json", algorithm="mwem", synthetic="o.csv"))
    told = [line for line in capsys.readouterr().err.splitlines() if "do not publish: " in line]
    frame = pd.read_csv("t.csv")
    first = int(((frame["sex"] == "f") & (frame["age"] <= 21)).sum())
    assert f"do not publish: {first} of 200 rows break 'some values of sex and age never" in told[0]
    assert "rows break 'sex lies within edu'; they are counted as they are" in told[1]
    assert not kept(frame)
    assert kept(pd.read_csv("o.csv"))


def test_a_release_keeps_constraints_and_says_nothing_of_records_that_do_not(capsys):
    released(schema="typed.json")
    assert "break" not in "".join(capsys.readouterr())
    assert kept(pd.read_csv("out/synthetic.csv"))
