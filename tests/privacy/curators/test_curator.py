"""The curator: charge first and touch after, a closed set of questions, and nothing of the records
to be seen.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from dpcore import Budget, Explicit, Marginals, Rows
from dpcore.privacy.accounting import Approximate, BoundedRange, Gaussian, Plan, Pure
from dpcore.privacy.curators.table_curator import TableCurator
from dpcore.privacy.statistics import AbsoluteErrors, AcceptProbabilities, Answers, SignedErrors
from tests.privacy.enumerated_neighbours import curator_of
from tests.small_problems import (
    expect_budget_error,
    expect_error,
    integer_domain,
    parametrize,
    parametrize_false_true,
    random_rows,
    rows_in_cells,
    seeded,
)

DOMAIN = integer_domain(3, 2)
WORKLOAD = Marginals.all(DOMAIN, 1)
ANSWERS = Answers(WORKLOAD)
ERRORS = SignedErrors(WORKLOAD, np.zeros(5))
SPENDS = (Gaussian(0.1), BoundedRange(0.1), Pure(0.1))
BUDGET = Budget(10, 1e-6)


TEN = rows_in_cells(integer_domain(2), [0] * 9 + [1])


class Watched(Rows):
    """Records that remember whether anybody looked."""

    def __getattribute__(self, name):
        if name in ("values", "weights") and object.__getattribute__(self, "__dict__").get("armed"):
            object.__getattribute__(self, "__dict__")["touched"] = True
        return object.__getattribute__(self, name)


def watched(**options):
    rows = random_rows(DOMAIN, 20)
    seen = Watched(rows.values, rows.weights)
    curator = curator_of(seen, *SPENDS, budget=BUDGET, **options)
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


LINES = Better(DOMAIN, ["a"])
BATCH = np.arange(5)
ZEROS = np.zeros(5)


def batch(queries=BATCH, answers=ZEROS, level=0.1):
    return AbsoluteErrors(WORKLOAD, queries, answers, level)


ASKED = {
    "measure": ANSWERS,
    "select": ERRORS,
    "above_threshold": batch(),
    "draw_queries": SignedErrors(WORKLOAD, ZEROS, 2),
    "keep_draws": AcceptProbabilities(WORKLOAD, BATCH, ZEROS, 1.0),
}
PAYS = {
    "measure": (Gaussian, Pure),
    "select": (BoundedRange, Pure),
    "above_threshold": (Pure,),
    "draw_queries": (BoundedRange,),
    "keep_draws": (BoundedRange,),
}


def turned_down(words, verb, *asked):
    """A question is refused before a record is touched, and costs nothing."""
    curator, rows = watched()
    with expect_error(words):
        getattr(curator, verb)(*asked)
    assert not vars(rows)["touched"]
    assert curator.budget_meter.events == []


@parametrize("verb", ASKED)
def test_a_verb_answers_its_own_questions_for_what_pays_and_no_others(verb):
    pays = PAYS[verb]
    others = (asked for asked in ASKED.values() if type(asked) is not type(ASKED[verb]))
    for other in (*others, Cheap(WORKLOAD, ZEROS)):
        turned_down("is not a statistic", verb, other, pays[0](0.1))
    for kind in {Gaussian, BoundedRange, Pure, Approximate, Discount}.difference(pays):
        turned_down(
            f"{kind.__name__} does not pay for this; it takes {pays[0].__name__}",
            verb,
            ASKED[verb],
            kind(0.1),
        )
    for kind in pays:
        turned_down(f"{verb} needs ρ=", verb, ASKED[verb], kind(100))


@parametrize(
    "verb, question, words",
    [
        (
            "above_threshold",
            AbsoluteErrors(LINES, np.arange(3), np.zeros(3), 0.1),
            "Better is not a set of questions",
        ),
        ("above_threshold", batch(BATCH + 1), "a query outside 0..4"),
        ("above_threshold", batch(BATCH - 1), "a query outside 0..4"),
        ("above_threshold", batch(answers=np.zeros(4)), "as many answers"),
        ("above_threshold", batch(BATCH[None], ZEROS[None]), "as many answers"),
        ("above_threshold", batch(BATCH / 1), "the numbers of its queries"),
        ("above_threshold", batch(answers=np.full(5, np.nan)), "must be finite"),
        ("above_threshold", batch(level=63.5), "below 64 in sum"),
        ("measure", Answers(LINES), "Better is not a set of questions whose sensitivity is known"),
        ("select", SignedErrors(LINES, np.zeros(3)), "Better is not a set of questions"),
        ("draw_queries", SignedErrors(WORKLOAD, np.zeros(3), 2), "need as many answers"),
        ("draw_queries", SignedErrors(WORKLOAD, ZEROS, 0), "rounds=0 must be a whole"),
        (
            "keep_draws",
            AcceptProbabilities(WORKLOAD, np.array([10]), np.zeros(1), 1.0),
            "a signed query",
        ),
        (
            "keep_draws",
            AcceptProbabilities(WORKLOAD, np.array([2]), np.zeros(1), 0.0),
            "eta=0.0 must be above",
        ),
        (
            "keep_draws",
            AcceptProbabilities(WORKLOAD, BATCH, ZEROS + np.inf, 1.0),
            "beyond what rounding lets a bit be",
        ),
        (
            "keep_draws",
            AcceptProbabilities(WORKLOAD, BATCH, ZEROS, 2.0),
            "keep_draws needs ε₀=0.1.* is paid",
        ),
    ],
)
def test_questions_that_make_no_sense_are_refused(verb, question, words):
    turned_down(words, verb, question, PAYS[verb][0](0.1))


@parametrize("times", [0, -1, 1.5, True])
def test_draws_are_a_whole_number_and_paid_for_together(times):
    turned_down(
        "which must be a whole number",
        "draw_queries",
        ASKED["draw_queries"],
        BoundedRange(0.1),
        times,
    )
    turned_down(
        "draw_queries needs ρ=", "draw_queries", ASKED["draw_queries"], BoundedRange(0.1), 10**6
    )


@parametrize_false_true("exact")
@parametrize("verb, kind", [(verb, kind) for verb, kinds in PAYS.items() for kind in kinds])
def test_a_charge_is_in_the_ledger_before_the_records_are_touched(monkeypatch, verb, kind, exact):
    curator, rows = watched(exact=exact)
    ledger = type(curator.budget_meter)
    touched = []
    charge = ledger.charge
    monkeypatch.setattr(
        ledger, "charge", lambda *asked: (touched.append(vars(rows)["touched"]), charge(*asked))
    )
    getattr(curator, verb)(ASKED[verb], kind(0.1))
    assert touched == [False]
    assert vars(rows)["touched"]
    assert curator.budget_meter.events == [(verb, kind(0.1))] * (5 if verb == "keep_draws" else 1)
    always = verb in ("select", "draw_queries", "keep_draws")
    assert curator.exact_draw_counts.total() == (exact or always) * len(curator.budget_meter.events)


def test_a_charge_stays_when_the_touch_fails(monkeypatch):
    curator, _ = watched()
    monkeypatch.setattr(Marginals, "answers_of_rows", lambda self, rows: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        curator.measure(ANSWERS, Gaussian(0.1))
    assert curator.budget_meter.events == [("measure", Gaussian(0.1))]


def test_the_table_must_have_the_public_number_of_records():
    with expect_error("the problem has n=21 rows, the table has 20"):
        TableCurator(random_rows(DOMAIN, 20), 21, Plan(BUDGET, ()), seeded(0))


def test_a_batch_far_below_its_level_is_still_compared_with_noise():
    paid = Pure(1e-3)
    far = AbsoluteErrors(
        Marginals.all(integer_domain(2), 1), np.arange(2), np.full(2, 0.5), 0.9
    )  # no error is above 0.5
    found = [
        curator_of(TEN, paid, times=100, seed=seed).above_threshold(far, paid) for seed in range(40)
    ]
    assert 5 < sum(place is not None for place in found) < 40


def test_two_workloads_of_one_size_have_answers_of_their_own():
    domain = integer_domain(2)
    paid = BoundedRange(1000.0)
    curator = curator_of(TEN, paid, times=5, budget=Budget(1e4, 0))
    forth = Explicit(domain, np.eye(2))
    back = Explicit(domain, np.eye(2)[::-1])
    for _ in range(2):
        assert curator.select(SignedErrors(forth, np.array([0.5, 0.1])), paid) == 0
        assert curator.select(SignedErrors(back, np.array([0.1, 0.5])), paid) == 1


def test_a_bit_about_a_person_of_two_rows_is_not_sold_at_the_price_of_one_row():
    kept = AcceptProbabilities(
        Marginals.all(integer_domain(2), 1), np.arange(2), np.full(2, 0.5), 1.0
    )
    for rows_of_a_person in (1, 2):
        spend = BoundedRange(kept.minimum_epsilon(10 / rows_of_a_person))
        curator = curator_of(TEN, spend, times=9, group=2)
        if rows_of_a_person == 1:
            with expect_budget_error("keep_draws needs"):
                curator.keep_draws(kept, spend)
        else:
            assert len(curator.keep_draws(kept, spend)) == 2


def arrays_in(thing, depth=3):
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
    verbs = {"above_threshold", "can_afford", "draw_queries", "keep_draws", "measure", "select"}
    assert {name for name in seen if callable(seen[name])} == verbs
    for verb in verbs:
        del seen[verb]
    assert seen.pop("budget_meter").plan is seen.pop("plan")
    assert seen.pop("spent") == curator.budget_meter.spent, "sums of public charges"
    assert seen.pop("exact_draw_counts") == {"exponential mechanism": 1}, (
        "how often each law was drawn"
    )
    assert seen.pop("measured_answers") == [], "noisy answers that left; none here"
    assert all(isinstance(value, (int, float)) for value in seen.values()), (
        "public numbers at the most"
    )
    assert list(arrays_in(curator)) == []
    assert "values" not in repr(curator)
    assert "Rows" not in repr(curator.budget_meter)
