"""Prepare releases for the charge: encode and plan them, draw nothing, use no budget.

Of a release that measures its schema first, public facts alone are planned; it is charged whole,
and then settled.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..accuracy.work_forecast import forecast_affordable_run
from ..algorithms import Algorithm, registered_name
from ..algorithms.algorithm import make_plan
from ..algorithms.risk.exponential_samplers import OneDraw
from ..algorithms.schema_measurement.measure_columns import (
    MeasuredSchema,
    measure_schema,
    plan_measurement,
)
from ..algorithms.schema_measurement.split_budget import (
    SplitBudget,
    fit_split,
    plan_second,
    split_for_schema,
    with_exact_noise,
)
from ..core.errors import InputError
from ..core.types import ProgressCallback, Rng, frozen, ignore_progress
from ..data.privacy_unit import PrivacyUnit
from ..data.sources.gathered_counts import GatheredCounts, gather
from ..data.sources.limited_rows_source import limit_source
from ..data.sources.source import Source
from ..privacy.accounting import (
    Budget,
    ComposedPlan,
    EventCounts,
    Filtered,
    Plan,
    Setting,
    worst_case_events,
)
from ..privacy.curators.column_curator import ColumnCurator
from ..privacy.curators.curator import require_single_rows
from ..problems import ColumnMeasurement, QueryRelease, RiskMinimisation
from ..problems.parse_tasks import read_task
from ..queries import Workload
from ..schema.column_texts import ColumnTexts
from ..schema.domain import Domain, Rows
from ..schema.partial_schema import PartialSchema
from .data_set import Reservation
from .ledger.ledger_store import LedgerStore
from .request import LearningRequest, ReleaseRequest

WorkloadForDomain = Callable[[Domain], Workload]
EXACT_NOISE_REASON = (
    "noise without rounding, so that no last digit reveals more than the budget allows"
)
EXACT_LEARNERS_TEXT = (
    "a release draws what it learns without rounding: choose rank_exponential for a quantile, or "
    "exponential with delta=0 for means, or for a prediction of at most two coefficients"
)


@frozen
class SchemaMeasurement:
    """The measurement of a release's partial schema: its plan, and what it found.

    `workload_for` reads the queries in the measured schema, and `budget_share` is the given part of
    the budget that measures it, None for the usual one. `result` is None until it is measured.
    """

    schema: PartialSchema
    workload_for: WorkloadForDomain
    budget_share: float | None
    column_texts: list[ColumnTexts]
    split: SplitBudget
    problem: ColumnMeasurement
    plan: Plan
    result: MeasuredSchema | None = None

    def measure(self, noise: Rng) -> MeasuredSchema:
        """Measure the schema; to be called only after the charge."""
        problem = self.problem
        curator = ColumnCurator(self.column_texts, problem.n, self.plan, noise, group=problem.group)
        return measure_schema(self.schema, problem, self.plan, curator)

    @property
    def events(self) -> EventCounts:
        """The events that are charged for it; their failure probabilities add up unchanged."""
        allows_failure = self.plan.budget.delta > 0
        return tuple(
            (Filtered(c.spend.rho, c.spend.failure) if allows_failure else c.spend, c.times)
            for c in self.plan.planned_events
        )


@frozen
class PreparedRelease:
    """A request checked against table and schema, and planned; nothing is drawn or charged.

    `events` are all that it may ever spend. With a `schema_measurement` that is still to be made,
    `problem`, `rows` and `plan` are placeholders, made of public facts alone.
    """

    request: ReleaseRequest
    problem: QueryRelease
    rows: Rows | GatheredCounts
    plan: Plan
    events: EventCounts
    schema_measurement: SchemaMeasurement | None = None

    @property
    def domain(self) -> Domain:
        """The schema of the released columns."""
        return self.problem.domain

    @property
    def composed_plan(self) -> ComposedPlan | None:
        """The plans of the schema and of the algorithm, within one budget; None without the first.

        Raises BudgetError where both together exceed the budget.
        """
        if self.schema_measurement is None:
            return None
        request = self.request
        return self.schema_measurement.plan.then(
            self.plan, request.budget, adaptive=request.algorithm.adaptive
        )

    def reserve(
        self, store: LedgerStore, *, preview: bool = False, **extra_settings: str
    ) -> Reservation:
        """Charge the release in the ledger; with `preview` only show the charge.

        See `LedgerStore.reserve`. `extra_settings` is kept in the ledger with the settings: the key
        that signs it, and where it is written.
        """
        return _reserve_events(self, store, extra_settings, preview=preview)

    def with_measured_schema(
        self, measurement: SchemaMeasurement, measured_schema: MeasuredSchema
    ) -> "PreparedRelease":
        """Return the release with the schema that its measurement found.

        InputError where the schema is too large, or leaves no query.
        """
        request = replace(self.request, workload=measurement.workload_for(measured_schema.domain))
        rows = request.unit.encode(measured_schema.domain, request.table)
        problem = _checked_release_problem(request, self.problem.n)
        plan = plan_second(
            request.algorithm, problem, measurement.split, exact=measurement.plan.exact
        )
        request.check_exact_noise(plan.exact)
        # raises where both together need more than the budget: nothing is drawn then
        measurement.plan.then(plan, request.budget, adaptive=request.algorithm.adaptive)
        return PreparedRelease(
            request, problem, rows, plan, self.events, replace(measurement, result=measured_schema)
        )


@frozen
class PreparedLearning:
    """A request to release what is learned, checked and planned; nothing is drawn or charged.

    `events` are all that it may ever spend: one draw.
    """

    request: LearningRequest
    problem: RiskMinimisation
    rows: Rows
    plan: Plan
    events: EventCounts
    schema_measurement = None  # its schema is always known before
    composed_plan = None

    @property
    def domain(self) -> Domain:
        """The schema of the columns that are learned from."""
        return self.request.domain

    def reserve(
        self, store: LedgerStore, *, preview: bool = False, **extra_settings: str
    ) -> Reservation:
        """Charge the release in the ledger; as `PreparedRelease.reserve`."""
        return _reserve_events(self, store, extra_settings, preview=preview)


Prepared = PreparedRelease | PreparedLearning


def _reserve_events(
    ready: Prepared, store: LedgerStore, extra_settings: dict[str, str], *, preview: bool
) -> Reservation:
    """Charge all events of a prepared release in the ledger, or show what would be charged."""
    request = ready.request
    settings = {c.name: to_json_value(c.value) for c in ready.plan.settings}
    return store.reserve(
        request,
        ready.events,
        algorithm=registered_name(request.algorithm),
        settings={**settings, "asked": list(request.query_texts), **extra_settings},
        reason=request.reason,
        preview=preview,
    )


@frozen
class PartialSchemaRows:
    """A table's rows before its schema is measured.

    With a placeholder for each column still to be measured. Where people count, `column_texts` are
    those of one row of each.
    """

    column_texts: list[ColumnTexts]
    rows: Rows

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        schema: PartialSchema,
        unit: PrivacyUnit,
        progress: ProgressCallback = ignore_progress,
    ) -> "PartialSchemaRows":
        """Return the rows of a table; raise for values that a public column refuses.

        `progress` receives the progress.
        """
        limited_table = unit.one_row_each.bound_contributions(frame, schema.names)
        step_count = len(schema.unknown_columns) + 1
        column_texts = schema.unknown_column_texts(
            limited_table, lambda done, _: progress(done, step_count)
        )
        progress(step_count - 1, step_count)
        return cls(column_texts, unit.encode(schema.placeholder, frame))


def prepare_release(
    request: ReleaseRequest, rows: Rows | GatheredCounts | None = None
) -> PreparedRelease:
    """Prepare a release: encode its table and make its plan.

    Rows that the schema refuses raise InputError here. The plan keeps its promise by what adds up,
    as the data set's ledger does. `rows` are this very table's, where they are encoded already.
    """
    if rows is None:
        rows = encode_table(request.frame, request.workload, request.unit)
    problem = _checked_release_problem(request, rows.n)
    if request.start is not None:
        request.start.check_not_private(request.frame, request.sha256, rows, problem.domain)
    plan = make_plan(request.algorithm, problem, replace(request.budget, additive=True))
    if request.noise != "float":
        plan = with_exact_noise(plan)
    request.check_exact_noise(plan.exact)
    if plan.exact:
        plan = _with_noise_setting(plan)
    require_single_rows(rows, plan)
    return PreparedRelease(
        request, problem, rows, plan, worst_case_events(plan, request.algorithm.adaptive)
    )


def _with_noise_setting(plan: Plan) -> Plan:
    """Return a plan with exact noise that says so among its settings."""
    return replace(plan, settings=(*plan.settings, Setting("noise", "exact", EXACT_NOISE_REASON)))


def plan_learning(algorithm: Algorithm, problem: RiskMinimisation, budget: Budget) -> Plan:
    """Return the plan of a release of what is learned, from public facts alone.

    Raises InputError for an algorithm that does not draw without rounding: last digits that are
    computed from rows would be outside the promise, and nothing pays for them.
    """
    if not isinstance(algorithm, OneDraw):
        raise InputError(f"{registered_name(algorithm)} rounds its noise; {EXACT_LEARNERS_TEXT}")
    plan = make_plan(algorithm, problem, replace(budget, additive=True))
    if not algorithm.draws_without_rounding(plan):
        raise InputError(f"{registered_name(algorithm)} rounds its noise; {EXACT_LEARNERS_TEXT}")
    return _with_noise_setting(replace(plan, exact=True))


def prepare_learning(request: LearningRequest) -> PreparedLearning:
    """Prepare the release of what is learned: read its rows and make its plan.

    Rows that the schema refuses raise InputError here, as in `prepare_release`; all others are
    learned from. `plan_learning` says which algorithms are refused.
    """
    domain = request.domain
    problem, rows = read_task(
        request.task,
        domain,
        request.unit.bound_contributions(request.table, domain.names),
        radius=request.radius,
        group=request.unit.group,
        any_rows=True,
    )
    plan = plan_learning(request.algorithm, problem, request.budget)
    return PreparedLearning(
        request, problem, rows, plan, worst_case_events(plan, request.algorithm.adaptive)
    )


def prepare_with_partial_schema(
    request: ReleaseRequest,
    schema: PartialSchema,
    workload_for: WorkloadForDomain,
    schema_budget_share: float | None,
    table_rows: PartialSchemaRows | None = None,
) -> PreparedRelease:
    """Prepare a release with a partial schema, with placeholders for unmeasured columns.

    It is checked and planned; it neither draws nor charges anything. The schema costs this
    `schema_budget_share` of the budget, None for the usual one. `table_rows` are those of this very
    table, where they are read already.
    """
    if request.start is not None:
        raise InputError(
            "a public start needs a schema that is known: it says how likely each combination is"
        )
    if table_rows is None:
        table_rows = PartialSchemaRows.of(request.table, schema, request.unit)
    n = table_rows.rows.n
    group = request.unit.group
    columns = schema.unknown_columns
    problem = _checked_release_problem(request, n)
    exact = request.noise != "float"
    split = split_for_schema(columns, schema_budget_share, n, group, request.budget)
    split, plan = fit_split(request.algorithm, problem, split, exact=exact)
    request.check_exact_noise(plan.exact)
    schema_problem = ColumnMeasurement(columns, n, group)
    schema_plan = plan_measurement(schema_problem, split, exact=exact)
    measurement = SchemaMeasurement(
        schema,
        workload_for,
        schema_budget_share,
        table_rows.column_texts,
        split,
        schema_problem,
        schema_plan,
    )
    return PreparedRelease(
        request, problem, table_rows.rows, plan, split.reserved_events, measurement
    )


def _checked_release_problem(request: ReleaseRequest, n: int) -> QueryRelease:
    """Return the problem of a request about n rows.

    InputError where its algorithm needs more memory than there is.
    """
    start = None if request.start is None else request.start.distribution
    problem = QueryRelease(request.workload, n, request.unit.group, start)
    forecast_affordable_run(request.algorithm, problem, request.budget)
    return problem


def encode_table(
    table: pd.DataFrame | Source,
    workload: Workload,
    unit: PrivacyUnit,
    progress: ProgressCallback = ignore_progress,
) -> Rows | GatheredCounts:
    """Return a table's rows in a workload's domain; for a source, counts of its tables.

    Only counts of the tables asked for. Rows of one person are limited first. `progress` is told
    how much of a source is read.
    """
    domain = workload.domain
    if isinstance(table, pd.DataFrame):
        return unit.encode(domain, table)
    tables = workload.base.axes if workload.base else ()
    return gather(limit_source(table, unit, domain.names), domain, tables, progress)


def to_json_value(value: Any) -> Any:
    """Return a plan's choice as a number or text that JSON can hold.

    JSON has no infinities.
    """
    builtin_value = value.item() if isinstance(value, np.generic) else value
    is_finite = not isinstance(builtin_value, float) or math.isfinite(builtin_value)
    return (
        builtin_value
        if isinstance(builtin_value, (int, float, str)) and is_finite
        else str(builtin_value)
    )
