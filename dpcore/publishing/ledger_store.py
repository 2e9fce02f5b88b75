"""The release ledger: all releases about data sets, in one SQLite file.

A budget is reserved here before the data is touched and never given back: a release that fails, or whose process dies,
stays charged. Rows are only ever added; `chain` sees it when they were changed.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from ..data.fingerprint import fingerprint, is_earlier
from ..data.sources.base import Source
from ..errors import InputError, OverspendError
from ..numbers import brief
from ..privacy.accounting.budget import Accounting, Budget
from ..privacy.accounting.lifetime import Event, Lifetime, Total, events_to_json
from ..types import Json
from . import book, chain, checked, verifier
from .book import Book
from .chain import now
from .dataset import DataSet, Reservation

WAIT = 8.0  # seconds for others to finish their reservations
PATIENCE = 60.0  # seconds for them when a release is made and only its state is to be noted
LONGEST_NAME = 200  # characters


class Store:
    """A ledger file, opened for each call and closed after it, so that processes and threads may share it.

    `create` makes it where there is none. Raises InputError for a file that is no ledger, or that was tampered with.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path)
        with chain.connected(self.path, WAIT, create=create):
            pass

    def reserve(
        self,
        frame: pd.DataFrame | Source,
        events: Sequence[tuple[Event, int]],
        budget: Budget,
        *,
        dataset: str | None = None,
        default_name: str | None = None,
        unit: str = "row",
        total: Budget | None = None,
        new_version: bool = False,
        algorithm: str = "",
        settings: Any = None,
        reason: str = "",
        preview: bool = False,
    ) -> Reservation:
        """Charge a release of the table `frame` with `events`; with `preview`, only return what the charge would give.

        The table may be a source. The data set is the one called `dataset`, or without a name the one with this
        content, or else the one called `default_name`. Its version is how often somebody said `new_version`, whether or
        not the content is known: that number leaves, and tells nothing about the content.
        Raises OverspendError when the total budget does not allow it;
        InputError when the content is known under another name, or changed without `new_version`, or a first use has no
        `total`, or a later one another total or unit. Nothing is charged then. `events` must bound whatever the release
        will do; `budget` is its own promise, recorded beside them.
        """
        streamed = self._streamed(frame)
        with self._write() as (db, totals):
            ledger, key = db.execute("SELECT ledger, key FROM meta").fetchone()
            mark = streamed or fingerprint(frame, key)  # type: ignore[arg-type] - a source was streamed
            name, found, known = self._place(db, mark, dataset, default_name, new_version)
            if found is None:
                _check_comparable(db)
                if total is None:
                    raise InputError(f"{name!r} is a new data set: its total budget (ε and δ) must be given")
                lifetime = Lifetime.fixed_by(total, events)
                place = chain.append(
                    db,
                    "datasets",
                    name=name,
                    epsilon=float(total.epsilon),
                    delta=float(total.delta),
                    failure=float(lifetime.failure),
                    accounting=lifetime.accounting.name,
                    unit=unit,
                    time=now(),
                )[0]
                before = Total()
            else:
                place, lifetime = found["seq"], book.lifetime(found)
                _same(name, found, total, unit)
                before = totals[place]
            version, number = _version(db, place, mark, known, new_version)
            after = totals[place] = lifetime.plus(before, events)
            spent, promised = lifetime.total(after), lifetime.budget
            if (cannot := _beyond(lifetime, events, after)) is not None:
                raise OverspendError(f"data set {name!r}: {cannot}")
            if not spent <= promised.epsilon:
                so_far = f"ε={lifetime.total(before):.6g} of {promised.epsilon:g} is used at δ={brief(promised.delta)}"
                rest = f"one release of ε={lifetime.left(before):.6g} at that δ is left ({lifetime.accounting})"
                raise OverspendError(f"data set {name!r}: this needs ε={spent:.6g} in all; {so_far}, {rest}")
            seq, entry = chain.append(
                db,
                "releases",
                dataset=place,
                version=version,
                algorithm=algorithm,
                epsilon=float(budget.epsilon),
                delta=float(budget.delta),
                rho=sum(times * event.rho for event, times in events),
                events=json.dumps(events_to_json(events)),
                total_epsilon=spent,
                settings=json.dumps(settings),
                reason=reason,
                time=now(),
            )
            if preview:
                db.execute("ROLLBACK")
        return Reservation(seq, entry, ledger, name, number, lifetime, spent)

    def account(self, release: int) -> Json:
        """The account that a release is published with: its data set's charges so far, each linked to the last.

        Times, charges and totals only; the hashes are those of the ledger's chain.
        """
        with self._read() as (db, _):
            found = db.execute("SELECT dataset FROM releases WHERE seq = ?", (release,)).fetchone()
            if not found:
                raise InputError(f"{self.path}: there is no release {release}")
            fixed = book.lifetime(db.execute("SELECT * FROM datasets WHERE seq = ?", (found[0],)).fetchone())
            rows = db.execute(
                "SELECT r.seq AS entry, c.hash, r.time, r.epsilon, r.delta, r.events, r.total_epsilon FROM releases r"
                " JOIN chain c ON c.seq = r.seq WHERE r.dataset = ? AND r.seq <= ? ORDER BY r.seq",
                (found[0], release),
            ).fetchall()
            ledger = db.execute("SELECT ledger FROM meta").fetchone()[0]
        budget = {"epsilon": fixed.budget.epsilon, "delta": fixed.budget.delta}
        opened = {"ledger": ledger, **budget, "accounting": str(fixed.accounting), "failure": fixed.failure}
        linked, previous = [], ""
        for row in [opened, *(dict(row) | {"events": json.loads(row["events"])} for row in rows)]:
            previous = verifier.link(previous, row)
            linked.append(row | {"link": previous})
        return {"opened": linked[0], "releases": linked[1:]}

    def note(self, release: int, state: str, note: str = "") -> None:
        """Add a state ("released", "failed") or a remark to a release; this uses no budget."""
        with self._write(PATIENCE) as (db, _):
            if not db.execute("SELECT 1 FROM releases WHERE seq = ?", (release,)).fetchone():
                raise InputError(f"{self.path}: there is no release {release}")
            chain.append(db, "states", release=release, state=state, note=note, time=now())

    def unfinished(self) -> list[tuple[int, Json]]:
        """The releases whose end was never noted, with their settings, which name the folder of each."""
        with self._read() as (db, _):
            ended = "SELECT release FROM states WHERE state != 'note'"
            rows = db.execute(f"SELECT seq, settings FROM releases WHERE seq NOT IN ({ended})").fetchall()
            read = [(seq, json.loads(settings)) for seq, settings in rows]
        return [(seq, found) for seq, found in read if isinstance(found, dict) and {"folder", "draft"} <= set(found)]

    def show(self) -> list[DataSet]:
        """Every data set with its versions, its releases, its spent and its remaining budget."""
        with chain.connected(self.path, WAIT) as db:
            db.execute("BEGIN")
            content = self._sound(db)
        with chain.reading(self.path):
            return Book(content).shown()

    def _streamed(self, table: pd.DataFrame | Source) -> str:
        """The fingerprint of a source, read before the ledger is locked because it may take minutes."""
        if isinstance(table, pd.DataFrame):
            return ""
        with chain.connected(self.path, WAIT) as db, chain.reading(self.path):
            key = db.execute("SELECT key FROM meta").fetchone()[0]
        return table.fingerprint(key)

    def _place(
        self, db: sqlite3.Connection, mark: str, name: str | None, default: str | None, new_version: bool
    ) -> tuple[str, sqlite3.Row | None, bool]:
        """The data set's name, its row (None where it is new) and whether its content is known."""
        version = db.execute("SELECT * FROM versions WHERE fingerprint = ?", (mark,)).fetchone()
        if version:
            found = db.execute("SELECT * FROM datasets WHERE seq = ?", (version["dataset"],)).fetchone()
            if name not in (None, found["name"]):
                raise InputError(f"this table is the data set {found['name']!r}; use that name, not {name!r}")
            return found["name"], found, True
        name = default if name is None else name
        if not name:
            raise InputError("this table is not in the ledger yet: give the data set a name")
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(f"dataset={name[:40]!r} must be at most {LONGEST_NAME} printable characters")
        found = db.execute("SELECT * FROM datasets WHERE name = ?", (name,)).fetchone()
        if found and not new_version:
            why = "for data about the same people say that it is a new version, which keeps the old budget"
            raise InputError(f"the content of {name!r} has changed; {why}; for other people choose another name")
        if new_version and not found:
            raise InputError(f"there is no data set {name!r} of which this could be a new version")
        return name, found, False

    @contextmanager
    def _read(self) -> Iterator[tuple[sqlite3.Connection, checked.Totals]]:
        """The ledger's content at one moment and the totals of its data sets, after it was checked."""
        with chain.connected(self.path, WAIT) as db:
            db.execute("BEGIN")
            yield db, self._totals(db)

    @contextmanager
    def _write(self, wait: float | None = None) -> Iterator[tuple[sqlite3.Connection, checked.Totals]]:
        """A transaction that excludes all other writers; it is kept whole, or not at all."""
        with chain.connected(self.path, WAIT if wait is None else wait) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                totals = self._totals(db)
                yield db, totals
                if db.in_transaction:
                    checked.keep(db, self.path, db.execute("SELECT key FROM meta").fetchone()[0], totals)
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            if db.in_transaction:
                db.execute("COMMIT")

    def _totals(self, db: sqlite3.Connection) -> checked.Totals:
        """The total that every data set has spent. Raises InputError where the ledger was changed from outside."""
        if (known := checked.recall(db, self.path)) is not None:
            return known
        content = self._sound(db)
        with chain.reading(self.path):
            return Book(content).totals()

    def _sound(self, db: sqlite3.Connection) -> chain.LedgerContent:
        with chain.reading(self.path):
            content = chain.read(db)
            problems = _problems(content)
        if problems:
            raise InputError(f"{str(self.path)[:200]}: the ledger was tampered with: {problems[0]}")
        return content


def verify(path: str | Path, receipt: Any = None) -> list[str]:
    """The problems of a ledger, in words; [] when every row, total and trigger is as it was written.

    `receipt`, the "ledger" part of a release's release.json, also shows a ledger that was set back to an older copy or
    written anew. Raises InputError for a file that is no ledger.
    """
    path = Path(path)
    with chain.connected(path, WAIT) as db:
        db.execute("BEGIN")  # all tables, as they are at one moment
        with chain.reading(path):
            content = chain.read(db)
    with chain.reading(path):
        found = _problems(content) or Book(content).wrong_totals()
    return found if found or receipt is None else chain.missing_entry(content, receipt)


def _problems(content: chain.LedgerContent) -> list[str]:
    return chain.tampering(content) or Book(content).lost()


def _check_comparable(db: sqlite3.Connection) -> None:
    """Raise InputError for a new data set that may be an old one, known only by fingerprints of an earlier format."""
    if any(is_earlier(mark) for (mark,) in db.execute("SELECT fingerprint FROM versions")):
        raise InputError(
            "this ledger knows tables by fingerprints of an earlier format, with which none can be compared: if this "
            "is one of them say so by its name and --new-version, or begin a new ledger"
        )


def _version(db: sqlite3.Connection, place: int, mark: str, known: bool, said: bool) -> tuple[int, int]:
    """The entry and number of a data set's version: the last one, unless the user `said` that it is new."""
    last = db.execute("SELECT * FROM versions WHERE dataset = ? ORDER BY seq DESC LIMIT 1", (place,)).fetchone()
    if last is not None and not said:
        return last["seq"], last["number"]
    number = 1 if last is None else last["number"] + 1
    kept = f"{mark} again as {number}" if known else mark  # each mark is stored once
    fields = {"dataset": place, "number": number, "fingerprint": kept, "time": now()}
    return chain.append(db, "versions", **fields)[0], number


def _beyond(lifetime: Lifetime, events: Sequence[tuple[Event, int]], after: Total) -> str | None:
    """The reason why an accounting fixed at first use cannot count these events, and a remedy; else None."""
    if (lost := lifetime.lost(after)) > lifetime.failure:
        kept = f"steps that may fail would take δ={lost:.3g} in all, of δ={lifetime.failure:.3g} kept for them"
        way = "choose an algorithm without such steps, or enter the categories of columns in place of measuring them"
        return f"{kept} since its first release; {way}"
    if lifetime.cost(after) < math.inf:
        return None
    how = f"since its first release it is added up by {lifetime.accounting}, which cannot count this one"
    if lifetime.accounting is Accounting.PURE:
        return f"{how}; choose another algorithm, or delta=0"
    return f"{how}; choose delta=0"


def _same(name: str, row: sqlite3.Row, total: Budget | None, unit: str) -> None:
    """Raise InputError where the request contradicts the budget or unit that the first use of a data set fixed."""
    kept = Budget(row["epsilon"], row["delta"])
    if total not in (None, kept):
        raise InputError(f"the total budget of {name!r} was fixed at ε={kept.epsilon:g}, δ={brief(kept.delta)}")
    if unit != row["unit"]:
        raise InputError(f"{name!r} protects each {row['unit']} since its first release, not each {unit}")
