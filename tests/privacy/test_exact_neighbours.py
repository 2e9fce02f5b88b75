"""Privacy by enumeration: all neighbouring data sets of tiny domains, exact output probabilities,
no sampling.

The curator under test is the real one; only its noise is replaced by a note of what it was asked
for.
"""

import itertools

import numpy as np

from dpcore import ALGORITHMS, Budget, Explicit, Marginals, QueryRelease, TableQueries, Union
from dpcore.privacy.accounting import BoundedRange, Gaussian, Pure, PureAccountant
from dpcore.privacy.curators.table_curator import TableCurator
from dpcore.privacy.noise_grid import has_grid
from dpcore.privacy.statistics import (
    Answers,
    CellAnswers,
    Residuals,
    SignedErrors,
    SomeAnswers,
    TableErrors,
    WeightedTables,
)
from dpcore.queries.residual_spaces import cached_residual_spaces
from tests.privacy.enumerated_neighbours import (
    largest_move,
    laws_of_neighbours,
    mechanism_arguments,
)
from tests.small_problems import (
    approx,
    data_sets,
    flip_law,
    hockey_stick,
    integer_domain,
    parametrize,
    parametrize_false_true,
    query_matrix,
    random_sign_queries,
    rows_in_cells,
    seeded,
    softmax,
)

CUBE = integer_domain(2, 2, 2)
D333 = integer_domain(3, 3, 3)
RNG = seeded(0)
WORKLOADS = {
    "1-way": Marginals.all(CUBE, 1),
    "2-way": Marginals.all(CUBE, 2),
    "mixed": Marginals(CUBE, ["a", "ab", "abc"]),
    "signs": random_sign_queries(CUBE, 4),
    "conjunctions": TableQueries.conjunctions(CUBE, 2, 6, seed=1),
    "union": Union(
        [
            Marginals.all(CUBE, 1),
            TableQueries.conjunctions(CUBE, 1, 2),
            random_sign_queries(CUBE, 2),
        ]
    ),
    "narrow": Explicit(CUBE, RNG.uniform(-0.3, 0.4, (3, 8))),
}
LARGER = {
    "uneven": Marginals.all(integer_domain(2, 3, 4), 2),
    "a column of one cell": Marginals.all(integer_domain(1, 3, 2), 2),
    "more queries than cells": random_sign_queries(integer_domain(2, 3), 20),
    "low rank": Explicit(
        integer_domain(3, 4),
        np.repeat(random_sign_queries(integer_domain(3, 4), 2).matrix, 3, axis=0),
    ),
    "star": Explicit(
        integer_domain(4, 6), np.hstack([np.ones((20, 1)), np.eye(20, 23)])
    ),  # every query counts cell 0
    "ranges": TableQueries(D333, [("ab", np.tril(np.ones((9, 9)))), ("c", np.eye(2, 3))]),
    "union of tables": Union([Marginals.all(D333, 1), TableQueries(D333, [("ab", np.eye(4, 9))])]),
    "union with a matrix": Union([Marginals.all(D333, 1), random_sign_queries(D333, 3)]),
}
RESIDUALS = {
    "residuals of pairs": Marginals(integer_domain(2, 3, 2), ["ab", "bc"]),
    "residuals of all pairs": Marginals.all(CUBE, 2),
    "residuals of a triple": Marginals(integer_domain(2, 3, 2), ["abc"]),
    "residuals with one value": Marginals(integer_domain(3, 1, 3), ["ab", "bc"]),
    "residuals of a column": Marginals(integer_domain(5), ["a"]),
}


def measured(name):
    """All that can be measured of a workload."""
    tables = RESIDUALS.get(name)
    if tables:
        sizes = cached_residual_spaces(tables).cells
        return [Residuals(tables, seeded(1).uniform(0.1, 1, len(sizes)) / sizes)]
    workload = (WORKLOADS | LARGER)[name]
    parts = [slice(1, 2), *workload.tables] if name in WORKLOADS else []
    cells = [CellAnswers(workload, subspace=subspace) for subspace in (False, True)]
    weights = seeded(2).uniform(0.1, 1, len(workload.tables))
    weighted = [WeightedTables(workload, weights)] if isinstance(workload, Marginals) else []
    return [Answers(workload), *weighted, *cells, *(SomeAnswers(workload, part) for part in parts)]


@parametrize("group", [1, 2])
@parametrize("name", [*WORKLOADS, *LARGER, *RESIDUALS])
def test_noise_on_answers_matches_the_largest_change_between_neighbours(asked, name, group):
    """Values are linear in the counts, so that one record beside every other, or two of two, are
    all neighbours.
    """
    for statistic, (spend, order) in itertools.product(
        measured(name), [(Gaussian(0.7), 2), (Pure(0.7), 1)]
    ):
        domain = statistic.workload.domain
        found = {}
        for exact in (False, True):
            data = [rows_in_cells(domain, [z if group == 2 else 0, z]) for z in range(domain.size)]
            seen = [
                mechanism_arguments(
                    asked, "measure", statistic, spend, rows, exact=exact, group=group
                )
                for rows in data
            ]
            found[exact] = np.array([values for values, _ in seen]) / seen[0][1]
            if exact and has_grid(statistic):
                assert all((values == np.rint(values)).all() for values, _ in seen), "whole steps"
            if (
                isinstance(statistic, CellAnswers)
                and len(seen[0][0]) == domain.size
                and statistic.subspace
            ):
                A = query_matrix(statistic.workload)
                onto = np.linalg.pinv(A, rcond=1e-10) @ A if order == 2 else np.eye(domain.size)
                seen = [
                    (onto @ values, scale) for values, scale in seen
                ]  # all that leaves of cells
            largest, scale = largest_move(seen, order)
            assert largest <= 0.7 * scale * (1 + 1e-9)
            bounded = isinstance(statistic.workload, TableQueries | Union) or (
                name in RESIDUALS and order == 1
            )
            assert bounded or largest == approx(0.7 * scale, rel=1e-5), "no noise is wasted"
            assert largest >= 0.35 * scale * (1 - 1e-5), "so that half the noise would be caught"
        assert found[True] == approx(found[False], abs=1e-4), "the same in steps"


SCORES = {
    f"signed {name}": SignedErrors(w, seeded(1).normal(size=w.m)) for name, w in WORKLOADS.items()
}
for name in ("2-way", "signs", "narrow", "conjunctions"):
    past = 5 * seeded(5).uniform(-1, 1, WORKLOADS[name].m)
    SCORES[f"5 summed {name}"] = SignedErrors(WORKLOADS[name], past, 5)
TABLES = WORKLOADS["mixed"]
TAKEN = TABLES.answers(np.eye(8)[0])  # of data sets with all records in one cell
SCORES["tables"] = TableErrors(TABLES, TAKEN, np.zeros(3), np.array([1.0, 0.5, 0.75]))


def log_law(asked, score, spend, rows, **options):
    """log-probabilities of a selection, or of one draw."""
    verb = "draw_queries" if getattr(score, "rounds", 1) > 1 else "select"
    values, scale = mechanism_arguments(asked, verb, score, spend, rows, **options)
    return np.log(flip_law(values, scale) if isinstance(spend, Pure) else softmax(values / scale))


@parametrize("exact, epsilon", [(False, 0.1), (True, 4.0)])
@parametrize("name", SCORES)
def test_selection_is_pure_and_bounded_range(asked, name, epsilon, exact):
    score, n = SCORES[name], 3 if name == "tables" else 2
    pairs = laws_of_neighbours(
        CUBE, n, lambda rows: log_law(asked, score, BoundedRange(epsilon), rows, exact=exact)
    )
    ratios = np.array([p - q for p, q in pairs])
    assert np.abs(ratios).max() <= epsilon * (1 + 1e-9), "ε₀-DP"
    assert np.ptp(ratios, axis=1).max() <= epsilon * (1 + 1e-9), "ε₀-bounded range"
    if name != "tables" and "narrow" not in name:
        assert np.ptp(ratios, axis=1).max() >= epsilon * (1 - 1e-5), "no noise is wasted"


@parametrize("exact, epsilon", [(False, 4.0), (True, 1.0)])
@parametrize("name", WORKLOADS)
def test_permute_and_flip_is_pure_and_not_of_bounded_range(asked, name, epsilon, exact):
    score = SCORES[f"signed {name}"]
    ratios = np.array(
        [
            p - q
            for p, q in laws_of_neighbours(
                CUBE, 2, lambda rows: log_law(asked, score, Pure(epsilon), rows, exact=exact)
            )
        ]
    )
    assert np.abs(ratios).max() <= epsilon * (1 + 1e-9), "ε₀-DP"
    if name == "signs":
        assert np.abs(ratios).max() > 0.6 * epsilon, "half the noise would be caught"
        assert np.ptp(ratios, axis=1).max() > 1.05 * epsilon, (
            "so that it must not be charged as BoundedRange"
        )


@parametrize_false_true("exact")
@parametrize("name", ["signed 2-way", "signed signs", "5 summed 2-way"])
def test_all_records_of_a_person_are_protected_together(asked, name, exact):
    """A person has two of two records: any data set is a neighbour of any other."""
    data = [rows_in_cells(CUBE, d) for d in data_sets(8, 2)]
    laws = [
        log_law(asked, SCORES[name], BoundedRange(0.5), rows, group=2, exact=exact) for rows in data
    ]
    assert max(np.ptp(x - y) for x, y in itertools.combinations(laws, 2)) == approx(0.5, rel=1e-5)


# Whole runs: every sequence of answers


class Branch(Exception):
    """More of the script is needed; `law` are the probabilities of the next outcomes."""

    def __init__(self, outcomes, law):
        self.outcomes = outcomes
        self.law = law


class Scripted:
    """Stands in for a curator: charges and asks the real one, answers by the script, and branches
    where it ends.
    """

    def __init__(self, curator, asked, script):
        self.curator = curator
        self.asked = asked
        self.script = list(script)
        self.can_afford = curator.can_afford

    def _next(self, outcomes, law):
        if not self.script:
            raise Branch(outcomes, law)
        return self.script.pop(0)

    def select(self, score, spend):
        self.curator.select(score, spend)
        values, scale = self.asked.pop()
        law = flip_law(values, scale) if isinstance(spend, Pure) else softmax(values / scale)
        return self._next(range(len(law)), law)

    def draw_queries(self, score, spend, times):
        self.curator.draw_queries(score, spend, times)
        scores, scale = self.asked.pop()
        law = softmax(scores / scale)
        draws = list(itertools.product(range(len(law)), repeat=times))
        return np.array(self._next(draws, [np.prod(law[list(d)]) for d in draws]))

    def keep_draws(self, score, spend):
        self.curator.keep_draws(score, spend)
        keep = np.exp(self.asked.pop()[0])
        bits = list(itertools.product([True, False], repeat=len(keep)))
        return np.array(self._next(bits, [np.prod(np.where(b, keep, 1 - keep)) for b in bits]))


def run_law(asked, algorithm, problem, plan, rows):
    """The probability of every sequence of answers; all that is released follows from it and public
    coins.
    """
    law = []
    waiting = [((), 1.0)]
    while waiting:
        script, probability = waiting.pop()
        curator = Scripted(TableCurator(rows, problem.n, plan, seeded(0)), asked, script)
        try:
            for _ in algorithm.steps(problem, plan, curator, seeded(7)):
                pass
            law.append(probability)
        except Branch as branch:
            both = zip(branch.outcomes, branch.law, strict=True)
            waiting += [((*script, outcome), probability * p) for outcome, p in both]
    return np.array(law)


RUNS = {
    "dpfw": (ALGORITHMS["dpfw"](rounds=2, alpha=0.5), [Budget(1, 0), Budget(1, 0.05)]),
    "dpfw, paper": (
        ALGORITHMS["dpfw"](rounds=2, alpha=0.5, schedule="paper"),
        [Budget(1, 0), Budget(0.3, 0.2)],
    ),
    "dualquery": (ALGORITHMS["dualquery"](rounds=3, samples=1), [Budget(1, 0), Budget(2, 0.05)]),
    "dqrs": (
        ALGORITHMS["dqrs"](rounds=3, samples=1),
        [Budget(1, 0), Budget(2, 0.05), Budget(6, 0)],
    ),
}


@parametrize(
    "name, budget", [(name, budget) for name, (_, budgets) in RUNS.items() for budget in budgets]
)
def test_a_run_of_few_rounds_keeps_the_promise(asked, name, budget):
    algorithm, domain = RUNS[name][0], integer_domain(2, 2)
    problem = QueryRelease(Marginals(domain, ["a"]), 2)
    plan = algorithm.plan(problem, budget)
    worst = spread = 0.0
    for p, q in laws_of_neighbours(
        domain, 2, lambda rows: run_law(asked, algorithm, problem, plan, rows)
    ):
        assert p.sum() == approx(1, abs=1e-12)
        worst = max(worst, hockey_stick(p, q, budget.epsilon))
        spread = max(spread, np.abs(np.log(p / q)).max())
    assert worst <= budget.delta + 1e-15
    pure_cost = PureAccountant(plan.accountant.event_counts).cost
    assert spread <= pure_cost * (1 + 1e-9)
    assert spread > 0.2 * min(budget.epsilon, pure_cost), "the run does depend on the rows"
    bits = "keep_draws" in {event.verb for event in plan.planned_events}
    assert bits == (name == "dqrs" and budget.epsilon == 2), "with and without bits"
    if "dpfw" in name:
        assert type(plan.spend_of("select")) is (BoundedRange if budget.delta else Pure)
