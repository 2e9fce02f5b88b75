"""Gaussian noise on every answer once, then the maximum-entropy fit. Sees a Curator, never records."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from ..params import check_parameters, param
from ..privacy.accounting.budget import Budget, Gaussian
from ..privacy.accounting.calibrations import gaussian_share
from ..privacy.accounting.ledger import Charge, Choice, Plan
from ..privacy.curator import Curator
from ..privacy.measurement import deviation
from ..privacy.statistics.answers import Answers
from ..problems import QueryRelease
from ..releases import Histogram
from ..workloads import Marginals, TableQueries, Union, Workload
from .base import About, Step, softmax
from .fitting import TINY, Evidence, fit, product, summed, tables_of

FIRST_STAGE = 0.6  # its entropy weight, as a share of alpha


@dataclass(frozen=True, kw_only=True)
class GaussianMaxEnt:
    """Measure all answers once with the whole budget, then fit D by regularised maximum entropy.

    The only touch of records is one Gaussian release of the workload's answers (Δ₂ derived in `Answers`:
    √(2 · tables)/n for marginals), or of tables that give them with less noise (`Workload.measured`, from public
    numbers), exactly μ-GDP with noise σ = Δ₂/μ. All the rest is post-processing:

        base    D_0 = product of the noisy 1-way marginals (uniform where no tables are measured), or a public start
        stage 1 D_1 = argmin_D ½ Σ_j (⟨q_j, D⟩ − y_j)²/σ_j² + 0.6 α μ n KL(D ‖ D_0) on the lower-way marginals
                (pairs, for 3-way tables) summed out of the noisy ones
        stage 2 D_2 = argmin_D the same on all answers, with α μ n KL(D ‖ D_1)

    each through its smooth dual, strongly concave in the noise-scaled residuals φ: log D = log base − Σ_j (φ_j/σ_j) q_j
    /(αμn) − log Z, with gradient φ + (y − answers(D))/σ. α scales with μn so that one value serves every ε and n; the
    default was chosen on two public tables. Raises InputError at δ = 0.
    Source: not in the papers; the baseline to beat. Log-linear fits: McKenna, Sheldon, Miklau 2019.
    """

    alpha: float = param(0.8, "entropy weight, in units of μ·n", symbol="α", low=0.05, high=20, log=True)
    rounds: int = param(200, "iterations of the fit at the most, per stage", symbol="T", low=1, high=10_000, log=True)

    problem: ClassVar[type] = QueryRelease
    enumerates: ClassVar[bool] = True
    adaptive: ClassVar[bool] = False
    about: ClassVar[About] = About(
        title="Gaussian + maximum entropy",
        summary="Adds Gaussian noise to every answer once, with the whole budget, then fits the smoothest distribution "
        "that explains the noisy answers. Non-negativity and smoothness remove most of the noise.",
        use_when="the workload is a set of marginals on a domain that can be enumerated: the most accurate choice here",
        avoid_when="δ must be 0, or the cells cannot be enumerated",
        cost="two passes over k cells an iteration, typically 60 to 350 iterations",
        source="this project; fit in the spirit of McKenna, Sheldon, Miklau 2019",
    )

    def __post_init__(self) -> None:
        check_parameters(self)

    def plan(self, problem: QueryRelease, budget: Budget) -> Plan:
        """One Gaussian measurement with the whole budget."""
        (spend,) = gaussian_share(budget, [1.0])
        measured = _measured(problem.workload)
        sigma = deviation(Answers(measured), spend, problem.effective_n)
        stages = len(stages_of(measured))
        return Plan(
            budget,
            (Charge("measure", spend, statistic=Answers(measured)),),
            (
                *_substitute(problem.workload, measured),
                Choice("rounds", self.rounds * stages, f"at most {self.rounds} in each of {stages} stages"),
                Choice("alpha", self.alpha, "in units of μ·n, so that the prior weighs alike at every ε"),
                Choice("sigma", sigma, "noise on every answer, Δ₂/(nμ)"),
            ),
        )

    def answer_noise(self, problem: QueryRelease, plan: Plan) -> float | None:
        """Standard deviation of the independent Gaussian noise on every answer asked, as it is measured and published.

        None where the answers asked follow from others that are measured in their place.
        """
        return plan["sigma"] if _measured(problem.workload) is problem.workload else None

    def steps(self, problem: QueryRelease, plan: Plan, curator: Curator, rng: np.random.Generator) -> Iterator[Step]:
        """One iteration of the fit a step; the first one pays for everything."""
        spend = plan.spend(Gaussian)
        measured = _measured(problem.workload)
        m = curator.measure(Answers(measured), spend)
        evidence = Evidence(measured, m.values, np.full(len(m.values), max(m.stddev, TINY)))
        stages = stages_of(measured)
        log_D, t = product(evidence) if problem.log_start is None else problem.log_start, 0
        for number, workload in enumerate(stages, start=1):
            weight = self.alpha * spend.mu * problem.effective_n * (1 if number == len(stages) else FIRST_STAGE)
            for log_D in fit(summed(evidence, workload), weight, log_D, self.rounds):  # noqa: B020
                t += 1
                yield Step(t, Histogram(problem.domain, softmax(log_D)), f"stage {number} of {len(stages)}")


def _measured(workload: Workload) -> Workload:
    """What is measured: the tables or the queries that the workload names.

    Queries on tables that are not measured get their 1-way tables beside them, for the base, unless Δ₂² then doubles.
    """
    measured = workload.measured
    base = measured.base if isinstance(measured, TableQueries | Union) else None
    if not base or tables_of(measured):
        return measured
    names = [workload.domain.names[a] for a in sorted({a for axes in base.axes for a in axes})]
    single = Marginals(workload.domain, [[name] for name in names])
    return Union([single, measured]) if Answers(single).l2 <= Answers(measured).l2 else measured


def _substitute(asked: Workload, measured: Workload) -> tuple[Choice, ...]:
    """What is measured in place of what is asked, in words."""
    if measured is asked:
        return ()
    count = f"{len(measured.tables)} marginal table{'s' * (len(measured.tables) > 1)}"
    words = count if isinstance(measured, Marginals) else f"{count} and queries, {measured.m} answers in all"
    return (Choice("measured", words, "the answers asked follow from these with less noise, by public variances"),)


def stages_of(workload: Workload) -> list[Workload]:
    """The workloads fitted one after the other: first the tables one column smaller (pairs at least)."""
    if not (found := tables_of(workload)):
        return [workload]
    names, tables = workload.domain.names, found[0].axes
    largest = max(2, max(map(len, tables)) - 1)
    lower = {sub for axes in tables for sub in combinations(axes, min(largest, len(axes)))}
    return [Marginals(workload.domain, [[names[a] for a in axes] for axes in sorted(lower)]), workload]
