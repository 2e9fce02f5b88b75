"""The curator: charge first and touch after, a closed set of questions, and nothing of the records to be seen."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpcore.data.domain import Rows
from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import Approximate, BoundedRange, Budget, Gaussian, Pure
from dpcore.privacy.accounting.ledger import Charge, Plan
from dpcore.privacy.statistics.answers import Answers, SignedErrors
from dpcore.privacy.statistics.scores import AbsoluteErrors
from dpcore.privacy.table_curator import TableCurator
from dpcore.workloads import Explicit, Marginals
from tests.helpers import codes, random_rows

DOMAIN = codes(3, 2)
WORKLOAD = Marginals.all(DOMAIN, 1)
ANSWERS, ERRORS = Answers(WORKLOAD), SignedErrors(WORKLOAD, np.zeros(5))
PLAN = Plan(Budget(10, 1e-6), (Charge("m", Gaussian(0.1)), Charge("s", BoundedRange(0.1)), Charge("m", Pure(0.1))))


class Watched(Rows):
    """Records that remember whether anybody looked."""

    def __getattribute__(self, name):
        if name in ("values", "weights") and object.__getattribute__(self, "__dict__").get("armed"):
            object.__getattribute__(self, "__dict__")["touched"] = True
        return object.__getattribute__(self, name)


def watched() -> tuple[TableCurator, Watched]:
    rows = random_rows(DOMAIN, 20)
    seen = Watched(rows.values, rows.weights)
    curator = TableCurator(seen, 20, PLAN, np.random.default_rng(0))
    vars(seen).update(armed=True, touched=False)
    return curator, seen


class Cheap(SignedErrors):
    """A score of somebody's own, with a sensitivity of their own."""

    sensitivity = 1e-9


class Better(Marginals):
    """A workload of somebody's own."""

    width = 1e-9


@dataclass(frozen=True)
class Discount(Gaussian):
    """A spend of somebody's own that costs nothing."""

    rho = 0.0


LINES = Better(DOMAIN, [["a"]])
BATCH = np.arange(5)
STREAM = AbsoluteErrors(WORKLOAD, BATCH, np.zeros(5), 0.1)
REFUSED = [
    ("above_threshold", ERRORS, Pure(0.1), "SignedErrors is not a statistic"),
    ("select", STREAM, BoundedRange(0.1), "AbsoluteErrors is not a statistic"),
    ("above_threshold", STREAM, BoundedRange(0.1), "BoundedRange does not pay for this; it takes Pure"),
    ("above_threshold", STREAM, Gaussian(0.1), "Gaussian does not pay for this; it takes Pure"),
    ("above_threshold", STREAM, Approximate(0.1, 1e-9), "Approximate does not pay for this"),
    ("above_threshold", STREAM, Pure(100), "above_threshold needs ρ=5000, "),
    (
        "above_threshold",
        AbsoluteErrors(LINES, np.arange(3), np.zeros(3), 0.1),
        Pure(0.1),
        "Better is not a set of questions",
    ),
    ("above_threshold", AbsoluteErrors(WORKLOAD, BATCH + 1, np.zeros(5), 0.1), Pure(0.1), "a query outside 0..4"),
    ("above_threshold", AbsoluteErrors(WORKLOAD, BATCH - 1, np.zeros(5), 0.1), Pure(0.1), "a query outside 0..4"),
    ("above_threshold", AbsoluteErrors(WORKLOAD, BATCH, np.zeros(4), 0.1), Pure(0.1), "as many answers"),
    ("above_threshold", AbsoluteErrors(WORKLOAD, BATCH / 1, np.zeros(5), 0.1), Pure(0.1), "the numbers of its queries"),
    ("above_threshold", AbsoluteErrors(WORKLOAD, BATCH, np.full(5, np.nan), 0.1), Pure(0.1), "must be finite"),
    ("above_threshold", AbsoluteErrors(WORKLOAD, BATCH, np.zeros(5), np.inf), Pure(0.1), "must be finite"),
    ("measure", ERRORS, Gaussian(0.1), "SignedErrors is not a statistic with a derived sensitivity"),
    ("select", ANSWERS, BoundedRange(0.1), "Answers is not a statistic"),
    ("select", Cheap(WORKLOAD, np.zeros(5)), BoundedRange(0.1), "Cheap is not a statistic"),
    ("measure", Answers(LINES), Gaussian(0.1), "Better is not a set of questions whose sensitivity is known"),
    ("select", SignedErrors(LINES, np.zeros(3)), BoundedRange(0.1), "Better is not a set of questions"),
    ("measure", ANSWERS, BoundedRange(0.1), "BoundedRange does not pay for this; it takes Gaussian or Pure"),
    ("measure", ANSWERS, Approximate(0.1, 1e-9), "Approximate does not pay for this"),
    ("measure", ANSWERS, Discount(0.1), "Discount does not pay for this"),
    ("select", ERRORS, Gaussian(0.1), "Gaussian does not pay for this; it takes BoundedRange"),
    ("select", ERRORS, BoundedRange(100), "select needs ρ=1250, "),
    ("measure", ANSWERS, Gaussian(100), "measure needs ρ=5000, "),
    ("measure", ANSWERS, Pure(100), "measure needs ρ=5000, "),
]


@pytest.mark.parametrize(("verb", "statistic", "spend", "message"), REFUSED)
def test_what_is_not_paid_for_is_refused_before_a_record_is_touched(verb, statistic, spend, message):
    curator, rows = watched()
    with pytest.raises(InputError) as caught:
        getattr(curator, verb)(statistic, spend)
    assert message in str(caught.value)
    assert not vars(rows)["touched"]
    assert curator.ledger.events == []


@pytest.mark.parametrize("value", [-0.1, 0.0, float("nan"), float("inf")])
def test_a_spend_that_pays_nothing_is_refused_before_a_record_is_touched(value):
    curator, rows = watched()
    for verb, statistic, kind in (
        ("select", ERRORS, BoundedRange),
        ("above_threshold", STREAM, Pure),
        ("measure", ANSWERS, Gaussian),
        ("measure", ANSWERS, Pure),
    ):
        with pytest.raises(InputError):
            getattr(curator, verb)(statistic, kind(value))
    assert not vars(rows)["touched"]
    assert curator.ledger.events == []


@pytest.mark.parametrize(
    ("verb", "statistic", "spend"),
    [
        ("measure", ANSWERS, Gaussian(0.1)),
        ("measure", ANSWERS, Pure(0.1)),
        ("select", ERRORS, BoundedRange(0.1)),
        ("above_threshold", STREAM, Pure(0.1)),
    ],
)
def test_a_charge_is_in_the_ledger_before_the_records_are_touched(monkeypatch, verb, statistic, spend):
    curator, rows = watched()
    charge = type(curator.ledger).charge
    touched = []
    monkeypatch.setattr(
        type(curator.ledger),
        "charge",
        lambda self, what, paid: (touched.append(vars(rows)["touched"]), charge(self, what, paid)),
    )
    out = getattr(curator, verb)(statistic, spend)
    assert touched == [False]
    assert vars(rows)["touched"]
    assert curator.ledger.events == [(verb, spend)]
    assert out.values.shape == (5,) if verb == "measure" else out is None or isinstance(out, int)


def test_a_charge_stays_when_the_touch_fails(monkeypatch):
    curator, _ = watched()
    monkeypatch.setattr(Marginals, "answers_of_rows", lambda self, rows: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        curator.measure(ANSWERS, Gaussian(0.1))
    assert curator.ledger.events == [("measure", Gaussian(0.1))]


def test_the_table_must_have_the_public_number_of_records():
    with pytest.raises(InputError, match="the problem has n=21 rows, the table has 20"):
        TableCurator(random_rows(DOMAIN, 20), 21, PLAN, np.random.default_rng(0))


def test_true_answers_are_kept_apart_by_workload():
    other = Explicit(DOMAIN, np.ones((1, 6)))
    plan = Plan(Budget(1e4, 0), (Charge("s", BoundedRange(1.0), 9000),))
    curator = TableCurator(random_rows(DOMAIN, 20), 20, plan, np.random.default_rng(0))
    for _ in range(3):
        assert curator.select(SignedErrors(other, np.array([-10.0])), BoundedRange(2000.0)) == 0
        assert curator.select(SignedErrors(WORKLOAD, np.array([0, 0, 0, 0, 9.0])), BoundedRange(900.0)) == 9


def arrays_in(thing, depth: int = 3):
    """Arrays reachable from an object through public attributes, without calling anything."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif depth:
        names = [name for name in dir(thing) if not name.startswith("_")]
        members = (getattr(thing, name) for name in names if not callable(getattr(thing, name)))
        for member in thing if isinstance(thing, (list, tuple, set)) else members:
            yield from arrays_in(member, depth - 1)


def test_nothing_of_the_records_is_to_be_seen_from_outside():
    curator, _ = watched()
    curator.select(ERRORS, BoundedRange(0.1))
    seen = {name: getattr(curator, name) for name in dir(curator) if not name.startswith("_")}
    verbs = {"above_threshold", "affords", "draw_queries", "keep_draws", "measure", "select"}
    assert {name for name in seen if callable(seen[name])} == verbs
    for verb in verbs:
        del seen[verb]
    assert seen.pop("ledger").plan is seen.pop("plan") is PLAN
    assert seen.pop("exactly") == {}, "how often each law was drawn, as the questions alone say"
    assert seen.pop("measured") == [], "noisy answers that left; none here"
    assert all(isinstance(value, (int, float)) for value in seen.values()), "public numbers at the most"
    assert list(arrays_in(curator)) == []
    assert "values" not in repr(curator)
    assert "Rows" not in repr(curator.ledger)


def test_two_curators_do_not_share_their_noise():
    first, second = (
        TableCurator(random_rows(DOMAIN, 20), 20, PLAN, np.random.default_rng(seed))
        .measure(ANSWERS, Gaussian(0.1))
        .values
        for seed in (1, 2)
    )
    assert not np.allclose(first, second)
