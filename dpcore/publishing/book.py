"""The content of a ledger's rows: data sets with their releases, and checks of their totals."""

import json
import sqlite3
from collections import defaultdict

from ..privacy.accounting.budget import Accounting, Budget
from ..privacy.accounting.lifetime import Lifetime, Total, events_from_json
from ..types import Json
from .chain import LedgerContent
from .dataset import DataSet

BELONGS = (  # rows of a table, by which column, to rows of which table
    ("versions", "dataset", "datasets"),
    ("releases", "dataset", "datasets"),
    ("releases", "version", "versions"),
    ("states", "release", "releases"),
)
KEPT = ("seq", "algorithm", "epsilon", "delta", "rho", "total_epsilon", "reason", "time")


def lifetime(row: sqlite3.Row) -> Lifetime:
    """The total promise that the first use of a data set fixed, from its row in the ledger."""
    return Lifetime(Budget(row["epsilon"], row["delta"]), Accounting[row["accounting"]], row["failure"])


class Book:
    """The content of an unchanged ledger, by data set. Only hashes were checked, so reading it may raise any error."""

    def __init__(self, content: LedgerContent) -> None:
        self.sets, self._rows = content.rows["datasets"], content.rows
        self._releases = _by(content.rows["releases"], "dataset")
        self._versions = _by(content.rows["versions"], "dataset")
        self._states = _by(content.rows["states"], "release")

    def totals(self) -> dict[int, Total]:
        """The total that each data set has spent, by the data set's number."""
        return {row["seq"]: self._totals(row)[-1] for row in self.sets}

    def shown(self) -> list[DataSet]:
        """Every data set with its versions, its releases, its spent and its remaining budget."""
        return [self._shown(row) for row in self.sets]

    def wrong_totals(self) -> list[str]:
        """Descriptions of the stored totals that differ from those recomputed from the stored events."""
        found = []
        for row in self.sets:
            try:
                found += self._wrong_totals(row)
            except Exception as error:  # this program never wrote it, so that it may be anything
                found.append(f"data set {row['seq']}: unreadable: {str(error)[:100] or type(error).__name__}")
        return found

    def lost(self) -> list[str]:
        """Descriptions of the rows that belong to no data set, version or release."""
        found = []
        for place, column, whole in BELONGS:
            known = {row["seq"] for row in self._rows[whole]}
            lost = [row for row in self._rows[place] if row[column] not in known]
            found += [f"row {row['seq']} of {place}: its {column} {row[column]} is not there" for row in lost]
        return found

    def _wrong_totals(self, row: sqlite3.Row) -> list[str]:
        promised, found = lifetime(row), []
        for release, total in zip(self._releases[row["seq"]], self._totals(row)[1:], strict=True):
            self._release(release, {})  # what cannot be shown is not as it was written
            spent = promised.total(total)
            if not abs(spent - release["total_epsilon"]) <= 1e-6 * spent:
                stored = f"{release['total_epsilon']!r} is stored, its events give {spent!r}"
                found.append(f"release {release['seq']}: changed total: ε={stored}")
            if not spent <= promised.budget.epsilon * (1 + 1e-9):
                found.append(f"release {release['seq']}: its data set's budget is exceeded: ε={spent:.6g}")
        return found

    def _totals(self, row: sqlite3.Row) -> list[Total]:
        """The total that a data set had spent at its beginning and after each of its releases."""
        promised, totals = lifetime(row), [Total()]
        for release in self._releases[row["seq"]]:
            totals.append(promised.plus(totals[-1], events_from_json(json.loads(release["events"]))))
        return totals

    def _shown(self, row: sqlite3.Row) -> DataSet:
        promised, total, place = lifetime(row), self._totals(row)[-1], row["seq"]
        numbers = {v["seq"]: {"number": v["number"], "time": v["time"]} for v in self._versions[place]}
        releases = tuple(self._release(release, numbers) for release in self._releases[place])
        spent, left = promised.total(total), promised.left(total)
        return DataSet(row["name"], promised, row["unit"], tuple(numbers.values()), releases, spent, left)

    def _release(self, row: sqlite3.Row, numbers: dict[int, Json]) -> Json:
        story = [{name: state[name] for name in ("state", "note", "time")} for state in self._states[row["seq"]]]
        state = next((s["state"] for s in reversed(story) if s["state"] != "note"), "reserved, never finished")
        facts = {"version": numbers.get(row["version"], {}).get("number"), "state": state, "states": story}
        read = {"events": json.loads(row["events"]), "settings": json.loads(row["settings"])}
        return {name: row[name] for name in KEPT} | facts | read


def _by(rows: list[sqlite3.Row], column: str) -> dict[int, list[sqlite3.Row]]:
    out: dict[int, list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        out[row[column]].append(row)
    return out
