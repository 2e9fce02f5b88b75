"""The facts in a release ledger about a data set, and about a charged release."""

from dataclasses import dataclass

from ..privacy.accounting.lifetime import Lifetime
from ..types import Json


@dataclass(frozen=True)
class Reservation:
    """A charged release: its number in the ledger, its entry's hash, and what its data set has spent with it."""

    number: int
    entry: str
    ledger: str
    dataset: str
    version: int
    lifetime: Lifetime
    spent: float


@dataclass(frozen=True)
class DataSet:
    """One data set of a ledger: its total budget, whom it protects, its versions, its releases and their total."""

    name: str
    lifetime: Lifetime
    unit: str
    versions: tuple[Json, ...]
    releases: tuple[Json, ...]
    spent: float
    left: float

    def to_json(self) -> Json:
        """The data set as a dictionary, as `ledger show --json` prints it."""
        budget, accounting = self.lifetime.budget, str(self.lifetime.accounting)
        total = {"epsilon": budget.epsilon, "delta": budget.delta, "accounting": accounting}
        spent = {"epsilon": self.spent, "delta": budget.delta}
        facts = {"name": self.name, "unit": self.unit, "total": total, "spent": spent, "left_epsilon": self.left}
        return facts | {"versions": list(self.versions), "releases": list(self.releases)}
