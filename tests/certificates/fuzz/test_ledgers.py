"""Whatever is done to a ledger: verify and release see it, or nothing that is read has changed. One
clear line.
"""

import shutil
import sqlite3
from contextlib import closing

import pytest

from dpcore import InputError
from dpcore.release.ledger import chain
from dpcore.release.ledger.ledger_store import LedgerStore, verify_ledger
from tests.release.ledger.ledger_charges import SPEND, TOTAL, charge_events
from tests.release.ledger.test_ledger_file import beside, changed

MASKS = (0x01, 0x80, 0xFF)
ODD = (
    "NULL",
    "''",
    "'x'",
    "0",
    "-1",
    "1e308",
    "9223372036854775807",
    "x'00'",
    "'[]'",
    "'[' || zeroblob(9)",
)


@pytest.fixture
def sound(tmp_path):
    """A small ledger, few bytes of which are unused."""
    path = tmp_path / "l.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA page_size = 512")
        db.execute("VACUUM")
    store = LedgerStore(path, create=True)
    store.add_note(
        charge_events(store, dataset="people", total=TOTAL, settings={"rounds": 3}).number,
        "released",
        "{}",
    )
    charge_events(store, events=SPEND[1:])
    return store


def told(db, path):
    """What is found wrong with a ledger that is open; and every value that is read of it."""
    with chain.read_errors_as_unusable(path):
        rows, found = chain.read_and_check(db)
    return found, [[tuple(row) for row in part] for part in rows.values()]


def test_a_change_of_any_byte_is_seen_or_changes_nothing_that_is_read(sound):
    with chain.open_connection(sound.path, 1.0) as db:
        _, before = told(db, sound.path)
    content = sound.path.read_bytes()
    seen = 0
    for place in range(len(content)):
        other = bytearray(content)
        other[place] ^= MASKS[place % 3]
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            db.row_factory = sqlite3.Row
            try:
                with chain.read_errors_as_unusable(sound.path):
                    db.deserialize(bytes(other))
                chain.check_file_format(db, sound.path)
                found, now = told(db, sound.path)
            except InputError:
                found = "refused"
                now = None
        assert found or now == before, place
        seen += bool(found)
    assert seen > 5000, "most bytes of a small ledger are read"


@pytest.mark.parametrize("place", sorted(chain.TABLE_COLUMNS_SQL))
def test_no_other_value_of_any_cell_is_believed(sound, place):
    remembered = beside(sound).read_bytes()
    kept = sound.path.with_name("kept")
    shutil.copy(sound.path, kept)
    shown = sound.list_datasets()
    for column in chain.TABLE_COLUMNS_SQL[place].split(", "):
        for value in ODD:
            shutil.copy(kept, sound.path)
            beside(sound).write_bytes(remembered)
            try:
                changed(sound, f"UPDATE {place} SET {column.split()[0]} = {value}")
            except sqlite3.DatabaseError:
                continue  # this very change cannot be made
            try:
                found = verify_ledger(sound.path)
            except InputError as error:
                found = str(error)
                assert found.isprintable()
            if not found:
                assert sound.list_datasets() == shown
                continue
            for act in (sound.list_datasets, lambda: charge_events(sound)):
                with pytest.raises(InputError):
                    act()
