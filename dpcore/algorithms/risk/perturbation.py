"""Solve exactly and blur: noise on the minimiser, or noise in the objective."""

import math

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Rng, by_name
from ...models.releases import ReleasedParameter
from ...privacy.accounting import (
    ROUNDING_MARGIN,
    Approximate,
    Budget,
    Plan,
    PlannedEvent,
    Setting,
    gaussian_spend,
)
from ...privacy.curators.risk_curator import RiskCurator
from ...privacy.measurement import noise_stddev
from ...privacy.statistics import PerturbedRisk, RegularisedMinimiser
from ...problems import RiskMinimisation
from ...problems.losses import Logistic, PiecewiseLinear
from ..algorithm import Algorithm, Step, Steps
from .exponential_samplers import OneDraw

KINK_WIDTH_SHARE = 0.01  # width over which kinks are rounded off, as a share of R


@by_name
class OutputPerturbation(Algorithm):
    """Output perturbation: argmin F(x) + μ‖x − c‖²/2 over R^d, plus noise, projected onto K.

    The noise is Gaussian.

    The minimiser moves by Δ₂/n, Δ₂ = G/(m + μ), when a record is replaced (`RegularisedMinimiser`),
    so noise of deviation Δ₂/(ns) is exactly s-GDP. Kinks are rounded off over 0.01 R, which costs
    at most that much risk. Raises InputError for δ = 0, and for a μ so small that rounding would
    count.
    Source: Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1, with Gaussian noise.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(OutputPerturbation(), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([40.])
    """

    mu: float | None = parameter_field(
        None,
        "weight of the regulariser μ‖x − c‖²/2",
        symbol="μ",
        low=1e-12,
        high=1e9,
        log=True,
        auto="n, d, G, R and s: where the pull to the centre costs as much as the noise",
    )

    problem = RiskMinimisation

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of one Gaussian release; μ balances two bounds unless given.

        L√d Δ₂/(ns) against μR²/2.
        """
        spend = gaussian_spend(budget)
        n = problem.effective_n
        R = problem.R
        L = problem.lipschitz_constant
        G = _regularised_minimiser(problem, 1.0).G
        mu_star = math.sqrt(2 * math.sqrt(problem.d) * G * L / (n * spend.mu)) / R
        is_strongly_convex = problem.loss.strong_convexity > 0
        why = (
            "strongly convex: none needed" if is_strongly_convex else "pull and noise cost the same"
        )
        mu_setting = self.choose_default("mu", 0.0 if is_strongly_convex else mu_star, why)
        mu = mu_setting.value
        statistic = _regularised_minimiser(problem, mu)
        statistic.check()
        sigma = noise_stddev(statistic, spend, n)
        choices = (
            Setting("rounds", 1, "one solve"),
            mu_setting,
            Setting("mu_star", mu_star, "pull and noise cost the same"),
            Setting("sigma", sigma, "deviation of the noise on every coordinate"),
            Setting("s", spend.mu, "GDP parameter"),
            Setting(
                "risk_bound",
                L * math.sqrt(problem.d) * sigma + mu * R * R / 2,
                "if the optimum is inside K",
            ),
        )
        return Plan(budget, (PlannedEvent("measure", spend, statistic=statistic),), choices)

    def steps(self, problem: RiskMinimisation, plan: Plan, curator: RiskCurator, rng: Rng) -> Steps:
        """Yield one step with the release."""
        x = curator.measure(
            _regularised_minimiser(problem, plan["mu"]), plan.spend_of("measure")
        ).values
        yield Step(
            1,
            ReleasedParameter(problem.names, problem.region.project(x)),
            f"noise {plan['sigma']:.3g}",
        )


def _regularised_minimiser(problem: RiskMinimisation, mu: float) -> RegularisedMinimiser:
    """Return the minimiser of the risk with regulariser weight μ, as a statistic.

    Kinks are rounded off.
    """
    width = KINK_WIDTH_SHARE * problem.R
    return RegularisedMinimiser(
        problem.loss, problem.region, mu, width, problem.n, problem.location
    )


@by_name
class ObjectivePerturbation(OneDraw):
    """Objective perturbation: argmin of F(x) + Λ‖x − c‖²/(2n) + ⟨ξ, x⟩/n, projected onto K.

    ξ is Gaussian.

    Λ pays for the determinant with `share` of ε, ξ for the rest, as derived in `PerturbedRisk`: (ε,
    δ)-DP, charged as Approximate(ε, δ). A loss with kinks is first rounded off over 0.01 R. Raises
    InputError for δ = 0, for the squared distance, and where public numbers do not prove that a
    solution is found, and near enough.
    Source: Kifer, Smith, Thakurta 2012, Algorithm 1.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(ObjectivePerturbation(), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([37.])
    """

    share: float = parameter_field(0.2, "share of ε for the curvature", low=0.01, high=0.99)

    sampler_name = "objective"
    note_template = "tilt {sigma:.3g}"

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of one draw with the whole budget (ε, δ)."""
        if budget.delta == 0:
            raise InputError("delta=0 cannot be promised with Gaussian noise; choose delta > 0")
        loss = problem.loss
        if isinstance(loss, PiecewiseLinear | Logistic):
            loss = loss.smoothed(KINK_WIDTH_SHARE * problem.R)
        spend = Approximate(budget.epsilon * ROUNDING_MARGIN, budget.delta)
        target = PerturbedRisk(loss, problem.region, self.share, problem.location)
        target.check()
        lam, sigma = target.calibrate(problem.n, problem.effective_n, spend)
        choices = (
            Setting("rounds", 1, "one solve"),
            *self.as_settings("share"),
            Setting("lambda", lam, "regulariser Λ that pays for the determinant"),
            Setting("sigma", sigma, "deviation of the tilt ξ on every coordinate"),
            Setting("mu", lam / problem.n, "Λ/n, the weight beside F"),
        )
        return Plan(budget, (PlannedEvent("draw", spend, statistic=target),), choices)
