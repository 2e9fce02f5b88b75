"""The cost of a plan by each accountant: exact GDP, zCDP, Rényi DP, privacy loss distributions, Σε, the papers' forms.

Neighbours replace one record: the spends hold replace-one sensitivities already, so no
accountant here is asked to double them, as dp_accounting's REPLACE_ONE does for Gaussian noise and for Rényi does not.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.types import Array
from ..privacy.accounting import (
    Accounting,
    BoundedRange,
    Charge,
    Concentrated,
    Drawn,
    Event,
    Events,
    Gaussian,
    Lifetime,
    Pure,
    Spend,
    SubsampledGaussian,
    Sums,
    gaussian_cost,
    worst_profile,
)
from .printed_formulas import GAUSSIAN, renyi_closed, strong_composition

GDP, ZCDP, OPTIMAL, PURE, PLD = (str(accounting) for accounting in Accounting)
RENYI = "Rényi DP"
ORDERS = 1 + np.logspace(-1.9, 6, 500)
CELLS = 6_000  # cells of the loss grid in 8 standard deviations
DISTINCT = 64  # kinds of spends to convolve; of more, neighbours are rounded up to one size
TRUNCATED = 1e-20  # chance that a composition may cut off, and adds to δ

Counts = list[tuple[Spend, int]]


def counts(charges: Sequence[Charge], times: int = 1) -> Counts:
    """The number of times that each distinct spend occurs in a plan made `times` over."""
    found: Counter[Spend] = Counter()
    for charge in charges:
        found[charge.spend] += charge.times * times
    return list(found.items())


def gaussian_mu(charges: Sequence[Charge], times: int = 1) -> float | None:
    """The μ of a plan made `times` over if all of it is Gaussian noise, so exactly μ-GDP; None otherwise."""
    sums = Sums.of(counts(charges, times))
    return math.sqrt(sums.mu_squared) if sums.mu_squared < math.inf and not sums.failure else None


def curves(charges: Sequence[Charge], deltas: Array, times: int = 1, own: float | None = None) -> dict[str, Array]:
    """The ε at each δ of `deltas` (j,) in (0, 1), by name of every accountant that applies to the plan `times` over.

    Every number is an upper bound of what the plan costs. For an adaptive plan they are the cost of its worst case.
    Sums over samples of the records are priced by loss distributions alone, and only where there is nothing else.
    Optimal composition is as precise at `own`, the plan's δ, as the plan itself; elsewhere one composition serves all.
    """
    spends = counts(charges, times)
    out, sums = _curves(spends, deltas), Sums.of(spends)
    if OPTIMAL in out and own is not None and sums.joint is not None and own > sums.failure:
        precise = sums.joint.epsilon(own - sums.failure)
        out[OPTIMAL] = np.where(deltas == own, np.minimum(out[OPTIMAL], precise), out[OPTIMAL])
    return out


def ledger_curves(lifetime: Lifetime, events: Events, deltas: Array) -> dict[str, Array]:
    """The ε at each δ of all charges of a ledger to a data set, by name of every accountant that applies.

    They hold for releases that were all settled before the first was seen. Where later ones were chosen in view of
    earlier ones, only the accounting that was fixed at first use holds, with all of its capacity: `kept`.
    """
    found = Counter[Event]()
    for event, times in events:
        found[event] += times
    left = deltas - lifetime.lost(found.items())
    paid = [(replace(event, failure=0.0), times) for event, times in found.items() if not isinstance(event, Drawn)]
    out = _curves(paid, left) if found else {}
    cost = math.fsum(times * gaussian_cost(event) for event, times in paid)
    if GDP not in out and 0 < cost < math.inf:  # exponential mechanisms and pure releases have a μ too
        out[GDP] = _each(left, lambda d: Accounting.GDP.epsilon(cost, d))
    if any(isinstance(event, Drawn) for event in found):  # whose error counts (1 + e^ε) times: so much up to the total
        out = {name: np.where(e <= lifetime.budget.epsilon, e, math.inf) for name, e in out.items()}
    return {str(lifetime.accounting): out.pop(str(lifetime.accounting)), **out} if out else out


def lifetime_curve(lifetime: Lifetime, deltas: Array) -> Array:
    """The ε at each δ of the most that a data set may ever be charged, however releases are chosen."""
    left, capacity = deltas - lifetime.failure, lifetime.capacity
    if lifetime.accounting is Accounting.PURE:
        return np.where(left >= 0, capacity, math.inf)
    return _each(left, lambda d: lifetime.accounting.epsilon(capacity, d))


def _curves(spends: Events, deltas: Array) -> dict[str, Array]:
    """The ε at each δ of some spends, by name of every accountant that applies to all of them."""
    sums = Sums.of(spends)
    if any(isinstance(spend, SubsampledGaussian) for spend, _ in spends):
        return {PLD: np.array([sums.epsilon(d, Accounting.PLD) for d in deltas.tolist()])}
    left = deltas - sums.failure
    out = {}
    if sums.mu_squared < math.inf:
        out[GDP] = _each(left, lambda d: Accounting.GDP.epsilon(sums.mu_squared, d))
    out[ZCDP] = _each(left, lambda d: Accounting.ZCDP.epsilon(sums.rho, d))
    out[RENYI] = _renyi(spends, left)
    if not any(isinstance(spend, Concentrated) for spend, _ in spends):  # no pair of laws is worst for these
        out[PLD] = _loss_distribution([(s, n) for s, n in spends if not isinstance(s, Concentrated | Drawn)], left)
    joint = sums.joint
    if joint and sums.mu_squared == math.inf:
        least = float(left[left > 0].min(initial=1.0))
        out[OPTIMAL] = _each(left, lambda d: joint.epsilon(d, least=least))
    if sums.pure < math.inf:
        out[PURE] = np.where(left >= 0, sums.pure, math.inf)
    return out


def pairs(found: dict[str, Array], deltas: Array, failure: float = 0.0) -> tuple[Array, Array]:
    """The (ε, δ) pairs that hold together: the smallest ε of all accountants at each δ, and Σε at `failure`.

    `failure` is the probability of all events of failure together.
    """
    best = np.min(list(found.values()), axis=0)
    keep = np.isfinite(best)
    epsilons, held = best[keep], deltas[keep]
    if PURE in found and np.isfinite(found[PURE]).any():
        return np.append(epsilons, found[PURE].min()), np.append(held, failure)
    return epsilons, held


def printed(charges: Sequence[Charge], deltas: Array) -> dict[str, Array]:
    """The ε at each δ as the papers' closed forms state it, by name, for those that cover this kind of plan."""
    spends = counts(charges)
    sums = Sums.of(spends)
    if sums.failure or sums.rho == math.inf:
        return {}
    out = {"ρ + 2√(ρ ln(1/δ))": np.array([renyi_closed(sums.rho, d) for d in deltas])}
    if sums.mu_squared < math.inf:
        mu = math.sqrt(sums.mu_squared)
        return out | {form.name: np.array([form.at(mu, d) for d in deltas]) for form in GAUSSIAN}
    if len(spends) == 1 and sums.pure < math.inf:
        (spend, number), *_ = spends
        out["strong composition"] = np.array([strong_composition(spend.pure, number, d) for d in deltas])
    return out


def _each(left: Array, epsilon: Any) -> Array:
    """The values of a function ε(δ) at each δ that is left, ∞ where none is."""
    return np.array([epsilon(d) if d > 0 else math.inf for d in left.tolist()])


def renyi(spend: Event, orders: Array) -> Array:
    """The exact Rényi divergence bound of one spend at orders a > 1 (j,).

    Gaussian: aμ²/2; aρ where only ρ is known. Pure: that of randomised response with p = 1/(1 + e^−ε₀), which is
    [log(p^a q^(1−a) + q^a p^(1−a))]/(a − 1).
    Bounded range: of all binary pairs whose log ratios t and t − ε₀ lie ε₀ apart the worst; with x = e^−t and
    s = e^−ε₀ the second table says the first outcome with probability (x − s)/(1 − s), so the divergence is
    log[x^−a (A + Bx)]/(a − 1), B = (1 − s^a)/(1 − s), A = s^a − sB, largest at x = −aA/(B(a − 1)).
    Source: Mironov 2017; Dong, Durfee, Rogers 2020 (worst pairs).
    """
    a = orders
    if isinstance(spend, Gaussian | Concentrated):
        return a * spend.rho
    e = spend.pure
    if isinstance(spend, BoundedRange):
        s, s_a = math.exp(-e), np.exp(-a * e)
        B = np.expm1(-a * e) / math.expm1(-e)
        A = s_a - s * B
        x = np.clip(-a * A / (B * (a - 1)), s, 1)
        found = (-a * np.log(x) + np.log(A + B * x)) / (a - 1)
    else:
        log_p = -math.log1p(math.exp(-e))
        log_q = log_p - e
        found = np.logaddexp(a * log_p + (1 - a) * log_q, a * log_q + (1 - a) * log_p) / (a - 1)
    return np.clip(found, 0, a * spend.rho)  # zCDP bounds it too, where rounding has eaten the digits


def _renyi(spends: Events, left: Array) -> Array:
    """The ε at each δ by Rényi divergences, added up order by order; ∞ where no δ is left."""
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    total = np.sum([number * renyi(spend, ORDERS) for spend, number in spends], axis=0)
    # Orders near the best of zCDP only: the library walks over them one by one.
    rho = math.fsum(number * spend.rho for spend, number in spends)

    def epsilon(d: float) -> float:
        best = math.log10(math.sqrt(max(-math.log(d), 1e-3) / rho))
        near = np.abs(np.log10(ORDERS - 1) - best) < 0.5
        near = near if near.any() else np.ones(len(ORDERS), bool)
        return float(compute_epsilon(ORDERS[near].tolist(), total[near].tolist(), d)[0])

    return _each(left, epsilon)


def profile(spend: Spend, at: Array) -> Array:
    """The δ(at) of one spend that is not Gaussian, the largest over all its mechanisms; `at` are any reals (j,).

    Bounded range: the binary pair with log ratios t and t − ε₀ has δ(a) = (1 − e^(t−ε₀))(1 − e^(a−t))/(1 − e^−ε₀), at
    its largest, t = (a + ε₀)/2, (1 − e^((a−ε₀)/2))²/(1 − e^−ε₀). No one pair is worst at every a, so the curve, though
    the tightest for one draw, composes worse than Rényi DP does. Source: Dong, Durfee, Rogers 2020.
    """
    e = spend.pure
    if not isinstance(spend, BoundedRange):
        return worst_profile(at, e, 0.0)
    inside = np.expm1((np.clip(at, -e, e) - e) / 2) ** 2 / -math.expm1(-e)
    return np.where(at >= e, 0.0, np.where(at <= -e, -np.expm1(np.minimum(at, 0)), inside))


def _loss_distribution(spends: Counts, left: Array) -> Array:
    """The composed loss distribution of the spends' dominating pairs on one grid, rounded up (connect the dots).

    All Gaussian spends are one with μ² = Σ μ_i²; many sizes of one kind are rounded up to a few.
    Source: Zhu, Dong, Wang 2022, Theorem 10 (adaptive composition of dominating pairs); Doroshenko et al. 2022 (grid).
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    sums, scale = Sums.of(spends), float(np.max(left, initial=0))
    if scale <= 0:
        return np.full(len(left), math.inf)
    step = max(math.sqrt(2 * sums.rho), sums.rho) * 8 / CELLS
    together: Any = None
    mu = math.sqrt(math.fsum(number * spend.mu**2 for spend, number in spends if isinstance(spend, Gaussian)))
    if mu > 0:
        together = privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
    for spend, number in _fewer(spends):
        reach = math.ceil(spend.pure / step)
        places = np.arange(-reach, reach + 1)
        deltas = np.minimum.accumulate(np.clip(profile(spend, places * step), 0, 1))
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, places, deltas)
        one = privacy_loss_distribution.PrivacyLossDistribution(pmf)
        many = one.self_compose(number, TRUNCATED) if number > 1 else one
        together = many if together is None else together.compose(many, TRUNCATED)
    return _each(left, together.get_epsilon_for_delta)


def _fewer(spends: Counts) -> list[tuple[BoundedRange | Pure, int]]:
    """The spends that are not Gaussian; if more than DISTINCT, sizes are rounded up to that many steps."""
    others = [(spend, number) for spend, number in spends if isinstance(spend, (BoundedRange, Pure))]
    if len(others) <= DISTINCT:
        return others
    step = max(spend.epsilon for spend, _ in others) / DISTINCT
    found: Counter[BoundedRange | Pure] = Counter()
    for spend, number in others:
        found[type(spend)(math.ceil(spend.epsilon / step * (1 - 1e-12)) * step)] += number
    return list(found.items())
