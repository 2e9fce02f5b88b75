"""The noise itself. The generator is passed in; nothing here knows a row or a budget."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from ..core.types import Array, Rng
from .exact_bernoulli import EXP_RELATIVE_ERROR, flip_exp_coins, uniform_below_exp
from .exact_samplers import MIN_STEPS_PER_SCALE


def gaussian(values: Array, sigma: float, rng: Rng) -> Array:
    """The `values` plus independent N(0, σ²) noise: μ-GDP with μ = Δ₂/σ for values of ℓ2-sensitivity Δ₂."""
    return values + sigma * rng.standard_normal(values.shape)


def laplace(values: Array, scale: float, rng: Rng) -> Array:
    """The `values` plus independent Laplace noise: ε-DP with ε = Δ₁/scale for values of ℓ1-sensitivity Δ₁."""
    return values + rng.laplace(0.0, scale, values.shape)


def noise_tail_bound(scale: float, tail_probability: float, is_laplace: bool) -> float:
    """The t ≥ 0 with P(noise ≥ t) ≤ chance for Laplace or Gaussian noise, also where sums are rounded to a grid.

    `exact` rounds up by half a grid step at most and enlarges the scale by two, each 1/STEPS of the
    scale.
    """
    scaled_tail = -math.log(2 * tail_probability) if is_laplace else -float(ndtri(tail_probability))
    return scale * (max(scaled_tail, 0.0) * (1 + 2 / MIN_STEPS_PER_SCALE) + 1 / MIN_STEPS_PER_SCALE)


def apply_threshold(values: Array, noisy: Array, threshold: float) -> Array:
    """The noisy values that reach `threshold`, of those above 0 without noise, and else 0; see `Curator.measure`."""
    return np.where((values > 0) & (noisy >= threshold), noisy, 0.0)


@np.errstate(over="ignore", under="ignore")
def exponential(scores: Array, scale: float, draws: int, rng: Rng) -> Array:
    """Independent draws (draws,) of i with probability ∝ exp(scores[i]/scale), without rounding.

    With scale = 2Δ/ε₀ and scores of sensitivity Δ each is ε₀-bounded-range, hence ε₀-DP. Scale 0
    stands for scores that no row moves, where every i is as good. A point is uniform on a line
    where i has a piece of whole steps, a little longer than p_i = exp((scores[i] − max)/scale) on a
    grid of 2^-bits; i is kept where the point lies in its first p_i. The pieces are too long by
    1/2^bits, and by 2^-40 of themselves, so that nearly every point is kept: surely where more than
    2^-38 of the longest piece, and two steps, are left of its own.
    Source: McSherry, Talwar 2007; Durfee, Rogers 2019.
    """
    if scale == 0:
        return rng.integers(len(scores), size=draws)
    grid_bits = 61 - len(scores).bit_length()  # for ends of at most 2^61
    gaps, exact_gap = _score_gaps(scores, scale)
    piece_lengths = np.exp(-gaps)
    piece_lengths *= 2.0**grid_bits * (1 + EXP_RELATIVE_ERROR)
    piece_lengths += 1
    piece_lengths = np.minimum(piece_lengths, 2.0**grid_bits, out=piece_lengths).astype(np.int64)
    ends = piece_lengths.cumsum()
    points = np.atleast_1d(
        rng.integers(ends[-1], size=draws if draws != 1 else None)
    )  # of one it is quicker
    found = ends.searchsorted(points, side="right")
    distance_to_end = ends[found] - points
    if (distance_to_end <= 2.0 ** (grid_bits - 38) + 2).any():
        heads = uniform_below_exp(
            piece_lengths[found] - distance_to_end,
            grid_bits,
            gaps[found],
            rng,
            lambda i: exact_gap(found[i]),
        )
        return np.concatenate([found[heads], exponential(scores, scale, draws - heads.sum(), rng)])
    return found


@np.errstate(over="ignore")
def permute_and_flip(scores: Array, scale: float, rng: Rng) -> int:
    """The first i in random order whose coin, of probability exp((scores[i] − max)/scale), shows heads.

    With scale = 2Δ/ε and scores of sensitivity Δ it is ε-DP, not bounded-range, and its mean score
    is never below that of `exponential`. Which coins show heads does not depend on the order, and
    the first of them in random order is any of them, so all are flipped and one is picked. Drawn
    without rounding from the scores and the scale as they are.
    Source: McKenna, Sheldon 2020, Algorithm 1, Theorems 1 and 2.
    """
    if scale == 0:  # no row moves the scores
        return int(np.argmax(scores))
    gaps, exact_gap = _score_gaps(scores, scale)
    heads = np.flatnonzero(flip_exp_coins(gaps, rng, exact_gap))
    return int(heads[rng.integers(len(heads))])


def flip_log_coins(log_probability: Array, rng: Rng) -> Array:
    """Independent bits (s,), each True with probability exp(log_probability[i]) ≤ 1, without rounding."""
    return flip_exp_coins(-log_probability, rng)


def first_above(noisy: Array, threshold: float) -> int | None:
    """The first i with noisy[i] ≥ level, for values with fresh Laplace(scale) noise; None where no value is.

    The sparse vector: with level itself blurred once, by ν ~ Laplace(Δ/ε₁), and scale = 2Δ/ε₂, all
    answers up to and with the first "above" are (ε₁ + ε₂)-DP together, however many, for values
    that each move by Δ at the most. Fix the noise of the values before i. Between neighbours the
    largest of them moves by at most Δ, so shift ν by Δ to keep them all below: this costs e^{Δ ·
    ε₁/Δ} = e^{ε₁}. Value i then has to rise by at most 2Δ to stay above, which costs e^{2Δ ·
    ε₂/(2Δ)} = e^{ε₂}. "None" needs the first shift only. After an "above" ν is used up. This is not
    bounded-range. `scores.sparse_scales` divides ε.
    Source: Dwork, Roth 2014, Algorithm 1; Lyu, Su, Li 2017, Algorithm 1.
    """
    is_above = noisy >= threshold
    return int(np.argmax(is_above)) if is_above.any() else None


def _score_gaps(scores: Array, scale: float) -> tuple[Array, Callable[[int], Fraction]]:
    """The gaps (max − scores)/scale (m,) as floats, and each of them as a fraction."""
    max_score = scores.max()

    def exact_gap(i: int) -> Fraction:
        return (Fraction(float(max_score)) - Fraction(float(scores[i]))) / Fraction(float(scale))

    return (max_score - scores) / scale, exact_gap
