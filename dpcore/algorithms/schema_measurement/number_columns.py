"""From noisy counts of a column's numbers to a grid, its ends, and bins.

Sees noisy counts, never rows.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import ndtri

from ...core.types import Array, frozen
from ...privacy.curators.column_curator import NoisyCounts
from ...privacy.statistics.column_statistics import TreeCounts, dyadic_edges

# cells of the grid on which ends and bins are found; with the powers beyond it they fit into 8³
MAX_GRID_CELLS = 340
MAX_POWER_HALVINGS = 12  # a power of two is cut into at most 2^12 parts
FIRST_FULL_CHANCE = 0.004  # that noise makes any power of two look full where all are empty
# that noise makes empty powers of two look full beside one that holds numbers, see `_full_powers`
NEIGHBOUR_FULL_CHANCE = 0.01
# the same where more than MAX_LOST_ROWS_SHARE of all rows are surely in none of the full ones
MISSED_FULL_CHANCE = 0.3
GROUP_WIDTHS = (1, 2, 4, 8)  # neighbouring powers of two that are tested as one
# powers of two from 0 up that are looked at closely where whole numbers seem to be zeros only
GUESSED_POWERS = 4
# standard deviations at which there is more beyond an end than noise: near the ends that are sure,
# elsewhere in the grid, and outside it
NEAR_END_DEVIATIONS = 2.5
END_DEVIATIONS = 4.0
FAR_END_DEVIATIONS = 6.0
# share of all rows that may lie beyond an end within the grid, where noise allows it
MAX_LOST_ROWS_SHARE = 0.05
# whole numbers that are taken for years, where this share of a column's rows has them
LIKELY_YEARS = (1900, 2100)
MIN_LIKELY_YEARS_SHARE = 0.9
# standard deviations that noise, Gaussian or Laplace, exceeds on one side 2.5 times in 100
ONE_SIDED_DEVIATIONS = 2.2
# standard deviations at which a noisy count is taken for more than nothing
CERTAIN_DEVIATIONS = 3.0
# margin added on both sides of the first found range before the closer look, as a share of it
RANGE_MARGIN_SHARE = 0.25


@frozen
class FittedTreeCounts:
    """Fitted counts of a tree's cells that hold numbers, from noisy counts on all its levels."""

    tree: TreeCounts
    noisy_counts: NoisyCounts
    n: int
    grid_edges: Array  # the edges of the cells without the powers of two beyond them

    @classmethod
    def from_measurement(
        cls, edges: Array, whole_numbers: bool, count: Callable[[TreeCounts], NoisyCounts], n: int
    ) -> "FittedTreeCounts":
        """Return the fitted counts of a grid's cells, and of the powers of two beyond the grid."""
        power_edges = dyadic_edges()
        all_edges = np.concatenate(
            [power_edges[power_edges < edges[0]], edges, power_edges[power_edges > edges[-1]]]
        )
        tree = TreeCounts(
            np.unique(np.ceil(all_edges) + 0.0) if whole_numbers else all_edges, whole_numbers
        )
        return cls(tree, count(tree), n, edges)

    @property
    def edges(self) -> Array:
        """The edges of the cells."""
        return self.tree.edges

    @cached_property
    def counts(self) -> Array:
        """The count of each cell (len(edges) − 1,)."""
        return self.tree.fit_leaves(self.noisy_counts.values, self.n)[:-1]

    @cached_property
    def cumulative(self) -> Array:
        """The number of rows below each edge (len(edges),), noise included."""
        return np.append(0.0, np.cumsum(self.counts))

    def rising_counts(self, first: int, last: int) -> Array:
        """Return the counts (last − first,) of cells between two edges, none below 0.

        The rows below an edge are taken halfway between rising curves above and below the noisy
        ones. What is beyond the two edges belongs to the cell there.
        """
        upper_curve = np.maximum.accumulate(self.cumulative)
        lower_curve = np.minimum.accumulate(self.cumulative[::-1])[::-1]
        rows_below = np.maximum((upper_curve + lower_curve) / 2, 0.0)
        all_rows = rows_below[-1]
        rows_below[: first + 1] = 0.0
        rows_below[last:] = all_rows
        return np.diff(rows_below[first : last + 1])

    def find_ends(self) -> tuple[int, int, float] | None:
        """Return the edges between which most rows are, and how many rows may lie outside.

        None if all cells may be empty.

        Walking inward, an end is the last edge before as many rows are passed as noise would hardly
        make of none: fewer near the ends that are sure, and within the grid no more than
        MAX_LOST_ROWS_SHARE of all or one deviation, as a range that is a little too wide costs less
        than one that cuts rows off. No more rows than said lie beyond the two ends, but for 5 of
        100 columns; all of an outermost cell may, as the numbers beyond all cells are counted
        there.
        """
        rows = self._cumulative_rows
        cells = np.arange(len(self.counts))
        starts_inside = self.edges[:-1] >= self.grid_edges[0]
        is_inside = starts_inside & (self.edges[1:] <= self.grid_edges[-1])
        min_deviations = np.where(is_inside, END_DEVIATIONS, FAR_END_DEVIATIONS)
        max_lost = np.where(is_inside, MAX_LOST_ROWS_SHARE * self.n, np.inf)
        if rows.walk_inward(min_deviations, np.inf) is None:
            return None
        first_ends = rows.walk_inward(min_deviations, max_lost)
        if first_ends is None:
            return None
        margin = _margin_cells(*first_ends)
        is_near = is_inside & (cells >= first_ends[0] - margin) & (cells <= first_ends[1] + margin)
        near_deviations = np.where(is_near, NEAR_END_DEVIATIONS, min_deviations)
        low, high = rows.walk_inward(near_deviations, max_lost) or first_ends
        return low, high + 1, self.max_rows_beyond(low, high + 1)

    @cached_property
    def _cumulative_rows(self) -> "_CumulativeRows":
        """The rows below every edge, with the noise on the rows beyond each cell."""
        cells = np.arange(len(self.counts))
        stops = np.full(len(cells), len(cells))
        return _CumulativeRows(
            self.cumulative,
            self.noisy_counts.stddev * self.tree.range_stddevs(0 * cells, cells + 1),
            self.noisy_counts.stddev * self.tree.range_stddevs(cells, stops),
        )

    def max_rows_beyond(self, first: int, last: int) -> float:
        """Return how many rows may lie beyond two edges, but for 5 of 100 columns."""
        return float(min(self._cumulative_rows.max_outside(first, last - 1), self.n))

    def ends_of_years(self, first: int, last: int) -> tuple[int, int]:
        """Return two edges without unlikely years between them, where nearly all are likely ones.

        Noise makes a few rows of any year, and a bin from the year 1000 on shows nothing.
        """
        low, high = LIKELY_YEARS
        first_year = max(first, int(np.searchsorted(self.edges, low, side="right")) - 1)
        last_year = min(last, int(np.searchsorted(self.edges, high)))
        if not first_year < last_year:
            return first, last
        counts = self.rising_counts(first, last)
        likely_rows = counts[first_year - first : last_year - first].sum()
        are_years = likely_rows >= MIN_LIKELY_YEARS_SHARE * counts.sum()
        return (first_year, last_year) if are_years else (first, last)

    def finer_edges(self) -> Array | None:
        """Return the edges of smaller cells around the numbers, with room on both sides.

        None where no smaller ones exist.
        """
        ends = self.find_ends()
        if ends is None:
            return None
        margin = _margin_cells(*ends[:2])
        low, high = np.searchsorted(self.edges, self.grid_edges[[0, -1]])
        first = max(ends[0] - margin, min(ends[0], low))
        last = min(ends[1] + margin, max(ends[1], high))
        parts = MAX_GRID_CELLS // (last - first)
        if parts < 2:
            return None
        steps = np.linspace(
            self.edges[first:last], self.edges[first + 1 : last + 1], parts, endpoint=False
        ).T.ravel()
        edges = np.append(steps, self.edges[last])
        edges = np.unique(np.ceil(edges) if self.tree.whole_only else edges)
        return edges if len(edges) > last - first + 1 else None

    def combined_with(self, other: NoisyCounts) -> "FittedTreeCounts":
        """Return the counts combined with a second measurement of the same tree.

        Averaged by precision.
        """
        a = self.noisy_counts.stddev**-2
        b = other.stddev**-2
        values = (a * self.noisy_counts.values + b * other.values) / (a + b)
        return FittedTreeCounts(
            self.tree, NoisyCounts(values, (a + b) ** -0.5), self.n, self.grid_edges
        )


@frozen
class _CumulativeRows:
    """The rows below every edge (edges,), and the noise of the rows beyond each cell (cells,)."""

    cumulative: Array
    noise_below: Array
    noise_above: Array

    def walk_inward(self, min_deviations: Array, max_lost: Array | float) -> list[int] | None:
        """Return the first cells from both ends that are not passed; None where all cells are."""
        limits_below = np.clip(max_lost, self.noise_below, min_deviations * self.noise_below)
        limits_above = np.clip(max_lost, self.noise_above, min_deviations * self.noise_above)
        rows_above = self.cumulative[-1] - self.cumulative[:-1]
        first = np.flatnonzero(self.cumulative[1:] >= limits_below)
        last = np.flatnonzero(rows_above >= limits_above)
        return sorted((int(first[0]), int(last[-1]))) if len(first) and len(last) else None

    def max_outside(self, low: int, high: int) -> float:
        """Return how many rows may lie outside the cells low..high, noise included."""
        # numbers too large for any cell are in the outermost
        lower_edge = max(low, 1)
        upper_edge = min(high + 1, len(self.noise_above) - 1)
        rows_below_end = self.cumulative[upper_edge]
        outside = max(self.cumulative[lower_edge] + self.cumulative[-1] - rows_below_end, 0.0)
        noise = math.hypot(self.noise_below[lower_edge - 1], self.noise_above[upper_edge])
        return outside + ONE_SIDED_DEVIATIONS * noise


def _margin_cells(first: int, last: int) -> int:
    """Return the number of cells on both sides of a range that the closer look includes."""
    return 1 + math.ceil(RANGE_MARGIN_SHARE * (last - first))


def number_grid(
    noisy_counts: NoisyCounts, n: int, whole_numbers: bool, is_gaussian: bool
) -> Array | None:
    """Return public edges of cells over the powers of two that hold numbers.

    From the lowest to the highest one, each cut into parts. What is known of the rows here is what
    the noisy counts say. None where no power seems to hold any.
    """
    power_edges = dyadic_edges()
    counts = noisy_counts.values[:-1] / noisy_counts.stddev
    if whole_numbers:  # most powers below 1 hold no whole number
        counts = counts[np.diff(np.ceil(power_edges)) > 0]
        power_edges = np.unique(np.ceil(power_edges) + 0.0)
    middle = len(counts) // 2
    full_powers = _full_powers(
        counts, (n - noisy_counts.values[-1]) / noisy_counts.stddev, is_gaussian
    )
    if not len(full_powers):
        return None
    # few columns are constant, and the counts to come will tell
    if whole_numbers and full_powers[0] == full_powers[-1] == middle:
        full_powers = middle + np.arange(GUESSED_POWERS)
    depth = min(MAX_POWER_HALVINGS, int(math.log2(MAX_GRID_CELLS / (len(full_powers) + 1))))
    edges: list[float] = []
    for i in range(full_powers[0], full_powers[-1] + 1):
        parts = 2**depth if i in full_powers and i != middle else 1
        edges += np.linspace(power_edges[i], power_edges[i + 1], parts + 1).tolist()
    if full_powers[0] == middle:
        edges[0] = 0.0
    if full_powers[-1] == middle and not whole_numbers:
        edges[-1] = 0.0
    out = np.unique(np.ceil(edges) if whole_numbers else edges)
    if len(out) < 2:  # nothing but zeros
        out = np.array([0.0, 1.0])
    step = math.ceil(len(out) / MAX_GRID_CELLS)
    return np.unique(np.append(out[::step], out[-1]))


def _full_powers(counts: Array, total: float, is_gaussian: bool) -> Array:
    """Return the indices of powers of two that hold numbers.

    From counts in standard deviations of their noise.

    The fullest, and others by stricter tests the farther off. Where no single one passes,
    neighbours on one side of 0 are tested together. With w widths to test, empty ones of which the
    nearest is k steps from a full one are taken with a chance of NEIGHBOUR_FULL_CHANCE^k / w; or,
    where that is more, of NEIGHBOUR_FULL_CHANCE² / w over all places if they widen the range, and
    of NEIGHBOUR_FULL_CHANCE / w if they are no farther from 0 than the full ones, as they do little
    harm; with MISSED_FULL_CHANCE / w where the `total` says that many rows must be elsewhere. A
    group may reach farther than its nearest: beside one full power, Gaussian noise makes empty ones
    look full in 1.9 of 100 draws, and 8 or more steps off in .6 of 100; Laplace noise in 1.1 and
    .1. None where even the fullest may be empty.
    """
    positions = np.arange(len(counts))
    middle = len(counts) // 2
    distance_from_zero = np.abs(positions - middle)
    is_full = np.zeros(len(counts), dtype=bool)

    def passing_group(width: int) -> Array:
        """Return the neighbours that pass their test by most; none where none pass."""
        groups = sliding_window_view(positions, width)
        if is_full.any():
            steps = np.abs(groups[:, :, None] - positions[is_full]).min(axis=(1, 2))
            is_farther = distance_from_zero[groups].max(axis=1) > distance_from_zero[is_full].max()
            noise = ONE_SIDED_DEVIATIONS * math.sqrt(1 + is_full.sum())
            max_lost = MAX_LOST_ROWS_SHARE * total + noise
            rows_elsewhere = total - counts[is_full].sum() >= max_lost
            min_chance = (
                MISSED_FULL_CHANCE
                if rows_elsewhere
                else np.where(is_farther, NEIGHBOUR_FULL_CHANCE**2, NEIGHBOUR_FULL_CHANCE)
            )
            chance = np.maximum(NEIGHBOUR_FULL_CHANCE**steps, min_chance / len(counts)) / len(
                GROUP_WIDTHS
            )
        else:
            chance = np.full(len(groups), FIRST_FULL_CHANCE / (len(GROUP_WIDTHS) * len(counts)))
        excess = counts[groups].sum(axis=1) / math.sqrt(width) - _deviations_at_chance(
            chance, is_gaussian
        )
        excess[is_full[groups].any(axis=1) | ((groups == middle).any(axis=1) & (width > 1))] = -1
        return groups[excess.argmax()] if excess.max() >= 0 else positions[:0]

    while True:
        for width in GROUP_WIDTHS:
            group = passing_group(width)
            if len(group):
                is_full[group] = True
                break
        else:
            return positions[is_full]


def min_fullest_count(stddev: float, is_gaussian: bool) -> float:
    """Return the noisy count that the fullest power of two must reach.

    For noise of that standard deviation.
    """
    return stddev * float(
        _deviations_at_chance(
            FIRST_FULL_CHANCE / (len(GROUP_WIDTHS) * (len(dyadic_edges()) - 1)), is_gaussian
        )
    )


def _deviations_at_chance(chance: Any, is_gaussian: bool) -> Any:
    """Return the number of standard deviations that noise exceeds with the given chance."""
    return -ndtri(chance) if is_gaussian else -np.log(2 * chance) / math.sqrt(2)
