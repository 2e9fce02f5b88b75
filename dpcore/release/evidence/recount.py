"""Recompute the joint cost of releases from their events, for `verify.py`.

`verify.py` holds a copy of this file. Nothing here is shared with the program's own accounting, so
that two programs have to agree.
"""

import math
from typing import Any

GDP = "exact Gaussian (GDP)"
ZCDP = "zero-concentrated DP"
PURE = "sum of ε"
OPTIMAL = "optimal composition of so many of each kind"
RELATIVE_TOLERANCE = 1e-6  # relative: by how much two programs may disagree about an ε
ROUNDING_SLACK = 1 + 1e-9
MAX_EVENT_TIMES = 10**12  # of an event
MAX_COMPOSED_EVENTS = 1_000_000  # of events that are composed optimally
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


def require(condition: bool, reason: str) -> None:
    """Raise WrongError with the reason `reason` unless `condition`."""
    if not condition:
        raise WrongError(reason)


def counted_noun(protects: dict) -> str:
    """Return what is counted, "people", or "rows" where a person may have several."""
    return "people" if protects["rows_per_person"] == 1 else "rows"


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the ε at δ of a μ-GDP release: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    if mu <= 0 or delta <= 0:
        return math.inf if delta <= 0 < mu else 0.0

    def excess(epsilon: float) -> float:
        log_first = log_ndtr(mu / 2 - epsilon / mu)
        log_second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        relative_difference = -math.expm1(min(log_second - log_first, 0.0))
        return (
            log_first + math.log(relative_difference) if relative_difference > 0 else -1e9
        ) - math.log(delta)

    high = 1.0
    while excess(high) > 0:
        high *= 2
    root: Any = brentq(excess, 0.0, high, xtol=1e-15) if excess(0.0) > 0 else 0.0
    return float(root)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the ε at δ of a ρ-zCDP release.

    The least over Rényi orders a = 1 + e^t (Canonne, Kamath, Steinke 2020).
    """
    from scipy.optimize import minimize_scalar

    if rho <= 0 or delta <= 0:
        return math.inf if delta <= 0 < rho else 0.0

    def bound(t: float) -> float:
        step = math.exp(t)
        return (1 + step) * rho - (math.log(delta) + math.log1p(step)) / step - math.log1p(1 / step)

    log_order_guess = math.log(max(-math.log(delta), 1e-3) / rho) / 2
    minimum: Any = minimize_scalar(
        bound,
        bounds=(log_order_guess - 6, log_order_guess + 3),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return max(float(minimum.fun), 0.0)


def optimal_epsilon(epsilon_each: float, times: int, delta: float) -> float:
    """Return the ε at δ of `times` releases of one and the same ε₀.

    Source: Kairouz, Oh, Viswanath 2015.
    """
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import gammaln

    if times > MAX_COMPOSED_EVENTS:
        raise WrongError(
            f"{times} releases composed at once, more than the {MAX_COMPOSED_EVENTS} that this "
            "file takes"
        )
    i = np.arange(times + 1)
    log_binomials = gammaln(times + 1) - gammaln(i + 1) - gammaln(times - i + 1)
    weights = np.exp(
        log_binomials + (times - i) * epsilon_each - times * np.logaddexp(0.0, epsilon_each)
    )

    def excess(epsilon: float) -> float:
        return (
            float(weights @ -np.expm1(np.minimum(epsilon - (times - 2 * i) * epsilon_each, 0.0)))
            - delta
        )

    root: Any = brentq(excess, 0.0, epsilon_each * times, xtol=1e-15) if excess(0.0) > 0 else 0.0
    return float(root)


def event_cost(event: dict, accounting: str) -> float:
    """Return the amount that one event adds to μ², ρ or Σε.

    ∞ where the accounting cannot count it.
    """
    from scipy.special import log_expit, ndtri_exp

    kind = event["kind"]
    if kind == "Drawn":
        return 0.0
    pure_epsilon = event["epsilon"] if kind in ("Pure", "Approximate", "BoundedRange") else math.inf
    log_ratio_range = (
        pure_epsilon if kind == "BoundedRange" else 2 * pure_epsilon
    )  # of log-likelihood ratios
    if accounting == PURE:
        return pure_epsilon
    if accounting == ZCDP:
        if kind == "Gaussian":
            return event["mu"] ** 2 / 2
        return event["rho"] if kind in ("Concentrated", "Filtered") else log_ratio_range**2 / 8
    if kind == "Gaussian":
        return event["mu"] ** 2
    if kind == "Filtered":
        return math.pi * event["rho"]
    return (
        (2 * ndtri_exp(log_expit(-log_ratio_range / 2))) ** 2
        if log_ratio_range < math.inf
        else math.inf
    )


def event_failure_delta(event: dict, epsilon: float) -> float:
    """Return the part of δ that one event may take at a total ε.

    It is δ₀, or (1 + e^ε) times a draw's error.
    """
    factor = 1 + math.exp(min(epsilon, 700.0))
    if event["kind"] == "Drawn":
        return factor * event["error"]
    return event["failure"] * (
        1.0 if event["kind"] in ("Approximate", "Concentrated", "Filtered") else factor / 2
    )


def epsilon_of_cost(total: float, delta: float, accounting: str) -> float:
    """Return the ε at δ that an additive cost amounts to."""
    if accounting == PURE or total in (0, math.inf):
        return total
    return gdp_epsilon(math.sqrt(total), delta) if accounting == GDP else zcdp_epsilon(total, delta)


def total_failure_delta(events: list, epsilon: float) -> float:
    """Return the part of δ that all events together may take at a total ε."""
    return math.fsum(e["times"] * event_failure_delta(e, epsilon) for e in events)


def total_cost(events: list, accounting: str) -> float:
    """Return the Σμ², Σρ or Σε of events; ∞ where the accounting cannot count one of them."""
    return math.fsum(e["times"] * event_cost(e, accounting) for e in events)


def composed_epsilon(events: list, epsilon: float, delta: float, accounting: str) -> float:
    """Return the ε at δ of all events together.

    Their failures are counted at a promised ε.
    """
    remaining_delta = delta - total_failure_delta(events, epsilon)
    if remaining_delta < -1e-12 * delta:
        return math.inf
    if accounting == OPTIMAL:
        costed_events = [e for e in events if e["kind"] != "Drawn"]
        epsilons = {e.get("epsilon") for e in costed_events}
        if len(epsilons) != 1 or not {e["kind"] for e in costed_events} <= {"Pure", "Approximate"}:
            raise WrongError(
                "spends of several kinds, composed in a way that this file does not know"
            )
        return optimal_epsilon(
            epsilons.pop(), sum(e["times"] for e in costed_events), remaining_delta
        )
    if accounting not in ACCOUNTINGS:
        raise WrongError(f"added up by {accounting[:80]!r}, which this file does not know")
    return epsilon_of_cost(total_cost(events, accounting), max(remaining_delta, 0.0), accounting)


def keeps_promise(events: list, epsilon: float, delta: float) -> bool:
    """Return whether events keep (ε, δ) by any of the accountings that this file knows."""
    for accounting in (*ACCOUNTINGS, OPTIMAL):
        try:
            if composed_epsilon(events, epsilon, delta, accounting) <= epsilon * (
                1 + RELATIVE_TOLERANCE
            ):
                return True
        except WrongError:
            continue
    return False


def unreserved_cost(reserved: list, charges: list, epsilon: float) -> str | None:
    """Return how far the charges exceed the ledger's reservation, in words; None if they do not.

    Compared in each accounting, as other releases may be added to these by any of them, and in the
    part of δ that failures may take.
    """
    for accounting in ACCOUNTINGS:
        reserved_cost = total_cost(reserved, accounting)
        charged_cost = total_cost(charges, accounting)
        if not charged_cost <= reserved_cost * (1 + RELATIVE_TOLERANCE):
            return f"Σ{SYMBOLS[accounting]} = {charged_cost:.6g}, reserved is {reserved_cost:.6g}"
    reserved_cost = total_failure_delta(reserved, epsilon)
    charged_cost = total_failure_delta(charges, epsilon)
    return (
        None
        if charged_cost <= reserved_cost * (1 + RELATIVE_TOLERANCE)
        else f"δ = {charged_cost:.6g} for failures, reserved is {reserved_cost:.6g}"
    )


def cost_texts(charges: list, accounting: str) -> set[str]:
    """Return the texts that state the cost of charges.

    One, or two where a last digit depends on rounding.
    """
    if accounting == OPTIMAL:
        total = float(sum(e["times"] for e in charges if e["kind"] != "Drawn"))
    else:
        total = total_cost(charges, accounting)
    return {f"{SYMBOLS[accounting]}={total * (1 + step):.6g}" for step in (-1e-12, 0.0, 1e-12)}


def right_guess_chance(events: list, epsilon: float, delta: float) -> float:
    """Return the highest chance of guessing rightly between two neighbouring tables.

    Each table is as likely as the other before. Exact for Gaussian noise, Φ(μ/2). Else no more than
    (ε, δ) allows, ½ + (δ + (1 − δ) tanh(ε/2))/2, nor than ½ + t/2 with t log((1 + t)/(1 − t)) = ρ,
    of which events of failure and errors of samplers take their part.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    chance_bound = 0.5 + (delta + (1 - delta) * math.tanh(epsilon / 2)) / 2
    failure_probability = math.fsum(
        e["times"] * (e["error"] if e["kind"] == "Drawn" else e["failure"]) for e in events
    )
    costed_events = [e for e in events if e["kind"] != "Drawn"]
    if all(e["kind"] == "Gaussian" for e in costed_events):
        return min(
            chance_bound,
            float(ndtr(math.sqrt(total_cost(costed_events, GDP)) / 2)) + failure_probability,
        )
    rho = total_cost(costed_events, ZCDP)
    high = math.nextafter(1.0, 0.0)
    distance_bound: Any = 1.0
    if 2 * high * math.atanh(high) > rho:
        distance_bound = brentq(lambda t: 2 * t * math.atanh(t) - rho, 0.0, high, xtol=1e-15)
    return min(chance_bound, 0.5 + min(distance_bound + 2 * failure_probability, 1.0) / 2)


def odds_bound(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the largest factor on a suspicion's odds, and how likely it is exceeded: η.

    On {L > t}, of probability p under one table, the other one's is at most e^−t p, so that p (1 −
    e^(ε−t)) ≤ δ; at t = ε − log(1 − δ/η) that is p ≤ η. η is 100 δ, or √δ where that is less.
    """
    if delta == 0:
        return math.exp(min(epsilon, 700.0)), 0.0
    exceed_probability = min(100 * delta, math.sqrt(delta))
    return math.exp(
        min(epsilon - math.log1p(-delta / exceed_probability), 700.0)
    ), exceed_probability
