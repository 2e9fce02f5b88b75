"""What learning reaches: seconds a draw at four sizes, and excess risks of every learner at four ε.

    python -m tests.benchmarks.learning                                  # a generated table
    python -m tests.benchmarks.learning --table adult.csv --schema adult-domain.json   # Adult, codes as numbers

Every line with a gate says whether it was kept; the last one counts those that were not, and is the exit code. The
reference for Adult (32,000 rows, d = 10, R = 10, logistic) does not say which nine features it took: these are the
first nine columns without the target and numbers of money and hours, whose single-stage risks are nearest to its own.
"""

import argparse
import math

import numpy as np

from dpcore.algorithms import solving
from dpcore.data import samples
from dpcore.data.domain import Rows
from dpcore.data.readers import read_json, read_table
from dpcore.data.schema import domain_from_json
from dpcore.errors import InputError
from dpcore.evaluation.output_laws import line_law, risk_by_mu
from dpcore.evaluation.run import Run
from dpcore.geometry.regions import Ball
from dpcore.learning.losses import Logistic, hinge, pinball
from dpcore.parsing.tasks import group, read_task
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import RiskMinimisation
from tests.benchmarks.frame import timed

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SEEDS = range(5)
ADULT = (
    "logistic:income>50K:age,workclass,fnlwgt,education-num,marital-status,occupation,relationship,race,sex"  # d = 10
)
REFERENCE = (0.0149, 0.0027, 0.00040, 0.00011)  # three stages on Adult at EPSILONS
WITHIN, MANY = 1.3, range(40)  # of the reference, as a mean over so many seeds
LEARNERS = solving(RiskMinimisation)


def gate(kept: bool) -> int:
    """1 where a gate was missed, said at the end of the line."""
    print("  kept" if kept else "  MISSED")
    return not kept


def seconds(name: str, problem: RiskMinimisation, rows: Rows, most: float) -> int:
    """Seconds of one draw of regularized_exponential, without the comparison with the truth; `most` is the gate."""
    run = Run(LEARNERS["regularized_exponential"](), problem, rows, Budget(1.0, 1e-6))
    spent = run.finish().records[-1].seconds
    print(f"{name:>34}: {spent:.3f} s of {most:g}", end="")
    return gate(spent <= most)


def classes(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """n records with d features, the last an intercept, and labels from a logistic model."""
    A = np.column_stack([rng.uniform(-1, 1, (n, d - 1)), np.ones(n)]) / np.sqrt(d)
    p = 1 / (1 + np.exp(-A @ (4 * rng.normal(size=d))))
    return np.column_stack([A, np.where(rng.random(n) < p, 1.0, -1.0)])


def speeds() -> int:
    """The sizes that are to be reached; how many were not."""
    rng, missed = np.random.default_rng(0), 0
    for n, most in ((50_000, 0.5), (1_000_000, 2.0)):
        b, K = rng.normal(50, 10, (n, 1)), Ball(np.array([50.0]), 50.0)
        problem = RiskMinimisation(pinball(0.5), K, n, ("x",), True)
        missed += seconds(f"median, n = {n:,}", problem, group(b), most)

        def pictures(task: tuple = (problem, group(b), Budget(1.0, 1e-6))) -> None:
            for stages in (1, 3):
                line_law(*task, stages=stages)
            risk_by_mu(*task)

        _, kept = timed(f"{'its pictures':>34}", pictures, 2 * most if n == 50_000 else math.inf)
        missed += not kept
    for name, loss, d in (("hinge, two features", hinge(), 2), ("logistic, d = 20", Logistic(), 20)):
        problem = RiskMinimisation(loss, Ball(np.zeros(d), 10.0), 50_000, tuple(f"x{i}" for i in range(d)))
        missed += seconds(f"{name}, n = 50,000", problem, group(classes(50_000, d, rng)), 2.0)
    return missed


def against_reference(problem: RiskMinimisation, rows: Rows) -> int:
    """Three stages beside the reference, mean and standard error over MANY seeds; how many ε are beyond WITHIN."""
    missed, algorithm = 0, LEARNERS["regularized_exponential"](stages=3)
    for epsilon, known in zip(EPSILONS, REFERENCE, strict=True):
        runs = [Run(algorithm, problem, rows, Budget(epsilon, 1e-6), seed=s).finish() for s in MANY]
        found = np.array([run.records[-1].empirical.excess_risk for run in runs])
        ratio, error = found.mean() / known, found.std() / np.sqrt(len(found)) / known
        print(f"  three stages, ε = {epsilon:g}: {found.mean():.3g}, {ratio:.2f} ± {error:.2f} × reference", end="")
        missed += gate(ratio <= WITHIN)
    return missed


def risks(problem: RiskMinimisation, rows: Rows) -> None:
    """Mean excess risk of every learner at four ε, δ = 1e-6; for the regularised one in one and in three stages."""
    cases = [(name, cls()) for name, cls in LEARNERS.items()]
    cases.insert(1, ("  in three stages", LEARNERS["regularized_exponential"](stages=3)))
    cases += [("noisy_gd, step 30", LEARNERS["noisy_gd"](step=30.0))]
    print(f"{problem.loss.name}, n = {problem.n:,}, d = {problem.d}, R = {problem.R:g}; excess risk at ε = {EPSILONS}")
    for name, algorithm in cases:
        found = []
        try:
            for epsilon in EPSILONS:
                runs = [Run(algorithm, problem, rows, Budget(epsilon, 1e-6), seed=s, every=10**6) for s in SEEDS]
                found.append(np.mean([run.finish().records[-1].empirical.excess_risk for run in runs]))
        except InputError as error:
            print(f"{name:>26}: {error}")
            continue
        print(f"{name:>26}: " + "  ".join(f"{value:.3g}" for value in found))


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table")
    parser.add_argument("--schema")
    parser.add_argument("--task", help="default: Adult's first features with --table, else income of the sample")
    parser.add_argument("--rows", type=int, default=32_000)
    chosen = parser.parse_args()
    missed = speeds()
    if chosen.table:
        domain, frame = domain_from_json(read_json(chosen.schema)), read_table(chosen.table)
    else:
        sample = samples.census(50_000)
        domain, frame = sample.domain, sample.frame
    frame = frame.sample(min(chosen.rows, len(frame)), random_state=0)
    task = chosen.task or (ADULT if chosen.table else "logistic:income:age,education,marital")
    problem, rows = read_task(task, domain, frame)
    if task == ADULT:
        missed += against_reference(problem, rows)
    risks(problem, rows)
    print(f"{missed} gates missed")
    raise SystemExit(missed)


if __name__ == "__main__":
    main()
