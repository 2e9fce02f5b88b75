"""Find out what synthetic rows are good for, at several ε: models, links, tests (uses real data: for exploring).

A quarter of the rows is held out before anything is released; models are tested on it (extra "models"). Beside each
number are the real table's, that of a sample as exact as the release, and what knowing nothing gives. Files are kept
up to date, so that an interrupted run goes on with --resume. For what TABLE and --queries may be, see:
python -m dpcore run --help

Two examples:
  python -m dpcore purposes people.csv --schema s.json --queries marginals:2 --algorithm aim --target income
  python -m dpcore purposes people.csv --schema s.json --queries marginals:2 --algorithm aim --epsilons 1 --json o.json
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from ..data.domain import Rows
from ..data.readers import read_json
from ..errors import InputError
from ..evaluation.purposes import TESTS, Purposes, alarms_in_words
from ..evaluation.run import Run
from ..experiments.sweep import Case, cases, identity, rows_digest, run_made, seldom, still_to_run
from ..experiments.sweep_point import SweepPoint
from ..numbers import brief
from ..params import parameter_values
from ..parsing.questions import understand
from ..problems import QueryRelease
from ..publishing.files import neutral
from ..types import Json
from .arguments import algorithm, argument, budgets_of, grid
from .files import check_writable, warn, write, write_json
from .sweep import collect_points
from .task import TASK, choose, read_task, shown

LINES = ("real", "sample", "nothing")
FIELDS = ("purpose", "epsilon", "seed", "value", "unit", *LINES)

ARGUMENTS = (
    *TASK,
    *algorithm(QueryRelease),
    argument("--target", "COLUMN", "train models that predict this column"),
    argument("--group", "COLUMN", "say how well the target is predicted in each group"),
    argument("--ask", "QUESTION", "a question of your own, such as 'age > 50'"),
    *grid(3),
)


def execute(chosen: argparse.Namespace) -> None:
    """Check everything first, then run point by point, keep the files up to date, and print the means."""
    check_writable(chosen.json, chosen.csv)
    budgets = budgets_of(chosen)
    algorithm = choose(chosen.algorithm, chosen.set, QueryRelease)
    whole, rows = read_task(chosen)
    if not isinstance(rows, Rows) or chosen.person:
        raise InputError(f"{chosen.table}: rows are held out one by one; read the table whole, and protect rows")
    question = None if chosen.ask is None else understand(chosen.ask, whole.domain)
    asked = Purposes.of(whole.domain, rows, target=chosen.target, group=chosen.group, question=question)
    problem = QueryRelease(whole.workload, asked.train.n, whole.group, whole.start)
    seeds = range(chosen.seed, chosen.seed + chosen.repeat)
    planned = cases({chosen.algorithm: algorithm}, problem, budgets, seeds)
    about = [identity(problem), parameter_values(algorithm), chosen.delta, chosen.target, chosen.group, chosen.ask]
    whole_task = json.dumps([*about, rows_digest(rows)], sort_keys=True, default=str)
    task = hashlib.sha256(whole_task.encode("utf-8", "surrogatepass")).hexdigest()
    points = _resumed(chosen.json, task, planned) if chosen.resume and Path(chosen.json).exists() else []
    warn(budgets, problem.n)
    waiting, keep = still_to_run(planned, points), partial(_write, points, chosen, task)
    try:
        collect_points(points, waiting, keep, partial(_each, asked, problem))
    finally:
        keep()
    print(f"n={problem.n} held_out={asked.test.n} algorithm={chosen.algorithm} delta={brief(chosen.delta)}")
    print("\n".join(report(points)))


def _each(
    asked: Purposes, problem: QueryRelease, waiting: Iterable[Case], watch: Callable[[], None]
) -> Iterator[SweepPoint]:
    """The point of each case as it is run here, with the scores of the purposes in place of errors."""
    for case in waiting:
        make = partial(Run, case.algorithm, problem, asked.train, case.budget, seed=case.seed, every=seldom)
        yield run_made(case, make, watch, partial(asked.summary, watch=watch))


def entries(points: Iterable[SweepPoint]) -> list[Json]:
    """One entry for each purpose of each point that is done, in the order of ε and seed."""
    done = sorted((p for p in points if p.state == "done"), key=lambda p: (p.epsilon, p.seed))
    return [{**served, "epsilon": p.epsilon, "seed": p.seed} for p in done for served in p.errors.values()]  # type: ignore[dict-item]


def report(points: list[SweepPoint]) -> list[str]:
    """The lines of a report: means over seeds of each purpose at each ε, false alarms, refusals and failures."""
    found, out = entries(points), []
    if found:
        together: dict[tuple[str, float], list[Json]] = {}
        for one in found:
            together.setdefault((f"{one['purpose']} ({one['unit']})", one["epsilon"]), []).append(one)
        out.append("compared with the real table (uses real data: do not publish), means over seeds:")
        out.append(f"{'ε':>7} " + " ".join(f"{name:>9}" for name in ("value", *LINES)) + "  purpose")
        for (purpose, epsilon), some in sorted(together.items()):
            cells = " ".join(f"{shown(_mean(some, name)):>9}" for name in ("value", *LINES))
            out.append(f"{epsilon:>7g} {cells}  {purpose}")
        for epsilon in sorted({one["epsilon"] for one in found}):
            tests = [together.get((f"test a hypothesis: {name} (false alarms)", epsilon), []) for name in TESTS]
            out.append(f"ε={epsilon:g}: {alarms_in_words(*(_mean(some, 'value') for some in tests))}")
    return out + [f"{p.state}: ε={p.epsilon:g} seed {p.seed}: {p.message}" for p in points if p.state != "done"]


def _mean(some: list[Json], name: str) -> float | None:
    there = [one[name] for one in some if one[name] is not None]
    return sum(there) / len(there) if there else None


def _write(points: list[SweepPoint], chosen: argparse.Namespace, task: str) -> None:
    """Write both files with all points so far; nothing before the first point."""
    found = entries(points)
    if found:
        write_json(chosen.json, [{**one, "task": task} for one in found])
    if found and chosen.csv:
        write(chosen.csv, neutral(pd.DataFrame(found, columns=pd.Index(FIELDS))).to_csv(index=False))


def _resumed(path: str, task: str, planned: list[Case]) -> list[SweepPoint]:
    """The points of an earlier list for the planned cases; InputError unless it is of the same task."""
    told = read_json(path)
    if not isinstance(told, list) or not all(isinstance(one, dict) and {*FIELDS, "task"} <= set(one) for one in told):
        raise InputError(f"{path[:200]}: not a list that `purposes` wrote")
    if any(one["task"] != task for one in told):
        raise InputError(f"{path[:200]} belongs to another table, target, group, question or algorithm")
    out = []
    for case in planned:
        mine = [one for one in told if (one["epsilon"], one["seed"]) == (case.budget.epsilon, case.seed)]
        served = {one["purpose"]: {name: one[name] for name in ("purpose", "value", "unit", *LINES)} for one in mine}
        if served:
            out.append(case.done({"final": served, "spent": {}, "seconds": 0.0, "memory": None}))
    return out
