"""Solve exactly and blur: noise on the minimiser, or noise in the objective."""

import math

from ...core.errors import InputError
from ...core.parameters import param
from ...core.types import Rng, by_name
from ...models.releases import Parameter
from ...privacy.accounting import MARGIN, Approximate, Budget, Charge, Choice, Plan, gaussian_share
from ...privacy.curators.risk_curator import RiskCurator
from ...privacy.measurement import deviation
from ...privacy.statistics import PerturbedRisk, RegularisedMinimiser
from ...problems import RiskMinimisation
from ...problems.losses import Logistic, PiecewiseLinear
from ..algorithm import Algorithm, Step, Steps
from .exponential_samplers import OneDraw

ROUND_OFF = 0.01  # width over which kinks are rounded off, as a share of R


@by_name
class OutputPerturbation(Algorithm):
    """Output perturbation: argmin F(x) + μ‖x − c‖²/2 over R^d, plus Gaussian noise, projected onto K.

    The minimiser moves by Δ₂/n, Δ₂ = G/(m + μ), when a record is replaced (`RegularisedMinimiser`), so noise of
    deviation Δ₂/(ns) is exactly s-GDP. Kinks are rounded off over 0.01 R, which costs at most that much risk. Raises
    InputError for δ = 0, and for a μ so small that rounding would count.
    Source: Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1, with Gaussian noise.
    """

    mu: float | None = param(
        None, "weight of the regulariser μ‖x − c‖²/2", symbol="μ", low=1e-12, high=1e9, log=True,
        auto="n, d, G, R and s: where the pull to the centre costs as much as the noise",
    )  # fmt: skip

    problem = RiskMinimisation

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """The charge of one Gaussian release; μ balances L√d Δ₂/(ns) against μR²/2 unless given."""
        spend = gaussian_share(budget)
        n, R, L = problem.effective_n, problem.R, problem.steepest
        G = _minimiser(problem, 1.0).G
        mu_star = math.sqrt(2 * math.sqrt(problem.d) * G * L / (n * spend.mu)) / R
        is_strongly_convex = problem.loss.strength > 0
        why = "strongly convex: none needed" if is_strongly_convex else "pull and noise cost the same"
        mu_setting = self.settled("mu", 0.0 if is_strongly_convex else mu_star, why)
        mu = mu_setting.value
        statistic = _minimiser(problem, mu)
        statistic.check()
        sigma = deviation(statistic, spend, n)
        choices = (
            Choice("rounds", 1, "one solve"),
            mu_setting,
            Choice("mu_star", mu_star, "pull and noise cost the same"),
            Choice("sigma", sigma, "deviation of the noise on every coordinate"),
            Choice("s", spend.mu, "GDP parameter"),
            Choice("risk_bound", L * math.sqrt(problem.d) * sigma + mu * R * R / 2, "if the optimum is inside K"),
        )
        return Plan(budget, (Charge("measure", spend, statistic=statistic),), choices)

    def steps(self, problem: RiskMinimisation, plan: Plan, curator: RiskCurator, rng: Rng) -> Steps:
        """One step with the release."""
        x = curator.measure(_minimiser(problem, plan["mu"]), plan.spend("measure")).values
        yield Step(1, Parameter(problem.names, problem.region.project(x)), f"noise {plan['sigma']:.3g}")


def _minimiser(problem: RiskMinimisation, mu: float) -> RegularisedMinimiser:
    """The minimiser of the risk with regulariser weight μ, kinks rounded off, as a statistic."""
    width = ROUND_OFF * problem.R
    return RegularisedMinimiser(problem.loss, problem.region, mu, width, problem.n, problem.location)


@by_name
class ObjectivePerturbation(OneDraw):
    """Objective perturbation: argmin of F(x) + Λ‖x − c‖²/(2n) + ⟨ξ, x⟩/n, ξ Gaussian, projected onto K.

    Λ pays for the determinant with `share` of ε, ξ for the rest, as derived in `PerturbedRisk`: (ε, δ)-DP, charged as
    Approximate(ε, δ). A loss with kinks is first rounded off over 0.01 R. Raises InputError for δ = 0, for the squared
    distance, and where public numbers do not prove that a solution is found, and near enough.
    Source: Kifer, Smith, Thakurta 2012, Algorithm 1.
    """

    share: float = param(0.2, "share of ε for the curvature", low=0.01, high=0.99)

    sampler_name, note = "objective", "tilt {sigma:.3g}"

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """The charge of one draw with the whole (ε, δ)."""
        if budget.delta == 0:
            raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0")
        loss = problem.loss
        if isinstance(loss, PiecewiseLinear | Logistic):
            loss = loss.smoothed(ROUND_OFF * problem.R)
        spend = Approximate(budget.epsilon * MARGIN, budget.delta)
        target = PerturbedRisk(loss, problem.region, self.share, problem.location)
        target.check()
        lam, sigma = target.settle(problem.n, problem.effective_n, spend)
        choices = (
            Choice("rounds", 1, "one solve"),
            *self.given("share"),
            Choice("lambda", lam, "regulariser Λ that pays for the determinant"),
            Choice("sigma", sigma, "deviation of the tilt ξ on every coordinate"),
            Choice("mu", lam / problem.n, "Λ/n, the weight beside F"),
        )
        return Plan(budget, (Charge("draw", spend, statistic=target),), choices)
