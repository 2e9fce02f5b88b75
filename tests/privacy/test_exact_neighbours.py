"""Privacy by enumeration: all neighbouring data sets of tiny domains, exact output probabilities, no sampling.

The curator under test is the real one; only its noise is replaced by a note of what it was asked for.
"""

import itertools
import math

import numpy as np
import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.privacy.accounting.budget import BoundedRange, Budget, Gaussian, Pure
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.statistics.answers import Answers, CellAnswers, SignedErrors, SomeAnswers
from dpcore.privacy.table_curator import TableCurator
from dpcore.problems import QueryRelease
from dpcore.workloads import Explicit, Marginals, TableQueries, Union
from tests.helpers import codes, data_sets, flip_law, hockey_stick, neighbours, rows_of, signs, softmax

CUBE = codes(2, 2, 2)
PAIR = codes(2, 2)
K = 8
WORKLOADS = {
    "1-way": Marginals.all(CUBE, 1),
    "2-way": Marginals.all(CUBE, 2),
    "whole": Marginals.all(CUBE, 3),
    "mixed": Marginals(CUBE, [["a"], ["a", "b"], ["a", "b", "c"]]),
    "signs": signs(CUBE, 4),
    "conjunctions": TableQueries.conjunctions(CUBE, 2, 6, seed=1),
    "union": Union([Marginals.all(CUBE, 1), TableQueries.conjunctions(CUBE, 1, 2), signs(CUBE, 2)]),
    "narrow": Explicit(CUBE, np.random.default_rng(0).uniform(-0.3, 0.4, (3, K))),
}
ANSWERS = {name: np.random.default_rng(1).normal(size=w.m) for name, w in WORKLOADS.items()}


@pytest.fixture
def asked(monkeypatch):
    """What the curator asks of each mechanism, (values, scale); every selection answers 0."""
    notes = []

    def note(values, scale, _rng):
        notes.append((np.array(values), scale))
        return values

    for name in ("gaussian", "laplace"):
        monkeypatch.setattr(f"dpcore.privacy.mechanisms.{name}", note)
    for name in ("exponential", "permute_and_flip"):
        monkeypatch.setattr(f"dpcore.privacy.mechanisms.{name}", lambda *asked: note(*asked) is None or 0)
    return notes


def ask(asked, verb: str, statistic, spend, data, exact=False, **options) -> tuple[np.ndarray, float]:
    """The values and the scale with which the curator calls a mechanism on a data set."""
    plan = Plan(Budget(1000, 0.5 * isinstance(spend, Gaussian)), (Charge(verb, spend),), exact=exact)
    curator = TableCurator(
        rows_of(statistic.workload.domain, data), len(data), plan, np.random.default_rng(0), **options
    )
    getattr(curator, verb)(statistic, spend)
    return asked.pop()


@pytest.mark.parametrize(("n", "epsilon"), [(3, 0.1), (4, 1.0), (3, 4.0)])
@pytest.mark.parametrize("name", WORKLOADS)
def test_selection_is_pure_and_bounded_range(asked, name, n, epsilon):
    score = SignedErrors(WORKLOADS[name], ANSWERS[name])
    logs = {}
    for data in data_sets(K, n):
        values, scale = ask(asked, "select", score, BoundedRange(epsilon), data)
        logs[data] = np.log(softmax(values / scale))
        assert len(values) == 2 * score.workload.m
    ratios = np.array([logs[tuple(sorted(x))] - logs[tuple(sorted(y))] for x, y in neighbours(K, n)])
    assert np.abs(ratios).max() <= epsilon * (1 + 1e-9), "ε₀-DP"
    assert np.ptp(ratios, axis=1).max() <= epsilon * (1 + 1e-9), "ε₀-bounded range"
    if name != "narrow":
        assert np.ptp(ratios, axis=1).max() >= epsilon * (1 - 1e-9), "no noise is wasted"


@pytest.mark.parametrize(("exact", "epsilon"), [(False, 0.1), (True, 1.0), (False, 4.0)])
@pytest.mark.parametrize("name", WORKLOADS)
def test_permute_and_flip_is_pure_and_not_of_bounded_range(asked, name, epsilon, exact):
    score, logs, n = SignedErrors(WORKLOADS[name], ANSWERS[name]), {}, 3
    for data in data_sets(K, n):
        values, scale = ask(asked, "select", score, Pure(epsilon), data, exact=exact)
        logs[data] = np.log(flip_law(values, scale))
        assert np.exp(logs[data]).sum() == pytest.approx(1)
    ratios = np.array([logs[tuple(sorted(x))] - logs[tuple(sorted(y))] for x, y in neighbours(K, n)])
    assert np.abs(ratios).max() <= epsilon * (1 + 1e-9), "ε₀-DP"
    if name == "signs":
        assert np.abs(ratios).max() > 0.6 * epsilon, "half the noise would be caught"
        assert np.ptp(ratios, axis=1).max() > 1.05 * epsilon, "so that it must not be charged as BoundedRange"


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("group", [1, 2])
def test_exact_draws_see_whole_steps_and_cover_what_a_record_moves(asked, monkeypatch, name, group):
    """All of the curator's exact questions: whole numbers, sensitivities in steps, and the same laws but for a hair."""
    workload, n = WORKLOADS[name], 4 if group == 2 else 3

    def draw(values, scale):
        asked.append((np.array(values), scale))
        return values

    monkeypatch.setattr("dpcore.privacy.exact.laplace", draw)
    monkeypatch.setattr("dpcore.privacy.exact.gaussian", draw)
    some = SomeAnswers(workload, slice(1, 2))
    statistics = [Answers(workload), some, CellAnswers(workload, subspace=False)]
    if isinstance(workload, Explicit):
        statistics.append(CellAnswers(workload, subspace=True))
    sets = list(data_sets(K, n)) if group == 1 else [(0, 0, 1, 2), (0, 0, 7, 7), (3, 4, 7, 7), (3, 4, 1, 2)]
    pairs = [(tuple(sorted(x)), tuple(sorted(y))) for x, y in neighbours(K, n)]
    pairs = pairs if group == 1 else [(sets[i], sets[i - 1]) for i in range(4)]
    for statistic, (spend, order) in itertools.product(statistics, [(Gaussian(0.7), 2), (Pure(0.7), 1)]):
        seen = {data: ask(asked, "measure", statistic, spend, data, exact=True, group=group) for data in sets}
        (scale,) = {scale for _, scale in seen.values()}
        assert all((values == np.rint(values)).all() for values, _ in seen.values())
        largest = max(np.linalg.norm(seen[x][0] - seen[y][0], ord=order) for x, y in pairs)
        assert 0 < largest <= 0.7 * scale * (1 + 1e-12)
        if type(statistic) is not Answers and group == 1:
            tight = isinstance(workload, Explicit | Marginals) and statistic is not some
            assert not tight or largest == pytest.approx(0.7 * scale, rel=1e-6), "and no noise is wasted"
        plain = ask(asked, "measure", statistic, spend, sets[1], group=group)
        step = scale / (plain[1] * n)
        assert seen[sets[1]][0] / step / n == pytest.approx(plain[0], abs=1e-6), "the same in steps"


@pytest.mark.parametrize("name", ["2-way", "signs"])
def test_half_the_selection_noise_would_be_caught(asked, name):
    score, epsilon, n = SignedErrors(WORKLOADS[name], ANSWERS[name]), 1.0, 3
    logs = {}
    for data in data_sets(K, n):
        values, scale = ask(asked, "select", score, BoundedRange(epsilon), data)
        assert scale == pytest.approx(2 * score.workload.width / (n * epsilon))
        logs[data] = np.log(softmax(2 * values / scale))
    worst = max(np.abs(logs[tuple(sorted(x))] - logs[tuple(sorted(y))]).max() for x, y in neighbours(K, n))
    assert worst > epsilon * 1.4


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", WORKLOADS)
def test_noise_on_answers_matches_the_largest_change_between_neighbours(asked, name, n):
    statistic = Answers(WORKLOADS[name])
    exact = isinstance(statistic.workload, Marginals | Explicit)
    for spend, order in ((Gaussian(0.7), 2), (Pure(0.7), 1)):
        seen = {data: ask(asked, "measure", statistic, spend, data) for data in data_sets(K, n)}
        changes = [seen[tuple(sorted(x))][0] - seen[tuple(sorted(y))][0] for x, y in neighbours(K, n)]
        largest = max(np.linalg.norm(change, ord=order) for change in changes)
        (scale,) = {scale for _, scale in seen.values()}
        assert scale * 0.7 >= largest * (1 - 1e-12)
        if exact:
            assert scale * 0.7 == pytest.approx(largest, rel=1e-12), "and no more"
        assert scale * 0.7 / 2 < largest, "half the sensitivity would be caught"


@pytest.mark.parametrize("name", WORKLOADS)
def test_some_answers_and_cells_are_protected_by_what_leaves_of_them(asked, name):
    """Noise on one query, one table, the cells, or the cells seen through the queries only."""
    workload, n = WORKLOADS[name], 2
    A = np.array([workload.answers(cell) for cell in np.eye(K)]).T
    onto = np.linalg.pinv(A) @ A
    parts = [slice(j, j + 1) for j in range(workload.m)] + list(workload.tables)
    cases = [(SomeAnswers(workload, part), None) for part in parts]
    cases += [(CellAnswers(workload, subspace=False), np.eye(K)), (CellAnswers(workload, subspace=True), onto)]
    for (statistic, through), (spend, order) in itertools.product(cases, [(Gaussian(0.7), 2), (Pure(0.7), 1)]):
        seen = {data: ask(asked, "measure", statistic, spend, data) for data in data_sets(K, n)}
        moves = [seen[tuple(sorted(x))][0] - seen[tuple(sorted(y))][0] for x, y in neighbours(K, n)]
        if through is not None and order == 2 and len(moves[0]) == K:
            moves = [through @ move for move in moves]
        largest = max(np.linalg.norm(move, ord=order) for move in moves)
        (scale,) = {scale for _, scale in seen.values()}
        assert scale * 0.7 >= largest * (1 - 1e-12)
        if isinstance(workload, Marginals | Explicit) and (order == 2 or through is None):
            assert scale * 0.7 == pytest.approx(largest, rel=1e-9), "and no more"


@pytest.mark.parametrize("name", ["2-way", "signs"])
def test_all_records_of_a_person_are_protected_together(asked, name):
    """A person has two of two records: any data set is a neighbour of any other."""
    workload = WORKLOADS[name]
    score, logs, answers = SignedErrors(workload, ANSWERS[name]), [], []
    for data in data_sets(K, 2):
        values, scale = ask(asked, "select", score, BoundedRange(0.5), data, group=2)
        logs.append(np.log(softmax(values / scale)))
        value, sigma = ask(asked, "measure", Answers(workload), Gaussian(0.7), data, group=2)
        answers.append(value)
    ranges = [np.ptp(x - y) for x, y in itertools.combinations(logs, 2)]
    moves = [np.linalg.norm(x - y) for x, y in itertools.combinations(answers, 2)]
    assert max(ranges) == pytest.approx(0.5, rel=1e-9)
    assert max(moves) == pytest.approx(0.7 * sigma, rel=1e-9)


class Scripted:
    """Stands in for a curator: answers with a given sequence and notes how likely each answer was."""

    def __init__(self, curator: TableCurator, script, asked) -> None:
        self.curator, self.script, self.asked, self.log_probability = curator, list(script), asked, 0.0

    def select(self, score, spend) -> int:
        self.curator.select(score, spend)
        values, scale = self.asked.pop()
        index = self.script.pop(0)
        law = flip_law(values, scale) if isinstance(spend, Pure) else softmax(values / scale)
        self.log_probability += np.log(law)[index]
        return index


def output_law(asked, algorithm, problem, plan, data) -> np.ndarray:
    """The probability of every sequence of selections; all that is released follows from it and public coins."""
    rounds, m = plan["rounds"], problem.workload.m
    law = []
    for script in itertools.product(range(2 * m), repeat=rounds):
        rows = rows_of(problem.domain, data)
        curator = Scripted(TableCurator(rows, problem.n, plan, np.random.default_rng(0)), script, asked)
        for _ in algorithm.steps(problem, plan, curator, np.random.default_rng(7)):
            pass
        law.append(curator.log_probability)
    return np.exp(law)


@pytest.mark.parametrize("schedule", ["practical", "paper"])
@pytest.mark.parametrize("budget", [Budget(1, 0), Budget(1, 0.05), Budget(0.3, 0.2)], ids=str)
def test_two_rounds_of_dpfw_keep_the_promise(asked, schedule, budget):
    problem = QueryRelease(Marginals.all(PAIR, 1), 2)
    algorithm = ALGORITHMS["dpfw"](rounds=2, alpha=0.5, schedule=schedule)
    plan = algorithm.plan(problem, budget)
    laws = {data: output_law(asked, algorithm, problem, plan, data) for data in data_sets(4, 2)}
    assert all(abs(law.sum() - 1) < 1e-12 for law in laws.values())
    assert type(plan.spend("select")) is (BoundedRange if budget.delta else Pure)
    pure = 2 * plan.spend("select").epsilon
    worst, spread = 0.0, 0.0
    for x, y in neighbours(4, 2):
        p, q = laws[tuple(sorted(x))], laws[tuple(sorted(y))]
        worst = max(worst, hockey_stick(p, q, budget.epsilon))
        spread = max(spread, np.abs(np.log(p / q)).max())
    assert worst <= budget.delta + 1e-15
    assert spread <= pure * (1 + 1e-9)
    assert spread > pure / 2, "the selections do use what they are charged"


def test_two_rounds_with_half_the_noise_would_break_the_promise(asked, monkeypatch):
    monkeypatch.setattr(SignedErrors, "sensitivity", property(lambda self: self.workload.width / 2))
    problem, budget = QueryRelease(Marginals.all(PAIR, 1), 2), Budget(1, 0)
    algorithm = ALGORITHMS["dpfw"](rounds=2, alpha=0.5)
    plan = algorithm.plan(problem, budget)
    x, y = (output_law(asked, algorithm, problem, plan, data) for data in ((0, 0), (0, 3)))
    assert max(hockey_stick(x, y, 1), hockey_stick(y, x, 1)) > 1e-4


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_diameter_is_what_one_record_moves(name):
    """Sensitivities of n · P_n, from the columns of the matrix alone."""
    workload = WORKLOADS[name]
    A = np.array([workload.answers(cell) for cell in np.eye(K)])
    moved = [x - y for x, y in itertools.permutations(A, 2)]
    statistic = Answers(workload)
    assert statistic.l2 >= max(math.hypot(*d) for d in moved) * (1 - 1e-12)
    assert statistic.l1 >= max(np.abs(d).sum() for d in moved) * (1 - 1e-12)
    assert workload.width >= np.abs(moved).max() * (1 - 1e-12)
