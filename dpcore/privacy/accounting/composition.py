"""The joint cost (optimal composition) of Gaussian, pure and bounded-range spends.

Each spend is taken at its worst pair of outputs.

Let P, Q be the laws of all that is released from neighbouring data, Z = dP/dQ; δ(ε) = E_P(1 − y/Z)₊
with y = e^ε. Work backwards, as if one opponent chose every question in view of all that came
before: F(y) is what can still be had after a release, E_P F(y/Z) what could be had before it, and
F₀(y) = (1 − y)₊. For convex F, E_P F(y/Z) = E_Q Z F(y/Z), and z F(y/z) is convex in z, so the more
spread out Z is, E_Q Z = 1, the more it gives.

- Pure(ε₀): Z in [e^−ε₀, e^ε₀]; the two ends are worst, randomised response: R.
- BoundedRange(s): Z in [e^(t−s), e^t] for a t in [0, s] that the opponent chooses; the two ends are
  worst: B, the largest over t. Which t is worst depends on y, so no one pair of laws is.
- Gaussian(μ): normal laws μ apart, G_μ; G_μ G_ν = G_{√(μ²+ν²)}.

All three map convex functions to convex ones and F to at least F; R and G commute, and BG ≤ GB, as
the largest of means is at most the mean of the largest. Claim: nobody who may use up m of R, k of B
and Σμ² = u² in all, in whatever order, sizes and numbers within that, and stop at any time, gets
more than W = G_u Rᵐ Bᵏ F₀. By induction: stopping gives F₀ ≤ W; a step of one kind followed by W of
the rest is at most W: moved inside, next to the other steps of its kind, it gives no less, as R and
G commute and B gives no less inside of R or G than around them. (Smaller spends are spends of the
larger size.) So the capacities u², m and k are a valid filter together.
Source: Zhu, Dong, Wang 2022, Theorem 10 (dominating pairs); Dong, Roth, Su 2022; Kairouz, Oh,
Viswanath 2015 (R); Dong, Durfee, Rogers 2020, section 5 (B, adaptively). Gaussians and B together:
derived here.
"""

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erfcx, gammaln, log_ndtr

from ...core.types import Array, value_object
from . import conversions

DELTA_ROUNDING_FACTOR = 1 + 1e-6  # δ found by rounded arithmetic is enlarged by this
TAIL_DELTA_SHARE = 1e-4  # share of δ that may be lost at the far end of a grid, on the safe side
# steps of the grid in one bounded range
MAX_STEPS_PER_RANGE = 32
MIN_STEPS_PER_RANGE = 4
MAX_GRID_WORK = 1_000_000  # nodes times steps times draws that a composition may take
MAX_OUTCOMES = 200_000  # outcomes of draws and pure releases together
MAX_GRID_LOSS = 500  # loss on a grid

LossDistribution = tuple[
    Array, Array, float
]  # losses (j,), their chances (j,), the chance of an infinite loss


@value_object
class OptimalComposition:
    """Gaussian, ε₀-DP and bounded-range spends, composed optimally.

    Gaussian ones of Σμ², `pure_count` ε₀-DP ones of at most `pure_epsilon`, and `draw_count` ones
    of bounded range at most `draw_range`.
    """

    mu_squared: float = 0.0
    pure_epsilon: float = 0.0
    pure_count: int = 0
    draw_range: float = 0.0
    draw_count: int = 0

    @classmethod
    def of_parts(cls, parts: "Iterable[OptimalComposition]") -> "OptimalComposition":
        """Return several as one, sizes of one kind rounded up to the largest."""
        parts = list(parts)
        return cls(
            math.fsum(part.mu_squared for part in parts),
            max((part.pure_epsilon for part in parts), default=0.0),
            sum(part.pure_count for part in parts),
            max((part.draw_range for part in parts), default=0.0),
            sum(part.draw_count for part in parts),
        )

    def log_delta(self, epsilon: float, target_delta: float, planned_draws: int = 0) -> float:
        """Return log δ(ε) of the composition, rounded up.

        ∞ where computing it would take too long; precise enough near `target_delta`.
        `planned_draws` is how many draws there may be in the end: any number up to it is read off
        one composition.
        """
        distribution = _loss_distribution(
            self.pure_epsilon,
            self.pure_count,
            self.draw_range,
            self.draw_count,
            max(self.draw_count, planned_draws),
            target_delta,
        )
        if distribution is None:
            return math.inf
        losses, chances, infinite_loss_chance = distribution
        if self.mu_squared > 0:
            deltas = np.exp(gdp_log_deltas(epsilon - losses, math.sqrt(self.mu_squared)))
        else:
            deltas = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)
        total = float(chances @ deltas) + infinite_loss_chance
        return math.log(total * DELTA_ROUNDING_FACTOR) if total > 0 else -math.inf

    def epsilon(
        self, delta: float, *, smallest_delta: float | None = None, planned_draws: int = 0
    ) -> float:
        """Return the smallest ε ≥ 0 with δ(ε) ≤ δ, rounded up, for 0 < δ < 1.

        ∞ where computing it would take too long. `smallest_delta` is the smallest δ of several that
        are asked for, so that they are all read off one composition, and `planned_draws` as in
        `log_delta`.
        """
        if self.mu_squared == 0 and self.draw_count == 0:
            return conversions.pure_composition_epsilon(self.pure_epsilon, self.pure_count, delta)
        if self.pure_count == self.draw_count == 0:
            return conversions.gdp_epsilon(math.sqrt(self.mu_squared), delta)
        return conversions.smallest_epsilon(
            lambda e: self.log_delta(e, smallest_delta or delta, planned_draws), delta, 1.0
        )


def gdp_log_deltas(epsilons: Array, mu: float) -> Array:
    """Return log δ(ε) (j,) of a μ-GDP mechanism, μ > 0, at many ε of either sign.

    See `conversions.gdp_log_delta`.
    """
    a = mu / 2 - epsilons / mu
    b = -mu / 2 - epsilons / mu
    with np.errstate(all="ignore"):
        direct_factor = -np.expm1(epsilons + log_ndtr(b) - log_ndtr(a))
        delta_factor = np.where(
            a < 0, 1 - erfcx(-b / math.sqrt(2)) / erfcx(-a / math.sqrt(2)), direct_factor
        )
        return log_ndtr(a) + np.log(np.maximum(delta_factor, 0))


@lru_cache(maxsize=64)
def _loss_distribution(
    pure_epsilon: float,
    pure_count: int,
    draw_range: float,
    draw_count: int,
    planned_draws: int,
    delta: float,
) -> LossDistribution | None:
    """Return the privacy loss distribution of Rᵐ Bᵏ: m pure and k bounded-range spends.

    δ(ε) = Σ chance · (1 − e^(ε − loss))₊ + the chance of an infinite loss.

    In a function that is linear in y between nodes, (1 − y/y_j)₊ has the weight y_j times the jump
    of the slope at y_j.
    """
    losses = np.zeros(1)
    chances = np.ones(1)
    infinite_loss_chance = 0.0
    if draw_count:
        curves = _draw_delta_curves(draw_range, planned_draws, delta)
        if curves is None:
            return None
        losses = curves[0]
        F = curves[1][draw_count]
        slopes = np.concatenate([[-1.0], np.diff(F) / np.diff(np.exp(losses)), [0.0]])
        chances = np.maximum(np.diff(slopes) * np.exp(losses), 0)
        infinite_loss_chance = float(F[-1])
    if pure_count:
        i = np.arange(pure_count + 1)  # the number of releases whose outcome says the opposite
        log_binomials = gammaln(pure_count + 1) - gammaln(i + 1) - gammaln(pure_count - i + 1)
        weights = np.exp(
            log_binomials
            + (pure_count - i) * pure_epsilon
            - pure_count * np.logaddexp(0.0, pure_epsilon)
        )
        significant = weights > TAIL_DELTA_SHARE * delta / (pure_count + 1) / 100
        infinite_loss_chance += float(weights[~significant].sum())
        if significant.sum() * len(losses) > MAX_OUTCOMES:
            return None
        losses = np.add.outer(((pure_count - 2 * i) * pure_epsilon)[significant], losses).ravel()
        chances = np.multiply.outer(weights[significant], chances).ravel()
    return losses, chances, infinite_loss_chance


@lru_cache(maxsize=8)
def _draw_delta_curves(
    draw_range: float, draw_count: int, delta: float
) -> tuple[Array, Array] | None:
    """Return a grid of x = log y and the curves B^i F₀ on it, rounded up, for i ≤ `draw_count`.

    None where that would take too long.

    F is kept at the nodes and is linear in y between them: above the true F, which is convex. Below
    the first node F(x) − (1 − e^x), which grows with x, stays what it is there; above the last one
    F does. With u = e^(t − ih) in the i-th cell the chance of the first end is p_i − g(u − 1), g ∝
    1/(1 − e^−s), and F at either end is linear in 1/u, so that the mean is its value at u = 1 plus
    (u − 1)(C/u − B) for B, C ≥ 0, largest at u = √(C/B): no t is left out.
    """
    grid_end = min(
        conversions.zcdp_epsilon(draw_count * draw_range**2 / 8, TAIL_DELTA_SHARE * delta),
        draw_count * draw_range,
    )
    nodes = 2 * grid_end / draw_range + 1  # for each step of the grid in a span
    steps_per_range = min(int(math.sqrt(MAX_GRID_WORK / (nodes * draw_count))), MAX_STEPS_PER_RANGE)
    if steps_per_range < MIN_STEPS_PER_RANGE or grid_end > MAX_GRID_LOSS:
        return None
    h = draw_range / steps_per_range
    x = np.arange(-math.ceil(grid_end / h), math.ceil(grid_end / h) + 1) * h
    curves = np.empty((draw_count + 1, len(x)))
    F = np.maximum(-np.expm1(x), 0)
    curve_below_grid = -np.expm1(x[0] - h * np.arange(steps_per_range, 0, -1))
    i = np.arange(steps_per_range)
    p = np.expm1(i * h - draw_range) / math.expm1(-draw_range)  # (e^s − e^t)/(e^s − 1) at t = ih
    r = -math.expm1(-h)
    g = np.exp(i * h - draw_range) / -math.expm1(-draw_range)
    max_ratio = math.exp(h)

    def windows(values: Array, start: int) -> Array:
        # (j, i): start + j + c − 1 − i
        return sliding_window_view(values, steps_per_range)[start : start + len(x), ::-1]

    curves[0] = F
    for draw_number in range(1, draw_count + 1):
        padded = np.concatenate(
            [curve_below_grid + F[0] + math.expm1(x[0]), F, np.full(steps_per_range, F[-1])]
        )
        drop = -np.diff(padded) / r  # (F(x − h) − F(x))/r, at the right end
        gap = padded[:-steps_per_range] - padded[steps_per_range:]  # F(x) − F(x + s)
        slope = gap[1:] - np.diff(gap) * (1 / r)  # what B is g times of, at the right end
        first = windows(padded, 1)
        second = windows(padded, 1 + steps_per_range)
        linear_value = second + p * (first - second)
        C = np.maximum(
            (p + g) * windows(drop, 0) + (1 - p - g) * windows(drop, steps_per_range), 1e-300
        )
        B = np.maximum(g * windows(slope, 0), 1e-300)
        u = np.clip(np.sqrt(C / B), 1, max_ratio)
        F = curves[draw_number] = np.maximum((linear_value + (u - 1) * (C / u - B)).max(axis=1), F)
    return x, curves
