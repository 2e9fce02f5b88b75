"""What the core reaches: errors at four ε, and costs as ratios within one run.

    python -m tests.benchmarks.core                                  # a generated table
    python -m tests.benchmarks.core --table adult.csv --schema adult-domain.json \
        --columns "workclass,education-num,marital-status,race,sex,income>50K"
"""

import argparse
import resource
import time

import numpy as np

from dpcore import samples
from dpcore.algorithms import ALGORITHMS
from dpcore.domain import Domain, Rows
from dpcore.privacy.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.run import Run
from dpcore.schema import domain_from_json
from dpcore.tables import read_json, read_table
from dpcore.workloads import Marginals

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SEEDS = (0, 1, 2)
# Adult-6: gates of this project for gaussian_maxent, and what AIM's published code reaches (max error, mean L1).
GATES = {0.1: (0.014, 0.20), 0.3: (0.0052, 0.088), 1.0: (0.0017, 0.034), 3.0: (0.0010, 0.021)}
AIM = {0.1: (0.0233, 0.134), 0.3: (0.0126, 0.078), 1.0: (0.0030, 0.039), 3.0: (0.0027, 0.020)}


def errors(problem: QueryRelease, rows: Rows, delta: float) -> None:
    """Mean max error and mean L1 over seeds 0, 1, 2, every algorithm at four ε."""
    size = f"{problem.n:,} rows, {problem.domain.size:,} cells, {problem.workload.m:,} queries"
    print(f"{size}, δ = {delta:g}, means of seeds {SEEDS}")
    print(f"{'algorithm':>16} {'ε':>5} {'max error':>10} {'mean L1':>9} {'seconds':>8}")
    for name, cls in ALGORITHMS.items():
        for epsilon in EPSILONS:
            last = [Run(cls(), problem, rows, Budget(epsilon, delta), seed=s).finish().records[-1] for s in SEEDS]
            worst = np.mean([r.empirical.max_error for r in last])
            l1, seconds = np.mean([r.empirical.mean_l1 for r in last]), np.mean([r.seconds for r in last])
            print(f"{name:>16} {epsilon:>5} {worst:>10.5f} {l1:>9.4f} {seconds:>8.3f}")
    print(f"{'gate on Adult-6':>16} " + "  ".join(f"ε={e}: {a}/{b}" for e, (a, b) in GATES.items()))
    print(f"{'AIM on Adult-6':>16} " + "  ".join(f"ε={e}: {a}/{b}" for e, (a, b) in AIM.items()))


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


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table")
    parser.add_argument("--schema")
    parser.add_argument("--columns")
    parser.add_argument("--delta", type=float, default=1e-9)
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
    errors(problem, rows, chosen.delta)
    iteration(problem, rows, 500)
    binary: Domain = domain_from_json({f"b{i}": 2 for i in range(20)})
    coins = binary.group(np.random.default_rng(0).integers(0, 2, (50_000, 20)))
    iteration(QueryRelease(Marginals.all(binary, 2), coins.n), coins, 20)


if __name__ == "__main__":
    main()
