"""Scores of whole tables: their value by hand, and what is refused."""

import numpy as np

from dpcore import Explicit, Marginals
from dpcore.privacy.accounting import BoundedRange, Pure
from dpcore.privacy.statistics import AbsoluteErrors, TableErrors
from tests.privacy.enumerated_neighbours import curator_of, mechanism_arguments
from tests.small_problems import (
    approx,
    expect_error,
    histogram,
    integer_domain,
    parametrize,
    random_rows,
)

CUBE = integer_domain(2, 2, 2)
TABLES = Marginals(CUBE, ["a", "bc", "abc"])


def score(workload=TABLES, penalties=(0.3, 0.0, 1.0), weights=(1.0, 0.2, 0.0)):
    return TableErrors(
        workload, np.full(workload.m, 0.1), np.asarray(penalties), np.asarray(weights)
    )


def test_scores_are_weighted_distances_less_penalties():
    truth = TABLES.answers(histogram(CUBE, random_rows(CUBE, 50)))
    first, second = (np.abs(part - 0.1).sum() for part in (truth[:2], truth[2:6]))
    assert score().value(truth) == approx([first - 0.3, 0.2 * second, 0])


def test_one_record_moves_a_table_s_score_by_twice_its_weight():
    weights = np.array([0.5, 3.0])
    score = TableErrors(
        Marginals(integer_domain(2, 2), ["a", "b"]), np.zeros(4), np.zeros(2), weights
    )
    moved = (
        np.array([1.0, -1.0, 0, 0]),
        np.array([0, 0, 1.0, -1.0]),
    )  # of n · P_n, in the first and the second table
    most = max(np.abs(score.value(step + 9) - score.value(np.full(4, 9.0))).max() for step in moved)
    far = max(np.abs(score.value(step) - score.value(np.zeros(4))).max() for step in moved)
    assert most <= far == 6.0 == score.sensitivity


def test_what_rounding_may_add_to_a_score_widens_its_noise(asked, monkeypatch):
    """By 2e where it adds e at the most to each of two neighbours' scores; here e is 5 rows."""
    for kind in (TableErrors, AbsoluteErrors):
        in_counts = kind.in_counts
        monkeypatch.setattr(kind, "in_counts", lambda *given, f=in_counts: (f(*given)[0], 5.0))
    rows = random_rows(CUBE, 50)
    _, scale = mechanism_arguments(asked, "select", score(), BoundedRange(0.5), rows)
    assert scale == approx(2 * (2 + 10) / 0.5, rel=1e-6)
    batch = AbsoluteErrors(TABLES, np.arange(4), np.full(4, 0.1), 0.2)
    curator_of(rows, Pure(0.5)).above_threshold(batch, Pure(0.5))
    (_, threshold_scale), (_, error_scale) = asked[:2]
    assert threshold_scale * 2.0**-20 == approx((1 + 10) * (1 + 2 ** (2 / 3)) / 0.5, rel=1e-6)
    assert error_scale == approx(threshold_scale * 2 ** (1 / 3), rel=1e-6)


WRONG = [
    (score(Explicit(CUBE, np.eye(8))), "of a Explicit cannot be scored"),
    (
        TableErrors(TABLES, np.zeros(3), np.zeros(3), np.ones(3)),
        "3 tables need as many .* and 14 answers",
    ),
    (score(weights=np.ones(4)), "scores of 3 tables need"),
    (score(weights=[1, -0.1, 1]), "weights ≥ 0"),
    (score(weights=np.zeros(3)), "one of them above 0"),
    (score(weights=[1, np.nan, 1]), "weights ≥ 0 and finite"),
    (score(penalties=[0, np.nan, 0]), "penalties of tables must be finite"),
]


@parametrize("wrong, message", WRONG)
def test_what_has_no_derived_sensitivity_is_refused_and_costs_nothing(wrong, message):
    curator = curator_of(random_rows(CUBE, 50), BoundedRange(1.0))
    with expect_error(message):
        curator.select(wrong, BoundedRange(1.0))
    assert curator.budget_meter.events == []
