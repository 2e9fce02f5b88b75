"""Where the budget of a table was recorded, so that nobody begins a second record by mistake.

The browser keeps it by the names of the table's columns, and never for a server that others reach.
"""

import datetime
from dataclasses import dataclass
from typing import Any

from dpcore.core.types import Json, frozen
from dpcore.evaluation.project import MAX_PATH_CHARS

from ..session import Table, is_public_host, session

MEMORY_NAME = "ledger-memory"  # of it among a tab's resources
PAST_DAY_TEXTS = {0: "today", 1: "yesterday"}


@frozen
class RememberedLedger:
    """The folder of a ledger, the share of the budget that was used there, and on which day."""

    folder: str
    used_share: float
    day: datetime.date

    @property
    def text(self) -> str:
        """When it was used and how much of the budget by then, in words."""
        days = (datetime.date.today() - self.day).days
        day_text = PAST_DAY_TEXTS.get(days, f"on {self.day.day} {self.day:%B %Y}")
        return f"used {day_text}: {100 * self.used_share:.3g}%"

    def to_json(self) -> Json:
        """Return it as the browser keeps it."""
        return {
            "folder": self.folder,
            "used_share": self.used_share,
            "day": self.day.isoformat(),
        }

    @classmethod
    def from_json(cls, document: Any) -> "RememberedLedger | None":
        """Return what `to_json` wrote; None for anything else that a browser may send."""
        if not isinstance(document, dict):
            return None
        folder = document.get("folder")
        used_share = document.get("used_share")
        if not isinstance(folder, str) or not 0 < len(folder) <= MAX_PATH_CHARS:
            return None
        if isinstance(used_share, bool) or not isinstance(used_share, (int, float)):
            return None
        if not 0 <= used_share <= 1:
            return None
        try:
            day = datetime.date.fromisoformat(str(document.get("day")))
        except ValueError:
            return None
        return cls(folder, float(used_share), day)


@dataclass(eq=False)
class LedgerMemory:
    """What a tab knows of the ledgers of its tables, by their identity."""

    ledgers: dict[str, RememberedLedger]

    def close(self) -> None:
        """Forget it."""
        self.ledgers = {}


def remembered_ledger(table: Table) -> RememberedLedger | None:
    """Return where the budget of a table was recorded last; None where nothing is known."""
    memory = session().find_resource(MEMORY_NAME)
    return memory.ledgers.get(table.identity) if isinstance(memory, LedgerMemory) else None


def remember_ledger(table: Table, folder: str, used_share: float) -> None:
    """Remember where the budget of a table is recorded, and how much of it is used."""
    if not table.uploaded or is_public_host():
        return
    today = datetime.date.today()
    _memory().ledgers[table.identity] = RememberedLedger(folder, min(used_share, 1.0), today)


def restore_ledger(document: Any, table: Table) -> None:
    """Remember what the browser kept about the ledger of a table's columns."""
    remembered = RememberedLedger.from_json(document)
    if remembered is not None and not is_public_host():
        _memory().ledgers.setdefault(table.identity, remembered)


def _memory() -> LedgerMemory:
    """Return the tab's memory of ledgers."""
    return session().get_or_create(MEMORY_NAME, lambda: LedgerMemory({}))
