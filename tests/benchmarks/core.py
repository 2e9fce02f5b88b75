"""What the core reaches on tables small and wide: errors, seconds and memory beside what they are
to be; see TASKS.

python -m tests.benchmarks.core                                           # every algorithm on a
generated census python -m tests.benchmarks.core network48 redundant26 [--seeds 1] [--epsilons
0.1,1] [--algorithms dpfw,mwem] python -m tests.benchmarks.core adult6 adult15 acs35 --data FOLDER
# a table's .csv (acs35: .csv.gz), -domain.json python -m tests.benchmarks.wide --data FOLDER   #
the wide ones of these, with the same options
"""

import argparse
import gzip
import math
import resource
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from dpcore import (
    ALGORITHMS,
    Budget,
    Domain,
    InputError,
    Marginals,
    QueryRelease,
    Rows,
    domain_from_json,
    read_json,
    read_table,
    samples,
)
from dpcore.accuracy.work_forecast import describe_forecast
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import forecast_seconds_and_bytes, make_plan
from dpcore.evaluation.error_diagnosis import nearest_in_model
from dpcore.models.graphical_model import GraphicalModel
from dpcore.privacy.curators.table_curator import TableCurator
from tests.benchmarks.measuring import took
from tests.small_problems import equal_columns_domain

EPSILONS = (0.1, 0.3, 1.0, 3.0)
ANY = math.inf


def read(name, suffix=".csv", columns=""):
    """Reads such a table and its schema out of a folder."""

    def rows(folder):
        domain = domain_from_json(read_json(str(folder / f"{name}-domain.json")))
        domain = domain.project(columns.split(",")) if columns else domain
        with (
            gzip.open(path)
            if (path := folder / f"{name}{suffix}").suffix == ".gz"
            else path.open("rb") as file
        ):
            return domain, domain.encode(read_table(file, f"{name}.csv"))

    return rows


def census(_):
    """The generated census."""
    sample = samples.census(50_000)
    return sample.domain, sample.domain.encode(sample.frame)


def network(columns, values, n):
    """n records of a random network: each column leans on one or two of the three before it."""
    rng = np.random.default_rng(0)
    codes = np.empty((n, columns), dtype=int)
    for i in range(columns):
        parents = rng.choice(
            np.arange(max(0, i - 3), i), size=min(i, int(rng.integers(1, 3))), replace=False
        )
        state = np.zeros(n, dtype=int)
        for parent in parents:
            state = state * values + codes[:, parent]
        laws = rng.dirichlet(np.full(values, 0.3), values ** len(parents))
        codes[:, i] = (rng.random(n)[:, None] > np.cumsum(laws[state], axis=1)[:, :-1]).sum(axis=1)
    domain = equal_columns_domain(columns, values)
    return domain, domain.group_rows(codes)


def redundant(n):
    """n records of twenty columns of a random network, and six more that say nearly the same of the
    first.
    """
    rng = np.random.default_rng(0)
    _, rows = network(20, 8, n)
    codes = np.repeat(rows.values, rows.weights.astype(int), axis=0)
    copies = [
        np.where(rng.random(len(codes)) < 0.02, rng.integers(8, size=len(codes)), codes[:, 0])
        for _ in range(6)
    ]
    domain = equal_columns_domain(26, 8)
    return domain, domain.group_rows(np.column_stack([codes, *copies]))


@dataclass(frozen=True)
class Task:
    """A table whose tables over so many columns are released; by algorithm and ε the largest mean
    L1, max error,
    seconds and GB, as many of them as are to be kept.

    Errors are those of as many synthetic rows where rows can be drawn, means over seeds; seconds
    are of this process's CPU, so that other work on the machine does not count; memory is the peak
    with the errors, and a forecast's that beside what was used before.
    """

    table: Callable[[Path], tuple[Domain, Rows]]
    ways: int
    gates: dict[str, dict[float, tuple[float, ...]]]


SIX = "workclass,education-num,marital-status,race,sex,income>50K"
TASKS = {
    "census": Task(
        census,
        3,
        {name: dict.fromkeys(EPSILONS, ()) for name in algorithms_for_problem(QueryRelease)},
    ),
    "adult6": Task(
        read("adult", columns=SIX),
        3,
        {
            "gaussian_maxent": {
                0.1: (0.20, 0.014),
                0.3: (0.088, 0.0052),
                1.0: (0.034, 0.0017),
                3.0: (0.021, 0.0010),
            },
            "dpfw": {1.0: (ANY, 0.03)},
            "dpam": {1.0: (ANY, 0.006)},
            "mwem": {1.0: (ANY, 0.0148)},
            "pep": {1.0: (0.170, 0.0121)},
            "aim": {
                1.0: (0.0466, 0.0036)
            },  # its published code, for added records: 0.0388, 0.00300
            "fem": {1.0: (1.0, 0.1)},
            **dict.fromkeys(("gem", "rap"), {1.0: (0.6, 0.05)}),
            **dict.fromkeys(("pmw", "dualquery", "dqrs", "sepfem"), {1.0: (1.2, 0.2)}),
        },
    ),
    "adult15": Task(
        read("adult15"),
        3,
        {
            "gaussian_maxent": {
                0.1: (0.29, ANY, 120, 2),
                0.3: (),
                1.0: (0.1235, 0.0175, 120, 2),
                3.0: (),
            },
            "aim": {1.0: (0.16, ANY, 120, 2)},
        },
    ),
    "acs35": Task(
        read("acs35", ".csv.gz"),
        2,
        {"gaussian_maxent": {0.1: (0.17, ANY, 120, 2), 1.0: (0.045, 0.035, 120, 2)}},
    ),
    "redundant26": Task(
        lambda _: redundant(170_000), 3, {"gaussian_maxent": {1.0: (ANY, ANY, 120, 2)}}
    ),
    "network48": Task(
        lambda _: network(48, 10, 50_000), 2, {"gaussian_maxent": {1.0: (ANY, ANY, 600, 4)}}
    ),
    "listed": Task(
        lambda _: network(7, 10, 50_000), 3, {"gaussian_maxent": {1.0: (ANY, ANY, 90, 1)}}
    ),
}


def peak():
    """The most memory that this process has used, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure(where, name, folder, epsilon, seeds):
    """Run an algorithm on a task at one ε, and print what it cost."""
    task = TASKS[where]
    (domain, rows), before = task.table(folder), peak()
    workload = Marginals.all(domain, task.ways)
    budget = Budget(epsilon, 1e-9)
    algorithm = ALGORITHMS[name]()
    problem = QueryRelease(workload, rows.n)
    truth = workload.answers_of_rows(rows)
    starts = [table.start for table in workload.tables]
    found = []
    last = None
    try:
        plan = make_plan(algorithm, problem, budget)
        foretold = describe_forecast(*forecast_seconds_and_bytes(algorithm, problem, budget))
    except InputError as error:
        print(f"  {name:>16} ε={epsilon:<4g} {error}")
        return
    for seed in range(seeds):
        curator = TableCurator(rows, rows.n, plan, np.random.default_rng(seed), domain=domain)
        steps = algorithm.steps(problem, plan, curator, np.random.default_rng(seed))
        last, _, cpu = took(lambda steps=steps: deque(steps, maxlen=1).pop().release)
        try:
            answers = workload.answers_of_rows(
                domain.encode(last.sample(rows.n, np.random.default_rng(seed)))
            )
        except InputError:  # answers of no distribution
            answers = last.answers(workload)
        gaps = np.abs(answers - truth)
        found.append((np.add.reduceat(gaps, starts).mean(), gaps.max(), cpu, peak()))
    reached = np.mean(found, axis=0)
    limits = task.gates.get(name, {}).get(epsilon, ())
    missed = [
        f"{value:.4g} of {limit:g}"
        for value, limit in zip(reached, limits, strict=False)
        if value > limit
    ]
    held = f"; MISSED {', '.join(missed)}" if missed else "; held" * bool(limits)
    print(f"  {name:>16} ε={epsilon:<4g} mean L1 {reached[0]:.4f}, max {reached[1]:.4f}, ", end="")
    print(f"{reached[2]:.1f} s CPU, {reached[3]:.2f} GB{held}", end="")
    print(
        f"; {reached[3] - before:.2f} GB beside the program's own; forecast: {foretold}", flush=True
    )
    if isinstance(last, GraphicalModel) and (best := nearest_in_model(last, rows)) is not None:
        left = np.add.reduceat(np.abs(best.answers(workload) - truth), starts).mean()
        print(
            f"    {len(last.junction.cliques)} cliques, {last.junction.cells:,} cells; of the "
            f"mean L1 {left:.4f} is"
        )
        print(
            f"    structure, which the tree cannot hold, and {reached[0] - left:.4f} noise and "
            "the fit"
        )
        _, _, cpu = took(lambda: last.sample_codes(1_000_000, np.random.default_rng(0)))
        print(f"    a million rows in {cpu:.2f} s CPU", flush=True)


def main(*tasks):
    """Run the tasks named, or these, each ε in a process of its own, as peaks are remembered for a
    process.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", default=tasks)
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--epsilons", help="0.1,1 for example; those with a gate where it is left out"
    )
    parser.add_argument(
        "--algorithms", help="dpfw,mwem for example; those with a gate where it is left out"
    )
    chosen = parser.parse_args()
    unknown = [task for task in chosen.tasks if task not in TASKS]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(TASKS)}")
    fresh = get_context("spawn")
    for task in chosen.tasks:
        print(task)
        gates = TASKS[task].gates
        for name in chosen.algorithms.split(",") if chosen.algorithms else gates:
            for epsilon in (
                map(float, chosen.epsilons.split(",")) if chosen.epsilons else gates[name]
            ):
                run = fresh.Process(
                    target=measure, args=(task, name, chosen.data, epsilon, chosen.seeds)
                )
                run.start()
                run.join()
                if run.exitcode:
                    raise SystemExit(
                        f"{task}: {name} at ε = {epsilon:g} ended with code {run.exitcode}"
                    )


if __name__ == "__main__":
    main("census")
