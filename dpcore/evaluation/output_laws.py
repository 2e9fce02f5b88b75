"""The exact law of a private answer on given records, for display only: it uses real data.

Nothing here is released: with the records in hand, a law shows what the mechanism would do with them.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import softmax

from ..algorithms import ALGORITHMS
from ..data.domain import Rows
from ..errors import InputError
from ..geometry.regions import Ball
from ..learning.losses import PiecewiseLinear, absolute, pinball
from ..learning.risks import Risk, smallest
from ..privacy.accounting.budget import Budget
from ..privacy.accounting.conversions import gdp_log_delta, gdp_mu
from ..privacy.accounting.ledger import Plan
from ..privacy.samplers.alternating import Proposal, walk
from ..privacy.samplers.line import PiecewiseGaussian
from ..privacy.samplers.plane import TangentBoxes
from ..privacy.statistics.targets import Density, RegularisedRisk
from ..problems import RiskMinimisation
from ..tags import Tag
from ..theory import learning as theory
from ..types import Array
from .diagnosis import held_out
from .staged import Cells, first, following, risk_values

POINTS = 1200
DRAWS, GRID = 60, 32  # shown on a plane, and grid points of each of its axes
BINS = 300  # number of bins of a column whose law is only averaged over, for a curve over μ
SHOWN = 1e-4  # mass on either side that a picture may leave out


@dataclass(frozen=True, eq=False)
class LineLaw:
    """The law of a private answer at points x (m,): density, mean excess risk, the true answer, and a 90% interval.

    μ and k are those of the first stage.
    """

    x: Array
    density: Array
    excess: float
    truth: float
    low: float
    high: float
    mu: float
    k: float
    stages: int
    tag: ClassVar[Tag] = Tag.PEEK


@dataclass(frozen=True, eq=False)
class PlaneLaw:
    """The law of two coefficients on a grid x₁ (p,), x₂ (p,): probability and excess risk (p, p), NaN outside K.

    `draws` (m, 2), and the `optimum` (2,) without privacy.
    """

    x1: Array
    x2: Array
    probability: Array
    excess: Array
    draws: Array
    optimum: Array
    tag: ClassVar[Tag] = Tag.PEEK


def _plan(problem: RiskMinimisation, budget: Budget, **settings: Any) -> Plan:
    return ALGORITHMS["regularized_exponential"](**settings).plan(problem, budget)


def _density(problem: RiskMinimisation, rows: Rows, plan: Plan) -> Density:
    """The density that the first stage draws from."""
    risk = Risk(problem.loss, rows.values, rows.weights, location=problem.location)
    return Density(risk, problem.region, plan["k"], plan["mu"])


def line_law(
    problem: RiskMinimisation, rows: Rows, budget: Budget, *, calibration: str = "erm", factor: float = 1.0,
    stages: int = 1,
) -> LineLaw:  # fmt: skip
    """The law of a private quantile or median of one column, at `factor` times the theory's μ; else InputError.

    One stage is exact; more are averaged over the law of the stage before by quadrature (`staged`). 0 stages: by rule.
    """
    plan = _plan(problem, budget, calibration=calibration, stages=stages)
    if factor != 1:
        plan = _plan(problem, budget, mu=factor * plan["mu_star"], calibration=calibration, stages=stages)
    density = _line(problem, rows, plan)
    truth = smallest(density.risk, problem.region)
    if plan["stages"] == 1:
        law = PiecewiseGaussian(density)
        places, cumulative = law.edges, law.cumulative / law.cumulative[-1]
        excess = _mean_excess(law, density, truth)
    else:
        law, (cells, each) = None, _last_stage(density, plan)
        places, cumulative = cells, np.concatenate([[0.0], np.cumsum(each)]) / each.sum()
        middle = (cells[1:] + cells[:-1]) / 2
        excess = float(each @ (risk_values(density.risk, middle) - risk_values(density.risk, truth)) / each.sum())
    ends = np.interp([SHOWN, 1 - SHOWN], cumulative, places)
    span = max(ends[1] - ends[0], 1e-9)
    edges = np.linspace(max(ends[0] - span / 5, places[0]), min(ends[1] + span / 5, places[-1]), POINTS + 1)
    below = law.cdf(edges) if law else np.interp(edges, places, cumulative)
    mass = np.diff(below)  # masses, so that no narrow peak is missed
    low, high = np.interp([0.05, 0.95], below, edges)
    return LineLaw(
        (edges[1:] + edges[:-1]) / 2, mass / np.diff(edges), excess, float(truth[0]), float(low), float(high),
        density.mu, density.k, plan["stages"],
    )  # fmt: skip


def _last_stage(density: Density, plan: Plan) -> Cells:
    """The law of the answer after the last stage; μ and k grow as the radius of a stage shrinks."""
    cells, radii = first(density), plan["stage_radii"]
    (low,), (high,) = density.region.bounds
    for radius in radii[1:]:
        grown = radii[0] / radius
        cells = following(cells, density.risk, (float(low), float(high)), density.k * grown, density.mu * grown)
    return cells


def _line(problem: RiskMinimisation, rows: Rows, plan: Plan) -> Density:
    if not problem.location or not isinstance(problem.loss, PiecewiseLinear) or problem.loss.width:
        raise InputError("the law on a line is that of a quantile or a median of one column")
    return _density(problem, rows, plan)


def _mean_excess(law: PiecewiseGaussian, density: Density, truth: Array) -> float:
    """The mean excess risk E F(X) − F(x*), summed over cells; F is convex, so the error is of second order."""
    nodes = np.unique(np.concatenate([law.edges, np.linspace(law.edges[0], law.edges[-1], 2001)]))
    middle, mass = (nodes[1:] + nodes[:-1]) / 2, np.diff(law.cdf(nodes))
    return float(mass @ (risk_values(density.risk, middle) - risk_values(density.risk, truth)))


def risk_by_mu(
    problem: RiskMinimisation, rows: Rows, budget: Budget, *, calibration: str = "erm"
) -> tuple[Array, Array, float]:
    """Weights μ (m,) about the theory's, the exact mean excess risk at each (m,), and the theory's μ; one stage."""
    plan = _plan(problem, budget, calibration=calibration)
    risk = _coarse(_line(problem, rows, plan).risk, problem)
    truth = smallest(risk, problem.region)
    mus, excess = plan["mu_star"] * np.geomspace(1e-3, 1e3, 31), []
    for mu in mus:
        density = Density(risk, problem.region, plan["k"] / plan["mu"] * float(mu), float(mu))
        excess.append(_mean_excess(PiecewiseGaussian(density), density, truth))
    return mus, np.array(excess), float(plan["mu_star"])


def _coarse(risk: Risk, problem: RiskMinimisation) -> Risk:
    """The records of a column moved to at most BINS places, with their weights, for a curve that is only displayed."""
    if len(np.unique(risk.b)) <= BINS:
        return risk
    (low,), (high,) = problem.region.bounds
    edges = np.linspace(low, high, BINS + 1)
    cell = np.clip(np.searchsorted(edges, risk.b) - 1, 0, BINS - 1)
    weights = np.bincount(cell, risk.w, BINS)
    middle = (edges[1:] + edges[:-1]) / 2
    return Risk(risk.loss, middle[weights > 0, None], weights[weights > 0], location=True)


def plane_law(problem: RiskMinimisation, rows: Rows, budget: Budget, *, calibration: str = "erm") -> PlaneLaw:
    """The law of two coefficients on a bounded region, in one stage; InputError for another number of them."""
    if problem.d != 2 or not problem.region.bounded:
        raise InputError(f"the picture of a plane needs two coefficients on a bounded region, not {problem.d}")
    density = _density(problem, rows, _plan(problem, budget, calibration=calibration))
    X = TangentBoxes(density, np.random.default_rng(0)).draw(DRAWS, np.random.default_rng(1))
    optimum = smallest(density.risk, problem.region)
    both = np.vstack([X, optimum])
    low, high = both.min(0), both.max(0)
    room = 0.25 * np.maximum(high - low, 1e-9)
    axes = [np.linspace(a, b, GRID) for a, b in zip(low - room, high + room, strict=True)]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
    risks = density.risk.values(grid)
    U = density.k * (risks + density.mu * ((grid - density.centre) ** 2).sum(1) / 2)
    inside = problem.region.contains(grid)
    p = np.where(inside, np.exp(U[inside].min() - U), 0.0)
    shape = (GRID, GRID)
    excess = np.where(inside, risks - density.risk.value(optimum), np.nan).reshape(shape)
    return PlaneLaw(axes[0], axes[1], (p / p.sum()).reshape(shape), excess, X, optimum)


def public_walk() -> tuple[Array, list[Proposal]]:
    """Twelve invented numbers (12,) in −1..1, and every proposal of the paper's sampler on them, step by step.

    Its inner states follow the records, so that they are shown for invented ones only. The step size is fit to look at.
    """
    rng = np.random.default_rng(0)
    b = np.clip(rng.normal(0.2, 0.4, 12), -1, 1)
    density = Density(Risk(absolute(), b[:, None], np.ones(12), location=True), Ball(np.zeros(1), 1.0), 20.0, 0.5)
    return b, list(walk(density, 12, 0.002, rng, np.zeros(1)))


def neighbour_curve(budget: Budget, epsilons: Array, n: int) -> tuple[Array, float]:
    """Exact δ(ε) (m,) of a private median between two neighbouring invented tables of n numbers, by quadrature.

    Half the numbers lie at either end of −1..1, and one of them moves to the other end: the larger of both directions.
    The second value is the GDP parameter s of the promise, whose `gaussian_curve` it must stay below.
    """
    problem = RiskMinimisation(pinball(0.5), Ball(np.zeros(1), 1.0), n, ("x",), True)
    plan = _plan(problem, budget)
    target = RegularisedRisk(problem.loss, problem.region, plan["mu"], True)
    x = np.linspace(-1, 1, 20_001)
    laws = []
    for moved in (0, 1):
        b = np.repeat([-1.0, 1.0], [n // 2 + moved, n - n // 2 - moved])
        U = Density(Risk(target.loss, b[:, None], np.ones(n), location=True), target.region, plan["k"], plan["mu"])
        height = -(U.k * (risk_values(U.risk, x) + U.mu * x * x / 2))
        laws.append(softmax(height))
    p, q = laws
    return np.array([max(_beyond(p, q, e), _beyond(q, p, e)) for e in epsilons]), float(plan["s"])


def _beyond(p: Array, q: Array, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def gaussian_curve(s: float, epsilons: Array) -> Array:
    """δ(ε) (m,) of a Gaussian mechanism that is exactly s-GDP."""
    return np.array([math.exp(gdp_log_delta(float(e), s)) for e in epsilons])


def calibrations(delta: float) -> pd.DataFrame:
    """Rows (ε, exact s at δ, the paper's s, the δ that its Theorem 6.4 then keeps, δ) for ε from 0.01 to 10.

    As printed it spends 2δ/3 on the density and (1 + e^ε)δ/3 on the sampler.
    """
    lines = []
    for epsilon in np.geomspace(0.01, 10, 61):
        exact, printed = gdp_mu(float(epsilon), delta), theory.paper_gdp(epsilon=float(epsilon), delta=delta)
        spent = delta * (2 / 3 + (1 + math.exp(epsilon)) / 3)
        lines.append({"epsilon": epsilon, "exact": exact, "printed": printed, "spent": spent, "promised": delta})
    return pd.DataFrame(lines)


def split(rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
    """The records in two random groups, `share` of them in the second: one to learn from, one to judge by."""
    total = int(rows.weights.sum())
    return held_out(rows, min(max(1, round(share * total)), total - 2), np.random.default_rng(seed))


def optimum(problem: RiskMinimisation, rows: Rows) -> Array:
    """The answer (d,) without privacy, from the records themselves."""
    return smallest(Risk(problem.loss, rows.values, rows.weights, location=problem.location), problem.region)
