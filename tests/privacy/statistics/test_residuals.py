"""Residuals, what tables say beyond their margins, and weighted tables: what a record moves, by all neighbours."""

import itertools
import math

import numpy as np
import pytest

from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import Budget, Gaussian, Pure
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.statistics.answers import WeightedTables
from dpcore.privacy.statistics.residuals import Residuals
from dpcore.privacy.table_curator import TableCurator
from dpcore.workloads import Marginals
from dpcore.workloads.residuals import spaces_of
from tests.helpers import codes, random_rows, rows_of, signs

TABLES = {
    "pairs": (codes(2, 3, 2), [["a", "b"], ["b", "c"]]),
    "all pairs": (codes(2, 2, 2), [["a", "b"], ["b", "c"], ["a", "c"]]),
    "a triple": (codes(2, 3, 2), [["a", "b", "c"]]),
    "with one value": (codes(3, 1, 3), [["a", "b"], ["b", "c"]]),
    "a column": (codes(5), [["a"]]),
}


def asked(where: str, seed: int = 0, kind: type = Residuals) -> Residuals | WeightedTables:
    """Residuals of tables, or the tables themselves, with random weights."""
    domain, columns = TABLES[where]
    tables = Marginals(domain, columns)
    if kind is WeightedTables:
        return WeightedTables(tables, np.random.default_rng(seed).uniform(0.1, 1, len(columns)))
    cells = spaces_of(tables).cells
    return Residuals(tables, np.random.default_rng(seed).uniform(0.1, 1, len(cells)) / cells)


def noise(monkeypatch, statistic, spend, data, *, exact=False, group=1):
    """The values and the scale with which a curator draws noise."""
    notes = []

    def note(values, scale, rng=None):
        notes.append((np.array(values), scale))
        return values

    for module, name in itertools.product(("mechanisms", "exact"), ("gaussian", "laplace")):
        monkeypatch.setattr(f"dpcore.privacy.{module}.{name}", note)
    plan = Plan(Budget(1000, 0.5 * isinstance(spend, Gaussian)), (Charge("measure", spend),), exact=exact)
    rows = rows_of(statistic.workload.domain, data)
    curator = TableCurator(rows, len(data), plan, np.random.default_rng(0), group=group)
    curator.measure(statistic, spend)
    return notes.pop()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("where", TABLES)
@pytest.mark.parametrize("kind", [Residuals, WeightedTables])
def test_noise_covers_what_any_neighbour_moves_and_no_more(monkeypatch, kind, where, seed, exact):
    statistic = asked(where, seed, kind)
    k = statistic.workload.domain.size
    for spend, order in ((Gaussian(0.7), 2), (Pure(0.7), 1)):
        seen = [noise(monkeypatch, statistic, spend, (0, z), exact=exact) for z in range(k)]
        (scale,) = {scale for _, scale in seen}
        largest = max(np.linalg.norm(x - y, ord=order) for (x, _), (y, _) in itertools.combinations(seen, 2))
        assert largest <= 0.7 * scale
        if order == 2:
            assert largest == pytest.approx(0.7 * scale, rel=1e-9), "half the noise, or more of it, would be caught"
        if exact:
            assert all((values == np.rint(values)).all() for values, _ in seen)


def test_people_with_several_records_are_covered(monkeypatch):
    statistic = asked("pairs")
    seen = [noise(monkeypatch, statistic, Gaussian(0.7), (z, z), group=2) for z in range(12)]
    largest = max(np.linalg.norm(x - y) for (x, _), (y, _) in itertools.combinations(seen, 2))
    assert largest == pytest.approx(0.7 * seen[0][1], rel=1e-9)


def test_where_pairs_of_records_are_too_many_each_term_is_bounded(monkeypatch):
    for where in TABLES:
        exact = asked(where).l2
        monkeypatch.setattr("dpcore.workloads.residuals.MOST_PATTERNS", 0)
        assert exact * (1 - 1e-12) <= asked(where).l2 <= 1.5 * exact
        monkeypatch.undo()


def test_its_values_are_the_tables_centred_along_each_column():
    statistic, rows = asked("pairs"), random_rows(TABLES["pairs"][0], 50)
    spaces = spaces_of(statistic.workload)
    ends = np.cumsum([math.prod((2, 3, 2)[a] for a in S) for S in spaces.type_of])
    parts = np.split(statistic.value(rows), ends[:-1])
    (where,) = [i for i, S in enumerate(spaces.type_of) if S == (0, 1)]
    table = np.zeros((2, 3))
    np.add.at(table, tuple(rows.values[:, :2].T), rows.weights / 50)
    table = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    assert parts[where] == pytest.approx(6 * statistic.weights[spaces.type_of[(0, 1)]] * table.ravel())


@pytest.mark.parametrize("weights", [[0, 0.1], [0.1], [0.1] * 3, [-0.1, 0.1], [np.nan, 0.1], [0.3, 0.3], [1e-9] * 2])
def test_weights_that_do_not_fit_are_refused(weights):
    tables = Marginals(codes(3, 3), [["a", "b"]])  # two types: a column, and both
    with pytest.raises(InputError, match="residuals of 2 types of tables|scale it up"):
        Residuals(tables, np.array(weights, dtype=float)).check()


def test_other_workloads_have_none():
    with pytest.raises(InputError, match="Explicit is not marginal tables"):
        Residuals(signs(codes(2, 2), 3), np.ones(1)).check()


@pytest.mark.parametrize("exact", [False, True])
def test_weighted_tables_are_the_tables_with_as_much_noise_as_they_say(exact):
    statistic = asked("pairs", kind=WeightedTables)
    rows = random_rows(TABLES["pairs"][0], 50)
    plan = Plan(Budget(1000, 0.5), (Charge("measure", Gaussian(0.7), 400),), exact=exact)
    curator = TableCurator(rows, 50, plan, np.random.default_rng(0))
    seen = [curator.measure(statistic, Gaussian(0.7)) for _ in range(400)]
    values = np.array([m.values for m in seen])
    truth, error = statistic.workload.answers_of_rows(rows), max(seen[0].stddev) / 20
    assert values.mean(axis=0) == pytest.approx(truth, abs=5 * error)
    assert values.std(axis=0) == pytest.approx(seen[0].stddev, rel=0.2)
    first, second = statistic.workload.tables
    assert np.ptp(seen[0].stddev[first]) == np.ptp(seen[0].stddev[second]) == 0
    ratio = seen[0].stddev[first.start] / seen[0].stddev[second.start]
    assert ratio == pytest.approx(statistic.weights[1] / statistic.weights[0])
    assert curator.measured[0].errors == pytest.approx(seen[0].stddev / 20)


@pytest.mark.parametrize("weights", [[0, 1], [1], [1] * 3, [-1, 1], [np.nan, 1], [1.01, 1], [1e-4, 1]])
def test_tables_with_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(InputError, match="marginal tables are weighted, each by a number in 0.0009"):
        WeightedTables(Marginals(*TABLES["pairs"]), np.array(weights, dtype=float)).check()
    with pytest.raises(InputError, match="marginal tables are weighted"):
        WeightedTables(signs(codes(2, 2), 2), np.ones(2)).check()  # type: ignore[arg-type]
