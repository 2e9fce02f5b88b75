"""Round bounds and bins for numbers that were read off the records: a private peek."""

import math

import numpy as np

from ...core.types import Array, Json
from ..schema_json import LARGEST

EACH, BINS = 20, 10  # whole numbers that get a cell each; about BINS bins otherwise
CROWDED = 0.6  # share of rows in one of equal bins beyond which bins are 1, 2, 5, 10, …
NEAR = 1e-12  # relative distance up to which two numbers count as one
STRAY = 200  # one row in this many may lie far outside the bounds


def round_bounds(numbers: Array, counts: Array, *, whole: bool) -> Json:
    """Round bounds and bins (no quantiles) for numbers (r,) that occur `counts` (r,) times.

    Bins are equally wide, or 1, 2, 5, 10, … where most numbers ≥ 0 would share one, as incomes do.
    A few rows (one in STRAY, one at least) that lie further from the others than these from each other are counted in
    the outermost bins: one outlier does not swallow a column.
    """
    low, high = _bulk(numbers, counts)
    clip_policy = {"out_of_range": "clip"}
    if whole and high - low < EACH:
        return {"low": int(low), "high": int(high)} | clip_policy
    is_single_value = high - low <= NEAR * max(abs(low), abs(high), NEAR)
    step = max(abs(low), 1.0) / 10 if is_single_value else _step(high - low, whole)
    first, last = math.floor(low / step), math.ceil(high / step)
    if first == last:
        first, last = (first - 1, last) if low > 0 else (first, last + 1)
    number_type = int if whole else float
    least, most = min(_times(first, step), low), max(_times(last, step), high)  # a product may be rounded past them
    bounds = number_type(max(least, -LARGEST)), number_type(min(most, LARGEST))
    bin_counts = np.histogram(np.clip(numbers, *bounds), last - first, bounds, weights=counts)[0]
    if (
        low >= 0
        and not is_single_value
        and bin_counts.max() > CROWDED * bin_counts.sum()
        and len(edges := _decades(high, number_type)) > 2
    ):
        return {"edges": edges} | clip_policy
    return {"low": bounds[0], "high": bounds[1], "bins": last - first} | clip_policy


def _decades(high: float, kind: type) -> list:
    """The edges 0 and the last BINS of 1, 2, 5, 10, 20, … up to the first that is at least `high`."""
    power = math.floor(math.log10(high))
    series = [_times(m, 10.0**p) for p in range(power - BINS // 3, power + 2) for m in (1, 2, 5)]
    up_to_high = series[: 1 + next(i for i, v in enumerate(series) if v >= high)]
    return [kind(0), *(kind(v) for v in up_to_high[-BINS:] if kind(v) == v > 0)]


def _bulk(numbers: Array, counts: Array) -> tuple[float, float]:
    """The least and the largest number within a width of the narrowest range that leaves out a few rows."""
    order = np.argsort(numbers)
    numbers, cumulative_counts = numbers[order], np.cumsum(counts[order])
    rows = int(cumulative_counts[-1])
    max_outliers = max(1, rows // STRAY)
    firsts = np.flatnonzero(np.append(0, cumulative_counts[:-1]) <= max_outliers)
    lasts = np.searchsorted(
        cumulative_counts, rows - max_outliers + np.append(0, cumulative_counts)[firsts], side="left"
    )
    best = int((numbers[lasts] - numbers[firsts]).argmin())
    first, last = numbers[firsts[best]], numbers[lasts[best]]
    width = last - first if 3 * max_outliers < rows else 0.0
    inliers = numbers[(numbers >= first - width) & (numbers <= last + width)] if width else numbers
    return float(inliers[0]), float(inliers[-1])


def _step(width: float, whole: bool) -> float:
    """The step, 1, 2 or 5 times a power of ten, that cuts the width into BINS parts or fewer."""
    power = 10.0 ** math.floor(math.log10(width / BINS))
    step = next((m * power for m in (1, 2, 5, 10) if width <= m * power * BINS), 10 * power)
    return max(step, 1.0) if whole else step


def _times(count: int, step: float) -> float:
    """The product count · step, without the rounding error of a step below 1."""
    return count / round(1 / step) if step < 1 and round(1 / step) * step == 1 else count * step
