"""The joint cost of releases, recomputed from their events by `verify.py`, which holds a copy of this file.

Nothing here is shared with the program's own accounting, so that two programs have to agree.
"""

import math
from typing import Any

GDP, ZCDP, PURE = "exact Gaussian (GDP)", "zero-concentrated DP", "sum of ε"
OPTIMAL = "optimal composition of so many of each kind"
NEAR = 1e-6  # relative: by how much two programs may disagree about an ε
ROOM = 1 + 1e-9
MAX_TIMES, MAX_COMPOSED = 10**12, 1_000_000  # of an event, and of those that are composed optimally
ACCOUNTINGS = (GDP, ZCDP, PURE)  # that add up all releases of a data set
EVENT_SIZES = {  # the kinds of events, each with the name of what it costs
    "Gaussian": "mu",
    "BoundedRange": "epsilon",
    "Pure": "epsilon",
    "Approximate": "epsilon",
    "Concentrated": "rho",
    "Filtered": "rho",
    "Drawn": "error",
}
SYMBOLS = {GDP: "μ²", ZCDP: "ρ", PURE: "ε", OPTIMAL: "releases"}


class WrongError(Exception):
    """The error for a check that fails, with the reason in words."""


def need(holds: bool, why: str) -> None:
    """Raise WrongError with the reason `why` unless `holds`."""
    if not holds:
        raise WrongError(why)


def gdp_epsilon(mu: float, delta: float) -> float:
    """The ε at δ of a μ-GDP release: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    if mu <= 0 or delta <= 0:
        return math.inf if delta <= 0 < mu else 0.0

    def excess(epsilon: float) -> float:
        top, rest = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        gap = -math.expm1(min(rest - top, 0.0))
        return (top + math.log(gap) if gap > 0 else -1e9) - math.log(delta)

    high = 1.0
    while excess(high) > 0:
        high *= 2
    found: Any = brentq(excess, 0.0, high, xtol=1e-15) if excess(0.0) > 0 else 0.0
    return float(found)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The ε at δ of a ρ-zCDP release: the least over Rényi orders a = 1 + e^t (Canonne, Kamath, Steinke 2020)."""
    from scipy.optimize import minimize_scalar

    if rho <= 0 or delta <= 0:
        return math.inf if delta <= 0 < rho else 0.0

    def bound(t: float) -> float:
        step = math.exp(t)
        return (1 + step) * rho - (math.log(delta) + math.log1p(step)) / step - math.log1p(1 / step)

    middle = math.log(max(-math.log(delta), 1e-3) / rho) / 2
    found: Any = minimize_scalar(bound, bounds=(middle - 6, middle + 3), method="bounded", options={"xatol": 1e-10})
    return max(float(found.fun), 0.0)


def optimal_epsilon(each: float, times: int, delta: float) -> float:
    """The ε at δ of `times` releases of one and the same ε₀ (Kairouz, Oh, Viswanath 2015)."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import gammaln

    if times > MAX_COMPOSED:
        raise WrongError(f"{times} releases composed at once, more than the {MAX_COMPOSED} that this file takes")
    i = np.arange(times + 1)
    ways = gammaln(times + 1) - gammaln(i + 1) - gammaln(times - i + 1)
    weights = np.exp(ways + (times - i) * each - times * np.logaddexp(0.0, each))

    def excess(epsilon: float) -> float:
        return float(weights @ -np.expm1(np.minimum(epsilon - (times - 2 * i) * each, 0.0))) - delta

    found: Any = brentq(excess, 0.0, each * times, xtol=1e-15) if excess(0.0) > 0 else 0.0
    return float(found)


def cost(event: dict, accounting: str) -> float:
    """The amount that one event adds to μ², ρ or Σε; ∞ where the accounting cannot count it."""
    from scipy.special import log_expit, ndtri_exp

    kind = event["kind"]
    if kind == "Drawn":
        return 0.0
    pure = event["epsilon"] if kind in ("Pure", "Approximate", "BoundedRange") else math.inf
    span = pure if kind == "BoundedRange" else 2 * pure  # of log-likelihood ratios
    if accounting == PURE:
        return pure
    if accounting == ZCDP:
        if kind == "Gaussian":
            return event["mu"] ** 2 / 2
        return event["rho"] if kind in ("Concentrated", "Filtered") else span**2 / 8
    if kind == "Gaussian":
        return event["mu"] ** 2
    if kind == "Filtered":
        return math.pi * event["rho"]
    return (2 * ndtri_exp(log_expit(-span / 2))) ** 2 if span < math.inf else math.inf


def lost(event: dict, epsilon: float) -> float:
    """The part of δ that one event may take at a total ε: δ₀, or (1 + e^ε) times a draw's error."""
    twice = 1 + math.exp(min(epsilon, 700.0))
    if event["kind"] == "Drawn":
        return twice * event["error"]
    return event["failure"] * (1.0 if event["kind"] in ("Approximate", "Concentrated", "Filtered") else twice / 2)


def stated(added: float, delta: float, accounting: str) -> float:
    """The ε at δ that an additive cost amounts to."""
    if accounting == PURE or added in (0, math.inf):
        return added
    return gdp_epsilon(math.sqrt(added), delta) if accounting == GDP else zcdp_epsilon(added, delta)


def failed(events: list, epsilon: float) -> float:
    """The part of δ that all events together may take at a total ε."""
    return math.fsum(e["times"] * lost(e, epsilon) for e in events)


def summed(events: list, accounting: str) -> float:
    """The Σμ², Σρ or Σε of events; ∞ where the accounting cannot count one of them."""
    return math.fsum(e["times"] * cost(e, accounting) for e in events)


def composed(events: list, epsilon: float, delta: float, accounting: str) -> float:
    """The ε at δ of all events together, whose failures are counted at a promised ε."""
    left = delta - failed(events, epsilon)
    if left < -1e-12 * delta:
        return math.inf
    if accounting == OPTIMAL:
        paid = [e for e in events if e["kind"] != "Drawn"]
        sizes = {e.get("epsilon") for e in paid}
        if len(sizes) != 1 or not {e["kind"] for e in paid} <= {"Pure", "Approximate"}:
            raise WrongError("spends of several kinds, composed in a way that this file does not know")
        return optimal_epsilon(sizes.pop(), sum(e["times"] for e in paid), left)
    if accounting not in ACCOUNTINGS:
        raise WrongError(f"added up by {accounting[:80]!r}, which this file does not know")
    return stated(summed(events, accounting), max(left, 0.0), accounting)


def kept(events: list, epsilon: float, delta: float) -> bool:
    """Return whether events keep (ε, δ) by any of the accountings that this file knows."""
    for accounting in (*ACCOUNTINGS, OPTIMAL):
        try:
            if composed(events, epsilon, delta, accounting) <= epsilon * (1 + NEAR):
                return True
        except WrongError:
            continue
    return False


def uncovered(reserved: list, charges: list, epsilon: float) -> str | None:
    """Return by what the charges exceed what a ledger reserved for them, in words; None where they never do.

    Compared in each accounting, as other releases may be added to these by any of them, and in the part of δ that
    failures may take.
    """
    for accounting in ACCOUNTINGS:
        held, used = summed(reserved, accounting), summed(charges, accounting)
        if not used <= held * (1 + NEAR):
            return f"Σ{SYMBOLS[accounting]} = {used:.6g}, reserved is {held:.6g}"
    held, used = failed(reserved, epsilon), failed(charges, epsilon)
    return None if used <= held * (1 + NEAR) else f"δ = {used:.6g} for failures, reserved is {held:.6g}"


def cost_words(charges: list, accounting: str) -> set[str]:
    """Return the texts that state the cost of charges: one, or two where a last digit depends on rounding."""
    if accounting == OPTIMAL:
        total = float(sum(e["times"] for e in charges if e["kind"] != "Drawn"))
    else:
        total = summed(charges, accounting)
    return {f"{SYMBOLS[accounting]}={total * (1 + step):.6g}" for step in (-1e-12, 0.0, 1e-12)}


def guess(events: list, epsilon: float, delta: float) -> float:
    """The highest chance of a right guess between two neighbouring tables, each as likely as the other before.

    Exact for Gaussian noise, Φ(μ/2). Else no more than (ε, δ) allows, ½ + (δ + (1 − δ) tanh(ε/2))/2, nor than ½ + t/2
    with t log((1 + t)/(1 − t)) = ρ, of which events of failure and errors of samplers take their part.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    best = 0.5 + (delta + (1 - delta) * math.tanh(epsilon / 2)) / 2
    lose = math.fsum(e["times"] * (e["error"] if e["kind"] == "Drawn" else e["failure"]) for e in events)
    paid = [e for e in events if e["kind"] != "Drawn"]
    if all(e["kind"] == "Gaussian" for e in paid):
        return min(best, float(ndtr(math.sqrt(summed(paid, GDP)) / 2)) + lose)
    rho = summed(paid, ZCDP)
    high = math.nextafter(1.0, 0.0)
    apart: Any = 1.0
    if 2 * high * math.atanh(high) > rho:
        apart = brentq(lambda t: 2 * t * math.atanh(t) - rho, 0.0, high, xtol=1e-15)
    return min(best, 0.5 + min(apart + 2 * lose, 1.0) / 2)


def odds(epsilon: float, delta: float) -> tuple[float, float]:
    """The largest factor on the odds of a suspicion, and the probability with which it may be exceeded: η.

    On {L > t}, of probability p under one table, the other one's is at most e^−t p, so that p (1 − e^(ε−t)) ≤ δ; at
    t = ε − log(1 − δ/η) that is p ≤ η. η is 100 δ, or √δ where that is less.
    """
    if delta == 0:
        return math.exp(min(epsilon, 700.0)), 0.0
    failure = min(100 * delta, math.sqrt(delta))
    return math.exp(min(epsilon - math.log1p(-delta / failure), 700.0)), failure
