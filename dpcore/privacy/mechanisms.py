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
    """Return the `values` plus independent N(0, σ²) noise.

    μ-GDP with μ = Δ₂/σ for values of ℓ2-sensitivity Δ₂.
    """
    return values + sigma * rng.standard_normal(values.shape)


def laplace(values: Array, scale: float, rng: Rng) -> Array:
    """Return the `values` plus independent Laplace noise.

    ε-DP with ε = Δ₁/scale for values of ℓ1-sensitivity Δ₁.
    """
    return values + rng.laplace(0.0, scale, values.shape)


def noise_tail_bound(scale: float, tail_probability: float, is_laplace: bool) -> float:
    """Return the t ≥ 0 with P(noise ≥ t) ≤ `tail_probability` for Laplace or Gaussian noise.

    Also where sums are rounded to a grid: `exact_samplers` rounds up by half a grid step at most
    and enlarges the scale by two, each 1/`MIN_STEPS_PER_SCALE` of the scale.
    """
    scaled_tail = -math.log(2 * tail_probability) if is_laplace else -float(ndtri(tail_probability))
    return scale * (max(scaled_tail, 0.0) * (1 + 2 / MIN_STEPS_PER_SCALE) + 1 / MIN_STEPS_PER_SCALE)


def apply_threshold(values: Array, noisy: Array, threshold: float) -> Array:
    """Return the noisy values that reach `threshold`, and 0 for all others.

    Values that are not above 0 without noise are 0 too; see `Curator.measure`.
    """
    return np.where((values > 0) & (noisy >= threshold), noisy, 0.0)


@np.errstate(over="ignore", under="ignore")
def exponential(scores: Array, scale: float, draws: int, rng: Rng) -> Array:
    """Return independent exponential-mechanism draws (draws,), without rounding.

    Index i has probability ∝ exp(scores[i]/scale).

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
    """Return an index by permute-and-flip: ε-DP selection of a nearly largest score.

    It is the first i in random order whose coin, of probability exp((scores[i] − max)/scale), shows
    heads.

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
    """Return independent bits (s,), True with probability exp(log_probability[i]) ≤ 1.

    Without rounding.
    """
    return flip_exp_coins(-log_probability, rng)


def first_above(noisy: Array, threshold: float) -> int | None:
    """Return the first i with noisy[i] ≥ `threshold` (sparse vector); None if there is none.

    The values have fresh Laplace(scale) noise.

    The sparse vector: with the threshold itself blurred once, by ν ~ Laplace(Δ/ε₁), and scale =
    2Δ/ε₂, all answers up to and with the first "above" are (ε₁ + ε₂)-DP together, however many, for
    values that each move by Δ at the most. Fix the noise of the values before i. Between neighbours
    the largest of them moves by at most Δ, so shift ν by Δ to keep them all below: this costs e^{Δ
    · ε₁/Δ} = e^{ε₁}. Value i then has to rise by at most 2Δ to stay above, which costs e^{2Δ ·
    ε₂/(2Δ)} = e^{ε₂}. "None" needs the first shift only. After an "above" ν is used up. This is not
    bounded-range. `selection_scores.sparse_vector_laplace_scales` divides ε.
    Source: Dwork, Roth 2014, Algorithm 1; Lyu, Su, Li 2017, Algorithm 1.
    """
    is_above = noisy >= threshold
    return int(np.argmax(is_above)) if is_above.any() else None


def _score_gaps(scores: Array, scale: float) -> tuple[Array, Callable[[int], Fraction]]:
    """Return the gaps (max − scores)/scale (m,) as floats, and each of them as a fraction."""
    max_score = scores.max()

    def exact_gap(i: int) -> Fraction:
        return (Fraction(float(max_score)) - Fraction(float(scores[i]))) / Fraction(float(scale))

    return (max_score - scores) / scale, exact_gap
