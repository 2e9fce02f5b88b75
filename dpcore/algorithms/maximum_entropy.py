"""Gaussian noise on every answer once, then the maximum-entropy fit. Sees a Curator, never records."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from ..params import check_parameters, param
from ..privacy.budget import Budget, Gaussian, gaussian_share
from ..privacy.curator import Curator
from ..privacy.ledger import Charge, Choice, Plan
from ..privacy.statistics import Answers
from ..problems import QueryRelease
from ..releases import Histogram
from ..workloads import Marginals, TableQueries, Union, Workload
from .base import About, Step, softmax

FLOOR = 1e-4  # of a category's share in the product of noisy 1-way marginals
FIRST_STAGE = 0.6  # its entropy weight, as a share of alpha
TINY = 1e-12  # standard deviation where nothing moves, so that residuals can be scaled by it
SETTLED = 1e-3  # gradient, in standard deviations of the noise, below which a stage is at its optimum


@dataclass(frozen=True)
class Evidence:
    """Noisy answers y (m,) of a workload with standard deviations (m,)."""

    workload: Workload
    y: np.ndarray
    sigma: np.ndarray


@dataclass(frozen=True, kw_only=True)
class GaussianMaxEnt:
    """Measure all answers once with the whole budget, then fit D by regularised maximum entropy.

    The only touch of records is one Gaussian release of the workload's answers (Δ₂ derived in `Answers`:
    √(2 · tables)/n for marginals), or of tables that give them with less noise (`Workload.measured`, from public
    numbers), exactly μ-GDP with noise σ = Δ₂/μ. All the rest is post-processing:

        base    D_0 = product of the noisy 1-way marginals (uniform where no tables are measured)
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
        sigma = Answers(measured).l2 / (problem.effective_n * spend.mu)
        stages = len(_stages(measured))
        return Plan(
            budget,
            (Charge("measure", spend),),
            (
                *_substitute(problem.workload, measured),
                Choice("rounds", self.rounds * stages, f"at most {self.rounds} in each of {stages} stages"),
                Choice("alpha", self.alpha, "in units of μ·n, so that the prior weighs alike at every ε"),
                Choice("sigma", sigma, "noise on every answer, Δ₂/(nμ) with the exact Gaussian calibration"),
            ),
        )

    def steps(self, problem: QueryRelease, plan: Plan, curator: Curator, rng: np.random.Generator) -> Iterator[Step]:
        """One iteration of the fit a step; the first one pays for everything."""
        spend = plan.spend(Gaussian)
        measured = _measured(problem.workload)
        y = curator.measure(Answers(measured), spend)
        evidence = Evidence(measured, y, np.full(len(y), max(plan["sigma"], TINY)))
        stages = _stages(measured)
        log_D, t = _product(evidence), 0
        for number, workload in enumerate(stages, start=1):
            weight = self.alpha * spend.mu * problem.effective_n * (1 if number == len(stages) else FIRST_STAGE)
            for log_D in _fit(_summed(evidence, workload), weight, log_D, self.rounds):  # noqa: B020
                t += 1
                yield Step(t, Histogram(problem.domain, softmax(log_D)), f"stage {number} of {len(stages)}")


def _measured(workload: Workload) -> Workload:
    """What is measured: the tables or the queries that the workload names.

    Queries on tables that are not measured get their 1-way tables beside them, for the base, unless Δ₂² then doubles.
    """
    measured = workload.measured
    base = measured.base if isinstance(measured, TableQueries | Union) else None
    if not base or _tables(measured):
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


def _tables(workload: Workload) -> tuple[Marginals, slice] | None:
    """The marginal tables of a workload, and the place of their answers among all."""
    if isinstance(workload, Union):
        places = zip(workload.workloads, workload.places, strict=True)
        return next(((w, place) for w, place in places if isinstance(w, Marginals)), None)
    return (workload, slice(workload.m)) if isinstance(workload, Marginals) else None


def _stages(workload: Workload) -> list[Workload]:
    """The workloads fitted one after the other: first the tables one column smaller (pairs at least)."""
    if not (found := _tables(workload)):
        return [workload]
    names, tables = workload.domain.names, found[0].axes
    largest = max(2, max(map(len, tables)) - 1)
    lower = {sub for axes in tables for sub in combinations(axes, min(largest, len(axes)))}
    return [Marginals(workload.domain, [[names[a] for a in axes] for axes in sorted(lower)]), workload]


def _summed(evidence: Evidence, workload: Workload) -> Evidence:
    """Noisy answers of `workload`, whose tables are summed out of larger noisy ones and averaged by precision.

    A cell of table A is the sum of Π_{S∖A} d_i cells of a table S ⊇ A, so its variance is that many times larger.
    """
    found = _tables(evidence.workload)
    if workload is evidence.workload or not found or not isinstance(workload, Marginals):
        return evidence
    source, place = found
    noisy, sigma = evidence.y[place], evidence.sigma[place]
    y, precision = np.zeros(workload.m), np.zeros(workload.m)
    for axes, table in zip(workload.axes, workload.tables, strict=True):
        for larger, shape, part in zip(source.axes, source.shapes, source.tables, strict=True):
            if set(axes) <= set(larger):
                gone = tuple(i for i, a in enumerate(larger) if a not in axes)
                weight = 1 / (sigma[part.start] ** 2 * math.prod(shape[i] for i in gone))
                y[table] += weight * noisy[part].reshape(shape).sum(axis=gone).ravel()
                precision[table] += weight
    return Evidence(workload, y / precision, 1 / np.sqrt(precision))


def _product(evidence: Evidence) -> np.ndarray:
    """log of the product of noisy 1-way marginals (k,), floored; uniform in columns that no table holds."""
    domain = evidence.workload.domain
    log_D = np.zeros(domain.shape)
    if found := _tables(evidence.workload):
        for axis in sorted({a for axes in found[0].axes for a in axes}):
            single = Marginals(domain, [[domain.names[axis]]])
            shares = np.maximum(_summed(evidence, single).y, FLOOR)
            shape = [-1 if a == axis else 1 for a in range(len(domain.shape))]
            log_D += np.log(shares / shares.sum()).reshape(shape)
    return log_D.ravel()


def _fit(evidence: Evidence, weight: float, base: np.ndarray, rounds: int) -> Iterator[np.ndarray]:
    """Iterates log D (k,), up to a constant, of argmin_D ½ Σ ((answers(D) − y)/σ)² + weight · KL(D ‖ exp base).

    L-BFGS on the dual f(φ) = weight · log Z(φ) + ½‖φ‖² + φ·y/σ, which is strongly convex, so that every pair of
    differences has positive curvature and backtracking always ends. Source: Nocedal, Wright 2006, Algorithm 7.4.
    """
    workload, target = evidence.workload, evidence.y / evidence.sigma

    def evaluate(phi: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        log_D = base - workload.adjoint(phi / evidence.sigma) / weight
        top = log_D.max()
        D = np.exp(log_D - top)
        total = D.sum()
        answers = workload.answers(D / total) / evidence.sigma
        value = weight * (top + math.log(total)) + phi @ phi / 2 + phi @ target
        return value, phi + target - answers, log_D

    phi = np.zeros(workload.m)
    value, gradient, log_D = evaluate(phi)
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=20)
    for _ in range(rounds):
        direction = -_inverse_hessian(pairs, gradient)
        slope, step = direction @ gradient, 1.0
        while True:
            after = evaluate(phi + step * direction)
            if after[0] <= value + 1e-4 * step * slope + 1e-12 * abs(value):
                break
            step /= 2
        pair = step * direction, after[1] - gradient
        if pair[0] @ pair[1] > 0:  # else rounding has eaten the curvature
            pairs.append(pair)
        phi = phi + step * direction
        value, gradient, log_D = after
        yield log_D
        if np.abs(gradient).max() <= SETTLED:
            return


def _inverse_hessian(pairs: deque[tuple[np.ndarray, np.ndarray]], gradient: np.ndarray) -> np.ndarray:
    """The L-BFGS approximation of H⁻¹ · gradient from pairs of (step, change of gradient)."""
    out, shares = gradient.copy(), []
    for s, change in reversed(pairs):
        shares.append((s @ out) / (s @ change))
        out -= shares[-1] * change
    if pairs:
        s, change = pairs[-1]
        out *= (s @ change) / (change @ change)
    for (s, change), share in zip(pairs, reversed(shares), strict=True):
        out += (share - (change @ out) / (s @ change)) * s
    return out
