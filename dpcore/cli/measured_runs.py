"""Runs on a schema that is measured first, anew for every seed."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from .. import Budget, InputError, QueryRelease, Rows, Run, domain_to_json, read_table
from ..accuracy.promise_with_schema import promise_of_division
from ..algorithms import Algorithm
from ..algorithms.schema_measurement.measure_schema import MeasuredSchema
from ..algorithms.schema_measurement.measurement_plan import describe, plan_within, share_of
from ..core.provenance import Tag
from ..core.types import Json
from ..evaluation.schema_trial import explore_schema
from ..evaluation.sweeps.sweep import table_digest
from ..queries import Workload
from ..queries.questions import understand
from ..schema.partial_schema import OpenSchema
from .arguments import unit_of
from .output_files import tell
from .table_arguments import forecast, queries_in

Every = int | Callable[[int], int]


class Measured:
    """A table with an open schema; `said` and `rows` are the findings and records of the last run.

    `limited` are the rows that count, `placeholder` the queries in a schema of public facts alone.

    Questions can be read only when the schema is there: one that does not fit what was found ends the command then.
    """

    which = ", had the schema been known"

    def __init__(self, chosen: Namespace, schema: OpenSchema, workload: Workload) -> None:
        if chosen.start is not None:
            raise InputError("a public start needs a schema that is known: it says how likely each combination is")
        self.chosen, self.schema, self.unit = chosen, schema, unit_of(chosen)
        self.frame = read_table(chosen.table, format=schema.placeholder.file)
        self.limited = self.unit.limited(self.frame, schema.names)
        self.placeholder = QueryRelease(workload, len(self.limited), self.unit.most_rows)
        self.said: Json = {}
        self.rows: Rows | None = None
        self._found: tuple[Any, MeasuredSchema] | None = None  # the last one, and what it was measured with
        self._told: set[str] = set()

    @property
    def digest(self) -> str:
        """A digest of the table as it is used, in any order of records; see `table_digest`; not for publishing."""
        return table_digest(self.frame, self.schema.names, self.unit)

    def run(self, algorithm: Algorithm, budget: Budget, seed: int, *, every: Every = 1) -> Run:
        """A run that measures its own schema within one budget; the schema is the same for every algorithm."""
        placeholder = self.placeholder
        share = share_of(self.schema.open, self.chosen.schema_share, placeholder.n, placeholder.group, budget)
        division, _ = share.planned(algorithm, placeholder, budget, exact=False)
        if self._found is None or self._found[0] != (division, seed):
            measured_schema = explore_schema(self.schema, self.frame, self.unit, division, seed=seed)
            self._found = (division, seed), measured_schema
        measured_schema = self._found[1]
        domain = measured_schema.domain
        rows = domain.encode(self.limited)
        problem = QueryRelease(queries_in(self.chosen, domain), rows.n, self.unit.most_rows)
        for question in getattr(self.chosen, "ask", ()):
            understand(question, domain)
        forecast(algorithm, problem, budget)
        plan = plan_within(algorithm, problem, division, exact=False)
        for f in measured_schema.found:
            if f.nothing and f.column.name not in self._told:
                self._told.add(f.column.name)
                tell("warning", f"{f.column.name!r}: {f.words}")
        findings = [{"column": f.column.name, "found": f.words, "tag": Tag.PEEK} for f in measured_schema.found]
        facts = {**describe(division, self.schema.open), "found": findings, "schema": domain_to_json(domain)}
        self.said, self.rows = {"schema": facts}, rows
        total_promise = promise_of_division(division)
        return Run(algorithm, problem, rows, budget, seed=seed, plan=plan, whole=total_promise, every=every)
