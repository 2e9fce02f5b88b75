"""What tables with more cells than can be listed cost in error, seconds and memory, scored on synthetic rows.

python -m tests.benchmarks.wide                                  # generated networks of 15, 48 and 100 columns
python -m tests.benchmarks.wide --table wide.csv --schema wide-domain.json --ways 3 [--epsilons 0.1,1] [--algorithm aim]
"""

import argparse
import math
import resource
import time

import numpy as np

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.base import make_plan
from dpcore.data.domain import Domain, Rows
from dpcore.data.readers import read_json, read_table
from dpcore.data.schema import domain_from_json
from dpcore.models.graphical import Graphical
from dpcore.privacy.accounting.budget import Budget
from dpcore.privacy.curator import Curator
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals

SEEDS = (0, 1, 2)
DELTA = 1e-9
# A task of n records and m queries, at δ = 1e-9, and what it is to reach there by ε: (mean L1, max error, seconds, GB).
TASK, ANY = (48_842, 2_647_508), math.inf
GATES = {
    ("gaussian_maxent", 0.1): (0.30, ANY, 120, 2),
    ("gaussian_maxent", 1.0): (0.135, 0.020, 120, 2),
    ("aim", 1.0): (0.16, ANY, ANY, 2),
}
DRAWING = 2.0  # seconds for a million rows of 15 columns
MILLION = 1_000_000


def network(columns: int, values: int, n: int, seed: int = 0) -> tuple[Domain, Rows]:
    """n records of a random network: each column leans on one or two of the three before it."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n, columns), dtype=int)
    for i in range(columns):
        parents = rng.choice(np.arange(max(0, i - 3), i), size=min(i, int(rng.integers(1, 3))), replace=False)
        state = np.zeros(n, dtype=int)
        for parent in parents:
            state = state * values + codes[:, parent]
        laws = np.cumsum(rng.dirichlet(np.full(values, 0.3), values ** len(parents)), axis=1)
        codes[:, i] = (rng.random(n)[:, None] > laws[state, :-1]).sum(axis=1)
    domain = domain_from_json({f"c{i}": values for i in range(columns)})
    return domain, domain.group(codes)


def measure(name: str, domain: Domain, rows: Rows, ways: int, epsilons: list[float], seeds: tuple[int, ...]) -> None:
    """Mean L1 and largest error on n synthetic rows, the seconds of the algorithm, and the tree."""
    workload = Marginals.all(domain, ways)
    problem, truth = QueryRelease(workload, rows.n), workload.answers_of_rows(rows)
    starts = [table.start for table in workload.tables]
    print(
        f"{rows.n:,} rows, {len(domain.shape)} columns, {len(starts):,} tables, {workload.m:,} queries, δ = {DELTA:g}"
    )
    for epsilon in epsilons:
        found = []
        for seed in seeds:
            algorithm = ALGORITHMS[name]()
            plan = make_plan(algorithm, problem, Budget(epsilon, DELTA))
            curator = Curator(rows, rows.n, plan, np.random.default_rng(seed), domain=domain)
            start = time.perf_counter()
            *_, last = algorithm.steps(problem, plan, curator, np.random.default_rng(seed))
            seconds = time.perf_counter() - start
            assert isinstance(last.release, Graphical)
            drawn = domain.group(last.release.codes(rows.n, np.random.default_rng(seed)))
            gaps = np.abs(workload.answers_of_rows(drawn) - truth)
            found.append((np.add.reduceat(gaps, starts).mean(), gaps.max(), seconds))
        error, worst, seconds = np.mean(found, axis=0)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        tree = last.release.junction
        held = gate(name, rows.n, workload.m, epsilon, found, memory)
        print(f"  {name} ε={epsilon:<4g} mean L1 {error:.4f}, max {worst:.4f}, {seconds:.1f} s, ", end="")
        print(f"{memory:.2f} GB; {len(tree.cliques)} cliques, {tree.cells:,} cells{held}")
    start = time.perf_counter()
    last.release.codes(MILLION, np.random.default_rng(0))
    seconds = time.perf_counter() - start
    missed = f"; MISSED {DRAWING:g} s" if len(domain.shape) == 15 and seconds > DRAWING else ""
    print(f"  {MILLION:,} rows drawn in {seconds:.2f} s{missed}")


def gate(name: str, n: int, m: int, epsilon: float, found: list, memory: float) -> str:
    """Whether the task that gates speak of was reached."""
    if (n, m) != TASK or (name, epsilon) not in GATES:
        return ""
    reached = (*np.mean(found, axis=0), memory)
    missed = [
        f"{value:.4g} of {limit:g}" for value, limit in zip(reached, GATES[name, epsilon], strict=True) if value > limit
    ]
    return "; MISSED " + ", ".join(missed) if missed else "; held"


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table")
    parser.add_argument("--schema")
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--algorithm", default="gaussian_maxent")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--epsilons", default="0.1,0.3,1,3")
    chosen = parser.parse_args()
    epsilons = [float(e) for e in chosen.epsilons.split(",")]
    if chosen.table:
        domain = domain_from_json(read_json(chosen.schema))
        rows = domain.encode(read_table(chosen.table))
        measure(chosen.algorithm, domain, rows, chosen.ways, epsilons, SEEDS[: chosen.seeds])
        return
    for columns in (15, 48, 100):
        measure(chosen.algorithm, *network(columns, 10, 50_000), 2, [1.0], SEEDS[:1])


if __name__ == "__main__":
    main()
