"""Run one algorithm on a table and report its error against the truth (a private peek, for exploring)."""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..algorithms import ALGORITHMS, solving
from ..errors import InputError, PrivacyWarning
from ..params import build
from ..privacy.budget import Budget
from ..problems import QueryRelease, public_start
from ..run import Run
from ..schema import domain_from_json
from ..tables import limit_rows, read_json, read_table
from .queries import HELP, read_queries, split_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    parser.add_argument("--schema", required=True, metavar="S.json", help="the public schema, or a {NAME: size} file")
    parser.add_argument("--columns", metavar="a,b,c", help="only these columns of the schema (default: all)")
    parser.add_argument("--queries", required=True, action="append", metavar="Q", help=HELP)
    parser.add_argument("--person", metavar="COLUMN", help="protect people, not rows: the column that names the person")
    parser.add_argument(
        "--most-rows", type=int, default=1, metavar="B", help="rows one person can have; more are left out"
    )
    parser.add_argument("--start", metavar="PUBLIC", help="a public table of the same schema to start from")
    parser.add_argument(
        "--start-support", action="store_true", help="cells that the public table lacks stay empty (with --start)"
    )
    parser.add_argument("--algorithm", required=True, metavar="NAME", help=f"one of {', '.join(solving(QueryRelease))}")
    parser.add_argument("--epsilon", required=True, type=float, help="privacy budget ε > 0")
    parser.add_argument("--delta", type=float, default=1e-9, help="privacy budget δ in [0, 1) (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the algorithm")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run (default: 0)")
    parser.add_argument("--repeat", type=int, metavar="R", help="R runs with seeds seed, seed + 1, …")
    parser.add_argument("--json", metavar="out.json", help="write the run, or with --repeat a list of runs")
    parser.add_argument("--synthetic", metavar="out.csv", help="write synthetic rows (of the first seed)")
    parser.add_argument("--rows", type=int, metavar="N", help="how many synthetic rows (default: as many as records)")


def execute(chosen: argparse.Namespace) -> None:
    """Check everything public first, then run, then write."""
    for name, low in (("repeat", 1), ("rows", 1), ("most_rows", 1), ("seed", 0)):
        value = getattr(chosen, name)
        if value is not None and value < low:
            raise InputError(f"--{name.replace('_', '-')} {value} must be at least {low}")
    for target in (chosen.json, chosen.synthetic):
        _check_writable(target)
    budget = Budget(chosen.epsilon, chosen.delta)
    algorithm = choose(chosen.algorithm, chosen.set, QueryRelease)
    domain = domain_from_json(read_json(chosen.schema))
    if chosen.columns:
        domain = domain.project(split_names(chosen.columns))
    workload, notes = read_queries(chosen.queries, domain)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    table = read_table(chosen.table)
    if chosen.person is not None:
        table = limit_rows(table, chosen.person, chosen.most_rows)
    rows = domain.encode(table)
    start = chosen.start and public_start(domain, read_table(chosen.start), support=chosen.start_support)
    problem = QueryRelease(workload, rows.n, chosen.most_rows, start)
    runs = []
    for seed in range(chosen.seed, chosen.seed + (chosen.repeat or 1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PrivacyWarning)
            run = Run(algorithm, problem, rows, budget, seed=seed)
        for caution in caught if not runs else []:
            print(f"warning: {caution.message}", file=sys.stderr)
        _follow(run)
        if not runs and chosen.synthetic:
            _write(chosen.synthetic, run.sample(chosen.rows).to_csv(index=False))
        runs.append(run.to_json())
    if chosen.json:
        _write(chosen.json, json.dumps(runs if chosen.repeat else runs[0], indent=1) + "\n")
    _print_table(runs)


def choose(name: str, settings: Sequence[str], problem: type) -> Any:
    """The algorithm called `name` for one kind of problem, from texts NAME=VALUE; InputError lists what there is."""
    known = solving(problem)
    if name not in known:
        which = f"{name!r} solves another kind of problem" if name in ALGORITHMS else f"there is no algorithm {name!r}"
        raise InputError(f"{which}; the algorithms are {', '.join(known)}")
    return build(known[name], dict(_setting(text) for text in settings))


def _follow(run: Run) -> None:
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


def _print_table(runs: list[dict[str, Any]]) -> None:
    first = runs[0]
    settings = ", ".join(f"{name}={_shown(value)}" for name, value in first["parameters"].items())
    spent = first["spent"]
    print(f"{first['algorithm']}: {settings}")
    print(f"n={first['n']} cells={first['cells']} queries={first['queries']}")
    cost = f"mu={spent['mu']:.6g}" if "mu" in spent else f"rho={spent['rho']:.6g}"
    print(f"spent: epsilon={spent['epsilon']:.6g} delta={spent['delta']:g} {cost} ({spent['accounting']})")
    print("errors against the real table (private peek, do not publish):")
    names = ("max_error", "mean_error", "rmse", "mean_l1")
    print("  seed " + " ".join(f"{name:>11}" for name in (*names, "seconds")))
    for run in runs:
        cells = [run["final"][name] for name in names] + [run["seconds"]]
        print(f"{run['seed']:>6} " + " ".join(f"{_shown(cell):>11}" for cell in cells))
    if len(runs) > 1:
        columns = [[run["final"][name] for run in runs] for name in names] + [[run["seconds"] for run in runs]]
        means = [None if None in column else sum(column) / len(column) for column in columns]
        print("  mean " + " ".join(f"{_shown(cell):>11}" for cell in means))


def _shown(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text!r} is not NAME=VALUE")
    return name, value


def _check_writable(path: str | None) -> None:
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


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path[:200]}: cannot be written: {error.strerror}") from None
