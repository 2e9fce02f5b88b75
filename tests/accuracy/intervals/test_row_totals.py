"""How many rows people have who count once: totals of rows from noisy tables of people."""

import numpy as np
import pandas as pd

from dpcore import Marginals, PrivacyUnit, limit_rows
from dpcore.accuracy.intervals.confidence_levels import two_sided_quantile
from dpcore.accuracy.intervals.question_intervals import row_total_interval, row_total_question
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.privacy.noisy_answers import NoisyAnswers
from dpcore.queries.questions import parse_question
from tests.small_problems import approx, integer_domain, parametrize, seeded

UNIT = PrivacyUnit("id", 3, counts_people=True, row_totals=True)
DOMAIN = UNIT.extend_domain(integer_domain(2, 3))
N = 200
SIGMA = 0.01


def table():
    """A table of people with one to five rows."""
    rng = seeded(0)
    who = np.repeat(np.arange(N), rng.integers(1, 6, N))
    size = len(who)
    return pd.DataFrame({"id": who, "a": rng.integers(0, 2, size), "b": rng.integers(0, 3, size)})


def tables_of(names, sigma, noise):
    """Noisy tables over columns, with noise of this deviation."""
    workload = Marginals(DOMAIN, names)
    truth = workload.answers_of_rows(UNIT.encode(DOMAIN, table()))
    stddev = np.full(workload.m, sigma)
    return pool_tables(DOMAIN, [NoisyAnswers(workload, truth + noise * sigma, stddev)])


QUESTIONS = {
    "a = 1": lambda frame: frame["a"] == 1,
    "a = 0 and b > 0": lambda frame: (frame["a"] == 0) & (frame["b"] > 0),
    "rows >= 2 and b = 1": lambda frame: (frame["rows"] >= 2) & (frame["b"] == 1),
    "rows >= 1": lambda frame: frame["rows"] >= 1,
}


@parametrize("text", QUESTIONS)
def test_a_total_of_rows_is_that_of_the_rows_that_are_kept(text):
    kept = limit_rows(table(), "id", 3, DOMAIN.names)
    kept["rows"] = kept.groupby("id")["a"].transform("size")
    question = row_total_question(parse_question(text, DOMAIN), DOMAIN)
    interval = row_total_interval(tables_of([["a", "b", "rows"]], 1e-9, 0.0), question, N)
    assert interval.unbiased == approx(QUESTIONS[text](kept).sum())
    assert interval.low == approx(interval.high, abs=1e-3)


def test_the_noise_of_a_total_is_that_of_its_cells_times_their_rows():
    """One table has independent noise σ in every cell: N σ √(1² + 2² + 3²) for one value of a."""
    known = tables_of([["a", "rows"]], SIGMA, 0.0)
    question = row_total_question(parse_question("a = 1", DOMAIN), DOMAIN)
    interval = row_total_interval(known, question, N, level=0.9)
    z = two_sided_quantile(0.9, laplace=False)
    half_width = (interval.high - interval.low) / 2
    # that all shares sum to 1 is known beside the table, which takes a little noise off
    assert half_width == approx(z * N * SIGMA * np.sqrt(14 - 12**2 / 4 / 6), rel=1e-9)
    alone = row_total_interval(tables_of([["a"], ["rows"]], SIGMA, 0.0), question, N)
    assert alone.low is None
    assert "nothing was measured about a × rows together" in alone.how


def test_totals_of_rows_are_covered_as_often_as_is_said():
    """Of 2,000 draws 1,900 with a deviation of 10."""
    question = row_total_question(parse_question("a = 1", DOMAIN), DOMAIN)
    workload = Marginals(DOMAIN, [["a", "rows"], ["a", "b"]])
    rows = UNIT.encode(DOMAIN, table())
    truth = workload.answers_of_rows(rows)
    real = float(question.workload.answers_of_rows(rows)[0]) * N * 3
    rng = seeded(1)
    stddev = np.full(workload.m, SIGMA)
    covered = 0
    for _ in range(400):
        noisy = NoisyAnswers(workload, truth + rng.normal(0, SIGMA, workload.m), stddev)
        interval = row_total_interval(pool_tables(DOMAIN, [noisy]), question, N)
        covered += interval.low <= real <= interval.high
    assert 0.93 <= covered / 400 <= 0.97
