"""The arguments that `run` and `sweep` share: the table and the questions; and how numbers are shown."""

import os
from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    domain_from_json,
    read_json,
    read_queries,
    read_table,
    source_at,
)
from ..accuracy.work_forecast import SAID, affordable, words
from ..algorithms import Algorithm, solving
from ..algorithms.schema_measurement.measurement_plan import SHARES
from ..core.parameters import build
from ..core.types import Array, Json
from ..data.readers import ENDINGS, LoadedTable, read
from ..data.sources.database_source import connect, is_database
from ..data.sources.gathered_counts import Counts, broken
from ..data.sources.open_source import is_large
from ..data.sources.source import Source
from ..problems import PublicStart
from ..queries import Workload
from ..queries.parse_queries import HELP, split_names
from ..release.preparation import records_of
from ..release.public_start import StartTable
from ..schema.partial_schema import OpenSchema, is_open, open_schema_from_json
from ..schema.text_format import DELIMITERS, TextFormat
from .arguments import PERSON, argument, flag, real, unit_of
from .output_files import Progress, tell

TEXTS = [ending for ending in ENDINGS if ending not in (".xlsx", ".parquet")]
TABLE = "a .csv, .tsv or .parquet file, a folder of .parquet files, or duckdb://FILE#TABLE, postgres://…#TABLE"


_SHARE = (
    f'how much of the budget measures what the schema leaves "private" (default: {SHARES[0]:g} to {SHARES[1]:g}, '
    "by the numbers of columns and rows)"
)
QUESTIONS = (
    argument("--schema", "S.json", "the public schema, or a {NAME: size} file", required=True),
    argument("--schema-share", "S", _SHARE, type=real),
    argument("--columns", "a,b,c", "only these columns of the schema (default: all)"),
    argument("--queries", "Q", HELP, required=True, action="append"),
)
_STREAM = "read the table in parts, whatever its size, or never (default: a folder, and what is large)"
TASK = (
    argument("table", "TABLE", TABLE),
    argument("--stream", None, _STREAM, action=BooleanOptionalAction),
    *QUESTIONS,
    *PERSON,
    argument("--start", "PUBLIC", "a public table of the same schema to start from"),
    flag("--start-support", "combinations that --start lacks stay empty"),
)


def asked(chosen: Namespace, *, known: bool = False) -> tuple[OpenSchema | None, Workload]:
    """The schema where parts of it are private, else None; and the workload of --queries, in its placeholder then.

    Notes on reading the queries go to stderr. InputError for such parts where the schema has to be `known`.
    """
    names = split_names(chosen.columns) if chosen.columns else ()
    schema_json = read_json(chosen.schema)
    parsed_schema = open_schema_from_json(schema_json) if is_open(schema_json) else domain_from_json(schema_json)
    parsed_schema = parsed_schema.project(names) if names else parsed_schema
    if isinstance(parsed_schema, OpenSchema):
        if known:
            reason = "parts of the schema are private; only run, sweep and release measure them"
            raise InputError(f"{chosen.schema}: {reason}")
        return parsed_schema, queries_in(chosen, parsed_schema.placeholder)
    if chosen.schema_share is not None:
        raise InputError("--schema-share: nothing of this schema is private")
    workload, notes = read_queries(chosen.queries, parsed_schema)
    for note in notes:
        tell("note", note)
    return None, workload


def queries_in(chosen: Namespace, domain: Domain) -> Workload:
    """The workload that --queries ask for in a domain."""
    return read_queries(chosen.queries, domain)[0]


def open_table(chosen: Namespace, format: TextFormat, *, whole: bool = False) -> LoadedTable | Source:
    """The table in memory; or its source, where it is large, a folder, or to be read in parts.

    What needs the `whole` table is read so, however large it is, unless parts were asked for.
    """
    if is_database(chosen.table):
        return connect(chosen.table)
    whole = (whole or chosen.person is not None) and not os.path.isdir(chosen.table)
    if not (chosen.stream or (chosen.stream is None and not whole and is_large(chosen.table))):
        return read(chosen.table, format=format)
    return source_at(chosen.table, format)


def table_fields(table: LoadedTable | Source, path: str, format: TextFormat) -> Json:
    """The fields of a `BudgetRequest` about the table at a path, which was read by `format`."""
    read_again = source_at if isinstance(table, Source) else read_table
    other_formats = [
        replace(format, delimiter=delimiter) for delimiter in ("", *DELIMITERS) if delimiter != format.delimiter
    ]
    is_text = Path(path).suffix.lower() in TEXTS
    other_readers = tuple(partial(read_again, path, format=other) for other in other_formats) if is_text else ()
    if isinstance(table, Source):
        return {"frame": table, "readings": other_readers}
    return {"frame": table.frame, "sha256": table.sha256, "readings": other_readers}


def counted(source: Source, workload: Workload, unit: PrivacyUnit) -> Rows | Counts:
    """A source's counts in a workload's domain; progress goes to stderr."""
    progress = Progress()

    def watch(rows: int) -> None:
        progress.say(lambda elapsed: f"{rows:,} rows read, {rows / max(elapsed, 1e-9):,.0f} a second")

    rows = records_of(source, workload, unit, watch)
    progress.clear()
    return rows


def read_task(
    chosen: Namespace, workload: Workload, spread: Callable[[Source], Source] = lambda source: source
) -> tuple[QueryRelease, Rows | Counts]:
    """The problem about these queries, and the records; `spread` chooses who counts a source."""
    domain, unit = workload.domain, unit_of(chosen)
    table = open_table(chosen, domain.file)
    if isinstance(table, LoadedTable):
        rows = records_of(table.frame, workload, unit)
    else:
        rows = counted(spread(table) if unit.person is None else table, workload, unit)
    for constraint, count in broken(domain, rows):
        broken_text = f"{count:,} of {rows.n:,} rows break {constraint.words!r}"
        tell(
            "uses real data – do not publish",
            f"{broken_text}; they are counted as they are, and no synthetic row is like them",
        )
    return QueryRelease(workload, rows.n, unit.most_rows, read_start(chosen, domain)), rows


def read_start(chosen: Namespace, domain: Domain) -> Array | PublicStart | None:
    """The public table to start from, if one is named."""
    start = start_table(chosen, domain)
    return None if start is None else start.distribution


def start_table(chosen: Namespace, domain: Domain) -> StartTable | None:
    """The public table to start from, with its content, if one is named."""
    if chosen.start is None:
        return None
    table = read(chosen.start)
    name = Path(chosen.start).name
    return StartTable.of(name, table.frame, domain, table.sha256, support=chosen.start_support)


def forecast(algorithm: Algorithm, problem: QueryRelease, budget: Budget) -> None:
    """Print a rough forecast of a long run; InputError where it exceeds the machine's memory."""
    seconds, bytes_needed = affordable(algorithm, problem, budget)
    if seconds >= SAID:
        tell("forecast", f"{words(seconds, bytes_needed)}, from public numbers")


def choose(name: str, settings: Sequence[str], problem: type) -> Any:
    """The algorithm called `name` for a kind of problem, with NAME=VALUE texts; InputError lists the options."""
    algorithms = solving(problem)
    if name not in algorithms:
        complaint = (
            f"{name!r} solves another kind of problem" if name in ALGORITHMS else f"there is no algorithm {name!r}"
        )
        raise InputError(f"{complaint}; the algorithms are {', '.join(algorithms)}")
    return build(algorithms[name], dict(setting(text) for text in settings))


def setting(text: str) -> tuple[str, str]:
    """NAME and VALUE of a text NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"--set {text!r} is not NAME=VALUE")
    return name, value


def useful(final: Mapping[str, Any]) -> str:
    """A line on how useful answers with these errors are; empty where neither number is known."""
    sample_share, score = final["as_exact_as_sample"], final["k_marginal"]
    parts = [] if sample_share is None else [f"as exact as a sample of {100 * sample_share:.3g}% of the rows"]
    return ", ".join(parts + ([] if score is None else [f"K-marginal score {score:.0f} of 1000"]))


def shown(value: Any) -> str:
    """A number as four digits, "-" for None."""
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def columns(values: Iterable[Any], width: int = 11) -> str:
    """Values side by side, as `shown`, each in a column of so many characters."""
    return " ".join(f"{shown(value):>{width}}" for value in values)
