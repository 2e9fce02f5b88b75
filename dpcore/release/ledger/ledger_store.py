"""The release ledger: all releases about data sets, in one SQLite file.

A budget is reserved here before the data is touched and never given back: a release that fails, or whose process dies,
stays charged. Rows are only ever added; `chain` sees it when they were changed.

To check everything that was ever released takes time in proportion to it. A ledger whose bytes are the very ones that
were checked last need not be read again: a release adds to its totals what it costs. Nothing depends on the file that
says so: where it is missing, damaged, of another moment or cannot be written, everything is checked.
"""

import hashlib
import hmac
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ...core.errors import InputError
from ...core.types import Json
from ...privacy.accounting import Events, Total, events_from_json, events_to_json
from ..data_set import KNOWN_BY, BudgetRequest, DataSet, Identity, Reservation, check_fits, lifetime, locate, promise_of
from ..evidence import verifier
from ..provenance import measured_before
from . import chain, unfinished_releases
from .chain import CHECKED, now, open_regular
from .unfinished_releases import Unfinished

V = TypeVar("V")

WAIT = 8.0  # seconds for others to finish their reservations
PATIENCE = 60.0  # seconds for them when a release is made and only its state is to be noted
LONGEST = 1 << 20  # bytes read of what is remembered
# Where SQLite counts in its header how often a file was written, and by which version; nothing that is read.
COUNTERS = (slice(24, 28), slice(92, 100))
Totals = dict[int, Total]  # by the data set's number
BELONGS = (  # rows of a table, by which column, to rows of which table
    ("versions", "dataset", "datasets"),
    ("releases", "dataset", "datasets"),
    ("releases", "version", "versions"),
    ("states", "release", "releases"),
)
KEPT = ("seq", "algorithm", "epsilon", "delta", "rho", "total_epsilon", "reason", "time")


class Store:
    """A ledger file, opened for each call and closed after it, so that processes and threads may share it.

    `create` makes it where there is none. Raises InputError for a file that is no ledger, or that was tampered with.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = chain.resolved(path)
        with chain.connected(self.path, WAIT, create=create):
            pass

    def reserve(
        self,
        request: BudgetRequest,
        events: Events,
        *,
        algorithm: str = "",
        settings: Any = None,
        reason: str = "",
        preview: bool = False,
    ) -> Reservation:
        """Charge a request with `events`; with `preview`, only return what the charge would give.

        The data set's version is how often somebody said `new_version`, whether or not the content is known. Name and
        number leave, and tell nothing about the content: what is known by another name is refused.
        Raises OverspendError when the total budget does not allow it;
        InputError when the content is known under another name, or changed without `new_version`, or a first use has no
        `total`, or a later one another total or unit. Nothing is charged then. `events` must bound whatever the release
        will do; the request's budget is its own promise, recorded beside them.
        """
        unit, new_version = request.unit.noun, request.new_version
        early_identity = self._identity(request)
        with transaction(self.path, WAIT, write=True) as (db, totals):
            ledger, key = db.execute("SELECT ledger, key FROM meta").fetchone()
            unfinished_releases.check_signer(db, self.path, settings)
            identity = (
                Identity.of(request, key) if early_identity is None or early_identity.key != key else early_identity
            )
            name, row, version_row_number, number, stored_fingerprint = locate(
                db, identity, request.dataset, new_version
            )
            dataset_lifetime = promise_of(db, name, row, request.total, unit, events)
            before = totals[row["seq"]] if row else Total()
            after = dataset_lifetime.plus(before, events)
            check_fits(name, dataset_lifetime, before, events, after)
            dataset_number = row["seq"] if row else None
            if dataset_number is None:
                dataset_number, _ = chain.append(
                    db,
                    "datasets",
                    name=name,
                    epsilon=float(dataset_lifetime.budget.epsilon),
                    delta=float(dataset_lifetime.budget.delta),
                    failure=float(dataset_lifetime.failure),
                    accounting=dataset_lifetime.accounting.name,
                    unit=unit,
                    time=now(),
                )
            if version_row_number is None:
                version_row_number, _ = chain.append(
                    db, "versions", dataset=dataset_number, number=number, fingerprint=stored_fingerprint, time=now()
                )
            totals[dataset_number], spent = after, dataset_lifetime.total(after)
            seq, entry_hash = chain.append(
                db,
                "releases",
                dataset=dataset_number,
                version=version_row_number,
                algorithm=algorithm,
                epsilon=float(request.budget.epsilon),
                delta=float(request.budget.delta),
                rho=sum(times * event.rho for event, times in events),
                events=json.dumps(events_to_json(events)),
                total_epsilon=spent,
                settings=json.dumps((settings or {}) | {KNOWN_BY: identity.marks}),
                reason=reason,
                time=now(),
            )
            if preview:
                db.execute("ROLLBACK")
        return Reservation(seq, entry_hash, ledger, name, number, dataset_lifetime, spent)

    def charged(self, release: int) -> Reservation:
        """The reservation of a release that was charged before; its data set has spent what it had spent then."""
        with transaction(self.path, WAIT) as (db, _):
            return unfinished_releases.reservation(db, release)

    def signer(self) -> str:
        """The public key that signs this ledger's releases; "" before the first one that was to be signed."""
        with transaction(self.path, WAIT) as (db, _):
            return unfinished_releases.signer(db)

    def same(self, request: BudgetRequest, identity: str) -> list[Unfinished]:
        """The releases that were charged for this very request and never ended; `identity` is all but the table.

        The table is read again only where there may be one.
        """
        candidates = [one for one in self.unfinished() if one.identity == identity and one.asked_by(request)]
        if not candidates:
            return []
        with transaction(self.path, WAIT) as (db, _):
            key = db.execute("SELECT key FROM meta").fetchone()[0]
        fingerprint = Identity.of(request, key).fingerprint
        return [one for one in candidates if one.of_table(fingerprint)]

    def _identity(self, request: BudgetRequest) -> Identity | None:
        """What a request's table is known by, found before the ledger is locked, as reading it may take minutes.

        Nothing of the ledger was checked yet, so its key may be another one later; None where it has none.
        """
        with chain.connected(self.path, WAIT) as db:
            row = db.execute("SELECT key FROM meta").fetchone()
            if row is None or not isinstance(row["key"], bytes):
                return None
        identity = Identity.of(request, row["key"])
        # What is wrong with the ledger is said later: until it is checked, any value may be of any type.
        with suppress(InputError), chain.reading(self.path), chain.connected(self.path, WAIT) as db:
            identity.found(db)  # what it reads of the file is kept
        return identity

    def account(self, release: int) -> Json:
        """The account that a release is published with: its data set's charges so far, each linked to the last.

        Times, charges and totals only; the hashes are those of the ledger's chain.
        """
        with transaction(self.path, WAIT) as (db, _):
            dataset_row = db.execute("SELECT dataset FROM releases WHERE seq = ?", (release,)).fetchone()
            if not dataset_row:
                raise InputError(f"{self.path}: entry {release} is no release")
            dataset_lifetime = lifetime(
                db.execute("SELECT * FROM datasets WHERE seq = ?", (dataset_row[0],)).fetchone()
            )
            rows = db.execute(
                "SELECT r.seq AS entry, c.hash, r.time, r.epsilon, r.delta, r.events, r.total_epsilon FROM releases r"
                " JOIN chain c ON c.seq = r.seq WHERE r.dataset = ? AND r.seq <= ? ORDER BY r.seq",
                (dataset_row[0], release),
            ).fetchall()
            ledger = db.execute("SELECT ledger FROM meta").fetchone()[0]
        opening_row = {
            "ledger": ledger,
            "epsilon": dataset_lifetime.budget.epsilon,
            "delta": dataset_lifetime.budget.delta,
            "accounting": str(dataset_lifetime.accounting),
            "failure": dataset_lifetime.failure,
        }
        linked_rows, previous_link = [], ""
        for row in [opening_row, *(dict(row) | {"events": json.loads(row["events"])} for row in rows)]:
            previous_link = verifier.link(previous_link, row)
            linked_rows.append(row | {"link": previous_link})
        return {"opened": linked_rows[0], "releases": linked_rows[1:]}

    def note(self, release: int, state: str, note: str = "") -> None:
        """Add a state ("released", "failed") or a remark to a release; this uses no budget."""
        with transaction(self.path, PATIENCE, write=True) as (db, _):
            if not db.execute("SELECT 1 FROM releases WHERE seq = ?", (release,)).fetchone():
                raise InputError(f"{self.path}: entry {release} is no release")
            chain.append(db, "states", release=release, state=state, note=note, time=now())

    def measured(self, release: int) -> dict[str, int]:
        """The entry that measured each column of a release's data set before it, by `provenance.column_digest`."""
        with transaction(self.path, WAIT) as (db, _):
            return measured_before(db, release)

    def unfinished(self) -> list[Unfinished]:
        """The releases that were charged and whose end was never noted, with what is known of each."""
        with transaction(self.path, WAIT) as (db, _):
            return unfinished_releases.listed(db)

    def show(self) -> list[DataSet]:
        """Every data set with its versions, its releases, its spent and its remaining budget."""
        with chain.connected(self.path, WAIT) as db:
            db.execute("BEGIN")
            return sound(db, self.path, Book.shown)


def verify(path: str | Path, receipt: Any = None) -> list[str]:
    """The problems of a ledger, in words; [] when every row, total and trigger is as it was written.

    `receipt`, the "ledger" part of a release's release.json, also shows a ledger that was set back to an older copy or
    written anew. Raises InputError for a file that is no ledger.
    """
    path = chain.resolved(path)
    with chain.connected(path, WAIT) as db:
        db.execute("BEGIN")  # all tables, as they are at one moment
        with chain.reading(path):
            rows, problems = chain.read(db)
    with chain.reading(path):
        problems = problems or Book(rows).lost() or Book(rows).wrong_totals()
    return problems if problems or receipt is None else chain.missing_entry(rows, receipt)


class Book:
    """The rows of an unchanged ledger, by data set. Only hashes were checked, so reading it may raise any error."""

    def __init__(self, rows: chain.LedgerRows) -> None:
        self.sets, self._rows = rows["datasets"], rows
        self._releases = _by(rows["releases"], "dataset")
        self._versions = _by(rows["versions"], "dataset")
        self._states = _by(rows["states"], "release")

    def totals(self) -> dict[int, Total]:
        """The total that each data set has spent, by the data set's number."""
        return {row["seq"]: self._totals(row)[-1] for row in self.sets}

    def shown(self) -> list[DataSet]:
        """Every data set with its versions, its releases, its spent and its remaining budget."""
        return [self._shown(row) for row in self.sets]

    def wrong_totals(self) -> list[str]:
        """Descriptions of the stored totals that differ from those recomputed from the stored events."""
        problems = []
        for row in self.sets:
            try:
                dataset_lifetime = lifetime(row)
                for release, total in zip(self._releases[row["seq"]], self._totals(row)[1:], strict=True):
                    self._release(release, {})  # what cannot be shown is not as it was written
                    spent = dataset_lifetime.total(total)
                    if not abs(spent - release["total_epsilon"]) <= 1e-6 * spent:
                        stored = f"{release['total_epsilon']!r} is stored, its events give {spent!r}"
                        problems.append(f"entry {release['seq']}: changed total: ε={stored}")
                    if not spent <= dataset_lifetime.budget.epsilon * (1 + 1e-9):
                        problems.append(f"entry {release['seq']}: its data set's budget is exceeded: ε={spent:.6g}")
            except Exception as error:  # this program never wrote it, so that it may be anything
                problems.append(f"data set {row['seq']}: unreadable: {str(error)[:100] or type(error).__name__}")
        return problems

    def lost(self) -> list[str]:
        """Descriptions of the rows that belong to no data set, version or release."""
        problems = []
        for table, column, parent_table in BELONGS:
            known = {row["seq"] for row in self._rows[parent_table]}
            orphans = [row for row in self._rows[table] if row[column] not in known]
            problems += [f"row {row['seq']} of {table}: its {column} {row[column]} is not there" for row in orphans]
        return problems

    def _totals(self, row: sqlite3.Row) -> list[Total]:
        """The total that a data set had spent at its beginning and after each of its releases."""
        dataset_lifetime, totals = lifetime(row), [Total()]
        for release in self._releases[row["seq"]]:
            totals.append(dataset_lifetime.plus(totals[-1], events_from_json(json.loads(release["events"]))))
        return totals

    def _shown(self, row: sqlite3.Row) -> DataSet:
        """A data set from its row, with its versions, releases and totals."""
        dataset_lifetime, total, dataset_number = lifetime(row), self._totals(row)[-1], row["seq"]
        numbers = {v["seq"]: {"number": v["number"], "time": v["time"]} for v in self._versions[dataset_number]}
        releases = tuple(
            {"number": number} | self._release(release, numbers)
            for number, release in enumerate(self._releases[dataset_number], start=1)
        )
        spent, remaining = dataset_lifetime.total(total), dataset_lifetime.left(total)
        return DataSet(row["name"], dataset_lifetime, row["unit"], tuple(numbers.values()), releases, spent, remaining)

    def _release(self, row: sqlite3.Row, numbers: dict[int, Json]) -> Json:
        """A release from its row: its stored facts, its version's number and its states."""
        states = [{name: state[name] for name in ("state", "note", "time")} for state in self._states[row["seq"]]]
        state = next((s["state"] for s in reversed(states) if s["state"] != "note"), "reserved, never finished")
        return {name: row[name] for name in KEPT} | {
            "version": numbers.get(row["version"], {}).get("number"),
            "state": state,
            "states": states,
            "events": json.loads(row["events"]),
            "settings": _without_marks(json.loads(row["settings"])),
        }


def _without_marks(settings: Any) -> Any:
    """A release's settings as they are shown: what its table is known by stays in the ledger."""
    if not isinstance(settings, dict):
        return settings
    return {name: value for name, value in settings.items() if name != KNOWN_BY}


def _by(rows: list[sqlite3.Row], column: str) -> dict[int, list[sqlite3.Row]]:
    """The rows, listed by the number in a column."""
    rows_by_number: dict[int, list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        rows_by_number[row[column]].append(row)
    return rows_by_number


@contextmanager
def transaction(path: Path, wait: float, *, write: bool = False) -> Iterator[tuple[sqlite3.Connection, Totals]]:
    """A transaction of a ledger that was checked, and the totals that its data sets have spent.

    With `write` it excludes all other writers, and is kept whole where its block ends without an error; else not at
    all. Raises InputError where the ledger was changed from outside.
    """
    with chain.connected(path, wait) as db:
        db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        totals = recall(db, path)
        if totals is None:
            totals = sound(db, path, Book.totals)
        yield db, totals
        if write and db.in_transaction:
            keep(db, path, totals)
            db.execute("COMMIT")


def recall(db: sqlite3.Connection, path: Path) -> Totals | None:
    """The totals remembered from the last check, if the ledger is unchanged since; None otherwise.

    To be asked inside a transaction. Nothing in the ledger can be trusted yet.
    """
    try:
        with open_regular(f"{path}{CHECKED}", "rb") as file:
            stored = json.loads(file.read(LONGEST))
        text = stored["checked"]
        if not hmac.compare_digest(_mac(db, text), stored["mac"]):
            return None
        known = json.loads(text)
        if known["bytes"] != _bytes(db):
            return None
        return {
            int(dataset_number): Total(tuple(costs), tuple(losses))
            for dataset_number, (costs, losses) in known["totals"].items()
        }
    except Exception:  # of whatever kind: then everything is read, and what is wrong gets its name
        return None


def sound(db: sqlite3.Connection, path: Path, read: Callable[[Book], V]) -> V:
    """What `read` makes of a ledger's content, after all of it was checked; InputError where it was changed."""
    with chain.reading(path):
        rows, problems = chain.read(db)
        problems = problems or Book(rows).lost()
        if not problems:
            return read(Book(rows))
    raise InputError(f"{str(path)[:200]}: the ledger was tampered with: {problems[0]}")


def keep(db: sqlite3.Connection, path: Path, totals: Totals) -> None:
    """Store the ledger's hash and totals before a commit; if the commit fails, the hash does not match and is ignored.

    Nobody else writes meanwhile.
    """
    with suppress(OSError, AttributeError, MemoryError, sqlite3.Error):
        known = {
            "bytes": _bytes(db),
            "totals": {dataset_number: [t.costs, t.losses] for dataset_number, t in totals.items()},
        }
        text = json.dumps(known)
        content = json.dumps({"checked": text, "mac": _mac(db, text)}).encode()
        with open_regular(f"{path}{CHECKED}", "wb") as file:
            file.truncate()
            if len(content) <= LONGEST:
                file.write(content)


def _bytes(db: sqlite3.Connection) -> str:
    """A hash of the ledger as this connection sees it, changes of its own transaction included."""
    content = bytearray(db.serialize())
    for counter in COUNTERS:
        content[counter] = bytes(counter.stop - counter.start)
    return hashlib.sha256(content).hexdigest()


def _mac(db: sqlite3.Connection, text: str) -> str:
    """The hash of a text, keyed by the ledger's own key."""
    key = db.execute("SELECT key FROM meta").fetchone()[0]
    return hmac.digest(key, f"totals{text}".encode(), "sha256").hex()
