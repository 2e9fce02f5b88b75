"""Private Evolution on a table: what it gains over independent columns, its bins, and its coupling."""

import numpy as np

from dpcore.algorithms.query_release.private_evolution_table import _BinnedColumn
from tests.small_problems import parametrize_false_true, seeded


@parametrize_false_true("ordered")
def test_coupling_reaches_the_marginal_and_changes_as_little_as_it_can(ordered):
    rng = seeded(0)
    P = np.array([0.1, 0.4, 0.3, 0.2])
    coarse = _BinnedColumn(P, 4, ordered, 4)
    column = rng.choice(4, 1000, p=[0.4, 0.2, 0.2, 0.2])
    moved = coarse.match_marginal(column, rng)
    shares = np.bincount(moved, minlength=4)
    assert np.abs(shares - 1000 * P).max() <= 1
    if ordered:
        assert (np.diff(moved[np.argsort(column, kind="stable")]) >= -3).all()
        assert all(
            moved[column == a].max() <= moved[column == b].min()
            for a, b in ((0, 2), (1, 3), (0, 3))
        )
    else:
        assert (moved != column).sum() == np.maximum(
            np.bincount(column, minlength=4) - shares, 0
        ).sum()


def test_refined_bins_have_the_fine_marginal_and_missing_values_stay_apart():
    rng = seeded(0)
    fine = rng.dirichlet(np.full(41, 2.0))
    coarse = _BinnedColumn(fine, 4, True, 40)
    assert coarse.bin_of_code.max() == 4
    assert (coarse.bin_of_code == 4).sum() == 1, "the missing cell"
    column = coarse.match_marginal(rng.integers(0, 5, 5000), rng)
    codes = coarse.refine_to_codes(column, rng)
    assert (coarse.bin_of_code[codes] == column).all()
    assert np.abs(np.bincount(codes, minlength=41) / 5000 - fine).max() < 1e-3
