"""The ledger file: tables to which rows are only added, chained by keyed hashes.

Entry i of the table `chain` names a table and holds HMAC(key, hash of entry i − 1, table, row i). Triggers refuse
changes; what happens to the file without them shows in the hashes. The key lies in the same file: this shows mistakes
and clumsy changes, not an owner who rewrites everything. Against that, and against an older copy put in its place, each
release's release.json is a receipt: `missing` looks for it.
"""

import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError

KIND, FORMAT = 0x64706C67, 1  # application_id ("dplg") and user_version
MOST = 20  # problems named at once

TABLES = {
    "meta": "seq INTEGER PRIMARY KEY CHECK (seq = 1), ledger TEXT NOT NULL, key BLOB NOT NULL, time TEXT NOT NULL",
    "datasets": "seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epsilon REAL NOT NULL, delta REAL NOT NULL,"
    " failure REAL NOT NULL, accounting TEXT NOT NULL, unit TEXT NOT NULL, time TEXT NOT NULL",
    "versions": "seq INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, number INTEGER NOT NULL,"
    " fingerprint TEXT NOT NULL UNIQUE, time TEXT NOT NULL",
    "releases": "seq INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, version INTEGER NOT NULL, algorithm TEXT NOT NULL,"
    " epsilon REAL NOT NULL, delta REAL NOT NULL, rho REAL NOT NULL, events TEXT NOT NULL,"
    " total_epsilon REAL NOT NULL, settings TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL",
    "states": "seq INTEGER PRIMARY KEY, release INTEGER NOT NULL, state TEXT NOT NULL, note TEXT NOT NULL,"
    " time TEXT NOT NULL",
    "chain": "seq INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, hash TEXT NOT NULL",
}
CHAINED = ("datasets", "versions", "releases", "states")


def lay_out(db: sqlite3.Connection, ledger: str, key: bytes, time: str) -> None:
    """Make the tables and triggers of an empty ledger, inside the caller's transaction."""
    for name, columns in TABLES.items():
        db.execute(f"CREATE TABLE {name} ({columns})")
        for verb in ("UPDATE", "DELETE"):
            refuse = f"SELECT RAISE(ABORT, '{name}: rows are only added')"
            db.execute(f"CREATE TRIGGER {name}_{verb.lower()} BEFORE {verb} ON {name} BEGIN {refuse}; END")
        there = f"EXISTS (SELECT 1 FROM {name} WHERE seq = NEW.seq)"  # INSERT OR REPLACE fires no trigger on DELETE
        db.execute(f"CREATE TRIGGER {name}_insert BEFORE INSERT ON {name} WHEN {there} BEGIN {refuse}; END")
    db.execute(f"PRAGMA application_id = {KIND}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("INSERT INTO meta VALUES (1, ?, ?, ?)", (ledger, key, time))


def append(db: sqlite3.Connection, place: str, **fields: Any) -> tuple[int, str]:
    """Add a row to a table and its entry to the chain; the row's number and the entry's hash."""
    last = db.execute("SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
    seq = last["seq"] + 1 if last else 1
    names = ", ".join(["seq", *fields])
    db.execute(f"INSERT INTO {place} ({names}) VALUES ({', '.join('?' * (len(fields) + 1))})", (seq, *fields.values()))
    row = db.execute(f"SELECT * FROM {place} WHERE seq = ?", (seq,)).fetchone()
    entry = _hash(_key(db), last["hash"] if last else _genesis(db), place, row)
    db.execute("INSERT INTO chain (seq, place, hash) VALUES (?, ?, ?)", (seq, place, entry))
    return seq, entry


def problems(db: sqlite3.Connection) -> list[str]:
    """What is not as it was written: pages, tables, triggers, rows changed, removed or inserted; [] for nothing."""
    try:
        sound = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if sound != "ok":
            return [f"damaged file: {sound}"[:200]]
        found = _wrong_objects(db)
        return found[:MOST] if found else _wrong_rows(db)[:MOST]
    except sqlite3.Error as error:
        return [f"damaged file: {error}"[:200]]


def missing(db: sqlite3.Connection, receipt: Any) -> list[str]:
    """Whether the entry that a receipt {"id", "entry", "hash"} names stands in this ledger."""
    try:
        given, number, entry = receipt["id"], receipt["entry"], receipt["hash"]
    except (TypeError, KeyError):
        raise InputError('the receipt has no "id", "entry" and "hash" of a ledger') from None
    if db.execute("SELECT ledger FROM meta").fetchone()[0] != given:
        return [f"the receipt is of another ledger ({str(given)[:40]})"]
    row = db.execute("SELECT hash FROM chain WHERE seq = ?", (number,)).fetchone() if type(number) is int else None
    if row is None:
        return [f"entry {str(number)[:40]} of the receipt is gone: the ledger was set back"]
    return [] if row["hash"] == entry else [f"entry {number} is not the one of the receipt: the ledger was rewritten"]


def is_empty(db: sqlite3.Connection) -> bool:
    """Whether the file is an SQLite file without anything in it."""
    tables = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    return tables == 0 and db.execute("PRAGMA application_id").fetchone()[0] == 0


def check_kind(db: sqlite3.Connection, path: Path) -> None:
    """Raise InputError unless the file calls itself a ledger of this format."""
    if db.execute("PRAGMA application_id").fetchone()[0] != KIND:
        raise InputError(f"{path}: not a release ledger")
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found != FORMAT:
        raise InputError(f"{path}: a release ledger of format {found}; this program knows format {FORMAT}")


@contextmanager
def opened(path: Path, wait: float, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection without implicit transactions; every error of SQLite becomes an InputError that names the file."""
    try:
        if create and not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # the key is for the steward's eyes
        if not path.is_file():
            raise InputError(f"{str(path)[:200]}: there is no such ledger")
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=wait, isolation_level=None)
    except (OSError, ValueError, sqlite3.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)[:200]}: cannot be opened as a ledger: {error}") from None
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous = EXTRA")  # a charge that was committed survives a power cut
        db.execute("PRAGMA trusted_schema = OFF")
        yield db
    except (sqlite3.Error, IndexError, OverflowError) as error:
        raise InputError(f"{path}: not usable as a ledger: {error}") from None
    finally:
        db.close()


@cache
def _expected() -> dict[str, str]:
    """The SQL of every table and trigger, by name."""
    db = sqlite3.connect(":memory:")
    try:
        lay_out(db, "", b"", "")
        return dict(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
    finally:
        db.close()


def _wrong_objects(db: sqlite3.Connection) -> list[str]:
    rows = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    there = {str(row["name"]): row["sql"] for row in rows}
    wanted = _expected()
    found = [f"{_kind(sql)} {name} was dropped" for name, sql in wanted.items() if name not in there]
    found += [f"{_kind(sql)} {name} was changed" for name, sql in wanted.items() if there.get(name, sql) != sql]
    return found + [f"{name[:60]!r} was added to the file" for name in there if name not in wanted]


def _kind(sql: str) -> str:
    return sql.split()[1].lower()


def _wrong_rows(db: sqlite3.Connection) -> list[str]:
    """Follow the chain from its beginning."""
    if db.execute("SELECT COUNT(*) FROM meta").fetchone()[0] != 1:
        return ["the ledger's own row was removed"]
    key, previous, found = _key(db), _genesis(db), []
    rows = {place: {r["seq"]: r for r in db.execute(f"SELECT * FROM {place}")} for place in CHAINED}
    entries = db.execute("SELECT * FROM chain ORDER BY seq").fetchall()
    for number, entry in enumerate(entries, start=1):
        seq, place = entry["seq"], entry["place"]
        if seq != number:
            return [*found, f"entry {number} of the chain was removed"]
        row = rows[place].pop(seq, None) if place in CHAINED else None
        if row is None:
            found.append(f"row {seq} of {str(place)[:40]} was removed")
        elif _hash(key, previous, place, row) != entry["hash"]:
            found.append(f"row {seq} of {place}, or its entry in the chain, was changed")
        previous = entry["hash"]
    found += [f"row {seq} of {place} was inserted" for place, left in rows.items() for seq in left]
    counted = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chain'").fetchone()
    if (counted["seq"] if counted else 0) != len(entries):
        found.append("the last entries of the chain were removed")
    return found


def _key(db: sqlite3.Connection) -> bytes:
    key = db.execute("SELECT key FROM meta").fetchone()[0]
    return key if isinstance(key, bytes) else str(key).encode()


def _genesis(db: sqlite3.Connection) -> str:
    return _hash(_key(db), str(FORMAT), "meta", db.execute("SELECT seq, ledger, time FROM meta").fetchone())


def _hash(key: bytes, previous: Any, place: str, row: sqlite3.Row) -> str:
    text = json.dumps([previous, place, list(row)], default=repr)
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
