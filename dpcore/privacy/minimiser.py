"""The minimiser of a regularised risk within a distance known beforehand, whatever the rows.

Φ(y) = F(c + y) + μ‖y‖²/2 + ⟨tilt, y⟩ is α = μ strongly convex and bends by at most L = β + μ.
Nothing here raises or gives up once rows were seen: who sees that would learn which neighbour it
was.

- Only y = x − c is computed, and targets are moved by ⟨a, c⟩ once, row by row: an offset that all
  rows share, which K's public centre names, costs no digits (for a margin nothing is to be moved).
- ∇F is at most G = `lipschitz_constant` long, so ‖y*‖ ≤ D = (G + ‖tilt‖)/μ. The loss of a margin
  is at least 0, and at y = 0 at most f₀ = G(1 + ‖c‖ + width); as Φ(y*) ≤ Φ(0), μ‖y*‖²/2 ≤ f₀ +
  ‖tilt‖‖y*‖, so that D = √(2f₀/μ) + 2‖tilt‖/μ serves too, and is mostly far smaller. Targets beyond
  D + the loss's width are moved there: where ‖y‖ ≤ D their slopes, and so y*, stay what they are,
  and no residual overflows.
- η bounds the rounding of a gradient at ‖y‖ ≤ 3D: each ⟨a, y⟩ − b is off by (d + 4)u(3D + width +
  ‖c‖), and its slope by β times that, where it bends; a sum over blocks of B = `BLOCK_ROWS` rows by
  (B + n/B + d)u · G; y itself by 3uD, as much as 3uDL of its gradient. u is 2^−52, twice a
  rounding; c is 0 where targets were moved.
- Newton's steps are the first try: where the computed gradient is at most τ − η, for τ =
  `gradient_tolerance`, ‖y − y*‖ ≤ τ/α.
- Else comes accelerated gradient descent. N steps from y₀ with gradients off by η bring Φ to within
  2L/(N + 1)² (‖y₀ − y*‖ + N(N + 1)η/L)² of its smallest value (Schmidt, Le Roux, Bach 2011,
  Proposition 2), which is at least α/2 ‖y − y*‖². With N + 1 ≥ 4√(L/α), but at most 5√(L/α), ‖y −
  y*‖ is at most ½(‖y₀ − y*‖ + 25η/α). From ‖y₀ − y*‖ ≤ 2D, j such rounds leave 2D/2^j + 25η/α: at
  most τ/α for τ ≥ 30η and 2D/2^j ≤ τ/(6α). j and N are public.
"""

import math
from collections.abc import Callable

import numpy as np

from ..core.types import Array
from ..problems.losses import PiecewiseLinear, SlopedLoss, require_sloped_loss
from ..problems.risks import Risk, minimise_by_newton

BLOCK_ROWS = 4096
UNIT_ROUNDOFF = 2.0**-52
MIN_GOAL_PER_ROUNDING = 30  # η that a gradient tolerance must hold, at least


def gradient_rounding_error(
    loss: SlopedLoss, c: Array, *, mu: float, n: int, tilt: Array | float = 0.0
) -> float:
    """Return the rounding error η of a gradient, from public numbers.

    For n rows, about c, as in `find_minimiser`.
    """
    loss_width = loss.width if isinstance(loss, PiecewiseLinear) else 1.0
    max_distance = max_minimiser_distance(loss, c, mu, tilt)
    max_residual = (len(c) + 4) * (
        3 * max_distance + loss_width + (float(np.linalg.norm(c)) if loss.margin else 0.0)
    )
    return UNIT_ROUNDOFF * (
        (BLOCK_ROWS + n / BLOCK_ROWS + len(c)) * loss.lipschitz_constant
        + loss.curvature * max_residual
        + 3 * max_distance * (loss.curvature + mu)
    )


def max_minimiser_distance(loss: SlopedLoss, c: Array, mu: float, tilt: Array | float) -> float:
    """Return the distance D from c within which the minimiser lies, whatever the rows."""
    tilt_length = float(np.linalg.norm(tilt))
    gradient_bound = (loss.lipschitz_constant + tilt_length) / mu
    if not loss.margin:
        return gradient_bound
    loss_width = loss.width if isinstance(loss, PiecewiseLinear) else 0.0
    loss_bound_at_centre = loss.lipschitz_constant * (1 + float(np.linalg.norm(c)) + loss_width)
    return min(gradient_bound, math.sqrt(2 * loss_bound_at_centre / mu) + 2 * tilt_length / mu)


def descent_schedule(
    max_distance: float, mu: float, smoothness: float, gradient_tolerance: float
) -> tuple[float, float]:
    """Return the number of rounds of descent, and of steps in each, from public numbers.

    See the head of this file.
    """
    return max(1.0, math.log2(12 * max_distance * mu / gradient_tolerance)), 4 * math.sqrt(
        smoothness / mu
    )


def find_minimiser(
    risk: Risk,
    c: Array,
    *,
    mu: float,
    gradient_tolerance: float,
    newton_tolerance: float | None = None,
    tilt: Array | float = 0.0,
    smoothing_factors: tuple[float, ...] = (1.0,),
) -> Array:
    """Return a point y (d,) within `gradient_tolerance`/μ of the minimiser y*.

    ‖y − y*‖ ≤ goal/μ, goal = `gradient_tolerance`, for a smooth loss, not strongly convex, and a
    `gradient_tolerance` of at least 30 η. Newton's steps go on until a gradient of
    `newton_tolerance`, goal/4 unless given. `smoothing_factors`: multiples of the loss's width, the
    last one 1, over which its kink is rounded off on the way.
    """
    loss = require_sloped_loss(risk.loss)
    tilt_vector = np.broadcast_to(np.asarray(tilt, dtype=float), c.shape)
    loss_width = loss.width if isinstance(loss, PiecewiseLinear) else 0.0
    max_distance = max_minimiser_distance(loss, c, mu, tilt_vector)
    offset = c if loss.margin else np.zeros(len(c))
    centred_risk = risk if loss.margin else _centre_targets(risk, c, max_distance + loss_width)

    def gradient(y: Array) -> Array:
        return _gradient(centred_risk, offset + y) + mu * y + tilt_vector

    x = offset.copy()
    newton_tolerance = gradient_tolerance / 4 if newton_tolerance is None else newton_tolerance
    for factor in smoothing_factors:
        smoothed_risk = centred_risk.with_loss(loss.smoothed(factor * loss_width))
        x = minimise_by_newton(
            smoothed_risk, x, mu=mu, centre=offset, tilt=tilt_vector, tolerance=newton_tolerance
        )
    y = _project_onto_ball(x - offset, max_distance)
    if np.linalg.norm(gradient(y)) <= gradient_tolerance - gradient_rounding_error(
        loss, c, mu=mu, n=len(risk.w), tilt=tilt_vector
    ):
        return y
    return accelerated_descent(
        gradient,
        y,
        max_distance=max_distance,
        mu=mu,
        smoothness=loss.curvature + mu,
        gradient_tolerance=gradient_tolerance,
    )


def accelerated_descent(
    gradient: Callable[[Array], Array],
    y: Array,
    *,
    max_distance: float,
    mu: float,
    smoothness: float,
    gradient_tolerance: float,
) -> Array:
    """Return the end of accelerated gradient descent from y, in rounds.

    ‖y‖ ≤ `max_distance`; each round halves the distance to y*.
    """
    rounds, steps = descent_schedule(max_distance, mu, smoothness, gradient_tolerance)
    for _ in range(math.ceil(rounds)):
        z = y
        t = 1.0
        for _ in range(math.ceil(steps)):
            previous_y = y
            y = _project_onto_ball(z - gradient(z) / smoothness, max_distance)
            next_t = (1 + math.sqrt(1 + 4 * t * t)) / 2
            z = y + (t - 1) / next_t * (y - previous_y)
            t = next_t
    return y


def _centre_targets(risk: Risk, c: Array, max_distance: float) -> Risk:
    """Return the risk F as a function of x − c, with targets at most `max_distance` away."""
    centred_risk = risk.with_loss(risk.loss)
    # each row by itself: not as BLAS would, by its place
    centred_risk.b = np.clip(risk.b - (risk.A * c).sum(1), -max_distance, max_distance)
    return centred_risk


def _gradient(risk: Risk, x: Array) -> Array:
    """Return the gradient ∇F (d,) at x, summed in blocks."""
    total = np.zeros(risk.d)
    loss = require_sloped_loss(risk.loss)
    for start in range(0, len(risk.w), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        A = risk.A[block]
        total += (risk.w[block] * loss.slope(A @ x, risk.b[block])) @ A
    return total


def _project_onto_ball(y: Array, radius: float) -> Array:
    """Return the nearest point to y at a norm of at most `radius`; 0 where y is not a number."""
    norm = float(np.linalg.norm(y))
    if not math.isfinite(norm):
        return np.zeros_like(y)
    return y if norm <= radius else y * (radius / norm)
