"""Round bounds and bins for numbers: of rows, which is a private peek, or of noisy counts.

Both kinds of schema, looked up and measured with noise, get their edges here.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ...core.types import Array, Json, value_object
from ..schema_json import MAX_NUMBER

MAX_UNBINNED_WIDTH = 20  # whole numbers that get a cell each
MAX_UNBINNED_YEARS = 60  # years that get a cell each
YEAR_RANGE = (1500, 2200)  # whole numbers that are taken for years
TARGET_BIN_COUNT = 10  # bins, about, of wider ranges
MAX_EVEN_BIN_SHARE = 0.3  # share of rows in one of equal bins beyond which bins follow quantiles
MAX_BIN_SHARE = 0.6  # share of rows beyond which a bin shows little
CROWDED_BIN_NOTE = "most rows are in one bin"
MIN_ROWS_FOR_QUANTILES = 20  # fewer have no quantiles to speak of
MIN_QUANTILE_BINS = 5  # of a proposal
ROWS_PER_QUANTILE_BIN = 10  # fewer would make edges that say what single rows hold
CUT_TOLERANCE = 0.35  # of a bin's share of rows, by which a round edge may miss a quantile
EQUALITY_TOLERANCE = 1e-12  # relative distance up to which two numbers count as one
ROWS_PER_OUTLIER = 200  # one row in this many may lie far outside the bounds
RoundBetween = Callable[[float, float], float]  # the roundest number in (low, high]


@value_object
class BinGoal:
    """The number of bins, about, that a column of numbers should have.

    Whole numbers get a cell each where there are no more than `max_single_numbers` of them, or
    `max_single_years` that look like years. With `by_quantiles` bins follow the quantiles even
    where equally wide ones would show enough.
    """

    count: int = TARGET_BIN_COUNT
    max_single_numbers: int = MAX_UNBINNED_WIDTH
    max_single_years: int = MAX_UNBINNED_YEARS
    by_quantiles: bool = False


PROPOSED_BINS = BinGoal()


def round_bounds(numbers: Array, counts: Array, *, whole: bool) -> Json:
    """Return round bounds and bins for numbers (r,) that occur `counts` (r,) times.

    Bins are equally wide, or follow the quantiles where many rows would share one of those; their
    edges are then the roundest numbers near the quantiles. A few whole numbers, and years, get a
    cell each. A few rows (one in ROWS_PER_OUTLIER, one at least) that lie further from the others
    than these from each other are counted in the outermost bins: one outlier does not swallow a
    column.
    """
    ends = bounds_without_outliers(numbers, counts)
    return round_bins(numbers, counts, ends, whole=whole) | {"out_of_range": "clip"}


def round_bins(
    numbers: Array,
    counts: Array,
    ends: tuple[float, float],
    *,
    whole: bool,
    goal: BinGoal = PROPOSED_BINS,
) -> Json:
    """Return round bounds around the ends, with round bins between them: see `round_bounds`.

    Args:
        numbers: The numbers (r,); those beyond the ends count as the end.
        counts: How many rows have each (r,), 0 or more, with or without noise.
        ends: The least and the largest number that the bins hold.
        whole: Whether the numbers are whole, and the edges are to be.
        goal: How many bins there should be.

    """
    low, high = ends
    are_years = YEAR_RANGE[0] <= low and high <= YEAR_RANGE[1]
    max_unbinned_width = goal.max_single_years if are_years else goal.max_single_numbers
    if whole and high - low < max_unbinned_width:
        return {"low": int(low), "high": int(high)}
    bounds, bin_count = _round_bounds_and_bin_count(low, high, whole, goal.count)
    even_bins: Json = {"low": bounds[0], "high": bounds[1], "bins": bin_count}
    total = counts.sum()
    if _is_single_value(low, high) or not total > 0:
        return even_bins
    even_share = max_bin_share(numbers, counts, np.linspace(*bounds, bin_count + 1))
    if even_share <= _max_even_share(total) and not goal.by_quantiles:
        return even_bins
    target = goal.count
    if not goal.by_quantiles:
        target = min(target, max(int(total) // ROWS_PER_QUANTILE_BIN, MIN_QUANTILE_BINS))
    round_between = partial(roundest_number, whole=whole)
    clipped = np.clip(numbers, low, high)
    edges = _quantile_edges(clipped, counts, bounds, round_between, target)
    is_better = goal.by_quantiles or max_bin_share(numbers, counts, np.array(edges)) <= even_share
    if len(edges) <= 2 or not is_better:
        return even_bins
    number_type = int if whole else float
    return {"edges": [number_type(edge) for edge in edges]}


def better_edges(
    numbers: Array, counts: Array, even_edges: Array, round_between: RoundBetween
) -> list[float]:
    """Return edges that follow the quantiles where they show more than even ones; else none."""
    even_share = max_bin_share(numbers, counts, even_edges)
    if even_share <= _max_even_share(counts.sum()):
        return []
    bounds = float(even_edges[0]), float(even_edges[-1])
    edges = _quantile_edges(numbers, counts, bounds, round_between, TARGET_BIN_COUNT)
    is_better = len(edges) > 2 and max_bin_share(numbers, counts, np.array(edges)) <= even_share
    return edges if is_better else []


def _max_even_share(rows: float) -> float:
    """Return the share of so many rows in one of equal bins up to which these are kept."""
    return MAX_BIN_SHARE if rows < MIN_ROWS_FOR_QUANTILES else MAX_EVEN_BIN_SHARE


def max_bin_share(numbers: Array, counts: Array, edges: Array) -> float:
    """Return the largest share of rows in one bin between these edges.

    Numbers beyond the ends are in the outermost bins.
    """
    clipped = np.clip(numbers, edges[0], edges[-1])
    bins = np.minimum(np.searchsorted(edges, clipped, side="right") - 1, len(edges) - 2)
    return float(np.bincount(bins, counts).max() / counts.sum())


def _is_single_value(low: float, high: float) -> bool:
    """Return whether two numbers are the same but for rounding."""
    return high - low <= EQUALITY_TOLERANCE * max(abs(low), abs(high), EQUALITY_TOLERANCE)


def _round_bounds_and_bin_count(
    low: float, high: float, whole: bool, target: int
) -> tuple[tuple[float, float], int]:
    """Return round bounds around low..high, and the number of equal bins between them.

    They are `target` bins, about.
    """
    is_single_value = _is_single_value(low, high)
    step = max(abs(low), 1.0) / 10 if is_single_value else _round_step(high - low, whole, target)
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
    return bounds, last - first


def _quantile_edges(
    numbers: Array,
    counts: Array,
    bounds: tuple[float, float],
    round_between: RoundBetween,
    target: int,
) -> list[float]:
    """Return round edges between the bounds, with about as many rows in each of `target` bins.

    A value of many rows counts as much as one bin, so that the others are not swallowed with it,
    and a value of most rows has a bin of its own as far as round edges allow.
    """
    values, positions = np.unique(numbers, return_inverse=True)
    weights = np.bincount(positions, counts)
    total = weights.sum()
    shares = np.cumsum(np.minimum(weights, total / target))
    shares = shares / shares[-1]
    cuts = set()
    for i in range(1, target):
        first = np.searchsorted(shares, (i - CUT_TOLERANCE) / target)
        last = np.searchsorted(shares, (i + CUT_TOLERANCE) / target)
        cuts.add(_edge_between(values, int(min(first, last - 1)), int(last), round_between))
    for i in np.flatnonzero(weights > MAX_EVEN_BIN_SHARE * total).tolist():
        cuts |= {
            _edge_between(values, i - 1, i, round_between),
            _edge_between(values, i, i + 1, round_between),
        }
    low, high = bounds
    edges = [low, *sorted(cut for cut in cuts if low < cut < high), high]
    return _split_crowded_bins(edges, values, weights, round_between)


def _split_crowded_bins(
    edges: list[float], values: Array, weights: Array, round_between: RoundBetween
) -> list[float]:
    """Return the edges with one more in every bin of too many rows that has two values."""
    limit = MAX_BIN_SHARE * weights.sum()
    for _ in range(2 * TARGET_BIN_COUNT):
        bins = np.minimum(np.searchsorted(edges, values, side="right") - 1, len(edges) - 2)
        is_crowded = np.bincount(bins, weights) > limit
        members = [np.flatnonzero(bins == i) for i in np.flatnonzero(is_crowded)]
        members = [indices for indices in members if len(indices) > 1]
        if not members:
            break
        indices = members[0]
        cumulative = np.cumsum(weights[indices])
        distance = np.abs(cumulative[:-1] - cumulative[-1] / 2)
        last_below = int(indices[int(distance.argmin())])
        edge = _edge_between(values, last_below, last_below + 1, round_between)
        if edge in edges:
            break
        edges = sorted([*edges, edge])
    return edges


def _edge_between(values: Array, below: int, above: int, round_between: RoundBetween) -> float:
    """Return the roundest number above one of the values and at most another one.

    Positions beyond the ends stand for the end itself.
    """
    low = values[below] if below >= 0 else values[0] - 1
    high = values[min(above, len(values) - 1)]
    return round_between(float(low), float(high))


def roundest_number(low: float, high: float, *, whole: bool) -> float:
    """Return the number in (low, high] with the fewest digits: 0, else 1, 5 or 2 times a power.

    >>> roundest_number(1234.0, 1789.0, whole=True)
    1500.0
    """
    if not low < high:
        return high
    if low < 0 <= high:
        return 0.0
    power = math.ceil(math.log10(max(abs(low), abs(high)))) + 1
    smallest_power = 0 if whole else power - 16
    for p in range(power, smallest_power - 1, -1):
        for factor in (1.0, 0.5, 0.2):
            step = factor * 10.0**p
            if step < 1 and whole:
                continue
            count = round((low + high) / 2 / step)
            for candidate in (count, math.floor(high / step)):
                number = float(f"{candidate * step:.14g}")
                if low < number <= high:
                    return number
    return high


def bounds_without_outliers(numbers: Array, counts: Array) -> tuple[float, float]:
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


def _round_step(width: float, whole: bool, target: int) -> float:
    """Return the step, 1, 2 or 5 times a power of ten, that cuts `width` into few bins.

    They are `target` or fewer.
    """
    power = 10.0 ** math.floor(math.log10(width / target))
    step = next((m * power for m in (1, 2, 5, 10) if width <= m * power * target), 10 * power)
    return max(step, 1.0) if whole else step


def _multiply_step(count: int, step: float) -> float:
    """Return the product count · step, without the rounding error of a step below 1."""
    return count / round(1 / step) if step < 1 and round(1 / step) * step == 1 else count * step
