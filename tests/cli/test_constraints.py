"""Constraints on the command line: rows keep them, a peek says how many records do not, and a release says nothing."""

import pandas as pd
import pytest

from dpcore import read_json
from dpcore.cli import main
from tests.cli.files import SCHEMA
from tests.helpers import write_json

TYPED = [{"impossible": {"sex": "f", "age": {"to": 21}}}, {"within": ["sex", "edu"], "which": {"m": "x"}}]
BASE = ["--queries=marginals:2", "--epsilon=1", "--delta=1e-6"]


@pytest.fixture
def here(here):
    write_json(here / "typed.json", SCHEMA | {"constraints": TYPED})
    return here


def kept(frame):
    """Whether no row breaks a constraint; what is missing breaks none."""
    child = (frame["sex"] == "f") & (frame["age"] <= 21)
    return not child.any() and not ((frame["sex"] == "m") & (frame["edu"] == "y")).any()


def test_a_run_keeps_constraints_and_says_what_breaks_them_as_a_peek(here, capsys):
    assert main(["run", "t.csv", "--schema=typed.json", *BASE, "--algorithm=mwem", "--synthetic=o.csv"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "do not publish: " in line]
    frame = pd.read_csv(here / "t.csv")
    first = int(((frame["sex"] == "f") & (frame["age"] <= 21)).sum())
    assert f"do not publish: {first} of 200 rows break 'some values of sex and age never" in told[0]
    assert "rows break 'sex lies within edu'; they are counted as they are" in told[1]
    assert not kept(frame)
    assert kept(pd.read_csv(here / "o.csv"))


def test_a_release_keeps_constraints_names_them_and_says_nothing_of_records_that_do_not(here, capsys):
    budget = ["--total-epsilon=3", "--total-delta=1e-5", "--ledger=l.sqlite", "--out=out"]
    asked = ["release", "t.csv", "--schema=typed.json", *BASE, "--algorithm=gaussian_maxent", *budget]
    assert main(asked) == 0
    told = capsys.readouterr()
    assert "break" not in told.out + told.err
    facts = read_json(here / "out" / "release.json")
    assert [next(iter(c)) for c in facts["schema"]["constraints"]] == ["impossible", "within"]
    assert "constraints" in {choice["name"] for choice in facts["plan"]["choices"]}
    assert kept(pd.read_csv(here / "out" / "synthetic.csv"))
