"""Find where each column's bounds or values come from.

From this release, an earlier one in the ledger, a person, or the data. That a column was measured
with protection is believed of the ledger alone: it keeps a digest of every column that a release of
this data set measured. What a schema says of itself beyond that is a statement of its author.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping

from ..core.types import Json, value_object
from ..schema.domain import Domain
from ..schema.schema_json import domain_to_json
from .evidence.origin_words import EARLIER_RELEASE, ENTERED, REAL_DATA, SCHEMA_AUTHOR, THIS_RELEASE

MEASURED_NOTE_KEY = "measured"  # the key of a note in the ledger that holds digests


@value_object
class ColumnOrigin:
    """The origin of a column's bounds or values.

    `entry` is that of the release in the ledger that measured them.
    """

    column: str
    source: str
    entry: int | None = None

    def to_json(self) -> Json:
        """Return the origin as release.json holds it."""
        return {"column": self.column, "source": self.source, "entry": self.entry}


def column_digest(domain: Domain, name: str) -> str:
    """Return the SHA-256 of a column's name and of all that the schema says of it."""
    spec = domain_to_json(domain.project([name]))["columns"]
    return hashlib.sha256(
        json.dumps(spec, sort_keys=True).encode("utf-8", "surrogatepass")
    ).hexdigest()


def measured_columns_note(domain: Domain, names: Iterable[str]) -> str:
    """Return the ledger's note on the columns that a release measured.

    It holds digests, which tell no name and no value.
    """
    return json.dumps({MEASURED_NOTE_KEY: [column_digest(domain, name) for name in names]})


def measuring_entries(notes: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Return, by the column's digest, the entry of the first release that measured each column.

    From (entry, note) pairs.
    """
    entries: dict[str, int] = {}
    for entry, note in notes:
        for digest in json.loads(note)[MEASURED_NOTE_KEY]:
            entries.setdefault(digest, entry)
    return entries


def earlier_measuring_entries(db: sqlite3.Connection, release: int) -> dict[str, int]:
    """Return, by column digest, the entry that measured each column before a release.

    Columns of its data set.
    """
    notes = db.execute(
        "SELECT s.release, s.note FROM states s JOIN releases r ON r.seq = s.release"
        " WHERE s.state = 'note' AND instr(s.note, ?) = 1 AND s.release < ?"
        " AND r.dataset = (SELECT dataset FROM releases WHERE seq = ?) ORDER BY s.seq",
        (f'{{"{MEASURED_NOTE_KEY}": ', release, release),
    ).fetchall()
    return measuring_entries(map(tuple, notes))


def column_origins(
    domain: Domain, measured_here: Iterable[str], entries: Mapping[str, int]
) -> tuple[ColumnOrigin, ...]:
    """Return the origin of every column of a domain.

    Args:
        domain: what the schema states; its `measured` columns are a claim.
        measured_here: the columns that this release measured.
        entries: those that earlier releases of the data set measured, as `measuring_entries` gives
            them.

    """
    measured_names = set(measured_here)
    return tuple(_column_origin(domain, name, measured_names, entries) for name in domain.names)


def _column_origin(
    domain: Domain, name: str, measured_names: set[str], entries: Mapping[str, int]
) -> ColumnOrigin:
    if domain.peeked:
        return ColumnOrigin(name, REAL_DATA)
    if name in measured_names:
        return ColumnOrigin(name, THIS_RELEASE)
    if name not in domain.measured:
        return ColumnOrigin(name, ENTERED)
    entry = entries.get(column_digest(domain, name))
    return (
        ColumnOrigin(name, SCHEMA_AUTHOR)
        if entry is None
        else ColumnOrigin(name, EARLIER_RELEASE, entry)
    )
