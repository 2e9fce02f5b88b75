"""Ledgers that somebody broke: by row, by metadata, by what lies beside them; and what must come of it."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.privacy.accounting.budget import BoundedRange, Budget, Gaussian
from dpcore.publishing import chain, checked
from dpcore.publishing.dataset import DataSet
from dpcore.publishing.ledger_store import Store, verify
from tests.helpers import within

FRAME = pd.DataFrame({"a": [1, 2, 2], "b": ["x", "y", None]})
TOTAL, SMALL = Budget(2, 1e-6), Budget(0.5, 1e-6)
SPEND = ((BoundedRange(0.05), 2), (Gaussian(0.01), 1))
COLUMNS = {place: [column.split()[0] for column in sql.split(", ")] for place, sql in chain.TABLES.items()}
ENDINGS = ("-journal", "-wal", "-shm", checked.ENDING)
Facts = tuple[list[DataSet], float]


class FellError(AssertionError):
    """A broken ledger was believed, or answered with anything but one clear line."""


class Sound:
    """A small ledger, as it was written: its bytes, what is kept beside it, and what it says."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "l.sqlite"
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA page_size = 512")  # so that few bytes of it are unused
            db.execute("VACUUM")
        store = Store(self.path, create=True)
        first = store.reserve(FRAME, SPEND, SMALL, dataset="people", total=TOTAL, settings={"rounds": 3})
        store.note(first.number, "released", "{}")
        store.reserve(FRAME, ((Gaussian(0.1), 1),), SMALL)
        self.beside = Path(f"{self.path}{checked.ENDING}")
        self.remembered = self.beside.read_bytes()
        self.bytes, self.rows, self.shown = self.path.read_bytes(), rows(self.path), store.show()
        self.next = store.reserve(FRAME, SPEND, SMALL, preview=True).spent

    def restore(self, content: bytes | None = None, *, remembered: bool = False) -> None:
        """Put it, or its content after a change, back in its place, with nothing beside it or with what was kept."""
        for ending in ENDINGS:
            found = Path(f"{self.path}{ending}")
            if found.is_dir():
                found.rmdir()
            elif os.path.lexists(found):
                found.unlink()
        self.path.write_bytes(self.bytes if content is None else content)
        if remembered:
            self.beside.write_bytes(self.remembered)

    def judge(self, *, owner: bool = False, beside: bool = False) -> str:
        """What came of what stands in its place now: "seen" by all, or "unread"; FellError for anything else.

        `owner`: the key was used to write the chain anew, which nothing can show; then only errors and sums count.
        """
        before = self.path.read_bytes()
        told = self._answer(lambda: verify(self.path))
        shown = self._answer(lambda: Store(self.path).show())
        made = self._answer(lambda: Store(self.path).reserve(FRAME, SPEND, SMALL, default_name="people", total=TOTAL))
        if told:
            if owner:
                return "seen"
            if not isinstance(made, str):
                raise FellError(f"verify says {told}, and a release is made all the same")
            if not isinstance(shown, str):
                raise FellError(f"verify says {told}, and it is shown all the same")
            if self.path.read_bytes() != before and not beside:
                raise FellError(f"refused for {told}, but written to")
            return "seen"
        if not owner and shown != self.shown:
            raise FellError(f"verify says nothing, and it reads {shown}")
        if isinstance(made, str):
            return "unread"
        if not owner and made.spent != self.next:
            raise FellError(f"after a release {made.spent} is spent in place of {self.next}")
        if after := self._answer(lambda: verify(self.path)):
            raise FellError(f"verify says nothing, and after a release {after}")
        if owner and made.spent < max(d.spent for d in Store(self.path).show() if d.name == made.dataset):
            raise FellError("a release gave something back")
        return "unread"

    def judge_reading(self, content: bytes) -> str:
        """As `judge`, of what is read of these bytes in memory, which is all that verify and release go by."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            db.row_factory = sqlite3.Row
            try:
                with chain.reading(self.path):
                    db.deserialize(content)
                chain.check_kind(db, self.path)
                with chain.reading(self.path):
                    read = chain.read(db)
                    found = chain.tampering(read)
            except InputError:
                return "seen"
        if not found and _values(read) != self.rows:
            raise FellError(f"nothing is found wrong with {_values(read)}")
        return "seen" if found else "unread"

    @staticmethod
    def _answer(asked: Any) -> Any:
        """What is answered, or the one line of what is refused."""
        try:
            with within(10):
                return asked()
        except InputError as error:
            line = str(error)
            if not line.isprintable() or len(line) > 600:
                raise FellError(f"not one clear line: {line[:700]!r}") from None
            return line
        except Exception as error:
            raise FellError(f"{type(error).__name__}: {error}"[:300]) from error


def rows(path: Path) -> tuple[Any, ...]:
    """Every value of every row that is read."""
    with chain.connected(path, 1.0) as db:
        content = chain.read(db)
    return _values(content)


def _values(content: chain.LedgerContent) -> tuple[Any, ...]:
    read = [content.meta, *content.rows.values(), content.entries]
    return tuple([tuple(row) for row in part] for part in read)


@contextmanager
def sound() -> Iterator[Sound]:
    """A small ledger, in memory where the machine has such a folder."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as name:
        yield Sound(Path(name))


@contextmanager
def without_triggers(db: sqlite3.Connection, which: str) -> Iterator[None]:
    """Take the triggers away for that long."""
    triggers = db.execute(f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' {which}").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    yield
    for _, sql in triggers:
        with suppress(sqlite3.Error):
            db.execute(sql)


@dataclass(frozen=True)
class Statements:
    """SQL with values, run with the triggers taken away for that long; then maybe the chain is written anew."""

    statements: tuple[tuple[str, tuple[Any, ...]], ...]
    owner: bool = False

    def judge(self, ledger: Sound) -> str:
        ledger.restore(remembered=True)
        with closing(sqlite3.connect(ledger.path, isolation_level=None)) as db:
            with without_triggers(db, ""):
                db.execute("PRAGMA writable_schema = ON")
                for text, values in self.statements:
                    with suppress(sqlite3.Error):  # this very change cannot be made
                        db.execute(text, values)
            if self.owner:
                with suppress(sqlite3.Error, ValueError, TypeError, AttributeError):
                    _write_anew(db)
        return ledger.judge(owner=self.owner)


def _write_anew(db: sqlite3.Connection) -> None:
    """Drop the chain and write it anew, as an owner could who knows this program."""
    with without_triggers(db, "AND tbl_name = 'chain'"):
        db.row_factory = sqlite3.Row
        places = {seq: place for place in chain.CHAINED for (seq,) in db.execute(f"SELECT seq FROM {place}")}
        (meta,) = db.execute("SELECT * FROM meta").fetchall()
        db.execute("DELETE FROM chain")
        previous = chain._genesis(meta)
        for seq, place in sorted(places.items()):
            row = db.execute(f"SELECT * FROM {place} WHERE seq = ?", (seq,)).fetchone()
            previous = chain._hash(meta["key"], previous, place, row)
            db.execute("INSERT INTO chain VALUES (?, ?, ?)", (seq, place, previous))


@dataclass(frozen=True)
class Beside:
    """Something in the place of a file that SQLite, or this program, would look for beside the ledger."""

    ending: str
    kind: str
    content: bytes

    def judge(self, ledger: Sound) -> str:
        ledger.restore()
        place = Path(f"{ledger.path}{self.ending}")
        if self.kind == "folder":
            place.mkdir()
        elif self.kind == "pipe":
            os.mkfifo(place)
        else:
            place.write_bytes(self.content)
        return ledger.judge(beside=True)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats() | st.sampled_from([0, 1, 2, 3, -1, 0.0, -0.0, 1.0, 5e-324])
EVENT = '[{"kind": "%s", %s, "failure": 0.0, "times": 1}]'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    [
        *("", "people", "GDP", "[]", "{}", "null", "1", "\0", "releases", "chain", "note", "[" * 100_000),
        EVENT % ("Pure", '"epsilon": -1.0'),
        EVENT % ("Gaussian", '"mu": NaN'),
        EVENT % ("Gaussian", '"mu": 1e308, "times": -3'),
        EVENT % ("Concentrated", '"rho": Infinity, "failure": -1e-7, "times": 1e400'),
        EVENT % ("Pure", '"epsilon": "1", "times": true'),
        '[{"kind": ["Pure"], "times": {}}]',
    ]
)
VALUES = st.none() | NUMBERS | TEXTS | st.binary(max_size=40)
PLACES, ROW = st.sampled_from(sorted(chain.TABLES)), st.integers(0, 7)
ROWS = [  # a row changed in one column, retyped, removed, put in, doubled, moved, or with two columns exchanged
    *["UPDATE {place} SET {column} = ? WHERE seq = {row} OR {row} = 0"] * 3,
    "UPDATE {place} SET {column} = CAST({column} AS {kind})",
    "DELETE FROM {place} WHERE seq = {row} OR {row} = 0",
    "INSERT OR REPLACE INTO {place} VALUES ({marks})",
    "INSERT INTO {place} SELECT {row} + 8, {rest} FROM {place} LIMIT 1",
    "UPDATE {place} SET seq = {other_row} WHERE seq = {row}",
    "UPDATE {place} SET {column} = {other}, {other} = {column}",
]
METADATA = [  # other tables, indices, triggers or settings of the file, or other values in what SQLite keeps of them
    "PRAGMA application_id = {number}",
    "PRAGMA user_version = {number}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA auto_vacuum = FULL",
    "VACUUM",
    "ANALYZE",
    "CREATE TABLE more (a)",
    "CREATE VIEW meta2 AS SELECT * FROM meta",
    "DROP TABLE {place}",
    "CREATE INDEX more ON {place} (seq)",
    "CREATE TRIGGER more AFTER INSERT ON {place} BEGIN DELETE FROM releases; END",
    "UPDATE sqlite_master SET {master} = ? WHERE rowid = {row} + 1",
    "UPDATE sqlite_sequence SET name = ?",
    "UPDATE sqlite_sequence SET seq = ?",
    "INSERT INTO sqlite_sequence VALUES (?, ?)",
    "UPDATE meta SET {meta} = ?",
]


@st.composite
def changes(draw: st.DrawFn, templates: list[str]) -> tuple[str, tuple[Any, ...]]:
    """A statement with its values."""
    place = draw(PLACES)
    columns = st.sampled_from(COLUMNS[place])
    text = draw(st.sampled_from(templates)).format(
        place=place,
        column=draw(columns),
        other=draw(columns),
        row=draw(ROW),
        other_row=draw(ROW),
        rest=", ".join(COLUMNS[place][1:]),
        marks=", ".join("?" * len(COLUMNS[place])),
        kind=draw(st.sampled_from(["TEXT", "BLOB", "INTEGER", "REAL", "NUMERIC"])),
        number=draw(st.integers(-(2**31), 2**31 - 1)),
        master=draw(st.sampled_from(["type", "name", "tbl_name", "rootpage", "sql"])),
        meta=draw(st.sampled_from(COLUMNS["meta"])),
    )
    return text, tuple(draw(VALUES) for _ in range(text.count("?")))


CHANGES = [st.lists(changes(templates), min_size=1, max_size=3).map(tuple) for templates in (ROWS, METADATA)]
COMPANY = st.builds(
    Beside, st.sampled_from(ENDINGS), st.sampled_from(["file", "file", "folder", "pipe"]), st.binary(max_size=2000)
)
BROKEN = st.builds(Statements, st.one_of(CHANGES), st.booleans()) | COMPANY
