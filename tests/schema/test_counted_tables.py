"""Tables of rows are counted once, for all steps of a run and for the next run."""

import numpy as np
import pytest

from dpcore import ALGORITHMS, Budget, Rows, Run
from dpcore.schema import domain as domain_module
from tests.small_problems import all_tables, equal_columns_domain, seeded


def test_a_table_is_counted_once_for_all_that_ask_for_it(monkeypatch):
    values = seeded(0).integers(0, 3, (50, 3))
    rows = Rows(values, np.ones(50, int))
    first = rows.count((0, 2), (3, 3))
    assert first.sum() == 50
    monkeypatch.setattr(np, "bincount", None)
    assert rows.with_undivided_sums.count([0, 2], [3, 3]) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_counts_that_would_take_much_memory_are_not_kept(monkeypatch):
    monkeypatch.setattr(domain_module, "MAX_KEPT_CELLS", 12)
    rows = Rows(seeded(0).integers(0, 3, (50, 3)), np.ones(50, int))
    for axes in ((0, 1), (0,), (1, 2)):
        rows.count(axes, (3,) * len(axes))
    assert list(rows.counted_tables) == [((0, 1), (3, 3)), ((0,), (3,))]
    assert rows.count((1, 2), (4, 4)).sum() == 50


def test_the_next_budget_counts_no_pair_again_and_finds_what_it_would_alone(monkeypatch):
    domain = equal_columns_domain(6, 5)
    codes = seeded(0).integers(0, 5, (400, 6))
    problem = all_tables(domain, 400)
    rows = domain.group_rows(codes)
    tables = []
    count = np.bincount

    def counted(index, *rest, **options):
        tables.append(len(index))
        return count(index, *rest, **options)

    def run(epsilon, of_rows):
        algorithm = ALGORITHMS["gaussian_maxent"](cells=1000, rounds=5)
        return Run(algorithm, problem, of_rows, Budget(epsilon, 1e-6)).finish()

    run(1.0, rows)
    before = set(rows.counted_tables)
    assert {axes for axes, _ in before} >= set(problem.workload.axes)
    monkeypatch.setattr(np, "bincount", counted)
    again = run(0.5, rows)
    assert tables.count(len(rows.values)) == len(set(rows.counted_tables) - before)
    alone = run(0.5, domain.group_rows(codes))
    assert (again.release.beliefs == alone.release.beliefs).all()
    assert again.convergence[-1].empirical == alone.convergence[-1].empirical
