"""Budget and spends: the promise, the cost of each touch, and the sum of costs.

Neighbours replace one row everywhere.
"""

import math
from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum
from typing import Any, ClassVar

from ...core.errors import InputError
from ...core.types import Json, value_object
from . import conversions
from .composition import OptimalComposition

# Budgets that are served. Beyond them nothing is promised that anybody wants (ε), whole records may
# be given away (δ),
# or roots are searched for where floating point gives out; inside, every conversion is tested.
# ε
MIN_EPSILON = 1e-6
MAX_EPSILON = 1e9
# δ where it is not 0
MIN_DELTA = 1e-100
MAX_DELTA = 0.5
ALLOWED_BUDGETS = (
    f"epsilon from {MIN_EPSILON:g} to {MAX_EPSILON:g}, delta 0 or from "
    f"{MIN_DELTA:g} to {MAX_DELTA:g}"
)


@value_object
class Budget:
    """The promise (ε, δ): replacing one row changes no event's probability by more than e^ε and δ.

    `additive` asks for spends that keep it when they are added up, as they are for a data set over
    all its releases: plans of several kinds are then calibrated by zCDP and not by optimal
    composition.

    >>> Budget(epsilon=1.0, delta=1e-9)
    Budget(epsilon=1.0, delta=1e-09)
    """

    epsilon: float
    delta: float
    additive: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
                raise InputError(f"{name}={str(value)[:40]} is not a number")
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            raise InputError(
                f"epsilon={str(self.epsilon)[:40]} is not served; served are {ALLOWED_BUDGETS}"
            )
        if self.delta != 0 and not MIN_DELTA <= self.delta <= MAX_DELTA:
            raise InputError(
                f"delta={str(self.delta)[:40]} is not served; served are {ALLOWED_BUDGETS}"
            )

    @property
    def rho(self) -> float:
        """The largest ρ whose ρ-zCDP keeps this promise; for δ = 0 the ε²/2 that ε-DP implies."""
        return (
            conversions.zcdp_rho(self.epsilon, self.delta)
            if self.delta > 0
            else self.epsilon**2 / 2
        )

    def sampler_error(self, failure: float) -> float:
        """The total variation τ = failure/(1 + e^ε) that a sampler may err by at a cost of `failure`, on any data.

        P(E) ≤ P*(E) + τ ≤ e^ε Q*(E) + δ₀ + τ ≤ e^ε Q(E) + δ₀ + (1 + e^ε)τ for the laws P, Q of
        neighbouring data.
        """
        return failure / (1 + math.exp(self.epsilon)) if self.epsilon < 700 else 0.0


def _require_positive_spend(name: str, value: float, failure: float) -> None:
    """Raise InputError unless a spend costs something: one of 0 pays nothing, one below 0 gives budget back."""
    if not 0 < value < math.inf:
        raise InputError(f"a spend of {name}={value} must be finite and above 0")
    if not 0 <= failure < 1:
        raise InputError(f"a spend's failure={failure} is outside [0, 1)")


class PrivacyEvent:
    """A spend whose cost adds up, or does not where a kind says nothing of it."""

    rho: Any = math.inf  # of zero-concentrated DP
    pure: Any = math.inf  # the ε of pure DP
    failure: Any = 0.0  # the part of δ that the spend takes


@value_object
class Gaussian(PrivacyEvent):
    """The spend of one release that is μ-GDP: Gaussian noise of deviation Δ₂/μ. Source: Dong, Roth, Su 2022."""

    mu: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        _require_positive_spend("mu", self.mu, self.failure)

    @property
    def rho(self) -> float:
        """The ρ of zero-concentrated DP: Δ₂²/(2σ²) = μ²/2. Source: Bun, Steinke 2016, Prop. 1.6."""
        return self.mu**2 / 2


@value_object
class _RangeBoundedSpend(PrivacyEvent):
    """An ε-DP spend whose log-likelihood ratios span at most s = `RANGE_PER_EPSILON` · ε, so that it is s²/8-zCDP.

    Source: Cesar, Rogers 2021 (s²/8).
    """

    epsilon: float
    failure: float = 0.0
    RANGE_PER_EPSILON: ClassVar[int]

    def __post_init__(self) -> None:
        _require_positive_spend("epsilon", self.epsilon, self.failure)

    @property
    def pure(self) -> float:
        """The ε of pure DP."""
        return self.epsilon

    @property
    def rho(self) -> float:
        """The ρ of zero-concentrated DP: s²/8."""
        return self.RANGE_PER_EPSILON**2 * self.epsilon**2 / 8


@value_object
class BoundedRange(_RangeBoundedSpend):
    """The spend of one exponential-mechanism draw: log-likelihood ratios span at most ε₀, so ε₀-DP and ε₀²/8-zCDP.

    Source: Durfee, Rogers 2019 (bounded range).
    """

    RANGE_PER_EPSILON = 1


@value_object
class Pure(_RangeBoundedSpend):
    """The spend of an ε-DP release, e.g. Laplace noise of scale Δ₁/ε; ε²/2-zCDP (Bun, Steinke 2016, Prop. 1.4)."""

    RANGE_PER_EPSILON = 2


@value_object
class Approximate(Pure):
    """The spend of an (ε₀, δ₀)-DP release: outside an event of probability δ₀ it costs what ε₀-DP does.

    Source: Bun, Steinke 2016, section 8 (approximate zCDP).
    """


@value_object
class SubsampledGaussian(PrivacyEvent):
    """The spend of one sum over a Poisson sample of the rows: rate q, clipped at C, noise of deviation zC.

    Its cost is known only together with all others like it, by privacy loss distributions
    (`subsampled_epsilon`).
    """

    noise_multiplier: float
    rate: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        _require_positive_spend("noise_multiplier", self.noise_multiplier, self.failure)
        if not 0 < self.rate < 1:
            raise InputError(f"rate={self.rate} is outside (0, 1)")


NoiseSpend = Gaussian | Pure  # for a number that is released with noise
Spend = Gaussian | BoundedRange | Pure | Approximate | SubsampledGaussian


class CompositionRule(StrEnum):
    """The rule by which a plan's costs add up; fixed before the first touch, so that adapting stays sound."""

    GDP = "exact Gaussian (GDP)"
    ZCDP = "zero-concentrated DP"
    OPTIMAL = "optimal composition of so many of each kind"
    PURE = "sum of ε"
    PLD = "privacy loss distributions"

    def epsilon(self, cost: float, delta: float) -> float:
        """The ε at δ that an additive cost (Σμ², Σρ or Σε) amounts to."""
        if self is CompositionRule.GDP and cost < math.inf:
            return conversions.gdp_epsilon(math.sqrt(cost), delta)
        return (
            conversions.zcdp_epsilon(cost, delta)
            if self is CompositionRule.ZCDP and cost < math.inf
            else cost
        )

    def capacity(self, epsilon: float, delta: float) -> float:
        """The largest additive cost that keeps (ε, δ), rounded down."""
        if self is CompositionRule.GDP:
            return conversions.gdp_mu(epsilon, delta) ** 2
        return conversions.zcdp_rho(epsilon, delta) if self is CompositionRule.ZCDP else epsilon


@value_object
class ComposedCost:
    """The summed costs of spends: Σμ² (∞ if not all Gaussian), Σρ, Σε (∞ if not all pure), Σ failure δ.

    `sampled_sums` is the one kind of sampled sum and how many of them, None where there is anything
    else. `optimal_composition` holds what is composed optimally, sizes of one kind rounded up to
    the largest; None if a spend is of a kind it does not take.
    """

    mu_squared: float = 0.0
    rho: float = 0.0
    pure: float = 0.0
    failure: float = 0.0
    sampled_sums: tuple[SubsampledGaussian, int] | None = None
    optimal_composition: OptimalComposition | None = OptimalComposition()

    @classmethod
    def of_spends(cls, spends: Iterable[tuple[PrivacyEvent, int]]) -> "ComposedCost":
        """The summed costs of (spend, times) pairs; the sums are correctly rounded and do not depend on the order."""
        times_by_spend: dict[PrivacyEvent, int] = {}
        for spend, times in spends:
            times_by_spend[spend] = times_by_spend.get(spend, 0) + times
        counted = list(times_by_spend.items())
        single_spend = counted[0][0] if len(counted) == 1 else None
        return cls(
            math.fsum(t * (s.mu**2 if isinstance(s, Gaussian) else math.inf) for s, t in counted),
            math.fsum(t * s.rho for s, t in counted),
            math.fsum(t * s.pure for s, t in counted),
            math.fsum(t * s.failure for s, t in counted),
            (single_spend, sum(t for _, t in counted))
            if isinstance(single_spend, SubsampledGaussian)
            else None,
            _optimal_composition(counted),
        )

    def symbol_and_cost(self, rule: CompositionRule) -> tuple[str, float]:
        """The symbol and amount of the cost that an accounting adds up; optimal composition has no single amount."""
        return {
            CompositionRule.GDP: ("μ²", self.mu_squared),
            CompositionRule.ZCDP: ("ρ", self.rho),
            CompositionRule.PURE: ("ε", self.pure),
            CompositionRule.PLD: (
                "sampled steps",
                self.sampled_sums[1] if self.sampled_sums else 0,
            ),
        }[rule]

    def epsilon(self, delta: float, rule: CompositionRule, planned_draws: int = 0) -> float:
        """The ε that holds at δ by one accounting; ∞ where that does not apply. `planned_draws`: see `Joint.log_delta`."""
        remaining_delta = delta - self.failure
        if remaining_delta < 0:
            return math.inf
        if rule is CompositionRule.PURE:
            return self.pure
        if remaining_delta == 0:
            return math.inf
        if rule is CompositionRule.OPTIMAL:
            return (
                self.optimal_composition.epsilon(remaining_delta, planned_draws=planned_draws)
                if self.optimal_composition
                else math.inf
            )
        if rule is not CompositionRule.PLD:
            return rule.epsilon(self.symbol_and_cost(rule)[1], remaining_delta)
        if self.sampled_sums is None:
            return 0.0 if self == ComposedCost() else math.inf
        spend, times = self.sampled_sums
        return conversions.subsampled_epsilon(
            spend.noise_multiplier, spend.rate, times, remaining_delta
        )

    def tightest_rule(self, budget: Budget) -> CompositionRule:
        """The accounting with the smallest ε at δ; one with an additive cost is preferred if any keeps the promise.

        What adds up may be spent otherwise than planned.
        """
        if budget.delta <= self.failure:
            return CompositionRule.PURE

        def epsilon(rule: CompositionRule) -> float:
            return self.epsilon(budget.delta, rule)

        best_additive_rule = min(
            (CompositionRule.GDP, CompositionRule.ZCDP, CompositionRule.PURE), key=epsilon
        )
        return (
            best_additive_rule
            if epsilon(best_additive_rule) <= budget.epsilon
            else min(CompositionRule, key=epsilon)
        )


def _optimal_composition(spend_counts: list[tuple[PrivacyEvent, int]]) -> OptimalComposition | None:
    """The joint cost of spends; None where one is of a kind that it does not take."""
    if not all(isinstance(s, (Gaussian, Pure, BoundedRange)) for s, _ in spend_counts):
        return None

    def largest_and_count(kind: type[_RangeBoundedSpend]) -> tuple[float, int]:
        """The largest ε of the spends of a kind, and their number."""
        epsilons_and_times = [(s.epsilon, t) for s, t in spend_counts if isinstance(s, kind) and t]
        return max((e for e, _ in epsilons_and_times), default=0.0), sum(
            t for _, t in epsilons_and_times
        )

    mu_squared = math.fsum(t * s.mu**2 for s, t in spend_counts if isinstance(s, Gaussian))
    return OptimalComposition(
        mu_squared, *largest_and_count(Pure), *largest_and_count(BoundedRange)
    )


@value_object
class PrivacySpent:
    """The total spent: ε at δ, and the additive cost behind it (ρ always, μ when all is Gaussian)."""

    epsilon: float
    delta: float
    rho: float | None
    mu: float | None
    accounting: CompositionRule

    def to_json(self) -> Json:
        """The total as a dictionary: epsilon, delta, accounting, and mu or rho."""
        out: Json = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "accounting": str(self.accounting),
        }
        return out | ({"mu": self.mu} if self.mu is not None else {"rho": self.rho})
