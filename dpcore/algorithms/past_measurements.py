"""Past measurements, and how D is made to explain all of them again: shared by mwem, pep and pmw.

Sees noisy answers, never records.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..models.base import Model, Where
from ..models.cells import Cells
from ..privacy.accounting.budget import Budget
from ..privacy.accounting.ledger import Choice
from ..privacy.statistics.answers import SomeAnswers
from ..problems import QueryRelease
from ..workloads import Marginals, Workload
from ..workloads.union import reading
from .evidence import TINY, Pool, tables_read
from .fitting import fit, product
from .ground import Ground

SWEEPS = 2  # over past measurements, each round
PRIOR = 30.0  # weight of KL(D ‖ D_0) beside the likelihood of measured queries
TABLE_PRIOR = 0.8  # the same for measured tables, in units of μ·n of one measurement, as in gaussian_maxent
FIT_ROUNDS = 100  # of the fit to measured tables, each round
LONGEST = 1.0  # step of one θ, where it is found by Newton's method


def balanced_rounds(
    problem: QueryRelease, budget: Budget, rule: tuple[float, float], most: int, cells: float = 1.0
) -> Choice:
    """T = constant · signal^power for rule = (constant, power), kept in 1..most; signal n√ρ, or nε at δ = 0.

    The noise of T rounds grows like √T/(n√ρ), or like T/(nε), and what another round gains falls with T. `cells`: how
    many cells share what a round measures.
    """
    pure, (constant, power) = budget.delta == 0, rule
    signal = problem.effective_n / max(problem.workload.width, TINY) / cells
    best = constant * (signal * (budget.epsilon if pure else math.sqrt(budget.rho))) ** power
    letters = ("nε" if pure else "n√ρ") + (f"/{cells:.3g} cells a table" if cells > 1 else "")
    why = f"{constant:g} ({letters})^{power:.2g} = {best:.3g}: noise overtakes a round's gain; kept in 1..{most}"
    return Choice("rounds", round(min(max(best, 1), most)), why)


def past_of(measure: str, ground: Ground) -> "Queries | Tables":
    """No measurements yet, of single queries or, for `measure` "marginal", of whole tables."""
    if measure == "query":
        return Queries(ground.workload, likeliest, ground.model)
    return Tables(ground)


@dataclass
class Fact:
    """A measured query: the model's part it is read off, its support there, its values, its noisy answer, and θ."""

    part: int
    support: Where
    q: np.ndarray | float  # 1.0 for an indicator
    answer: float
    precision: float
    theta: float = 0.0

    def hear(self, answer: float, precision: float) -> None:
        """One more answer: the mean by precision."""
        self.answer = (self.precision * self.answer + precision * answer) / (self.precision + precision)
        self.precision += precision

    def turn(self, step: float) -> None:
        """θ moves by `step`."""
        self.theta += step


def likeliest(fact: Fact, p: float, variance: float) -> float:
    """The step of θ towards argmin ½ Σ (⟨q, D⟩ − answer)² precision + PRIOR · KL(D ‖ D_0), from p = ⟨q, D⟩."""
    weight = PRIOR / fact.precision
    step = (fact.answer - p - weight * fact.theta) / max(weight + variance, TINY)
    return min(max(step, -LONGEST), LONGEST)


class Queries:
    """Past measurements of single queries, the newest last, and the replay that makes D explain them.

    `move(fact, ⟨q, D⟩, Var_D(q))` is what one visit adds to a fact's θ; D ∝ D_0 exp(Σ_i θ_i q_i).
    """

    def __init__(
        self, workload: Workload, move: Callable[[Fact, float, float], float], model: Model | None = None
    ) -> None:
        self.workload, self.move, self.model = workload, move, model or Cells(workload.domain)
        self.facts: dict[int, Fact] = {}

    def statistic(self, j: int) -> SomeAnswers:
        """What is measured for query j: its answer."""
        return SomeAnswers(self.workload, slice(j, j + 1))

    def explain(self, D: np.ndarray, j: int, y: np.ndarray, sigma: float, sweeps: int = SWEEPS) -> np.ndarray:
        """D (size,) reweighted after query j was answered with y (1,), of standard deviation sigma.

        A query measured c times counts once, with the mean answer and sigma²/c.
        """
        fact = self.facts.pop(j, None) or Fact(*self.model.support(self.workload, j), 0.0, 0.0)
        precision = max(sigma, TINY) ** -2.0
        fact.hear(float(y[0]), precision)
        self.facts[j] = fact
        D, parts = D.copy(), {fact.part for fact in self.facts.values()}
        for _ in range(sweeps):
            mass = 1.0
            for own, table in self.model.tour(D, parts):
                for fact in reversed(self.facts.values()):
                    if fact.part == own:
                        mass += self._visit(fact, table, mass)
            D /= D.sum() / self.model.parts
        return D

    def _visit(self, fact: Fact, table: np.ndarray, mass: float) -> float:
        """Reweight a table, whose sum is `mass`, by one step of a fact's θ; by how much its sum grew."""
        whole = table.reshape(-1) if isinstance(fact.support, np.ndarray) else table
        part = whole[fact.support]
        weighted = fact.q * part
        p = float(weighted.sum()) / mass
        variance = float((fact.q * weighted).sum()) / mass - p * p
        step = self.move(fact, p, variance)
        changed = part * np.exp(step * fact.q)
        grown = float(changed.sum() - part.sum())
        whole[fact.support] = changed
        fact.turn(step)
        return grown


class Tables:
    """Past measurements of marginal tables, and the maximum-entropy fit to them."""

    def __init__(self, ground: Ground) -> None:
        self.ground, self.workload = ground, ground.workload
        self.tables = tables_read(ground.workload, "measure=marginal")
        self.pool = Pool(ground.workload)

    def statistic(self, j: int) -> SomeAnswers:
        """What is measured for query j: the table that it is read off."""
        return SomeAnswers(self.tables, self.tables.tables[self._table(j)])

    def explain(self, D: np.ndarray, j: int, y: np.ndarray, sigma: float) -> np.ndarray:
        """The fit (size,) to all tables after the one that query j is read off was measured as y."""
        self.pool.add(self.tables.axes[self._table(j)], y, sigma)
        evidence, model, base = self.pool.evidence, self.ground.model, self.ground.base
        base = product(evidence, model) if base is None else base
        weight = TABLE_PRIOR * math.sqrt(2) / max(sigma, TINY)
        for _, D in fit(evidence, weight, base, FIT_ROUNDS, model):  # noqa: B007
            pass
        return D

    def _table(self, j: int) -> int:
        """The table that query j is read off; any, for a query that is 0 everywhere."""
        w = self.workload
        if isinstance(w, Marginals):
            return w.place(j)[0]
        matrix = reading(w)
        read = matrix.indices[slice(*matrix.indptr[j : j + 2])]
        return self.tables.place(int(read[0]))[0] if len(read) else 0
