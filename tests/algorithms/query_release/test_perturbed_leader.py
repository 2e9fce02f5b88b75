"""FEM and sepFEM: their charges, what they select from, and that published choices are there to be
had.
"""

import itertools

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, TableQueries, Union
from dpcore.algorithms.algorithm import make_plan
from dpcore.privacy.accounting import equal_selection_spend
from tests.small_problems import (
    BUDGET,
    D324,
    all_tables,
    approx,
    parametrize,
    plan_of,
    query_problem,
    seeded,
)


@parametrize("rounds", [1, 25])
@parametrize("budget", [Budget(1, 1e-9), Budget(9, 1e-3), Budget(1, 0)])
@parametrize("name", ["fem", "sepfem"])
def test_a_run_is_charged_one_selection_a_round_and_nothing_else(name, budget, rounds):
    """As `test_contract` holds that charges are the planned ones."""
    (charge,) = plan_of(
        name, query_problem("2-way")[0], budget, rounds=rounds, samples=2
    ).planned_events
    assert (charge.verb, charge.spend, charge.times) == (
        "select",
        equal_selection_spend(budget, rounds),
        rounds,
    )


class Selecting:
    """Stands in for a curator: selects what it is told and keeps what it was asked."""

    def __init__(self, *indices):
        self.indices = list(indices)
        self.scores = []

    def select(self, score, spend):
        self.scores.append(score)
        return self.indices.pop(0)


def steps(name, problem, curator, **chosen):
    algorithm = ALGORITHMS[name](**chosen)
    return list(algorithm.steps(problem, make_plan(algorithm, problem, BUDGET), curator, seeded(0)))


@parametrize("name", ["fem", "sepfem"])
def test_rows_follow_what_was_selected(name):
    problem = all_tables(D324, 10, 1)
    m = problem.workload.m
    curator = Selecting(1, m + 3, m + 3, 7, 7, 0)  # more a = 1, less b = 0, more c = 2
    last = steps(name, problem, curator, rounds=6, samples=8, scale=1e-3, judged="round")[-1]
    assert curator.scores[-1].answers[[1, 3, 7]].tolist() == [1, 0, 1]
    assert last.t == 6
    assert "a = 0" in last.note


@parametrize("name", ["fem", "sepfem"])
def test_random_scores_are_drawn_anew_for_every_row(name):
    problem = all_tables(D324, 10, 1)
    (step,) = steps(name, problem, Selecting(0), rounds=1, samples=200, scale=1.0)
    assert len(step.release.counts) > 15, "with nothing selected yet, any cell may be best"
    assert (step.release.answers(problem.workload) < 0.8).all()


def test_errors_are_those_of_the_round_or_of_recent_rows_and_released_are_all_or_the_tail():
    problem = all_tables(D324, 10)
    for judged, output in itertools.product(("round", "recent"), ("all", "tail")):
        curator = Selecting(*range(8))
        told = steps("fem", problem, curator, rounds=8, samples=3, judged=judged, output=output)
        asked = [score.answers for score in curator.scores]
        totals = [step.release.counts.sum() for step in told]
        assert totals == [3 * (t - t // 4 * (output == "tail")) for t in range(1, 9)]
        if output == "all":
            sums = [step.release.answers(problem.workload) * 3 * step.t for step in told]
            rounds = np.diff([np.zeros(problem.workload.m), *sums], axis=0) / 3
            share = 1.0 if judged == "round" else 0.5
            recent = rounds[0]
            for own, seen in zip(rounds, asked, strict=True):
                recent = recent + share * (own - recent)
                assert seen == approx(recent)


def test_separators_are_added_where_they_are_missing():
    for workload, missing in (
        (Marginals.all(D324, 2), 9),
        (Marginals.all(D324, 1), 0),
        (Marginals(D324, ["a", "bc"]), 6),
        (Union([Marginals(D324, ["b"]), TableQueries.ranges(D324, "a")]), 7),
    ):
        curator = Selecting(0)
        steps("sepfem", QueryRelease(workload, 10), curator, rounds=1)
        asked = curator.scores[0]
        assert asked.workload.m == workload.m + missing
        assert asked.answers.shape == (asked.workload.m,)
        assert [asked.workload.label(j) for j in range(workload.m)] == [
            workload.label(j) for j in range(workload.m)
        ]
