"""Releases whose files lie beside the ledger that recorded them."""

import json
from pathlib import Path

from dpcore.core.types import frozen

from ..session import printable_text


@frozen
class EarlierRelease:
    """A release whose files lie beside the ledger: their folder, its receipt, and its name."""

    folder: Path
    receipt: dict
    label: str


def earlier_releases(ledger: Path) -> dict[int, EarlierRelease]:
    """Return the releases whose files are still beside the ledger, by their entries in it."""
    release_by_entry = {}
    for claim in sorted(releases_folder(ledger).glob("*/release.json")):
        try:
            facts = json.loads(claim.read_text(encoding="utf-8"))
            account = json.loads((claim.parent / "account.json").read_text(encoding="utf-8"))
            label = (
                f"{printable_text(facts['dataset']['name'])}, release {len(account['releases'])}"
            )
            entry = int(facts["ledger"]["entry"])
            release_by_entry[entry] = EarlierRelease(claim.parent, facts["ledger"], label)
        except (OSError, ValueError, TypeError, KeyError):
            continue  # not one of ours
    return release_by_entry


def read_folder_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder: their bytes by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def releases_folder(ledger: Path) -> Path:
    """Return the folder beside the ledger where its releases are kept."""
    return ledger.parent / f"{ledger.stem}-releases"
