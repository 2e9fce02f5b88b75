"""Read and write the ledger file: append-only tables, chained by keyed hashes.

And the files that lie beside it.

`resolve_ledger_path` is the one place where a ledger's name becomes its path: what lies beside it
lies beside the file, not beside a link to it. `open_connection` is the one place where a ledger is
opened, `read_and_check` the one where all of it is read and `read_errors_as_unusable` the one that
turns whatever is wrong with its content into one error.

Entry i of the table `chain` names a table and holds HMAC(key, hash of entry i − 1, table, row i).
Triggers refuse changes; what happens to the file without them shows in the hashes. The key lies in
the same file: this shows mistakes and clumsy changes, not an owner who rewrites everything. Against
that, and against an older copy put in its place, each release's release.json is a receipt:
`missing_entry_reasons` looks for it.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any

from ...core.errors import InputError
from ..evidence.verifier import CHAINED_TABLES, chain_problems, keyed_row_hash

# application_id ("dplg") and user_version
APPLICATION_ID = 0x64706C67
FORMAT_VERSION = 1
KEY_BYTES = 32  # bytes
MAX_REPORTED_PROBLEMS = 20  # problems named at once
CHECKED_SUFFIX = (
    "-checked"  # ends the name of what is remembered beside a ledger once something was charged
)
SIGNING_KEY_SUFFIX = "-key"  # and of the key that signs
# begins the rest of the name of a key that noise is drawn with, until its release has left
NOISE_KEY_SUFFIX = "-noise-"

TABLE_COLUMNS_SQL = {
    "meta": "seq INTEGER PRIMARY KEY CHECK (seq = 1), ledger TEXT NOT NULL, key BLOB NOT NULL, "
    "time TEXT NOT NULL",
    "datasets": "seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epsilon REAL NOT NULL, "
    "delta REAL NOT NULL,"
    " failure REAL NOT NULL, accounting TEXT NOT NULL, unit TEXT NOT NULL, time TEXT NOT NULL",
    "versions": "seq INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, number INTEGER NOT NULL,"
    " fingerprint TEXT NOT NULL UNIQUE, time TEXT NOT NULL",
    "releases": "seq INTEGER PRIMARY KEY, dataset INTEGER NOT NULL, version INTEGER NOT NULL, "
    "algorithm TEXT NOT NULL,"
    " epsilon REAL NOT NULL, delta REAL NOT NULL, rho REAL NOT NULL, events TEXT NOT NULL,"
    " total_epsilon REAL NOT NULL, settings TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT "
    "NULL",
    "states": "seq INTEGER PRIMARY KEY, release INTEGER NOT NULL, state TEXT NOT NULL, note TEXT "
    "NOT NULL,"
    " time TEXT NOT NULL",
    "chain": "seq INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, hash TEXT NOT NULL",
}
LedgerRows = dict[str, list[sqlite3.Row]]  # of a ledger, by table
_PYTHON_TYPES = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}
COLUMN_TYPES = {
    table_name: [_PYTHON_TYPES[column.split()[1]] for column in sql.split(", ")]
    for table_name, sql in TABLE_COLUMNS_SQL.items()
}


def append_row(db: sqlite3.Connection, table: str, **fields: Any) -> tuple[int, str]:
    """Add a row to a table and its entry to the chain; return the row's number and entry's hash."""
    last_entry = db.execute("SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
    meta = db.execute("SELECT * FROM meta").fetchone()
    seq = last_entry["seq"] + 1 if last_entry else 1
    names = ", ".join(["seq", *fields])
    db.execute(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * (len(fields) + 1))})",
        (seq, *fields.values()),
    )
    row = db.execute(f"SELECT * FROM {table} WHERE seq = ?", (seq,)).fetchone()
    entry_hash = keyed_row_hash(
        meta["key"], last_entry["hash"] if last_entry else _genesis_hash(meta), table, row
    )
    db.execute("INSERT INTO chain (seq, place, hash) VALUES (?, ?, ?)", (seq, table, entry_hash))
    return seq, entry_hash


def read_and_check(db: sqlite3.Connection) -> tuple[LedgerRows, list[str]]:
    """Return all rows of a ledger, and descriptions of the changes made to it from outside.

    Changes in pages, tables, triggers or rows. Read inside the caller's transaction. Where there
    are changes, rows may be of any type, and all may be missing.
    """
    rows = {}
    problems = _schema_problems(
        db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    )
    if not problems:
        integrity = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if integrity != "ok":
            problems = [f"damaged file: {integrity}"]
    if not problems:
        rows = {
            name: db.execute(f"SELECT * FROM {name} ORDER BY seq").fetchall()
            for name in TABLE_COLUMNS_SQL
        }
        problems = _row_problems(
            rows, db.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
        )
    return rows, [_short_text(problem) for problem in problems[:MAX_REPORTED_PROBLEMS]]


def missing_entry_reasons(rows: LedgerRows, receipt: Any) -> list[str]:
    """Return why this ledger lacks the entry that a receipt names; [] when it has it.

    The receipt is {"id", "entry", "hash"}.
    """
    try:
        ledger_id = receipt["id"]
        number = receipt["entry"]
        entry_hash = receipt["hash"]
    except (TypeError, KeyError):
        raise InputError('the receipt has no "id", "entry" and "hash" of a ledger') from None
    if rows["meta"][0]["ledger"] != ledger_id:
        return [f"the receipt is of another ledger ({str(ledger_id)[:40]})"]
    if type(number) is not int or not 0 < number <= len(rows["chain"]):
        return [f"entry {str(number)[:40]} of the receipt is gone: the ledger was set back"]
    has_same_hash = rows["chain"][number - 1]["hash"] == entry_hash
    return (
        []
        if has_same_hash
        else [f"entry {number} is not the one of the receipt: the ledger was rewritten"]
    )


class UnusableLedgerError(InputError):
    """The error for a ledger that cannot be read or written now.

    What was charged before stays charged.
    """


def resolve_ledger_path(path: str | Path) -> Path:
    """Return the one path of the ledger that a name stands for.

    Whatever links, `..` or working folder the name goes by. Raises InputError for a link that leads
    nowhere: a ledger would begin anew where an old one is out of reach.
    """
    name = str(path)[:200]
    try:
        real_path = Path(os.path.realpath(path))
        if os.path.lexists(path) and not os.path.lexists(real_path):
            raise InputError(
                f"{name}: a link that leads to no ledger; bring back the file, or name another one"
            )
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: cannot be opened as a ledger: {_short_text(error)}") from None
    return real_path


def is_new_ledger(path: Path) -> bool:
    """Return whether a path has no ledger yet: no file, or an empty one.

    An empty one was left by a full disk before the first charge.
    """
    try:
        path = resolve_ledger_path(path)
        if not os.path.lexists(path):
            return True
        return (
            path.is_file()
            and not _was_charged(path)
            and (path.stat().st_size == 0 or _is_unfinished_new_ledger(path))
        )
    except (OSError, ValueError):  # among them the InputError for a link that leads nowhere
        return False


def _is_unfinished_new_ledger(path: Path) -> bool:
    """Return whether a file holds the beginning of a ledger whose tables were never created.

    SQLite takes such a beginning back here.
    """
    if not os.path.lexists(f"{path}-journal"):
        return False
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(_sqlite_uri(path), uri=True, timeout=0)) as db,
    ):
        return _has_no_tables(db)
    return False


def _was_charged(path: Path) -> bool:
    """Return whether budget was ever used in this ledger, judging by the files beside it."""
    return os.path.lexists(f"{path}{CHECKED_SUFFIX}")


@contextmanager
def open_connection(
    path: Path, wait: float, *, create: bool = False
) -> Iterator[sqlite3.Connection]:
    """Open a connection without implicit transactions to a ledger.

    `create` makes the ledger if the file is new. Every error of SQLite becomes an InputError that
    names the file, as does anything in its place that is no file.
    """
    db = _connect(path, wait, create=create)
    try:
        with read_errors_as_unusable(path):
            db.row_factory = sqlite3.Row
            # a charge that was committed survives a power cut
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA trusted_schema = OFF")
            if create and _has_no_tables(db):
                db.execute("BEGIN IMMEDIATE")
                if _has_no_tables(db):  # nobody was faster
                    _create_tables(
                        db, secrets.token_hex(8), secrets.token_bytes(KEY_BYTES), utc_now()
                    )
                db.execute("COMMIT")
        check_file_format(db, path)
        yield db
    except sqlite3.Error as error:
        raise unusable_error(path, error) from None
    finally:
        db.close()


def _connect(path: Path, wait: float, *, create: bool) -> sqlite3.Connection:
    """Return a connection to a ledger's file; raise InputError where it cannot be one."""
    name = str(path)[:200]
    try:
        if path.is_file() and path.stat().st_size == 0 and (_was_charged(path) or not create):
            explanation = (
                "but releases used its budget: bring back a copy"
                if _was_charged(path)
                else "and may be deleted"
            )
            raise InputError(f"{name}: an empty file and no ledger, {explanation}")
        if create and not path.exists():
            # the key is for the steward's eyes
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        if not path.is_file():
            raise InputError(f"{name}: there is no such ledger")
        _check_neighbouring_files(path)
        return sqlite3.connect(_sqlite_uri(path), uri=True, timeout=wait, isolation_level=None)
    except (OSError, ValueError, sqlite3.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: cannot be opened as a ledger: {_short_text(error)}") from None


def _check_neighbouring_files(path: Path) -> None:
    """Raise InputError for a ledger with hard links, or with an unusable file beside it.

    A ledger has one name. What is beside it under a name that SQLite reads must be a file.
    """
    name = str(path)[:200]
    name_count = os.stat(path).st_nlink
    if name_count > 1:  # SQLite and the signer look for what lies beside one of them
        raise InputError(
            f"{name}: the file has {name_count} names (hard links), and a ledger has one; "
            "delete others"
        )
    for ending in ("-journal", "-wal", "-shm"):
        with suppress(FileNotFoundError):  # one look: another release's journal comes and goes
            mode = os.lstat(f"{path}{ending}").st_mode
            if not S_ISREG(mode):  # SQLite would wait for ever on a pipe
                raise InputError(f"{name}: not usable as a ledger: a {ending} beside it is no file")


def _sqlite_uri(path: Path) -> str:
    """Return the address by which SQLite opens an existing file and never makes one."""
    return f"{path.absolute().as_uri()}?mode=rw"


def check_file_format(db: sqlite3.Connection, path: Path) -> None:
    """Raise InputError unless the file calls itself a ledger of this format."""
    with read_errors_as_unusable(path):
        application_id = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
    if application_id != APPLICATION_ID:
        raise InputError(f"{str(path)[:200]}: not a release ledger")
    if version != FORMAT_VERSION:
        raise InputError(
            f"{str(path)[:200]}: a release ledger of format {version}; this program knows format "
            f"{FORMAT_VERSION}"
        )


@contextmanager
def read_errors_as_unusable(path: Path) -> Iterator[None]:
    """Turn any error from reading a ledger's content into one that names the file.

    A context manager.
    """
    try:
        yield
    except Exception as error:
        raise unusable_error(path, error) from None


def unusable_error(path: Path, reason: object) -> UnusableLedgerError:
    """Return the error for a file whose content is not a ledger's."""
    return UnusableLedgerError(f"{str(path)[:200]}: not usable as a ledger: {_short_text(reason)}")


def open_ledger_companion(path: str | Path, mode: str) -> IO[Any]:
    """Open the regular file at a path, one that stands beside a ledger, to read ("rb") or write.

    Raises OSError for a link or a device.
    """
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(
        path, flags | (os.O_RDONLY if mode == "rb" else os.O_WRONLY | os.O_CREAT), 0o600
    )
    if not S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no file")
    return os.fdopen(handle, mode)


def utc_now() -> str:
    """Return the current time in UTC, in the format of the ledger."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _create_tables(db: sqlite3.Connection, ledger: str, key: bytes, time: str) -> None:
    """Make the tables and triggers of an empty ledger, inside the caller's transaction."""
    for name, columns in TABLE_COLUMNS_SQL.items():
        db.execute(f"CREATE TABLE {name} ({columns})")
        for verb in ("UPDATE", "DELETE"):
            refuse_sql = f"SELECT RAISE(ABORT, '{name}: rows are only added')"
            db.execute(
                f"CREATE TRIGGER {name}_{verb.lower()} BEFORE {verb} ON {name} BEGIN "
                f"{refuse_sql}; END"
            )
        # INSERT OR REPLACE fires no trigger on DELETE
        row_exists = f"EXISTS (SELECT 1 FROM {name} WHERE seq = NEW.seq)"
        db.execute(
            f"CREATE TRIGGER {name}_insert BEFORE INSERT ON {name} WHEN {row_exists} BEGIN "
            f"{refuse_sql}; END"
        )
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    db.execute("INSERT INTO meta VALUES (1, ?, ?, ?)", (ledger, key, time))


def _has_no_tables(db: sqlite3.Connection) -> bool:
    """Return whether the file holds no table yet and has no application id."""
    tables = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    return tables == 0 and db.execute("PRAGMA application_id").fetchone()[0] == 0


@cache
def _expected_objects() -> list[tuple[Any, ...]]:
    """Return the type, name, table and SQL of every object in the schema."""
    db = sqlite3.connect(":memory:")
    try:
        _create_tables(db, "", b"", "")
        return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    finally:
        db.close()


def _schema_problems(objects: list[tuple[Any, ...]]) -> list[str]:
    """Return descriptions of tables and triggers that are missing, changed or added."""
    actual = {name: (kind, table, sql) for kind, name, table, sql in objects}
    expected = {name: (kind, table, sql) for kind, name, table, sql in _expected_objects()}
    problems = [
        f"{fact[0]} {name} was dropped" for name, fact in expected.items() if name not in actual
    ]
    problems += [
        f"{fact[0]} {name} was changed"
        for name, fact in expected.items()
        if actual.get(name, fact) != fact
    ]
    problems += [
        f"{str(name)[:60]!r} was added to the file" for name in actual if name not in expected
    ]
    return problems or (
        ["an object of the file is there twice"] if len(objects) != len(expected) else []
    )


def _row_problems(rows: LedgerRows, sequences: list[tuple[Any, ...]]) -> list[str]:
    """Return descriptions of changed, removed or inserted rows.

    Found by following the chain from its beginning. `sequences` are the tables that number their
    rows, each with its last number.
    """
    if len(rows["meta"]) != 1:
        return ["the ledger's own row was removed"]
    (meta,) = rows["meta"]
    if not _has_column_types("meta", meta) or len(meta["key"]) != KEY_BYTES or not meta["ledger"]:
        return [
            "the ledger's own row was changed"
        ]  # HMAC would take text for bytes, and a key with zeros after it
    rows_by_table = {table: {row["seq"]: row for row in rows[table]} for table in CHAINED_TABLES}
    problems = chain_problems(meta["key"], _genesis_hash(meta), rows["chain"], rows_by_table) or [
        f"row {seq} of {place} holds another kind of value"  # written by someone who knows the key
        for place, table_rows in rows_by_table.items()
        for seq, row in table_rows.items()
        if not _has_column_types(place, row)
    ]
    entry_count = len(rows["chain"])
    if not problems and list(map(tuple, sequences)) != (
        [("chain", entry_count)] if entry_count else []
    ):
        problems.append("the last entries of the chain were removed")
    return problems


def _has_column_types(table: str, row: sqlite3.Row) -> bool:
    """Return whether every value of a row has its column's type."""
    return [type(value) for value in row] == COLUMN_TYPES[table]


def _genesis_hash(meta: sqlite3.Row) -> str:
    """Return the hash that the chain begins with."""
    return keyed_row_hash(
        meta["key"], str(FORMAT_VERSION), "meta", (meta["seq"], meta["ledger"], meta["time"])
    )


def _short_text(message: object) -> str:
    """Return an error's message in at most 200 printable characters."""
    text = str(message) or type(message).__name__
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:200])
