"""What the core reaches: errors at four ε beside what it is to reach, and costs as ratios within one run.

    python -m tests.benchmarks.core                                  # a generated table
    python -m tests.benchmarks.core --table adult.csv --schema adult-domain.json \
        --columns "workclass,education-num,marital-status,race,sex,income>50K" [--algorithms dpfw,mwem] [--jobs 2]
"""

import argparse
import math
import resource
import time
from collections.abc import Iterable
from contextlib import closing, nullcontext

import numpy as np

from dpcore.algorithms import ALGORITHMS, solving
from dpcore.cli.files import Progress
from dpcore.cli.sweep import report
from dpcore.data import samples
from dpcore.data.domain import Domain, Rows
from dpcore.data.readers import read_json, read_table
from dpcore.data.schema import domain_from_json
from dpcore.evaluation.run import Run
from dpcore.experiments.pool import WorkerPool
from dpcore.experiments.sweep import cases, sweep
from dpcore.experiments.sweep_point import Mean, SweepPoint, means
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.workloads import Explicit, Marginals

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SEEDS = (0, 1, 2)
ADULT = (48_842, 20_160, 4_667)  # n, k, m of the task that the gates speak of, at δ = 1e-9
ANY = math.inf
# What every algorithm is to reach there, by ε: (max error, mean L1), mean of three seeds.
GATES: dict[str, dict[float, tuple[float, float]]] = {
    "gaussian_maxent": {0.1: (0.014, 0.20), 0.3: (0.0052, 0.088), 1.0: (0.0017, 0.034), 3.0: (0.0010, 0.021)},
    "dpfw": {1.0: (0.03, ANY)},
    "dpam": {1.0: (0.006, ANY)},
    "mwem": {1.0: (0.0148, ANY)},
    "pep": {1.0: (0.0121, 0.170)},
    "aim": {1.0: (0.0036, 0.0466)},
    "gem": {1.0: (0.05, 0.6)},
    "rap": {1.0: (0.05, 0.6)},
    "fem": {1.0: (0.1, 1.0)},
    **{name: {1.0: (0.2, 1.2)} for name in ("pmw", "dualquery", "dqrs", "sepfem")},
}
# What AIM's published code reaches, for add/remove neighbours.
AIM = {0.1: (0.0233, 0.134), 0.3: (0.0126, 0.0777), 1.0: (0.00300, 0.0388), 3.0: (0.00269, 0.0204)}


def errors(problem: QueryRelease, rows: Rows, delta: float, names: Iterable[str], jobs: int) -> None:
    """Mean max error and mean L1 over seeds 0, 1, 2, every algorithm at four ε, beside its gate."""
    known = solving(QueryRelease)
    budgets = [Budget(epsilon, delta) for epsilon in EPSILONS]
    planned = cases({name: known[name]() for name in names}, problem, budgets, SEEDS)
    points: list[SweepPoint] = []
    progress = Progress()
    with closing(WorkerPool(jobs)) if jobs > 1 else nullcontext() as pool:
        for point in sweep(planned, problem, rows, pool=pool):
            points.append(point)
            progress.say(lambda elapsed: f"{len(points)} of {len(planned)} points, {elapsed:.0f} s")
    progress.clear()
    points.sort(key=lambda p: list(known).index(p.algorithm))
    gated = (problem.n, problem.domain.size, problem.workload.m, delta) == (*ADULT, 1e-9)
    print(f"{problem.n:,} rows, {problem.domain.size:,} cells, {problem.workload.m:,} queries, δ = {delta:g}")
    print("\n".join(report(points)))
    if gated:
        print("\ngates on this task, max error / mean L1:")
        print("\n".join(gate(mean) for mean in means(points) if mean.epsilon in GATES.get(mean.algorithm, {})))
        print("AIM's published code: " + ", ".join(f"ε={e:g} {a}/{b}" for e, (a, b) in AIM.items()))


def gate(mean: Mean) -> str:
    """One algorithm at one ε beside what it is to reach."""
    limits = GATES[mean.algorithm][mean.epsilon]
    reached = mean.errors["max_error"], mean.errors["mean_l1"]
    held = all(value is not None and value <= limit for value, limit in zip(reached, limits, strict=True))
    words = " / ".join("any" if limit == ANY else f"{limit:g}" for limit in limits)
    found = " / ".join(f"{value:.4g}" for value in reached if value is not None)
    return f"{mean.algorithm:>16} ε={mean.epsilon:<4g} {found:>18} of {words:<14} {'held' if held else 'MISSED'}"


def seconds_each(work, times: int) -> float:
    """Median seconds of `work()`."""
    spans = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spans.append(time.perf_counter() - start)
    return float(np.median(spans))


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    """The unit of the ratio: softmax as everybody writes it."""
    e = np.exp(x - x.max())
    return e / e.sum()


def iteration(problem: QueryRelease, rows: Rows, rounds: int) -> None:
    """One DPFW iteration in softmax passes over the k cells, and the peak memory in arrays of k doubles."""
    k = problem.domain.size
    q = np.random.default_rng(0).standard_normal(k)
    one_pass = seconds_each(lambda: numpy_softmax(q), 50)
    run = Run(ALGORITHMS["dpfw"](rounds=rounds), problem, rows, Budget(1.0, 1e-9), every=rounds).finish()
    each = run.records[-1].seconds / rounds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / (8 * k)
    print(f"k = {k:,}: {1000 * each:.3f} ms an iteration = {each / one_pass:.1f} softmax passes; ", end="")
    print(f"peak memory of this process = {peak:.0f} arrays of k doubles")


def row_space_passes(m: int, rank: int, k: int) -> None:
    """A pass over dependent explicit queries through their row space, in passes over the whole matrix."""
    rng = np.random.default_rng(0)
    matrix = rng.uniform(-1, 1, (m, rank)) @ rng.uniform(-1, 1, (rank, k)) / rank
    workload, D = Explicit(domain_from_json({"a": k}), matrix), rng.dirichlet(np.ones(k))
    start = time.perf_counter()
    workload.answers(D)
    once = time.perf_counter() - start
    through, whole = seconds_each(lambda: workload.answers(D), 50), seconds_each(lambda: matrix @ D, 50)
    back, all_back = seconds_each(lambda: workload.adjoint(matrix[:, 0]), 50), seconds_each(lambda: D[:m] @ matrix, 50)
    print(f"{m} queries of rank {rank} on {k:,} cells: answers {whole / through:.1f} times, adjoint ", end="")
    print(f"{all_back / back:.1f} times as fast as by the matrix; finding the rank costs {once / whole:.0f} passes")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table")
    parser.add_argument("--schema")
    parser.add_argument("--columns")
    parser.add_argument("--delta", type=float, default=1e-9)
    parser.add_argument("--algorithms", default=",".join(solving(QueryRelease)))
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.table:
        domain = domain_from_json(read_json(chosen.schema))
        domain = domain.project(chosen.columns.split(",")) if chosen.columns else domain
        rows = domain.encode(read_table(chosen.table))
    else:
        sample = samples.census(50_000)
        domain = sample.domain
        rows = domain.encode(sample.frame)
    problem = QueryRelease(Marginals.all(domain, min(3, len(domain.columns))), rows.n)
    errors(problem, rows, chosen.delta, chosen.algorithms.split(","), chosen.jobs)
    row_space_passes(2_000, 40, 5_000)
    row_space_passes(400, 400, 5_000)
    iteration(problem, rows, 500)
    binary: Domain = domain_from_json({f"b{i}": 2 for i in range(20)})
    coins = binary.group(np.random.default_rng(0).integers(0, 2, (50_000, 20)))
    iteration(QueryRelease(Marginals.all(binary, 2), coins.n), coins, 20)


if __name__ == "__main__":
    main()
