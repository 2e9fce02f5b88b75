"""Where each column's bounds or values come from: this release, an earlier one in the ledger, a person, the data.

That a column was measured with protection is believed of the ledger alone: it keeps a digest of every column that a
release of this data set measured. What a schema says of itself beyond that is a statement of its author.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping

from ..core.types import Json, value_object
from ..schema.domain import Domain
from ..schema.schema_json import domain_to_json
from .evidence.origin_words import EARLIER_RELEASE, ENTERED, REAL_DATA, SCHEMA_AUTHOR, THIS_RELEASE

MEASURED = "measured"  # the key of a note in the ledger that holds digests


@value_object
class Origin:
    """The origin of a column's bounds or values; `entry` is that of the release in the ledger that measured them."""

    column: str
    source: str
    entry: int | None = None

    def to_json(self) -> Json:
        """The origin as release.json holds it."""
        return {"column": self.column, "source": self.source, "entry": self.entry}


def column_digest(domain: Domain, name: str) -> str:
    """The SHA-256 of a column's name and of all that the schema says of it."""
    spec = domain_to_json(domain.project([name]))["columns"]
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def measured_note(domain: Domain, names: Iterable[str]) -> str:
    """The ledger's note on the columns that a release measured: digests, which tell no name and no value."""
    return json.dumps({MEASURED: [column_digest(domain, name) for name in names]})


def entries_in(notes: Iterable[tuple[int, str]]) -> dict[str, int]:
    """The entry of the first release that measured each column, by the column's digest, from (entry, note) pairs."""
    entries: dict[str, int] = {}
    for entry, note in notes:
        for digest in json.loads(note)[MEASURED]:
            entries.setdefault(digest, entry)
    return entries


def measured_before(db: sqlite3.Connection, release: int) -> dict[str, int]:
    """Return the entry that measured each column of a release's data set before it, by the column's digest."""
    notes = db.execute(
        "SELECT s.release, s.note FROM states s JOIN releases r ON r.seq = s.release"
        " WHERE s.state = 'note' AND instr(s.note, ?) = 1 AND s.release < ?"
        " AND r.dataset = (SELECT dataset FROM releases WHERE seq = ?) ORDER BY s.seq",
        (f'{{"{MEASURED}": ', release, release),
    ).fetchall()
    return entries_in(map(tuple, notes))


def origins(domain: Domain, here: Iterable[str], entries: Mapping[str, int]) -> tuple[Origin, ...]:
    """The origin of every column of a domain.

    Args:
        domain: what the schema states; its `measured` columns are a claim.
        here: the columns that this release measured.
        entries: those that earlier releases of the data set measured, as `entries_in` gives them.

    """
    measured_names = set(here)
    return tuple(_origin(domain, name, measured_names, entries) for name in domain.names)


def _origin(domain: Domain, name: str, here: set[str], entries: Mapping[str, int]) -> Origin:
    if domain.peeked:
        return Origin(name, REAL_DATA)
    if name in here:
        return Origin(name, THIS_RELEASE)
    if name not in domain.measured:
        return Origin(name, ENTERED)
    entry = entries.get(column_digest(domain, name))
    return Origin(name, SCHEMA_AUTHOR) if entry is None else Origin(name, EARLIER_RELEASE, entry)
