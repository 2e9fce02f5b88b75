"""What a smaller table costs: leaving out a column or merging bins is to make no run slower.

The seconds are the median of some seeds: which tree is drawn is chance, and one of ten times the
cells takes five times as long.

python -m tests.benchmarks.smaller [--tables 8] [--algorithm gaussian_maxent] [--ways 2] [--seeds 3]
"""

import argparse
import sys
from collections import deque
from statistics import median

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, domain_from_json
from dpcore.algorithms.algorithm import make_plan
from dpcore.privacy.curators.table_curator import TableCurator
from tests.benchmarks.measuring import took

MAX_SLOWDOWN = 1.2
NOISE_SECONDS = 0.1  # of a measurement
DELTA = 1e-6
# months, sexes, wards, codes, days, costs, smokers, postcodes: with 5,000 rows the table that was
# slower without its last column
HOSPITAL = (6, 9, 8, 60, 11, 11, 3, 120)


def random_tables(count):
    """The hospital's shape, then random ones: name, number of rows, ε, and codes (n, d)."""
    yield "hospital", 1.0, HOSPITAL, related_columns(HOSPITAL, 5000, np.random.default_rng(0))
    for seed in range(1, count):
        rng = np.random.default_rng(seed)
        shape = tuple(int(size) for size in 2 ** rng.uniform(1, 6, rng.integers(5, 9)))
        rows = int(10 ** rng.uniform(3, 4.7))
        epsilon = float(rng.choice([0.3, 1.0, 3.0]))
        yield f"table {seed}", epsilon, shape, related_columns(shape, rows, rng)


def related_columns(shape, rows, rng):
    """Codes of which each column leans on the one before it."""
    columns = []
    last = rng.random(rows)
    for size in shape:
        last = (last + rng.random(rows) ** 2) / 2
        columns.append((last * size).astype(int))
    return np.column_stack(columns)


def smaller_tables(shape, codes, rng):
    """The whole table, then it without each of three columns, and with bins of three merged."""
    yield "whole", shape, codes
    columns = rng.choice(len(shape), 3, replace=False).tolist()
    if shape == HOSPITAL:
        columns[0] = len(shape) - 1
    for a in columns:
        yield f"without column {a}", shape[:a] + shape[a + 1 :], np.delete(codes, a, axis=1)
    for a in columns:
        halved = codes.copy()
        halved[:, a] //= 2
        yield (
            f"column {a} in half the bins",
            (*shape[:a], -(-shape[a] // 2), *shape[a + 1 :]),
            halved,
        )


def seconds_of_run(algorithm, shape, codes, epsilon, ways, seeds):
    """Seconds of processors of a run with each seed, and the most cells of its model."""
    domain = domain_from_json({f"c{a}": size for a, size in enumerate(shape)})
    rows = domain.group_rows(codes)
    problem = QueryRelease(Marginals.all(domain, ways), rows.n)
    plan = make_plan(algorithm, problem, Budget(epsilon, DELTA))

    def run(seed):
        curator = TableCurator(rows, rows.n, plan, np.random.default_rng(seed), domain=domain)
        steps = algorithm.steps(problem, plan, curator, np.random.default_rng(seed))
        return deque(steps, maxlen=1)

    return [took(lambda seed=seed: run(seed))[2] for seed in range(seeds)], plan["cells"]


def main():
    """Print the seconds of every table and of its smaller ones; exit code 1 if one is slower."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--algorithm", default="gaussian_maxent")
    parser.add_argument("--ways", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    algorithm = ALGORITHMS[arguments.algorithm]()
    slower = 0
    for name, epsilon, shape, codes in random_tables(arguments.tables):
        print(f"{name}: {len(codes):,} rows of {shape}, ε={epsilon:g}", flush=True)
        whole = None
        for what, smaller_shape, smaller_codes in smaller_tables(
            shape, codes, np.random.default_rng(0)
        ):
            seconds_by_seed, cells = seconds_of_run(
                algorithm, smaller_shape, smaller_codes, epsilon, arguments.ways, arguments.seeds
            )
            seconds = median(seconds_by_seed)
            whole = whole or seconds
            is_slower = seconds > MAX_SLOWDOWN * whole + NOISE_SECONDS
            slower += is_slower
            verdict = f", {seconds / whole:.1f} × the whole: MISSED" if is_slower else ""
            spread = f"{min(seconds_by_seed):.2f}..{max(seconds_by_seed):.2f}"
            print(
                f"  {what}: {seconds:.2f} s ({spread}), at most {cells:,} cells{verdict}",
                flush=True,
            )
    print(f"{slower} slower than {MAX_SLOWDOWN} × and {NOISE_SECONDS:g} s: goal 0")
    sys.exit(slower > 0)


if __name__ == "__main__":
    main()
