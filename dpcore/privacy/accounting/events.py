"""Privacy events: what is done to the data, each with its cost in every notion that has one.

A plan pays with `Gaussian`, `BoundedRange`, `Pure`, `Approximate` and `SubsampledGaussian` events.
A ledger also holds `Concentrated` and `Filtered` ones, which stand for all that a release might
spend, and `Drawn` ones, which are errors of samplers. Files name an event by its class and fields.
Neighbours replace one row everywhere.

>>> Gaussian(0.5).rho
0.125
>>> Pure(0.5).pure_epsilon, Pure(0.5).mu_squared
(0.5, inf)
>>> Drawn(1e-9).failure_delta(epsilon=0.0)
2e-09
"""

import math
from collections.abc import Collection
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

from scipy.special import log_expit, ndtri_exp

from ...core.errors import InputError
from ...core.numbers import ROUNDING_SLACK
from ...core.types import Json, value_object
from . import conversions
from .composition import OptimalComposition

MAX_EXPONENT = 700.0  # of e^ε, which is infinite a little above it


def _require_positive_spend(name: str, value: float, failure: float) -> None:
    """Raise InputError unless an event costs something.

    One of 0 pays nothing, one below 0 gives budget back.
    """
    if not 0 < value < math.inf:
        raise InputError(f"a spend of {name}={value} must be finite and above 0")
    if not 0 <= failure < 1:
        raise InputError(f"a spend's failure={failure} is outside [0, 1)")


def _delta_per_sampler_error(epsilon: float) -> float:
    """Return 1 + e^ε: the δ that an error of 1 in total variation takes at ε."""
    return 1 + math.exp(min(epsilon, MAX_EXPONENT))


class PrivacyEvent:
    """An event of which nothing is known in a notion whose cost is infinite.

    `mu_squared` is the μ² of Gaussian noise alone; `mu_squared_bound` that of a Gaussian which is
    at least as telling. `failure` is the part of δ that the event takes.
    """

    failure: Any = 0.0
    rho: Any = math.inf  # of zero-concentrated DP
    pure_epsilon: Any = math.inf  # of pure DP
    mu_squared: Any = math.inf
    mu_squared_bound: Any = math.inf
    is_sampler_error: ClassVar[bool] = False  # its exact law is paid for by another event
    is_subsampled: ClassVar[bool] = False
    has_worst_pairs: ClassVar[bool] = True  # pairs of laws that dominate all its mechanisms' laws
    has_laplace_noise: ClassVar[bool] = False  # if it pays for noise, which else is Gaussian
    stddev_per_scale: ClassVar[float] = 1.0  # standard deviation over scale of that noise

    @property
    def may_fail(self) -> bool:
        """Return whether the event takes a part of δ."""
        return bool(self.failure)

    @property
    def failure_probability(self) -> float:
        """Return the probability by which the event may differ from one that does not fail."""
        return self.failure

    @property
    def sampler_failure(self) -> float:
        """Return the part of δ that pays for the error of a sampler."""
        return self.failure

    def failure_delta(self, epsilon: float) -> float:
        """Return the part of δ that the event takes in a plan that promises ε in all."""
        return self.failure

    def failure_delta_bound(self, epsilon: float) -> float:
        """Return the most of δ that the event may take in a ledger whose total is ε.

        A ledger may hold events whose failure was (1 + e^ε')τ at their plan's ε', which it does
        not know: τ is half of that at the most, and it takes (1 + e^ε)τ at the total ε.
        """
        return _delta_per_sampler_error(epsilon) * (self.failure / 2)

    def without_failure(self) -> Self:
        """Return the event as if it took no part of δ."""
        return replace(self, failure=0.0)  # type: ignore[type-var]

    def optimal_composition(self, times: int) -> OptimalComposition | None:
        """Return `times` such events as optimal composition takes them; None where it does not."""
        return None

    def sampled_epsilon(self, times: int, delta: float) -> float:
        """Return the ε at δ of `times` such events by loss distributions; ∞ where unknown."""
        return math.inf

    def enlarge(self, factor: float) -> Self:
        """Return the event with its parameter enlarged by a factor."""
        raise InputError(f"{type(self).__name__} has no parameter to enlarge")


@value_object
class Gaussian(PrivacyEvent):
    """The event of one release that is μ-GDP: Gaussian noise of deviation Δ₂/μ.

    Source: Dong, Roth, Su 2022.
    """

    mu: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        _require_positive_spend("mu", self.mu, self.failure)

    @property
    def rho(self) -> float:
        """The ρ of zero-concentrated DP: Δ₂²/(2σ²) = μ²/2. Source: Bun, Steinke 2016, Prop. 1.6."""
        return self.mu**2 / 2

    @property
    def mu_squared(self) -> float:
        """Return μ², which adds up over Gaussian noise. Source: Dong, Roth, Su 2022."""
        return self.mu**2

    @property
    def mu_squared_bound(self) -> float:
        """Return μ² itself."""
        return self.mu**2

    def optimal_composition(self, times: int) -> OptimalComposition:
        """Return `times` such events as one Gaussian event."""
        return OptimalComposition(times * self.mu**2)

    def enlarge(self, factor: float) -> Self:
        """Return the event with μ enlarged by a factor."""
        return replace(self, mu=self.mu * factor)


@value_object
class _RangeBoundedSpend(PrivacyEvent):
    """An ε-DP event whose log-likelihood ratios span at most s = `RANGE_PER_EPSILON` · ε.

    So it is s²/8-zCDP. Source: Cesar, Rogers 2021 (s²/8).
    """

    epsilon: float
    failure: float = 0.0
    RANGE_PER_EPSILON: ClassVar[int]

    def __post_init__(self) -> None:
        _require_positive_spend("epsilon", self.epsilon, self.failure)

    @property
    def pure_epsilon(self) -> float:
        """The ε of pure DP."""
        return self.epsilon

    @property
    def rho(self) -> float:
        """The ρ of zero-concentrated DP: s²/8."""
        return self.RANGE_PER_EPSILON**2 * self.epsilon**2 / 8

    @property
    def mu_squared_bound(self) -> float:
        """Return the μ² of the Gaussian that is as hard to tell apart as two points, rounded up.

        Log-likelihood ratios of a spend with bounded range s lie in [t − s, t], 0 ≤ t ≤ s, so
        neighbours' laws are at least as hard to tell apart as two points with ratios t and t − s.
        Their trade-off curve f has one corner (a, b), and logit(1 − a) + logit(1 − b) = s: all
        corners together are the curve of logistic noise shifted by s. A convex G_μ lies below f as
        soon as it lies below its corner: Φ⁻¹(1 − a) + Φ⁻¹(1 − b) ≤ μ. With g = Φ⁻¹ ∘ expit, odd,
        and concave above 0 (the normal law precedes the logistic one in van Zwet's order),
        g(x) + g(s − x) is largest at x = s/2: μ = 2 g(s/2). An ε-DP spend has range 2ε.
        Source: Dong, Durfee, Rogers 2020 (two points); van Zwet 1964.

        As g is concave, μ ≤ g'(0) s = s√(2π)/4, so μ² ≤ π s²/8 = πρ: the cost of `Filtered`.
        """
        span = self.RANGE_PER_EPSILON * self.epsilon
        return (-2 * float(ndtri_exp(log_expit(-span / 2))) * ROUNDING_SLACK) ** 2

    def enlarge(self, factor: float) -> Self:
        """Return the event with ε enlarged by a factor."""
        return replace(self, epsilon=self.epsilon * factor)


@value_object
class BoundedRange(_RangeBoundedSpend):
    """The event of one exponential-mechanism draw: log-likelihood ratios span at most ε₀.

    So it is ε₀-DP and ε₀²/8-zCDP. Source: Durfee, Rogers 2019 (bounded range).
    """

    RANGE_PER_EPSILON = 1

    def optimal_composition(self, times: int) -> OptimalComposition:
        """Return `times` draws of range ε₀."""
        if times == 0:
            return OptimalComposition()
        return OptimalComposition(draw_range=self.epsilon, draw_count=times)


@value_object
class Pure(_RangeBoundedSpend):
    """The event of an ε-DP release, e.g. Laplace noise of scale Δ₁/ε.

    It is ε²/2-zCDP (Bun, Steinke 2016, Prop. 1.4).
    """

    RANGE_PER_EPSILON = 2
    has_laplace_noise = True
    stddev_per_scale = math.sqrt(2)

    def optimal_composition(self, times: int) -> OptimalComposition:
        """Return `times` releases of ε₀."""
        if times == 0:
            return OptimalComposition()
        return OptimalComposition(pure_epsilon=self.epsilon, pure_count=times)


@value_object
class Approximate(Pure):
    """The event of an (ε₀, δ₀)-DP release: but for a chance of δ₀ it costs what ε₀-DP does.

    Source: Bun, Steinke 2016, section 8 (approximate zCDP).
    """

    @property
    def sampler_failure(self) -> float:
        """Return 0: δ₀ is no error of a sampler."""
        return 0.0

    def failure_delta_bound(self, epsilon: float) -> float:
        """Return δ₀, which adds up whatever ε is."""
        return self.failure


@value_object
class SubsampledGaussian(PrivacyEvent):
    """The event of one noisy sum over a Poisson sample of the rows.

    The sample has rate q, rows are clipped at C, and the noise has deviation zC. Its cost is known
    only together with all others like it, by privacy loss distributions (`subsampled_epsilon`).
    """

    noise_multiplier: float
    rate: float
    failure: float = 0.0
    is_subsampled = True

    def __post_init__(self) -> None:
        _require_positive_spend("noise_multiplier", self.noise_multiplier, self.failure)
        if not 0 < self.rate < 1:
            raise InputError(f"rate={self.rate} is outside (0, 1)")

    def sampled_epsilon(self, times: int, delta: float) -> float:
        """Return the ε at δ of `times` such sums."""
        return conversions.subsampled_epsilon(self.noise_multiplier, self.rate, times, delta)

    def enlarge(self, factor: float) -> Self:
        """Raise InputError: such sums have no price of their own."""
        raise InputError("sums over samples are priced together, and none of them is enlarged")


@value_object
class Concentrated(PrivacyEvent):
    """An event known only to be ρ-zCDP, as earlier versions charged for discrete Gaussian noise.

    Source: Canonne, Kamath, Steinke 2020.
    """

    rho: float
    failure: float = 0.0
    has_worst_pairs = False

    def failure_delta_bound(self, epsilon: float) -> float:
        """Return the failure, which adds up whatever ε is."""
        return self.failure


@value_object
class Filtered(Concentrated):
    """Gaussian, BoundedRange and Pure spends chosen adaptively, with Σρ ≤ ρ on every path."""

    @property
    def mu_squared_bound(self) -> float:
        """Return πρ, which bounds the μ² of every kind; see `BoundedRange.mu_squared_bound`."""
        return math.pi * ROUNDING_SLACK * self.rho


@value_object
class Drawn(PrivacyEvent):
    """A draw whose law is off by at most `error` in total variation.

    Another event pays for its exact law.
    """

    error: float
    failure = rho = pure_epsilon = mu_squared_bound = 0.0
    is_sampler_error = True

    def __post_init__(self) -> None:
        if not 0 <= self.error < 1:
            raise InputError(f"a draw's error={self.error} is outside [0, 1)")

    @property
    def may_fail(self) -> bool:
        """Return True: it is an error."""
        return True

    @property
    def failure_probability(self) -> float:
        """Return the error in total variation."""
        return self.error

    def failure_delta(self, epsilon: float) -> float:
        """Return (1 + e^ε)τ, the part of δ that an error τ takes at ε."""
        return _delta_per_sampler_error(epsilon) * self.error

    def failure_delta_bound(self, epsilon: float) -> float:
        """Return (1 + e^ε)τ, as τ is known."""
        return self.failure_delta(epsilon)


NoiseSpend = Gaussian | Pure  # for a number that is released with noise
Spend = Gaussian | BoundedRange | Pure | Approximate | SubsampledGaussian
Events = Collection[tuple[PrivacyEvent, int]]  # each with the number of times
EventCounts = tuple[tuple[PrivacyEvent, int], ...]
ALWAYS_PRICED_KINDS = frozenset(
    (Gaussian, BoundedRange, Pure, Approximate)
)  # kinds with a cost in every accounting
EVENT_TYPES: dict[str, type] = {
    kind.__name__: kind for kind in (*ALWAYS_PRICED_KINDS, Concentrated, Filtered, Drawn)
}


def events_to_json(events: Events) -> list[Json]:
    """Return the events as JSON: kind, parameters and number of times of each."""
    return [
        {"kind": type(event).__name__, **asdict(event), "times": times}  # type: ignore[call-overload]
        for event, times in events
    ]


def events_from_json(stored: Any) -> list[tuple[PrivacyEvent, int]]:
    """Return the events that `events_to_json` wrote, each with its number of times."""
    events = []
    for stored_event in stored:
        fields = {
            name: value for name, value in stored_event.items() if name not in ("kind", "times")
        }
        events.append((EVENT_TYPES[stored_event["kind"]](**fields), int(stored_event["times"])))
    return events
