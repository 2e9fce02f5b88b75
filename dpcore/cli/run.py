"""Run one algorithm on a table and report its error against the truth (a private peek, for exploring)."""

import argparse
import json
from typing import Any

from ..algorithms import solving
from ..evaluation.run import ERRORS, Run
from ..problems import QueryRelease
from .arguments import add_budget, add_repeat, add_rows, add_seed, budget_of
from .files import check_writable, write
from .follow import follow, report, start
from .measured import Measured
from .task import add_task_arguments, choose, read_open, read_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    add_task_arguments(parser)
    parser.add_argument("--algorithm", required=True, metavar="NAME", help=f"one of {', '.join(solving(QueryRelease))}")
    add_budget(parser, delta=1e-9)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the algorithm")
    add_seed(parser)
    add_repeat(parser)
    parser.add_argument("--json", metavar="out.json", help="write the run, or with --repeat a list of runs")
    parser.add_argument("--synthetic", metavar="out.csv", help="write synthetic rows (of the first seed)")
    add_rows(parser)


def execute(chosen: argparse.Namespace) -> None:
    """Check everything public first, then run, then write."""
    for target in (chosen.json, chosen.synthetic):
        check_writable(target)
    budget = budget_of(chosen)
    algorithm = choose(chosen.algorithm, chosen.set, QueryRelease)
    opening = read_open(chosen)
    task = read_task(chosen) if opening is None else Measured(chosen, opening)
    runs = []
    for seed in range(chosen.seed, chosen.seed + (chosen.repeat or 1)):
        if isinstance(task, Measured):
            run = start(lambda s=seed: task.run(algorithm, budget, s), say=not runs)
        else:
            run = start(lambda s=seed: Run(algorithm, *task, budget, seed=s), say=not runs)
        follow(run)
        if not runs and chosen.synthetic:
            write(chosen.synthetic, run.sample(chosen.rows).to_csv(index=False))
        runs.append(run.to_json() | ({"schema": task.facts} if isinstance(task, Measured) else {}))
    if chosen.json:
        write(chosen.json, json.dumps(runs if chosen.repeat else runs[0], indent=1) + "\n")
    first = runs[0]
    about = f"n={first['n']} cells={first['cells']} queries={first['queries']}"
    report(runs, about, "errors against the real table", _cells)


def _cells(run: dict[str, Any]) -> dict[str, Any]:
    return {name: run["final"][name] for name in ERRORS} | {"seconds": run["seconds"]}
