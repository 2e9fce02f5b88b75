"""Replay: what a curator answered is all an algorithm may depend on, so a curator without data must reproduce it."""

import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import Step, make_plan
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.curator import Curator
from dpcore.releases import Histogram
from tests.helpers import QUERIES, TASKS, few_rounds, identical, serves, task, variants, wide_task


class Recorder:
    """Passes every call to a curator and keeps the answers."""

    def __init__(self, curator: Curator) -> None:
        self._curator, self.tape = curator, []

    def __getattr__(self, name):
        attribute = getattr(self._curator, name)
        if not callable(attribute):
            return attribute

        def call(*arguments):
            out = attribute(*arguments)
            self.tape.append((name, arguments[-1], copy.deepcopy(out)))
            return out

        return call


class Replayer:
    """Answers from the tape; holds no data. Asking for anything else, or in another order, fails."""

    def __init__(self, tape) -> None:
        self._tape = list(tape)

    def __getattr__(self, verb):
        def answer(*arguments):
            expected, paid, out = self._tape.pop(0)
            assert (verb, arguments[-1]) == (expected, paid)
            return copy.deepcopy(out)

        return answer


def releases(algorithm, problem, plan, curator) -> list[Step]:
    return list(algorithm.steps(problem, plan, curator, np.random.default_rng(5)))


def replay(algorithm, problem, rows, budget) -> None:
    """Run, run again without data, and compare every release bit for bit."""
    plan = make_plan(algorithm, problem, budget)
    recorder = Recorder(Curator(rows, problem.n, plan, np.random.default_rng(3)))
    first = releases(algorithm, problem, plan, recorder)
    replayer = Replayer(recorder.tape)
    again = releases(algorithm, problem, plan, replayer)
    assert not replayer._tape, "the second run asked for less"
    assert [(s.t, s.note) for s in first] == [(s.t, s.note) for s in again]
    for a, b in zip(first, again, strict=True):
        assert identical(a.release, b.release), "not the same bit for bit"
    rows_a, rows_b = (run[-1].release.sample(20, np.random.default_rng(1)) for run in (first, again))
    pd.testing.assert_frame_equal(rows_a, rows_b)


BUDGET = Budget(1, 1e-6)
CASES = [(n, s, where) for n, s in variants() for where in TASKS if serves(n, s, where, BUDGET)]


def test_every_algorithm_is_replayed():
    assert {name for name, _, _ in CASES} == set(QUERIES)


@pytest.mark.parametrize(("name", "settings", "where"), CASES)
def test_releases_depend_on_the_records_through_the_curator_only(name, settings, where):
    replay(build(ALGORITHMS[name], settings), *task(where), BUDGET)


@pytest.mark.parametrize("name", [name for name, cls in QUERIES.items() if cls.graphical])
def test_what_is_decided_of_a_wide_table_depends_on_released_answers_only(name):
    """4^16 cells: which pairs are tied, which tables have room and when to stop, all of it replayed without data."""
    problem, rows = wide_task()
    for budget in (BUDGET, Budget(20, 0)):
        algorithm = build(ALGORITHMS[name], few_rounds(name))
        if budget.delta == 0 and name in ("gaussian_maxent", "dpam"):
            continue
        replay(algorithm, problem, rows, budget)


@dataclass(frozen=True, kw_only=True)
class Leaking:
    """DPFW that peeks: past the verbs, at the records inside the curator. Never do this."""

    inner = ALGORITHMS["dpfw"](rounds=3)
    problem, enumerates = inner.problem, True

    def plan(self, problem, budget):
        return self.inner.plan(problem, budget)

    def steps(self, problem, plan, curator, rng):
        for step in self.inner.steps(problem, plan, curator, rng):
            held = getattr(getattr(curator, "_curator", curator), "_Curator__rows", None)
            peek = 0.0 if held is None else 1e-9 * held.values[0, 0]
            D = step.release.D + peek
            yield Step(step.t, Histogram(problem.domain, D / D.sum()), step.note)


def test_a_leak_is_caught():
    problem, rows = task("2-way")
    rows.values[0, 0] = 1
    with pytest.raises(AssertionError, match="bit for bit"):
        replay(Leaking(), problem, rows, Budget(1, 1e-6))


def test_asking_more_than_before_is_caught():
    problem, rows = task("2-way")
    algorithm = ALGORITHMS["dpfw"](rounds=3)
    plan = algorithm.plan(problem, Budget(1, 1e-6))
    recorder = Recorder(Curator(rows, problem.n, plan, np.random.default_rng(0)))
    releases(algorithm, problem, plan, recorder)
    with pytest.raises(IndexError):
        releases(algorithm, problem, plan, Replayer(recorder.tape[:-1]))
