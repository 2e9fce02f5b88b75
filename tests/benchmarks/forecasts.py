"""How near the forecast of a run's time is: every algorithm on tables small and wide.

A run over 1 s is to take between half and twice the seconds of processors that were forecast. One
that takes more than the cap is ended there, and counts as a miss only if its forecast is so low.

python -m tests.benchmarks.forecasts --data FOLDER [--cap 60] [--epsilons 1] [--algorithms aim,mwem]
                                     [--tables titanic,acs35]
"""

import argparse
import resource
import sys
import warnings
from collections import deque
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from dpcore import ALGORITHMS, Budget, InputError, Marginals, QueryRelease, samples
from dpcore.algorithms import algorithms_for_problem
from dpcore.algorithms.algorithm import forecast_seconds_and_bytes, make_plan
from dpcore.core.errors import PrivacyWarning
from dpcore.privacy.curators.table_curator import TableCurator
from tests.benchmarks.core import SIX, network, read, redundant
from tests.benchmarks.measuring import took

MAX_RATIO = 2.0
MIN_SECONDS = 1.0  # from which the ratio counts
DELTA = 1e-9


def sample_table(name):
    """Read a sample: a function of a folder, as those of `read`."""

    def rows(_):
        sample = getattr(samples, name)()
        return sample.domain, sample.domain.encode(sample.frame)

    return rows


def first_columns(read_rows, columns):
    """Read the first columns of a table only."""

    def rows(folder):
        domain, all_rows = read_rows(folder)
        codes = np.repeat(all_rows.values, all_rows.weights.astype(int), axis=0)
        some = domain.project(domain.names[:columns])
        return some, some.group_rows(codes[:, :columns])

    return rows


# name: the table, and the number of columns of the tables that are released
TABLES = {
    "titanic": (sample_table("titanic"), 2),
    "census": (sample_table("census"), 2),
    "census triples": (sample_table("census"), 3),
    "adult6": (read("adult", columns=SIX), 3),
    "listed": (lambda _: network(7, 7, 50_000), 2),
    "listed triples": (lambda _: network(7, 7, 50_000), 3),
    "network of 12": (lambda _: network(12, 8, 20_000), 2),
    "acs of 8": (first_columns(read("acs35", ".csv.gz"), 8), 2),
    "adult15": (read("adult15"), 2),
    "adult15 triples": (read("adult15"), 3),
    "acs35": (read("acs35", ".csv.gz"), 2),
    "redundant26": (lambda _: redundant(170_000), 2),
}


def run_once(name, algorithm_name, epsilon, folder, cap, results):
    """Send the forecast and the measured seconds of one run; the process ends at the cap."""
    warnings.simplefilter("ignore", PrivacyWarning)
    read_rows, ways = TABLES[name]
    domain, rows = read_rows(folder)
    problem = QueryRelease(Marginals.all(domain, ways), rows.n)
    algorithm = ALGORITHMS[algorithm_name]()
    budget = Budget(epsilon, DELTA)
    try:
        forecast, _ = forecast_seconds_and_bytes(algorithm, problem, budget)
        plan = make_plan(algorithm, problem, budget)
    except InputError as error:
        results.send(str(error))
        return
    results.send(forecast)
    so_far = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(so_far.ru_utime + so_far.ru_stime + cap)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    curator = TableCurator(rows, rows.n, plan, np.random.default_rng(0), domain=domain)
    steps = algorithm.steps(problem, plan, curator, np.random.default_rng(0))
    _, _, seconds = took(lambda: deque(steps, maxlen=1))
    results.send(seconds)


def measure(name, algorithm_name, epsilon, folder, cap):
    """Print and return whether a forecast holds; True where the algorithm refuses the problem."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    run = context.Process(
        target=run_once, args=(name, algorithm_name, epsilon, folder, cap, sender)
    )
    run.start()
    sender.close()
    forecast = receiver.recv()
    if isinstance(forecast, str):
        run.join()
        return True
    try:
        seconds = receiver.recv()
        is_ended = True
    except EOFError:  # the process was ended at the cap
        seconds = cap
        is_ended = False
    run.join()
    ratio = forecast / seconds
    is_within = ratio >= 1 / MAX_RATIO and (not is_ended or ratio <= MAX_RATIO)
    holds = seconds < MIN_SECONDS or is_within
    mark = "" if holds else "  MISSED"
    least = "" if is_ended else ">"
    print(
        f"{name:>16} {algorithm_name:>18} ε={epsilon:<4g} forecast {forecast:8.2f} s, "
        f"took {least}{seconds:.2f} s, ratio {ratio:.2f}{mark}",
        flush=True,
    )
    return holds


def main():
    """Print forecasts beside measured seconds; exit code 1 if one is off by more than a factor."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cap", type=float, default=60.0, help="seconds of processors of a run")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--algorithms", default=",".join(algorithms_for_problem(QueryRelease)))
    parser.add_argument("--tables", default=",".join(TABLES))
    arguments = parser.parse_args()
    verdicts = [
        measure(name, algorithm_name, epsilon, arguments.data, arguments.cap)
        for name in arguments.tables.split(",")
        for algorithm_name in arguments.algorithms.split(",")
        for epsilon in map(float, arguments.epsilons.split(","))
    ]
    missed = verdicts.count(False)
    print(f"{missed} of {len(verdicts)} runs over {MIN_SECONDS:g} s beyond a factor {MAX_RATIO:g}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
