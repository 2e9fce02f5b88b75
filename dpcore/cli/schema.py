"""Propose a schema for a table; bounds stay null for a person to fill in, unless --peek reads them off the records."""

import argparse
import json

from ..data.guessing import propose
from ..data.readers import read_table
from .files import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare TABLE and --peek."""
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    parser.add_argument("--peek", action="store_true", help="fill in bounds and values from the records: NOT private")


def execute(chosen: argparse.Namespace) -> None:
    """Print the schema to stdout, and what is still to do to stderr."""
    schema = propose(read_table(chosen.table), peek=chosen.peek)
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    if chosen.peek:
        tell("note", "bounds and values were read off the records, which is not private; the schema says so")
    else:
        tell("note", "kinds were guessed from the records: check that they are what everybody may know")
        tell("note", "fill in every null (bounds and values are public knowledge, not read off the records)")
