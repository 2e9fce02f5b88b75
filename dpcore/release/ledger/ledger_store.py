"""The release ledger: all releases about data sets, in one SQLite file.

A budget is reserved here before the data is touched and never given back: a release that fails, or
whose process dies, stays charged. Rows are only ever added; `chain` sees it when they were changed.

To check everything that was ever released takes time in proportion to it. A ledger whose bytes are
the very ones that were checked last need not be read again: a release adds to its totals what it
costs. Nothing depends on the file that says so: where it is missing, damaged, of another moment or
cannot be written, everything is checked.
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
from ...privacy.accounting import Events, TotalCost, events_from_json
from ..data_set import (
    FINGERPRINTS_SETTING,
    BudgetRequest,
    DataSet,
    Reservation,
    TableIdentity,
    lifetime_from_row,
)
from ..evidence import verifier
from ..provenance import earlier_measuring_entries
from . import chain, unfinished_releases
from .chain import CHECKED_SUFFIX, open_ledger_companion, utc_now
from .charged_data_sets import DatasetTotals, add_events_to_data_set, append_release
from .unfinished_releases import UnfinishedRelease

V = TypeVar("V")

RESERVATION_WAIT_SECONDS = 8.0  # seconds for others to finish their reservations
# seconds for them when a release is made and only its state is to be noted
NOTE_WAIT_SECONDS = 60.0
MAX_CHECKED_FILE_BYTES = 1 << 20  # bytes read of what is remembered
# Where SQLite counts in its header how often a file was written, and by which version; nothing that
# is read.
WRITE_COUNTER_BYTES = (slice(24, 28), slice(92, 100))
FOREIGN_KEYS = (  # rows of a table, by which column, to rows of which table
    ("versions", "dataset", "datasets"),
    ("releases", "dataset", "datasets"),
    ("releases", "version", "versions"),
    ("states", "release", "releases"),
)
SHOWN_RELEASE_COLUMNS = (
    "seq",
    "algorithm",
    "epsilon",
    "delta",
    "rho",
    "total_epsilon",
    "reason",
    "time",
)


class LedgerStore:
    """A ledger file that is opened for each call and closed after it.

    So that processes and threads may share it. `create` makes it where there is none. Raises
    InputError for a file that is no ledger, or that was tampered with.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = chain.resolve_ledger_path(path)
        with chain.open_connection(self.path, RESERVATION_WAIT_SECONDS, create=create):
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

        The data set's version is how often somebody said `new_version`, whether or not the content
        is known. Name and number leave, and tell nothing about the content: what is known by
        another name is refused. Raises OverspendError when the total budget does not allow it;
        InputError when the content is known under another name, or changed without `new_version`,
        or a first use has no `total`, or a later one another total or unit. Nothing is charged
        then. `events` must bound whatever the release will do; the request's budget is its own
        promise, recorded beside them.
        """
        early_identity = self._identify_table(request)
        with transaction(self.path, RESERVATION_WAIT_SECONDS, write=True) as (db, totals):
            ledger, key = db.execute("SELECT ledger, key FROM meta").fetchone()
            unfinished_releases.check_signer(db, self.path, settings)
            identity = _identity_by_key(early_identity, request, key)
            dataset = add_events_to_data_set(db, request, identity, events, totals)
            stored = (settings or {}) | {FINGERPRINTS_SETTING: identity.stored_fingerprints}
            reservation = append_release(
                db,
                ledger,
                dataset,
                request.budget,
                events,
                algorithm=algorithm,
                settings=json.dumps(stored),
                reason=reason,
            )
            if preview:
                db.execute("ROLLBACK")
        return reservation

    def find_reservation(self, release: int) -> Reservation:
        """Return the reservation of a release that was charged before.

        Its data set's spent budget is that of then.
        """
        with transaction(self.path, RESERVATION_WAIT_SECONDS) as (db, _):
            return unfinished_releases.read_reservation(db, release)

    def signing_public_key(self) -> str:
        """Return the public key that signs this ledger's releases.

        "" before the first one that was to be signed.
        """
        with transaction(self.path, RESERVATION_WAIT_SECONDS) as (db, _):
            return unfinished_releases.read_signer(db)

    def matching_unfinished(self, request: BudgetRequest, identity: str) -> list[UnfinishedRelease]:
        """Return the releases charged for this very request that never ended.

        `identity` is all but the table. The table is read again only where there may be such a
        release.
        """
        candidates = [
            one
            for one in self.list_unfinished()
            if one.identity == identity and one.matches_request(request)
        ]
        if not candidates:
            return []
        with transaction(self.path, RESERVATION_WAIT_SECONDS) as (db, _):
            key = db.execute("SELECT key FROM meta").fetchone()[0]
        fingerprint = TableIdentity.of(request, key).fingerprint
        return [one for one in candidates if one.is_of_table(fingerprint)]

    def _identify_table(self, request: BudgetRequest) -> TableIdentity | None:
        """Return the marks of a request's table, found before the ledger is locked.

        Reading it may take minutes. Nothing of the ledger was checked yet, so its key may be
        another one later; None where it has none.
        """
        with chain.open_connection(self.path, RESERVATION_WAIT_SECONDS) as db:
            row = db.execute("SELECT key FROM meta").fetchone()
            if row is None or not isinstance(row["key"], bytes):
                return None
        identity = TableIdentity.of(request, row["key"])
        # What is wrong with the ledger is said later: until it is checked, any value may be of any
        # type.
        with (
            suppress(InputError),
            chain.read_errors_as_unusable(self.path),
            chain.open_connection(self.path, RESERVATION_WAIT_SECONDS) as db,
        ):
            identity.matching_datasets(db)  # what it reads of the file is kept
        return identity

    def account(self, release: int) -> Json:
        """Return the account to publish with a release: its data set's charges so far.

        Each is linked to the last. Times, charges and totals only; the hashes are those of the
        ledger's chain.
        """
        with transaction(self.path, RESERVATION_WAIT_SECONDS) as (db, _):
            dataset_row = db.execute(
                "SELECT dataset FROM releases WHERE seq = ?", (release,)
            ).fetchone()
            if not dataset_row:
                raise InputError(f"{self.path}: entry {release} is no release")
            dataset_lifetime = lifetime_from_row(
                db.execute("SELECT * FROM datasets WHERE seq = ?", (dataset_row[0],)).fetchone()
            )
            rows = db.execute(
                "SELECT r.seq AS entry, c.hash, r.time, r.epsilon, r.delta, r.events, "
                "r.total_epsilon FROM releases r"
                " JOIN chain c ON c.seq = r.seq WHERE r.dataset = ? AND r.seq <= ? ORDER BY r.seq",
                (dataset_row[0], release),
            ).fetchall()
            ledger = db.execute("SELECT ledger FROM meta").fetchone()[0]
        opening_row = {
            "ledger": ledger,
            "epsilon": dataset_lifetime.budget.epsilon,
            "delta": dataset_lifetime.budget.delta,
            "accounting": dataset_lifetime.accounting.name,
            "failure": dataset_lifetime.failure,
        }
        linked_rows = []
        previous_link = ""
        for row in [
            opening_row,
            *(dict(row) | {"events": json.loads(row["events"])} for row in rows),
        ]:
            previous_link = verifier.link(previous_link, row)
            linked_rows.append(row | {"link": previous_link})
        return {"opened": linked_rows[0], "releases": linked_rows[1:]}

    def add_note(self, release: int, state: str, note: str = "") -> None:
        """Add a state ("released", "failed") or a remark to a release; this uses no budget."""
        with transaction(self.path, NOTE_WAIT_SECONDS, write=True) as (db, _):
            if not db.execute("SELECT 1 FROM releases WHERE seq = ?", (release,)).fetchone():
                raise InputError(f"{self.path}: entry {release} is no release")
            chain.append_row(db, "states", release=release, state=state, note=note, time=utc_now())

    def measuring_entries(self, release: int) -> dict[str, int]:
        """Return the earlier entry that measured each column of a release's data set.

        By `provenance.column_digest`.
        """
        with transaction(self.path, RESERVATION_WAIT_SECONDS) as (db, _):
            return earlier_measuring_entries(db, release)

    def list_unfinished(self) -> list[UnfinishedRelease]:
        """Return the releases that were charged but never noted as ended, with their facts."""
        with transaction(self.path, RESERVATION_WAIT_SECONDS) as (db, _):
            return unfinished_releases.list_unfinished(db)

    def list_datasets(self) -> list[DataSet]:
        """Return every data set with versions, releases, spent and remaining budget."""
        with chain.open_connection(self.path, RESERVATION_WAIT_SECONDS) as db:
            db.execute("BEGIN")
            return read_unchanged(db, self.path, LedgerView.datasets)


def verify_ledger(path: str | Path, receipt: Any = None) -> list[str]:
    """Return a ledger's problems, in words; [] if every row, total and trigger is unchanged.

    `receipt`, the "ledger" part of a release's release.json, also shows a ledger that was set back
    to an older copy or written anew. Raises InputError for a file that is no ledger.
    """
    path = chain.resolve_ledger_path(path)
    with chain.open_connection(path, RESERVATION_WAIT_SECONDS) as db:
        db.execute("BEGIN")  # all tables, as they are at one moment
        with chain.read_errors_as_unusable(path):
            rows, problems = chain.read_and_check(db)
    with chain.read_errors_as_unusable(path):
        problems = problems or LedgerView(rows).orphan_rows() or LedgerView(rows).wrong_totals()
    return problems if problems or receipt is None else chain.missing_entry_reasons(rows, receipt)


class LedgerView:
    """The rows of an unchanged ledger, by data set.

    Only hashes were checked, so reading it may raise any error.
    """

    def __init__(self, rows: chain.LedgerRows) -> None:
        self.dataset_rows = rows["datasets"]
        self._rows = rows
        self._releases = _group_by(rows["releases"], "dataset")
        self._versions = _group_by(rows["versions"], "dataset")
        self._states = _group_by(rows["states"], "release")

    def totals(self) -> dict[int, TotalCost]:
        """Return the total that each data set has spent, by the data set's number."""
        return {row["seq"]: self._running_totals(row)[-1] for row in self.dataset_rows}

    def datasets(self) -> list[DataSet]:
        """Return every data set with versions, releases, spent and remaining budget."""
        return [self._dataset(row) for row in self.dataset_rows]

    def wrong_totals(self) -> list[str]:
        """Return descriptions of stored totals that differ from those of the stored events."""
        problems = []
        for row in self.dataset_rows:
            try:
                dataset_lifetime = lifetime_from_row(row)
                for release, total in zip(
                    self._releases[row["seq"]], self._running_totals(row)[1:], strict=True
                ):
                    self._release_json(release, {})  # what cannot be shown is not as it was written
                    spent = dataset_lifetime.total_epsilon(total)
                    if not abs(spent - release["total_epsilon"]) <= 1e-6 * spent:
                        stored = (
                            f"{release['total_epsilon']!r} is stored, its events give {spent!r}"
                        )
                        problems.append(f"entry {release['seq']}: changed total: ε={stored}")
                    if not spent <= dataset_lifetime.budget.epsilon * (1 + 1e-9):
                        problems.append(
                            f"entry {release['seq']}: its data set's budget is exceeded: "
                            f"ε={spent:.6g}"
                        )
            except Exception as error:  # this program never wrote it, so that it may be anything
                problems.append(
                    f"data set {row['seq']}: unreadable: {str(error)[:100] or type(error).__name__}"
                )
        return problems

    def orphan_rows(self) -> list[str]:
        """Return descriptions of the rows that belong to no data set, version or release."""
        problems = []
        for table, column, parent_table in FOREIGN_KEYS:
            known = {row["seq"] for row in self._rows[parent_table]}
            orphans = [row for row in self._rows[table] if row[column] not in known]
            problems += [
                f"row {row['seq']} of {table}: its {column} {row[column]} is not there"
                for row in orphans
            ]
        return problems

    def _running_totals(self, row: sqlite3.Row) -> list[TotalCost]:
        """Return a data set's total spent at its beginning and after each of its releases."""
        dataset_lifetime = lifetime_from_row(row)
        totals = [TotalCost()]
        for release in self._releases[row["seq"]]:
            totals.append(
                dataset_lifetime.add_events(
                    totals[-1], events_from_json(json.loads(release["events"]))
                )
            )
        return totals

    def _dataset(self, row: sqlite3.Row) -> DataSet:
        """Return a data set from its row, with its versions, releases and totals."""
        dataset_lifetime = lifetime_from_row(row)
        total = self._running_totals(row)[-1]
        dataset_number = row["seq"]
        numbers = {
            v["seq"]: {"number": v["number"], "time": v["time"]}
            for v in self._versions[dataset_number]
        }
        releases = tuple(
            {"number": number} | self._release_json(release, numbers)
            for number, release in enumerate(self._releases[dataset_number], start=1)
        )
        spent = dataset_lifetime.total_epsilon(total)
        remaining = dataset_lifetime.remaining_epsilon(total)
        return DataSet(
            row["name"],
            dataset_lifetime,
            row["unit"],
            tuple(numbers.values()),
            releases,
            spent,
            remaining,
        )

    def _release_json(self, row: sqlite3.Row, numbers: dict[int, Json]) -> Json:
        """Return a release from its row: its stored facts, version number and states."""
        states = [
            {name: state[name] for name in ("state", "note", "time")}
            for state in self._states[row["seq"]]
        ]
        state = next(
            (s["state"] for s in reversed(states) if s["state"] != "note"),
            "reserved, never finished",
        )
        return {name: row[name] for name in SHOWN_RELEASE_COLUMNS} | {
            "version": numbers.get(row["version"], {}).get("number"),
            "state": state,
            "states": states,
            "events": json.loads(row["events"]),
            "settings": _without_fingerprints(json.loads(row["settings"])),
        }


def _identity_by_key(
    early_identity: TableIdentity | None, request: BudgetRequest, key: bytes
) -> TableIdentity:
    """Return the identity of a request's table under a ledger's key.

    The early identity is returned if it was computed by this key.
    """
    if early_identity is not None and early_identity.key == key:
        return early_identity
    return TableIdentity.of(request, key)


def _without_fingerprints(settings: Any) -> Any:
    """Return a release's settings as they are shown, without its table's fingerprints.

    Those stay in the ledger.
    """
    if not isinstance(settings, dict):
        return settings
    return {name: value for name, value in settings.items() if name != FINGERPRINTS_SETTING}


def _group_by(rows: list[sqlite3.Row], column: str) -> dict[int, list[sqlite3.Row]]:
    """Return the rows, listed by the number in a column."""
    rows_by_number: dict[int, list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        rows_by_number[row[column]].append(row)
    return rows_by_number


@contextmanager
def transaction(
    path: Path, wait: float, *, write: bool = False
) -> Iterator[tuple[sqlite3.Connection, DatasetTotals]]:
    """Open a transaction of a checked ledger; yield it with its data sets' spent totals.

    With `write` it excludes all other writers, and is kept whole where its block ends without an
    error; else not at all. Raises InputError where the ledger was changed from outside.
    """
    with chain.open_connection(path, wait) as db:
        db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        totals = recall_totals(db, path)
        if totals is None:
            totals = read_unchanged(db, path, LedgerView.totals)
        yield db, totals
        if write and db.in_transaction:
            remember_totals(db, path, totals)
            db.execute("COMMIT")


def recall_totals(db: sqlite3.Connection, path: Path) -> DatasetTotals | None:
    """Return the totals from the last check if the ledger is unchanged since; else None.

    To be asked inside a transaction. Nothing in the ledger can be trusted yet.
    """
    try:
        with open_ledger_companion(f"{path}{CHECKED_SUFFIX}", "rb") as file:
            stored = json.loads(file.read(MAX_CHECKED_FILE_BYTES))
        text = stored["checked"]
        if not hmac.compare_digest(_keyed_text_hash(db, text), stored["mac"]):
            return None
        known = json.loads(text)
        if known["bytes"] != _ledger_hash(db):
            return None
        return {
            int(dataset_number): TotalCost(tuple(costs), tuple(losses))
            for dataset_number, (costs, losses) in known["totals"].items()
        }
    except Exception:  # of whatever kind: then everything is read, and what is wrong gets its name
        return None


def read_unchanged(db: sqlite3.Connection, path: Path, read: Callable[[LedgerView], V]) -> V:
    """Check all of a ledger's content, then return what `read` makes of it.

    InputError where it was changed.
    """
    with chain.read_errors_as_unusable(path):
        rows, problems = chain.read_and_check(db)
        problems = problems or LedgerView(rows).orphan_rows()
        if not problems:
            return read(LedgerView(rows))
    raise InputError(f"{str(path)[:200]}: the ledger was tampered with: {problems[0]}")


def remember_totals(db: sqlite3.Connection, path: Path, totals: DatasetTotals) -> None:
    """Store the ledger's hash and totals before a commit.

    If the commit fails, the hash does not match and is ignored. Nobody else writes meanwhile.
    """
    with suppress(OSError, AttributeError, MemoryError, sqlite3.Error):
        known = {
            "bytes": _ledger_hash(db),
            "totals": {
                dataset_number: [t.costs, t.failures] for dataset_number, t in totals.items()
            },
        }
        text = json.dumps(known)
        content = json.dumps({"checked": text, "mac": _keyed_text_hash(db, text)}).encode()
        with open_ledger_companion(f"{path}{CHECKED_SUFFIX}", "wb") as file:
            file.truncate()
            if len(content) <= MAX_CHECKED_FILE_BYTES:
                file.write(content)


def _ledger_hash(db: sqlite3.Connection) -> str:
    """Return a hash of the ledger as this connection sees it.

    Changes of its own transaction are included.
    """
    content = bytearray(db.serialize())
    for counter in WRITE_COUNTER_BYTES:
        content[counter] = bytes(counter.stop - counter.start)
    return hashlib.sha256(content).hexdigest()


def _keyed_text_hash(db: sqlite3.Connection, text: str) -> str:
    """Return the hash of a text, keyed by the ledger's own key."""
    key = db.execute("SELECT key FROM meta").fetchone()[0]
    return hmac.digest(key, f"totals{text}".encode(), "sha256").hex()
