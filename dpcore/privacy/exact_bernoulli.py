"""Coins that show heads with probability exactly exp(−x), without rounding.

A coin is heads where a uniform number U in [0, 1) is below exp(−x). The first bits of U, mostly 53, settle nearly all
of them in floating point, with room for its rounding; where they do not, U gets more bits and exp(−x) more digits until
they do.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from ..core.types import Array, Rng

BITS = 53
SLACK = 2.0**-40  # relative error of exp(−x) in floating point, x < 64 known to a few ulp: at most 2^-45
MORE = 64  # bits drawn at a time where 53 do not settle it


def flips(x: Array, rng: Rng, exactly: Callable[[int], Fraction] | None = None) -> Array:
    """Independent bits (s,), each True with probability exp(−x[i]), x ≥ 0, if the generator's bits are fair.

    `exactly(i)` is the x that is meant where x[i] is only within a few ulp of it; without it x[i] itself is.
    """
    return below(rng.integers(0, 2**BITS, x.shape), BITS, x, rng, exactly)


def below(words: Array, bits: int, x: Array, rng: Rng, exactly: Callable[[int], Fraction] | None = None) -> Array:
    """Whether U < exp(−x[i]) (s,) for uniform numbers U whose first `bits` bits are `words` (s,); see `flips`."""
    with np.errstate(under="ignore"):
        scaled_probability = np.exp(-x) * 2.0**bits
    heads = words + 1 <= scaled_probability * (1 - SLACK)
    if heads.all():
        return heads
    # where exp(−x) < 2^-bits only the word 0 is not settled here
    tails = (words >= scaled_probability * (1 + SLACK)) & (words > 0)
    for i in np.flatnonzero(~(heads | tails)):
        true_exponent = Fraction(float(x[i])) if exactly is None else exactly(int(i))
        heads[i] = settled(int(words[i]), lambda meant=true_exponent: (meant, meant), rng, bits)
    return heads


def settled(word: int, exponent: Callable[[], tuple[Fraction, Fraction]], rng: Rng, bits: int = BITS) -> bool:
    """Whether U < exp(−x) for the uniform U whose first `bits` bits are `word`; further bits are drawn as needed.

    Each call of `exponent` gives bounds of x, which are narrower than those before or both x itself.
    """
    while True:
        low, high = exponent()
        if high == 0:
            return True
        if bits > high:
            if word + 1 <= _exp(high, bits)[0] * 2**bits:
                return True
            if word >= _exp(low, bits)[1] * 2**bits:
                return False
        elif word and bits <= low:  # U ≥ 2^-bits ≥ 2^-x > exp(−x), and exp(−x) might be too small to be written down
            return False
        word, bits = word << MORE | int(rng.integers(0, 2**64, dtype=np.uint64)), bits + MORE


def _exp(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Lower and upper bounds of exp(−x) to about `bits` bits; `Decimal.exp` is correctly rounded."""
    nearest_context = Context(prec=bits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    floor_context, ceiling_context = nearest_context.copy(), nearest_context.copy()
    floor_context.rounding, ceiling_context.rounding = ROUND_FLOOR, ROUND_CEILING
    negative_numerator, denominator = Decimal(-x.numerator), Decimal(x.denominator)
    low, high = (
        nearest_context.exp(floor_context.divide(negative_numerator, denominator)),
        nearest_context.exp(ceiling_context.divide(negative_numerator, denominator)),
    )
    return Fraction(nearest_context.next_minus(low)), Fraction(nearest_context.next_plus(high))
