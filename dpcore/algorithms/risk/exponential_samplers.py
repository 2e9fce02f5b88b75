"""The regularised exponential mechanism, and its rivals that draw from a density."""

import math
from typing import Any, ClassVar

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Array, Rng, by_name
from ...models.releases import ReleasedParameter
from ...privacy.accounting import (
    BoundedRange,
    Budget,
    Plan,
    PlannedEvent,
    Setting,
    equal_draw_spend,
    regularised_draw_spend,
)
from ...privacy.curators.risk_curator import RiskCurator
from ...privacy.samplers import AUTOMATIC_SAMPLERS, SAMPLERS, choose_sampler
from ...privacy.samplers.alternating import rounds_and_step
from ...privacy.statistics import PlainRisk, RankError, RegularisedRisk
from ...problems import RiskMinimisation
from ...problems.losses import PiecewiseLinear
from ..algorithm import Algorithm, Step, Steps
from . import risk_bounds as theory

SAMPLER_ERROR_DELTA_SHARE = 0.01


@by_name
class OneDraw(Algorithm):
    """The base of algorithms that draw one parameter from a density, and release it.

    It is released as a point of K.
    """

    problem = RiskMinimisation
    # name of one of the curator's samplers; "": the one that the plan chose
    sampler_name = ""
    note_template: ClassVar[str]  # with names of settings to fill in

    def draws_without_rounding(self, plan: Plan) -> bool:
        """Return whether the plan's sampler draws on a public grid, without rounding."""
        return SAMPLERS[self.sampler_name or plan["sampler"]].is_on_public_grid

    # a subclass may need the problem
    def target_density(self, problem: RiskMinimisation, plan: Plan) -> Any:  # noqa: ARG002
        """Return the density to draw from: the one that the plan charges for."""
        return plan.planned_event("draw").statistic

    def steps(
        self, problem: RiskMinimisation, plan: Plan, curator: RiskCurator, _rng: Rng
    ) -> Steps:
        """Yield one step with the draw."""
        name = self.sampler_name or plan["sampler"]
        x = curator.draw_parameter(self.target_density(problem, plan), name, plan.spend_of("draw"))
        yield Step(
            1,
            ReleasedParameter(problem.names, problem.region.project(x)),
            self.note_template.format_map(plan),
        )


@by_name
class RegularizedExponential(Algorithm):
    """The regularised exponential mechanism: a draw x ∝ exp(−k(F(x) + μ‖x − c‖²/2)) on K.

    With m stages it draws again, with c the last draw and a larger μ.

    Each of m stages is s/√m-GDP by k = (μ + strength)(s n/(√m G))² (`RegularisedRisk`), together
    s-GDP, and within τ/m of its law; (1 + e^ε)τ = θδ is charged beside them. Stage j = 0 … m − 1
    expects the optimum within r^j R of its c, so its μ is r^−j times that of the first; r
    (`theory.learning.shrink`) and the rest are fixed beforehand. Raises InputError for δ = 0, μ = 0
    without strong convexity, and where no sampler serves.
    Source: Gopi, Lee, Liu 2022, Theorems 6.2 and 6.8, calibrated exactly; stages are an extension.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(RegularizedExponential(), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([38.])
    """

    calibration: str = parameter_field(
        "erm",
        "which risk μ is chosen for: the empirical one, or the population's",
        choices=("erm", "sco"),
    )
    mu: float | None = parameter_field(
        None,
        "weight of the regulariser μ‖x − c‖²/2, of the first stage",
        symbol="μ",
        low=0,
        high=1e9,
        log=True,
        auto="n, d, G, R and s: the smallest bound on the chosen risk",
    )
    stages: int = parameter_field(
        1,
        "draws, each centred at the one before and held more tightly; 0: as many as n, d and s "
        "suggest",
        symbol="m",
        low=0,
        high=6,
    )
    theta: float = parameter_field(
        SAMPLER_ERROR_DELTA_SHARE,
        "share of δ that pays for the sampler's error",
        symbol="θ",
        low=0,
        high=0.5,
    )
    sampler: str = parameter_field(
        "auto", "how to draw; all have the same law", choices=("auto", *AUTOMATIC_SAMPLERS)
    )

    problem = RiskMinimisation

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of m equal draws.

        μ of the first stage from the theory at its own s/√m, k from μ.
        """
        n = problem.effective_n
        d = problem.d
        G = problem.G
        R = problem.R
        _, s = regularised_draw_spend(budget, 1, self.theta)
        m = self.stages or theory.stage_count(n=n, d=d, s=s)
        r = theory.stage_radius_ratio(n=n, d=d, s=s, smooth=problem.loss.curvature < math.inf)
        spend, s = regularised_draw_spend(budget, m, self.theta)
        public_numbers = {"n": n, "d": d, "G": G, "R": R, "s": spend.mu}
        optimal_mu = theory.erm_mu if self.calibration == "erm" else theory.sco_mu
        mu_star = optimal_mu(**public_numbers)
        mu = self._mu_setting(problem, mu_star)
        target = _regularised_density(problem, problem.region.centre, mu.value)
        target.check()
        tau = budget.sampler_error(spend.failure)
        k = target.k(n, spend)
        name = choose_sampler(target, tau) if self.sampler == "auto" else self.sampler
        SAMPLERS[name].require_supported(target, k, tau, problem.n)
        if problem.loss.strong_convexity > 0:
            bound = d / k + mu.value * R * R / 2
        else:
            risk_bound = theory.erm_bound if self.calibration == "erm" else theory.sco_bound
            bound = risk_bound(**public_numbers, mu=mu.value)
        radii = [R * r**j for j in range(m)]
        stages_why = "given" if self.stages else "a rule of thumb from n, d and s"
        sampler_why = "the first that serves" if self.sampler == "auto" else "given"
        choices = (
            Setting("rounds", m, "one draw a stage"),
            Setting("stages", m, stages_why),
            *self.as_settings("calibration"),
            Setting("sampler", name, sampler_why),
            Setting("s", s, "GDP parameter of the whole: the largest at (1 − θ)δ"),
            Setting("theta", self.theta, "share of δ that pays for the sampler's error"),
            Setting("tau", tau * m, "total variation the sampler may be off by: θδ/(1 + e^ε)"),
            Setting("G", problem.G, "rows' losses differ by a G-Lipschitz function"),
            mu,
            Setting("k", k, "the sharpest density that s/√m pays for"),
            Setting("mu_star", mu_star, "smallest bound on the chosen risk"),
            Setting("stage_s", spend.mu, "GDP parameter of one stage: s/√m"),
            Setting("stage_tau", tau, "sampler error of one stage: τ/m"),
            Setting("stage_radii", radii, f"{r:.3g} of the one before, from n, d and s"),
            Setting("risk_bound", bound, "excess risk of the first stage on average, at the most"),
        )
        return Plan(budget, (PlannedEvent("draw", spend, m, RegularisedRisk),), choices)

    def _mu_setting(self, problem: RiskMinimisation, mu_star: float) -> Setting:
        """Return the setting of the first stage's μ, by the theory.

        It is 0 for a strongly convex loss.
        """
        if problem.loss.strong_convexity > 0:
            return self.choose_default("mu", 0.0, "strongly convex: none needed")
        return self.choose_default("mu", mu_star, "smallest risk bound")

    def steps(
        self, problem: RiskMinimisation, plan: Plan, curator: RiskCurator, _rng: Rng
    ) -> Steps:
        """Yield steps of one draw each; μ grows as the radius shrinks."""
        spend = plan.spend_of("draw")
        x = problem.region.centre
        for t, radius in enumerate(plan["stage_radii"], 1):
            mu = plan["mu"] * problem.R / radius
            x = curator.draw_parameter(_regularised_density(problem, x, mu), plan["sampler"], spend)
            yield Step(
                t, ReleasedParameter(problem.names, x), f"centred within {radius:.3g}, μ = {mu:.3g}"
            )


def _regularised_density(problem: RiskMinimisation, centre: Array, mu: float) -> RegularisedRisk:
    """Return the density of the regularised risk, held near `centre` with weight μ."""
    return RegularisedRisk(problem.loss, problem.region, mu, problem.location, centre)


@by_name
class AlternatingSampler(OneDraw):
    """The law of `RegularizedExponential` in one stage, by the sampler of the paper.

    The sampler looks at single records, one at a time.

    s-GDP and within τ of its law, as there; T and η of the chain are fixed from public numbers, and
    only its last state is released. n ≤ 200. Source: Gopi, Lee, Liu 2022, Algorithms 1 and 2.

    >>> sample = samples.census(100)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> AlternatingSampler().plan(problem, Budget(1.0, 1e-9))["chain"] > 1000
    True
    """

    mu: float | None = parameter_field(
        None,
        "weight of the regulariser μ‖x − c‖²/2",
        symbol="μ",
        low=0,
        high=1e9,
        log=True,
        auto="n, d, G, R and s: the smallest bound on the empirical risk",
    )
    theta: float = parameter_field(
        SAMPLER_ERROR_DELTA_SHARE,
        "share of δ that pays for the sampler's error",
        symbol="θ",
        low=0,
        high=0.5,
    )

    sampler_name = "alternating"
    note_template = "{chain:,} steps of the chain"

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of one draw, as regularized_exponential plans it."""
        inner_plan = RegularizedExponential(mu=self.mu, theta=self.theta).plan(problem, budget)
        target = _regularised_density(problem, problem.region.centre, inner_plan["mu"])
        SAMPLERS["alternating"].require_supported(
            target, inner_plan["k"], inner_plan["tau"], problem.n
        )
        T, eta = rounds_and_step(target, inner_plan["k"], inner_plan["tau"])
        inner_choices = tuple(
            c for c in inner_plan.settings if c.name not in ("sampler", "calibration")
        )
        choices = (
            *inner_choices,
            Setting("chain", T, "steps of the chain for τ"),
            Setting("eta", eta, "step size of the chain"),
        )
        return Plan(budget, inner_plan.planned_events, choices)

    def target_density(self, problem: RiskMinimisation, plan: Plan) -> RegularisedRisk:
        """Return the density of regularized_exponential, in one stage."""
        return _regularised_density(problem, problem.region.centre, plan["mu"])


@by_name
class Exponential(OneDraw):
    """The exponential mechanism: a draw x ∝ exp(−kF(x)) on a bounded K, k = ε₀n/(2RG).

    It is ε₀-bounded range, hence ε₀-DP with δ = 0 (`PlainRisk`).

    2R is the diameter of K. ε₀ is ε, or what δ > 0 allows if that is more; 0.01 δ then pays for the
    sampler's error. At δ = 0 it is drawn on a public grid, without rounding (`samplers.lattice`).
    Raises InputError on R^d, and where no sampler serves: with δ = 0 nothing pays for an error, and
    beyond two dimensions, but for means within a box, no exact sampler is certain to end, whatever
    the records, so none is started. Source: McSherry, Talwar 2007; Bassily, Smith, Thakurta 2014.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(Exponential(), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([38.])
    """

    note_template = "k = {k:.4g}"

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of one draw with the whole budget."""
        target = PlainRisk(problem.loss, problem.region, problem.location)
        target.check()
        failure = SAMPLER_ERROR_DELTA_SHARE * budget.delta
        draw_spend = equal_draw_spend(Budget(budget.epsilon, budget.delta - failure), 1)
        spend = BoundedRange(draw_spend.epsilon, failure)
        k = target.k(problem.effective_n, spend)
        tau = budget.sampler_error(failure)
        pure = budget.delta == 0
        name = "grid" if pure else choose_sampler(target, tau)
        SAMPLERS[name].require_supported(target, k, tau, problem.n)
        why = "on a public grid, without rounding" if pure else "the first that serves"
        choices = (
            Setting("rounds", 1, "one draw"),
            Setting("sampler", name, why),
            Setting(
                "epsilon_0", spend.epsilon, "bounded range: ε, or what δ allows if that is more"
            ),
            Setting("k", k, "ε₀n/(2RG)"),
            Setting("G", problem.G, "rows' losses differ by a G-Lipschitz function"),
            Setting("tau", tau, "total variation the sampler may be off by"),
            Setting("risk_bound", problem.d / k, "excess risk on average, at the most: d/k"),
        )
        return Plan(budget, (PlannedEvent("draw", spend, statistic=target),), choices)


@by_name
class RankExponential(OneDraw):
    """The exponential mechanism for a quantile: a draw x ∝ exp(−ε₀|#{z ≤ x} − qn|/2).

    x lies in the column's public range (`RankError`).

    Ranks move by at most 1, so it is ε₀-bounded range and ε₀-DP, at δ = 0 too: it is drawn on a
    public grid, without rounding (`samplers.ranks`). Raises InputError for anything but a quantile
    of one column. Source: Smith 2011, Algorithm 2.

    >>> sample = samples.census(2000)
    >>> problem, rows = read_task("quantile:hours:0.5", sample.domain, sample.frame)
    >>> Run(RankExponential(), problem, rows, Budget(1.0, 1e-9)).finish().release.x.round()
    array([37.])
    """

    sampler_name = "rank"
    note_template = "k = {k:.4g}"

    def plan(self, problem: RiskMinimisation, budget: Budget) -> Plan:
        """Return a plan of one draw with the whole budget.

        Raises InputError for any problem but a quantile.
        """
        if not isinstance(problem.loss, PiecewiseLinear) or problem.loss.width:
            raise InputError("rank_exponential is for a quantile of one column")
        target = RankError(problem.loss, problem.region, problem.location)
        target.check()
        spend = equal_draw_spend(budget, 1)
        SAMPLERS["rank"].require_supported(
            target, target.k(problem.effective_n, spend), 0.0, problem.n
        )
        choices = (
            Setting("rounds", 1, "one draw"),
            Setting(
                "epsilon_0", spend.epsilon, "bounded range: ε, or what δ allows if that is more"
            ),
            Setting("k", target.k(problem.effective_n, spend), "ε₀n/2, on shares of rows"),
        )
        return Plan(budget, (PlannedEvent("draw", spend, statistic=target),), choices)
