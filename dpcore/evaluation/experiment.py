"""What determines a run, as one value that a person saves, shares and opens again.

A `QueryTask` says what is asked about which table; an `Experiment` adds the algorithm with its
settings, the budget and the seeds. The command line and the pages build one from what they are
given, and everything behind takes it. It holds no row: the table is named by where it is. An
`ExperimentGrid` is of several algorithms and budgets, on queries, on a `LearningTask` or on a
`PlacesTask`.

The same experiment can be written as JSON and as a command line, and `programs` write it as code:

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from ..algorithms import Algorithm, algorithms_for_problem, registered_name
from ..core.errors import InputError
from ..core.numbers import MAX_SYNTHETIC_ROWS
from ..core.parameters import declared_parameters, parameter_values
from ..core.types import Json, Texts
from ..data.privacy_unit import PrivacyUnit
from ..privacy.accounting import Budget
from ..problems import QueryRelease
from ..queries import Workload
from ..queries.parse_queries import join_column_names, read_queries, succession_columns
from ..schema.domain import Domain
from ..schema.partial_schema import (
    PartialSchema,
    drop_faulty_unused_columns,
    has_private_columns,
    partial_schema_from_json,
)
from ..schema.schema_json import domain_from_json

PEOPLE = "people"  # of `count`, where everyone counts once
ROWS = "rows"  # of `count`, where each row counts
SCHEMA_FILE = "schema.json"  # where commands and code look for the schema
OPTIONAL_TASK_FIELDS = {  # that JSON leaves out at these defaults
    "schema_share": None,
    "start": None,
    "start_support": False,
    "stream": None,
}
REQUIRED_FIELDS = ("person", "epsilon", "delta")  # whose absence no check of a value tells
MAX_TEXT_CHARS = 100_000  # of a text in a file, such as a question
MAX_TEXTS = 10_000  # in a list in a file, such as that of the questions
MAX_REPEATS = 100_000
MAX_SEED = 2**63 - 1


def is_short_text(value: Any, max_chars: int = MAX_TEXT_CHARS) -> bool:
    """Return whether a value of a file is a text of at most so many characters."""
    return isinstance(value, str) and len(value) <= max_chars


def is_whole_number(value: Any, low: int, high: int) -> bool:
    """Return whether a value of a file is a whole number in low..high."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_text_list(value: Any, at_least: int) -> bool:
    """Return whether a value of a file is a list of some, but not too many, texts."""
    return (
        isinstance(value, list)
        and at_least <= len(value) <= MAX_TEXTS
        and all(map(is_short_text, value))
    )


def _is_share(value: Any) -> bool:
    """Return whether a value of a file is a share between 0 and 1, without its ends."""
    return isinstance(value, float) and 0 < value < 1


# What a value of a file must be: its name, a check, and the check in words.
_FIELD_CHECKS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("table", is_short_text, "the name of a table"),
    ("schema", lambda value: isinstance(value, dict), "a schema"),
    ("queries", lambda value: _is_text_list(value, 1), "a list of questions"),
    ("columns", lambda value: _is_text_list(value, 0), "a list of names of columns"),
    ("algorithm", is_short_text, "the name of an algorithm"),
    ("parameters", lambda value: isinstance(value, dict), "names with values"),
    ("person", lambda value: value is None or is_short_text(value), "the name of a column"),
    ("most_rows", lambda value: is_whole_number(value, 1, MAX_SYNTHETIC_ROWS), "a number of rows"),
    ("count", lambda value: value in (None, PEOPLE, ROWS), f"{PEOPLE} or {ROWS}"),
    ("row_totals", lambda value: value is None or isinstance(value, bool), "true or false"),
    (
        "person_columns",
        lambda value: value is None or _is_text_list(value, 0),
        "a list of names of columns",
    ),
    ("time_column", lambda value: value is None or is_short_text(value), "the name of a column"),
    ("seed", lambda value: is_whole_number(value, 0, MAX_SEED), "a whole number ≥ 0"),
    (
        "repeat",
        lambda value: is_whole_number(value, 1, MAX_REPEATS),
        f"a whole number in 1..{MAX_REPEATS}",
    ),
    ("schema_share", lambda value: value is None or _is_share(value), "a share in 0..1"),
    ("start", lambda value: value is None or is_short_text(value), "the name of a table"),
    ("start_support", lambda value: isinstance(value, bool), "true or false"),
    ("stream", lambda value: value is None or isinstance(value, bool), "true or false"),
)


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
            if self.unit.successions is not None:
                raise InputError("successions need a schema without private parts")
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
        if unit.person_columns:
            document["person_columns"] = list(unit.person_columns)
        if unit.time_column is not None:
            document["time_column"] = unit.time_column
        for name, default in OPTIONAL_TASK_FIELDS.items():
            if getattr(task, name) != default:
                document[name] = getattr(task, name)
        document["schema"] = task.schema
        document["table"] = task.table
        document["command"] = self.to_command()
        return document

    @classmethod
    def from_json(cls, document: Any) -> "Experiment":
        """Return the experiment that `to_json` wrote; InputError says what is wrong with another.

        Nothing that it names is opened.
        """
        if not isinstance(document, dict):
            raise InputError("the file is no project: it does not hold names with values")
        for name, is_valid, expected in _FIELD_CHECKS:
            if not is_valid(document.get(name, OPTIONAL_TASK_FIELDS.get(name))):
                raise InputError(f"the project's {name!r} is not {expected}")
        for name in REQUIRED_FIELDS:
            if name not in document:
                raise InputError(f"the project does not say its {name!r}")
        algorithms = algorithms_for_problem(QueryRelease)
        if document["algorithm"] not in algorithms:
            raise InputError(
                f"the project's algorithm {document['algorithm'][:40]!r} is none of "
                f"{', '.join(algorithms)}"
            )
        algorithm_class = algorithms[document["algorithm"]]
        known_names = {parameter.name for parameter in declared_parameters(algorithm_class)}
        for name in document["parameters"]:
            if name not in known_names:
                raise InputError(f"the project's algorithm has no parameter {name[:40]!r}")
        counts_people = document.get("count") == PEOPLE
        task = QueryTask(
            table=document["table"],
            schema=document["schema"],
            queries=tuple(document["queries"]),
            columns=tuple(document["columns"]),
            unit=PrivacyUnit(
                document["person"],
                document["most_rows"],
                counts_people=counts_people,
                row_totals=bool(document.get("row_totals")),
                person_columns=tuple(document.get("person_columns") or ()),
                succession_columns=succession_columns(document["queries"] if counts_people else ()),
                time_column=document.get("time_column"),
            ),
            **{name: document[name] for name in OPTIONAL_TASK_FIELDS if name in document},
        )
        return cls(
            task=task,
            algorithm=algorithm_class(**document["parameters"]),
            budget=Budget(document["epsilon"], document["delta"]),
            seed=document["seed"],
            repeat=document["repeat"],
        )

    def to_command(self) -> str:
        """Return the command line that runs it, beside a file schema.json with the schema."""
        arguments = [*query_task_arguments("run", self.task), *self.choice_arguments()]
        return command_text([*arguments, *_seed_arguments(self.seed, self.repeat)])

    def choice_arguments(self) -> list[str]:
        """Return a command's arguments that state the algorithm, its settings and the budget."""
        return algorithm_arguments(self.algorithm, self.budget)


@dataclass(frozen=True, kw_only=True)
class LearningTask:
    """What is learned from a table, whole or without some rows that the result is tested on.

    Args:
        table: a file.
        schema: the public schema as JSON.
        text: a text that `read_task` reads.
        unit: whom the guarantee protects.
        radius: of the region of parameters; None for the usual one.
        held_out: the share of the rows that the result is tested on.

    """

    table: str
    schema: Json
    text: str
    unit: PrivacyUnit = PrivacyUnit()
    radius: float | None = None
    held_out: float = 0.0

    def command_arguments(self, command: str = "learn") -> list[str]:
        """Return the arguments of a command that learns, up to the choice of an algorithm."""
        arguments = [command, _table_argument(self.table), "--schema", SCHEMA_FILE]
        arguments += option_arguments("--task", self.text)
        if self.radius is not None:
            arguments += ["--radius", _number_text(self.radius)]
        if self.held_out:
            arguments += ["--held-out", _number_text(self.held_out)]
        return arguments + _unit_arguments(self.unit)


@dataclass(frozen=True, kw_only=True)
class PlacesTask:
    """Points that columns of numbers of a table say, scaled to 0..1 by their public bounds.

    Args:
        table: a file.
        schema: the public schema as JSON.
        columns: the names of the columns, one for each coordinate.
        unit: whom the guarantee protects.

    """

    table: str
    schema: Json
    columns: Texts
    unit: PrivacyUnit = PrivacyUnit()

    def command_arguments(self) -> list[str]:
        """Return the arguments of a command on points, up to the choice of an algorithm."""
        arguments = ["evolve", _table_argument(self.table), "--schema", SCHEMA_FILE]
        arguments += option_arguments("--columns", join_column_names(self.columns))
        return arguments + _unit_arguments(self.unit)


Task = TypeVar("Task", QueryTask, LearningTask, PlacesTask)


@dataclass(frozen=True, kw_only=True)
class ExperimentGrid(Generic[Task]):
    """Experiments on one task: each algorithm, by name, at each budget with each seed."""

    task: Task
    algorithms: Mapping[str, Algorithm]
    budgets: tuple[Budget, ...]
    seed: int = 0
    repeat: int = 1

    @property
    def seeds(self) -> range:
        """The seeds of every algorithm at every budget."""
        return range(self.seed, self.seed + self.repeat)

    def to_commands(self) -> Texts:
        """Return the command lines that run it, beside a file schema.json with the schema.

        Queries have one for all of it, other tasks one for each algorithm at each budget.
        """
        if isinstance(self.task, QueryTask):
            return (self._sweep_command(self.task),)
        task_arguments = self.task.command_arguments()
        seed_arguments = _seed_arguments(self.seed, self.repeat)
        return tuple(
            command_text(
                [*task_arguments, *algorithm_arguments(algorithm, budget), *seed_arguments]
            )
            for algorithm in self.algorithms.values()
            for budget in self.budgets
        )

    def _sweep_command(self, task: QueryTask) -> str:
        """Return the command line that compares the algorithms on queries."""
        arguments = [
            *query_task_arguments("sweep", task),
            "--algorithms",
            ",".join(self.algorithms),
        ]
        for name, algorithm in self.algorithms.items():
            for parameter, value in chosen_parameters(algorithm).items():
                arguments += ["--set", f"{name}.{parameter}={value}"]
        epsilons = ",".join(_number_text(budget.epsilon) for budget in self.budgets)
        arguments += ["--epsilons", epsilons, "--delta", _number_text(self.budgets[0].delta)]
        return command_text([*arguments, *_seed_arguments(self.seed, self.repeat)])


def command_text(arguments: Sequence[str]) -> str:
    """Return the command line of these arguments, each quoted where a shell needs it."""
    return shlex.join(["python", "-m", "dpcore", *arguments])


def chosen_parameters(algorithm: Algorithm) -> dict[str, Any]:
    """Return the parameters of an algorithm that are not left to the plan, by name."""
    values = parameter_values(algorithm)
    return {name: value for name, value in values.items() if value is not None}


def option_arguments(name: str, value: str) -> list[str]:
    """Return the arguments of an option with its value, also where that begins with a dash."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def query_task_arguments(command: str, task: QueryTask) -> list[str]:
    """Return the arguments of a command about queries, up to the choice of an algorithm."""
    arguments = [command, _table_argument(task.table), "--schema", SCHEMA_FILE]
    if task.columns:
        arguments += option_arguments("--columns", join_column_names(task.columns))
    for text in task.queries:
        arguments += option_arguments("--queries", text)
    if task.schema_share is not None:
        arguments += ["--schema-share", repr(task.schema_share)]
    arguments += _unit_arguments(task.unit)
    if task.unit.person is not None:
        arguments += ["--count", PEOPLE if task.unit.counts_people else ROWS]
    if task.unit.row_totals:
        arguments += ["--row-totals"]
    if task.unit.person_columns:
        arguments += option_arguments(
            "--person-columns", join_column_names(task.unit.person_columns)
        )
    if task.unit.time_column is not None:
        arguments += option_arguments("--time-column", task.unit.time_column)
    if task.start is not None:
        arguments += option_arguments("--start", task.start)
    if task.start_support:
        arguments += ["--start-support"]
    if task.stream is not None:
        arguments += ["--stream" if task.stream else "--no-stream"]
    return arguments


def algorithm_arguments(algorithm: Algorithm, budget: Budget) -> list[str]:
    """Return the arguments of a command that state an algorithm, its settings and the budget."""
    arguments = ["--algorithm", registered_name(algorithm)]
    arguments += ["--epsilon", _number_text(budget.epsilon), "--delta", _number_text(budget.delta)]
    for name, value in chosen_parameters(algorithm).items():
        arguments += ["--set", f"{name}={value}"]
    return arguments


def _seed_arguments(seed: int, repeat: int) -> list[str]:
    """Return the arguments of a command that state its seeds."""
    return ["--seed", str(seed), "--repeat", str(repeat)]


def _unit_arguments(unit: PrivacyUnit) -> list[str]:
    """Return the arguments of a command that state whom the guarantee protects."""
    arguments = []
    if unit.person is not None:
        arguments += option_arguments("--person", unit.person)
    if unit != PrivacyUnit():
        arguments += ["--most-rows", str(unit.most_rows)]
    return arguments


def _table_argument(table: str) -> str:
    """Return the path of a table as a command takes it: a dash in front would be an option."""
    return f"./{table}" if table.startswith("-") else table


def _number_text(value: float) -> str:
    """Return a number as a person writes it, where that is the same number."""
    text = f"{value:g}"
    return text if float(text) == value else repr(value)
