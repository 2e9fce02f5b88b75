"""A monotone curve through the counts of a column's bins, along which synthetic numbers lie.

A release tells how many rows a bin holds, not where in it they are. Evenly drawn numbers jump at
every edge, where people's ages and incomes do not. A curve through the cumulative counts follows
the neighbouring bins; a spike (40 hours a week) follows no curve. Which one serves a column is
decided by the counts of its synthetic rows: every second edge is left out, and what says better how
many rows lie below it is taken. Only released rows are used, which costs no privacy.

>>> curve = fit_bin_curve(np.arange(0.0, 60, 10), np.array([10, 100, 400, 100, 10]))
>>> draws = curve.draw(np.zeros(1000, dtype=int), np.random.default_rng(0))
>>> bool(draws.mean() > 6)  # towards the fuller neighbour; even draws have the mean 5
True
"""

import numpy as np
from scipy.interpolate import PchipInterpolator

from ..core.types import Array, Rng, frozen

POINTS_PER_BIN = 32  # of the straight lines that stand in for the curve
MIN_BINS = 4  # where every second edge is left out, a curve needs as many to differ from a line


@frozen
class BinCurve:
    """A distribution of numbers over bins: its cumulative counts at rising points.

    `edges` (b + 1,) are the bins' edges, `points` (p,) contain them, and `cumulative` (p,) are the
    numbers of rows below the points.
    """

    edges: Array
    points: Array
    cumulative: Array

    def draw(self, bins: Array, rng: Rng) -> Array:
        """Draw a number (n,) in each of the bins (n,); it may be the bin's upper edge."""
        low = self.edges[bins]
        high = self.edges[bins + 1]
        rows_below_low = np.interp(low, self.points, self.cumulative)
        rows_below_high = np.interp(high, self.points, self.cumulative)
        rows_below = rng.uniform(rows_below_low, rows_below_high)
        return np.clip(np.interp(rows_below, self.cumulative, self.points), low, high)


def fit_bin_curve(edges: Array, counts: Array) -> BinCurve | None:
    """Return the curve through a column's counts; None where even draws say as much.

    Args:
        edges: The edges (b + 1,) of the bins, rising.
        counts: The number of rows (b,) in each bin.

    """
    edges = np.asarray(edges, dtype=float)
    cumulative = np.append(0.0, np.cumsum(counts))
    if len(counts) < MIN_BINS or not _curve_beats_lines(edges, cumulative):
        return None
    steps = np.arange(POINTS_PER_BIN) / POINTS_PER_BIN
    points_in_bins = edges[:-1, None] + np.diff(edges)[:, None] * steps
    points = np.append(points_in_bins.ravel(), edges[-1])
    return BinCurve(edges, points, PchipInterpolator(edges, cumulative)(points))


def _curve_beats_lines(edges: Array, cumulative: Array) -> bool:
    """Return whether a curve through every second edge predicts the others better than lines."""
    curve_error = 0.0
    line_error = 0.0
    for first in (1, 2):
        is_left_out = np.zeros(len(edges), dtype=bool)
        is_left_out[first:-1:2] = True
        kept_edges = edges[~is_left_out]
        kept_counts = cumulative[~is_left_out]
        asked_edges = edges[is_left_out]
        asked_counts = cumulative[is_left_out]
        curve_counts = PchipInterpolator(kept_edges, kept_counts)(asked_edges)
        line_counts = np.interp(asked_edges, kept_edges, kept_counts)
        curve_error += np.abs(curve_counts - asked_counts).sum()
        line_error += np.abs(line_counts - asked_counts).sum()
    return bool(curve_error < line_error)
