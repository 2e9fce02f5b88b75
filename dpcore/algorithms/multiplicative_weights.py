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
from .maximum_entropy import TINY, Evidence, _fit, _product

SHARES = {"query": 0.25, "marginal": 0.65}  # of the budget that measurements get; all constants fitted on two tables
SWEEPS = 2  # over past measurements, each round
PRIOR = 30.0  # weight of KL(D ‖ uniform) beside the likelihood of measured queries
TABLE_PRIOR = 0.8  # the same for measured tables, in units of μ·n of one measurement, as in gaussian_maxent
FIT_ROUNDS = 100  # of the fit to measured tables, each round
MOST_ROUNDS = 400  # of the default rule


@dataclass(frozen=True, kw_only=True)
class MWEM:
    """Select the worst-answered query, measure it, reweight D multiplicatively until it explains what was measured.

    D_0 uniform; each round selects a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range; Δ = max_j (hi_j − lo_j)/n)
    and measures with Gaussian noise of standard deviation Δ₂/(nμ), so that T rounds cost T (ε₀²/8 + μ²/2) in zCDP; at
    δ = 0 with Laplace noise, and T (ε₀ + ε₁) in all.

    measure "query": the selected query, Δ₂ = (hi_j − lo_j)/n. Then for every past measurement i, newest first, twice:
        D ∝ D · exp(Δθ_i q_i),  Δθ_i = (a_i − ⟨q_i, D⟩ − wσ_i²θ_i)/(wσ_i² + Var_D(q_i)), at most 1 in size,
    the update of the paper with a Newton step in place of ½, and the replay as coordinate ascent: θ_i sums what
    measurement i has done, and D tends to argmin ½ Σ_i (⟨q_i, D⟩ − a_i)²/σ_i² + w KL(D ‖ uniform). A query measured c
    times counts once, with the mean answer and σ²/c.
    measure "marginal": the whole table that the selected query is read off, Δ₂ = √2/n, and the maximum-entropy fit of
    `gaussian_maxent` to all tables measured so far.

    output "last": D_T. "average": the mean of D_1 … D_T, as published. Raises InputError for "marginal" where a query is
    not read off a marginal table. Source: Hardt, Ligett, McSherry 2012, Figure 1, with zCDP in place of Σε, and half the
    budget for each replaced by fitted shares.
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
        """T from error ~ a/T of what is not yet measured against noise ~ √T/(n√ρ), or T/(nε) at δ = 0."""
        n = problem.effective_n / max(problem.workload.width, TINY)
        signal = n * math.sqrt(budget.rho) if budget.delta > 0 else n * budget.epsilon
        if self.measure == "marginal":
            most, best, rule = len(_tables(problem.workload).tables), 0.35 * signal**0.5, "0.35 √(n√ρ)"
        else:
            most, best, rule = min(problem.workload.m, MOST_ROUNDS), 0.3 * signal ** (2 / 3), "0.3 (n√ρ)^⅔"
        if budget.delta == 0:
            best, rule = 0.2 * signal**0.5, "0.2 √(nε)"
        why = f"{rule} = {best:.3g}: noise overtakes what one more round gains; kept in 1..{most}"
        return Choice("rounds", round(min(max(best, 1), most)), why)

    def steps(self, problem: QueryRelease, plan: Plan, curator: Curator, rng: np.random.Generator) -> Iterator[Step]:
        """One selection and one measurement a step."""
        workload, select, spend = problem.workload, plan.spend(BoundedRange), plan.charges[1].spend
        k = problem.domain.size
        D, total = np.full(k, 1 / k), np.zeros(k)
        facts = _Queries(workload, k) if self.measure == "query" else _Tables(_tables(workload), workload)
        for t in range(1, plan["rounds"] + 1):
            j = curator.select(SignedErrors(workload, workload.answers(D)), select) % workload.m
            statistic = facts.statistic(j)
            sigma = max(_deviation(statistic.l1, statistic.l2, spend) / problem.effective_n, TINY)
            facts.add(j, curator.measure(statistic, spend), sigma)
            D = facts.explain(D)
            total += D
            released = D if self.output == "last" else total / t
            label = ", ".join(f"{column} = {value}" for column, value in workload.label(j))
            yield Step(t, Histogram(problem.domain, released), f"measured {facts.words(j, label)}")
