"""Replay: what a curator answered is all that an algorithm may depend on, so a curator without data
reproduces it.
"""

import copy
from collections import Counter

import numpy as np

from dpcore import Run
from dpcore.algorithms.algorithm import make_plan
from dpcore.evaluation.run import seeded_generators
from dpcore.privacy import noise_grid
from dpcore.privacy.measurement import Measurement, noise_stddev
from tests.small_problems import BUDGET, approx, releases_are_identical, seeded


class Recorder:
    """Passes every call to a curator; keeps the answers, and what was charged for which question."""

    def __init__(self, curator):
        self._curator = curator
        self.tape = []
        self.asked = []

    def __getattr__(self, name):
        attribute = getattr(self._curator, name)
        if not callable(attribute):
            return attribute

        def call(*arguments):
            before = len(self._curator.budget_meter.events)
            out = attribute(*arguments)
            self.tape.append((name, arguments[-1], copy.deepcopy(out)))
            self.asked += [
                (*event, arguments[0]) for event in self._curator.budget_meter.events[before:]
            ]
            return out

        return call


class Replayer:
    """Answers from the tape; holds no data. Asking for anything else, or in another order, fails."""

    def __init__(self, tape):
        self._tape = list(tape)

    def __getattr__(self, verb):
        def answer(*arguments):
            expected, paid, out = self._tape.pop(0)
            assert (verb, arguments[-1]) == (expected, paid)
            return copy.deepcopy(out)

        return answer


class Exact:
    """A curator's stand-in without noise: it selects the best, answers truly, and keeps what it was
    asked.
    """

    def __init__(self, problem, rows):
        self.problem = problem
        self.rows = rows
        self.asked = []
        self.truth = problem.workload.answers_of_rows(rows)

    def select(self, score, spend):
        self.asked.append(("select", score, spend))
        return int(np.argmax(score.value(self.truth)))

    def measure(self, statistic, spend):
        self.asked.append(("measure", statistic, spend))
        values = statistic.workload.answers_of_rows(self.rows)[
            getattr(statistic, "part", slice(None))
        ]
        return Measurement(values, noise_stddev(statistic, spend, self.problem.n), statistic, spend)


def exact_run(algorithm, problem, rows, budget=BUDGET, seed=0):
    """The plan, the curator without noise and the steps of a run on it."""
    plan = make_plan(algorithm, problem, budget)
    curator = Exact(problem, rows)
    return plan, curator, list(algorithm.steps(problem, plan, curator, seeded(seed)))


def kind_of_statistic(statistic):
    return statistic if isinstance(statistic, type) else type(statistic)


def noise_sizes(statistic):
    """What the noise on a statistic depends on."""
    return {
        name: getattr(statistic, name)
        for name in ("l1", "l2", "sensitivity")
        if hasattr(statistic, name)
    }


def check_asked_as_planned(algorithm, plan, asked):
    """The statistic, score or target of every charge of the plan is what the run asked for."""
    counted = Counter((verb, spend, kind_of_statistic(question)) for verb, spend, question in asked)
    said = Counter()
    for charge in plan.planned_events:
        said[charge.verb, charge.spend, kind_of_statistic(charge.statistic)] += charge.times
    if algorithm.adaptive:
        assert {(verb, what) for verb, _, what in counted} <= {
            (verb, what) for verb, _, what in said
        }
    else:
        assert counted == said
    for verb, paid, question in asked:
        alike = [
            c
            for c in plan.planned_events
            if (c.verb, kind_of_statistic(c.statistic)) == (verb, kind_of_statistic(question))
        ]
        (named,) = {c.statistic for c in alike if algorithm.adaptive or c.spend == paid}
        assert noise_grid.has_grid(named) == noise_grid.has_grid(question)
        assert isinstance(named, type) or noise_sizes(named) == approx(
            noise_sizes(question), rel=1e-12
        )


def record_run(algorithm, problem, rows, budget, plan=None):
    """A run that keeps all its releases and, in its curator's place, a Recorder of what it asks."""
    run = Run(algorithm, problem, rows, budget, plan=plan, path=True)
    run._curator = Recorder(run._curator)
    return run


def replay(run):
    """A recorded run, finished, asked what its plan says; again without data it releases the same
    bit for bit.
    """
    check_asked_as_planned(run.algorithm, run.plan, run._curator.asked)
    replayer = Replayer(run._curator.tape)
    again = list(
        run.algorithm.steps(run.problem, run.plan, replayer, seeded_generators(run.seed)[1])
    )
    assert not replayer._tape, "the second run asked for less"
    assert [(s.t, s.note) for s in again] == [(r.t, r.note) for r in run.convergence]
    for a, b in zip(run.path, again, strict=True):
        assert releases_are_identical(a, b.release), "not the same bit for bit"
