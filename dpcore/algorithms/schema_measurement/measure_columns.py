"""The algorithm that measures unknown columns, and the schema that its findings make."""

from collections.abc import Iterator
from typing import Any

from ...core.errors import BudgetError
from ...core.provenance import Released
from ...core.types import ProgressCallback, by_name, frozen, ignore_progress
from ...privacy.accounting import Budget, Plan
from ...privacy.curators.column_curator import ColumnCurator
from ...problems import ColumnMeasurement
from ...schema.domain import Domain
from ...schema.partial_schema import PartialSchema
from ..algorithm import Algorithm, Step, make_plan
from .column_findings import ColumnFindings, guess_column_kinds, measure_column
from .measurement_plan import plan_columns
from .split_budget import SplitBudget, with_exact_noise


@by_name
class MeasureColumns(Algorithm):
    """Noisy counts of every column on public grids, and its values above a threshold.

    Of a column whose kind is unknown the kind is measured first; at δ = 0 one that seems to hold
    categories is then left out. `split` is how a budget is split between this and what follows, of
    which this has the first part; without it, it has all. Raises InputError at δ = 0 where
    categories are to be measured.
    """

    problem = ColumnMeasurement
    split: SplitBudget | None = None

    def plan(self, problem: ColumnMeasurement, budget: Budget) -> Plan:
        """Return the plan with equal parts for every column; its `budget` is the first part."""
        split = self.split
        if split is None:
            split = SplitBudget(budget, 1.0, first_can_fail=problem.may_have_categories)
        return plan_columns(problem, budget, split)

    def steps(
        self, problem: ColumnMeasurement, plan: Plan, curator: ColumnCurator, rng: Any = None
    ) -> Iterator[Step[ColumnFindings]]:
        """Yield the findings on one column a step; nothing is random but the curator's noise."""
        columns = problem.columns
        if problem.names_of_unknown_kind:
            columns = guess_column_kinds(problem, plan, curator)
            for column_index, column in enumerate(columns):
                curator.set_reading(column_index, column.read)
        for column_index, column in enumerate(columns):
            if not column.is_categorical or plan["categories"] is not None:
                findings = measure_column(column, column_index, problem, plan, curator)
                yield Step(column_index + 1, findings)


@frozen
class MeasuredSchema(Released):
    """The measured domain, and the findings on each of its columns."""

    domain: Domain
    findings: tuple[ColumnFindings, ...]


def plan_measurement(problem: ColumnMeasurement, split: SplitBudget, *, exact: bool) -> Plan:
    """Return the plan that measures columns with the first part of a split budget.

    With `exact` the noise is not rounded. Raises InputError at δ = 0 where categories are to be
    measured.
    """
    plan = make_plan(MeasureColumns(split=split), problem, split.first)
    return with_exact_noise(plan) if exact else plan


def measure_schema(
    schema: PartialSchema,
    problem: ColumnMeasurement,
    plan: Plan,
    curator: ColumnCurator,
    progress: ProgressCallback = ignore_progress,
) -> MeasuredSchema:
    """Return the schema with every unknown column measured, in order.

    Args:
        schema: The schema whose unknown columns are those of the problem.
        problem: The columns and the number of rows.
        plan: The problem's plan.
        curator: The holder of the columns' cells, in the same order.
        progress: Receives the number of columns done.

    Raises:
        BudgetError: The charges differ from the plan.

    """
    steps = MeasureColumns().steps(problem, plan, curator)
    findings: list[ColumnFindings] = []
    for _ in problem.columns:
        progress(len(findings), problem.column_count)
        findings.append(next(steps).release)
    planned_spends = [c.spend for c in plan.planned_events for _ in range(c.times)]
    if [spend for _, spend in curator.budget_meter.events] != planned_spends:
        raise BudgetError("the schema was not measured as planned; nothing leaves")
    return MeasuredSchema(
        schema.fill_in({f.column.name: f.column for f in findings}), tuple(findings)
    )
