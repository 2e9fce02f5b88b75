"""The meaning of a promise: how often a guess is right, and what a suspicion may become, each with one sentence."""

import math
import re

from ..core.numbers import bisected
from ..core.types import Json, value_object
from ..privacy.accounting import Drawn, Events, Plan, Sums, events_from_json, guarantee, reserved

SUSPICION = 0.1  # before a release: the example of what it may become


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
        """The promise of a plan, before or after it is carried out."""
        return cls(plan.budget.epsilon, plan.budget.delta, reserved(plan, adaptive))

    @classmethod
    def of_release(cls, facts: Json) -> "Promise":
        """The promise of a release, from the facts in its release.json."""
        promise_facts = facts["promise"]
        return cls(promise_facts["epsilon"], promise_facts["delta"], events_from_json(promise_facts["reserved"]))

    def guess(self, prior: float = 0.5) -> float:
        """The highest chance of a right guess between two neighbouring tables, one of which has the `prior`.

        Exact for Gaussian noise (`guarantee.gaussian_guess`); samplers' errors τ move the law on either table, and so
        any chance, by at most τ. Else no more than (ε, δ) allows (`guarantee.best_guess`),
        nor than the plan's ρ: an event of probability p under one table and q under the other has
        (p − q)(logit p − logit q) ≤ 2ρ, the sum of both divergences after post-processing; at a distance t = p − q the
        left side is least at p = (1 + t)/2, so t log((1 + t)/(1 − t)) ≤ ρ, and a guess is right at most
        max(π, 1 − π) + min(π, 1 − π) t of the time. Events of failure and samplers' errors are added to t.
        """
        bound = float(guarantee.best_guess(prior, *guarantee.compose_any(self.epsilon, self.delta, self.releases)))
        events = [(event, times * self.releases) for event, times in self.events]
        total_failure = math.fsum(times * (e.error if isinstance(e, Drawn) else e.failure) for e, times in events)
        sums = Sums.of([(event, times) for event, times in events if not isinstance(event, Drawn)])
        if not self.events:
            return bound
        if sums.mu_squared < math.inf:
            return min(bound, guarantee.gaussian_guess(prior, math.sqrt(sums.mu_squared)) + total_failure)
        if sums.rho == math.inf:
            return bound
        return min(
            bound, max(prior, 1 - prior) + min(prior, 1 - prior) * min(_apart(sums.rho) + 2 * total_failure, 1.0)
        )

    @property
    def total_delta(self) -> float:
        """The δ at which all of the releases are accounted for: their sum, at most .9."""
        return min(self.releases * self.delta, 0.9)

    @property
    def failure(self) -> float:
        """The probability with which `evidence` may be exceeded, in each direction: by one of the releases or more."""
        return guarantee.small_failure(self.total_delta)

    @property
    def evidence(self) -> float:
        """The largest change of the log odds, except with probability `failure`.

        (ε, δ) does not say that odds move by e^ε but for probability δ: the evidence L of an output may exceed ε much
        more often than δ says, as P(L > ε) is 33 δ of Gaussian noise at (1, 1e-9), and 271 δ at (0.1, 1e-9).
        """
        pairs = guarantee.compose_any(self.epsilon, self.delta, self.releases)
        return guarantee.evidence_bound(*pairs, self.failure)

    @property
    def suspicion(self) -> str:
        """The percentage to which a suspicion of 10% rises at most, except with probability `failure`, rounded up."""
        return percent(float(guarantee.posterior(SUSPICION, self.evidence)))

    @property
    def guess_words(self) -> str:
        """The sentence that states the chance of a right guess."""
        return f"{' '.join(guess_tile(self.guess()))}."

    @property
    def suspicion_words(self) -> str:
        """The sentence that states what a suspicion may become."""
        exception_clause = f", except {one_in(self.failure)}" if self.delta else ", without exception"
        subject = f"In the unluckiest release a suspicion of {percent(SUSPICION)} about one person"
        return f"{subject} rises to {self.suspicion} at most{exception_clause}."

    @property
    def words(self) -> str:
        """The sentences about a guess and about a suspicion."""
        return f"{self.guess_words} {self.suspicion_words}"

    def to_json(self) -> Json:
        """The numbers behind the sentences, unrounded, by name."""
        return {"guess": self.guess(), "odds": math.exp(min(self.evidence, 700.0)), "except": self.failure}


def _apart(rho: float) -> float:
    """The t in 0..1 with t log((1 + t)/(1 − t)) = ρ, rounded up: by bisection, as the left side rises."""
    return bisected(lambda t: t < 1 and 2 * t * math.atanh(t) < rho, 0.0, 1.0, 60)[1]


def percent(chance: float) -> str:
    """A probability as "23.4%", rounded up to a decimal, or to three near 1, where digits matter."""
    percentage = _hundredths(chance, 1 if chance <= 0.99 else 3)
    return f"{percentage:g}%" if percentage < 100 else "almost 100%"


def times_in_100(chance: float) -> str:
    """A probability as "54 times in 100", rounded up; with a decimal near ½ and 1, where digits matter."""
    return f"{_hundredths(chance, 0 if 0.51 <= chance <= 0.99 else 1):g} times in 100"


def _hundredths(chance: float, digits: int) -> float:
    """100 times a probability, rounded up to so many decimals."""
    return math.ceil(100 * chance * 10**digits - 1e-9) / 10**digits


def guess_tile(chance: float) -> tuple[str, str, str]:
    """The one sentence about a right guess as a tile, in three parts: who guesses, how often, and what it is about."""
    frequency_text = f"guesses right at most {times_in_100(chance)}"
    return "Someone who knows everyone else", frequency_text, "whether something is true of one person (a coin: 50)"


def one_in(chance: float) -> str:
    """A small probability as "1 time in 10 million", rounded up."""
    if chance > 0.01:
        return f"{_hundredths(chance, 1):g} times in 100"
    one_in_count = 1 / chance * (1 + 1e-12)
    rounding_step = 10 ** max(math.floor(math.log10(one_in_count)) - 2, 0)
    one_in_count = math.floor(one_in_count / rounding_step) * rounding_step
    for unit_size, unit_name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if one_in_count >= unit_size:
            return f"1 time in {'a' if one_in_count == unit_size else f'{one_in_count / unit_size:g}'} {unit_name}"
    return f"1 time in {one_in_count:,}"


def delta_words(delta: float) -> str:
    """The δ in words for a reader who is no expert: "1 in a billion", or "0"."""
    return re.sub(" times?", "", one_in(delta)) if delta else "0"
