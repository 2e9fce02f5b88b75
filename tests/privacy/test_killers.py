"""What no other test says as directly: the laws that some of the planted bugs break."""

import json
import math

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.data.domain import Rows
from dpcore.errors import BudgetError, InputError
from dpcore.learning.losses import hinge
from dpcore.privacy import flips, mechanisms
from dpcore.privacy.accounting.budget import BoundedRange, Budget, Gaussian, Pure, SubsampledGaussian
from dpcore.privacy.risk_curator import RiskCurator
from dpcore.privacy.statistics.answers import SignedErrors
from dpcore.privacy.statistics.gradients import MeanGradient
from dpcore.privacy.statistics.query_draws import AcceptProbabilities
from dpcore.privacy.statistics.scores import AbsoluteErrors, TableErrors
from dpcore.privacy.table_curator import TableCurator
from dpcore.publishing.ledger_store import Store
from dpcore.workloads import Explicit, Marginals
from tests.helpers import codes, rows_of
from tests.privacy.enumeration import curator_of
from tests.privacy.test_walls import CENTRE, X

WORKLOAD = Marginals.all(codes(2), 1)
BATCH = AbsoluteErrors(WORKLOAD, np.arange(2), np.full(2, 0.5), 0.9)  # no error is above 0.5
PAID, TEN = Pure(1e-3), rows_of(codes(2), [0] * 9 + [1])
ORDER = ["release", "t.csv", "--schema=s.json", "--queries=marginals:1", "--algorithm=dpfw", "--epsilon=.5"]
ORDER += ["--delta=1e-6", "--ledger=l.sqlite", "--total-epsilon=2", "--total-delta=1e-6"]


def streaming(seed: int) -> TableCurator:
    return curator_of(TEN, PAID, times=100, seed=seed)


def test_a_sampled_sum_is_divided_by_the_expected_size_whatever_was_drawn(monkeypatch):
    monkeypatch.setattr(mechanisms, "gaussian", lambda values, _sigma, _rng: values)
    spend = SubsampledGaussian(20.0, 0.5)
    rows = Rows(np.array([[0.1, 0.2, 1.0]]), np.array([9]))
    statistic = MeanGradient(hinge(), X, CENTRE, 1.0)
    curators = [curator_of(rows, spend, kind=RiskCurator, seed=seed) for seed in range(40)]
    found = np.array([curator.measure_sample(statistic, spend).values for curator in curators])
    sampled = found[:, 0] / statistic.clipped_sum(rows.values, np.ones(1))[0] * 0.5 * 9
    assert np.abs(sampled - sampled.round()).max() < 1e-9
    assert len(set(sampled.round())) > 3, "how many were in the sample shows, as it is not divided by"


def test_a_batch_far_below_its_level_is_still_compared_with_noise():
    found = [streaming(seed).above_threshold(BATCH, PAID) for seed in range(40)]
    assert 5 < sum(place is not None for place in found) < 40


def test_a_release_is_never_drawn_again_into_its_folder(here):
    order = [*ORDER, "--out=out"]
    assert main(order) == 0
    before = {path.name: path.read_bytes() for path in (here / "out").iterdir()}
    assert main(order) == 2
    assert {path.name: path.read_bytes() for path in (here / "out").iterdir()} == before
    assert len(Store("l.sqlite").show()[0].releases) == 1


def test_one_record_moves_a_table_s_score_by_twice_its_weight():
    weights = np.array([0.5, 3.0])
    score = TableErrors(Marginals(codes(2, 2), [["a"], ["b"]]), np.zeros(4), np.zeros(2), weights)
    moved = np.array([1.0, -1.0, 0, 0]), np.array([0, 0, 1.0, -1.0])  # of n · P_n, in the first and the second table
    most = max(np.abs(score.value(step + 9) - score.value(np.full(4, 9.0))).max() for step in moved)
    far = max(np.abs(score.value(step) - score.value(np.zeros(4))).max() for step in moved)
    assert most <= far == 6.0 == score.sensitivity


class Bits:
    """A generator whose first word is 0 and whose next ones are given."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def integers(self, _low, _high, size=None, dtype=None):
        return np.zeros(size, dtype=np.int64) if size is not None else self.words.pop(0)


def test_a_coin_far_out_shows_heads_as_rarely_as_it_must_and_not_never():
    """exp(−70) is about 2^-101: the first 53 bits are 0, of the next 64 the first 48."""
    assert flips.flips(np.array([70.0]), Bits(1))[0], "1 · 2^-117 is below it"
    assert not flips.flips(np.array([70.0]), Bits(2**20))[0], "2^-97 is above"


def test_nothing_is_paid_by_infinite_noise_nor_by_what_is_no_number():
    for kind in (Gaussian, BoundedRange, Pure):
        for value in (math.inf, math.nan, -0.0, 5e-324 / 2):
            with pytest.raises(InputError, match="must be finite and above 0"):
                kind(value)


def test_two_workloads_of_one_size_have_answers_of_their_own():
    domain, paid = codes(2), BoundedRange(1000.0)
    curator = curator_of(TEN, paid, times=5, budget=Budget(1e4, 0))
    forth, back = Explicit(domain, np.eye(2)), Explicit(domain, np.eye(2)[::-1])
    for _ in range(2):
        assert curator.select(SignedErrors(forth, np.array([0.5, 0.1])), paid) == 0
        assert curator.select(SignedErrors(back, np.array([0.1, 0.5])), paid) == 1


def test_a_bit_about_a_person_of_two_rows_is_not_sold_at_the_price_of_one_row():
    domain = codes(2)
    kept = AcceptProbabilities(Marginals.all(domain, 1), np.arange(2), np.full(2, 0.5), 1.0)
    for rows_of_a_person in (1, 2):
        spend = BoundedRange(kept.needs(10 / rows_of_a_person))
        curator = curator_of(TEN, spend, times=9, group=2)
        if rows_of_a_person == 1:
            with pytest.raises(BudgetError, match="keep_draws needs"):
                curator.keep_draws(kept, spend)
        else:
            assert len(curator.keep_draws(kept, spend)) == 2


def test_a_release_of_a_schema_that_was_read_off_the_records_says_so(here):
    schema = json.loads((here / "s.json").read_text())
    for name, peeked in (("typed", False), ("peeked", True)):
        (here / "s.json").write_text(json.dumps(schema | {"peeked": peeked}))
        assert main([*ORDER, "--reason=they are published", f"--out={name}"]) == 0
        said = json.loads((here / name / "release.json").read_text())["bounds"]
        assert said == ("read off the records (a private peek)" if peeked else "typed by a person")
