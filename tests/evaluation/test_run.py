"""A run's records: errors of some tables after a step and of all at the end, and how much memory it took."""

import subprocess
import sys
from dataclasses import replace

import pytest

from dpcore import ALGORITHMS, Run
from dpcore.evaluation import memory
from dpcore.evaluation.memory import Peak
from tests.helpers import BUDGET, approx, wide_task


def test_of_very_many_tables_some_are_compared_after_a_step_and_all_at_the_end(monkeypatch):
    problem, rows = wide_task()
    algorithm = ALGORITHMS["gaussian_maxent"]()
    every = list(Run(algorithm, problem, rows, BUDGET))
    monkeypatch.setattr("dpcore.evaluation.truth.MOST_SCORED", 100)
    run = Run(algorithm, problem, rows, BUDGET)
    seen = list(run)
    assert [record.t for record in seen] == [1, 2, 3, 4]
    assert seen[3].empirical == every[3].empirical
    for rough, whole in zip(seen[:3], every, strict=False):
        assert "errors of some of the tables" in rough.note
        assert rough.empirical.mean_l1 == approx(whole.empirical.mean_l1, rel=0.1)
        assert rough.empirical.max_error <= whole.empirical.max_error
    choices = [replace(c, value=9) if c.name == "rounds" else c for c in run.plan.choices]
    early = Run(algorithm, problem, rows, BUDGET, plan=replace(run.plan, choices=tuple(choices)))
    assert [record.t for record in early] == [1, 2, 3, 4, 4], "an end that the plan did not foresee takes a second look"
    assert [record.empirical for record in early.records] == [record.empirical for record in seen]
    stopped = Run(algorithm, problem, rows, BUDGET, stop=lambda: True).finish()
    assert stopped.records[0].empirical == seen[0].empirical, "who stops does not wait"


# In a process of its own: the mark is one for all threads, and other tests' threads allocate and free.
WORK = """
import numpy as np
from dpcore.evaluation.memory import Peak
before = np.ones(10_000_000)
print(Peak().bytes)
busy = Peak()
np.ones(8_000_000)
print(busy.bytes)
assert before.sum() == 1e7
"""


@pytest.mark.skipif(not memory.RESET.exists(), reason="only Linux tells")
def test_a_large_array_is_seen_and_what_was_there_before_is_not():
    idle, busy = map(int, subprocess.run([sys.executable, "-c", WORK], capture_output=True, check=True).stdout.split())
    assert idle < 20e6
    assert 60e6 < busy < 90e6


def test_where_the_system_does_not_tell_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "RESET", tmp_path / "no" / "such")
    assert Peak().bytes is None
