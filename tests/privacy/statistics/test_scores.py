"""Scores of whole tables: their sensitivity by enumeration of neighbours, their value by hand, what is refused."""

import numpy as np
import pytest

from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import BoundedRange, Budget
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.statistics.scores import TableErrors
from dpcore.privacy.table_curator import TableCurator
from dpcore.workloads import Explicit, Marginals, TableQueries
from tests.helpers import codes, data_sets, histogram, matrix_of, neighbours, random_rows, rows_of, softmax

CUBE, N = codes(2, 2, 2), 3
TABLES = Marginals(CUBE, [["a"], ["b", "c"], ["a", "b", "c"]])
NONE = np.zeros(3)


TAKEN = TABLES.answers(np.r_[np.ones(1), np.zeros(7)])  # of three records in one cell


def score(workload=TABLES, answers=None, penalties=NONE, weights=(1.0, 0.5, 0.75)) -> TableErrors:
    answers = np.zeros(TABLES.m) if answers is None else answers
    return TableErrors(workload, answers, np.asarray(penalties), np.asarray(weights))


@pytest.fixture
def asked(monkeypatch):
    """The scores and scales of selections."""
    notes = []
    monkeypatch.setattr(
        "dpcore.privacy.mechanisms.exponential", lambda scores, scale, rng: notes.append((scores, scale)) or 0
    )
    return notes


def log_law(asked, data, epsilon: float, *, share: float = 1.0) -> np.ndarray:
    plan = Plan(Budget(100, 0), (Charge("select", BoundedRange(epsilon)),))
    TableCurator(rows_of(CUBE, data), N, plan, np.random.default_rng(0)).select(
        score(answers=TAKEN), BoundedRange(epsilon)
    )
    scores, scale = asked.pop()
    return np.log(softmax(scores / (share * scale)))


def ratios(laws) -> np.ndarray:
    return np.array([laws[tuple(sorted(x))] - laws[tuple(sorted(y))] for x, y in neighbours(8, N)])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_selecting_a_table_is_pure_and_bounded_range(asked, epsilon):
    found = ratios({data: log_law(asked, data, epsilon) for data in data_sets(8, N)})
    assert np.abs(found).max() <= epsilon * (1 + 1e-9)
    assert np.ptp(found, axis=1).max() <= epsilon * (1 + 1e-9)


def test_half_the_noise_on_tables_would_be_caught(asked):
    found = ratios({data: log_law(asked, data, 1.0, share=0.5) for data in data_sets(8, N)})
    assert np.ptp(found, axis=1).max() > 1.1


def test_one_record_moves_a_score_by_its_sensitivity_and_no_more():
    for tables, largest in ((score(), 0.0), (score(answers=TAKEN), 2.0)):
        values = {data: tables.value(TABLES.answers(histogram(CUBE, rows_of(CUBE, data)))) for data in data_sets(8, N)}
        moved = max(np.abs(values[tuple(sorted(x))] - values[tuple(sorted(y))]).max() for x, y in neighbours(8, N))
        assert N * moved == pytest.approx(largest, abs=1e-12), "2 · the largest weight, if one side is empty there"


def test_scores_are_weighted_distances_less_penalties():
    truth = TABLES.answers(histogram(CUBE, random_rows(CUBE, 50)))
    answers, penalties, weights = np.full(TABLES.m, 0.1), np.array([0.3, 0.0, 1.0]), np.array([1.0, 0.2, 0.0])
    rows = [len(matrix_of(CUBE, [names])) for names in TABLES.columns]
    gaps = np.split(np.abs(truth - answers), np.cumsum(rows)[:-1])
    expected = [w * (gap.sum() - p) for w, gap, p in zip(weights, gaps, penalties, strict=True)]
    assert score(answers=answers, penalties=penalties, weights=weights).value(truth) == pytest.approx(expected)


PREFIXES = TableQueries.conjunctions(CUBE, 1, 3)
WRONG = [
    (score(Explicit(CUBE, np.eye(8)), np.zeros(8)), "tables of a Explicit cannot be scored"),
    (score(PREFIXES, np.zeros(PREFIXES.m)), "tables of a TableQueries cannot be scored"),
    (score(answers=np.zeros(3)), "scores of 3 tables need as many penalties and weights, and 14 answers"),
    (score(penalties=np.zeros(2)), "scores of 3 tables need"),
    (score(weights=np.ones(4)), "scores of 3 tables need"),
    (score(weights=[1, -0.1, 1]), "weights ≥ 0"),
    (score(weights=NONE), "one of them above 0"),
    (score(weights=[1, np.nan, 1]), "weights ≥ 0 and finite"),
    (score(weights=[1, np.inf, 1]), "weights ≥ 0 and finite"),
    (score(penalties=[0, np.nan, 0]), "penalties of tables must be finite"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_what_has_no_derived_sensitivity_is_refused_and_costs_nothing(wrong, message):
    plan = Plan(Budget(100, 0), (Charge("select", BoundedRange(1.0)),))
    curator = TableCurator(random_rows(CUBE, 50), 50, plan, np.random.default_rng(0))
    with pytest.raises(InputError, match=message):
        curator.select(wrong, BoundedRange(1.0))
    assert curator.ledger.events == []
