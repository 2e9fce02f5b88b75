"""PEP: select, measure, project by entropy on what was measured. Sees a Curator, never records."""

import math
from functools import partial

from ...core.parameters import param
from ...core.types import by_name
from ...privacy.accounting import Choice
from ..pooled_measurements import TINY
from .shared.initial_model import Ground
from .shared.select_and_measure import LONGEST, Fact, Queries, Rules, SelectAndMeasure

SHARE = 0.3  # share of the budget for measurements; all constants fitted on two tables
RULE: Rules = {("query", False): (0.38, 2 / 3), ("query", True): (0.2, 1 / 2)}  # the rule for T
SWEEPS = (3, 20)  # over past measurements, each round and in the last one
NEVER = 1e-9  # an indicator's share is moved to no less than this, and no more than 1 − this


@by_name
class PEP(SelectAndMeasure):
    """Select the worst-answered query, measure it, and project D_0 by entropy on all that was measured.

    Each round selects a signed query by s · ⟨q_j, P_n − D⟩ (ε₀-bounded-range; Δ = max_j (hi_j − lo_j)/n) and measures
    it with Gaussian noise of standard deviation σ_j = Δ₂/(nμ), Δ₂ = hi_j − lo_j, so that T rounds cost T (ε₀²/8 + μ²/2)
    in zCDP, less composed optimally; at δ = 0 with Laplace noise, and T (ε₀ + ε₁) in all. D then tends to

        argmin KL(D ‖ D_0)  subject to  |⟨q_i, D⟩ − a_i| ≤ γ σ_i for every query i measured so far,

    D_0 uniform or a public start, a_i the mean of its c measurements (σ_i²/c), clipped to what q_i can be. In the dual
    D ∝ D_0 exp(Σ θ_i q_i), and the constraints are visited in turn, newest first, three times a round: θ_i becomes the
    value that puts ⟨q_i, D⟩ on the nearer edge of its interval, with θ_i > 0 only on the lower edge and θ_i < 0 only on
    the upper one, else 0 (complementary slackness, so that a constraint can be let go again). For an indicator that
    value is exact, θ += logit(edge) − logit(⟨q, D⟩); other queries take a Newton step of size 1 at the most.
    Where cells cannot be listed, 1-way tables and a tree are found first (`ground`): D_0 is their product, and what is
    selected are cells of the tree's tables.
    Source: Liu, Vietri, Wu 2021, Algorithm 2 (PEP), with zCDP in place of its composition, γ in units of the noise, and
    θ that can return to 0 as in Dudík, Phillips, Schapire 2004.
    """

    slack: float = param(
        0.3, "how far answers may stay from measured ones, in standard deviations of the noise", symbol="γ",
        low=0.01, high=20, log=True,
    )  # fmt: skip

    who, shares, rules, work = "pep", {"query": SHARE}, RULE, {"query": 2 * 10**8}

    def own_choices(self, sigma: float) -> tuple[Choice, ...]:
        """The choices of how far answers may stay from measured ones."""
        return (
            Choice("slack", self.slack, "in units of the noise, so that one value serves every ε and n"),
            Choice("gamma", self.slack * sigma, "slack times sigma: how far answers may stay from measured ones"),
        )

    def past(self, ground: Ground) -> Queries:
        """An empty record of past measurements, which lets D stop at the edge of what the slack allows."""
        return Queries(ground, partial(to_the_edge, slack=self.slack), SWEEPS)


def to_the_edge(fact: Fact, p: float, variance: float, slack: float) -> float:
    """The step of θ that projects D on |⟨q, D⟩ − a| ≤ slack · σ, from p = ⟨q, D⟩ and the current θ."""
    a = min(max(fact.answer, 0.0 if isinstance(fact.at.q, float) else -1.0), 1.0)
    gamma = slack / math.sqrt(fact.precision)
    up, down = (_distance(fact, p, variance, edge) for edge in (a - gamma, a + gamma))
    return up if fact.theta + up > 0 else down if fact.theta + down < 0 else -fact.theta


def _distance(fact: Fact, p: float, variance: float, edge: float) -> float:
    """The step of θ that moves ⟨q, D⟩ from p to `edge`; one Newton step where q is no indicator."""
    if isinstance(fact.at.q, float):
        return _logit(edge) - _logit(p)
    return min(max((edge - p) / max(variance, TINY), -LONGEST), LONGEST)


def _logit(p: float) -> float:
    """The log odds log(p/(1 − p)) of a probability, kept away from 0 and 1."""
    p = min(max(p, NEVER), 1 - NEVER)
    return math.log(p / (1 - p))
