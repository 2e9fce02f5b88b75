"""Round bounds and bins for numbers that were read off the rows: a private peek."""

import math

import numpy as np

from ...core.types import Array, Json
from ..schema_json import MAX_NUMBER

MAX_UNBINNED_WIDTH = 20  # whole numbers that get a cell each
TARGET_BIN_COUNT = 10  # bins, about, of wider ranges
MAX_BIN_SHARE = 0.6  # share of rows in one of equal bins beyond which bins are 1, 2, 5, 10, …
EQUALITY_TOLERANCE = 1e-12  # relative distance up to which two numbers count as one
ROWS_PER_OUTLIER = 200  # one row in this many may lie far outside the bounds


def round_bounds(numbers: Array, counts: Array, *, whole: bool) -> Json:
    """Round bounds and bins (no quantiles) for numbers (r,) that occur `counts` (r,) times.

    Bins are equally wide, or 1, 2, 5, 10, … where most numbers ≥ 0 would share one, as incomes do.
    A few rows (one in STRAY, one at least) that lie further from the others than these from each
    other are counted in the outermost bins: one outlier does not swallow a column.
    """
    low, high = _bounds_without_outliers(numbers, counts)
    clip_policy = {"out_of_range": "clip"}
    if whole and high - low < MAX_UNBINNED_WIDTH:
        return {"low": int(low), "high": int(high)} | clip_policy
    is_single_value = high - low <= EQUALITY_TOLERANCE * max(
        abs(low), abs(high), EQUALITY_TOLERANCE
    )
    step = max(abs(low), 1.0) / 10 if is_single_value else _round_step(high - low, whole)
    first = math.floor(low / step)
    last = math.ceil(high / step)
    if first == last and low > 0:
        first -= 1
    elif first == last:
        last += 1
    number_type = int if whole else float
    # a product may be rounded past the numbers
    least = min(_multiply_step(first, step), low)
    most = max(_multiply_step(last, step), high)
    bounds = number_type(max(least, -MAX_NUMBER)), number_type(min(most, MAX_NUMBER))
    bin_counts = np.histogram(np.clip(numbers, *bounds), last - first, bounds, weights=counts)[0]
    if low >= 0 and not is_single_value and bin_counts.max() > MAX_BIN_SHARE * bin_counts.sum():
        edges = _decade_edges(high, number_type)
        if len(edges) > 2:
            return {"edges": edges} | clip_policy
    return {"low": bounds[0], "high": bounds[1], "bins": last - first} | clip_policy


def _decade_edges(high: float, number_type: type) -> list:
    """Return bin edges 0, 1, 2, 5, 10, 20, … up to the first that is at least `high`.

    These are 0 and the last TARGET_BIN_COUNT of the others.
    """
    power = math.floor(math.log10(high))
    series = [
        _multiply_step(m, 10.0**p)
        for p in range(power - TARGET_BIN_COUNT // 3, power + 2)
        for m in (1, 2, 5)
    ]
    up_to_high = series[: 1 + next(i for i, v in enumerate(series) if v >= high)]
    return [
        number_type(0),
        *(number_type(v) for v in up_to_high[-TARGET_BIN_COUNT:] if number_type(v) == v > 0),
    ]


def _bounds_without_outliers(numbers: Array, counts: Array) -> tuple[float, float]:
    """Return the least and the largest number that are not outliers.

    They lie within a width of the narrowest range that leaves out a few rows.
    """
    order = np.argsort(numbers)
    numbers = numbers[order]
    cumulative_counts = np.cumsum(counts[order])
    rows = int(cumulative_counts[-1])
    max_outliers = max(1, rows // ROWS_PER_OUTLIER)
    firsts = np.flatnonzero(np.append(0, cumulative_counts[:-1]) <= max_outliers)
    lasts = np.searchsorted(
        cumulative_counts,
        rows - max_outliers + np.append(0, cumulative_counts)[firsts],
        side="left",
    )
    best = int((numbers[lasts] - numbers[firsts]).argmin())
    first = numbers[firsts[best]]
    last = numbers[lasts[best]]
    width = last - first if 3 * max_outliers < rows else 0.0
    inliers = numbers[(numbers >= first - width) & (numbers <= last + width)] if width else numbers
    return float(inliers[0]), float(inliers[-1])


def _round_step(width: float, whole: bool) -> float:
    """Return the step, 1, 2 or 5 times a power of ten, that cuts `width` into few bins.

    They are TARGET_BIN_COUNT or fewer.
    """
    power = 10.0 ** math.floor(math.log10(width / TARGET_BIN_COUNT))
    step = next(
        (m * power for m in (1, 2, 5, 10) if width <= m * power * TARGET_BIN_COUNT), 10 * power
    )
    return max(step, 1.0) if whole else step


def _multiply_step(count: int, step: float) -> float:
    """Return the product count · step, without the rounding error of a step below 1."""
    return count / round(1 / step) if step < 1 and round(1 / step) * step == 1 else count * step
