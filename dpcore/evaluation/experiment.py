"""What determines a run, as one value that a person saves, shares and opens again.

A `QueryTask` says what is asked about which table; an `Experiment` adds the algorithm with its
settings, the budget and the seeds. The command line and the pages build one from what they are
given, and everything behind takes it. It holds no row: the table is named by where it is.

The same experiment can be written as JSON, as a command line and as Python code:

>>> from dpcore import ALGORITHMS, Budget
>>> schema = {"columns": {"sex": {"kind": "categorical", "values": ["f", "m"]}}}
>>> experiment = Experiment(
...     task=QueryTask(table="people.csv", schema=schema, queries=("marginals:1",)),
...     algorithm=ALGORITHMS["gaussian_maxent"](),
...     budget=Budget(1.0, 1e-9),
...     repeat=3,
... )
>>> list(experiment.seeds)
[0, 1, 2]
>>> Experiment.from_json(experiment.to_json()) == experiment
True
>>> experiment.to_command().partition(" --algorithm")[0]
'python -m dpcore run people.csv --schema schema.json --queries marginals:1'
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..algorithms import ALGORITHMS, Algorithm, registered_name
from ..core.errors import InputError
from ..core.parameters import parameter_values
from ..core.types import Json, Texts
from ..data.privacy_unit import ROWS_COLUMN, PrivacyUnit
from ..privacy.accounting import Budget
from ..queries import Workload
from ..queries.parse_queries import join_column_names, read_queries
from ..schema.domain import Domain
from ..schema.partial_schema import (
    PartialSchema,
    drop_faulty_unused_columns,
    has_private_columns,
    partial_schema_from_json,
)
from ..schema.schema_json import domain_from_json

PEOPLE = "people"  # of `count`, where everyone counts once
SCHEMA_FILE = "schema.json"  # where commands and code look for the schema
OPTIONAL_TASK_FIELDS = {  # that JSON leaves out at these defaults
    "schema_share": None,
    "start": None,
    "start_support": False,
    "stream": None,
}


@dataclass(frozen=True, kw_only=True)
class QueryTask:
    """Queries about a table: where the table is, what is public about it, and whom to protect.

    Args:
        table: a file, a folder of Parquet files, or the address of a table in a database.
        schema: the public schema as JSON, with all of its columns.
        queries: texts that `read_queries` reads.
        columns: the columns of the schema that are used; all of them where none is named.
        unit: whom the guarantee protects.
        schema_share: the part of the budget that measures what the schema leaves private; None
            for the usual part.
        start: a public table to start from.
        start_support: whether combinations that the start lacks stay empty.
        stream: whether the table is read in parts; None to decide by its size.

    """

    table: str
    schema: Json
    queries: Texts
    columns: Texts = ()
    unit: PrivacyUnit = PrivacyUnit()
    schema_share: float | None = None
    start: str | None = None
    start_support: bool = False
    stream: bool | None = None

    @cached_property
    def parsed_schema(self) -> Domain | PartialSchema:
        """The schema of the columns that are used; InputError says what is wrong with it."""
        schema = self.schema
        if self.columns:
            schema = drop_faulty_unused_columns(schema, self.columns)
        if has_private_columns(schema):
            if self.unit.row_totals:
                raise InputError("totals of rows beside people need a schema without private parts")
            partial_schema = partial_schema_from_json(schema)
            return partial_schema.project(self.columns) if self.columns else partial_schema
        domain = domain_from_json(schema)
        return self.unit.extend_domain(domain.project(self.columns) if self.columns else domain)

    @property
    def partial_schema(self) -> PartialSchema | None:
        """The schema where parts of it are private, else None."""
        return self.parsed_schema if isinstance(self.parsed_schema, PartialSchema) else None

    @property
    def planning_domain(self) -> Domain:
        """The domain in which a run is planned: with placeholders for what is to be measured."""
        schema = self.parsed_schema
        return schema.placeholder if isinstance(schema, PartialSchema) else schema

    def read_workload(self, domain: Domain) -> Workload:
        """Return the workload that the queries ask for in a domain."""
        return read_queries(self.queries, domain)[0]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An algorithm with its settings on a task, within a budget, once for each of some seeds.

    `repeat` runs have the seeds `seed`, `seed` + 1, …
    """

    task: QueryTask
    algorithm: Algorithm
    budget: Budget
    seed: int = 0
    repeat: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed={str(self.seed)[:40]} must be a whole number ≥ 0")
        if not isinstance(self.repeat, int) or self.repeat < 1:
            raise InputError(f"repeat={str(self.repeat)[:40]} must be a whole number ≥ 1")

    @property
    def seeds(self) -> range:
        """The seeds of the runs."""
        return range(self.seed, self.seed + self.repeat)

    def to_json(self) -> Json:
        """Return the experiment as a dictionary, with the command that repeats it."""
        task = self.task
        unit = task.unit
        document = {
            "columns": list(task.columns),
            "queries": list(task.queries),
            "algorithm": registered_name(self.algorithm),
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "parameters": parameter_values(self.algorithm),
            "seed": self.seed,
            "repeat": self.repeat,
            "person": unit.person,
            "most_rows": unit.most_rows,
        }
        if unit.counts_people:
            document["count"] = PEOPLE
        if unit.row_totals:
            document["row_totals"] = True
        for name, default in OPTIONAL_TASK_FIELDS.items():
            if getattr(task, name) != default:
                document[name] = getattr(task, name)
        document["schema"] = task.schema
        document["table"] = task.table
        document["command"] = self.to_command()
        return document

    @classmethod
    def from_json(cls, document: Any) -> "Experiment":
        """Return the experiment that `to_json` wrote; InputError for anything else."""
        try:
            task = QueryTask(
                table=document["table"],
                schema=document["schema"],
                queries=tuple(document["queries"]),
                columns=tuple(document["columns"]),
                unit=PrivacyUnit(
                    document["person"],
                    document["most_rows"],
                    counts_people=document.get("count") == PEOPLE,
                    row_totals=bool(document.get("row_totals")),
                ),
                **{name: document[name] for name in OPTIONAL_TASK_FIELDS if name in document},
            )
            return cls(
                task=task,
                algorithm=ALGORITHMS[document["algorithm"]](**document["parameters"]),
                budget=Budget(document["epsilon"], document["delta"]),
                seed=document["seed"],
                repeat=document["repeat"],
            )
        except (KeyError, TypeError):
            raise InputError(f"{str(document)[:80]} is not an experiment") from None

    def to_command(self) -> str:
        """Return the command line that runs it, beside a file schema.json with the schema."""
        task = self.task
        words = ["python", "-m", "dpcore", "run", task.table, "--schema", SCHEMA_FILE]
        if task.columns:
            words += ["--columns", join_column_names(task.columns)]
        for text in task.queries:
            words += ["--queries", text]
        words += ["--algorithm", registered_name(self.algorithm)]
        words += ["--epsilon", _number_text(self.budget.epsilon)]
        words += ["--delta", _number_text(self.budget.delta)]
        for name, value in self._chosen_parameters().items():
            words += ["--set", f"{name}={value}"]
        if task.schema_share is not None:
            words += ["--schema-share", repr(task.schema_share)]
        words += ["--seed", str(self.seed), "--repeat", str(self.repeat)]
        return shlex.join(words + _source_and_unit_options(task))

    def to_python(self) -> str:
        """Return the library calls that run it for its first seed, beside a file schema.json.

        InputError where they do not say all of it: a schema that is measured, a public start.
        """
        task = self.task
        if task.partial_schema is not None or task.start is not None:
            raise InputError("a measured schema and a public start have a command, but no code")
        unit = task.unit
        rows_column = ROWS_COLUMN if unit.row_totals else None
        parameters = ", ".join(
            f"{name}={value!r}" for name, value in self._chosen_parameters().items()
        )
        encoded_rows = "domain.encode(table)"
        extended_domain = ""
        if unit.person is not None:
            counts_people = ", counts_people=True" if unit.counts_people else ""
            row_totals = ", row_totals=True" if unit.row_totals else ""
            unit_code = f"PrivacyUnit({unit.person!r}, {unit.most_rows}{counts_people}{row_totals})"
            encoded_rows = f"{unit_code}.encode(domain, table)"
            if unit.row_totals:
                extended_domain = f"domain = {unit_code}.extend_domain(domain)\n"
        columns = list(task.columns or [c for c in task.planning_domain.names if c != rows_column])
        budget = f"Budget({self.budget.epsilon!r}, {self.budget.delta!r})"
        return PYTHON_CODE.format(
            schema_file=SCHEMA_FILE,
            columns=columns,
            path=task.table,
            encoded_rows=encoded_rows,
            extended_domain=extended_domain,
            queries=list(task.queries),
            group=unit.group,
            algorithm=registered_name(self.algorithm),
            parameters=parameters,
            budget=budget,
            seed=self.seed,
        )

    def _chosen_parameters(self) -> Mapping[str, Any]:
        """Return the algorithm's parameters that are not left to the plan, by name."""
        values = parameter_values(self.algorithm)
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ExperimentGrid:
    """Experiments on one task: each algorithm, by name, at each budget with each seed."""

    task: QueryTask
    algorithms: Mapping[str, Algorithm]
    budgets: tuple[Budget, ...]
    seed: int = 0
    repeat: int = 1

    @property
    def seeds(self) -> range:
        """The seeds of every algorithm at every budget."""
        return range(self.seed, self.seed + self.repeat)


PYTHON_CODE = """from dpcore import (
    ALGORITHMS, Budget, PrivacyUnit, QueryRelease, Run, domain_from_json, read_json, \
read_queries, read_table,
)

domain = domain_from_json(read_json("{schema_file}")).project({columns!r})
table = read_table({path!r}, format=domain.file)
{extended_domain}rows = {encoded_rows}
workload, notes = read_queries({queries!r}, domain)
problem = QueryRelease(workload, rows.n, group={group})
algorithm = ALGORITHMS[{algorithm!r}]({parameters})
run = Run(algorithm, problem, rows, {budget}, seed={seed}).finish()
print(run.convergence[-1].empirical, run.spent, run.sample(5), sep="\\n")
"""


def _number_text(value: float) -> str:
    """Return a number as a person writes it, where that is the same number."""
    text = f"{value:g}"
    return text if float(text) == value else repr(value)


def _source_and_unit_options(task: QueryTask) -> list[str]:
    """Return the options for the privacy unit, the public start, and how the table is read."""
    options = []
    if task.unit.person is not None:
        options += ["--person", task.unit.person]
        options += ["--count", PEOPLE if task.unit.counts_people else "rows"]
        options += ["--row-totals"] if task.unit.row_totals else []
    if task.unit != PrivacyUnit():
        options += ["--most-rows", str(task.unit.most_rows)]
    if task.start is not None:
        options += ["--start", task.start]
    if task.start_support:
        options += ["--start-support"]
    if task.stream is not None:
        options += ["--stream" if task.stream else "--no-stream"]
    return options
