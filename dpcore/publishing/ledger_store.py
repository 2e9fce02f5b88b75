"""The release ledger: what was ever released about a data set, in one SQLite file.

A budget is reserved here before the data is touched and never given back: a release that fails, or whose process dies,
stays charged. Rows are only ever added; `chain` sees it when they were changed.
"""

import json
import math
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ..data.fingerprint import fingerprint
from ..errors import InputError, OverspendError
from ..privacy.accounting.budget import Accounting, Budget
from ..privacy.accounting.lifetime import Concentrated, Event, Lifetime, events_from_json, events_to_json
from . import chain
from .dataset import DataSet, Reservation

WAIT = 60.0  # seconds for another process to finish its reservation
LONGEST_NAME = 200  # characters
Events = Sequence[tuple[Event, int]]


class Store:
    """A ledger file. Opened for each call and closed after it, so that processes and threads may share it.

    `create` makes it where there is none. Raises InputError for a file that is no ledger, or that was tampered with.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path)
        with self._open(create=create):
            pass

    def reserve(
        self,
        frame: pd.DataFrame,
        events: Events,
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
        """Charge a release of the table `frame` with `events`; with `preview` tell what that would give, and stop.

        The data set is the one called `dataset`, or without a name the one with this content, or else the one called
        `default_name`. Raises OverspendError when the total budget does not allow it; InputError when the content is
        known under another name, or changed without `new_version`, or a first use has no `total`, or a later one
        another total or unit. Nothing is charged then. `events` must bound whatever the release will do; `budget` is
        its own promise, recorded beside them.
        """
        with self._write() as db:
            key = bytes(db.execute("SELECT key FROM meta").fetchone()[0])
            mark = fingerprint(frame, key)
            name, found, version = self._place(db, mark, dataset, default_name, new_version)
            if found is None:
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
                number, before = 1, []
            else:
                place, lifetime = found["seq"], _lifetime(found)
                _same(name, found, total, unit)
                number = version["number"] if version else self._versions(db, place) + 1
                before = _events(db, place)
            if version is None:
                fields = {"dataset": place, "number": number, "fingerprint": mark, "time": now()}
                version = {"seq": chain.append(db, "versions", **fields)[0]}
            after = [*before, *events]
            spent, promised = lifetime.total(after), lifetime.budget
            if lifetime.cost(events) == math.inf:
                how = f"since its first release {name!r} is added up by {lifetime.accounting}"
                raise OverspendError(f"{how}, which cannot count this one{_instead(lifetime, events)}")
            if not spent <= promised.epsilon:
                so_far = f"ε={lifetime.total(before):.6g} of {promised.epsilon:g} is spent at δ={promised.delta:g}"
                rest = f"one release of ε={lifetime.left(before):.6g} at that δ is left ({lifetime.accounting})"
                raise OverspendError(f"data set {name!r}: this needs ε={spent:.6g} in all; {so_far}, {rest}")
            seq, entry = chain.append(
                db,
                "releases",
                dataset=place,
                version=version["seq"],
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
            ledger = db.execute("SELECT ledger FROM meta").fetchone()[0]
            if preview:
                db.execute("ROLLBACK")
        return Reservation(seq, entry, ledger, name, number, lifetime, spent, lifetime.left(after))

    def accounting(self, frame: pd.DataFrame, **named: Any) -> Accounting | None:
        """What adds up the data set that `reserve` would charge, since its first release; None for a new one."""
        given = {"dataset": None, "default_name": None, "new_version": False} | named
        with self._open() as db:
            key = bytes(db.execute("SELECT key FROM meta").fetchone()[0])
            found = self._place(db, fingerprint(frame, key), *given.values())[1]
            return None if found is None else _lifetime(found).accounting

    def note(self, release: int, state: str, note: str = "") -> None:
        """Add a state ("released", "failed") or a remark about a release; this never spends."""
        with self._write() as db:
            if not db.execute("SELECT 1 FROM releases WHERE seq = ?", (release,)).fetchone():
                raise InputError(f"{self.path}: there is no release {release}")
            chain.append(db, "states", release=release, state=state, note=note, time=now())

    def show(self) -> list[DataSet]:
        """Every data set with its versions, releases, what is spent and what is left."""
        with self._open() as db:
            if problems := chain.problems(db):
                raise InputError(f"{self.path}: the ledger was tampered with: {problems[0]}")
            return [self._dataset(db, found) for found in db.execute("SELECT * FROM datasets ORDER BY seq").fetchall()]

    def _dataset(self, db: sqlite3.Connection, found: sqlite3.Row) -> DataSet:
        lifetime, place = _lifetime(found), found["seq"]
        numbers = {}
        for row in db.execute("SELECT * FROM versions WHERE dataset = ? ORDER BY seq", (place,)):
            numbers[row["seq"]] = {"number": row["number"], "time": row["time"]}
        releases = []
        for row in db.execute("SELECT * FROM releases WHERE dataset = ? ORDER BY seq", (place,)).fetchall():
            states = db.execute("SELECT state, note, time FROM states WHERE release = ? ORDER BY seq", (row["seq"],))
            kept = ("seq", "algorithm", "epsilon", "delta", "rho", "total_epsilon", "reason", "time")
            story = [dict(state) for state in states]
            state = next((s["state"] for s in reversed(story) if s["state"] != "note"), "reserved, never finished")
            facts = {"version": numbers.get(row["version"], {}).get("number"), "state": state, "states": story}
            read = {"events": json.loads(row["events"]), "settings": json.loads(row["settings"])}
            releases.append({name: row[name] for name in kept} | facts | read)
        events = _events(db, place)
        spent, left = lifetime.total(events), lifetime.left(events)
        return DataSet(found["name"], lifetime, found["unit"], tuple(numbers.values()), tuple(releases), spent, left)

    def _place(
        self, db: sqlite3.Connection, mark: str, name: str | None, default: str | None, new_version: bool
    ) -> tuple[str, sqlite3.Row | None, sqlite3.Row | None]:
        """The data set's name, its row, and the version with this content; None where it is new."""
        version = db.execute("SELECT * FROM versions WHERE fingerprint = ?", (mark,)).fetchone()
        if version:
            found = db.execute("SELECT * FROM datasets WHERE seq = ?", (version["dataset"],)).fetchone()
            if name not in (None, found["name"]):
                raise InputError(f"this table is the data set {found['name']!r}; it cannot also be {name!r}")
            return found["name"], found, version
        name = default if name is None else name
        if not name:
            raise InputError("this table is not in the ledger yet: give the data set a name")
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(f"dataset={name[:40]!r} must be at most {LONGEST_NAME} printable characters")
        found = db.execute("SELECT * FROM datasets WHERE name = ?", (name,)).fetchone()
        if found and not new_version:
            why = "if it is a new version of the same people, say so (--new-version); it keeps the old budget"
            raise InputError(f"the content of {name!r} has changed since its last release; {why}")
        if new_version and not found:
            raise InputError(f"there is no data set {name!r} of which this could be a new version")
        return name, found, None

    @staticmethod
    def _versions(db: sqlite3.Connection, place: int) -> int:
        return db.execute("SELECT COUNT(*) FROM versions WHERE dataset = ?", (place,)).fetchone()[0]

    @contextmanager
    def _open(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        with chain.opened(self.path, WAIT, create=create) as db:
            if create and chain.is_empty(db):
                db.execute("BEGIN IMMEDIATE")
                if chain.is_empty(db):  # nobody was faster
                    chain.lay_out(db, secrets.token_hex(8), secrets.token_bytes(32), now())
                db.execute("COMMIT")
            chain.check_kind(db, self.path)
            yield db

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """One transaction that nobody else can begin at the same time; all of it is kept, or nothing."""
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                if problems := chain.problems(db):
                    raise InputError(f"{self.path}: the ledger was tampered with: {problems[0]}")
                yield db
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            if db.in_transaction:
                db.execute("COMMIT")


def verify(path: str | Path, receipt: Any = None) -> list[str]:
    """What is wrong with a ledger, in words; [] when every row, total and trigger is as it was written.

    `receipt`, the "ledger" part of a release's release.json, also shows a ledger that was set back to an older copy or
    written anew. Raises InputError for a file that is no ledger.
    """
    with chain.opened(Path(path), WAIT) as db:
        chain.check_kind(db, Path(path))
        found = chain.problems(db)
        if not found:
            found = _wrong_totals(db)
        if receipt is not None and not found:
            found = chain.missing(db, receipt)
        return found


def _wrong_totals(db: sqlite3.Connection) -> list[str]:
    """Recompute every total from the stored events."""
    found = []
    for row in db.execute("SELECT * FROM datasets ORDER BY seq").fetchall():
        try:
            lifetime, events = _lifetime(row), []
            for release in db.execute("SELECT * FROM releases WHERE dataset = ? ORDER BY seq", (row["seq"],)):
                events += events_from_json(json.loads(release["events"]))
                total = lifetime.total(events)
                if not abs(total - release["total_epsilon"]) <= 1e-6 * total:
                    stored = f"{release['total_epsilon']!r} is stored, its events give {total!r}"
                    found.append(f"release {release['seq']}: changed total: ε={stored}")
                if not total <= lifetime.budget.epsilon * (1 + 1e-9):
                    found.append(f"release {release['seq']}: its data set's budget is exceeded: ε={total:.6g}")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            found.append(f"data set {row['seq']}: unreadable: {str(error)[:100]}")
    return found


def _events(db: sqlite3.Connection, place: int) -> list[tuple[Event, int]]:
    rows = db.execute("SELECT events FROM releases WHERE dataset = ? ORDER BY seq", (place,))
    return [event for row in rows for event in events_from_json(json.loads(row["events"]))]


def _lifetime(row: sqlite3.Row) -> Lifetime:
    return Lifetime(Budget(row["epsilon"], row["delta"]), Accounting[row["accounting"]], row["failure"])


def _instead(lifetime: Lifetime, events: Events) -> str:
    """What to do about events that an accounting does not know."""
    discrete = lifetime.accounting is Accounting.GDP and any(type(event) is Concentrated for event, _ in events)
    return ": exact noise is not Gaussian DP; ask for floating-point noise (--noise float)" if discrete else ""


def _same(name: str, row: sqlite3.Row, total: Budget | None, unit: str) -> None:
    """Refuse what was fixed at first use."""
    kept = Budget(row["epsilon"], row["delta"])
    if total not in (None, kept):
        raise InputError(f"the total budget of {name!r} was fixed at ε={kept.epsilon:g}, δ={kept.delta:g}")
    if unit != row["unit"]:
        raise InputError(f"{name!r} protects each {row['unit']} since its first release, not each {unit}")


def now() -> str:
    """The time as the ledger writes it, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
