"""Read unfinished releases and the signing key of a ledger from its rows.

Unfinished releases were charged and have not ended. Nothing is written here. What a release was
charged for stands in the settings of its row; where another attempt writes it into another folder,
a note says so.
"""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...core.types import Json, value_object
from ..data_set import BudgetRequest, Reservation, lifetime_from_row
from .signing import missing_signer_error

FOLDER_KEYS = ("folder", "draft")  # names in settings, and in notes of later attempts


@value_object
class UnfinishedRelease:
    """A release that was charged and has not ended.

    `release` is its number among those of its data set; `fingerprint` the fingerprint of the table
    it was charged for; `identity` a digest of everything else that it is; `noise_key_name` the name
    of the key of its noise, "" where there is none.
    """

    entry: int
    dataset: str
    release: int
    unit: str
    total: tuple[float, float]
    fingerprint: str
    identity: str
    noise_key_name: str
    folders: Json

    @property
    def folder(self) -> Path | None:
        """The folder that it becomes; None for a schema, which is printed."""
        return Path(self.folders["folder"]) if self.folders else None

    @property
    def draft(self) -> Path | None:
        """The hidden folder in which it is written."""
        return Path(self.folders["draft"]) if self.folders else None

    @property
    def description(self) -> str:
        """Its name in a message."""
        return f"release {self.release} of {self.dataset!r}"

    def matches_request(self, request: BudgetRequest) -> bool:
        """Return whether a request's statements about the data set fit this release."""
        total = None if request.total is None else (request.total.epsilon, request.total.delta)
        same_dataset = request.dataset in (None, self.dataset) and total in (None, self.total)
        return same_dataset and request.unit.ledger_noun == self.unit

    def is_of_table(self, fingerprint: str) -> bool:
        """Return whether it was charged for the table of this fingerprint."""
        return self.fingerprint == fingerprint or self.fingerprint.startswith(
            f"{fingerprint} again as "
        )


def list_unfinished(db: sqlite3.Connection) -> list[UnfinishedRelease]:
    """Return a checked ledger's releases whose end was never noted and whose folders are known."""
    rows = db.execute(
        "SELECT r.seq, r.settings, v.fingerprint, d.name, d.unit, d.epsilon, d.delta,"
        " (SELECT COUNT(*) FROM releases o WHERE o.dataset = r.dataset AND o.seq <= r.seq) AS "
        "number"
        " FROM releases r JOIN datasets d ON d.seq = r.dataset JOIN versions v ON v.seq = r.version"
        " WHERE r.seq NOT IN (SELECT release FROM states WHERE state != 'note') ORDER BY r.seq"
    ).fetchall()
    releases = []
    for row in rows:
        settings = _parse_json_object(row["settings"])
        if not _named_folders(settings) and "noise_key" not in settings:
            continue
        release = UnfinishedRelease(
            entry=row["seq"],
            dataset=row["name"],
            release=row["number"],
            unit=row["unit"],
            total=(row["epsilon"], row["delta"]),
            fingerprint=row["fingerprint"],
            identity=str(settings.get("identity", "")),
            noise_key_name=str(settings.get("noise_key", "")),
            folders=_named_folders(settings),
        )
        releases.append(_with_latest_folders(db, release))
    return releases


def read_reservation(db: sqlite3.Connection, release: int) -> Reservation:
    """Return the reservation of a release in a checked ledger, as it was when charged."""
    row = db.execute(
        "SELECT r.total_epsilon, c.hash, v.number, d.* FROM releases r JOIN chain c ON c.seq = "
        "r.seq"
        " JOIN datasets d ON d.seq = r.dataset JOIN versions v ON v.seq = r.version"
        " WHERE r.seq = ?",
        (release,),
    ).fetchone()
    ledger = db.execute("SELECT ledger FROM meta").fetchone()[0]
    return Reservation(
        release,
        row["hash"],
        ledger,
        row["name"],
        row["number"],
        lifetime_from_row(row),
        row["total_epsilon"],
    )


def read_signer(db: sqlite3.Connection) -> str:
    """Return the public key that signs a ledger's releases; "" where there is none.

    From the latest release that was to be signed.
    """
    for (settings,) in db.execute("SELECT settings FROM releases ORDER BY seq DESC"):
        key = _parse_json_object(settings).get("signed_by")
        if isinstance(key, str):
            return key
    return ""


def check_signer(db: sqlite3.Connection, ledger: Path, settings: Any) -> None:
    """Raise InputError where a release is to be signed by another key than those before it."""
    signer_key = settings.get("signed_by") if isinstance(settings, dict) else None
    if signer_key is not None and read_signer(db) not in ("", signer_key):
        raise missing_signer_error(ledger)


def _with_latest_folders(db: sqlite3.Connection, release: UnfinishedRelease) -> UnfinishedRelease:
    """Return the release with the folders of its latest attempt."""
    notes = db.execute(
        "SELECT note FROM states WHERE release = ? AND state = 'note' ORDER BY seq DESC",
        (release.entry,),
    )
    for (note,) in notes:
        folders = _named_folders(_parse_json_object(note))
        if folders:
            return replace(release, folders=folders)
    return release


def _named_folders(settings: Json) -> Json:
    """Return the folder and the draft that settings or a note name; empty where they name none."""
    folders = {name: settings.get(name) for name in FOLDER_KEYS}
    return folders if all(isinstance(value, str) for value in folders.values()) else {}


def _parse_json_object(text: str) -> Json:
    """Return the JSON object in a text; empty where it holds none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
