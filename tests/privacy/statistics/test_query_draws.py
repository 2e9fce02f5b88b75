"""Drawn and kept queries: exact laws on all neighbours of tiny data sets, and the charges they are worth."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpcore.algorithms import ALGORITHMS
from dpcore.errors import BudgetError, InputError
from dpcore.privacy import mechanisms
from dpcore.privacy.accounting.budget import BoundedRange, Budget, Gaussian
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.statistics.query_draws import AcceptProbabilities, SummedErrors, bit_range
from dpcore.privacy.table_curator import TableCurator
from dpcore.problems import QueryRelease
from dpcore.workloads import Explicit, Marginals, TableQueries
from tests.helpers import codes, data_sets, hockey_stick, neighbours, random_rows, rows_of, signs, softmax

CUBE, PAIR = codes(2, 2, 2), codes(2, 2)
WORKLOADS = {
    "2-way": Marginals.all(CUBE, 2),
    "signs": signs(CUBE, 3),
    "narrow": Explicit(CUBE, np.random.default_rng(0).uniform(-0.3, 0.4, (3, 8))),
    "conjunctions": TableQueries.conjunctions(CUBE, 2, 6, seed=1),
}
ORDERS = [1.001, 1.5, 2, 4, 10, 100, 3000]
STEPS = [1e-9, 1.0, 30.0]


def curator_of(domain, data, *spends, budget=None, group=1) -> TableCurator:
    plan = Plan(budget or Budget(1e4, 0.5), tuple(Charge("x", spend) for spend in spends))
    return TableCurator(rows_of(domain, data), len(data), plan, np.random.default_rng(0), group=group)


@pytest.fixture
def asked(monkeypatch):
    """What the curator hands to the mechanisms; nothing is random."""
    notes = []
    monkeypatch.setattr(
        "dpcore.privacy.mechanisms.categorical", lambda s, scale, draws, rng: notes.append((s, scale)) or [0] * draws
    )
    monkeypatch.setattr("dpcore.privacy.mechanisms.coins", lambda logs, rng: notes.append(logs) or logs < 0)
    return notes


def renyi(log_p: np.ndarray, log_q: np.ndarray, order: float) -> float:
    """The Rényi divergence of finite laws, exactly."""
    return float(np.logaddexp.reduce(order * log_p + (1 - order) * log_q)) / (order - 1)


def draw_law(asked, workload, past, rounds, epsilon, data, group=1) -> np.ndarray:
    """log-probabilities (2m,) of one draw."""
    curator = curator_of(workload.domain, data, BoundedRange(epsilon), group=group)
    curator.draw_queries(SummedErrors(workload, past, rounds), BoundedRange(epsilon))
    scores, scale = asked.pop()
    return np.log(softmax(scores / scale))


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_draw_is_bounded_range_and_costs_an_eighth_of_its_square(asked, name, rounds, epsilon):
    workload = WORKLOADS[name]
    past = np.random.default_rng(rounds).uniform(-1, 1, workload.m) * rounds
    logs = {data: draw_law(asked, workload, past, rounds, epsilon, data) for data in data_sets(8, 2)}
    pairs = [(logs[tuple(sorted(x))], logs[tuple(sorted(y))]) for x, y in neighbours(8, 2)]
    spans = [np.ptp(p - q) for p, q in pairs]
    assert max(spans) <= epsilon * (1 + 1e-9)
    if name != "narrow":
        assert max(spans) >= epsilon * (1 - 1e-9), "no noise is wasted"
    for p, q in pairs[::29]:
        assert all(renyi(p, q, a) <= a * epsilon**2 / 8 * (1 + 1e-9) + 1e-12 for a in ORDERS)


def test_half_the_sensitivity_of_a_draw_would_be_caught(asked, monkeypatch):
    monkeypatch.setattr(SummedErrors, "sensitivity", property(lambda self: self.rounds * self.workload.width / 2))
    workload = WORKLOADS["2-way"]
    x, y = (draw_law(asked, workload, np.zeros(workload.m), 3, 1.0, data) for data in ((0, 0), (0, 7)))
    assert np.ptp(x - y) > 1.9


def test_all_rows_of_a_person_are_protected_together(asked):
    workload = WORKLOADS["2-way"]
    logs = [draw_law(asked, workload, np.zeros(workload.m), 2, 0.5, data, group=2) for data in data_sets(8, 2)]
    assert max(np.ptp(x - y) for x, y in itertools.combinations(logs, 2)) == pytest.approx(0.5, rel=1e-9)


def keep_law(asked, workload, drawn, answers, eta, data, group=1) -> np.ndarray:
    """log-probabilities (s, 2) of keeping and of rejecting each draw."""
    score = AcceptProbabilities(workload, drawn, answers, eta)
    spend = BoundedRange(score.needs(len(data) / group))
    curator = curator_of(workload.domain, data, spend, group=group)
    curator.keep_draws(score, spend)
    keep = asked.pop()
    return np.column_stack([keep, np.log(-np.expm1(keep))])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_bit_has_the_bounded_range_that_is_charged(asked, name, step):
    workload, n = WORKLOADS[name], 3 if name == "2-way" else 2
    drawn = np.arange(2 * workload.m)
    answers = np.tile(workload.answers(np.eye(8)[2]), 2)
    B = bit_range(step, n)
    logs = {data: keep_law(asked, workload, drawn, answers, step / workload.width, data) for data in data_sets(8, n)}
    worst = 0.0
    for i, (x, y) in enumerate(neighbours(8, n)):
        p, q = logs[tuple(sorted(x))], logs[tuple(sorted(y))]
        worst = max(worst, np.abs(np.ptp(p - q, axis=1)).max())
        if i % 397 == 0:
            for j, a in itertools.product(range(len(drawn)), ORDERS):
                assert renyi(p[j], q[j], a) <= a * B**2 / 8 * (1 + 1e-6) + 1e-12
    assert worst <= B * (1 + 1e-6)
    if name == "2-way":
        assert worst == pytest.approx(B, rel=1e-5), "no more is charged than one record can do"


@pytest.mark.parametrize("step", [0.01, 0.3, 2.0])
def test_a_bit_is_worth_its_formula(step):
    for n in (2, 10, 1000):
        exact = math.log((math.exp(step * (1 + 1 / n)) - 1) / (math.exp(step) - 1))
        assert bit_range(step, n) == pytest.approx(exact, rel=1e-9)
        assert exact <= step / (n * (1 - math.exp(-step)))
    assert bit_range(0.0, 10) == pytest.approx(bit_range(1e-12, 10)) == pytest.approx(math.log(1.1))
    assert bit_range(800.0, 10) == pytest.approx(80)


def test_answers_that_no_row_could_give_do_not_widen_a_bit(asked):
    workload, far = WORKLOADS["2-way"], np.full(24, 1e6) * np.where(np.arange(24) % 2, 1, -1)
    logs = {data: keep_law(asked, workload, np.arange(24), far, 1.0, data) for data in data_sets(8, 2)}
    spans = [np.ptp(logs[tuple(sorted(x))] - logs[tuple(sorted(y))], axis=1).max() for x, y in neighbours(8, 2)]
    assert max(spans) <= bit_range(1.0, 2)


@pytest.mark.parametrize("eta", [0.2, 1.0, 4.0])
def test_keeping_or_replacing_costs_what_is_charged_and_follows_the_law_of_a_fresh_draw(asked, eta):
    """One bit and the redraw of DQRS in round 3, for every old draw, on all neighbours."""
    workload, n, t = WORKLOADS["2-way"], 2, 3
    m, rows = workload.m, np.array([[0, 1, 0], [1, 1, 0]])
    first, last = (workload.answers(np.eye(8)[CUBE.index(row[None])[0]]) for row in rows)
    bit, fresh = bit_range(eta, n), 2 * eta * (t - 1) / n
    laws = {}
    for data in data_sets(8, n):
        keep = keep_law(asked, workload, np.arange(2 * m), np.tile(last, 2), eta, data)
        before = draw_law(asked, workload, first, t - 2, 2 * eta * (t - 2) / n, data)
        redraw = draw_law(asked, workload, first + last, t - 1, fresh, data)
        joint = np.column_stack([keep[:, :1], keep[:, 1:] + redraw])  # by old draw: kept, or replaced by each query
        after = np.exp(before + keep[:, 0]) + np.exp(before + keep[:, 1]).sum() * np.exp(redraw)
        assert after == pytest.approx(np.exp(redraw), rel=1e-9), "exactly Q^t"
        laws[data] = joint
    bound = bit**2 / 8 + fresh**2 / 8
    assert bound == pytest.approx(bit**2 / 8 + eta**2 * (t - 1) ** 2 / (2 * n**2))
    for x, y in itertools.islice(neighbours(8, n), 0, None, 23):
        p, q = laws[tuple(sorted(x))], laws[tuple(sorted(y))]
        for old, a in itertools.product(range(0, 2 * m, 5), ORDERS):
            assert renyi(p[old], q[old], a) <= a * bound * (1 + 1e-9) + 1e-12
            assert np.abs(p[old] - q[old]).max() <= bit + fresh + 1e-12


class Branch(Exception):
    """More of the script is needed; `laws` are the probabilities of the next outcomes."""

    def __init__(self, outcomes, law) -> None:
        self.outcomes, self.law = outcomes, law


class Scripted:
    """Stands in for a curator: charges and asks the real one, answers by the script, and branches where it ends."""

    def __init__(self, curator, asked, script) -> None:
        self.curator, self.asked, self.script = curator, asked, list(script)
        self.affords = curator.affords

    def _next(self, outcomes, law):
        if not self.script:
            raise Branch(outcomes, law)
        return self.script.pop(0)

    def draw_queries(self, score, spend, times):
        self.curator.draw_queries(score, spend, times)
        scores, scale = self.asked.pop()
        law = softmax(scores / scale)
        draws = list(itertools.product(range(len(law)), repeat=times))
        return np.array(self._next(draws, [np.prod(law[list(d)]) for d in draws]))

    def keep_draws(self, score, spend):
        self.curator.keep_draws(score, spend)
        keep = np.exp(self.asked.pop())
        bits = list(itertools.product([True, False], repeat=len(keep)))
        return np.array(self._next(bits, [np.prod(np.where(b, keep, 1 - keep)) for b in bits]))


def run_law(asked, algorithm, problem, plan, data) -> np.ndarray:
    """The probability of every sequence of answers; all that is released follows from it and public coins."""
    law, waiting = [], [((), 1.0)]
    while waiting:
        script, probability = waiting.pop()
        curator = Scripted(TableCurator(rows_of(problem.domain, data), problem.n, plan, None), asked, script)
        try:
            for _ in algorithm.steps(problem, plan, curator, np.random.default_rng(7)):
                pass
            law.append(probability)
        except Branch as branch:
            both = zip(branch.outcomes, branch.law, strict=True)
            waiting += [((*script, outcome), probability * p) for outcome, p in both]
    return np.array(law)


@pytest.mark.parametrize("budget", [Budget(1, 0), Budget(2, 0.05), Budget(6, 0)], ids=str)
@pytest.mark.parametrize("name", ["dualquery", "dqrs"])
def test_three_rounds_keep_the_promise(asked, name, budget):
    problem = QueryRelease(Marginals(PAIR, [["a"]]), 2)
    algorithm = ALGORITHMS[name](rounds=3, samples=1)
    plan = algorithm.plan(problem, budget)
    laws = {data: run_law(asked, algorithm, problem, plan, data) for data in data_sets(4, 2)}
    assert all(abs(law.sum() - 1) < 1e-12 for law in laws.values())
    ratios = 0.0
    for x, y in neighbours(4, 2):
        p, q = laws[tuple(sorted(x))], laws[tuple(sorted(y))]
        assert hockey_stick(p, q, budget.epsilon) <= budget.delta + 1e-15
        ratios = max(ratios, np.abs(np.log(p / q)).max())
    assert ratios > 0.2 * min(budget.epsilon, plan.sums.pure), "the run does depend on the records"
    bits = "keep_draws" in {charge.verb for charge in plan.charges}
    assert bits == (name == "dqrs" and budget.epsilon == 2), "with and without bits"


def test_what_is_not_paid_for_is_refused_and_charges_come_first():
    workload = WORKLOADS["2-way"]
    curator = TableCurator(random_rows(CUBE, 20), 20, Plan(Budget(1, 0), (Charge("d", BoundedRange(0.2), 5),)), None)
    score = SummedErrors(workload, np.zeros(workload.m), 2)
    bits = AcceptProbabilities(workload, np.array([0, 3]), np.zeros(2), 1.0)
    for verb, asked_for, spend, message in (
        ("draw_queries", bits, BoundedRange(0.1), "AcceptProbabilities is not a statistic"),
        ("keep_draws", score, BoundedRange(0.1), "SummedErrors is not a statistic"),
        ("draw_queries", score, Gaussian(0.1), "Gaussian does not pay for this"),
        ("keep_draws", bits, BoundedRange(0.01), r"keep_draws needs ε₀=0.07\d* a bit, ε₀=0.01 is paid"),
        ("draw_queries", score, BoundedRange(2.0), "draw_queries needs ε=2, 1 is left"),
        ("draw_queries", SummedErrors(workload, np.zeros(3), 2), BoundedRange(0.1), "one sum for each query"),
        ("draw_queries", SummedErrors(workload, np.zeros(12), 0), BoundedRange(0.1), "rounds=0 must be a whole"),
        (
            "keep_draws",
            AcceptProbabilities(workload, np.array([24]), np.zeros(1), 1.0),
            BoundedRange(0.1),
            "a signed query",
        ),
        (
            "keep_draws",
            AcceptProbabilities(workload, np.array([2]), np.zeros(1), 0.0),
            BoundedRange(0.1),
            "eta=0.0 must be above",
        ),
    ):
        with pytest.raises(InputError, match=message):
            getattr(curator, verb)(asked_for, spend)
    for times in (0, -1, 1.5, True):
        with pytest.raises(BudgetError, match="which must be a whole number"):
            curator.draw_queries(score, BoundedRange(0.1), times)
    with pytest.raises(BudgetError, match="draw_queries needs ε=1.2, 1 is left"):
        curator.draw_queries(score, BoundedRange(0.2), 6)
    assert curator.ledger.events == [], "all or nothing"
    assert curator._answers == {}, "and no record was read"
    assert curator.affords(BoundedRange(0.2), 5)
    assert not curator.affords(BoundedRange(0.2), 6)


def test_as_many_charges_as_draws_are_in_the_ledger():
    workload, draw, bit = WORKLOADS["2-way"], BoundedRange(0.1), BoundedRange(0.2)
    plan = Plan(Budget(9, 1e-3), (Charge("d", draw, 3), Charge("b", bit, 2)))
    curator = TableCurator(random_rows(CUBE, 20), 20, plan, np.random.default_rng(0))
    drawn = curator.draw_queries(SummedErrors(workload, np.zeros(workload.m), 2), draw, 3)
    kept = curator.keep_draws(AcceptProbabilities(workload, drawn[:2], np.zeros(2), 1.0), bit)
    assert (drawn.shape, kept.shape, kept.dtype) == ((3,), (2,), bool)
    assert curator.ledger.events == [("draw_queries", draw)] * 3 + [("keep_draws", bit)] * 2
    assert curator.ledger.sums.rho == pytest.approx((3 * 0.1**2 + 2 * 0.2**2) / 8)


def test_draws_and_coins_follow_their_laws():
    scores, rng = np.array([0.0, 0.4, 0.4, -1.0, 1.0, -2000.0]), np.random.default_rng(0)
    drawn = np.bincount(mechanisms.categorical(scores, 0.5, 40_000, rng), minlength=6)
    assert stats.chisquare(drawn[:5], 40_000 * softmax(scores[:5] / 0.5)).pvalue > 1e-3
    assert drawn[5] == 0
    assert stats.chisquare(drawn[:5], 40_000 * softmax(scores[:5] / 0.45)).pvalue < 1e-6, "the scale matters"
    assert stats.chisquare(np.bincount(mechanisms.categorical(np.ones(4), 0.0, 4000, rng))).pvalue > 1e-3
    heads = mechanisms.coins(np.full(40_000, math.log(0.3)), rng).mean()
    assert abs(heads - 0.3) < 0.01
    assert mechanisms.coins(np.zeros(100), rng).all()
