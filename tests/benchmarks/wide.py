"""What tables with very many cells cost in error, seconds and memory beside what they are to cost; see TASKS.

python -m tests.benchmarks.wide network48 census20 [--seeds 1] [--epsilons 0.1,1]
python -m tests.benchmarks.wide adult15 adult14 acs35 --data FOLDER   # each table's .csv (acs35: .csv.gz), -domain.json
"""

import argparse
import math
import resource
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import forecast, make_plan
from dpcore.algorithms.forecasts import words
from dpcore.data.domain import Domain, Rows
from dpcore.data.readers import read_json, read_table
from dpcore.data.schema import domain_from_json
from dpcore.models.graphical import Graphical
from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.table_curator import TableCurator
from dpcore.problems import QueryRelease
from dpcore.releases import Histogram, Release, systematic
from dpcore.workloads import Marginals

from .wide_tables import network, redundant, wide_census

SEEDS = (0, 1, 2)
DELTA = 1e-9
ANY = math.inf
FREE = (ANY, ANY, ANY, ANY)
MILLION, DRAWING = 1_000_000, 2.0  # rows that are drawn, and seconds for that many of 15 columns


def read(name: str, suffix: str = ".csv") -> Callable[[Path], tuple[Domain, Rows]]:
    """Reads such a table and its schema out of a folder."""

    def rows(folder: Path) -> tuple[Domain, Rows]:
        domain = domain_from_json(read_json(str(folder / f"{name}-domain.json")))
        return domain, domain.encode(read_table(str(folder / f"{name}{suffix}")))

    return rows


@dataclass(frozen=True, kw_only=True)
class Task:
    """A table whose tables over so many columns are released, and by ε the largest (mean L1, max error, seconds, GB).

    Errors are those of as many synthetic rows, means over seeds; seconds are of this process's CPU, so that other work
    on the machine does not count; memory is the peak.
    """

    table: Callable[[Path], tuple[Domain, Rows]]
    ways: int
    gates: dict[float, tuple[float, float, float, float]]
    algorithm: str = "gaussian_maxent"


TASKS = {
    "adult15": Task(
        table=read("adult15"),
        ways=3,
        gates={0.1: (0.30, ANY, 120, 2), 0.3: FREE, 1.0: (0.135, 0.020, 120, 2), 3.0: FREE},
    ),
    "acs35": Task(
        table=read("acs35", ".csv.gz"),
        ways=2,
        gates={0.1: (0.17, ANY, 120, 2), 1.0: (0.045, 0.035, 120, 2)},
    ),
    "redundant26": Task(table=lambda _: redundant(60_000), ways=2, gates={0.1: FREE, 1.0: FREE}),
    "adult15-aim": Task(table=read("adult15"), ways=3, gates={1.0: (0.16, ANY, 120, 2)}, algorithm="aim"),
    "adult14": Task(table=read("adult"), ways=2, gates={1.0: (0.085, ANY, ANY, ANY)}),
    "network15": Task(table=lambda _: network(15, 10, 50_000), ways=2, gates={1.0: FREE}),
    "network48": Task(table=lambda _: network(48, 10, 50_000), ways=2, gates={1.0: (ANY, ANY, 600, 4)}),
    "network100": Task(table=lambda _: network(100, 10, 50_000), ways=2, gates={1.0: (ANY, ANY, 600, 4)}),
    "listed": Task(table=lambda _: network(7, 10, 50_000), ways=3, gates={1.0: (ANY, ANY, 90, 1)}),
    "census20": Task(table=lambda _: wide_census(50_000), ways=3, gates={0.1: FREE, 0.3: FREE, 1.0: FREE, 3.0: FREE}),
}


def measure(name: str, folder: Path, epsilon: float, seeds: tuple[int, ...]) -> None:
    """Run a task at one ε, and say what it cost."""
    task = TASKS[name]
    domain, rows = task.table(folder)
    workload = Marginals.all(domain, task.ways)
    problem, truth = QueryRelease(workload, rows.n), workload.answers_of_rows(rows)
    starts = [table.start for table in workload.tables]
    found = []
    for seed in seeds:
        algorithm = ALGORITHMS[task.algorithm]()
        plan = make_plan(algorithm, problem, Budget(epsilon, DELTA))
        said = words(*forecast(algorithm, problem, Budget(epsilon, DELTA)))
        curator = TableCurator(rows, rows.n, plan, np.random.default_rng(seed), domain=domain)
        start, busy = time.perf_counter(), time.process_time()
        last = deque(algorithm.steps(problem, plan, curator, np.random.default_rng(seed)), maxlen=1).pop()
        seconds, cpu = time.perf_counter() - start, time.process_time() - busy
        memory = peak()
        D = last.release
        gaps = np.abs(workload.answers_of_rows(drawn(D, rows.n, np.random.default_rng(seed))) - truth)
        found.append((np.add.reduceat(gaps, starts).mean(), gaps.max(), cpu, seconds, memory))
    error, worst, cpu, seconds, memory = np.mean(found, axis=0)
    held = gate(task.gates.get(epsilon, FREE), (error, worst, cpu, memory))
    print(f"{name}: {rows.n:,} rows, {len(domain.shape)} columns, {len(starts):,} tables, {workload.m:,} queries")
    print(f"  {task.algorithm} ε={epsilon:<4g} seeds {seeds}: mean L1 {error:.4f}, max {worst:.4f}, ", end="")
    print(f"{cpu:.1f} s CPU, {seconds:.1f} s, {memory:.2f} GB{held}")
    print(
        f"  forecast: {said}; {structure(workload, D, truth):.4f} of the mean L1 is left where a tree ties no columns"
    )
    if isinstance(D, Graphical):
        print(f"  {len(D.junction.cliques)} cliques, {D.junction.cells:,} cells; {drawing(D)}", flush=True)


def structure(workload: Marginals, D: Release, truth: np.ndarray) -> float:
    """Σ L1 of the tables that no clique holds, over the number of all tables: mostly what the tree cannot hold."""
    if not isinstance(D, Graphical):
        return 0.0
    gaps = np.add.reduceat(np.abs(D.answers(workload) - truth), [table.start for table in workload.tables])
    return float(sum(gaps[i] for i, axes in enumerate(workload.axes) if D.junction.home(axes) is None) / len(gaps))


def drawn(D: Release, n: int, rng: np.random.Generator) -> Rows:
    """n synthetic rows."""
    if isinstance(D, Graphical):
        return D.domain.group(D.codes(n, rng))
    assert isinstance(D, Histogram)
    return D.domain.group(np.column_stack(np.unravel_index(systematic(D.D, n, rng), D.domain.shape)))


def drawing(D: Graphical) -> str:
    """How long a million rows take."""
    start = time.process_time()
    D.codes(MILLION, np.random.default_rng(0))
    cpu = time.process_time() - start
    words = f"{MILLION:,} rows drawn in {cpu:.2f} s CPU"
    return words + gate((DRAWING,), (cpu,)) if len(D.junction.shape) == 15 else words


def gate(limits: tuple[float, ...], reached: tuple[float, ...]) -> str:
    """Whether every limit was kept."""
    if min(limits) == ANY:
        return ""
    missed = [
        f"{value:.4g} of {limit:g}" for value, limit in zip(reached, limits, strict=True) if value > limit
    ]  # fmt: skip
    return "; MISSED " + ", ".join(missed) if missed else "; held"


def peak() -> float:
    """The largest memory that this process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Run the tasks named, each ε in a process of its own, as peaks are remembered for a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "tasks", nargs="*", metavar="TASK", default=[t for t in TASKS if not t.startswith(("adult", "acs"))]
    )
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--epsilons", help="0.1,1 for example; those with a gate where it is left out")
    chosen = parser.parse_args()
    if unknown := [task for task in chosen.tasks if task not in TASKS]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(TASKS)}")
    fresh = get_context("spawn")
    for name in chosen.tasks:
        for epsilon in map(float, chosen.epsilons.split(",")) if chosen.epsilons else TASKS[name].gates:
            run = fresh.Process(target=measure, args=(name, chosen.data, epsilon, SEEDS[: chosen.seeds]))
            run.start()
            run.join()
            if run.exitcode:
                raise SystemExit(f"{name} at ε = {epsilon:g} ended with code {run.exitcode}")


if __name__ == "__main__":
    main()
