"""Describe a ledger's data sets and charged releases, and decide whether a release is charged.

Nothing is written here, and nothing but the ledger read.
"""

import math
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..core.errors import InputError, OverspendError
from ..core.numbers import format_short_number
from ..core.types import Json, Texts, frozen, value_object
from ..data.fingerprint import file_mark, is_earlier_format, table_fingerprints
from ..data.privacy_unit import PrivacyUnit
from ..data.sources.source import Source
from ..privacy.accounting import ACCOUNTANT_BY_CODE, Budget, Events, LifetimeBudget, TotalCost

MAX_NAME_CHARS = 200  # characters
TableReader = Callable[[], pd.DataFrame | Source]
FINGERPRINTS_SETTING = (
    "known_by"  # the setting of a release in the ledger that holds the marks of its table
)


@dataclass(frozen=True, kw_only=True, eq=False)
class BudgetRequest:
    """A request for a part of a data set's budget, for one release.

    It has the table as read, the part, the privacy unit, and the data set.

    A table may be a source, which is read in parts. Without a name the data set is the one with
    this content. `total` is the budget of a new one. `sha256` is that of the bytes of the file that
    a table in memory was read from, empty for none; a source knows its own. `readings` read the
    same file again, each by another statement that a schema can make: for a ledger that knows
    earlier releases by their cells alone.
    """

    frame: pd.DataFrame | Source
    sha256: str = ""
    readings: tuple[TableReader, ...] = ()
    budget: Budget
    unit: PrivacyUnit = PrivacyUnit()
    dataset: str | None = None
    new_version: bool = False
    total: Budget | None = None

    @property
    def table(self) -> pd.DataFrame:
        """The whole table; InputError for a source, which is never held in memory."""
        if isinstance(self.frame, pd.DataFrame):
            return self.frame
        raise InputError(
            f"{self.frame.name}: a schema is measured on a whole table in memory, not on one "
            "read in parts"
        )


@value_object
class Reservation:
    """A charged release: its ledger number, its entry's hash, and its data set's spent budget.

    The spent budget includes this release.
    """

    number: int
    entry_hash: str
    ledger: str
    dataset: str
    version: int
    lifetime: LifetimeBudget
    spent: float


@value_object
class DataSet:
    """One data set of a ledger: total budget, privacy unit, versions, releases and total spent."""

    name: str
    lifetime: LifetimeBudget
    unit: str
    versions: tuple[Json, ...]
    releases: tuple[Json, ...]
    spent: float
    remaining: float

    def to_json(self) -> Json:
        """Return the data set as a dictionary, as `ledger show --json` prints it."""
        budget = self.lifetime.budget
        accounting = self.lifetime.accounting.name
        return {
            "name": self.name,
            "unit": self.unit,
            "total": {"epsilon": budget.epsilon, "delta": budget.delta, "accounting": accounting},
            "spent": {"epsilon": self.spent, "delta": budget.delta},
            "left_epsilon": self.remaining,
            "versions": list(self.versions),
            "releases": list(self.releases),
        }


@frozen
class TableIdentity:
    """The marks by which a ledger with this `key` recognises a table: file bytes and cells.

    See `data.fingerprint`. `stored_fingerprints` are what a release is kept with: the fingerprint
    of the cells as read, and the mark of the bytes, if there are any. A table with any of those, or
    of `other_fingerprints`, is the same data set. `other_fingerprints` are the fingerprints of the
    cells misread; `readings` those of the same file by other statements, made when they are asked
    for.
    """

    key: bytes
    stored_fingerprints: Texts
    other_fingerprints: Texts
    readings: tuple[TableReader, ...] = ()

    @classmethod
    def of(cls, request: BudgetRequest, key: bytes) -> "TableIdentity":
        """Return the identity of a request's table; a source is read for it."""
        table = request.frame
        sha256 = request.sha256
        if isinstance(table, Source):
            sha256 = table.sha256
        fingerprint, *others = _fingerprints_of_input(table, key)
        bytes_fingerprint = (file_mark(sha256, key),) if sha256 else ()
        return cls(key, (fingerprint, *bytes_fingerprint), tuple(others), request.readings)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the cells as read."""
        return self.stored_fingerprints[0]

    def matching_datasets(self, db: sqlite3.Connection) -> list[int]:
        """Return the numbers of the ledger's data sets that this table is; empty for a new table.

        Before releases were kept with the mark of bytes, they were known by the cells as read
        alone. If the ledger has such a release, the file is read by every other statement.
        """
        dataset_numbers = _datasets_with_fingerprint(
            db, (*self.stored_fingerprints, *self.other_fingerprints)
        )
        has_old_releases = db.execute(
            "SELECT 1 FROM releases WHERE instr(settings, ?) = 0", (f'"{FINGERPRINTS_SETTING}"',)
        ).fetchone()
        return sorted(
            dataset_numbers
            if dataset_numbers or not has_old_releases
            else _datasets_with_fingerprint(db, self._reader_fingerprints)
        )

    @cached_property
    def _reader_fingerprints(self) -> Texts:
        """The fingerprints of the same file read by every other statement."""
        reader_fingerprints: list[str] = []
        for read in self.readings:
            with suppress(InputError):  # most files are no table with that delimiter
                reader_fingerprints += _fingerprints_of_input(read(), self.key)
        return tuple(reader_fingerprints)


def _fingerprints_of_input(table: pd.DataFrame | Source, key: bytes) -> Texts:
    return table.fingerprints(key) if isinstance(table, Source) else table_fingerprints(table, key)


def _datasets_with_fingerprint(db: sqlite3.Connection, known_fingerprints: Texts) -> set[int]:
    """Return the numbers of the data sets with a version or a release of one of these marks."""
    dataset_numbers: set[int] = set()
    for known_fingerprint in known_fingerprints:
        versions = db.execute(
            "SELECT dataset FROM versions WHERE fingerprint = ?", (known_fingerprint,)
        )
        releases = db.execute(
            "SELECT dataset FROM releases WHERE instr(settings, ?)", (known_fingerprint,)
        )
        dataset_numbers |= {row["dataset"] for row in (*versions, *releases)}
    return dataset_numbers


def find_dataset(
    db: sqlite3.Connection, identity: TableIdentity, name: str | None, new_version: bool
) -> tuple[str, sqlite3.Row | None, int | None, int, str]:
    """Return the data set's name, its row, its version's row and number, and the stored mark.

    The mark is what it is kept by. Rows are those in the ledger; there is none for what is new. The
    version is the data set's last one, unless the user says that it is new. Each mark is stored
    once.
    """
    table_fingerprint = identity.fingerprint
    dataset_numbers = identity.matching_datasets(db)
    if len(dataset_numbers) > 1:
        names = [
            row["name"]
            for row in db.execute("SELECT seq, name FROM datasets")
            if row["seq"] in dataset_numbers
        ]
        raise InputError(
            f"this table is in the ledger as several data sets, {', '.join(map(repr, names))}: "
            "each has a budget of "
            "its own for the same people; bring the file back as it was when one of them was "
            "released"
        )
    if dataset_numbers:
        dataset_row = db.execute("SELECT * FROM datasets WHERE seq = ?", dataset_numbers).fetchone()
        if name not in (None, dataset_row["name"]):
            raise InputError(
                f"this table is the data set {dataset_row['name']!r}; use that name, not {name!r}"
            )
        name = str(dataset_row["name"])
    elif not name:
        raise InputError("this table is not in the ledger yet: give the data set a name")
    elif len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise InputError(
            f"dataset={name[:40]!r} must be at most {MAX_NAME_CHARS} printable characters"
        )
    else:
        dataset_row = db.execute("SELECT * FROM datasets WHERE name = ?", (name,)).fetchone()
        if dataset_row and not new_version:
            advice = (
                "for data about the same people say that it is a new version, which keeps "
                "the old budget"
            )
            raise InputError(
                f"the content of {name!r} has changed; {advice}; for other people choose another "
                "name"
            )
        if new_version and not dataset_row:
            raise InputError(f"there is no data set {name!r} of which this could be a new version")
    last_version_query = "SELECT * FROM versions WHERE dataset = ? ORDER BY seq DESC LIMIT 1"
    last_version = dataset_row and db.execute(last_version_query, (dataset_row["seq"],)).fetchone()
    if last_version and not new_version:
        return name, dataset_row, last_version["seq"], last_version["number"], table_fingerprint
    number = last_version["number"] + 1 if last_version else 1
    return (
        name,
        dataset_row,
        None,
        number,
        f"{table_fingerprint} again as {number}" if dataset_numbers else table_fingerprint,
    )


def total_promise(
    db: sqlite3.Connection,
    name: str,
    row: sqlite3.Row | None,
    total: Budget | None,
    unit: str,
    events: Events,
) -> LifetimeBudget:
    """Return a data set's total promise, which its first use fixes.

    At the first use `row` is None. Raises InputError where the request contradicts what was fixed,
    or a first use has no total; and for a new data set that may be an old one, known only by
    fingerprints of an earlier format.
    """
    if row is None:
        if any(
            is_earlier_format(mark) for (mark,) in db.execute("SELECT fingerprint FROM versions")
        ):
            raise InputError(
                "this ledger knows tables by fingerprints of an earlier format, with which none "
                "can be compared: if "
                "this is one of them say so by its name and --new-version, or begin a new ledger"
            )
        if total is None:
            raise InputError(
                f"{name!r} is a new data set: its total budget (ε and δ) must be given"
            )
        return LifetimeBudget.from_first_release(total, events)
    fixed_lifetime = lifetime_from_row(row)
    if total not in (None, fixed_lifetime.budget):
        fixed_total = (
            f"ε={fixed_lifetime.budget.epsilon:g}, "
            f"δ={format_short_number(fixed_lifetime.budget.delta)}"
        )
        raise InputError(f"the total budget of {name!r} was fixed at {fixed_total}")
    if unit != row["unit"]:
        raise InputError(
            f"{name!r} protects each {row['unit']} since its first release, not each {unit}"
        )
    return fixed_lifetime


def lifetime_from_row(row: sqlite3.Row) -> LifetimeBudget:
    """Return the total promise that a data set's first use fixed, from its ledger row."""
    return LifetimeBudget(
        Budget(row["epsilon"], row["delta"]),
        ACCOUNTANT_BY_CODE[row["accounting"]],
        row["failure"],
    )


def check_budget_fits(
    name: str, promised: LifetimeBudget, before: TotalCost, events: Events, after: TotalCost
) -> None:
    """Raise OverspendError if a data set's total after these events exceeds its promise.

    The error names a remedy.
    """
    failure_delta = promised.failure_delta(after)
    if failure_delta > promised.failure:
        failure_text = (
            f"steps that may fail would take δ={failure_delta:.3g} in all, of "
            f"δ={promised.failure:.3g} kept for them"
        )
        remedy = (
            "choose an algorithm without such steps, or enter the categories of columns in "
            "place of measuring them"
        )
        raise OverspendError(f"data set {name!r}: {failure_text} since its first release; {remedy}")
    if promised.composed_cost(after) == math.inf:
        composition_text = (
            f"since its first release it is added up by {promised.accounting.name}, "
            "which cannot count this one"
        )
        alternative = (
            "choose delta=0"
            if promised.accounting.needs_delta
            else "choose another algorithm, or delta=0"
        )
        raise OverspendError(f"data set {name!r}: {composition_text}; {alternative}")
    spent = promised.total_epsilon(after)
    budget = promised.budget
    if not spent <= budget.epsilon:
        used_text = (
            f"ε={promised.total_epsilon(before):.6g} of {budget.epsilon:g} is used at "
            f"δ={format_short_number(budget.delta)}"
        )
        remaining_text = (
            f"one release of ε={promised.remaining_epsilon(before):.6g} at that δ "
            f"is left ({promised.accounting.name})"
        )
        raise OverspendError(
            f"data set {name!r}: this needs ε={spent:.6g} in all; {used_text}, {remaining_text}"
        )
