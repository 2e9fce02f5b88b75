"""Hostile command lines: two hundred, or as many as the environment variable CASES says, from the seed SEED."""

import os
import time

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.certificates.fuzz import judge
from tests.certificates.fuzz.strategies import PLANTED, Case, cases

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")


@seed(int(os.environ.get("SEED", "0")))
@settings(
    max_examples=int(os.environ.get("CASES", "200")),
    derandomize=False,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_a_hostile_command_line_ends_as_documented(case):
    assert judge.fall(case) == ""


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ((70, "", "error: unexpected KeyError; please report it\n"), "exit code 70"),
        ((2, "", ""), "without its one line"),
        ((2, "", "Traceback (most recent call last):\n"), "without its one line"),
        ((2, "half a table\n", "error: no\n"), "without its one line"),
        ((2, "", "error: a\nerror: b\n"), "several errors"),
        ((0, "", "error: a\n"), "exit code 0"),
        ((2, "", "error: " + "x" * 2000 + "\n"), "a line of 2007 characters"),
        ((2, "", "error: \x1b[2J\n"), "control characters"),
        ((2, "", f"error: {PLANTED}\n"), "what nobody asked for"),
        ((0, f"{PLANTED}\n", ""), "what nobody asked for"),
    ],
)
def test_the_judge_sees_every_way_to_fall(printed, why):
    assert why in judge.wrong(*printed, judge.CODES)


def test_the_judge_sees_a_hang_an_exception_and_a_warning(monkeypatch):
    case = Case(["schema", "t.csv"], {"t.csv": b"a,b\n1,2\n"})
    assert judge.fall(case) == ""
    monkeypatch.setattr(judge, "main", lambda _: time.sleep(9))
    assert "took more than 0.01 s" in judge.fall(case, 0.01)
    monkeypatch.setattr(judge, "main", lambda _: 1 / 0)
    assert "ZeroDivisionError" in judge.fall(case)
    monkeypatch.setattr(judge, "main", lambda _: float(__import__("numpy").float64(1) / 0))
    assert "RuntimeWarning" in judge.fall(case)
