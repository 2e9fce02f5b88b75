"""MWEM: select, measure, multiply, replay. Sees a Curator, never records."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..params import check_parameters, param
from ..privacy.budget import BoundedRange, Budget, Gaussian, Pure, select_and_measure
from ..privacy.curator import Curator
from ..privacy.ledger import Charge, Choice, Plan
from ..privacy.statistics import SignedErrors, SomeAnswers, marginal_tables
from ..problems import QueryRelease
from ..releases import Histogram
from ..workloads import Marginals, Workload
from .base import About, Step, softmax
from .fitting import TINY, Evidence, fit, product

SHARES = {"query": 0.25, "marginal": 0.65}  # of the budget that measurements get; all constants fitted on two tables
RULE = {  # T = constant · signal^power, by what is measured and whether δ = 0
    ("query", False): (0.3, 2 / 3), ("marginal", False): (4, 1 / 2),
    ("query", True): (0.2, 1 / 2), ("marginal", True): (1, 1 / 2),
}  # fmt: skip
MOST_ROUNDS, MOST_WORK = 400, {"query": 2 * 10**8, "marginal": 2 * 10**7}  # of the rule: rounds, and rounds times cells
SWEEPS = 2  # over past measurements, each round
PRIOR = 30.0  # weight of KL(D ‖ D_0) beside the likelihood of measured queries
TABLE_PRIOR = 0.8  # the same for measured tables, in units of μ·n of one measurement, as in gaussian_maxent
FIT_ROUNDS = 100  # of the fit to measured tables, each round


@dataclass(frozen=True, kw_only=True)
class MWEM:
    """Select the worst-answered query, measure it, reweight D multiplicatively until it explains what was measured.

    D_0 uniform or a public start; each round selects a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range; Δ =
    max_j (hi_j − lo_j)/n) and measures with Gaussian noise of standard deviation Δ₂/(nμ), so that T rounds cost
    T (ε₀²/8 + μ²/2) in zCDP; at δ = 0 with Laplace noise, and T (ε₀ + ε₁) in all.

    measure "query": the selected query, Δ₂ = (hi_j − lo_j)/n. Then for every past measurement i, newest first, twice:
        D ∝ D · exp(Δθ_i q_i),  Δθ_i = (a_i − ⟨q_i, D⟩ − wσ_i²θ_i)/(wσ_i² + Var_D(q_i)), at most 1 in size,
    the update of the paper with a Newton step in place of ½, and the replay as coordinate ascent: θ_i sums what
    measurement i has done, and D tends to argmin ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w KL(D ‖ D_0). A query measured c
    times counts once, with the mean answer and σ²/c.
    measure "marginal": the whole table that the selected query is read off, Δ₂ = √2/n, and the maximum-entropy fit of
    `gaussian_maxent` to all tables measured so far.

    output "last": D_T. "average": the mean of D_1 … D_T, as published. Raises InputError for "marginal" where a query
    is not read off a marginal table. Source: Hardt, Ligett, McSherry 2012, Figure 1, with zCDP in place of Σε, and
    fitted shares of the budget in place of halves.
    """

    rounds: int | None = param(
        None, "selections, and as many measurements", symbol="T", low=1, high=100_000, log=True,
        auto="n, m and the budget: where the noise of a round overtakes what another one gains",
    )  # fmt: skip
    measure: str = param(
        "query", "what a round measures: the selected query, or its whole table", choices=("query", "marginal")
    )
    output: str = param("last", "the last distribution, or the average over rounds", choices=("last", "average"))

    problem: ClassVar[type] = QueryRelease
    enumerates: ClassVar[bool] = True
    adaptive: ClassVar[bool] = False
    about: ClassVar[About] = About(
        title="Multiplicative weights (MWEM)",
        summary="Picks the worst-answered query in each round, measures it with noise, and reweights all cells until "
        "they agree with everything measured so far. It spends its budget only on queries that are still wrong.",
        use_when="only some of many queries matter, δ = 0, or as the classic to compare with; with measure = marginal "
        "when there are too many tables to measure all",
        avoid_when="the workload is a small set of marginals: measuring all of them once is more accurate",
        cost="a pass for the m answers, and two passes over the support of every past query, a round",
        source="Hardt, Ligett, McSherry 2012",
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """T equal selections and measurements with the whole budget; T from n, m and the budget where not given."""
        workload, share = problem.workload, SHARES[self.measure]
        rounds = Choice("rounds", self.rounds, "given") if self.rounds else self._best_rounds(problem, budget)
        select, measure = select_and_measure(budget, rounds.value, share)
        charges = (Charge("select", select, rounds.value), Charge("measure", measure, rounds.value))
        if self.measure == "query":
            widest, what = (workload.width, workload.width), "query"
        else:
            _tables(workload)
            widest, what = (2.0, math.sqrt(2)), "cell of a measured table"
        sigma = _deviation(*widest, measure) / problem.effective_n
        choices = (
            rounds,
            Choice("measure", self.measure, "given"),
            Choice("output", self.output, "given"),
            Choice("share", share, "of the budget for measurements, the rest for selections: fitted on two tables"),
            Choice("sigma", sigma, f"standard deviation of the noise on every {what}, at the most"),
        )
        return Plan(budget, charges, choices)

    def _best_rounds(self, problem: QueryRelease, budget: Budget) -> Choice:
        """T where noise overtakes what one more round gains: it grows like √T/(n√ρ), or at δ = 0 like T/(nε).

        The error of what is not yet measured falls like 1/T for queries, and faster for tables, if they are large.
        """
        workload, pure = problem.workload, budget.delta == 0
        signal = problem.effective_n / max(workload.width, TINY) * (budget.epsilon if pure else math.sqrt(budget.rho))
        letters, most = "nε" if pure else "n√ρ", workload.m
        if self.measure == "marginal":
            tables = _tables(workload)
            most, cells = 2 * len(tables.tables), tables.m / len(tables.tables)
            signal, letters = signal / cells, f"{letters}/{cells:.3g} cells a table"
        constant, power = RULE[self.measure, pure]
        most = min(most, MOST_ROUNDS, max(20, MOST_WORK[self.measure] // problem.domain.size))
        best = constant * signal**power
        why = f"{constant:g} ({letters})^{power:.2g} = {best:.3g}: noise overtakes a round's gain; kept in 1..{most}"
        return Choice("rounds", round(min(max(best, 1), most)), why)

    def steps(self, problem: QueryRelease, plan: Plan, curator: Curator, rng: np.random.Generator) -> Iterator[Step]:
        """One selection and one measurement a step."""
        workload, select = problem.workload, plan.spend(BoundedRange)
        spend = plan.spend(Gaussian) if plan.budget.delta > 0 else plan.spend(Pure)
        past = _Queries(workload) if self.measure == "query" else _Tables(workload, problem.log_start)
        D, total = problem.prior, 0.0
        for t in range(1, plan["rounds"] + 1):
            j = curator.select(SignedErrors(workload, workload.answers(D)), select) % workload.m
            statistic = past.statistic(j)
            y = curator.measure(statistic, spend)
            D = past.explain(D, j, y, _deviation(statistic.l1, statistic.l2, spend) / problem.effective_n)
            total = total + D
            label = ", ".join(f"{column} = {value}" for column, value in workload.label(j))
            yield Step(t, Histogram(problem.domain, D if self.output == "last" else total / t), f"worst: {label}")


def _deviation(l1: float, l2: float, spend: Gaussian | Pure) -> float:
    """Standard deviation of the noise, times n, that `spend` pays for: Δ₂/μ, or √2 Δ₁/ε for Laplace noise."""
    return max(l2 / spend.mu if isinstance(spend, Gaussian) else math.sqrt(2) * l1 / spend.epsilon, TINY)


@dataclass
class _Fact:
    """A measured query: its support as an index into D, its values there, its noisy answer, and θ."""

    support: tuple[slice | int, ...] | np.ndarray
    q: np.ndarray | float
    answer: float
    precision: float
    theta: float = 0.0


class _Queries:
    """Past measurements of single queries, the newest last, and the replay that makes D explain them."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.facts: dict[int, _Fact] = {}

    def statistic(self, j: int) -> SomeAnswers:
        return SomeAnswers(self.workload, slice(j, j + 1))

    def explain(self, D: np.ndarray, j: int, y: np.ndarray, sigma: float) -> np.ndarray:
        """D (k,) reweighted after query j was answered with y (1,)."""
        fact, precision = self.facts.pop(j, None) or _Fact(*_support(self.workload, j), 0.0, 0.0), sigma**-2
        fact.answer = (fact.precision * fact.answer + precision * float(y[0])) / (fact.precision + precision)
        fact.precision += precision
        self.facts[j] = fact
        D = D.copy()
        table = D.reshape(self.workload.domain.shape)
        for _ in range(SWEEPS):
            mass = 1.0
            for fact in reversed(self.facts.values()):
                whole = D if isinstance(fact.support, np.ndarray) else table
                part, weight = whole[fact.support], PRIOR / fact.precision
                weighted = fact.q * part
                p = float(weighted.sum()) / mass
                variance = float((fact.q * weighted).sum()) / mass - p * p
                step = (fact.answer - p - weight * fact.theta) / max(weight + variance, TINY)
                step = min(max(step, -1.0), 1.0)
                changed = part * np.exp(step * fact.q)
                mass += float(changed.sum() - part.sum())
                whole[fact.support] = changed
                fact.theta += step
            D /= D.sum()
        return D


def _support(workload: Workload, j: int) -> tuple[tuple[slice | int, ...] | np.ndarray, np.ndarray | float]:
    """Where query j is not 0, as an index into D, and its values there: a slice of the array for a marginal cell."""
    if isinstance(workload, Marginals):
        table, cell = workload.place(j)
        where = dict(zip(workload.axes[table], cell, strict=True))
        return tuple(where.get(axis, slice(None)) for axis in range(len(workload.domain.shape))), 1.0
    q = np.zeros(workload.domain.size)
    workload.add_query(q, j, 1.0)
    cells = np.flatnonzero(q)
    return cells, q[cells]


class _Tables:
    """Past measurements of marginal tables, and the maximum-entropy fit to them."""

    def __init__(self, workload: Workload, log_start: np.ndarray | None) -> None:
        self.workload, self.tables, self.log_start = workload, _tables(workload), log_start
        self.facts: dict[int, tuple[int, np.ndarray]] = {}  # how often each table was measured, and the mean

    def statistic(self, j: int) -> SomeAnswers:
        return SomeAnswers(self.tables, self.tables.tables[self._table(j)])

    def explain(self, D: np.ndarray, j: int, y: np.ndarray, sigma: float) -> np.ndarray:
        """The fit (k,) to all tables after the one that query j is read off was measured as y."""
        table = self._table(j)
        count, mean = self.facts.get(table, (0, np.zeros(len(y))))
        self.facts[table] = (count + 1, (count * mean + y) / (count + 1))
        measured = Marginals(self.workload.domain, [self.tables.columns[i] for i in self.facts])
        answers = np.concatenate([mean for _, mean in self.facts.values()])
        deviations = np.concatenate(
            [np.full(len(mean), sigma / math.sqrt(count)) for count, mean in self.facts.values()]
        )
        evidence = Evidence(measured, answers, deviations)
        log_D = base = product(evidence) if self.log_start is None else self.log_start
        for log_D in fit(evidence, TABLE_PRIOR * math.sqrt(2) / sigma, base, FIT_ROUNDS):  # noqa: B007
            pass
        return softmax(log_D)

    def _table(self, j: int) -> int:
        """The table that query j is read off; any, for a query that is 0 everywhere."""
        w = self.workload
        if isinstance(w, Marginals):
            return w.place(j)[0]
        read = w.matrix.indices[slice(*w.matrix.indptr[j : j + 2])]  # type: ignore[union-attr]
        return self.tables.place(int(read[0]))[0] if len(read) else 0


def _tables(workload: Workload) -> Marginals:
    """The tables that all queries are read off; InputError where there are none."""
    tables = marginal_tables(workload)
    if tables is None:
        raise InputError("measure=marginal needs queries on marginal tables; a query matrix needs measure=query")
    return tables
