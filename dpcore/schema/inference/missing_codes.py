"""Codes for missing values beside numbers, as −9 and 99: a private peek.

Statistical packages write a refused or unknown number as one that no answer can be. Such a number
stands apart from all others, or occurs far more often than its neighbours. Among large numbers it
is of nines, with 98, 97 and the like beside it: a lone 88 or 95 is somebody's number.
"""

import numpy as np

from ...core.types import Array

NEGATIVE_CODES = frozenset(
    [-1, -2, -3, -4, -5, -6, -7, -8, -9, -66, -77, -88, -96, -97, -98, -99]
    + [-666, -777, -888, -996, -997, -998, -999, -6666, -7777, -8888]
    + [-9996, -9997, -9998, -9999, -99999, -999999, -2147483648]
    + [-9.9, -99.9, -99.99, -999.9, -999.99, -9999.9]
)
NINES = frozenset(
    [9, 99, 999, 9999, 99999, 999999, 9999999, 99999999, 999999999, 2147483647]
    + [9.9, 99.9, 99.99, 999.9, 999.99, 9999.9]
)
POSITIVE_CODES = NINES | frozenset(
    [66, 77, 88, 94, 95, 96, 97, 98, 666, 777, 888, 994, 995, 996, 997, 998]
    + [6666, 7777, 8888, 9994, 9995, 9996, 9997, 9998, 99997, 99998, 999997, 999998]
)
MIN_ROWS = 10  # fewer say nothing about which numbers are usual
MAX_CODES = 6  # of one column
MIN_GAP_SHARE = 0.5  # of the other numbers' range, by which a code stands apart from them
MIN_GAP_STEPS = 3  # steps between neighbours by which a frequent code stands apart
MIN_FREQUENCY_RATIO = 3  # rows of a frequent code for each row of another number
FIRST_PLAIN_CODE = -5  # from which on down a number below decimals from 0 on is a code
MIN_ROWS_OF_ONE_DIGIT = 2  # of 9, which is a usual number


def find_missing_codes(numbers: Array, counts: Array) -> tuple[float, ...]:
    """Return the numbers (r,), of `counts` (r,) rows each, that seem to say that one is missing."""
    order = np.argsort(numbers)
    numbers = numbers[order]
    counts = counts[order]
    is_high_code = _is_code(numbers, POSITIVE_CODES)
    is_low_code = _is_code(numbers, NEGATIVE_CODES)
    ordinary = ~(is_high_code | is_low_code)
    if ordinary.sum() < 2 or counts.sum() < MIN_ROWS:
        return ()
    first = int(np.flatnonzero(ordinary)[0])
    last = int(np.flatnonzero(ordinary)[-1])
    codes = [
        *_low_codes(numbers, first, last),
        *_high_codes(numbers, counts, first, last),
    ]
    return tuple(codes) if len(codes) <= MAX_CODES else ()


def _is_code(numbers: Array, codes: frozenset) -> Array:
    return np.isin(numbers, list(codes))


def _low_codes(numbers: Array, first: int, last: int) -> list[float]:
    """Return the negative codes below all other numbers, if these are not negative or far away.

    Those of a scale from −k to k are none, nor are −1 to −4 beside decimals from 0 on.
    """
    below = numbers[:first]
    below = below[below < 0]
    if not len(below):
        return []
    far = below[numbers[first] - below > MIN_GAP_SHARE * (numbers[last] - numbers[first])]
    if numbers[first] < 0:
        return far.tolist()
    are_whole = bool((numbers == np.floor(numbers)).all())
    is_scale = len(below) > 1 and below[0] == -len(below) == -numbers[last]
    if is_scale:
        return []
    is_plain = are_whole or below[0] <= FIRST_PLAIN_CODE
    return below.tolist() if is_plain else far.tolist()


def _high_codes(numbers: Array, counts: Array, first: int, last: int) -> list[float]:
    """Return the codes above all other numbers, from the first that stands apart on."""
    span = numbers[last] - numbers[first]
    step = np.median(np.diff(numbers[first : last + 1]))
    min_count = MIN_FREQUENCY_RATIO * np.mean(counts[first : last + 1])
    for i in range(last + 1, len(numbers)):
        gap = numbers[i] - numbers[last]
        is_frequent = counts[i:].max() >= min_count
        is_far = gap > MIN_GAP_SHARE * span and (is_frequent or _hold_nines(numbers, counts, i))
        if is_far or (is_frequent and gap >= MIN_GAP_STEPS * step):
            return numbers[i:].tolist()
    return []


def _hold_nines(numbers: Array, counts: Array, start: int) -> bool:
    """Return whether some number from a position on is of nines, and no usual one."""
    is_nines = _is_code(numbers[start:], NINES)
    is_usual = (numbers[start:] < 10) & (counts[start:] < MIN_ROWS_OF_ONE_DIGIT)
    return bool((is_nines & ~is_usual).any())
