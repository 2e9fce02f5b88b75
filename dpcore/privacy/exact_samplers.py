"""Gaussian and Laplace noise without rounding, released on a public grid.

The noise is a real number, of which only the nearest step of a public grid is seen.

A float near a noisy answer may not be reachable from every count, so that its last bits tell the
count. Here a whole number plus real noise is rounded once, correctly, to a grid that depends on
public numbers alone. The result is a function of the sum and of nothing else, so that it keeps
whatever the real law promises: μ-GDP and ε-DP.

The noise is ±K(k + x) steps of the grid, with a whole number k and a uniform x in [0, 1) of which
40 bits are drawn first. Floating point settles nearly all draws from these, with room for its
rounding; where it does not, x gets more bits and the arithmetic more digits until they do.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.errors import InputError
from ..core.numbers import ROUNDING_SLACK
from ..core.types import Array, Rng
from .exact_bernoulli import EXTRA_BITS, UNIFORM_BITS, decide_uniform_below_exp, flip_exp_coins

MAX_EXACT_INTEGER = 2.0**53  # up to which a float is every whole number
# scales between which whole numbers and 64 bits hold every step
MIN_SCALE = 2.0**-100
MAX_SCALE = 2.0**58
MIN_STEPS_PER_SCALE = 2**20  # grid steps in the scale of the noise, at least
OFFSET_BITS = 40  # bits of x that are drawn at once
ExponentFunction = Callable[[Any, Any], Any]  # of k and x, in floats or fractions
ACCEPTANCE_RELATIVE_ERROR = (
    2.0**-30
)  # relative error of an acceptance probability: x is known to 2^-40 of a slope of at most 2^8


def gaussian(counts: Array, scale: float, rng: Rng) -> Array:
    """Return whole numbers `counts` plus independent N(0, scale²) noise, on a public grid.

    Each sum is rounded to a step of the grid.

    μ-GDP with μ = Δ₂/scale for counts of ℓ2-sensitivity Δ₂. The deviation is larger by 10⁻⁶ of it
    at most. Raises InputError for a scale that is too large. Source: Karney 2016, Algorithm N: k ≥
    0 by e^{−k/2}, x uniform, and both are kept with probability exp(−(k(k − 1) + x(2k + x))/2),
    which makes e^{−(k + x)²/2} of them.
    """
    return _add_exact_noise(
        counts, scale, rng, 0.5, lambda k, x: (k * (k - 1) + x * (2 * k + x)) / 2
    )


def laplace(counts: Array, scale: float, rng: Rng) -> Array:
    """Return whole numbers `counts` plus independent Laplace noise, on a public grid.

    Each sum is rounded to a step of the grid.

    ε-DP with ε = Δ₁/scale for counts of ℓ1-sensitivity Δ₁. All else as `gaussian`: k ≥ 0 by e^{−k},
    kept by e^{−x}.
    """
    return _add_exact_noise(counts, scale, rng, 1.0, lambda k, x: x)


def _add_exact_noise(
    counts: Array, scale: float, rng: Rng, rate: float, exponent: ExponentFunction
) -> Array:
    """Return the counts plus ±K(k + x) steps of noise, rounded to whole steps.

    e^{−rate k − exponent(k, x)} is the law of k and x.
    """
    if scale == 0:  # the counts are the same for all rows
        return counts
    if not 0 < scale < MAX_SCALE:
        raise InputError(f"exact noise of scale {scale:g} steps is outside [0, {MAX_SCALE:g})")
    mantissa, binary_exponent = math.frexp(
        max(scale, MIN_SCALE) * ROUNDING_SLACK
    )  # the scale is part · 2^power, part in [½, 1)
    step = 2.0**binary_exponent / (2 * MIN_STEPS_PER_SCALE)
    steps_per_scale = math.ceil(mantissa * 2 * MIN_STEPS_PER_SCALE)
    counts = np.clip(
        counts, -MAX_EXACT_INTEGER, MAX_EXACT_INTEGER
    )  # no two counts are farther apart for it, so no sensitivity grows
    steps_below = np.floor(counts / step)
    scaled_remainders = ((counts / step - steps_below) * 2.0**OFFSET_BITS).astype(np.int64)
    scaled_remainders += 2 ** (OFFSET_BITS - 1)  # half a step more: the nearest
    return (
        steps_below
        + _draw_noise_steps(
            scaled_remainders.ravel(), steps_per_scale, rng, rate, exponent
        ).reshape(scaled_remainders.shape)
    ) * step


def _draw_noise_steps(
    scaled_remainders: Array,
    steps_per_scale: int,
    rng: Rng,
    rate: float,
    exponent: ExponentFunction,
) -> Array:
    """Return the noise steps ⌊rest/2^40 ± K(k + x)⌋ (s,), drawn until all are accepted.

    rest = `scaled_remainders`, K = `steps_per_scale`.
    """
    noise_steps = np.empty(len(scaled_remainders))
    pending = np.arange(len(scaled_remainders))
    while size := len(pending):
        k = _draw_geometric(size, rate, rng)
        sign = 2 * rng.integers(0, 2, size) - 1
        x = rng.integers(0, 2**OFFSET_BITS, size)
        coin_bits = rng.integers(0, 2**UNIFORM_BITS, size)
        scaled_probability = (
            np.exp(-exponent(k.astype(float), (x + 0.5) / 2.0**OFFSET_BITS)) * 2.0**UNIFORM_BITS
        )
        interval_start = scaled_remainders[pending] + sign * steps_per_scale * x
        step_number = interval_start >> OFFSET_BITS
        accepted = (coin_bits + 1 <= scaled_probability * (1 - ACCEPTANCE_RELATIVE_ERROR)) & (
            step_number == (interval_start + sign * steps_per_scale) >> OFFSET_BITS
        )
        rejected = (coin_bits >= scaled_probability * (1 + ACCEPTANCE_RELATIVE_ERROR)) & (
            coin_bits > 0
        )
        for i in np.flatnonzero(~(accepted | rejected)):
            decided_step = _decide_sample(
                int(k[i]),
                int(x[i]),
                int(coin_bits[i]),
                int(scaled_remainders[pending[i]]),
                int(sign[i]) * steps_per_scale,
                rng,
                exponent,
            )
            if decided_step is not None:
                accepted[i] = True
                step_number[i] = decided_step
        noise_steps[pending[accepted]] = (sign * steps_per_scale * k + step_number)[accepted]
        pending = pending[~accepted]
    return noise_steps


def _draw_geometric(size: int, rate: float, rng: Rng) -> Array:
    """Return independent whole numbers k ≥ 0 (size,), each with probability ∝ exp(−rate k)."""
    k = np.zeros(size, dtype=np.int64)
    still_counting = np.arange(size)
    while len(still_counting):
        still_counting = still_counting[flip_exp_coins(np.full(len(still_counting), rate), rng)]
        k[still_counting] += 1
    return k


def _decide_sample(
    k: int,
    x: int,
    coin_bits: int,
    scaled_remainder: int,
    slope: int,
    rng: Rng,
    exponent: ExponentFunction,
) -> int | None:
    """Return ⌊rest/2^40 + slope · x⌋ if k and x are accepted, else None.

    rest = `scaled_remainder`; `x` and `coin_bits` are the first bits of uniform numbers.
    """
    bit_count = OFFSET_BITS

    def refine_interval() -> tuple[Fraction, Fraction]:
        """Return the ends of the interval that x lies in, after drawing more bits of it."""
        nonlocal x, bit_count
        x = x << EXTRA_BITS | int(rng.integers(0, 2**64, dtype=np.uint64))
        bit_count = bit_count + EXTRA_BITS
        return Fraction(x, 2**bit_count), Fraction(x + 1, 2**bit_count)

    def refine_exponent_bounds() -> tuple[Fraction, Fraction]:
        low, high = refine_interval()
        return Fraction(exponent(k, low)), Fraction(exponent(k, high))

    if not decide_uniform_below_exp(coin_bits, refine_exponent_bounds, rng):
        return None
    while True:
        start = Fraction(scaled_remainder, 2**OFFSET_BITS)
        low_end, high_end = refine_interval()
        lower_step = math.floor(start + slope * low_end)
        upper_step = math.floor(start + slope * high_end)
        if lower_step == upper_step:
            return lower_step
