"""What several commands share: the arguments of a task, the choice of an algorithm, progress, and what is written.

Imports all of dpcore but the other commands.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..algorithms import ALGORITHMS, solving
from ..domain import Rows
from ..errors import InputError
from ..params import build
from ..problems import QueryRelease, public_start
from ..run import Run
from ..schema import domain_from_json
from ..tables import limit_rows, read_json, read_table
from ..workloads import Workload
from .queries import HELP, read_queries, split_names

ERRORS = ("max_error", "mean_error", "rmse", "mean_l1")


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what a table is, what is asked of it, and whom to protect."""
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    add_question_arguments(parser)
    parser.add_argument("--person", metavar="COLUMN", help="protect people, not rows: the column that names the person")
    parser.add_argument(
        "--most-rows", type=int, default=1, metavar="B", help="rows one person can have; more are left out"
    )
    parser.add_argument("--start", metavar="PUBLIC", help="a public table of the same schema to start from")
    parser.add_argument(
        "--start-support", action="store_true", help="cells that the public table lacks stay empty (with --start)"
    )


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the schema, the columns used and the queries."""
    parser.add_argument("--schema", required=True, metavar="S.json", help="the public schema, or a {NAME: size} file")
    parser.add_argument("--columns", metavar="a,b,c", help="only these columns of the schema (default: all)")
    parser.add_argument("--queries", required=True, action="append", metavar="Q", help=HELP)


def read_questions(chosen: argparse.Namespace) -> Workload:
    """The workload that the arguments describe; how questions were read is said on stderr."""
    domain = domain_from_json(read_json(chosen.schema))
    if chosen.columns:
        domain = domain.project(split_names(chosen.columns))
    workload, notes = read_queries(chosen.queries, domain)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return workload


def read_task(chosen: argparse.Namespace) -> tuple[QueryRelease, Rows]:
    """The problem and the records that the arguments describe; everything public is checked first."""
    workload = read_questions(chosen)
    table = read_table(chosen.table)
    if chosen.person is not None:
        table = limit_rows(table, chosen.person, chosen.most_rows)
    rows = workload.domain.encode(table)
    start = chosen.start and public_start(workload.domain, read_table(chosen.start), support=chosen.start_support)
    return QueryRelease(workload, rows.n, chosen.most_rows, start), rows


def choose(name: str, settings: Sequence[str], problem: type) -> Any:
    """The algorithm called `name` for one kind of problem, from texts NAME=VALUE; InputError lists what there is."""
    known = solving(problem)
    if name not in known:
        which = f"{name!r} solves another kind of problem" if name in ALGORITHMS else f"there is no algorithm {name!r}"
        raise InputError(f"{which}; the algorithms are {', '.join(known)}")
    return build(known[name], dict(_setting(text) for text in settings))


def follow(run: Run) -> None:
    """Iterate over a run; say round, error and time left on stderr, in one rewritten line or one every two seconds."""
    rounds = run.plan["rounds"]
    live = sys.stderr.isatty()
    started = spoken = time.monotonic()
    for record in run:
        now = time.monotonic()
        if now - spoken >= (0.1 if live else 2.0):
            left = (now - started) / record.t * max(rounds - record.t, 0)
            name, value = record.empirical.headline
            line = f"seed {run.seed}: round {record.t}/{rounds}, {name} {value:.4g}, {left:.0f} s left"
            print(f"\r{line:<78}" if live else line, end="" if live else "\n", file=sys.stderr, flush=True)
            spoken = now
    if live:
        print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)


def shown(value: Any) -> str:
    """A number as a table shows it."""
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text!r} is not NAME=VALUE")
    return name, value


def check_writable(path: str | None) -> None:
    """Refuse an output that could not be written before an hour was spent on it."""
    if path is None:
        return
    target = Path(path)
    try:
        writable = not target.is_dir() and os.access(target if target.exists() else target.absolute().parent, os.W_OK)
    except OSError:  # such as a name too long
        writable = False
    if not writable:
        raise InputError(f"{path[:200]}: cannot be written")


def write(path: str, text: str) -> None:
    """Write a file, or raise InputError that names it."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path[:200]}: cannot be written: {error.strerror}") from None
