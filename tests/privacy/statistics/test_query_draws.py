"""Kept queries: exact laws on all neighbours of tiny data sets."""

import math

import numpy as np

from dpcore.privacy.accounting import BoundedRange
from dpcore.privacy.statistics import AcceptProbabilities, SignedErrors, keep_bit_epsilon
from tests.privacy.enumerated_neighbours import curator_of, laws_of_neighbours, mechanism_arguments
from tests.privacy.test_exact_neighbours import CUBE, WORKLOADS, log_law
from tests.small_problems import (
    approx,
    data_sets,
    expect_error,
    parametrize,
    random_rows,
    rows_in_cells,
)

PAIRS = WORKLOADS["2-way"]


def keep_law(asked, workload, drawn, answers, eta, rows, **options):
    """log-probabilities (s, 2) of keeping and of rejecting each draw."""
    score = AcceptProbabilities(workload, drawn, answers, eta)
    (keep,) = mechanism_arguments(
        asked, "keep_draws", score, BoundedRange(score.minimum_epsilon(rows.n)), rows, **options
    )
    return np.column_stack([keep, np.log(-np.expm1(keep))])


@parametrize("step", [1e-9, 1.0, 30.0])
@parametrize("name", ["2-way", "signs", "narrow", "conjunctions"])
@parametrize("far, exact", [(False, False), (True, False), (False, True)])
def test_a_bit_has_the_bounded_range_that_is_charged(asked, name, step, far, exact):
    """Also where the answers are far from all that a row could give."""
    workload = WORKLOADS[name]
    n = 2
    drawn = np.arange(2 * workload.m)
    answers = np.where(drawn % 2, 1e6, -1e6) if far else np.tile(workload.answers(np.eye(8)[2]), 2)

    def law(rows):
        return keep_law(asked, workload, drawn, answers, step / workload.width, rows, exact=exact)

    if far and step < 1:
        with expect_error("beyond what rounding lets a bit be kept by"):
            law(rows_in_cells(CUBE, [0, 0]))
        return
    worst = max(np.ptp(p - q, axis=1).max() for p, q in laws_of_neighbours(CUBE, n, law))
    charged = AcceptProbabilities(workload, drawn, answers, step / workload.width).minimum_epsilon(
        n
    )
    assert worst <= charged * (1 + 1e-6)
    if name == "2-way" and not far:
        assert worst == approx(charged, rel=1e-3 if exact else 1e-5), (
            "no more is charged than one record can do"
        )


@parametrize("step", [0.01, 0.3, 2.0])
def test_a_bit_is_worth_its_formula(step):
    for n in (2, 10, 1000):
        exact = math.log((math.exp(step * (1 + 1 / n)) - 1) / (math.exp(step) - 1))
        assert keep_bit_epsilon(step, n) == approx(exact, rel=1e-9)
        assert exact <= step / (n * (1 - math.exp(-step)))
    assert keep_bit_epsilon(0.0, 10) == approx(keep_bit_epsilon(1e-12, 10)) == approx(math.log(1.1))
    assert keep_bit_epsilon(800.0, 10) == approx(80)


@parametrize("eta", [0.2, 4.0])
def test_keeping_or_replacing_follows_the_law_of_a_fresh_draw(asked, eta):
    """The bit and the redraw of DQRS in round 3, for every old draw."""
    n = 2
    t = 3
    drawn = np.arange(2 * PAIRS.m)
    first = PAIRS.answers(np.eye(8)[2])
    last = PAIRS.answers(np.eye(8)[6])
    fresh = 2 * eta * (t - 1) / n
    for data in data_sets(8, n):
        rows = rows_in_cells(CUBE, data)
        keep = keep_law(asked, PAIRS, drawn, np.tile(last, 2), eta, rows)
        before = log_law(
            asked, SignedErrors(PAIRS, first, t - 2), BoundedRange(2 * eta * (t - 2) / n), rows
        )
        redraw = log_law(asked, SignedErrors(PAIRS, first + last, t - 1), BoundedRange(fresh), rows)
        after = np.exp(before + keep[:, 0]) + np.exp(before + keep[:, 1]).sum() * np.exp(redraw)
        assert after == approx(np.exp(redraw), rel=1e-9), "exactly Q^t"


def test_as_many_are_drawn_as_are_paid_for():
    draw = BoundedRange(0.1)
    curator = curator_of(random_rows(CUBE, 20), draw, times=3)
    assert curator.draw_queries(SignedErrors(PAIRS, np.zeros(PAIRS.m), 2), draw, 3).shape == (3,)
    assert curator.budget_meter.events == [("draw_queries", draw)] * 3
