"""Private Evolution: vary, let private points vote for the nearest, keep what they chose.

Sees a Curator only.

One loop; the paper's Algorithms 1, 2, 3 and section 4.2 are settings of it,
`evolution_parts.PRESETS`.

V = S and two variations of each point at each of L scales; m = shares of the votes of the n private
points for their nearest of V (Δ₂ = √2/n), plus N(0, σ²) on all of V, σ = √(2T)/(nμ); at δ = 0
Laplace noise of scale 2T/(nε). μ' = `post`(m), and S = n_s points drawn from μ'. "weights" releases
μ'_T on V_T, which costs no more than the last points do ("last") and is nearer.

post "laplace": noise on positive shares only, which leave if they reach H = 2 log(1/(2δ₀))/(nε₀) +
1/n; T of these (ε₀, δ₀) releases are composed optimally. The paper's Appendix E forgets that they
compose. multiplicity B > 0: S is every candidate nint(n m_i/B) · B times (Algorithm 1), at most 4n.
All votes gone: μ' is uniform on the points as they were before variation. rounds = 0 releases the
initial points.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.parameters import parameter_field
from ...core.types import Array, Rng, Texts, by_name
from ...models.releases import ReleasedPoints, sample_systematically
from ...privacy.accounting import (
    Budget,
    Plan,
    PlannedEvent,
    Setting,
    equal_threshold_spend,
    noise_spend,
)
from ...privacy.curators.point_curator import PointCurator
from ...privacy.measurement import noise_stddev
from ...privacy.statistics import Votes
from ...problems import PointRelease
from ..algorithm import Algorithm, Step, Steps
from . import evolution_bounds as theory
from .evolution_steps import (
    PRESETS,
    InitialPointSource,
    PointVariation,
    PublicInitialPoints,
    distribution_from_shares,
    gaussian_variations,
    repeated_candidate_indices,
    uniform_points,
)

MAX_POINTS_PER_PRIVATE_POINT = 4  # Algorithm 1 may have at most this many points for each of the n
NO_VOTES_NOTE = "no vote was left: the points stay as they were"
MAX_CANDIDATES = 5_000_000
# in two dimensions and more, by post = bounded-lipschitz: half a minute a round, growing as N²
MAX_PROJECTED_CANDIDATES = 20_000


@by_name
class PrivateEvolution(Algorithm):
    """Private Evolution: random points, varied and resampled by noisy private votes.

    The module's docstring has the steps, each `post`, and what they cost. `random` and `variation`
    are functions to replace; see `evolution_parts` for what they must keep. Raises InputError for
    "laplace" at δ = 0, a multiplicity without threshold, or more than 5,000,000 candidates.
    Source: Gonzalez, Fanti, Ramdas 2025, Algorithms 1 to 4 and section 4.2; Lin et al. 2024.

    >>> ball, x = Ball(np.zeros(2), 1.0), np.linspace(0, 0.5, 300)
    >>> rows = read_point_rows(ball, ["x", "y"], pd.DataFrame({"x": x, "y": 0.2}))
    >>> problem = PointRelease(ball, rows.n, ("x", "y"))
    >>> Run(PrivateEvolution(rounds=2), problem, rows, Budget(1.0, 1e-6)).finish().sample(10).shape
    (10, 2)
    """

    rounds: int | None = parameter_field(
        None,
        "steps of variation and voting",
        symbol="T",
        low=0,
        high=1000,
        also="steps",
        auto="ln(nε) rounded, half of what the paper's simulations take",
    )
    post: str = parameter_field(
        "simplex",
        "how noisy votes become a distribution",
        choices=("simplex", "bounded-lipschitz", "truncate", "threshold", "laplace"),
    )
    sampling: str = parameter_field(
        "systematic", "how the next points are drawn", choices=("systematic", "iid")
    )
    release: str = parameter_field(
        "weights", "all candidates with weights, or the last points", choices=("weights", "last")
    )
    samples: int | None = parameter_field(
        None,
        "points kept a round",
        symbol="n_s",
        low=1,
        high=1_000_000,
        log=True,
        auto="the noise: Theorem 4.1",
    )
    threshold: float = parameter_field(
        2.0, "H of post = threshold, in standard deviations of the noise", low=0.0, high=20.0
    )
    multiplicity: int = parameter_field(
        0, "B of Algorithm 1; 0 draws samples instead", symbol="B", low=0, high=1_000_000
    )
    schedule: str = parameter_field(
        "short",
        "steps where none are given: ln(nε), or 2 ln(nε) as in the paper's simulations",
        choices=("short", "paper"),
    )
    random: InitialPointSource = uniform_points
    variation: PointVariation = gaussian_variations

    problem = PointRelease

    presets = PRESETS

    def with_public_initial_points(self, points: Array) -> "PrivateEvolution":
        """Return the same algorithm with `points` (r, d), which must be public, as S_0."""
        return replace(self, random=PublicInitialPoints(points))

    def plan(self, problem: PointRelease, budget: Budget) -> Plan:
        """Return a plan of T equal releases of votes.

        Scales and samples follow from their noise by Theorem 4.1.
        """
        if self.multiplicity and self.post != "threshold":
            raise InputError(
                f"multiplicity={self.multiplicity} goes with post=threshold only, not {self.post}"
            )
        n = problem.effective_n
        d = problem.d
        D = problem.diameter
        rounds = self._rounds_setting(n * budget.epsilon)
        T = rounds.value
        spend: Any = noise_spend(budget, 1 / max(T, 1))
        sigma = noise_stddev(Votes, spend, n)
        if self.post == "laplace":
            spend = equal_threshold_spend(budget, max(T, 1))
        alpha = theory.finest_variation(sigma=sigma, d=d, D=D)
        L = theory.variation_level_count(alpha=alpha, D=D)
        samples = self._samples_setting(problem, sigma, L)
        why = "standard deviation of the noise on every share of the votes"
        choices = (
            rounds,
            samples,
            *self.as_settings(
                "post", "sampling", "release", "threshold", "multiplicity", "schedule"
            ),
            Setting(
                "sigma",
                sigma,
                f"{why}, b√(2T)/(nμ)" if budget.delta > 0 else f"{why}, √2 · 2bT/(nε)",
            ),
            Setting("alpha", alpha, "D σ^{1/max(d,2)}, the finest variation"),
            Setting("levels", L, "⌈log₂(D/α)⌉ scales of variation"),
        )
        return Plan(budget, (PlannedEvent("measure", spend, T, Votes),) if T else (), choices)

    def _rounds_setting(self, n_epsilon: float) -> Setting:
        """Return the setting of T by nε: the paper's schedule has twice the steps that are best."""
        log_n_epsilon = math.log(max(n_epsilon, 1.0))
        why = "ln(nε), rounded: votes get noisier with every step more"
        if self.schedule == "paper":
            return self.choose_default("rounds", max(1, round(2 * log_n_epsilon)), f"2 {why}")
        return self.choose_default("rounds", max(1, round(log_n_epsilon)), why)

    def _samples_setting(self, problem: PointRelease, sigma: float, L: int) -> Setting:
        """Return the setting of how many points a round starts with, for L scales of variation.

        Raises InputError where they have more variations than a round can take.
        """
        d = problem.d
        default = problem.n
        why = "n, as Algorithm 1 starts with"
        if not self.multiplicity:
            default = theory.balanced_sample_count(sigma=sigma, levels=L, d=d)
            why = "(2L + 1)^{1/max(d,2) − 1}/σ: noise and sampling balance (Theorem 4.1)"
        samples = self.choose_default("samples", default, why)
        is_slow = self.post == "bounded-lipschitz" and d > 1
        max_candidates = MAX_PROJECTED_CANDIDATES if is_slow else MAX_CANDIDATES
        if samples.value * (2 * L + 1) > max_candidates:
            raise InputError(
                f"samples={samples.value:,} with {2 * L + 1} variations are more than "
                f"{max_candidates:,} candidates, the most for post={self.post}: "
                f"set samples to at most {max_candidates // (2 * L + 1):,}"
            )
        return samples

    def steps(self, problem: PointRelease, plan: Plan, curator: PointCurator, rng: Rng) -> Steps:
        """Yield steps of one variation, vote and resampling each.

        With no rounds, one step 0 with the initial points.
        """
        region = problem.region
        count = plan["samples"]
        threshold = self.threshold * plan["sigma"]
        S = self.random(region, count, rng)
        if plan["rounds"] == 0:
            yield Step(
                0, self._equal_weight_points(S, problem.names), "no round: the initial points"
            )
            return
        spend = plan.spend_of("measure")
        for t in range(1, plan["rounds"] + 1):
            V = self.variation(region, S, plan["alpha"], plan["levels"], rng)
            m = curator.measure(Votes(V), spend).values
            weights = distribution_from_shares(m, self.post, V, problem.diameter, threshold)
            note = f"{len(V):,} candidates"
            no_votes = not weights.any()
            if no_votes:
                weights = np.where(np.arange(len(V)) < len(S), 1 / len(S), 0.0)
                note = f"{note}, {NO_VOTES_NOTE}"
            indices = None
            if self.multiplicity and not no_votes:
                indices = repeated_candidate_indices(m, threshold, problem.n, self.multiplicity)
                max_points = MAX_POINTS_PER_PRIVATE_POINT * problem.n
                if not 0 < len(indices) <= max_points:
                    note += (
                        f", {len(indices):,} copies are not in 1..{max_points:,}: "
                        f"{count:,} are sampled"
                    )
                    indices = None
            if indices is None:
                indices = self._sample(weights, count, rng)
            S = V[indices]
            if self.release == "last":
                release = self._equal_weight_points(S, problem.names)
            else:
                release = ReleasedPoints(V, weights, problem.names)
            yield Step(t, release, note)

    def _sample(self, weights: Array, count: int, rng: Rng) -> Array:
        """Draw `count` candidates by their weights; return their indices."""
        if self.sampling == "iid":
            return rng.choice(len(weights), count, p=weights)
        return sample_systematically(weights, count, rng)

    @staticmethod
    def _equal_weight_points(S: Array, names: Texts) -> ReleasedPoints:
        """Return the release of the points S (r, d), all with the same weight."""
        return ReleasedPoints(S, np.full(len(S), 1 / len(S)), names)
