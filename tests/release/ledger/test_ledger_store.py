"""The release ledger: what is fixed, what is refused, what a total is, and that no change goes
unseen.
"""

import contextlib
import json
import math
import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri

from dpcore import Budget, InputError, PrivacyUnit
from dpcore.core.errors import OverspendError
from dpcore.data.fingerprint import table_fingerprint
from dpcore.privacy.accounting import (
    Approximate,
    BoundedRange,
    Concentrated,
    Drawn,
    Gaussian,
    GdpAccountant,
    LifetimeBudget,
    Pure,
    PureAccountant,
    ZcdpAccountant,
    conversions,
    events_from_json,
    gaussian_spend,
    worst_case_events,
)
from dpcore.privacy.accounting.budget_meter import events_of_plan
from dpcore.privacy.accounting.events import Filtered, events_to_json
from dpcore.release.data_set import TableIdentity
from dpcore.release.ledger import ledger_store
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.privacy.enumerated_neighbours import plan_of
from tests.release.ledger import ledger_charges
from tests.release.ledger.ledger_charges import FRAME, SMALL, TOTAL, data_set, new_ledger
from tests.release.ledger.test_ledger_file import changed, sound
from tests.small_problems import (
    InParts,
    approx,
    expect_error,
    hockey_stick,
    parametrize,
    time_limit,
)

OTHER = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
SPEND = ((gaussian_spend(SMALL), 1),)
charge = partial(ledger_charges.charge_events, events=SPEND)


@pytest.fixture
def store(tmp_path):
    """A ledger with one data set, two versions and three releases."""
    store = new_ledger(tmp_path, events=SPEND)
    charge(store, events=((BoundedRange(0.05), 10),), dataset="people")
    charge(store, OTHER, dataset="people", new_version=True)
    return store


# What a lifetime costs


@parametrize("span", [0.01, 0.5, 1, 3, 10, 40])
def test_the_gaussian_cost_of_a_selection_covers_every_pair_of_two_points(span):
    mu = math.sqrt(BoundedRange(span).mu_squared_bound)
    t = np.linspace(0, span, 2001)[1:-1]
    a = -np.expm1(t - span) / (np.exp(t) - np.exp(t - span))
    needed = -ndtri(a) + ndtri(np.minimum(np.exp(t) * a, 1 - 1e-16))
    assert needed.max() <= mu * (1 + 1e-9)
    assert mu == approx(2 * float(ndtri(expit(span / 2))))
    assert Pure(span / 2).mu_squared_bound == BoundedRange(span).mu_squared_bound, (
        "an ε-DP spend has range 2ε"
    )
    assert mu**2 <= Filtered(span**2 / 8).mu_squared_bound, "what adaptive plans are charged"


def test_the_accounting_is_the_first_release_s_best_that_takes_all_kinds():
    selections = ((BoundedRange(0.05), 40),)
    assert LifetimeBudget.from_first_release(TOTAL, selections).accounting is ZcdpAccountant
    assert (
        LifetimeBudget.from_first_release(Budget(1, 0), ((Pure(1.0), 1),)).accounting
        is PureAccountant
    )
    assert (
        LifetimeBudget.from_first_release(Budget(1, 1e-9), ((Pure(1.0), 1),)).accounting
        is PureAccountant
    )
    assert (
        LifetimeBudget.from_first_release(Budget(9, 1e-6), ((Pure(0.5), 1),)).accounting
        is not PureAccountant
    )
    lifetime = LifetimeBudget.from_first_release(TOTAL, selections)
    assert lifetime.total_epsilon((*selections, *SPEND)) == approx(
        conversions.zcdp_epsilon(40 * 0.05**2 / 8 + SPEND[0][0].mu ** 2 / 2, 1e-6)
    )


def test_failures_have_a_share_of_delta_that_is_fixed_at_first_use():
    failing = ((Approximate(0.01, 1e-7), 1),)
    lifetime = LifetimeBudget.from_first_release(TOTAL, failing)
    assert lifetime.failure == 5e-7
    assert lifetime.total_epsilon(failing) < 2
    assert lifetime.total_epsilon(failing * 6) == math.inf
    assert LifetimeBudget.from_first_release(TOTAL, SPEND).total_epsilon(failing) == math.inf


def plans_of_draws(epsilon, delta):
    """One exact Gaussian draw by a sampler that may fail, as the regularised exponential mechanism
    plans it.
    """
    failure = delta / 100
    mu = conversions.gdp_mu(epsilon, delta - failure)
    return plan_of(Budget(epsilon, delta), (Gaussian(mu * (1 - 1e-9), failure),))


def test_the_failures_of_samplers_add_up_at_the_total_epsilon():
    """At its plan's ε = 0.5 a draw pays 2.65 τ, at the total ε = 2 it costs 8.39 τ: over three
    times as much.
    """
    plan = plans_of_draws(0.5, 1e-7)
    for events in (
        events_of_plan(plan),
        worst_case_events(plan, False),
        worst_case_events(plan, True),
    ):
        tau = 1e-9 / (1 + math.exp(0.5))
        lifetime = LifetimeBudget.from_first_release(TOTAL, events)
        assert lifetime.failure == 5e-7
        assert lifetime.failure_delta(events) == approx((1 + math.exp(2)) * tau)
        most = int(5e-7 / ((1 + math.exp(2)) * tau) * (1 - 1e-9))
        spread = [
            (replace(event, mu=1e-6) if isinstance(event, Gaussian) else event, n)
            for event, n in events
        ]
        assert lifetime.total_epsilon(spread * most) < 1
        assert lifetime.total_epsilon(spread * (most + 1)) == math.inf
        assert events_from_json(json.loads(json.dumps(events_to_json(events)))) == list(events)


@parametrize("times", [1, 3, 6])
def test_what_is_lost_covers_the_worst_draws_within_their_error(times):
    """Randomised responses whose sampler is off by τ, to the attacker's liking, for both tables."""
    each = 0.4
    tau = 1e-4
    total = math.fsum([each] * times)
    p = math.exp(each) / (1 + math.exp(each))
    worst = [np.array([p + tau, 1 - p - tau]), np.array([1 - p - tau, p + tau])]
    laws = [np.array([1.0]), np.array([1.0])]
    for _ in range(times):
        laws = [np.outer(law, one).ravel() for law, one in zip(laws, worst, strict=True)]
    delta = hockey_stick(laws[0], laws[1], total)
    lifetime = LifetimeBudget(Budget(total, 0.5), PureAccountant, 0.5)
    lost = lifetime.failure_delta([(Pure(each), times), (Drawn(tau), times)])
    assert 0 < delta <= lost * (1 + 1e-9)
    assert times > 1 or delta == approx(lost), "of one draw no less would do"
    if times > 1:
        at_plans = times * (1 + math.exp(each)) * tau
        assert lifetime.failure_delta([(Drawn(tau), times)]) > at_plans


def test_other_failures_add_up_as_they_are_and_old_entries_are_bounded():
    lifetime = LifetimeBudget(TOTAL, ZcdpAccountant, 5e-7)
    for kind in (Approximate(0.1, 1e-9), Filtered(0.1, 1e-9), Concentrated(0.1, 1e-9)):
        assert lifetime.failure_delta([(kind, 7)]) == approx(7e-9)
    old = lifetime.failure_delta([(Gaussian(0.1, 1e-9), 1)])
    for epsilon in (0.0, 0.5, 2.0):
        assert old >= (1 + math.exp(2)) * 1e-9 / (1 + math.exp(epsilon)) * (1 - 1e-12)
    assert lifetime.composed_cost([(Drawn(1e-9), 1)]) == 0
    assert LifetimeBudget(TOTAL, GdpAccountant, 5e-7).composed_cost(
        [(Drawn(1e-9), 1), (Gaussian(0.1), 1)]
    ) == approx(0.01)
    assert LifetimeBudget(TOTAL, GdpAccountant, 0.0).composed_cost([(Drawn(1e-9), 1)]) == math.inf


@parametrize("accounting", [GdpAccountant, ZcdpAccountant])
def test_what_is_left_may_be_spent_and_no_more(accounting):
    lifetime = LifetimeBudget(TOTAL, accounting, 0.0)
    rest = lifetime.capacity - lifetime.composed_cost(SPEND)
    mu = math.sqrt(rest if accounting is GdpAccountant else 2 * rest)
    assert lifetime.total_epsilon((*SPEND, (Gaussian(mu * (1 - 1e-9)), 1))) <= TOTAL.epsilon
    assert lifetime.total_epsilon((*SPEND, (Gaussian(mu * (1 + 1e-6)), 1))) > TOTAL.epsilon
    assert 0 < lifetime.remaining_epsilon(SPEND) < TOTAL.epsilon


def test_adaptive_plans_are_charged_with_all_their_room():
    mixed = plan_of(Budget(1, 1e-6), (BoundedRange(0.1), 3), (Gaussian(0.1),))
    assert worst_case_events(mixed, False) == ((BoundedRange(0.1), 3), (Gaussian(0.1), 1))
    ((whole, times),) = worst_case_events(mixed, True)
    assert type(whole) is Filtered
    assert times == 1
    assert whole.rho == conversions.zcdp_rho(1, 1e-6)
    ((pure, _),) = worst_case_events(plan_of(Budget(1, 0), (BoundedRange(0.1), 3)), True)
    assert pure == Pure(1)
    assert Concentrated(0.1).mu_squared_bound == math.inf, "of which no more than ρ is known"


# Fingerprints


def test_content_multiplicity_names_and_key_count():
    frames = [
        FRAME,
        OTHER,
        FRAME.rename(columns={"b": "c"}),
        FRAME.iloc[[0, 0, 1]],
        pd.concat([FRAME, FRAME]),
    ]
    texts = [("xy", "uv"), ("uv", "xy"), ("xy", "vu"), (["x1:y"], [""]), (["x"], ["1:y"])]
    frames += [FRAME[["a"]], *(pd.DataFrame({"a": [*a], "b": [*b]}) for a, b in texts)]
    frames += [pd.DataFrame({"a": cells}) for cells in ([True, 1], [1, 1], [[1], None])]
    assert (
        len({table_fingerprint(FRAME, b"l"), *(table_fingerprint(frame, b"k") for frame in frames)})
        == len(frames) + 1
    )


@parametrize("known", ["0" * 64, "2:" + "0" * 64])
def test_a_ledger_of_an_earlier_format_takes_no_table_for_a_new_one_unasked(
    tmp_path, monkeypatch, known
):
    store = LedgerStore(tmp_path / "ledger.sqlite", create=True)
    with monkeypatch.context() as old:
        old.setattr(TableIdentity, "of", lambda _, key: TableIdentity(key, (known,), ()))
        charge(store, dataset="people", total=TOTAL)
    with expect_error("has changed"):
        charge(store, dataset="people")
    for table in (FRAME, InParts(FRAME)):
        with expect_error("fingerprints of an earlier format"):
            charge(store, table, dataset="fresh", total=TOTAL)
    assert charge(store, dataset="people", new_version=True).version == 2
    assert charge(store, InParts(FRAME), dataset="people").version == 2


def test_a_source_and_the_table_in_memory_are_one_version(store):
    shuffled = FRAME.iloc[::-1][["b", "a"]]
    for table in (InParts(FRAME, rows=1), shuffled):
        assert charge(store, table, dataset="people").version == 2
    for table in (InParts(OTHER), shuffled):
        with expect_error("this table is the data set 'people'"):
            charge(store, table, dataset="fresh", total=TOTAL)


# Reservations


def test_changed_content_needs_a_word_and_keeps_the_budget(store):
    third = FRAME.assign(a=7)
    with expect_error("say that it is a new version"):
        charge(store, third, dataset="people")
    before = data_set(store)
    made = charge(store, third, dataset="people", new_version=True)
    assert made.version == 3
    assert made.spent > before.spent
    with expect_error("no data set 'nobody'"):
        charge(store, FRAME.assign(a=8), dataset="nobody", new_version=True)


def test_the_version_that_leaves_counts_what_was_said_and_not_what_changed(store):
    """Nobody who sees the number learns whether the rows are the ones of the release before."""
    for said, number in ((True, 3), (False, 3), (True, 4)):
        told = [
            charge(store, table, dataset="people", new_version=said, preview=True).version
            for table in (FRAME, OTHER, *([FRAME.assign(a=9)] if said else []))
        ]
        assert {charge(store, dataset="people", new_version=said).version, *told} == {number}
    assert [v["number"] for v in data_set(store).versions] == [1, 2, 3, 4]
    sound(store)


@parametrize(
    "change, told",
    [
        ({"total": Budget(3, 1e-6)}, "was fixed at"),
        ({"unit": PrivacyUnit("id")}, "protects each row"),
        ({"dataset": "x" * 300}, "use that name"),
    ],
)
def test_what_the_first_use_fixed_stays(store, change, told):
    with expect_error(told):
        charge(store, **change)
    assert len(data_set(store).releases) == 3


def test_a_first_use_needs_a_total_and_a_name(tmp_path):
    store = LedgerStore(tmp_path / "l", create=True)
    with expect_error("total budget"):
        charge(store, dataset="a")
    for name in (None, "", "a\nb", "x" * 300):
        with expect_error("name|printable"):
            charge(store, dataset=name, total=TOTAL)
    assert store.list_datasets() == []


def test_looking_and_noting_never_spend(store):
    before = data_set(store)
    for _ in range(3):
        store.add_note(before.releases[0]["seq"], "note", "downloaded again")
        LedgerStore(store.path).list_datasets()
    after = data_set(store)
    assert (after.spent, after.remaining) == (before.spent, before.remaining)
    assert after.releases[0]["state"] == "released"
    assert after.releases[1]["state"] == "reserved, never finished"
    with expect_error("entry 99 is no release"):
        store.add_note(99, "note")


def test_ten_at_once_cannot_overspend(tmp_path, monkeypatch):
    monkeypatch.setattr(
        ledger_store, "RESERVATION_WAIT_SECONDS", 60.0
    )  # for their turn, on a busy machine
    store = LedgerStore(tmp_path / "l", create=True)
    whole = ((gaussian_spend(TOTAL, 0.3), 1),)

    def one(_):
        try:
            return charge(store, events=whole, dataset="people", total=TOTAL) and 1
        except OverspendError:
            return 0

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(one, range(10))) == 3
    assert data_set(store).spent <= TOTAL.epsilon
    sound(store)


# Tampering


def test_triggers_refuse_every_change(store):
    db = sqlite3.connect(store.path)
    for table in ("meta", "datasets", "versions", "releases", "states", "chain"):
        for sql in (f"UPDATE {table} SET seq = seq + 50", f"DELETE FROM {table}"):
            with expect_error("only added", sqlite3.IntegrityError):
                db.execute(sql)
        with expect_error("only added", sqlite3.IntegrityError):
            db.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")
    db.close()
    sound(store)


@parametrize(
    "sql, told",
    [
        ("UPDATE releases SET epsilon = 0.001 WHERE seq = 3", "row 3 of releases"),
        ("UPDATE releases SET events = '[]' WHERE seq = 3", "row 3 of releases"),
        ("UPDATE datasets SET epsilon = 99", "row 1 of datasets"),
        ("UPDATE releases SET total_epsilon = 0", "row 3 of releases"),
        ("DELETE FROM releases WHERE seq = 5", "row 5 of releases was removed"),
        ("DELETE FROM states", "was removed"),
        ("INSERT INTO states VALUES (99, 3, 'released', '', '')", "row 99 of states was inserted"),
        ("DELETE FROM chain WHERE seq = 2", "entry 2 of the chain was removed"),
        ("UPDATE chain SET hash = 'x' WHERE seq = 2", "changed"),
        ("UPDATE meta SET key = x'00'", "changed"),
        ("DELETE FROM meta", "own row was removed"),
        ("CREATE TRIGGER t AFTER INSERT ON states BEGIN SELECT 1; END", "'t' was added"),
        (
            "DELETE FROM chain WHERE seq = (SELECT MAX(seq) FROM releases)\n"
            "DELETE FROM releases WHERE seq = (SELECT MAX(seq) FROM releases)",
            "the last entries of the chain were removed",
        ),
    ],
)
def test_tampering_is_named(store, sql, told):
    changed(store, *sql.splitlines())
    refused_for(store, told)


@parametrize(
    "what, told",
    [
        ("TABLE states", "table states was dropped"),
        ("TRIGGER chain_delete", "trigger chain_delete was dropped"),
    ],
)
def test_a_dropped_table_or_trigger_is_named(store, what, told):
    db = sqlite3.connect(store.path)
    db.execute(f"DROP {what}")
    db.close()
    refused_for(store, told)


def refused_for(store, told):
    """The ledger's check names what was done to it, and nothing is read from it or added."""
    assert any(told in problem for problem in verify_ledger(store.path)), verify_ledger(store.path)
    for act in (store.list_datasets, lambda: charge(store)):
        with expect_error("tampered"):
            act()


def test_a_receipt_shows_a_ledger_that_was_set_back(store, tmp_path):
    old = tmp_path / "old.sqlite"
    shutil.copy(store.path, old)
    made = charge(store)
    receipt = {"id": made.ledger, "entry": made.number, "hash": made.entry_hash}
    assert verify_ledger(store.path, receipt) == []
    assert "set back" in verify_ledger(old, receipt)[0]
    charge(LedgerStore(old), events=((BoundedRange(0.01), 1),))
    assert "rewritten" in verify_ledger(old, receipt)[0]
    assert "another ledger" in verify_ledger(old, receipt | {"id": "x"})[0]
    for odd in ({"id": None}, {"entry": "1"}, {"entry": []}, {"hash": {}}):
        with contextlib.suppress(InputError):
            assert verify_ledger(store.path, receipt | odd) != []
    for broken in (3, {}, []):
        with expect_error("receipt"):
            verify_ledger(store.path, broken)


def test_what_is_no_ledger_is_refused_at_once_and_left_as_it_is(tmp_path):
    contents = {
        "empty": b"",
        "text": b"not a database at all",
        "torn": b"SQLite format 3\0" + b"\0" * 2000,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    db = sqlite3.connect(tmp_path / "other")
    db.execute("CREATE TABLE releases (epsilon, delta, rho)")
    db.close()
    os.mkfifo(tmp_path / "pipe")
    names = (*contents, "other", "pipe", "no/where", "/dev/full", "/dev/zero", "", "a\0b")
    for path in (tmp_path / name for name in names):
        for use in (verify_ledger, lambda path: LedgerStore(path, create=path.name != "empty")):
            with time_limit(60), expect_error():
                use(path)
    with expect_error("no such ledger"):
        verify_ledger(tmp_path / "none")
    assert {name: (tmp_path / name).read_bytes() for name in contents} == contents


def test_the_file_is_for_its_owner_only(store):
    assert os.stat(store.path).st_mode & 0o077 == 0
