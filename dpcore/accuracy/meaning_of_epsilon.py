"""The meaning of a privacy promise: how often a guess is right, what a suspicion may become.

Each is said in one sentence.
"""

import math
import re

from ..core.numbers import bisect_interval
from ..core.types import Json, value_object
from ..privacy.accounting import (
    Events,
    GdpAccountant,
    Plan,
    ZcdpAccountant,
    events_from_json,
    guarantee,
    worst_case_events,
)

EXAMPLE_SUSPICION = 0.1  # before a release: the example of what it may become


@value_object
class Promise:
    """The promise (ε, δ), and `events` that bound all that its plan may be charged; may be none.

    `releases` like this one are seen by whoever guesses or suspects.
    """

    epsilon: float
    delta: float
    events: Events = ()
    releases: int = 1

    @classmethod
    def of_plan(cls, plan: Plan, *, adaptive: bool) -> "Promise":
        """Return the promise of a plan; of an adaptive one, for the worst path it may take."""
        return cls(plan.budget.epsilon, plan.budget.delta, worst_case_events(plan, adaptive))

    @classmethod
    def of_release(cls, facts: Json) -> "Promise":
        """Return the promise of a release, from the facts in its release.json."""
        promise_facts = facts["promise"]
        return cls(
            promise_facts["epsilon"],
            promise_facts["delta"],
            events_from_json(promise_facts["reserved"]),
        )

    def max_guess_probability(self, prior: float = 0.5) -> float:
        """Return the highest chance of a right guess between two neighbouring tables.

        One of the tables has the `prior`. Exact for Gaussian noise
        (`guarantee.gaussian_guess_probability`); samplers' errors τ move the law on either table,
        and so any chance, by at most τ. Else no more than (ε, δ) allows
        (`guarantee.best_guess_probability`), nor than the plan's ρ: an event of probability p under
        one table and q under the other has (p − q)(logit p − logit q) ≤ 2ρ, the sum of both
        divergences after post-processing; at a distance t = p − q the left side is least at p = (1
        + t)/2, so t log((1 + t)/(1 − t)) ≤ ρ, and a guess is right at most max(π, 1 − π) + min(π, 1
        − π) t of the time. Events of failure and samplers' errors are added to t.
        """
        bound = float(
            guarantee.best_guess_probability(
                prior, *guarantee.composed_pairs(self.epsilon, self.delta, self.releases)
            )
        )
        events = [(event, times * self.releases) for event, times in self.events]
        total_failure = math.fsum(times * event.failure_probability for event, times in events)
        exact_events = [(event, times) for event, times in events if not event.is_sampler_error]
        gaussian = GdpAccountant.of_events(exact_events)
        if not self.events:
            return bound
        if gaussian.cost < math.inf:
            return min(
                bound,
                guarantee.gaussian_guess_probability(prior, gaussian.mu) + total_failure,
            )
        rho = ZcdpAccountant.of_events(exact_events).cost
        if rho == math.inf:
            return bound
        return min(
            bound,
            max(prior, 1 - prior)
            + min(prior, 1 - prior) * min(_max_total_variation(rho) + 2 * total_failure, 1.0),
        )

    @property
    def total_delta(self) -> float:
        """The δ at which all of the releases are accounted for: their sum, at most .9."""
        return min(self.releases * self.delta, 0.9)

    @property
    def failure_probability(self) -> float:
        """The probability with which `max_log_odds_change` may be exceeded, in each direction.

        It is the probability that one of the releases or more exceeds it.
        """
        return guarantee.posterior_failure_chance(self.total_delta)

    @property
    def max_log_odds_change(self) -> float:
        """The largest change of the log odds, except with probability `failure_probability`.

        (ε, δ) does not say that odds move by e^ε but for probability δ: the evidence L of an output
        may exceed ε much more often than δ says, as P(L > ε) is 33 δ of Gaussian noise at (1,
        1e-9), and 271 δ at (0.1, 1e-9).
        """
        pairs = guarantee.composed_pairs(self.epsilon, self.delta, self.releases)
        return guarantee.log_odds_bound(*pairs, self.failure_probability)

    @property
    def suspicion_percent(self) -> str:
        """The percentage to which a suspicion of 10% rises at most, rounded up.

        It holds except with probability `failure_probability`.
        """
        return format_percent(
            float(guarantee.posterior(EXAMPLE_SUSPICION, self.max_log_odds_change))
        )

    @property
    def guess_sentence(self) -> str:
        """The sentence that states the chance of a right guess."""
        return f"{' '.join(guess_tile_texts(self.max_guess_probability()))}."

    @property
    def suspicion_sentence(self) -> str:
        """The sentence that states what a suspicion may become."""
        exception_clause = (
            f", except {format_rare_chance(self.failure_probability)}"
            if self.delta
            else ", without exception"
        )
        subject = (
            f"In the unluckiest release a suspicion of {format_percent(EXAMPLE_SUSPICION)} "
            "about one person"
        )
        return f"{subject} rises to {self.suspicion_percent} at most{exception_clause}."

    @property
    def sentences(self) -> str:
        """The sentences about a guess and about a suspicion."""
        return f"{self.guess_sentence} {self.suspicion_sentence}"

    def to_json(self) -> Json:
        """Return the numbers behind the sentences, unrounded, by name."""
        return {
            "guess": self.max_guess_probability(),
            "odds": math.exp(min(self.max_log_odds_change, 700.0)),
            "except": self.failure_probability,
        }


def _max_total_variation(rho: float) -> float:
    """Return the t in 0..1 with t log((1 + t)/(1 − t)) = ρ, rounded up.

    It is found by bisection, as the left side rises.
    """
    return bisect_interval(lambda t: t < 1 and 2 * t * math.atanh(t) < rho, 0.0, 1.0, 60)[1]


def format_percent(chance: float) -> str:
    """Return a probability as "23.4%", rounded up.

    It has one decimal, or three near 1, where digits matter.
    """
    percentage = _percentage_rounded_up(chance, 1 if chance <= 0.99 else 3)
    return f"{percentage:g}%" if percentage < 100 else "almost 100%"


def format_times_in_100(chance: float) -> str:
    """Return a probability as "54 times in 100", rounded up.

    It has a decimal near ½ and 1, where digits matter.
    """
    return f"{_percentage_rounded_up(chance, 0 if 0.51 <= chance <= 0.99 else 1):g} times in 100"


def _percentage_rounded_up(chance: float, decimals: int) -> float:
    """Return 100 times a probability, rounded up to so many decimals."""
    return math.ceil(100 * chance * 10**decimals - 1e-9) / 10**decimals


def guess_tile_texts(chance: float) -> tuple[str, str, str]:
    """Return the sentence about a right guess as a tile, in three parts.

    They are who guesses, how often, and what the guess is about.
    """
    frequency_text = f"guesses right at most {format_times_in_100(chance)}"
    return (
        "Someone who knows everyone else",
        frequency_text,
        "whether something is true of one person (a coin: 50)",
    )


def format_rare_chance(chance: float) -> str:
    """Return a small probability as "1 time in 10 million", rounded up."""
    if chance > 0.01:
        return f"{_percentage_rounded_up(chance, 1):g} times in 100"
    one_in_count = 1 / chance * (1 + 1e-12)
    rounding_step = 10 ** max(math.floor(math.log10(one_in_count)) - 2, 0)
    one_in_count = math.floor(one_in_count / rounding_step) * rounding_step
    for unit_size, unit_name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if one_in_count >= unit_size:
            count_text = f"{one_in_count / unit_size:g}" if one_in_count != unit_size else "a"
            return f"1 time in {count_text} {unit_name}"
    return f"1 time in {one_in_count:,}"


def describe_delta(delta: float) -> str:
    """Return δ in words for a reader who is no expert: "1 in a billion", or "0"."""
    return re.sub(" times?", "", format_rare_chance(delta)) if delta else "0"
