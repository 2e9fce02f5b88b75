"""Exact draws on a line for losses with kinks only.

The density is a Gaussian or an exponential between two kinks. Error: rounding, about 1e-12 in total
variation.
"""

import numpy as np
from scipy.special import erf, erfcx

from ...core.errors import InputError
from ...core.types import Array, Rng
from ...problems.losses import PiecewiseLinear
from ..statistics.density_targets import Density, Target
from .plane import sample_categorical_log

MAX_INVERSION_STEPS = 250  # most steps to invert a piece's distribution function to the last bit
QUADRATURE_NODES, QUADRATURE_WEIGHTS = np.polynomial.legendre.leggauss(10)


def unsupported_reason(target: Target) -> str | None:
    """Return the reason why this sampler cannot draw from a target; None when it can."""
    loss = target.loss
    if not isinstance(loss, PiecewiseLinear) or loss.width or loss.margin or not target.location:
        return (
            "the sampler line needs one column and a loss of two slopes: a quantile or the "
            "absolute loss"
        )
    return None


def _breakpoints_and_shares(density: Density) -> tuple[PiecewiseLinear, Array, Array]:
    """Return the loss, the sorted breakpoints (p,), and the share of rows ≤ each but the last.

    The breakpoints include the ends of a bounded K.
    """
    risk = density.risk
    loss = density.risk.loss
    if not isinstance(loss, PiecewiseLinear):
        raise InputError("a loss of two slopes is needed")
    (low,), (high,) = density.region.corners
    clipped = np.clip(risk.b, low, high)
    order = np.argsort(clipped)
    edges = np.unique(np.append(clipped, [low, high] if density.region.is_bounded else []))
    share = np.append(0.0, np.cumsum(risk.w[order]))
    return loss, edges, share[np.searchsorted(clipped[order], edges[:-1], side="right")]


class PiecewiseGaussian:
    """The density ∝ exp(−k(F(x) + μ(x − c)²/2)) on low..high, in pieces between sorted breakpoints.

    On a piece from e of width w, F has slope (high − low)·W + low of the loss, W the share of rows
    ≤ e; with α = kμ and γ = k · slope + α(e − c) the exponent falls by αt²/2 + γt from e to e + t.
    `share` (pieces,) sums to 1.
    """

    def __init__(self, density: Density) -> None:
        loss, self.edges, W = _breakpoints_and_shares(density)
        is_unbounded = not density.region.is_bounded
        slope = loss.low + (loss.high - loss.low) * W
        self.alpha = density.k * density.mu
        self.width = np.diff(self.edges)
        offset = self.edges - density.centre[0]
        exponent_rise = np.append(0.0, np.cumsum(density.k * slope * self.width))
        self.gamma = density.k * slope + self.alpha * offset[:-1]
        log_mass = (
            log_piece_integral(self.width, self.alpha, self.gamma)
            - exponent_rise[:-1]
            - self.alpha * offset[:-1] ** 2 / 2
        )
        if is_unbounded:  # the two outer pieces, mirrored where they run to the left
            outer_distance = (
                60 / np.sqrt(self.alpha) + 2 * max(abs(loss.low), abs(loss.high)) / density.mu
            )
            left_slope = np.array([-(density.k * loss.low + self.alpha * offset[0])])
            right_slope = np.array([density.k * loss.high + self.alpha * offset[-1]])
            width = np.array([outer_distance + abs(offset[0]) + abs(offset[-1])])
            log_heights = -self.alpha * offset[[0, -1]] ** 2 / 2 - exponent_rise[[0, -1]]
            left_log_mass = log_piece_integral(width, self.alpha, left_slope) + log_heights[0]
            right_log_mass = log_piece_integral(width, self.alpha, right_slope) + log_heights[1]
            log_mass = np.concatenate([left_log_mass, log_mass, right_log_mass])
            start = self.edges[0] - width[0]
            first_slope = np.array(
                [density.k * loss.low + self.alpha * (start - density.centre[0])]
            )
            self.gamma = np.concatenate([first_slope, self.gamma, right_slope])
            self.width = np.concatenate([width, self.width, width])
            self.edges = np.concatenate([[start], self.edges, self.edges[-1:] + width])
        self.log_share = log_mass - log_mass.max()
        total = np.exp(self.log_share).sum()
        self.log_share -= np.log(total)
        self.cumulative = np.append(0.0, np.cumsum(np.exp(self.log_share)))

    def _share_within(self, piece: Array, t: Array) -> Array:
        """Return the probability that a draw from a piece lies within t of the piece's left end."""
        log_total = log_piece_integral(self.width[piece], self.alpha, self.gamma[piece])
        return np.exp(log_piece_integral(t, self.alpha, self.gamma[piece]) - log_total)

    def cdf(self, x: Array) -> Array:
        """Return the probability P(X ≤ x): the distribution function."""
        x = np.clip(np.asarray(x, dtype=float), self.edges[0], self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.width) - 1)
        share = np.exp(self.log_share[piece]) * self._share_within(piece, x - self.edges[piece])
        return np.minimum((self.cumulative[piece] + share) / self.cumulative[-1], 1.0)

    def draw(self, size: int, rng: Rng) -> Array:
        """Return independent draws (size,) by inverting the distribution function."""
        piece = sample_categorical_log(self.log_share, size, rng)
        return self.edges[piece] + self._invert(piece, rng.random(size))

    def _invert(self, piece: Array, target: Array) -> Array:
        """Return the distances t (m,) from pieces' left ends that hold `target` probability.

        Newton's steps on the distribution function where they stay between the ends known so far,
        else half the way.
        """
        width = self.width[piece]
        gamma = self.gamma[piece]
        alpha = self.alpha
        log_total = log_piece_integral(width, alpha, gamma)
        low = np.zeros(len(piece))
        high = width
        t = target * width
        for i in range(MAX_INVERSION_STEPS):
            excess = np.exp(log_piece_integral(t, alpha, gamma) - log_total) - target
            low = np.where(excess < 0, t, low)
            high = np.where(excess < 0, high, t)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                step = t - excess / np.exp(-alpha * t * t / 2 - gamma * t - log_total)
            inside = (
                (step > low) & (step < high) & (i % 4 < 3)
            )  # a slow Newton still halves now and then
            step = np.where(inside, step, (low + high) / 2)
            if (np.abs(step - t) <= 4e-16 * t).all():
                break
            t = step
        return t


def log_piece_integral(w: Array, alpha: float, gamma: Array) -> Array:
    """Return log ∫_0^w exp(−αt²/2 − γt) dt elementwise, α ≥ 0; −∞ where w = 0.

    Stable for narrow and for steep pieces.
    """
    w, gamma = np.broadcast_arrays(np.asarray(w, dtype=float), np.asarray(gamma, dtype=float))
    out = np.full(w.shape, -np.inf)
    end = gamma + alpha * w
    narrow = (np.abs(gamma) * w + alpha * w * w < 1) & (w > 0)
    t = w[narrow, None] * (QUADRATURE_NODES + 1) / 2  # ten nodes are exact to rounding here
    out[narrow] = np.log(
        w[narrow]
        * (np.exp(-alpha / 2 * t * t - gamma[narrow, None] * t) @ (QUADRATURE_WEIGHTS / 2))
    )
    wide = ~narrow & (w > 0)
    fall = alpha / 2 * w * w + gamma * w
    for mask, first, last, drop, lift in (
        (wide & (gamma >= 0), gamma, end, fall, np.zeros_like(w)),
        (wide & (gamma < 0) & (end <= 0), -end, -gamma, -fall, -fall),  # seen from the right end
    ):
        out[mask] = lift[mask] + _log_falling_integral(first[mask], last[mask], drop[mask], alpha)
    across = wide & (gamma < 0) & (end > 0)
    if across.any():
        r = np.sqrt(2 * alpha)
        out[across] = gamma[across] ** 2 / (2 * alpha) + np.log(
            np.sqrt(np.pi / (2 * alpha)) * (erf(end[across] / r) - erf(gamma[across] / r))
        )
    return out


def _log_falling_integral(first: Array, last: Array, drop: Array, alpha: float) -> Array:
    """Return the log integral over a piece whose exponent falls throughout, by `drop`.

    `first` and `last` are the slopes at its ends.
    """
    if alpha == 0:
        return np.log(-np.expm1(-drop) / first)
    r = np.sqrt(2 * alpha)
    return np.log(
        np.sqrt(np.pi / (2 * alpha)) * (erfcx(first / r) - np.exp(-drop) * erfcx(last / r))
    )


def draw(density: Density, _error: float, rng: Rng) -> Array:
    """Return one exact draw (1,)."""
    return PiecewiseGaussian(density).draw(1, rng)
