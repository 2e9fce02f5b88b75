"""The exact law of a private answer on given records, for display only: it uses real data.

Nothing here is released: with the records in hand, a law shows what the mechanism would do with
them.

Of a quantile, several draws may each be centred at the one before. Given a centre c, a stage draws
from ∝ exp(−k(F(x) + μ(x − c)²/2)); the law after it is that density averaged over c, the draw
before. Both integrals are
sums: over PLACES of c, groups of equal mass of the earlier law, and over cells of x on which the
exponent counts as straight. Cells are narrow where many records share a value.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from ..algorithms import ALGORITHMS
from ..algorithms.algorithm import make_plan
from ..algorithms.risk import risk_bounds as theory
from ..core.errors import InputError
from ..core.numbers import bisect_interval
from ..core.provenance import Provenance
from ..core.types import Array, frozen
from ..privacy.accounting import Budget, Plan, gdp_log_delta, gdp_mu
from ..privacy.samplers.alternating import Proposal, run_proposals
from ..privacy.samplers.line import PiecewiseGaussian
from ..privacy.samplers.plane import TangentBoxes
from ..privacy.statistics import Density
from ..problems import RiskMinimisation
from ..problems.losses import PiecewiseLinear, absolute_loss, pinball_loss
from ..problems.regions import Ball
from ..problems.risks import Risk, minimise_risk
from ..schema.domain import Rows
from .error_diagnosis import split_held_out

QUADRATURE_CENTRES = 240
LAW_CELLS = 1500
MAX_ATOMS = 20  # values shared by most rows, about which cells shrink to a tenth of 1/k
TAIL_MASS = 1e-7  # mass on either side without cells of its own
LINE_POINTS = 1200
PLANE_DRAWS = 60  # draws shown on a plane
PLANE_GRID_POINTS = 32  # grid points of each of its axes
# number of bins of a column whose law is only averaged over, for a curve over μ
MAX_CURVE_BINS = 300
RADIUS_MASS = 0.9  # of the answers that are called near
RADIUS_HALVINGS = 60
HIDDEN_TAIL_MASS = 1e-4  # mass on either side that a picture may leave out

CellLaw = tuple[Array, Array]  # edges (m + 1,) and the mass of every cell (m,)


def location_risk_values(risk: Risk, x: Array) -> Array:
    """Return the values F (m,) of a location risk with a kink, at points x (m,).

    From running sums instead of all pairs.
    """
    order = np.argsort(risk.b)
    b = risk.b[order]
    w = risk.w[order]
    W = np.append(0.0, np.cumsum(w))
    B = np.append(0.0, np.cumsum(w * b))
    i = np.searchsorted(b, x, side="right")
    loss = risk.loss
    if not isinstance(loss, PiecewiseLinear):
        raise InputError("a loss of two slopes is needed")
    below = x * W[i] - B[i]
    above = (B[-1] - B[i]) - x * (1 - W[i])
    return loss.high * below - loss.low * above


def first_stage_law(density: Density) -> CellLaw:
    """Return the exact law of one draw as probabilities of cells, narrow where the law is large."""
    law = PiecewiseGaussian(density)
    cumulative = law.cumulative / law.cumulative[-1]
    ends = np.interp([TAIL_MASS, 1 - TAIL_MASS], cumulative, law.edges)
    edges = _cell_edges(density.risk, density.k, ends, (law.edges[0], law.edges[-1]))
    return edges, np.diff(law.cdf(edges))


def next_stage_law(
    previous_law: CellLaw, risk: Risk, region: tuple[float, float], k: float, mu: float
) -> CellLaw:
    """Return the law of a draw whose centre is a draw from `previous_law`.

    `region` holds the ends of K.
    """
    edges, mass = previous_law
    cumulative = np.append(0.0, np.cumsum(mass)) / mass.sum()
    c = np.interp((np.arange(QUADRATURE_CENTRES) + 0.5) / QUADRATURE_CENTRES, cumulative, edges)
    ends = np.interp([TAIL_MASS, 1 - TAIL_MASS], cumulative, edges)
    x = _cell_edges(risk, k, ends, region)
    U = k * (location_risk_values(risk, x) + mu * (x - c[:, None]) ** 2 / 2)
    U -= U.min(1, keepdims=True)
    exponent_rises = np.abs(np.diff(U))
    mean_densities = np.exp(-np.minimum(U[:, :-1], U[:, 1:])) * np.where(
        exponent_rises < 1e-6,
        1 - exponent_rises / 2,
        -np.expm1(-exponent_rises) / np.maximum(exponent_rises, 1e-6),
    )
    cell_masses = mean_densities * np.diff(x)
    return x, (cell_masses / cell_masses.sum(1, keepdims=True)).mean(0)


def _cell_edges(risk: Risk, k: float, ends: Array, region: tuple[float, float]) -> Array:
    """Return the edges of narrow cells about `ends`, inside K."""
    margin = 0.2 * (ends[1] - ends[0])
    low = max(ends[0] - margin, region[0])
    high = min(ends[1] + margin, region[1])
    is_near = (risk.b > low) & (risk.b < high)
    b = risk.b[is_near]
    w = risk.w[is_near]
    atoms = b[np.argsort(-w)[:MAX_ATOMS]]
    steps = np.geomspace(min(0.1 / k, high - low), high - low, 60)
    edges_about_atoms = (atoms[:, None] + np.concatenate([-steps, [0.0], steps])).ravel()
    return np.unique(
        np.clip(
            np.concatenate([np.linspace(low, high, LAW_CELLS + 1), edges_about_atoms]), low, high
        )
    )


@frozen
class LineLaw:
    """The law of a private answer at points x (m,): density, mean excess risk and 90% distance.

    The last is how near the true answer 90% of the draws are. μ and k are those of the first stage.
    """

    x: Array
    density: Array
    mean_excess_risk: float
    truth: float
    radius_of_90_percent: float
    mu: float
    k: float
    stages: int
    tag = Provenance.REAL_DATA


@frozen
class PlaneLaw:
    """The law of two private coefficients on a grid x₁ (p,), x₂ (p,).

    Probability and excess risk (p, p), NaN outside K. `draws` (m, 2), and the `optimum` (2,)
    without privacy.
    """

    x1: Array
    x2: Array
    probability: Array
    excess: Array
    draws: Array
    optimum: Array
    tag = Provenance.REAL_DATA


def _plan_exponential_mechanism(problem: RiskMinimisation, budget: Budget, **settings: Any) -> Plan:
    """Return the plan of the regularised exponential mechanism with these settings."""
    return ALGORITHMS["regularized_exponential"](**settings).plan(problem, budget)


def _first_stage_density(problem: RiskMinimisation, rows: Rows, plan: Plan) -> Density:
    """Return the density that the first stage draws from."""
    return Density(problem.risk(rows), problem.region, plan["k"], plan["mu"])


def line_law(
    problem: RiskMinimisation,
    rows: Rows,
    budget: Budget,
    *,
    calibration: str = "erm",
    factor: float = 1.0,
    stages: int = 1,
) -> LineLaw:
    """Return the law of a private quantile or median of one column; InputError for other tasks.

    At `factor` times the theory's μ. The first stage is exact on cells; later ones are averaged
    over the law of the stage before by quadrature (`next_stage_law`). 0 stages: by rule.
    """
    plan = _plan_exponential_mechanism(problem, budget, calibration=calibration, stages=stages)
    if factor != 1:
        plan = _plan_exponential_mechanism(
            problem, budget, mu=factor * plan["mu_star"], calibration=calibration, stages=stages
        )
    density = _line_density(problem, rows, plan)
    truth = minimise_risk(density.risk, problem.region)
    law = _last_stage_law(density, plan)
    law_edges, cell_masses = law
    cumulative = np.append(0.0, np.cumsum(cell_masses)) / cell_masses.sum()
    low, high = np.interp([HIDDEN_TAIL_MASS, 1 - HIDDEN_TAIL_MASS], cumulative, law_edges)
    margin = max(high - low, 1e-9) / 5
    start = max(low - margin, law_edges[0])
    edges = np.linspace(start, min(high + margin, law_edges[-1]), LINE_POINTS + 1)
    cumulative_at_edges = np.interp(edges, law_edges, cumulative)
    mass = np.diff(cumulative_at_edges)  # masses, so that no narrow peak is missed
    x = (edges[1:] + edges[:-1]) / 2
    distances = abs(x - truth)
    order = distances.argsort()
    return LineLaw(
        x,
        mass / np.diff(edges),
        _mean_excess_risk(law, density.risk, truth),
        truth.item(),
        np.interp(0.9, mass[order].cumsum(), distances[order]),
        density.mu,
        density.k,
        plan["stages"],
    )


def rank_radius_of_90_percent(problem: RiskMinimisation, rows: Rows, budget: Budget) -> float:
    """Return how near the real quantile 9 of 10 answers of `rank_exponential` are.

    Between two neighbouring values of rows the density is flat, ∝ exp(−k|W − q|). Raises InputError
    for anything but a quantile of one column.
    """
    loss = problem.loss
    if not isinstance(loss, PiecewiseLinear):
        raise InputError("ranks are for a quantile of one column")
    plan = make_plan(ALGORITHMS["rank_exponential"](), problem, budget)
    density = plan.planned_event("draw").statistic.density(
        rows, problem.effective_n, plan.spend_of("draw")
    )
    risk = density.risk
    (low,), (high,) = problem.region.corners
    values, index = np.unique(np.clip(risk.b, low, high), return_inverse=True)
    share_below = np.append(0.0, np.cumsum(np.bincount(index, risk.w)))
    edges = np.concatenate([[low], values, [high]])
    level = -loss.low / (loss.high - loss.low)
    weights = np.diff(edges) * np.exp(-density.k * np.abs(share_below - level))
    cumulative = np.append(0.0, np.cumsum(weights)) / weights.sum()
    truth = minimise_risk(risk, problem.region).item()

    def is_too_near(radius: float) -> bool:
        below, above = np.interp([truth - radius, truth + radius], edges, cumulative)
        return above - below < RADIUS_MASS

    return bisect_interval(is_too_near, 0.0, float(high - low), RADIUS_HALVINGS)[1]


def _last_stage_law(density: Density, plan: Plan) -> CellLaw:
    """Return the law of the answer after the last stage.

    μ and k grow as the radius of a stage shrinks.
    """
    law = first_stage_law(density)
    radii = plan["stage_radii"]
    (low,), (high,) = density.region.corners
    for radius in radii[1:]:
        growth = radii[0] / radius
        law = next_stage_law(
            law, density.risk, (float(low), float(high)), density.k * growth, density.mu * growth
        )
    return law


def _line_density(problem: RiskMinimisation, rows: Rows, plan: Plan) -> Density:
    """Return the density on a line that the first stage draws from.

    InputError for any task but a quantile or a median.
    """
    if not problem.location or not isinstance(problem.loss, PiecewiseLinear) or problem.loss.width:
        raise InputError("the law on a line is that of a quantile or a median of one column")
    return _first_stage_density(problem, rows, plan)


def _mean_excess_risk(law: CellLaw, risk: Risk, minimiser: Array) -> float:
    """Return the mean excess risk E F(X) − F(x*), summed over cells.

    F is convex, so the error is of second order.
    """
    edges, mass = law
    midpoints = (edges[1:] + edges[:-1]) / 2
    return float(
        mass
        @ (location_risk_values(risk, midpoints) - location_risk_values(risk, minimiser))
        / mass.sum()
    )


def mean_excess_risk_by_mu(
    problem: RiskMinimisation, rows: Rows, budget: Budget, *, calibration: str = "erm"
) -> tuple[Array, Array, float]:
    """Return weights μ (m,), the exact mean excess risk (m,) at each, and the theory's μ.

    The weights lie about the theory's; one stage.
    """
    plan = _plan_exponential_mechanism(problem, budget, calibration=calibration)
    risk = _coarsen_risk(_line_density(problem, rows, plan).risk, problem)
    minimiser = minimise_risk(risk, problem.region)
    mus = plan["mu_star"] * np.geomspace(1e-3, 1e3, 31)
    excess = []
    for mu in mus:
        density = Density(risk, problem.region, plan["k"] / plan["mu"] * float(mu), float(mu))
        excess.append(_mean_excess_risk(first_stage_law(density), risk, minimiser))
    return mus, np.array(excess), float(plan["mu_star"])


def _coarsen_risk(risk: Risk, problem: RiskMinimisation) -> Risk:
    """Return a risk whose rows are moved to at most BINS places of the column, with their weights.

    For a curve that is only displayed.
    """
    if len(np.unique(risk.b)) <= MAX_CURVE_BINS:
        return risk
    (low,), (high,) = problem.region.corners
    edges = np.linspace(low, high, MAX_CURVE_BINS + 1)
    cell = np.clip(np.searchsorted(edges, risk.b) - 1, 0, MAX_CURVE_BINS - 1)
    weights = np.bincount(cell, risk.w, MAX_CURVE_BINS)
    midpoints = (edges[1:] + edges[:-1]) / 2
    return Risk(risk.loss, midpoints[weights > 0, None], weights[weights > 0], location=True)


def plane_law(
    problem: RiskMinimisation, rows: Rows, budget: Budget, *, calibration: str = "erm"
) -> PlaneLaw:
    """Return the law of two private coefficients on a bounded region, in one stage.

    InputError for another number of coefficients.
    """
    if problem.d != 2 or not problem.region.is_bounded:
        raise InputError(
            f"the picture of a plane needs two coefficients on a bounded region, not {problem.d}"
        )
    density = _first_stage_density(
        problem, rows, _plan_exponential_mechanism(problem, budget, calibration=calibration)
    )
    X = TangentBoxes(density, np.random.default_rng(0)).draw(PLANE_DRAWS, np.random.default_rng(1))
    optimum = minimise_risk(density.risk, problem.region)
    draws_and_optimum = np.vstack([X, optimum])
    low = draws_and_optimum.min(0)
    high = draws_and_optimum.max(0)
    margins = 0.25 * np.maximum(high - low, 1e-9)
    axes = [
        np.linspace(a, b, PLANE_GRID_POINTS)
        for a, b in zip(low - margins, high + margins, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
    risks = density.risk.values(grid)
    U = density.k * (risks + density.mu * ((grid - density.centre) ** 2).sum(1) / 2)
    is_inside = problem.region.contains(grid)
    p = np.where(is_inside, np.exp(U[is_inside].min() - U), 0.0)
    shape = (PLANE_GRID_POINTS, PLANE_GRID_POINTS)
    excess = np.where(is_inside, risks - density.risk.value(optimum), np.nan).reshape(shape)
    return PlaneLaw(axes[0], axes[1], (p / p.sum()).reshape(shape), excess, X, optimum)


def sampler_walk_on_invented_rows() -> tuple[Array, list[Proposal]]:
    """Return twelve invented numbers (12,) in −1..1 and every proposal of the sampler on them.

    The proposals are those of the paper's sampler, step by step. Its inner states follow the rows,
    so that they are shown for invented ones only. The step size is fit to look at.
    """
    rng = np.random.default_rng(0)
    b = np.clip(rng.normal(0.2, 0.4, 12), -1, 1)
    density = Density(
        Risk(absolute_loss(), b[:, None], np.ones(12), location=True),
        Ball(np.zeros(1), 1.0),
        20.0,
        0.5,
    )
    return b, list(run_proposals(density, 12, 0.002, rng, np.zeros(1)))


def median_delta_curve(budget: Budget, epsilons: Array, n: int) -> tuple[Array, float]:
    """Return the exact δ(ε) (m,) of a private median on two invented neighbouring tables, and s.

    The tables have n numbers; δ(ε) comes from quadrature. Half the numbers lie at either end of
    −1..1, and one of them moves to the other end: the larger of both directions. The second value
    is the GDP parameter s of the promise, whose `gaussian_delta_curve` it must stay below.
    """
    problem = RiskMinimisation(pinball_loss(0.5), Ball(np.zeros(1), 1.0), n, ("x",), True)
    plan = _plan_exponential_mechanism(problem, budget)
    x = np.linspace(-1, 1, 20_001)
    laws = []
    for moved_count in (0, 1):
        b = np.repeat([-1.0, 1.0], [n // 2 + moved_count, n - n // 2 - moved_count])
        U = _first_stage_density(problem, Rows(b[:, None], np.ones(n)), plan)
        laws.append(softmax(-(U.k * (location_risk_values(U.risk, x) + U.mu * x * x / 2))))
    p, q = laws
    return np.array(
        [
            max(_hockey_stick_divergence(p, q, e), _hockey_stick_divergence(q, p, e))
            for e in epsilons
        ]
    ), float(plan["s"])


def _hockey_stick_divergence(p: Array, q: Array, epsilon: float) -> float:
    """Return Σ max(p − e^ε q, 0), the probability by which p exceeds e^ε q.

    It is the δ of this direction.
    """
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def gaussian_delta_curve(s: float, epsilons: Array) -> Array:
    """Return δ(ε) (m,) of a Gaussian mechanism that is exactly s-GDP."""
    return np.array([math.exp(gdp_log_delta(float(e), s)) for e in epsilons])


def calibration_table(delta: float) -> pd.DataFrame:
    """Return a table of ε, exact s at δ, the paper's s, and the δ that the paper's s then keeps.

    A line for each ε from 0.01 to 10; the last column is δ itself. The third δ is that of the
    paper's Theorem 6.4. As printed it spends 2δ/3 on the density and (1 + e^ε)δ/3 on the sampler.
    """
    lines = []
    for epsilon in np.geomspace(0.01, 10, 61):
        exact_s = gdp_mu(float(epsilon), delta)
        paper_s = theory.paper_gdp_parameter(epsilon=float(epsilon), delta=delta)
        spent_delta = delta * (2 / 3 + (1 + math.exp(epsilon)) / 3)
        lines.append(
            {
                "epsilon": epsilon,
                "exact": exact_s,
                "printed": paper_s,
                "spent": spent_delta,
                "promised": delta,
            }
        )
    return pd.DataFrame(lines)


def split_rows(rows: Rows, second_share: float, seed: int) -> tuple[Rows, Rows]:
    """Split the rows into two random groups, with a share `second_share` of them in the second.

    One to learn from, one to judge by.
    """
    total = int(rows.weights.sum())
    return split_held_out(
        rows, min(max(1, round(second_share * total)), total - 2), np.random.default_rng(seed)
    )


def nonprivate_minimiser(problem: RiskMinimisation, rows: Rows) -> Array:
    """Return the answer (d,) without privacy, from the rows themselves."""
    return minimise_risk(problem.risk(rows), problem.region)
