"""All columns of a table, of all rows and of a group: sizes, errors and intervals."""

import numpy as np
import pandas as pd
import pytest

from dpcore import Marginals
from dpcore.accuracy import column_views
from dpcore.accuracy.column_views import view_group
from dpcore.accuracy.intervals.group_intervals import group_intervals
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.evaluation.group_counts import count_group
from dpcore.models.releases import Histogram, SyntheticRows
from dpcore.privacy.noisy_answers import NoisyAnswers
from dpcore.schema.domain import Countable
from tests.small_problems import expect_error, integer_domain, seeded

DOMAIN = integer_domain(2, 3, 4)
GROUPS = [{}, {0: [1]}, {1: [0, 2]}, {0: [0], 2: [1, 3]}, {0: [1], 1: [0], 2: [2]}]


def rows_of(seed=0, n=500):
    rng = seeded(seed)
    return np.column_stack([rng.integers(k, size=n) for k in DOMAIN.shape])


class CountsOnly(Countable):
    """A source that has counts and no rows."""

    undivided = False

    def __init__(self, rows):
        self.n = rows.n
        self.count = rows.count


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_what_a_data_frame_says(group):
    real = pd.DataFrame(rows_of(0))
    synthetic = pd.DataFrame(rows_of(1))
    rows = DOMAIN.group_rows(real.to_numpy())
    release = SyntheticRows.from_rows(DOMAIN, synthetic.to_numpy())
    for source in (rows, CountsOnly(rows)):
        view = view_group(release, DOMAIN, group, real=count_group(source, DOMAIN, group))
        for column in view.views:
            others = {a: codes for a, codes in group.items() if a != column.axis}
            for frame, shares in ((real, column.real), (synthetic, column.released)):
                members = frame.loc[
                    np.logical_and.reduce(
                        [np.ones(len(frame), bool)] + [frame[a].isin(c) for a, c in others.items()]
                    )
                ]
                counts = np.bincount(members[column.axis], minlength=len(shares))
                assert np.allclose(shares, counts / len(frame))
        inside = np.logical_and.reduce(
            [np.ones(500, bool)] + [real[a].isin(c) for a, c in group.items()]
        )
        assert np.isclose(view.real_size, inside.mean())
        errors = [column.misplaced for column in view.views]
        assert errors == sorted(errors, reverse=True), "worst first"
    assert view.views[0].misplaced == pytest.approx(
        np.abs(view.views[0].released - view.views[0].real).sum() / 2 / view.views[0].real.sum()
    )


@pytest.mark.parametrize("group", GROUPS[:4])
def test_intervals_of_a_group_hold_the_truth_as_often_as_they_say(group):
    rng = seeded(2)
    D = rng.dirichlet(np.full(DOMAIN.size, 0.5))
    tables = Marginals.all(DOMAIN, 3)
    truth = view_group(Histogram(DOMAIN, D), DOMAIN, group)
    shares = {view.axis: view.released for view in truth.views}
    hits = []
    for _ in range(400):
        noisy = NoisyAnswers(tables, D + rng.normal(0, 0.01, D.size), np.full(D.size, 0.01))
        unbiased = pool_tables(DOMAIN, [noisy])
        size = group_intervals(unbiased, group, None)
        if group:
            hits.append(size.low[0] <= truth.released_size <= size.high[0])
        for axis, share in shares.items():
            others = {a: codes for a, codes in group.items() if a != axis}
            bounds = group_intervals(unbiased, others, axis)
            hits += list((bounds.low <= share) & (share <= bounds.high))
    assert 0.93 <= np.mean(hits) <= 0.97


def test_a_predicted_share_in_a_wrong_cell_is_what_noise_does_on_average():
    rng = seeded(3)
    D = rng.dirichlet(np.full(DOMAIN.size, 3.0))
    tables = Marginals.all(DOMAIN, 3)
    group = {0: [1]}
    truth = {v.axis: v.released for v in view_group(Histogram(DOMAIN, D), DOMAIN, group).views}
    measured = []
    for _ in range(300):
        noisy = NoisyAnswers(tables, D + rng.normal(0, 0.003, D.size), np.full(D.size, 0.003))
        unbiased = pool_tables(DOMAIN, [noisy])
        view = view_group(unbiased, DOMAIN, group, unbiased_answers=unbiased)
        measured.append(
            [column_views.misplaced_share(v.released, truth[v.axis]) for v in view.views]
        )
    predicted = [v.misplaced for v in view.views]
    assert np.mean(measured, axis=0) == pytest.approx(predicted, rel=0.15)


def test_what_was_not_measured_has_no_interval_and_what_is_known_has_no_width():
    D = np.full(DOMAIN.size, 1 / DOMAIN.size)
    tables = Marginals(DOMAIN, ["a", "b"])
    noisy = NoisyAnswers(tables, tables.answers(D), np.full(tables.m, 0.01))
    unbiased = pool_tables(DOMAIN, [noisy])
    assert np.isfinite(group_intervals(unbiased, {}, 0).low).all()
    assert np.isnan(group_intervals(unbiased, {}, 2).low).all()
    assert np.isnan(group_intervals(unbiased, {0: [1]}, 1).low).all()
    assert group_intervals(unbiased, {0: [0, 1]}, None).low == pytest.approx([1.0])
    view = view_group(Histogram(DOMAIN, D), DOMAIN, {}, unbiased_answers=unbiased)
    assert {v.axis: v.misplaced is None for v in view.views} == {0: False, 1: False, 2: True}
    assert view.misplaced is None, "not known of one column"


def test_an_empty_group_and_one_too_large(monkeypatch):
    rows = DOMAIN.group_rows(np.zeros((10, 3), int))
    release = SyntheticRows.from_rows(DOMAIN, rows_of())
    view = view_group(release, DOMAIN, {0: [1]}, real=count_group(rows, DOMAIN, {0: [1]}))
    assert view.real_size == 0
    assert view.misplaced is None
    monkeypatch.setattr(column_views, "MAX_GROUP_CELLS", 10)
    with expect_error("choose bars of fewer columns"):
        view_group(release, DOMAIN, {0: [1]}, real=count_group(rows, DOMAIN, {0: [1]}))
