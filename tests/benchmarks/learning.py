"""What learning reaches: seconds a draw at four sizes, and excess risks of every learner at four ε.

    python -m tests.benchmarks.learning                                  # a generated table
    python -m tests.benchmarks.learning --table adult.csv --schema adult-domain.json \
        --task "logistic:income>50K:age,education-num,hours-per-week" --rows 32000
"""

import argparse
import time

import numpy as np

from dpcore import samples
from dpcore.algorithms import solving
from dpcore.domain import Rows
from dpcore.errors import InputError
from dpcore.losses import Logistic, hinge, pinball
from dpcore.privacy.budget import Budget
from dpcore.problems import RiskMinimisation
from dpcore.regions import Ball
from dpcore.run import Run
from dpcore.schema import domain_from_json
from dpcore.tables import read_json, read_table
from dpcore.tasks import group, read_task

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SEEDS = range(5)
LEARNERS = solving(RiskMinimisation)


def seconds(name: str, problem: RiskMinimisation, rows: Rows) -> float:
    """Seconds of one draw of regularized_exponential, without the comparison with the truth."""
    run = Run(LEARNERS["regularized_exponential"](), problem, rows, Budget(1.0, 1e-6))
    start = time.perf_counter()
    for _ in run.algorithm.steps(problem, run.plan, run._curator, run._own):
        pass
    spent = time.perf_counter() - start
    print(f"{name:>34}: {spent:.3f} s")
    return spent


def classes(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """n records with d features, the last an intercept, and labels from a logistic model."""
    A = np.column_stack([rng.uniform(-1, 1, (n, d - 1)), np.ones(n)]) / np.sqrt(d)
    p = 1 / (1 + np.exp(-A @ (4 * rng.normal(size=d))))
    return np.column_stack([A, np.where(rng.random(n) < p, 1.0, -1.0)])


def speeds() -> None:
    """The sizes that are to be reached: 0.5, 2, 2 and 2 seconds."""
    rng = np.random.default_rng(0)
    for n in (50_000, 1_000_000):
        b, K = rng.normal(50, 10, (n, 1)), Ball(np.array([50.0]), 50.0)
        seconds(f"median, n = {n:,}", RiskMinimisation(pinball(0.5), K, n, ("x",), True), group(b))
    for name, loss, d in (("hinge, two features", hinge(), 2), ("logistic, d = 20", Logistic(), 20)):
        problem = RiskMinimisation(loss, Ball(np.zeros(d), 10.0), 50_000, tuple(f"x{i}" for i in range(d)))
        seconds(f"{name}, n = 50,000", problem, group(classes(50_000, d, rng)))


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
    parser.add_argument("--task", default="logistic:income:age,education,marital")
    parser.add_argument("--rows", type=int, default=32_000)
    chosen = parser.parse_args()
    speeds()
    if chosen.table:
        domain, frame = domain_from_json(read_json(chosen.schema)), read_table(chosen.table)
    else:
        sample = samples.census(50_000)
        domain, frame = sample.domain, sample.frame
    frame = frame.sample(min(chosen.rows, len(frame)), random_state=0)
    risks(*read_task(chosen.task, domain, frame))


if __name__ == "__main__":
    main()
