"""How often the measured error of a release lies in the range that was predicted for it.

Ten tables of different shapes, among them people with several rows, at several ε: rows in a wrong
cell and the largest error, predicted before the release (from the schema and n alone) and after it
(from the release itself).

python -m tests.benchmarks.predicted --data FOLDER [--seeds 2] [--algorithm gaussian_maxent]
"""

import argparse
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from dpcore import ALGORITHMS, Budget, Marginals, QueryRelease, domain_from_json, samples
from dpcore.algorithms.algorithm import make_plan
from dpcore.core.errors import PrivacyWarning
from dpcore.data.privacy_unit import PrivacyUnit
from dpcore.data.readers import load_table
from dpcore.evaluation.predicted_errors import (
    PUBLIC_BASIS,
    draw_public_tables,
    predict_from_release,
    predict_on_tables,
)
from dpcore.evaluation.run import FINAL_STEP_ONLY, Run
from dpcore.schema.inference.proposal import propose_schema
from tests.benchmarks.core import network, read

EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-9
MAX_ROWS = 3  # of a patient, where patients have several


def sample_tables():
    """The samples and generated tables: name, domain, rows, rows of a person."""
    for name in ("titanic", "berkeley", "census"):
        sample = getattr(samples, name)()
        yield name, sample.domain, sample.domain.encode(sample.frame), 1
    yield "network of 8 columns", *network(8, 4, 5000), 1


def tables_of_folder(folder):
    """The real tables in a folder: name, domain, rows, rows of a person."""
    domain, rows = read("adult")(folder)
    codes = np.repeat(rows.values, rows.weights, axis=0)
    few = np.random.default_rng(0).choice(len(codes), 1000, replace=False)
    yield "adult, 1,000 rows", domain, domain.group_rows(codes[few]), 1
    names = domain.names[:6]
    some = domain.project(names)
    yield "adult, 6 columns", some, some.group_rows(codes[:, domain.axes(names)]), 1
    domain, rows = read("adult15")(folder)
    codes = np.repeat(rows.values, rows.weights, axis=0)
    some = domain.project(domain.names[:5])
    yield "adult15, 5 columns", some, some.group_rows(codes[:, :5]), 1
    domain, rows = read("acs35", ".csv.gz")(folder)
    codes = np.repeat(rows.values, rows.weights, axis=0)
    some = domain.project(domain.names[:8])
    yield "acs35, 8 columns, 5,000 rows", some, some.group_rows(codes[:5000, :8]), 1
    frame = load_table(str(folder / "hospital.csv.gz")).frame
    proposal = propose_schema(frame, peek=True)
    domain = domain_from_json(proposal.to_json())
    yield "hospital, stays", domain, domain.encode(frame), 1
    unit = PrivacyUnit(person="Patient ID", most_rows=MAX_ROWS)
    kept = unit.bound_contributions(frame, domain.names)
    yield f"hospital, {MAX_ROWS} stays of a patient", domain, domain.encode(kept), MAX_ROWS


def run(algorithm, problem, rows, budget, seed):
    made = Run(algorithm, problem, rows, budget, seed=seed, every=FINAL_STEP_ONLY)
    return made.finish()


def in_range(predicted, errors, name):
    low, high = getattr(predicted, name)
    return low <= getattr(errors, name) <= high


def text(predicted, errors, name):
    low, high = getattr(predicted, name)
    mark = "" if in_range(predicted, errors, name) else " !"
    return f"{100 * low:.3g}..{100 * high:.3g}{mark}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--algorithm", default="gaussian_maxent")
    args = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    algorithm = ALGORITHMS[args.algorithm]()
    hits = defaultdict(list)
    for name, domain, rows, most_rows in (*sample_tables(), *tables_of_folder(args.data)):
        problem = QueryRelease(Marginals.all(domain, 2), rows.n, group=most_rows)
        print(f"{name}: {rows.n:,} rows, {len(domain.names)} columns", flush=True)
        for epsilon in EPSILONS:
            budget = Budget(epsilon, DELTA)
            plan = make_plan(algorithm, problem, budget)
            public_tables = draw_public_tables(problem.domain, problem.n)
            before = predict_on_tables(
                public_tables, PUBLIC_BASIS, algorithm, problem, plan, np.random.default_rng(0)
            )
            for seed in range(1, args.seeds + 1):
                made = run(algorithm, problem, rows, budget, seed)
                errors = made.summarise().query_errors
                after = predict_from_release(
                    made.release, algorithm, problem, plan, np.random.default_rng(seed)
                )
                parts = []
                for measure in ("misplaced", "largest"):
                    parts.append(
                        f"{measure} {100 * getattr(errors, measure):.3g}: before "
                        f"{text(before, errors, measure)}, after {text(after, errors, measure)}"
                    )
                    for when, predicted in (("before", before), ("after", after)):
                        hits[measure, when].append(in_range(predicted, errors, measure))
                print(f"  ε={epsilon:g} {'; '.join(parts)}", flush=True)
    for (measure, when), found in hits.items():
        print(f"{measure}, predicted {when}: {sum(found)} of {len(found)} releases in the range")


if __name__ == "__main__":
    main()
