"""PEP: select, measure, project by entropy on what was measured. Sees a Curator, never records.

Each round selects a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range; Δ = max_j (hi_j −
lo_j)/n) and measures it with Gaussian noise of standard deviation σ_j = Δ₂/(nμ), Δ₂ = hi_j − lo_j,
so that T rounds cost T (ε₀²/8 + μ²/2) in zCDP, less composed optimally; at δ = 0 with Laplace
noise, and T (ε₀ + ε₁) in all. D then tends to

    argmin KL(D ‖ D_0)  subject to  |⟨q_i, D⟩ − a_i| ≤ γ σ_i for every query i measured so far,

D_0 uniform or a public start, a_i the mean of its c measurements (σ_i²/c), clipped to what q_i can
be. In the dual D ∝ D_0 exp(Σ θ_i q_i), and the constraints are visited in turn, newest first, three
times a round: θ_i becomes the value that puts ⟨q_i, D⟩ on the nearer edge of its interval, with θ_i
> 0 only on the lower edge and θ_i < 0 only on the upper one, else 0 (complementary slackness, so
that a constraint can be let go again). For an indicator that value is exact, θ += logit(edge) −
logit(⟨q, D⟩); other queries take a Newton step of size 1 at the most. Where cells cannot be listed,
1-way tables and a tree are found first (`state`): D_0 is their product, and what is selected are
cells of the tree's tables.
"""

import math
from functools import partial

from ...core.parameters import parameter_field
from ...core.types import by_name
from ...privacy.accounting import Setting
from ..noisy_tables import MIN_STDDEV
from .shared.initial_model import ModelState
from .shared.select_and_measure import (
    MAX_THETA_STEP,
    QueryHistory,
    QueryMeasurement,
    RoundRules,
    SelectAndMeasure,
)

MEASUREMENT_SHARE = 0.3  # share of the budget for measurements; all constants fitted on two tables
# the rule for T
ROUND_RULES: RoundRules = {
    ("query", False): (0.38, 2 / 3),
    ("query", True): (0.2, 1 / 2),
}
PROJECTION_SWEEPS = (3, 20)  # over past measurements, each round and in the last one
# an indicator's share is moved to no less than this, and no more than 1 − this
MIN_INDICATOR_SHARE = 1e-9


@by_name
class PEP(SelectAndMeasure):
    """The algorithm PEP: select the worst-answered query, measure it, project by entropy on it.

    T rounds cost T (ε₀²/8 + μ²/2) in zCDP, less composed optimally; the module's docstring has the
    projection.
    Source: Liu, Vietri, Wu 2021, Algorithm 2 (PEP), with zCDP in place of its composition, γ in
    units of the noise, and θ that can return to 0 as in Dudík, Phillips, Schapire 2004.

    >>> sample = samples.titanic()
    >>> rows = sample.domain.encode(sample.frame)
    >>> problem = QueryRelease(Marginals.all(sample.domain, 2), rows.n)
    >>> Run(PEP(), problem, rows, Budget(1.0, 1e-9)).finish().sample(100).shape
    (100, 4)
    """

    slack: float = parameter_field(
        0.3,
        "how far answers may stay from measured ones, in standard deviations of the noise",
        symbol="γ",
        low=0.01,
        high=20,
        log=True,
    )

    algorithm_name = "pep"
    evaluations_per_round = 3.0
    measurement_shares = {"query": MEASUREMENT_SHARE}
    round_rules = ROUND_RULES
    max_work = {"query": 2 * 10**8}

    def extra_settings(self, sigma: float) -> tuple[Setting, ...]:
        """Return the setting of how far answers may stay from measured ones."""
        return (
            Setting(
                "slack", self.slack, "in units of the noise, so that one value serves every ε and n"
            ),
            Setting(
                "gamma",
                self.slack * sigma,
                "slack times sigma: how far answers may stay from measured ones",
            ),
        )

    def new_history(self, state: ModelState) -> QueryHistory:
        """Return an empty history of measurements that lets D stop at the edge of its slack."""
        return QueryHistory(
            state, partial(interval_projection_step, slack=self.slack), PROJECTION_SWEEPS
        )


def interval_projection_step(
    measurement: QueryMeasurement, p: float, variance: float, slack: float
) -> float:
    """Return the step of θ that projects D on |⟨q, D⟩ − a| ≤ slack · σ.

    From p = ⟨q, D⟩ and the current θ.
    """
    a = min(max(measurement.answer, 0.0 if isinstance(measurement.support.q, float) else -1.0), 1.0)
    gamma = slack / math.sqrt(measurement.precision)
    up = _theta_step_to_edge(measurement, p, variance, a - gamma)
    down = _theta_step_to_edge(measurement, p, variance, a + gamma)
    if measurement.theta + up > 0:
        return up
    if measurement.theta + down < 0:
        return down
    return -measurement.theta


def _theta_step_to_edge(
    measurement: QueryMeasurement, p: float, variance: float, edge: float
) -> float:
    """Return the step of θ that moves ⟨q, D⟩ from p to `edge`.

    One Newton step where q is no indicator.
    """
    if isinstance(measurement.support.q, float):
        return _logit(edge) - _logit(p)
    return min(max((edge - p) / max(variance, MIN_STDDEV), -MAX_THETA_STEP), MAX_THETA_STEP)


def _logit(p: float) -> float:
    """Return the log odds log(p/(1 − p)) of a probability, kept away from 0 and 1."""
    p = min(max(p, MIN_INDICATOR_SHARE), 1 - MIN_INDICATOR_SHARE)
    return math.log(p / (1 - p))
