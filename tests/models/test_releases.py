"""Releases: synthetic rows answer and draw like the histogram they are, and where no histogram
could be held.
"""

import numpy as np

from dpcore import Marginals, TableQueries, Union
from dpcore.models.releases import Histogram, SyntheticRows
from tests.small_problems import (
    D324,
    all_cells,
    approx,
    integer_domain,
    parametrize,
    random_sign_queries,
    seeded,
)

ROWS = all_cells(D324)[seeded(0).integers(8, size=30)]
SHARES = np.bincount(D324.cell_numbers(ROWS), minlength=24) / 30
WORKLOADS = [Marginals.all(D324, 2), TableQueries.ranges(D324, "ac"), random_sign_queries(D324, 5)]


@parametrize("workload", [*WORKLOADS, Union(WORKLOADS)])
def test_rows_answer_like_their_histogram(workload):
    release = SyntheticRows.from_rows(D324, ROWS)
    assert release.counts.sum() == 30
    assert len(release.codes) == len(np.unique(ROWS, axis=0))
    assert release.answers(workload) == approx(Histogram(D324, SHARES).answers(workload))


@parametrize("wanted", [1, 7, 1000])
@parametrize("release", [SyntheticRows.from_rows(D324, ROWS), Histogram(D324, SHARES)])
def test_rows_are_drawn_in_proportion_to_within_one(release, wanted):
    frame = release.sample(wanted, seeded(1))
    assert frame.shape == (wanted, 3)
    assert (
        np.abs(
            np.bincount(D324.cell_numbers(frame.to_numpy()), minlength=24) - wanted * SHARES
        ).max()
        < 1
    )
    again = release.sample(wanted, seeded(2))
    assert wanted == 1 or not frame.equals(again)


def test_rows_need_no_cells():
    domain = integer_domain(*[1000] * 14)
    rows = seeded(0).integers(1000, size=(50, 14))
    release = SyntheticRows.from_rows(domain, rows)
    answers = release.answers(Marginals(domain, ["a", "bn"]))
    assert answers[:1000] == approx(np.bincount(rows[:, 0], minlength=1000) / 50)
    assert answers[1000:].sum() == approx(1)
    assert len(release.sample(20, seeded(0))) == 20
