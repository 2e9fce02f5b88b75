"""Propose a schema for a table; bounds stay null, unless they are measured with --private, or
filled in with --peek.

A schema is public: it says what is public knowledge about the columns, so it must not be taken from
the data.

  {"columns": {
    "sex":    {"kind": "categorical", "values": ["Female", "Male"]},
    "age":    {"kind": "integer", "low": 17, "high": 90, "bins": 8, "out_of_range": "clip"},
    "income": {"kind": "numeric", "edges": [0, 10000, 30000, 100000], "missing": "category"},
    "joined": {"kind": "integer", "low": 2000, "high": 2030, "bins": 6, "read": "year of d/m/y"},
    "visit":  {"kind": "integer", "low": "2019-01-01", "high": "2023-12-31", "bins": "quarters",
               "read": "date of d/m/y", "form": "DD.MM.YYYY"},
    "fee":    {"kind": "numeric", "low": 0, "high": 5000, "bins": 10,
               "read": "amount, decimal comma", "form": "€ 1.000,00"}},
   "constraints": [
    {"impossible": {"age": {"to": 17}, "sex": ["Male"]}},
    {"within": ["city", "county"], "which": {"Lyon": "Rhône"}},
    {"order": ["first_year", "last_year"]}]}

Missing values and values out of range are refused unless the column says "missing": "category" or
"out_of_range": "clip". Columns that are not in the schema are never read. "read" says how a value
is read first: year, month, weekday or hour of y-m-d, d/m/y or m/d/y; "amount, decimal point" or
"amount, decimal comma", which also read (1,234.50), <0.5 and 90+; "any case"; or of codes "first
character", "first 2 characters" and so on, up to 6. Two digits of a year mean the century of the
stated range, or "first_year": 1930 says that they mean 1930 to 2029. "missing_codes": [-9, 99]
count as missing, "same": {"Male": ["M", "m"]} says which texts are one value. A plain file
{"name": size, ...} of integer codes works too.

"file" beside "columns", and --file, say how the file is read: {"header": 3}, or "none" and "width",
the number of columns; "header_lines", "skip_end", "delimiter", "spaces", "encoding", "sheet". What
is not stated is guessed here, with a note; a release guesses nothing.

A date itself is read as "date of d/m/y", or, of kind "numeric", as "date and time of d/m/y". Its
low, high and edges are days (2020-12-31) or times (2020-12-31T18:30), the last of the days
included; its bins are a number or years, quarters, months, weeks, days.

"form" says how dates and numbers are written, in the table and in synthetic rows. Of dates: YYYY or
YY, MM or M, DD or D, Mon or Month (Jan or January; MON, mon; Month[de] for Januar), hh or h, mm,
ss, AM, as in "DD.MM.YYYY", "Mon D, YYYY" or "M/D/YY h:mm AM"; without a form, digits in the order
in which they are read. Of numbers: 1000 as the column writes it, with its signs, the digits after
the point (# for one that is left out where it is 0) and its unit, as in "1,000.00", "€ 1.000,00",
"1000.## kg"; where minus does not come first, it is -1000: "(1,000.00)" or "1000-".

Constraints say which combinations cannot occur. {"from": 20, "to": 29} names the bins that lie
wholly there, null the missing values. No synthetic row breaks a constraint. A real row that breaks
one is counted as it is.

What nobody knows may be written "values": "private" or "bounds": "private" (with "bins": 16, or
"private" for bins of about as many rows each). run, sweep and release then measure it first, with
part of the same budget. "same" and "missing_codes" go with it, as public knowledge. Before anything
is measured, a note says values under how many rows will be hidden.

Two examples:
  python -m dpcore schema people.csv > schema.json
  python -m dpcore schema people.csv --private --epsilon 1 --delta 1e-6 --ledger l.sqlite > schema.json
"""

import json
from argparse import Namespace
from io import BytesIO
from itertools import chain
from typing import Any

import pandas as pd

from ... import Budget, InputError, read_json
from ...core.types import Json
from ...data.readers import LoadedTable, load_table
from ...data.table_shape import Doubt
from ...queries.parse_queries import join_column_names
from ...release.ledger.ledger_store import LedgerStore
from ...release.measured_schema import publish_schema
from ...release.request import SchemaRequest
from ...schema.inference.merges import suggest_merges_of_column
from ...schema.inference.proposal import (
    Proposal,
    has_crowded_bin,
    propose_schema,
    reading_notes,
)
from ...schema.inference.rounded_bounds import CROWDED_BIN_NOTE
from ...schema.schema_json import text_format_from_json
from ..arguments import (
    COUNT_ARGUMENT,
    DELTA_HELP,
    EPSILON_HELP,
    PERSON_ARGUMENTS,
    argument,
    finite_number,
    flag,
    ledger_arguments,
    privacy_unit_of,
)
from ..output_files import (
    ProgressLine,
    ledger_request_fields,
    print_hidden_rows,
    print_message,
)
from ..table_arguments import table_request_fields

SLOW_CELL_COUNT = 10_000_000  # cells that take seconds to look at

ARGUMENTS = (
    argument("table", "TABLE", "a text, Excel, Parquet, SPSS, Stata or SAS file"),
    argument("--epsilon", None, f"{EPSILON_HELP}, with --private", type=finite_number),
    argument("--delta", None, f"{DELTA_HELP}, with --private", type=finite_number),
    argument("--file", "JSON", 'how the file is written: \'{"encoding": "windows-1252"}\''),
    *ledger_arguments(required=False),
    *PERSON_ARGUMENTS,
    COUNT_ARGUMENT,
)
EITHER = (
    flag("--peek", "fill in bounds and values from the data: NOT protected"),
    flag("--private", "measure kinds, bounds and values privately, and pay"),
)


def execute(args: Namespace) -> None:
    """Print the schema to stdout, and the remaining tasks to stderr."""
    if args.private:
        _measure_schema(args)
        return
    if args.epsilon is not None or args.delta is not None or args.ledger:
        raise InputError("--epsilon, --delta and --ledger go with --private")
    table = load_table(args.table, stated=_stated_settings(args))
    proposal = _proposed_schema(table, args)
    schema = proposal.to_json()
    file_format = table.format.to_json()
    if file_format:
        schema = {**schema, "file": file_format}
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    for doubt in table.doubts:
        print_message("note", _doubt_message(doubt))
    if "file" in schema and args.file is None:
        print_message(
            "note",
            f"the file seems to be {table.description}, by all of its rows: check that this is so",
        )
    _print_proposal_notes(proposal, table.frame)
    if args.peek:
        print_message(
            "note",
            "bounds and values were filled in from the data, which is not protected; the schema "
            "says so",
        )
    else:
        print_message(
            "note", "kinds were guessed from the data: check that they are public knowledge"
        )
        print_message(
            "note",
            "fill in every null (bounds and values are public knowledge, not taken from the data)",
        )


def _stated_settings(args: Namespace) -> Any:
    """Return what `--file` states of the file, as the entry "file" of a schema."""
    if args.file is None:
        return {}
    settings = read_json(BytesIO(args.file.encode(errors="surrogateescape")), "--file")
    text_format_from_json(settings)
    return settings


def _doubt_message(doubt: Doubt) -> str:
    """Return a doubt in words, with the statement that would read the file otherwise."""
    if not doubt.statement:
        return doubt.text
    return f"{doubt.text}; otherwise --file '{json.dumps(doubt.statement, ensure_ascii=False)}'"


def _print_proposal_notes(proposal: Proposal, frame: pd.DataFrame) -> None:
    """Print which columns are left out and why, and what is to be known of the others."""
    for reason, names in proposal.names_by_reason.items():
        print_message("note", f"left out: {join_column_names(names)}: {reason}")
    cells_by_name = {str(name): cells for name, cells in frame.items()}
    for name, entry in proposal.columns.items():
        cells = cells_by_name[name]
        notes = [*reading_notes(proposal.guesses[name], cells)]
        if proposal.peeked and has_crowded_bin(name, cells, entry):
            notes.append(CROWDED_BIN_NOTE)
        if proposal.peeked:
            notes += _merge_notes(entry, cells)
        for note in notes:
            print_message("note", f"column {name!r}: {note}")


def _merge_notes(entry: Json, cells: pd.Series) -> list[str]:
    """Return which values may be the same, with the text that a person would add to the entry."""
    merges = suggest_merges_of_column(entry, cells)
    if not merges:
        return []
    texts = ", ".join(map(repr, chain.from_iterable(merges.values())))
    statement = json.dumps({"same": merges}, ensure_ascii=False)[1:-1]
    return [f"values that may be the same: add {statement}, and take {texts} out of its values"]


def _proposed_schema(table: LoadedTable, args: Namespace) -> Proposal:
    """Return the proposed schema, with progress by columns after a first line.

    Progress where even one column takes long.
    """
    frame = table.frame
    rows, columns = frame.shape
    if frame.size >= SLOW_CELL_COUNT:
        print_message(
            "note",
            f"{args.table}: looking at {rows:,} rows of {columns:,} columns, which takes a while",
        )
    progress = ProgressLine()

    def show_progress(done: float, _total: float | None) -> None:
        progress.show(lambda seconds: f"{done:,} of {columns:,} columns done, {seconds:.0f} s")

    try:
        return propose_schema(
            frame, peek=args.peek, stated=table.stated_columns, progress=show_progress
        )
    except InputError as error:
        raise InputError(f"{args.table}: {error}") from None
    except MemoryError:
        advice = "try a file with fewer rows of it, or with fewer columns"
        raise InputError(
            f"{args.table}: the table needs more memory than there is; {advice}"
        ) from None
    finally:
        progress.clear()


def _measure_schema(args: Namespace) -> None:
    if args.epsilon is None or args.delta is None or not args.ledger:
        raise InputError("--private needs --epsilon, --delta and --ledger")
    ledger_fields = ledger_request_fields(args, privacy_unit_of(args))
    format = text_format_from_json(_stated_settings(args))
    table = load_table(args.table, format=format)
    request = SchemaRequest(
        **table_request_fields(table, args.table, format),
        format=format,
        budget=Budget(args.epsilon, args.delta),
        **ledger_fields,
    )
    store = LedgerStore(args.ledger, create=True)
    with publish_schema(request, store, print_hidden_rows) as (schema, findings):
        print(json.dumps(schema, indent=2, ensure_ascii=False), flush=True)
    for finding in findings:
        print_message("note", f"{finding.column.name!r}: {finding.description}")
