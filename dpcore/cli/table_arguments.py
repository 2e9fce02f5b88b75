"""Handle the arguments shared by `run` and `sweep`: table and queries; format numbers."""

import os
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .. import (
    ALGORITHMS,
    Budget,
    Domain,
    InputError,
    PrivacyUnit,
    QueryRelease,
    Rows,
    read_json,
    read_queries,
    read_table,
    source_at,
)
from ..accuracy.work_forecast import (
    MIN_SECONDS_TO_MENTION,
    describe_forecast,
    forecast_affordable_run,
)
from ..algorithms import Algorithm, algorithms_for_problem
from ..algorithms.schema_measurement.split_budget import SCHEMA_SHARE_RANGE
from ..core.parameters import build_from_texts
from ..core.types import Array, Json
from ..data.readers import TEXT_ENDINGS, LoadedTable, load_table, table_ending
from ..data.sources.database_source import connect_database, is_database_address
from ..data.sources.gathered_counts import GatheredCounts, count_violations
from ..data.sources.open_source import is_large_table
from ..data.sources.source import Source
from ..evaluation.experiment import QueryTask
from ..evaluation.release_errors import Errors
from ..problems import PublicStart
from ..queries import Workload
from ..queries.parse_queries import QUERY_FORMS_HELP, split_column_names
from ..release.preparation import encode_table
from ..release.public_start import StartTable
from ..schema.text_format import DELIMITER_NAMES, TextFormat
from .arguments import (
    COUNT_ARGUMENT,
    PERSON_ARGUMENTS,
    PERSON_COLUMNS_ARGUMENT,
    ROW_TOTALS_ARGUMENT,
    TIME_COLUMN_ARGUMENT,
    argument,
    finite_number,
    flag,
    privacy_unit_of,
)
from .output_files import ProgressLine, print_message

TABLE_HELP = (
    "a .csv, .tsv or .parquet file, a folder of .parquet files, or duckdb://FILE#TABLE, "
    "postgres://…#TABLE"
)


_SCHEMA_SHARE_HELP = (
    'how much of the budget measures what the schema leaves "private" (default: '
    f"{SCHEMA_SHARE_RANGE[0]:g} to {SCHEMA_SHARE_RANGE[1]:g}, "
    "by the numbers of columns and rows)"
)
_COLUMNS_HELP = (
    "only these columns of the schema (default: all); a name with a comma or a quote is put in "
    'double quotes, a quote in it twice: \'"income, net","the ""real"" one",age\''
)
QUERY_ARGUMENTS = (
    argument("--schema", "S.json", "the public schema, or a {NAME: size} file", required=True),
    argument("--schema-share", "S", _SCHEMA_SHARE_HELP, type=finite_number),
    argument("--columns", "a,b,c", _COLUMNS_HELP),
    argument("--queries", "Q", QUERY_FORMS_HELP, required=True, action="append"),
)
_STREAM_HELP = (
    "read the table in parts, whatever its size, or never (default: a folder, and what is large)"
)
TASK_ARGUMENTS = (
    argument("table", "TABLE", TABLE_HELP),
    argument("--stream", None, _STREAM_HELP, action=BooleanOptionalAction),
    *QUERY_ARGUMENTS,
    *PERSON_ARGUMENTS,
    COUNT_ARGUMENT,
    ROW_TOTALS_ARGUMENT,
    PERSON_COLUMNS_ARGUMENT,
    TIME_COLUMN_ARGUMENT,
    argument("--start", "PUBLIC", "a public table of the same schema to start from"),
    flag("--start-support", "combinations that --start lacks stay empty"),
)


def task_from_arguments(args: Namespace, *, require_known: bool = False) -> QueryTask:
    """Return the task that TASK_ARGUMENTS state; see `queries_from_arguments`."""
    return replace(
        queries_from_arguments(args, args.table, require_known=require_known),
        unit=privacy_unit_of(args),
        start=args.start,
        start_support=args.start_support,
        stream=args.stream,
    )


def queries_from_arguments(
    args: Namespace, table: str, *, require_known: bool = False
) -> QueryTask:
    """Return the task about a table that QUERY_ARGUMENTS state, with its schema checked.

    InputError for a schema with private parts where all of it is `require_known`.
    """
    task = QueryTask(
        table=table,
        schema=read_json(args.schema),
        queries=tuple(args.queries),
        columns=tuple(split_column_names(args.columns)) if args.columns else (),
        schema_share=args.schema_share,
    )
    if task.partial_schema is not None and require_known:
        reason = "parts of the schema are private; only run, sweep and release measure them"
        raise InputError(f"{args.schema}: {reason}")
    if task.partial_schema is None and task.schema_share is not None:
        raise InputError("--schema-share: nothing of this schema is private")
    return task


def load_workload(task: QueryTask) -> Workload:
    """Return the workload of a task, in the domain in which it is planned.

    Notes on reading the queries go to stderr, unless they are read again in a measured schema.
    """
    workload, notes = read_queries(task.queries, task.planning_domain)
    for note in notes if task.partial_schema is None else ():
        print_message("note", note)
    return workload


def open_table(
    task: QueryTask, format: TextFormat, *, in_memory: bool = False
) -> LoadedTable | Source:
    """Return the table in memory, or its source where it is large, a folder, or read in parts.

    What needs the `in_memory` table is read so, however large it is, unless parts were asked for.
    """
    table = task.table
    if is_database_address(table):
        return connect_database(table)
    in_memory = (in_memory or task.unit.person is not None) and not os.path.isdir(table)
    if not (task.stream or (task.stream is None and not in_memory and is_large_table(table))):
        return load_table(table, format=format)
    return source_at(table, format)


def table_request_fields(table: LoadedTable | Source, path: str, format: TextFormat) -> Json:
    """Return the fields of a `BudgetRequest` about the table at a path.

    The table was read by `format`.
    """
    read_again = source_at if isinstance(table, Source) else read_table
    other_formats = [
        replace(format, delimiter=delimiter)
        for delimiter in ("", *DELIMITER_NAMES)
        if delimiter != format.delimiter
    ]
    is_text = table_ending(path) in TEXT_ENDINGS
    other_readers = (
        tuple(partial(read_again, path, format=other) for other in other_formats) if is_text else ()
    )
    if isinstance(table, Source):
        return {"frame": table, "readings": other_readers}
    return {"frame": table.frame, "sha256": table.sha256, "readings": other_readers}


def count_source(source: Source, workload: Workload, unit: PrivacyUnit) -> Rows | GatheredCounts:
    """Return a source's counts in a workload's domain; progress goes to stderr."""
    progress = ProgressLine()

    def show_progress(rows: float, _total: float | None) -> None:
        progress.show(
            lambda elapsed: f"{rows:,} rows read, {rows / max(elapsed, 1e-9):,.0f} a second"
        )

    rows = encode_table(source, workload, unit, show_progress)
    progress.clear()
    return rows


def read_problem_and_rows(
    task: QueryTask,
    workload: Workload,
    choose_counter: Callable[[Source], Source] = lambda source: source,
) -> tuple[QueryRelease, Rows | GatheredCounts]:
    """Return the problem about these queries, and the rows.

    `choose_counter` chooses who counts a source.
    """
    domain = workload.domain
    unit = task.unit
    table = open_table(task, domain.file)
    if isinstance(table, LoadedTable):
        rows = encode_table(table.frame, workload, unit)
    else:
        rows = count_source(choose_counter(table) if unit.person is None else table, workload, unit)
    for constraint, count in count_violations(domain, rows):
        noun = "people" if unit.counts_people else "rows"
        broken_text = f"{count:,} of {rows.n:,} {noun} break {constraint.description!r}"
        print_message(
            "uses real data – do not publish",
            f"{broken_text}; they are counted as they are, and no synthetic row is like them",
        )
    return QueryRelease(workload, rows.n, unit.group, read_start_distribution(task, domain)), rows


def read_start_distribution(task: QueryTask, domain: Domain) -> Array | PublicStart | None:
    """Return the distribution of the public table to start from; None if no table is named."""
    start = read_start_table(task, domain)
    return None if start is None else start.distribution


def read_start_table(task: QueryTask, domain: Domain) -> StartTable | None:
    """Return the public table to start from, with its content; None if none is named."""
    if task.start is None:
        return None
    table = load_table(task.start)
    name = Path(task.start).name
    return StartTable.of(name, table.frame, domain, table.sha256, support=task.start_support)


def print_forecast(algorithm: Algorithm, problem: QueryRelease, budget: Budget) -> None:
    """Print a rough forecast of a long run; InputError where it exceeds the machine's memory."""
    seconds, bytes_needed = forecast_affordable_run(algorithm, problem, budget)
    if seconds >= MIN_SECONDS_TO_MENTION:
        print_message(
            "forecast", f"{describe_forecast(seconds, bytes_needed)}, from public numbers"
        )


def build_algorithm(name: str, settings: Sequence[str], problem: type) -> Any:
    """Return the algorithm called `name` for a kind of problem, set by NAME=VALUE texts.

    InputError lists the options.
    """
    algorithms = algorithms_for_problem(problem)
    if name not in algorithms:
        complaint = (
            f"{name!r} solves another kind of problem"
            if name in ALGORITHMS
            else f"there is no algorithm {name!r}"
        )
        raise InputError(f"{complaint}; the algorithms are {', '.join(algorithms)}")
    return build_from_texts(algorithms[name], dict(parse_setting(text) for text in settings))


def parse_setting(text: str) -> tuple[str, str]:
    """Return NAME and VALUE of a text NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"--set {text!r} is not NAME=VALUE")
    return name, value


def usefulness_text(errors: Errors) -> str:
    """Return a line on how useful answers with these errors are; empty where no number is known."""
    parts = []
    if errors.as_exact_as_sample is not None:
        parts.append(f"as exact as a sample of {100 * errors.as_exact_as_sample:.3g}% of the table")
    if errors.k_marginal is not None:
        parts.append(f"K-marginal score {errors.k_marginal:.0f} of 1000")
    return ", ".join(parts)


def format_value(value: Any) -> str:
    """Return a number as four digits, "-" for None."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def format_columns(values: Iterable[Any], width: int = 11) -> str:
    """Return values side by side, as `format_value`, each in `width` characters."""
    return " ".join(f"{format_value(value):>{width}}" for value in values)
