"""A release that measures its schema first: planned with public facts, charged whole, then settled."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from ..algorithms.forecasts import affordable
from ..data.cells import RawCells
from ..data.domain import Domain, Rows
from ..data.open_schema import OpenSchema
from ..data.privacy_unit import PrivacyUnit
from ..errors import InputError
from ..privacy.accounting.ledger import Plan
from ..privacy.accounting.lifetime import Event, Filtered
from ..privacy.column_curator import ColumnCurator
from ..problems import QueryRelease
from ..schemas.measure import MeasuredSchema, measure_schema
from ..schemas.plan import Division, SchemaPlan, check_whole, plan_schema, plan_within, share_of
from ..types import Rng, Watch, unwatched
from ..workloads import Workload
from .request import PreparedRelease, ReleaseRequest


@dataclass(frozen=True, kw_only=True, eq=False)
class Opening:
    """The part of a release that is unknown at first: its schema, the queries' reading in it, and a given share."""

    schema: OpenSchema
    ask: Callable[[Domain], Workload]
    share: float | None = None


@dataclass(frozen=True, eq=False)
class OpenRelease(PreparedRelease):
    """A prepared release whose `problem`, `rows` and `plan` are placeholders, made of public facts alone.

    `events` are all that schema and algorithm may ever spend.
    """

    opening: Opening
    cells: list[RawCells]
    division: Division
    measuring: SchemaPlan

    def measure(self, noise: Rng) -> MeasuredSchema:
        """The measured schema; to be called only after the charge."""
        curator = ColumnCurator(self.cells, self.problem.n, self.measuring.plan, noise, group=self.problem.group)
        return measure_schema(self.opening.schema, self.measuring, curator)

    def settle(self, found: MeasuredSchema) -> "SettledRelease":
        """The release that a measured schema allows; InputError where it is too large, or leaves no question."""
        n, group = self.problem.n, self.problem.group
        request = replace(self.request, workload=self.opening.ask(found.domain))
        rows = found.domain.encode(request.unit.limited(request.table, found.domain.names))
        problem = QueryRelease(request.workload, n, group)
        affordable(request.algorithm, problem, request.budget)
        plan = plan_within(request.algorithm, problem, self.division, exact=self.measuring.plan.exact)
        request.check_exact(plan.exact)
        check_whole(self.division, self.measuring.plan, plan, request.algorithm.adaptive)
        return SettledRelease(request, problem, rows, plan, self.events, found, self.measuring.plan, self.division)


@dataclass(frozen=True, eq=False)
class SettledRelease(PreparedRelease):
    """A settled release: prepared with the schema that was measured."""

    found: MeasuredSchema
    measuring: Plan
    division: Division

    @property
    def measured_events(self) -> tuple[tuple[Event, int], ...]:
        """The events charged for measuring the schema; their failure probabilities add up unchanged."""
        additive = self.measuring.budget.delta > 0
        return tuple(
            (Filtered(c.spend.rho, c.spend.failure) if additive else c.spend, c.times) for c in self.measuring.charges
        )


@dataclass(frozen=True, eq=False)
class OpenRecords:
    """A table's rows before its schema is measured, with a placeholder for each column still to be measured."""

    cells: list[RawCells]
    rows: Rows

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        schema: OpenSchema,
        unit: PrivacyUnit,
        told: Watch = unwatched,
    ) -> "OpenRecords":
        """The rows of a table; values that a public column refuses raise here. `told` receives the progress."""
        limited, many = unit.limited(frame, schema.names), len(schema.open) + 1
        cells = schema.cells(limited, lambda done: told(done / many))
        told(1 - 1 / many)
        return cls(cells, schema.placeholder.encode(limited))


def prepare_open(request: ReleaseRequest, opening: Opening, records: OpenRecords | None = None) -> OpenRelease:
    """An open release, checked and planned with placeholders; it neither draws nor charges anything.

    `records` are those of this very table, where they are read already.
    """
    if request.start is not None:
        raise InputError("a public start needs a schema that is known: it says how likely each combination is")
    if records is None:
        records = OpenRecords.of(request.table, opening.schema, request.unit)
    n, group, columns = records.rows.n, request.unit.most_rows, opening.schema.open
    problem = QueryRelease(request.workload, n, group)
    affordable(request.algorithm, problem, request.budget)
    exact = request.noise != "float"
    share = share_of(columns, opening.share, n, group, request.budget)
    division, plan = share.planned(request.algorithm, problem, request.budget, exact=exact)
    request.check_exact(plan.exact)
    measuring = plan_schema(columns, n, group, division, exact=exact)
    return OpenRelease(
        request, problem, records.rows, plan, division.events, opening, records.cells, division, measuring
    )
