"""Round bounds and bins for numbers that were read off the records: a private peek."""

import math

import numpy as np

from ..types import Array, Json
from .schema import LARGEST

EACH, BINS = 20, 10  # whole numbers that get a cell each; about BINS bins otherwise
CROWDED = 0.6  # share of rows in one of equal bins beyond which bins are 1, 2, 5, 10, …
NEAR = 1e-12  # relative distance up to which two numbers count as one
STRAY = 200  # one row in this many may lie far outside the bounds


def round_bounds(numbers: Array, counts: Array, *, whole: bool) -> Json:
    """Round bounds and bins (no quantiles) for numbers (r,) that occur `counts` (r,) times.

    Bins are equally wide, or 1, 2, 5, 10, … where most numbers ≥ 0 would share one, as incomes do.
    A few rows (one in STRAY, one at least) that lie so far out that the others would fill less than half of the bounds
    are counted in the outermost bins: one outlier does not swallow a column.
    """
    low, high = _bulk(numbers, counts)
    clip = {"out_of_range": "clip"}
    if whole and high - low < EACH:
        return {"low": int(low), "high": int(high)} | clip
    same = high - low <= NEAR * max(abs(low), abs(high), NEAR)
    step = max(abs(low), 1.0) / 10 if same else _step(high - low, whole)
    first, last = math.floor(low / step), math.ceil(high / step)
    if first == last:
        first, last = (first - 1, last) if low > 0 else (first, last + 1)
    kind = int if whole else float
    least, most = min(_times(first, step), low), max(_times(last, step), high)  # a product may be rounded past them
    ends = kind(max(least, -LARGEST)), kind(min(most, LARGEST))
    filled = np.histogram(np.clip(numbers, *ends), last - first, ends, weights=counts)[0]
    if low >= 0 and not same and filled.max() > CROWDED * filled.sum() and len(edges := _decades(high, kind)) > 2:
        return {"edges": edges} | clip
    return {"low": ends[0], "high": ends[1], "bins": last - first} | clip


def _decades(high: float, kind: type) -> list:
    """The edges 0 and the last BINS of 1, 2, 5, 10, 20, … up to the first that is at least `high`."""
    powers = range(math.floor(math.log10(high)) - BINS // 3, math.floor(math.log10(high)) + 2)
    series = [_times(m, 10.0**p) if p < 0 else float(m * 10**p) for p in powers for m in (1, 2, 5)]
    upto = series[: 1 + next(i for i, v in enumerate(series) if v >= high)]
    return [kind(0), *(kind(v) for v in upto[-BINS:] if kind(v) == v > 0)]


def _bulk(numbers: Array, counts: Array) -> tuple[float, float]:
    """The ends of the numbers without a few outliers; every round keeps at most half of the width."""
    order = np.argsort(numbers)
    numbers, counts = numbers[order], counts[order]
    rows = int(counts.sum())
    left = max(1, rows // STRAY)  # rows that may still go
    while left and len(numbers) > 2:
        lost, first, last = _halved(numbers, counts)
        if lost > left or first == last:
            lost, first, last = _quartered(numbers, counts, left)
        if not lost or 3 * lost >= rows or first == last:
            break
        left -= lost
        numbers, counts = numbers[first : last + 1], counts[first : last + 1]
    return float(numbers[0]), float(numbers[-1])


def _halved(numbers: Array, counts: Array) -> tuple[int, int, int]:
    """The loss of rows when one outer half of the range is cut, whichever has fewer, and the range that stays."""
    middle, end = (numbers[0] + numbers[-1]) / 2, len(numbers) - 1
    last = int(np.searchsorted(numbers, middle, side="right")) - 1
    first = int(np.searchsorted(numbers, middle, side="left"))
    return min((int(counts[last + 1 :].sum()), 0, last), (int(counts[:first].sum()), first, end))


def _quartered(numbers: Array, counts: Array, left: int) -> tuple[int, int, int]:
    """The loss when at most `left` rows on both sides are cut, and the range that stays; none if it stays wide."""
    below = np.cumsum(counts)
    firsts = np.arange(int(np.searchsorted(below, left, side="right")) + 1)
    under = np.append(0, below)[firsts]
    lasts = np.searchsorted(below, below[-1] - (left - under), side="left")
    widths = np.where(lasts > firsts, numbers[lasts] - numbers[np.minimum(firsts, len(numbers) - 1)], np.inf)
    best = int(widths.argmin())
    if widths[best] > (numbers[-1] - numbers[0]) / 4:
        return 0, 0, len(numbers) - 1
    first, last = int(firsts[best]), int(lasts[best])
    return int(counts[:first].sum() + counts[last + 1 :].sum()), first, last


def _step(width: float, whole: bool) -> float:
    """The step, 1, 2 or 5 times a power of ten, that cuts the width into BINS parts or fewer."""
    power = 10.0 ** math.floor(math.log10(width / BINS))
    step = next((m * power for m in (1, 2, 5, 10) if width <= m * power * BINS), 10 * power)
    return max(step, 1.0) if whole else step


def _times(count: int, step: float) -> float:
    """The product count · step, without the rounding error of a step below 1."""
    return count / round(1 / step) if step < 1 and round(1 / step) * step == 1 else count * step
