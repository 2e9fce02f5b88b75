"""What a promise means, in the words that card, pages, report and command share."""

import math
from typing import Any

import numpy as np

from ..data.privacy_unit import ROW
from ..privacy.accounting import guarantee
from ..privacy.accounting.budget import Accounting, Sums
from ..privacy.accounting.lifetime import Drawn, events_from_json

AT = np.concatenate(
    [np.logspace(-6, -0.001, 12), [0.5, 0.8, 0.9, 0.95]]
)  # shares of the failure η to look for pairs at
WIDE = np.array(
    [1e-6, 1e-4, 1e-3, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9]
)  # δ for guesses

Pairs = tuple[np.ndarray, np.ndarray]


def promise(epsilon: float, delta: float) -> Pairs:
    """The one pair that is promised, whatever else is known."""
    return np.array([epsilon]), np.array([delta])


def planned(facts: dict[str, Any]) -> Pairs:
    """Pairs (ε_i, δ_i) that a release satisfies, by the facts of its release.json: the promise, and its plan's others.

    What was reserved bounds all that the plan may charge, chosen as one goes along or not, by ρ, μ or Σε of the plan's
    one accounting, and so for every δ, not for the promised one only.
    """
    told = facts["promise"]
    epsilon, delta = told["epsilon"], told["delta"]
    events, accounting = events_from_json(told["reserved"]), Accounting(told["accounting"])
    error = math.fsum(event.error * times for event, times in events if isinstance(event, Drawn))
    sums = Sums.of([(event, times) for event, times in events if not isinstance(event, Drawn)])
    deltas = np.append(guarantee.small_failure(delta) * AT, WIDE) if delta else np.array([0.0])
    lost = error * (1 + math.exp(min(epsilon, 700.0)))  # enough for what is at most the promised ε
    found = np.array([sums.epsilon(d - lost, accounting) for d in deltas.tolist()])
    there = np.isfinite(found) if not error else found <= epsilon
    return np.append(found[there], epsilon), np.append(deltas[there], delta)


def factor(delta: float, pairs: Pairs) -> str:
    """How much odds move at the most, in words, but for the probability `guarantee.small_failure(delta)`."""
    return number(guarantee.evidence_bound(*pairs, guarantee.small_failure(delta)))


def number(evidence: float) -> str:
    """e^evidence, rounded up, as a person writes it."""
    if evidence >= 700:
        return "more than any number in use"
    value = math.exp(evidence)
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    shown = math.ceil(value / step * (1 - 1e-12)) * step
    return f"{shown:.3g}" if shown < 1000 else f"{shown:,.0f}" if shown < 1e9 else f"{shown:.2e}"


def odds(delta: float, pairs: Pairs, who: str = "one person") -> str:
    """What a promise of failure δ means to somebody, in a sentence, by all pairs that are known to hold.

    (ε, δ) does not say that odds move by e^ε but for probability δ: the evidence L of an output may exceed ε much more
    often than δ says, as P(L > ε) is 33 δ of Gaussian noise at (1, 1e-9), and 271 δ at (0.1, 1e-9). What follows is
    `guarantee.evidence_bound`, at the probability η = 100 δ or √δ, whichever is less; each way its own η, as P_1(L > t)
    and P_0(L < −t) are both at most that.
    """
    guess = math.ceil(1000 * float(guarantee.best_guess(0.5, *pairs)) - 1e-9) / 1000
    rarely = f", each except with probability {guarantee.small_failure(delta):g}" if delta else ", without exception"
    return (
        f"Whatever somebody believes about {who} before, this multiplies the odds by {factor(delta, pairs)} at the most"
        f" and divides them by no more{rarely}; told that one of two tables is the real one, the same but for that,"
        f" they guess which with probability {guess:g} at the most (a coin: 0.5)."
    )


def released(facts: dict[str, Any]) -> str:
    """`odds` of a release, computed from its plan."""
    who = ROW if facts["protects"]["unit"] == ROW else "one person"
    return odds(facts["promise"]["delta"], planned(facts), who)
