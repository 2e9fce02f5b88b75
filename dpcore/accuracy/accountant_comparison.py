"""The ε of a plan by each accountant.

These are exact GDP, zCDP, Rényi DP, privacy loss distributions, Σε, and the papers' forms.
Neighbours replace one row: the spends hold replace-one sensitivities already, so no accountant here
is asked to double them, as dp_accounting's REPLACE_ONE does for Gaussian noise and for Rényi does
not.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.types import Array
from ..privacy.accounting import (
    ACCOUNTANTS,
    Accountant,
    BoundedRange,
    Events,
    Gaussian,
    GdpAccountant,
    LifetimeBudget,
    LossDistributionAccountant,
    OptimalAccountant,
    PlannedEvent,
    PrivacyEvent,
    Pure,
    PureAccountant,
    Spend,
    ZcdpAccountant,
    worst_privacy_profile,
)
from .printed_formulas import (
    GAUSSIAN_FORMULAS,
    strong_composition_epsilon,
    zcdp_epsilon_closed_form,
)

GDP, ZCDP, OPTIMAL, PURE, PLD = (accountant.name for accountant in ACCOUNTANTS)
RENYI = "Rényi DP"
RENYI_ORDERS = 1 + np.logspace(-1.9, 6, 500)
LOSS_GRID_CELLS = 6_000  # cells of the loss grid in 8 standard deviations
# kinds of spends to convolve; of more, neighbours are rounded up to one size
MAX_DISTINCT_SPENDS = 64
TRUNCATION_PROBABILITY = 1e-20  # chance that a composition may cut off, and adds to δ

SpendCounts = list[tuple[Spend, int]]


def count_spends(charges: Sequence[PlannedEvent], times: int = 1) -> SpendCounts:
    """Return the number of times that each distinct spend occurs in a plan made `times` over."""
    counter: Counter[Spend] = Counter()
    for charge in charges:
        counter[charge.spend] += charge.times * times
    return list(counter.items())


def gaussian_mu(charges: Sequence[PlannedEvent], times: int = 1) -> float | None:
    """Return the μ of a plan made `times` over if all of it is Gaussian noise, or None.

    Such a plan is exactly μ-GDP.
    """
    accountant = GdpAccountant.of_events(count_spends(charges, times))
    return accountant.mu if accountant.cost < math.inf and not accountant.failure else None


def epsilon_curves(
    charges: Sequence[PlannedEvent], deltas: Array, times: int = 1, plan_delta: float | None = None
) -> dict[str, Array]:
    """Return the ε of a plan made `times` over at each δ, by name of the accountant.

    `deltas` (j,) are in (0, 1); every accountant that applies to the plan is there. Every number is
    an upper bound of what the plan costs. For an adaptive plan they are the cost of its worst case.
    Sums over samples of the rows are priced by loss distributions alone, and only where there is
    nothing else. Optimal composition is as precise at `plan_delta`, the plan's δ, as the plan
    itself; elsewhere one composition serves all.
    """
    spends = count_spends(charges, times)
    epsilons_by_accountant = _epsilon_curves_of_spends(spends, deltas)
    optimal = OptimalAccountant.of_events(spends)
    if (
        OPTIMAL in epsilons_by_accountant
        and plan_delta is not None
        and plan_delta > optimal.failure
    ):
        precise_epsilon = optimal.epsilon(plan_delta)
        epsilons_by_accountant[OPTIMAL] = np.where(
            deltas == plan_delta,
            np.minimum(epsilons_by_accountant[OPTIMAL], precise_epsilon),
            epsilons_by_accountant[OPTIMAL],
        )
    return epsilons_by_accountant


def ledger_epsilon_curves(
    lifetime: LifetimeBudget, events: Events, deltas: Array
) -> dict[str, Array]:
    """Return the ε at each δ of all events in a data set's ledger, by name of the accountant.

    Every accountant that applies is there. They hold for releases that were all settled before the
    first was seen. Where later ones were chosen in view of earlier ones, only the accounting that
    was fixed at first use holds, with all of its capacity: `lifetime_epsilon_curve`.
    """
    event_counts = Counter[PrivacyEvent]()
    for event, times in events:
        event_counts[event] += times
    remaining_deltas = deltas - lifetime.failure_delta(event_counts.items())
    failure_free_events = [
        (event.without_failure(), times)
        for event, times in event_counts.items()
        if not event.is_sampler_error
    ]
    epsilons_by_accountant = (
        _epsilon_curves_of_spends(failure_free_events, remaining_deltas) if event_counts else {}
    )
    gdp_cost = math.fsum(
        times * GdpAccountant.event_cost_bound(event) for event, times in failure_free_events
    )
    # exponential mechanisms and pure releases have a μ too
    if GDP not in epsilons_by_accountant and 0 < gdp_cost < math.inf:
        epsilons_by_accountant[GDP] = _epsilon_at_each_delta(
            remaining_deltas, lambda d: GdpAccountant.epsilon_of_cost(gdp_cost, d)
        )
    # a sampler's error counts (1 + e^ε) times: so much up to the total
    if any(event.is_sampler_error for event in event_counts):
        epsilons_by_accountant = {
            name: np.where(e <= lifetime.budget.epsilon, e, math.inf)
            for name, e in epsilons_by_accountant.items()
        }
    return (
        {
            lifetime.accounting.name: epsilons_by_accountant.pop(lifetime.accounting.name),
            **epsilons_by_accountant,
        }
        if epsilons_by_accountant
        else epsilons_by_accountant
    )


def lifetime_epsilon_curve(lifetime: LifetimeBudget, deltas: Array) -> Array:
    """Return the ε at each δ of the most that a data set may ever be charged.

    It holds however releases are chosen.
    """
    remaining_deltas = deltas - lifetime.failure
    capacity = lifetime.capacity
    if not lifetime.accounting.needs_delta:
        return np.where(remaining_deltas >= 0, capacity, math.inf)
    return _epsilon_at_each_delta(
        remaining_deltas, lambda d: lifetime.accounting.epsilon_of_cost(capacity, d)
    )


def _epsilon_curves_of_spends(spends: Events, deltas: Array) -> dict[str, Array]:
    """Return the ε at each δ of some spends, by name of the accountant.

    Every accountant that applies to all of them is there.
    """
    if any(spend.is_subsampled for spend, _ in spends):
        return {PLD: _epsilons_of(LossDistributionAccountant.of_events(spends), deltas)}
    gaussian = GdpAccountant.of_events(spends)
    pure = PureAccountant.of_events(spends)
    remaining_deltas = deltas - pure.failure
    epsilons_by_accountant = {}
    if gaussian.cost < math.inf:
        epsilons_by_accountant[GDP] = _epsilons_of(gaussian, deltas)
    epsilons_by_accountant[ZCDP] = _epsilons_of(ZcdpAccountant.of_events(spends), deltas)
    epsilons_by_accountant[RENYI] = _renyi_epsilons(spends, remaining_deltas)
    # no pair of laws is worst for some events
    if all(spend.has_worst_pairs for spend, _ in spends):
        epsilons_by_accountant[PLD] = _loss_distribution_epsilons(spends, remaining_deltas)
    joint = OptimalAccountant.of_events(spends).composition
    if joint and gaussian.cost == math.inf:
        min_delta = float(remaining_deltas[remaining_deltas > 0].min(initial=1.0))
        epsilons_by_accountant[OPTIMAL] = _epsilon_at_each_delta(
            remaining_deltas, lambda d: joint.epsilon(d, smallest_delta=min_delta)
        )
    if pure.cost < math.inf:
        epsilons_by_accountant[PURE] = _epsilons_of(pure, deltas)
    return epsilons_by_accountant


def _epsilons_of(accountant: Accountant, deltas: Array) -> Array:
    """Return the ε at each δ by an accountant."""
    return np.array([accountant.epsilon(delta) for delta in deltas.tolist()])


def epsilon_delta_pairs(
    epsilons_by_accountant: dict[str, Array], deltas: Array, failure: float = 0.0
) -> tuple[Array, Array]:
    """Return the (ε, δ) pairs that hold together, by the best accountant at each δ.

    They are the smallest ε of all accountants at each δ, and Σε at `failure`, which is the
    probability of all events of failure together.
    """
    smallest_epsilons = np.min(list(epsilons_by_accountant.values()), axis=0)
    is_finite = np.isfinite(smallest_epsilons)
    epsilons = smallest_epsilons[is_finite]
    finite_deltas = deltas[is_finite]
    if PURE in epsilons_by_accountant and np.isfinite(epsilons_by_accountant[PURE]).any():
        return np.append(epsilons, epsilons_by_accountant[PURE].min()), np.append(
            finite_deltas, failure
        )
    return epsilons, finite_deltas


def printed_epsilon_curves(charges: Sequence[PlannedEvent], deltas: Array) -> dict[str, Array]:
    """Return the ε at each δ as the papers' closed forms state it, by name.

    Only the forms that cover this kind of plan are there.
    """
    spends = count_spends(charges)
    concentrated = ZcdpAccountant.of_events(spends)
    gaussian = GdpAccountant.of_events(spends)
    rho = concentrated.cost
    if concentrated.failure or rho == math.inf:
        return {}
    epsilons_by_formula = {
        "ρ + 2√(ρ ln(1/δ))": np.array([zcdp_epsilon_closed_form(rho, d) for d in deltas])
    }
    if gaussian.cost < math.inf:
        mu = gaussian.mu
        return epsilons_by_formula | {
            formula.name: np.array([formula.evaluate(mu, d) for d in deltas])
            for formula in GAUSSIAN_FORMULAS
        }
    if len(spends) == 1 and spends[0][0].pure_epsilon < math.inf:
        (spend, count), *_ = spends
        epsilons_by_formula["strong composition"] = np.array(
            [strong_composition_epsilon(spend.pure_epsilon, count, d) for d in deltas]
        )
    return epsilons_by_formula


def _epsilon_at_each_delta(remaining_deltas: Array, epsilon_function: Any) -> Array:
    """Return the values of a function ε(δ) at each remaining δ, ∞ if none remains."""
    return np.array([epsilon_function(d) if d > 0 else math.inf for d in remaining_deltas.tolist()])


def renyi_divergence_bounds(spend: PrivacyEvent, orders: Array) -> Array:
    """Return the exact Rényi divergence bound of one spend at orders a > 1 (j,).

    Gaussian: aμ²/2; aρ where only ρ is known. Pure: that of randomised response with p = 1/(1 +
    e^−ε₀), which is [log(p^a q^(1−a) + q^a p^(1−a))]/(a − 1). Bounded range: of all binary
    pairs whose log ratios t and t − ε₀ lie ε₀ apart the worst; with x = e^−t and s = e^−ε₀ the
    second table says the first outcome with probability (x − s)/(1 − s), so the divergence is
    log[x^−a (A + Bx)]/(a − 1), B = (1 − s^a)/(1 − s), A = s^a − sB, largest at x = −aA/(B(a −
    1)).
    Source: Mironov 2017; Dong, Durfee, Rogers 2020 (worst pairs).
    """
    a = orders
    e = spend.pure_epsilon
    if e == math.inf:
        return a * spend.rho
    if isinstance(spend, BoundedRange):
        s = math.exp(-e)
        s_a = np.exp(-a * e)
        B = np.expm1(-a * e) / math.expm1(-e)
        A = s_a - s * B
        x = np.clip(-a * A / (B * (a - 1)), s, 1)
        divergences = (-a * np.log(x) + np.log(A + B * x)) / (a - 1)
    else:
        log_p = -math.log1p(math.exp(-e))
        log_q = log_p - e
        divergences = np.logaddexp(a * log_p + (1 - a) * log_q, a * log_q + (1 - a) * log_p) / (
            a - 1
        )
    # zCDP bounds it too, where rounding has eaten the digits
    return np.clip(divergences, 0, a * spend.rho)


def _renyi_epsilons(spends: Events, remaining_deltas: Array) -> Array:
    """Return the ε at each δ by Rényi divergences, added up order by order.

    ∞ if no δ remains.
    """
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    total_divergences = np.sum(
        [number * renyi_divergence_bounds(spend, RENYI_ORDERS) for spend, number in spends], axis=0
    )
    # Orders near the best of zCDP only: the library walks over them one by one.
    rho = math.fsum(number * spend.rho for spend, number in spends)

    def epsilon_at(d: float) -> float:
        best_log_order = math.log10(math.sqrt(max(-math.log(d), 1e-3) / rho))
        is_near_best = np.abs(np.log10(RENYI_ORDERS - 1) - best_log_order) < 0.5
        is_near_best = is_near_best if is_near_best.any() else np.ones(len(RENYI_ORDERS), bool)
        return float(
            compute_epsilon(
                RENYI_ORDERS[is_near_best].tolist(), total_divergences[is_near_best].tolist(), d
            )[0]
        )

    return _epsilon_at_each_delta(remaining_deltas, epsilon_at)


def privacy_profile(spend: Spend, epsilons: Array) -> Array:
    """Return the δ at each of `epsilons` of one spend that is not Gaussian.

    It is the largest over all its mechanisms; `epsilons` are any reals (j,). Bounded range: the
    binary pair with log ratios t and t − ε₀ has δ(a) = (1 − e^(t−ε₀))(1 − e^(a−t))/(1 − e^−ε₀), at
    its largest, t = (a + ε₀)/2, (1 − e^((a−ε₀)/2))²/(1 − e^−ε₀). No one pair is worst at every a,
    so the curve, though the tightest for one draw, composes worse than Rényi DP does. Source: Dong,
    Durfee, Rogers 2020.
    """
    e = spend.pure_epsilon
    if not isinstance(spend, BoundedRange):
        return worst_privacy_profile(epsilons, e, 0.0)
    inner_deltas = np.expm1((np.clip(epsilons, -e, e) - e) / 2) ** 2 / -math.expm1(-e)
    return np.where(
        epsilons >= e,
        0.0,
        np.where(epsilons <= -e, -np.expm1(np.minimum(epsilons, 0)), inner_deltas),
    )


def _loss_distribution_epsilons(spends: Events, remaining_deltas: Array) -> Array:
    """Return the ε at each δ by the composed privacy loss distribution of the spends.

    It is that of their dominating pairs on one grid, rounded up (connect the dots). All Gaussian
    spends are one with μ² = Σ μ_i²; many sizes of one kind are rounded up to a few.
    Source: Zhu, Dong, Wang 2022, Theorem 10 (adaptive composition of dominating pairs);
    Doroshenko et al. 2022 (grid).
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    total_rho = ZcdpAccountant.of_events(spends).cost
    max_delta = float(np.max(remaining_deltas, initial=0))
    if max_delta <= 0:
        return np.full(len(remaining_deltas), math.inf)
    grid_step = max(math.sqrt(2 * total_rho), total_rho) * 8 / LOSS_GRID_CELLS
    composed: Any = None
    mu = math.sqrt(
        math.fsum(number * spend.mu**2 for spend, number in spends if isinstance(spend, Gaussian))
    )
    if mu > 0:
        composed = privacy_loss_distribution.from_gaussian_mechanism(
            1 / mu, value_discretization_interval=grid_step
        )
    for spend, number in _round_up_to_few_sizes(spends):
        grid_radius = math.ceil(spend.pure_epsilon / grid_step)
        grid_points = np.arange(-grid_radius, grid_radius + 1)
        deltas = np.minimum.accumulate(
            np.clip(privacy_profile(spend, grid_points * grid_step), 0, 1)
        )
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(grid_step, grid_points, deltas)
        single_spend = privacy_loss_distribution.PrivacyLossDistribution(pmf)
        repeated_spend = (
            single_spend.self_compose(number, TRUNCATION_PROBABILITY)
            if number > 1
            else single_spend
        )
        composed = (
            repeated_spend
            if composed is None
            else composed.compose(repeated_spend, TRUNCATION_PROBABILITY)
        )
    return _epsilon_at_each_delta(remaining_deltas, composed.get_epsilon_for_delta)


def _round_up_to_few_sizes(spends: Events) -> list[tuple[BoundedRange | Pure, int]]:
    """Return the spends that are not Gaussian, with sizes rounded up if they are many.

    If they are more than MAX_DISTINCT_SPENDS, sizes are rounded up to that many steps.
    """
    non_gaussian = [
        (spend, number) for spend, number in spends if isinstance(spend, (BoundedRange, Pure))
    ]
    if len(non_gaussian) <= MAX_DISTINCT_SPENDS:
        return non_gaussian
    size_step = max(spend.epsilon for spend, _ in non_gaussian) / MAX_DISTINCT_SPENDS
    counter: Counter[BoundedRange | Pure] = Counter()
    for spend, number in non_gaussian:
        counter[type(spend)(math.ceil(spend.epsilon / size_step * (1 - 1e-12)) * size_step)] += (
            number
        )
    return list(counter.items())
