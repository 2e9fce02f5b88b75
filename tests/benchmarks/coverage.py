"""How often intervals hold: many tables drawn from a known population, one release of each, and who is covered.

Intervals of one table are not independent: a hundred tables tell coverage to ± 4 points only, 2,500 to ± 1.

python -m tests.benchmarks.coverage --tables 500
"""

import argparse
import math
import time

import numpy as np

from dpcore.algorithms import ALGORITHMS
from dpcore.data.domain import Domain
from dpcore.data.schema import domain_from_json
from dpcore.evaluation.diagnosis import draw
from dpcore.evaluation.run import Run
from dpcore.intervals.cells import cell_intervals
from dpcore.intervals.known import known
from dpcore.intervals.questions import Interval, answer, compare
from dpcore.parsing.questions import Question, understand
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.workloads import Marginals

EPSILONS = (0.1, 0.3, 1.0, 3.0)
NAMES = ("gaussian_maxent", "residual", "aim", "dpam")
PAIRS = [("a = 0", "b = 1"), ("a = 0 and b = 1", "a = 0 and b = 2"), ("c = 1", "d = 0")]
UNMEASURED = ("a = 0 and b = 1 and c = 1", "b = 2 and c = 0 and d = 1")


def population(domain: Domain, seed: int = 7) -> np.ndarray:
    """A skewed distribution with dependence between columns."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(domain.size, 0.6))


class Tally:
    """Who was covered, how wide the intervals are, and how many were refused."""

    def __init__(self) -> None:
        self.table: list[float] = []
        self.people: list[float] = []
        self.wide: list[float] = []
        self.plain: list[float] = []
        self.refused = 0

    def add(self, found: Interval, table: float, people: float, plain: float) -> None:
        """One interval; `plain` is the width of the interval that no privacy would give for the population."""
        if found.low is None or found.high is None:
            self.refused += 1
            return
        self.table.append(found.low - 1e-12 <= table <= found.high + 1e-12)
        if found.population_low is not None and found.population_high is not None:
            self.people.append(found.population_low <= people <= found.population_high)
            self.wide.append(found.population_high - found.population_low)
            self.plain.append(plain)

    def line(self) -> str:
        """Coverage of the table and of the population, median widths, refusals."""
        if not self.table:
            return f"refused {self.refused}"
        rate = [100 * float(np.mean(x)) if x else math.nan for x in (self.table, self.people)]
        return (
            f"table {rate[0]:5.1f} %  population {rate[1]:5.1f} %  width {np.median(self.wide):.4f}"
            f"  without privacy {np.median(self.plain):.4f}  refused {self.refused}"
        )


def main() -> None:
    """Tables × ε × algorithms; one line for each kind of answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--algorithms", default=",".join(NAMES))
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    chosen = parser.parse_args()
    domain = domain_from_json({"a": 2, "b": 3, "c": 2, "d": 4})
    P, pairs = population(domain), Marginals.all(domain, 2)
    asked = {text: understand(text, domain) for text in {t for pair in PAIRS for t in pair} | set(UNMEASURED)}

    def true(question: Question, D: np.ndarray) -> float:
        return float(question.workload.answers(D)[0])

    for name in chosen.algorithms.split(","):
        for epsilon in map(float, chosen.epsilons.split(",")):
            tallies = {kind: Tally() for kind in ("cells", "unmeasured", "differences", "ratios")}
            start = time.perf_counter()
            for seed in range(chosen.tables):
                rows = draw(domain, P, chosen.n, np.random.default_rng(10_000 + seed))
                Q = np.bincount(domain.index(rows.values), rows.weights, domain.size) / chosen.n
                run = Run(ALGORITHMS[name](), QueryRelease(pairs, chosen.n), rows, Budget(epsilon, 1e-6), seed=seed)
                release = run.finish().release
                evidence = known(release, run.measured, domain)  # type: ignore[arg-type]
                bounds, here, there = cell_intervals(evidence, pairs, chosen.n), pairs.answers(Q), pairs.answers(P)
                plain = 2 * 1.96 * np.sqrt(there * (1 - there) / chosen.n)
                for j in np.flatnonzero(np.isfinite(bounds["low"])):
                    one = [float(bounds[key][j]) for key in ("low", "high", "population_low", "population_high")]
                    tallies["cells"].add(Interval("", None, None, *one, 0.95, ""), here[j], there[j], plain[j])
                for text in UNMEASURED:
                    q = asked[text]
                    tallies["unmeasured"].add(answer(evidence, q, chosen.n), true(q, Q), true(q, P), 0.0)
                for left, right in PAIRS:
                    a, b = asked[left], asked[right]
                    p, r = true(a, P), true(b, P)
                    alone = 2 * 1.96 * math.sqrt((p * (1 - p) + r * (1 - r)) / chosen.n)
                    found = compare(evidence, a, b, chosen.n, "difference")
                    tallies["differences"].add(found, true(a, Q) - true(b, Q), p - r, alone)
                    found = compare(evidence, a, b, chosen.n, "ratio")
                    alone = 2 * 1.96 * p / r * math.sqrt(((1 - p) / p + (1 - r) / r) / chosen.n)
                    tallies["ratios"].add(found, true(a, Q) / true(b, Q), p / r, alone)
            seconds = (time.perf_counter() - start) / chosen.tables
            for kind, tally in tallies.items():
                chance = 200 * math.sqrt(0.95 * 0.05 / chosen.tables)  # as if all intervals of a table held or none
                words = f"{tally.line()}  (± {chance:.1f} by chance)  {seconds:.3f} s a table"
                print(f"{name:<16} ε={epsilon:<4g} {kind:<12} {words}", flush=True)


if __name__ == "__main__":
    main()
