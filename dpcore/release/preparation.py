"""Releases prepared for the charge: encoded and planned, while nothing was drawn and no budget is used.

Of a release that measures its schema first, public facts alone are planned; it is charged whole, and then settled.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..accuracy.work_forecast import affordable
from ..algorithms import registered_name
from ..algorithms.algorithm import make_plan
from ..algorithms.schema_measurement.measure_schema import MeasuredSchema, measure_schema
from ..algorithms.schema_measurement.measurement_plan import (
    Division,
    SchemaPlan,
    check_whole,
    exactly,
    plan_schema,
    plan_within,
    share_of,
)
from ..core.errors import InputError
from ..core.types import Rng, Watch, frozen, unwatched
from ..data.privacy_unit import PrivacyUnit
from ..data.sources.gathered_counts import Counts, gather
from ..data.sources.limited_rows_source import limited
from ..data.sources.source import Source
from ..privacy.accounting import Choice, Filtered, Listed, Plan, reserved
from ..privacy.curators.column_curator import ColumnCurator
from ..privacy.curators.curator import check_readable
from ..problems import QueryRelease
from ..queries import Workload
from ..schema.column_texts import RawCells
from ..schema.domain import Domain, Rows
from ..schema.partial_schema import OpenSchema
from .data_set import Reservation
from .ledger.ledger_store import Store
from .request import ReleaseRequest

Ask = Callable[[Domain], Workload]
WHY_EXACT = "noise without rounding, so that no last digit reveals more than the budget allows"


@frozen
class PreparedRelease:
    """A request checked against table and schema, and planned; nothing has been drawn or charged."""

    request: ReleaseRequest
    problem: QueryRelease
    rows: Rows | Counts
    plan: Plan
    events: Listed

    def reserve(self, store: Store, *, preview: bool = False, **leaving: str) -> Reservation:
        """Charge the release in the ledger, or with `preview` only show the charge; see `Store.reserve`.

        `leaving` is kept in the ledger with the settings: the key that signs it, and where it is written.
        """
        request = self.request
        settings = {c.name: json_value(c.value) for c in self.plan.choices}
        return store.reserve(
            request,
            self.events,
            algorithm=registered_name(request.algorithm),
            settings=settings | {"asked": list(request.asked)} | leaving,
            reason=request.reason,
            preview=preview,
        )


@frozen
class OpenRelease(PreparedRelease):
    """A prepared release whose `problem`, `rows` and `plan` are placeholders, made of public facts alone.

    `events` are all that schema and algorithm may ever spend; `ask` reads the queries in the schema that is found,
    and `part` is the given part of the budget that measures it, None for the usual one.
    """

    schema: OpenSchema
    ask: Ask
    part: float | None
    cells: list[RawCells]
    division: Division
    measuring: SchemaPlan

    def measure(self, noise: Rng) -> MeasuredSchema:
        """The measured schema; to be called only after the charge."""
        curator = ColumnCurator(self.cells, self.problem.n, self.measuring.plan, noise, group=self.problem.group)
        return measure_schema(self.schema, self.measuring, curator)

    def settle(self, found: MeasuredSchema) -> "SettledRelease":
        """The release that a measured schema allows; InputError where it is too large, or leaves no question."""
        request = replace(self.request, workload=self.ask(found.domain))
        rows = found.domain.encode(request.unit.limited(request.table, found.domain.names))
        problem = _problem(request, self.problem.n)
        plan = plan_within(request.algorithm, problem, self.division, exact=self.measuring.plan.exact)
        request.check_exact(plan.exact)
        schema_plan = self.measuring.plan
        check_whole(self.division, schema_plan, plan, request.algorithm.adaptive)
        allows_failure = schema_plan.budget.delta > 0
        events = tuple(
            (Filtered(c.spend.rho, c.spend.failure) if allows_failure else c.spend, c.times)
            for c in schema_plan.charges
        )
        return SettledRelease(request, problem, rows, plan, self.events, found, schema_plan, self.division, events)


@frozen
class SettledRelease(PreparedRelease):
    """A settled release: prepared with the schema that was measured.

    `measured_events` were charged for it; their failure probabilities add up unchanged.
    """

    found: MeasuredSchema
    measuring: Plan
    division: Division
    measured_events: Listed


@frozen
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
        limited_table, step_count = unit.limited(frame, schema.names), len(schema.open) + 1
        column_texts = schema.cells(limited_table, lambda done: told(done / step_count))
        told(1 - 1 / step_count)
        return cls(column_texts, schema.placeholder.encode(limited_table))


def prepare(request: ReleaseRequest, rows: Rows | Counts | None = None) -> PreparedRelease:
    """The prepared release: its table encoded, its plan made. Rows that the schema refuses raise InputError here.

    The plan keeps its promise by what adds up, as the data set's ledger does. `rows` are this very table's, where they
    are encoded already.
    """
    if rows is None:
        rows = records_of(request.frame, request.workload, request.unit)
    problem = _problem(request, rows.n)
    if request.start is not None:
        request.start.check(request.frame, request.sha256, rows, problem.domain)
    plan = make_plan(request.algorithm, problem, replace(request.budget, additive=True))
    if request.noise != "float":
        plan = exactly(plan)
    request.check_exact(plan.exact)
    if plan.exact:
        plan = replace(plan, choices=(*plan.choices, Choice("noise", "exact", WHY_EXACT)))
    check_readable(rows, plan)
    return PreparedRelease(request, problem, rows, plan, reserved(plan, request.algorithm.adaptive))


def prepare_open(
    request: ReleaseRequest, schema: OpenSchema, ask: Ask, part: float | None, records: OpenRecords | None = None
) -> OpenRelease:
    """An open release, checked and planned with placeholders; it neither draws nor charges anything.

    The schema costs this `part` of the budget, None for the usual one. `records` are those of this very table, where
    they are read already.
    """
    if request.start is not None:
        raise InputError("a public start needs a schema that is known: it says how likely each combination is")
    if records is None:
        records = OpenRecords.of(request.table, schema, request.unit)
    n, max_rows_per_person, columns = records.rows.n, request.unit.most_rows, schema.open
    problem = _problem(request, n)
    exact = request.noise != "float"
    share = share_of(columns, part, n, max_rows_per_person, request.budget)
    division, plan = share.planned(request.algorithm, problem, request.budget, exact=exact)
    request.check_exact(plan.exact)
    schema_plan = plan_schema(columns, n, max_rows_per_person, division, exact=exact)
    return OpenRelease(
        request, problem, records.rows, plan, division.events, schema, ask, part, records.cells, division, schema_plan
    )


def _problem(request: ReleaseRequest, n: int) -> QueryRelease:
    """The problem of a request about n rows; InputError where its algorithm needs more memory than there is."""
    start = None if request.start is None else request.start.distribution
    problem = QueryRelease(request.workload, n, request.unit.most_rows, start)
    affordable(request.algorithm, problem, request.budget)
    return problem


def records_of(
    table: pd.DataFrame | Source, workload: Workload, unit: PrivacyUnit, watch: Watch = unwatched
) -> Rows | Counts:
    """A table's rows in a workload's domain; of a source, only counts of the tables asked for.

    Rows of one person are limited first. `watch` is told how much of a source is read.
    """
    domain = workload.domain
    if isinstance(table, pd.DataFrame):
        return domain.encode(unit.limited(table, domain.names))
    tables = workload.base.axes if workload.base else ()
    return gather(limited(table, unit, domain.names), domain, tables, watch)


def json_value(value: Any) -> Any:
    """The value of a plan's choice as a number or text that JSON can hold, which has no infinities."""
    builtin_value = value.item() if isinstance(value, np.generic) else value
    is_finite = not isinstance(builtin_value, float) or math.isfinite(builtin_value)
    return builtin_value if isinstance(builtin_value, (int, float, str)) and is_finite else str(builtin_value)
