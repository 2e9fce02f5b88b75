"""Propose a schema for a table; bounds stay null, unless they are measured with --private, or read off with --peek."""

import argparse
import json
from pathlib import Path

from ..data.guessing import propose
from ..data.readers import read, read_table
from ..errors import InputError
from ..privacy.accounting.budget import Budget
from ..publishing.ledger_store import Store
from ..publishing.private_schema import SchemaRequest, publish_schema
from .arguments import DELTA, EPSILON, add_ledger, add_person, real, unit_of
from .files import tell, total_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare TABLE, --peek, and --private with its budget and ledger."""
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--peek", action="store_true", help="fill in bounds and values from the records: NOT private")
    how.add_argument("--private", action="store_true", help="measure kinds, bounds and values privately, and pay")
    for name, words in (("epsilon", EPSILON), ("delta", DELTA)):
        parser.add_argument(f"--{name}", type=real(f"--{name}"), help=f"{words}, with --private")
    add_ledger(parser, required=False)
    add_person(parser)


def execute(chosen: argparse.Namespace) -> None:
    """Print the schema to stdout, and what is still to do to stderr."""
    if chosen.private:
        _measure(chosen)
        return
    if chosen.epsilon is not None or chosen.delta is not None or chosen.ledger:
        raise InputError("--epsilon, --delta and --ledger go with --private")
    found = read(chosen.table)
    schema = propose(found.frame, peek=chosen.peek) | ({"file": said} if (said := found.format.to_json()) else {})
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    if chosen.peek:
        tell("note", "bounds and values were read off the records, which is not private; the schema says so")
    else:
        tell("note", "kinds were guessed from the records: check that they are what everybody may know")
        tell("note", "fill in every null (bounds and values are public knowledge, not read off the records)")


def _measure(chosen: argparse.Namespace) -> None:
    if chosen.epsilon is None or chosen.delta is None or not chosen.ledger:
        raise InputError("--private needs --epsilon, --delta and --ledger")
    total = total_of(chosen)
    request = SchemaRequest(
        frame=read_table(chosen.table),
        budget=Budget(chosen.epsilon, chosen.delta),
        unit=unit_of(chosen),
        dataset=chosen.dataset,
        default_name=Path(chosen.table).stem,
        new_version=chosen.new_version,
        total=total,
    )
    schema, found = publish_schema(request, Store(chosen.ledger, create=True))
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    for one in found:
        tell("note", f"{one.column.name!r}: {one.words}")
