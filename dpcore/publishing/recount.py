"""The joint cost of releases, recomputed from their events by `verify.py`, which holds a copy of this file.

Nothing here is shared with the program's own accounting, so that two programs have to agree.
"""

import json
import math
from typing import Any

GDP, ZCDP, PURE = "exact Gaussian (GDP)", "zero-concentrated DP", "sum of ε"
OPTIMAL = "optimal composition of so many of each kind"
NEAR = 1e-6  # relative: by how much two programs may disagree about an ε
ROOM = 1 + 1e-9
MOST_TIMES, MOST_COMPOSED = 10**12, 1_000_000  # of an event, and of those that are composed optimally


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

    if times > MOST_COMPOSED:
        raise WrongError(f"{times} releases composed at once, more than the {MOST_COMPOSED} that this file takes")
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


def composed(events: list, epsilon: float, delta: float, accounting: str) -> float:
    """The ε at δ of all events together, whose failures are counted at a promised ε."""
    for event in events:
        whole = type(event["times"]) is int and 0 <= event["times"] <= MOST_TIMES
        if not whole or not all(0 <= event[name] < math.inf for name in event.keys() - {"kind", "times"}):
            raise WrongError(f"an event that costs nothing known: {json.dumps(event)[:200]}")
    left = delta - math.fsum(e["times"] * lost(e, epsilon) for e in events)
    if left < -1e-12 * delta:
        return math.inf
    if accounting == OPTIMAL:
        sizes = {e["epsilon"] for e in events if e["kind"] != "Drawn"}
        kinds = {e["kind"] for e in events} - {"Drawn"}
        if len(sizes) != 1 or not kinds <= {"Pure", "Approximate"}:
            raise WrongError("spends of several kinds, composed in a way that this file does not know")
        return optimal_epsilon(sizes.pop(), sum(e["times"] for e in events if e["kind"] != "Drawn"), left)
    if accounting not in (GDP, ZCDP, PURE):
        raise WrongError(f"added up by {accounting[:80]!r}, which this file does not know")
    return stated(math.fsum(e["times"] * cost(e, accounting) for e in events), left, accounting)
