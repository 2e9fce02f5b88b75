"""Private Evolution on a table: what it gains over independent columns, its bins, and its coupling."""

import numpy as np
import pytest

from dpcore import Budget, Marginals, QueryRelease, Run, domain_from_json
from dpcore.algorithms.evolution_table import PrivateEvolutionTable, _calmed, _Coarse

SCHEMA = {
    "columns": {
        "age": {"kind": "integer", "low": 0, "high": 39, "missing": "category"},
        "pay": {"kind": "numeric", "low": 0, "high": 1, "bins": 30},
        **{name: {"kind": "categorical", "values": [0, 1, 2]} for name in ("a", "b", "c")},
    }
}
DOMAIN = domain_from_json(SCHEMA)


def people(n: int = 20_000):
    """Rows in which every column follows one hidden number."""
    rng = np.random.default_rng(0)
    hidden = rng.random(n)
    age = np.clip(np.rint(39 * hidden + 3 * rng.normal(size=n)), 0, 39).astype(int)
    pay = np.clip(np.rint(29 * hidden**2 + 2 * rng.normal(size=n)), 0, 29).astype(int)
    rest = [np.clip(np.floor(3 * hidden + 0.4 * rng.normal(size=n)), 0, 2).astype(int) for _ in range(3)]
    return DOMAIN.group(np.column_stack([np.where(rng.random(n) < 0.1, 40, age), pay, *rest]))


def test_evolved_rows_are_nearer_than_independent_columns():
    rows = people()
    problem = QueryRelease(Marginals.all(DOMAIN, 2), rows.n)
    run = Run(PrivateEvolutionTable(samples=300), problem, rows, Budget(3, 1e-9)).finish()
    single = [Marginals(DOMAIN, [[name]]).answers_of_rows(rows) for name in DOMAIN.names]
    pairs = problem.workload
    product = np.concatenate([np.outer(single[a], single[b]).ravel() for a, b in pairs.axes])
    independent = np.mean([np.abs(product - run.truth.answers)[table].sum() for table in pairs.tables])
    assert run.records[-1].empirical.mean_l1 < 0.6 * independent
    assert run.records[-1].empirical.mean_l1 < run.records[0].empirical.mean_l1
    for name, share in zip(DOMAIN.names, single, strict=True):
        found = run.release.answers(Marginals(DOMAIN, [[name]]))
        assert np.abs(found - share).sum() < 0.03, "columns are moved to their noisy marginals"


@pytest.mark.parametrize("ordered", [True, False])
def test_coupling_reaches_the_marginal_and_changes_as_little_as_it_can(ordered):
    rng = np.random.default_rng(0)
    P = np.array([0.1, 0.4, 0.3, 0.2])
    coarse = _Coarse(P, 4, ordered, 4)
    column = rng.choice(4, 1000, p=[0.4, 0.2, 0.2, 0.2])
    moved = coarse.fit(column, rng)
    shares = np.bincount(moved, minlength=4)
    assert np.abs(shares - 1000 * P).max() <= 1
    if ordered:
        assert (np.diff(moved[np.argsort(column, kind="stable")]) >= -3).all()
        assert all(moved[column == a].max() <= moved[column == b].min() for a, b in ((0, 2), (1, 3), (0, 3)))
    else:
        surplus = np.maximum(np.bincount(column, minlength=4) - shares, 0).sum()
        assert (moved != column).sum() == surplus


def test_refined_bins_have_the_fine_marginal_and_missing_values_stay_apart():
    rng = np.random.default_rng(0)
    fine = rng.dirichlet(np.full(41, 2.0))
    coarse = _Coarse(fine, 4, True, 40)
    assert coarse.bins.max() == 4
    assert (coarse.bins == 4).sum() == 1, "the missing cell"
    column = coarse.fit(rng.integers(0, 5, 5000), rng)
    codes = coarse.refine(column, rng)
    assert (coarse.bins[codes] == column).all()
    assert np.abs(np.bincount(codes, minlength=41) / 5000 - fine).max() < 1e-3


def test_marginals_lost_in_noise_are_nearly_uniform_and_clear_ones_stay():
    rng = np.random.default_rng(0)
    P = np.array([0.7, 0.2, 0.1])
    assert _calmed(P + 1e-4 * rng.normal(size=3), 1e-4) == pytest.approx(P, abs=1e-3)
    lost = np.mean([np.abs(_calmed(P + 5 * rng.normal(size=3), 5.0) - 1 / 3).sum() for _ in range(50)])
    assert lost < 0.6
