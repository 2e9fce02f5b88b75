"""Runs on a schema that is measured first, anew for every seed."""

from collections.abc import Callable
from typing import Any

from .. import Budget, InputError, QueryRelease, Rows, Run, domain_to_json, read_table
from ..accuracy.promise_with_schema import promise_of_split
from ..algorithms import Algorithm
from ..algorithms.schema_measurement.hidden_rows import predict_hidden_rows
from ..algorithms.schema_measurement.measure_columns import MeasuredSchema, plan_measurement
from ..algorithms.schema_measurement.split_budget import (
    SplitBudget,
    describe_schema_cost,
    fit_split,
    plan_second,
    split_for_schema,
)
from ..core.provenance import Provenance
from ..core.types import Json, Texts
from ..evaluation.experiment import QueryTask
from ..evaluation.schema_trial import measure_schema_with_seed
from ..evaluation.sweeps.sweep import table_digest
from ..problems import ColumnMeasurement
from ..queries import Workload
from ..queries.questions import parse_question
from ..schema.partial_schema import PartialSchema
from .output_files import print_hidden_rows, print_message
from .table_arguments import print_forecast

EveryRounds = int | Callable[[int], int]


class MeasuredSchemaRuns:
    """A table with a partial schema, measured anew in each run.

    `schema_facts` and `rows` are the findings and rows of the last run. `limited_table` are the
    rows that count, `placeholder_problem` the queries in a schema of public facts alone.

    Queries can be read only when the schema is there: one that does not fit the measured schema
    ends the command then.
    """

    schema_note = ", had the schema been known"

    def __init__(
        self, task: QueryTask, schema: PartialSchema, workload: Workload, questions: Texts = ()
    ) -> None:
        if task.start is not None:
            raise InputError(
                "a public start needs a schema that is known: it says how likely each "
                "combination is"
            )
        self.task = task
        self.schema = schema
        self.questions = questions
        self.unit = task.unit
        self.frame = read_table(task.table, format=schema.placeholder.file)
        n = len(self.unit.one_row_each.bound_contributions(self.frame, schema.names))
        self.placeholder_problem = QueryRelease(workload, n, self.unit.group)
        self.schema_facts: Json = {}
        self.rows: Rows | None = None
        # the last one, and what it was measured with
        self._last_schema: tuple[Any, MeasuredSchema] | None = None
        self._warned_columns: set[str] = set()
        self._announced_splits: set[SplitBudget] = set()

    @property
    def digest(self) -> str:
        """A digest of the table as it is used, in any order of rows; not for publishing.

        See `table_digest`.
        """
        return table_digest(self.frame, self.schema.names, self.unit)

    def run(
        self, algorithm: Algorithm, budget: Budget, seed: int, *, every: EveryRounds = 1
    ) -> Run:
        """Return a run that measures its own schema within one budget.

        The schema is the same for every algorithm.
        """
        placeholder = self.placeholder_problem
        split = split_for_schema(
            self.schema.unknown_columns,
            self.task.schema_share,
            placeholder.n,
            placeholder.group,
            budget,
        )
        split, _ = fit_split(algorithm, placeholder, split, exact=False)
        self._announce_hidden_rows(split)
        measured_schema = self._measure_schema(split, seed)
        domain = measured_schema.domain
        rows = self.unit.encode(domain, self.frame)
        problem = QueryRelease(self.task.read_workload(domain), rows.n, self.unit.group)
        for question in self.questions:
            parse_question(question, domain)
        print_forecast(algorithm, problem, budget)
        plan = plan_second(algorithm, problem, split, exact=False)
        self._warn_of_empty_columns(measured_schema)
        findings = [
            {"column": f.column.name, "found": f.description, "tag": Provenance.REAL_DATA}
            for f in measured_schema.findings
        ]
        facts = {
            **describe_schema_cost(split, self.schema.unknown_columns),
            "found": findings,
            "schema": domain_to_json(domain),
        }
        self.schema_facts = {"schema": facts}
        self.rows = rows
        total_promise = promise_of_split(split)
        return Run(
            algorithm, problem, rows, budget, seed=seed, plan=plan, whole=total_promise, every=every
        )

    def _announce_hidden_rows(self, split: SplitBudget) -> None:
        """Print, once for each split budget, what its measurement will hide."""
        if split in self._announced_splits or not self.schema.unknown_columns:
            return
        self._announced_splits.add(split)
        placeholder = self.placeholder_problem
        problem = ColumnMeasurement(self.schema.unknown_columns, placeholder.n, placeholder.group)
        print_hidden_rows(
            predict_hidden_rows(problem, plan_measurement(problem, split, exact=False))
        )

    def _measure_schema(self, split: SplitBudget, seed: int) -> MeasuredSchema:
        """Return the schema as it is measured with a seed; the last one is remembered."""
        if self._last_schema is None or self._last_schema[0] != (split, seed):
            measured_schema = measure_schema_with_seed(
                self.schema, self.frame, self.unit, split, seed=seed
            )
            self._last_schema = (split, seed), measured_schema
        return self._last_schema[1]

    def _warn_of_empty_columns(self, measured_schema: MeasuredSchema) -> None:
        """Print a warning, once for each column, where nothing was found in it."""
        for finding in measured_schema.findings:
            name = finding.column.name
            if finding.found_nothing and name not in self._warned_columns:
                self._warned_columns.add(name)
                print_message("warning", f"{name!r}: {finding.description}")
