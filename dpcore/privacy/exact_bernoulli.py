"""Coins that show heads with probability exactly exp(−x), without rounding.

A coin is heads where a uniform number U in [0, 1) is below exp(−x). The first bits of U, mostly 53,
settle nearly all of them in floating point, with room for its rounding; where they do not, U gets
more bits and exp(−x) more digits until they do.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from ..core.types import Array, Rng

UNIFORM_BITS = 53
EXP_RELATIVE_ERROR = (
    2.0**-40
)  # relative error of exp(−x) in floating point, x < 64 known to a few ulp: at most 2^-45
EXTRA_BITS = 64  # bits drawn at a time where 53 do not settle it


def flip_exp_coins(
    x: Array, rng: Rng, exact_exponent: Callable[[int], Fraction] | None = None
) -> Array:
    """Return independent bits (s,), each True with probability exp(−x[i]), without rounding.

    x ≥ 0; the generator's bits must be fair.

    `exact_exponent(i)` is the x that is meant where x[i] is only within a few ulp of it; without it
    x[i] itself is.
    """
    return uniform_below_exp(
        rng.integers(0, 2**UNIFORM_BITS, x.shape), UNIFORM_BITS, x, rng, exact_exponent
    )


def uniform_below_exp(
    leading_bits: Array,
    bit_count: int,
    x: Array,
    rng: Rng,
    exact_exponent: Callable[[int], Fraction] | None = None,
) -> Array:
    """Return whether U < exp(−x[i]) (s,) for uniform U that begin with `leading_bits` (s,).

    `bit_count` is the number of those bits. See `flip_exp_coins`.
    """
    with np.errstate(under="ignore"):
        scaled_probability = np.exp(-x) * 2.0**bit_count
    heads = leading_bits + 1 <= scaled_probability * (1 - EXP_RELATIVE_ERROR)
    if heads.all():
        return heads
    # where exp(−x) < 2^-bits only the word 0 is not settled here
    tails = (leading_bits >= scaled_probability * (1 + EXP_RELATIVE_ERROR)) & (leading_bits > 0)
    for i in np.flatnonzero(~(heads | tails)):
        true_exponent = Fraction(float(x[i])) if exact_exponent is None else exact_exponent(int(i))
        exponent_bounds = partial(_bounds_of_known_exponent, true_exponent)
        heads[i] = decide_uniform_below_exp(int(leading_bits[i]), exponent_bounds, rng, bit_count)
    return heads


def _bounds_of_known_exponent(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return the bounds of an exponent that is known exactly: itself, twice."""
    return exponent, exponent


def decide_uniform_below_exp(
    leading_bits: int,
    exponent_bounds: Callable[[], tuple[Fraction, Fraction]],
    rng: Rng,
    bit_count: int = UNIFORM_BITS,
) -> bool:
    """Return whether U < exp(−x) for the uniform U that begins with `leading_bits`.

    `bit_count` is the number of those bits; further bits are drawn as needed. Each call of
    `exponent_bounds` gives bounds of x, which are narrower than those before or both x itself.
    """
    while True:
        low, high = exponent_bounds()
        if high == 0:
            return True
        if bit_count > high:
            if leading_bits + 1 <= _exp_bounds(high, bit_count)[0] * 2**bit_count:
                return True
            if leading_bits >= _exp_bounds(low, bit_count)[1] * 2**bit_count:
                return False
        elif leading_bits and bit_count <= low:
            # U ≥ 2^-bits ≥ 2^-x > exp(−x), and exp(−x) might be too small to be written down
            return False
        leading_bits = leading_bits << EXTRA_BITS | int(rng.integers(0, 2**64, dtype=np.uint64))
        bit_count = bit_count + EXTRA_BITS


def _exp_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return lower and upper bounds of exp(−x) to `digits` decimal digits.

    `Decimal.exp` is correctly rounded.
    """
    nearest_context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    floor_context = nearest_context.copy()
    ceiling_context = nearest_context.copy()
    floor_context.rounding = ROUND_FLOOR
    ceiling_context.rounding = ROUND_CEILING
    negative_numerator = Decimal(-x.numerator)
    denominator = Decimal(x.denominator)
    low = nearest_context.exp(floor_context.divide(negative_numerator, denominator))
    high = nearest_context.exp(ceiling_context.divide(negative_numerator, denominator))
    return Fraction(nearest_context.next_minus(low)), Fraction(nearest_context.next_plus(high))
