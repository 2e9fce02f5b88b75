"""What a measurement says of its noise, against the noise that was drawn."""

import math

import numpy as np

from dpcore import Explicit, Marginals
from dpcore.privacy.accounting import Gaussian, Pure
from dpcore.privacy.measurement import noise_stddev
from dpcore.privacy.statistics import (
    ONE_TABLE_SENSITIVITY,
    Answers,
    CellAnswers,
    SomeAnswers,
    Votes,
)
from tests.privacy.enumerated_neighbours import curator_of
from tests.small_problems import (
    approx,
    integer_domain,
    parametrize,
    parametrize_false_true,
    random_rows,
    seeded,
)

DOMAIN = integer_domain(3, 2)
N = 40
DRAWS = 200
TABLES = Marginals.all(DOMAIN, 1)
SHARES = Explicit(DOMAIN, seeded(0).uniform(-1, 1, (4, 6)))
ASKED = {
    "answers": Answers(TABLES),
    "a table": SomeAnswers(TABLES, TABLES.tables[0]),
    "an answer": SomeAnswers(SHARES, slice(1, 2)),
    "cells": CellAnswers(TABLES, subspace=False),
    "subspace": CellAnswers(SHARES, subspace=True),
}


@parametrize_false_true("exact")
@parametrize("group", [1, 3])
@parametrize("spend", [Gaussian(0.1), Pure(0.1)])
@parametrize("name", ASKED)
def test_the_noise_that_is_drawn_has_the_deviation_that_is_said(name, spend, group, exact):
    statistic = ASKED[name]
    rows = random_rows(DOMAIN, N)
    curator = curator_of(rows, spend, times=DRAWS, seed=1, exact=exact, group=group)
    drawn = [curator.measure(statistic, spend) for _ in range(DRAWS)]
    truth = statistic.workload.answers_of_rows(rows)[getattr(statistic, "part", slice(None))]
    noise = np.array([m.values - truth for m in drawn]) / drawn[0].stddev
    assert np.sqrt((noise**2).mean(axis=0)) == approx(np.ones(noise.shape[1]), rel=0.25)
    assert drawn[0].stddev == approx(noise_stddev(statistic, spend, N / group))
    assert (drawn[0].statistic, drawn[0].spend) == (statistic, spend)
    (recorded,) = curator.measured_answers
    part = getattr(statistic, "part", slice(None))
    assert recorded.workload is statistic.workload
    assert recorded.values[part] == approx(np.mean([m.values for m in drawn], axis=0))
    assert recorded.stddev[part] == approx(
        np.broadcast_to(drawn[0].stddev / math.sqrt(DRAWS), len(truth))
    )
    assert np.isfinite(recorded.stddev).sum() == len(truth)


def test_a_plan_knows_the_deviation_before_the_statistic():
    assert noise_stddev(ONE_TABLE_SENSITIVITY, Gaussian(0.5), 10) == approx(math.sqrt(2) / 5)
    assert noise_stddev(Votes, Pure(0.5), 10) == approx(math.sqrt(2) * 2 / 5)
