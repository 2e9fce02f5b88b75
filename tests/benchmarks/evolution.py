"""What Private Evolution and PSMM reach: the paper's figures, the table recipe, and costs.

python -m tests.benchmarks.evolution                     # points only, some minutes
python -m tests.benchmarks.evolution --table adult.csv --schema adult-domain.json
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from dpcore.algorithms import ALGORITHMS
from dpcore.algorithms.evolution_parts import PRESETS, Given
from dpcore.params import build
from dpcore.privacy.budget import Budget
from dpcore.problems import PointRelease, QueryRelease
from dpcore.regions import Ball, point_rows
from dpcore.run import Run
from dpcore.schema import domain_from_json
from dpcore.tables import read_json, read_table
from dpcore.transport import bounded_lipschitz
from dpcore.workloads import Marginals

SIMULATIONS = PRESETS["simulations"]
PE = ALGORITHMS["private_evolution"]
BUDGET = Budget(1.0, 1e-4)
# Reference means of 100 runs with their standard errors: n, settings, mean, error.
FIGURE_3 = [
    (n, {"steps": str(T)}, mean, error)
    for n, row in {
        500: {2: (0.307, 0.009), 4: (0.217, 0.007), 8: (0.205, 0.005), 12: (0.214, 0.005), 30: (0.263, 0.007)},
        1000: {2: (0.281, 0.007), 4: (0.189, 0.006), 8: (0.161, 0.004), 14: (0.163, 0.003), 30: (0.200, 0.004)},
        2000: {2: (0.286, 0.006), 4: (0.159, 0.004), 8: (0.123, 0.003), 15: (0.138, 0.003), 30: (0.156, 0.004)},
    }.items()
    for T, (mean, error) in row.items()
]
FIGURE_4 = [
    (0.02, "truncate", 0.054, 0.002), (0.02, "bounded-lipschitz", 0.030, 0.002), (0.02, "laplace", 0.0171, 0.0004),
    (0.5, "truncate", 0.161, 0.003), (0.5, "bounded-lipschitz", 0.162, 0.003), (0.5, "laplace", 0.352, 0.004),
]  # fmt: skip
PARTITION = [(1, 1000, 0.023), (2, 1000, 0.093), (3, 1000, 0.185), (2, 10_000, 0.044), (3, 10_000, 0.114)]


def points(n: int, seed: int, *, radius: float = 1.0, d: int = 2) -> tuple[PointRelease, object]:
    """n points of the positive part of the unit ball, or of a smaller ball about 0."""
    region, names = Ball(np.zeros(d), 1.0), tuple(f"x{i + 1}" for i in range(d))
    X = Ball(np.zeros(d), radius).uniform(n, np.random.default_rng(10_000 + seed))
    rows = point_rows(region, names, pd.DataFrame(X if radius < 1 else np.abs(X), columns=list(names)))
    return PointRelease(region, rows.n, names), rows


def distances(algorithm, runs: int, n: int, **shape) -> np.ndarray:
    """W1 at the end of each run (runs,)."""
    out = []
    for seed in range(runs):
        problem, rows = points(n, seed, **shape)
        out.append(Run(algorithm, problem, rows, BUDGET, seed=seed, every=10**9).finish().records[-1].empirical.w1)
    return np.array(out)


def compare(label: str, found: np.ndarray, mean: float, error: float) -> None:
    """One line: ours, the reference, and whether they agree within four standard errors."""
    own = found.std(ddof=1) / np.sqrt(len(found))
    fine = abs(found.mean() - mean) <= 4 * np.hypot(own, error)
    print(f"{label:<44} {found.mean():.4f} ± {own:.4f}   reference {mean:.4f}   {'agrees' if fine else 'DIFFERS'}")


def figures(runs: int) -> None:
    """Figures 2, 3 and 4 of the paper."""
    for n, settings, mean, error in FIGURE_3:
        compare(f"figure 3: n={n} {settings}", distances(build(PE, SIMULATIONS | settings), runs, n), mean, error)
    for T, mean, error in ((1, 0.534, 0.003), (2, 0.398, 0.003), (4, 0.214, 0.003), (14, 0.158, 0.003)):
        algorithm = PE(random=Given(np.zeros((22, 2))), rounds=14, post="truncate", sampling="iid", release="last")
        found = []
        for seed in range(runs):
            run = Run(algorithm, *points(1000, seed), BUDGET, seed=seed)
            found.append(next(r.empirical.w1 for r in run if r.t == T))
        compare(f"figure 2: all points at 0, after {T} steps", np.array(found), mean, error)
    reached = {}
    for radius, post, mean, error in FIGURE_4:
        found = distances(build(PE, SIMULATIONS | {"post": post}), runs, 1000, radius=radius)
        reached[radius, post] = found.mean()
        compare(f"figure 4: radius {radius}, {post}", found, mean, error)
    for radius, bound in ((0.02, "< 0.5"), (0.5, "> 1.8")):
        ratio = reached[radius, "laplace"] / reached[radius, "truncate"]
        print(f"radius {radius}: Laplace/truncate = {ratio:.2f} ({bound})")


def partitions(runs: int) -> None:
    """PSMM on the positive part of the ball, and our defaults of Private Evolution beside it."""
    for d, n, mean in PARTITION:
        found = distances(ALGORITHMS["psmm"](), max(3, runs // (n // 500)), n, d=d)
        print(f"psmm, d={d}, n={n}: {found.mean():.4f} (prototype {mean})")
    for n in (1000, 10_000):
        print(f"private_evolution as it comes, d=2, n={n}: {distances(PE(), max(3, runs * 300 // n), n).mean():.4f}")


def costs() -> None:
    """Seconds of the projection, and of an evolution of 100,000 points in the plane."""
    rng = np.random.default_rng(0)
    for k in (4000, 8000):
        V = np.abs(rng.normal(size=(k // 8, 2)) * 0.4)
        V = np.concatenate([V + s * rng.normal(size=V.shape) for s in (0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 0.5)])
        m = rng.multinomial(20 * k, rng.dirichlet(np.full(k, 0.2))) / (20 * k) + 2 / k * rng.normal(size=k)
        start = time.perf_counter()
        found = bounded_lipschitz(V, m, 4.0)
        print(f"projection of {k} points: {time.perf_counter() - start:.2f} s, error {found.error:.1e}")
    problem, rows = points(100_000, 0)
    run = Run(PE(), problem, rows, Budget(1.0, 1e-6), every=10**9).finish()
    print(f"100,000 points in the plane: {run.records[-1].seconds:.1f} s, W1 {run.records[-1].empirical.w1:.4f}")


def table(path: str, schema: str) -> None:
    """The recipe on all columns of a table: mean L1 of all pairs."""
    domain = domain_from_json(read_json(schema))
    rows = domain.encode(read_table(path))
    problem = QueryRelease(Marginals.all(domain, 2), rows.n)
    for epsilon, gate in ((1.0, 0.120), (3.0, 0.103)):
        runs = [
            Run(
                ALGORITHMS["private_evolution_table"](), problem, rows, Budget(epsilon, 1e-9), seed=s, every=100
            ).finish()
            for s in range(3)
        ]
        l1 = np.mean([run.records[-1].empirical.mean_l1 for run in runs])
        seconds = np.mean([run.records[-1].seconds for run in runs])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"ε = {epsilon:g}: mean L1 of pairs {l1:.4f} (at most {gate}), {seconds:.1f} s a run, {memory:.2f} GB")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table")
    parser.add_argument("--schema")
    parser.add_argument("--runs", type=int, default=60)
    chosen = parser.parse_args()
    if chosen.table:
        table(chosen.table, chosen.schema)
    else:
        figures(chosen.runs)
        partitions(chosen.runs)
        costs()


if __name__ == "__main__":
    main()
