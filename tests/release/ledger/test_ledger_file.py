"""The file of a ledger: who may have written it, what is remembered of it, and what happens where
nothing can be.
"""

import hashlib
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import Budget
from dpcore.cli import main
from dpcore.core.errors import OverspendError
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
)
from dpcore.privacy.accounting.data_set_total import TotalCost
from dpcore.privacy.accounting.events import Filtered
from dpcore.release.ledger import chain, ledger_store
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.release.ledger.ledger_charges import TOTAL, charge_events, data_set, new_ledger
from tests.small_problems import expect_error, parametrize, seeded, time_limit


@pytest.fixture
def store(tmp_path):
    """A ledger with one release, made and noted."""
    return new_ledger(tmp_path)


def beside(store):
    return Path(f"{store.path}{chain.CHECKED_SUFFIX}")


def sound(store):
    assert verify_ledger(store.path) == []


def remembered_of(store):
    """What is remembered of the ledger, where that is believed."""
    with chain.open_connection(store.path, 1.0) as db:
        return ledger_store.recall_totals(db, store.path)


def counted(monkeypatch):
    """A list that grows by one whenever all of a ledger is read."""
    calls = []
    real = chain.read_and_check
    monkeypatch.setattr(chain, "read_and_check", lambda db: calls.append(1) or real(db))
    return calls


# The format


TIME = "2026-11-22T03:59:07+00:00"
EVENTS = (
    '[{"kind": "BoundedRange", "epsilon": 0.05, "failure": 0.0, "times": 2}, '
    '{"kind": "Gaussian", "mu": 0.01, "failure": 0.0, "times": 1}]'
)
WRITTEN = {  # by the first version that had a ledger
    "meta": [
        (
            1,
            "16711047a9b92c98",
            b"G\x83.\x06\xa2By\x94j\x18\xe0'B=\xe5mP\n8.o\x85\xab\xcb\x0f\xcd\x9f\x81ZSj`",
            TIME,
        )
    ],
    "datasets": [(1, "people", 2.0, 1e-06, 0.0, "ZCDP", "row", TIME)],
    "versions": [
        (2, 1, 1, "856a1dcde84a167074d86ec6fc4bc242de1b9c94ee0742e42c0ad397080295be", TIME)
    ],
    "releases": [
        (
            3,
            1,
            2,
            "",
            0.5,
            1e-06,
            0.0006750000000000001,
            EVENTS,
            0.1484370660693868,
            '{"rounds": 3}',
            "é",
            TIME,
        )
    ],
    "states": [(4, 3, "released", "{}", TIME)],
    "chain": [
        (1, "datasets", "705a95679daecdac457cbb36cd0c0d5d744be4ab594c300d2a595513423106a5"),
        (2, "versions", "9c1feaf1f64dbd2963065b3adaa0dfebed650cb1932c70de9d222a976b12cbdb"),
        (3, "releases", "f06d39c78c7ff24ef42327702b77f551d0f4c7c1475d2dbde54766c42a5e7865"),
        (4, "states", "d499f193f727a5515ed195b054b244d87f778b46c5fd07585aac7330c9f65a93"),
    ],
}


def test_a_ledger_of_the_first_version_is_read_and_continued(tmp_path):
    schema = hashlib.sha256(json.dumps(chain._expected_objects()).encode()).hexdigest()
    assert schema == "72578a1ec5093fca6632939b498be39c096ca76a25090141c73aed0be41a9113", (
        "old ledgers would be refused"
    )
    path = tmp_path / "l.sqlite"
    db = sqlite3.connect(path)
    chain._create_tables(db, "", b"", "")
    db.execute("DROP TRIGGER meta_delete")
    db.execute("DELETE FROM meta")
    db.execute(next(sql for _, name, _, sql in chain._expected_objects() if name == "meta_delete"))
    for place, rows in WRITTEN.items():
        db.executemany(f"INSERT INTO {place} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.commit()
    db.close()
    assert verify_ledger(path) == []
    assert charge_events(LedgerStore(path), dataset="people", new_version=True).dataset == "people"
    assert verify_ledger(path) == []


# One error for whatever is wrong


def changed(store, *statements):
    """Run SQL on the ledger without its triggers."""
    db = sqlite3.connect(store.path, isolation_level=None)
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for text in ("PRAGMA writable_schema = ON", *statements, *(sql for _, sql in triggers)):
        db.execute(text)
    db.close()


@parametrize(
    "sql",
    [
        "UPDATE meta SET key = CAST(key AS TEXT)",
        "UPDATE meta SET key = ''",
        "UPDATE meta SET key = 7",
        "UPDATE meta SET key = CAST(key || x'00' AS BLOB)",  # to HMAC the same key
        "UPDATE meta SET ledger = ''",
        "UPDATE meta SET ledger = x'00'",
        "UPDATE meta SET time = 3",
        "DELETE FROM meta",
        "UPDATE sqlite_sequence SET seq = '4'",
        "UPDATE sqlite_sequence SET name = NULL",
        "INSERT INTO sqlite_sequence VALUES ('chain', 0)",
        "UPDATE sqlite_master SET type = 'view' WHERE name = 'states'",
        "UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT) WHERE name = 'states'",
        "UPDATE sqlite_master SET sql = replace(sql, ' UNIQUE', '') WHERE name = 'versions'",
        "UPDATE releases SET events = CAST(x'ff' AS TEXT)",
        "UPDATE releases SET events = CAST(events AS BLOB)",
        "UPDATE releases SET dataset = 'x'",
        "UPDATE chain SET place = CAST(place AS BLOB)",
        "UPDATE chain SET place = x'ff' WHERE seq = 1",
    ],
)
def test_emptied_and_retyped_metadata_is_one_error_for_all(store, sql):
    try:
        changed(store, sql)
    except sqlite3.DatabaseError:
        assert "sqlite_master" in sql, "the schema may have become unreadable already"
    for act in (
        lambda: charge_events(LedgerStore(store.path)),
        lambda: LedgerStore(store.path).list_datasets(),
    ):
        with expect_error("not usable as a ledger: |tampered with"):
            act()
    assert main(["ledger", "verify", "--ledger", str(store.path)]) in (1, 2)


def test_rows_of_nothing_and_values_of_another_kind_are_named(store):
    """Also where the chain was written with the key."""
    with chain.open_connection(store.path, 1.0) as db:
        chain.append_row(
            db,
            "releases",
            **dict(zip(RELEASE, WRITTEN["releases"][0][1:], strict=True)) | {"dataset": 9},
        )
    assert "row 5 of releases: its dataset 9 is not there" in verify_ledger(store.path)
    with expect_error("its dataset 9 is not there"):
        charge_events(store)
    with chain.open_connection(store.path, 1.0) as db:
        chain.append_row(db, "states", release=b"3", state="note", note="", time="")
    assert "row 6 of states holds another kind of value" in verify_ledger(store.path)


RELEASE = [c.split()[0] for c in chain.TABLE_COLUMNS_SQL["releases"].split(", ")][1:]


@parametrize("ending", ["-journal", "-wal", "-shm"])
def test_a_pipe_beside_it_is_not_waited_for(store, ending):
    os.mkfifo(f"{store.path}{ending}")
    with time_limit(60), expect_error("is no file"):
        verify_ledger(store.path)


def test_a_journal_that_comes_and_goes_refuses_nobody(store, monkeypatch):
    """As another release's does: it is there when first asked for, and gone when asked for again."""
    seen = set()
    lstat = os.lstat

    def once(path, **at):
        if not str(path).endswith("-journal"):
            return lstat(path, **at)
        if path in seen:
            raise FileNotFoundError(path)
        seen.add(path)
        return lstat(store.path, **at)

    monkeypatch.setattr(os, "lstat", once)
    sound(store)


def test_a_ledger_that_somebody_holds_is_not_waited_for_for_ever(store, monkeypatch):
    monkeypatch.setattr("dpcore.release.ledger.ledger_store.RESERVATION_WAIT_SECONDS", 0.2)
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    for act in (
        lambda: verify_ledger(store.path),
        lambda: store.list_datasets(),
        lambda: charge_events(store),
    ):
        with expect_error("not usable as a ledger: database is locked"):
            act()
    holder.execute("ROLLBACK")
    holder.close()
    sound(store)


FULL = """
import resource, sys
from dpcore.core.errors import InputError
from dpcore.release.ledger.ledger_store import LedgerStore
from tests.release.ledger.ledger_charges import charge_events
store, room = LedgerStore(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
made = 0
try:
    for _ in range(200):
        charge_events(store, events=())
        made += 1
except InputError as error:
    print(made, error)
"""


def test_no_room_on_the_disk_leaves_every_charge_that_was_told(store):
    """Writing beyond a limit fails as on a full disk."""
    before = len(data_set(store).releases)
    room = store.path.stat().st_size + 3 * 4096
    done = subprocess.run(
        [sys.executable, "-c", FULL, store.path, str(room)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    made, told = done.stdout.split(" ", 1)
    assert "not usable as a ledger: " in told, done.stderr
    assert int(made) > 0
    assert len(data_set(store).releases) == before + int(made)
    sound(store)
    charge_events(store)


def test_a_read_only_ledger_is_verified_and_not_written_to(store):
    """Marked so in its header, as whoever runs this may write everywhere."""
    content = bytearray(store.path.read_bytes())
    content[18] = 9  # the version that may write
    store.path.write_bytes(content)
    sound(store)
    with expect_error("not usable as a ledger: attempt to write a readonly"):
        charge_events(store)
    assert store.path.read_bytes() == content


# Totals


EVENT = st.one_of(
    st.builds(Gaussian, st.floats(1e-3, 2)),
    st.builds(BoundedRange, st.floats(1e-3, 2)),
    st.builds(Pure, st.floats(1e-3, 2)),
    st.builds(Approximate, st.floats(1e-3, 1), st.floats(0, 1e-9)),
    st.builds(Concentrated, st.floats(1e-6, 2)),
    st.builds(Filtered, st.floats(1e-6, 2), st.floats(0, 1e-9)),
    st.builds(Drawn, st.floats(0, 1e-10)),
)
RELEASES = st.lists(
    st.lists(st.tuples(EVENT, st.integers(1, 50)), min_size=1, max_size=3), max_size=8
)


@given(
    RELEASES,
    st.sampled_from(
        [
            (GdpAccountant, 1e-7),
            (ZcdpAccountant, 1e-7),
            (GdpAccountant, 0.0),
            (PureAccountant, 0.0),
        ]
    ),
)
def test_a_running_total_is_the_total_of_all_events_at_once(releases, kept):
    lifetime = LifetimeBudget(Budget(3, 0 if kept[0] is PureAccountant else 1e-6), *kept)
    total = TotalCost()
    events = []
    for release in releases:
        total = lifetime.add_events(total, release)
        events = events + release
        assert lifetime.composed_cost(total) == lifetime.composed_cost(events[::-1]), (
            "to the last bit"
        )
        assert lifetime.failure_delta(total) == lifetime.failure_delta(events)
        assert lifetime.total_epsilon(total) == lifetime.total_epsilon(events)
        assert lifetime.remaining_epsilon(total) == lifetime.remaining_epsilon(events)


def test_failures_of_draws_are_added_up_over_all_releases(tmp_path):
    """Each draw is affordable alone; together they would take more of δ than the first release kept
    for failures.
    """
    store = LedgerStore(tmp_path / "l.sqlite", create=True)
    events = ((Gaussian(1e-4), 1), (Drawn(2e-8), 1))
    charge_events(store, events=events, dataset="a", total=TOTAL)
    lifetime = data_set(store).lifetime
    allowed = int(lifetime.failure / lifetime.failure_delta(events))
    assert allowed > 1
    for _ in range(allowed - 1):
        charge_events(store, events=events)
    for forget in (False, True):  # by what is remembered, and by what stands in the file
        if forget:
            beside(store).unlink()
        with expect_error("may fail", OverspendError):
            charge_events(store, events=events)
    charge_events(store, events=events[:1])
    sound(store)


def test_many_small_costs_are_not_lost_beside_a_large_one():
    lifetime = LifetimeBudget(Budget(1e9, 0), PureAccountant, 0.0)
    small = [Pure(float(x)) for x in seeded(0).uniform(1e-12, 1e-11, 3000)]
    total = lifetime.add_events(TotalCost(), [(Pure(1e6), 1)])
    for one in small:
        total = lifetime.add_events(total, [(one, 1)])
    assert lifetime.composed_cost(total) == math.fsum([1e6, *(one.epsilon for one in small)]) > 1e6
    assert len(total.costs) < 6


def test_an_event_that_would_give_something_back_is_refused():
    lifetime = LifetimeBudget(TOTAL, ZcdpAccountant, 1e-7)
    given = [
        (Concentrated(-0.1), 1),
        (Concentrated(math.nan), 1),
        (Concentrated(0.1, -1e-8), 1),
        (Gaussian(1.0), -1),
    ]
    for event, times in given:
        with expect_error("an event that costs", ValueError):
            lifetime.add_events(TotalCost(), [(event, times)])


# What is remembered


def test_what_was_checked_is_not_read_again(store, monkeypatch):
    calls = counted(monkeypatch)
    for _ in range(3):
        charge_events(store, events=((Gaussian(0.001), 1),))
    store.add_note(3, "note", "seen")
    charge_events(store, preview=True)
    assert calls == []
    found = data_set(store)
    beside(store).unlink()
    assert charge_events(store, events=((Gaussian(0.001), 1),)).spent > found.spent
    assert len(calls) == 2, "to show it, and where nothing is remembered"
    sound(store)


def test_a_change_is_seen_whatever_is_remembered(store):
    remembered = beside(store).read_bytes()
    content = store.path.read_bytes()
    for at in (content.index(b"BoundedRange"), content.rindex(b"released"), 100 + 6):
        changed = bytearray(content)
        changed[at] ^= 1
        store.path.write_bytes(changed)
        beside(store).write_bytes(remembered)
        assert remembered_of(store) is None
    store.path.write_bytes(content)
    text = json.loads(remembered)
    cheaper = json.loads(text["checked"])
    cheaper["totals"]["1"] = [[], []]
    forged = {"checked": json.dumps(cheaper), "mac": text["mac"]}
    others = [
        json.dumps(forged).encode(),
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"checked": 1, "mac": 2}',
        remembered[:-9],
    ]
    for written in others:
        beside(store).write_bytes(written)
        assert remembered_of(store) is None
    beside(store).write_bytes(remembered)
    assert remembered_of(store) is not None


def test_what_is_remembered_is_never_written_elsewhere(store, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    beside(store).unlink()
    beside(store).symlink_to(victim)
    charge_events(store)
    assert victim.read_text() == "mine"
    beside(store).unlink()
    os.mkfifo(beside(store))
    with time_limit(60):
        charge_events(store)
    beside(store).unlink()
    charge_events(store)
    assert os.stat(beside(store)).st_mode & 0o077 == 0
    sound(store)


KILLED = """
import os, sys
from dpcore.release.ledger import ledger_store
from dpcore.release.ledger.ledger_store import LedgerStore
from tests.release.ledger.ledger_charges import charge_events
real = ledger_store.remember_totals
ledger_store.remember_totals = lambda *given: (real(*given), os.kill(os.getpid(), 9))
charge_events(LedgerStore(sys.argv[1]))
"""


def test_a_release_killed_between_the_memory_and_the_charge_is_not_charged_nor_remembered(
    store, monkeypatch
):
    before = data_set(store).spent
    assert subprocess.run([sys.executable, "-c", KILLED, store.path], timeout=60).returncode == -9
    calls = counted(monkeypatch)
    assert data_set(store).spent == before
    charge_events(store)
    assert len(calls) == 2
    sound(store)


def test_a_log_of_writes_beside_it_does_not_hide_behind_what_is_remembered(store):
    """In that mode SQLite reads a second file: the ledger's own bytes stay as they were."""
    before = store.path.read_bytes()
    remembered = beside(store).read_bytes()
    db = sqlite3.connect(store.path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("DROP TRIGGER states_delete")
    db.execute("DELETE FROM states")
    shutil.copy(f"{store.path}-wal", f"{store.path}-wal.kept")
    db.close()

    def words():
        with expect_error("tampered") as told:
            charge_events(store)
        return str(told.value)

    for act in (lambda: verify_ledger(store.path), words):
        shutil.copy(
            f"{store.path}-wal.kept", f"{store.path}-wal"
        )  # whoever closes it last moves it into the ledger
        store.path.write_bytes(before)
        beside(store).write_bytes(remembered)
        assert "states_delete was dropped" in str(act())
