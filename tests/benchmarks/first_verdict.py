"""What it takes from an uploaded file of 10⁶ rows and 35 columns to the first verdict.

python -m tests.benchmarks.first_verdict [--rows 1000000]

The steps are those of the pages, without their drawing: the file is read, a schema is guessed and
filled in from the data, the columns that Explore begins with are counted, and the default algorithm
answers all pairs of them; then again at another budget, where provisional errors on the tree of the
run before come first. Seconds are of processors. On two cores that do nothing else the first
verdict is to stand after 30 s, a later one after 3 s.
"""

import numpy as np
import pandas as pd

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, Run
from dpcore.core.job import Job
from dpcore.evaluation.run import compare_with_rows
from dpcore.schema.inference.default_columns import choose_paired_columns
from dpcore.schema.inference.repairs import FILL_IN
from pages._ui.data.file_reading import load_file, table_from_loaded
from tests.benchmarks.measuring import main, took
from tests.small_problems import seeded

FIRST_SECONDS = 30
LATER_SECONDS = 3
REGIONS = np.array(["North", "South", "East", "West", "Centre", "Abroad", "Unknown"])


def make(path, rows):
    """Write a table of linked columns: flags, places, codes, counts, amounts, a day and an ID."""
    rng = seeded(0)
    factor = rng.normal(size=rows)

    def cells(count):
        """Numbers in 0..count-1 that lean on the factor that all columns share."""
        value = 0.7 * factor + 0.7 * rng.normal(size=rows)
        return np.clip(((value + 2.5) / 5 * count).astype(int), 0, count - 1)

    columns = {f"flag{i}": np.array(["No", "Yes"])[cells(2)] for i in range(8)}
    columns |= {f"place{i}": REGIONS[cells(7)] for i in range(8)}
    columns |= {f"code{i}": cells(4 + 3 * i) for i in range(8)}
    columns |= {f"count{i}": 18 + cells(60 + i) for i in range(6)}
    columns |= {f"amount{i}": np.round(10 * np.exp(cells(50) / 10), 2) for i in range(2)}
    columns["exact"] = np.round(10 * np.exp(rng.normal(size=rows)), 2)
    columns["day"] = np.datetime_as_string(
        np.datetime64("2015-01-01") + rng.integers(0, 3000, rows)
    )
    columns["id"] = 10**6 + np.arange(rows)
    frame = pd.DataFrame(columns)
    for name in ("place3", "count2", "exact"):
        frame[name] = frame[name].astype(object).where(rng.random(rows) > 0.03)
    frame.to_csv(path, index=False)


def read(path):
    """Return the table of an uploaded file, with its guessed schema."""
    job = Job(task=None)
    with open(path, "rb") as file:
        loaded = load_file(path.name, file, {}, job)
    return table_from_loaded(loaded, path.name, {}, job)


def fill_in(table):
    """Fill a table's schema in from its rows, and confirm the guessed kinds."""
    names = [problem.column for problem in table.problems if problem.fixes[0] == FILL_IN]
    table.repair_columns(names, FILL_IN)
    table.confirm_kinds()


def start_run(problem, rows, epsilon):
    """Return a run of the default algorithm, which has made no step."""
    return Run(ALGORITHMS["gaussian_maxent"](), problem, rows, Budget(epsilon, 1e-9))


def verdict(problem, rows, epsilon):
    """Run the default algorithm, compare it with the rows, and return the run."""
    run = start_run(problem, rows, epsilon).finish()
    compare_with_rows(run.release, rows, problem.workload)
    return run


def provisional_verdict(problem, rows, epsilon, earlier):
    """Return what is shown of a run until it has ended."""
    return start_run(problem, rows, epsilon).provisional_errors(rows, earlier.tree_fit)


def measure(rows, folder):
    """Print the seconds of each step; return the seconds to the first and to a later verdict."""
    path = folder / "table.csv"
    make(path, rows)
    print(f"{rows:,} rows, {path.stat().st_size / 1e6:.0f} MB")
    seconds = {}

    def step(name, work):
        """Do a step, print its seconds and keep them."""
        result, clock_seconds, seconds[name] = took(work)
        print(f"{name}: {clock_seconds:.1f} s, {seconds[name]:.1f} s of processors", flush=True)
        return result

    table = step("file read, schema guessed", lambda: read(path))
    step("schema filled in", lambda: fill_in(table))
    names = choose_paired_columns(table.domain)
    encoded = step(f"{len(names)} columns encoded", lambda: table.encoded_rows(names))
    workload = Marginals.all(table.domain.project(names), 2)
    problem = QueryRelease(workload, table.n, table.unit.group)
    earlier = step("verdict at ε = 1", lambda: verdict(problem, encoded, 1.0))
    first_seconds = sum(seconds.values())
    provisional = step(
        "provisional verdict at ε = 0.5",
        lambda: provisional_verdict(problem, encoded, 0.5, earlier),
    )
    later_seconds = seconds["provisional verdict at ε = 0.5"]
    run = step("verdict at ε = 0.5", lambda: verdict(problem, encoded, 0.5))
    final = run.convergence[-1].empirical
    print(f"rows in a wrong cell: {provisional.misplaced:.4f}, then {final.misplaced:.4f}")
    return {
        "first verdict": round(first_seconds, 1),
        "later verdict": round(later_seconds, 1),
        "kept": first_seconds <= FIRST_SECONDS and later_seconds <= LATER_SECONDS,
    }


if __name__ == "__main__":
    main(measure, "rows", 1_000_000)
