"""The last sound state of a ledger, stored beside it: a keyed hash of its bytes, and its totals.

To check everything that was ever released takes time in proportion to it. A ledger whose bytes are the very ones that
were checked last need not be read again: a release adds to its totals what it costs. Nothing depends on that file:
where it is missing, damaged, of another moment or cannot be written, everything is checked.
"""

import contextlib
import hashlib
import hmac
import json
import sqlite3
from pathlib import Path

from ..privacy.accounting.lifetime import Total
from .chain import CHECKED, open_regular

ENDING = CHECKED
LONGEST = 1 << 20  # bytes read of it
# Where SQLite counts in its header how often a file was written, and by which version; nothing that is read.
COUNTERS = (slice(24, 28), slice(92, 100))
Totals = dict[int, Total]  # by the data set's number


def recall(db: sqlite3.Connection, path: Path) -> Totals | None:
    """The totals remembered from the last check, if the ledger is unchanged since; None otherwise.

    To be asked inside a transaction. Nothing in the ledger can be trusted yet.
    """
    try:
        key = db.execute("SELECT key FROM meta").fetchone()[0]
        with open_regular(f"{path}{ENDING}", "rb") as file:
            kept = json.loads(file.read(LONGEST))
        text = kept["checked"]
        if not hmac.compare_digest(_mac(key, text), kept["mac"]):
            return None
        known = json.loads(text)
        if known["bytes"] != _bytes(db):
            return None
        return {int(place): Total(tuple(costs), tuple(losses)) for place, (costs, losses) in known["totals"].items()}
    except Exception:  # of whatever kind: then everything is read, and what is wrong gets its name
        return None


def keep(db: sqlite3.Connection, path: Path, key: bytes, totals: Totals) -> None:
    """Store the ledger's hash and totals before a commit; if the commit fails, the hash does not match and is ignored.

    Nobody else writes meanwhile.
    """
    with contextlib.suppress(OSError, AttributeError, MemoryError, sqlite3.Error):
        known = {"bytes": _bytes(db), "totals": {place: [t.costs, t.losses] for place, t in totals.items()}}
        text = json.dumps(known)
        written = json.dumps({"checked": text, "mac": _mac(key, text)}).encode()
        with open_regular(f"{path}{ENDING}", "wb") as file:
            file.truncate()
            if len(written) <= LONGEST:
                file.write(written)


def _bytes(db: sqlite3.Connection) -> str:
    """A hash of the ledger as this connection sees it, changes of its own transaction included."""
    content = bytearray(db.serialize())
    for counter in COUNTERS:
        content[counter] = bytes(counter.stop - counter.start)
    return hashlib.sha256(content).hexdigest()


def _mac(key: bytes, text: str) -> str:
    return hmac.digest(key, f"totals{text}".encode(), "sha256").hex()
