"""Counts of one column's raw cells on public grids, measured before there is a schema.

Every row is in exactly one cell of a histogram, and in which one depends on that row's own cell of
the table and on public things only. So replacing it takes one from a count and gives it to another:
Δ₁ = 2, Δ₂ = √2; of `levels` histograms together Δ₁ = 2 · levels, Δ₂ = √(2 · levels). Of b rows at
once, in one and the same histogram, up to b counts fall and b rise, or one by b: Δ₁ = 2b and Δ₂ =
√2 b per level. Counts are whole numbers.

Which texts are the same value, and which codes count as missing, are such public things: a schema
states them before anything is read, and a cell is replaced by what is stated of it alone.
"""

import math
from dataclasses import field
from typing import Any

import numpy as np

from ...core.errors import InputError
from ...core.types import Array, frozen, value_object
from ...schema.column_texts import KIND_COUNT, ColumnTexts
from .statistic import Statistic

# powers of two: numbers closer to 0, or farther from it, are counted in the last cell
MIN_POWER = -30
MAX_POWER = 48
MAX_LEAVES = 100_000
FANOUT = 8  # children of a node


def dyadic_edges() -> Array:
    """Return the edges of the public dyadic grid, increasing.

    −2^49 … −2^−30, 2^−30 … 2^49; 0 has the cell in the middle.
    """
    positive_edges = 2.0 ** np.arange(MIN_POWER, MAX_POWER + 2)
    return np.concatenate([-positive_edges[::-1], positive_edges])


class _Histogram(Statistic):
    """The base of statistics that count rows in disjoint cells.

    One histogram, or one for each of `levels`.
    """

    levels: Any = 1  # number of histograms

    @property
    def l1(self) -> float:
        """The ℓ1-sensitivity Δ₁ of the counts to one replaced row."""
        return 2.0 * self.levels

    @property
    def l2(self) -> float:
        """The ℓ2-sensitivity Δ₂ of the counts to one replaced row."""
        return math.sqrt(2 * self.levels)


@value_object
class HistogramSensitivity(_Histogram):
    """The sensitivity of a number of histograms.

    For a plan that does not know yet which ones they are.
    """

    levels: int = field()  # never the 1 of the base


@frozen
class KindCounts(_Histogram):
    """The numbers of values of each kind in a column (KINDS,).

    Missing values, whole numbers, other numbers, days in each order, and other texts. A code that
    the schema states to be missing counts as missing.
    """

    def counts(self, cells: ColumnTexts) -> Array:
        """Return the counts (KINDS,) of values of each kind."""
        return cells.kind_counts.reshape(KIND_COUNT)


@frozen
class Categories(_Histogram):
    """The count of each category: a histogram over all texts, most of them empty.

    Before it is counted, a cell becomes the value that the schema states its text to be the same
    as, or missing where the schema states a code for that. This looks at no other cell, so each row
    is still in one count. A replaced row takes one from a count and gives it to another: Δ₁ = 2,
    Δ₂ = √2. Which texts occur at all is not public, so that only `frequent`, with its threshold,
    releases them; it derives what that costs.
    """


class _BinnedNumbers(_Histogram):
    """Numbers counted in the cells of a public grid.

    Other and missing values share the last cell.
    """

    whole_only: bool

    def _leaf_counts(self, cells: ColumnTexts, edges: Array) -> Array:
        """Return the counts (edges − 1 + 1,) of numbers in the cells between `edges`.

        v is in cell i for edges[i] ≤ v < edges[i+1], else in the nearest. With `whole_only` a
        number that is not whole counts as none.
        """
        v = cells.numbers
        k = len(edges) - 1
        is_no_number = np.isnan(v) | ((v != np.floor(v)) if self.whole_only else False)
        leaf_index = np.clip(np.searchsorted(edges, v, side="right") - 1, 0, k - 1)
        leaf_index = np.append(np.where(is_no_number, k, leaf_index), k)
        return np.bincount(leaf_index, np.append(cells.counts, cells.empty_count), k + 1).astype(
            np.int64
        )


@frozen
class Magnitudes(_BinnedNumbers):
    """Counts of numbers by sign and power of two, then of everything else.

    The bins of `dyadic_edges` and one more. A code that the schema states to be missing is no
    number, whatever the other cells say.
    """

    whole_only: bool = False

    def counts(self, cells: ColumnTexts) -> Array:
        """Return the counts (2 · 79 + 1 + 1,), in order of the numbers."""
        return self._leaf_counts(cells, dyadic_edges())


@frozen
class TreeCounts(_BinnedNumbers):
    """Counts on all levels of a tree over the cells between public increasing `edges`.

    From the root's children down.

    The last leaf is for what is no number, as a code is that the schema states to be missing. A row
    is in one node of every level: Δ₁ = 2L, Δ₂ = √(2L)
    for L levels.
    """

    edges: Array
    whole_only: bool = False

    def check(self) -> None:
        """Raise InputError unless edges are finite and increase, and not too many."""
        e = self.edges
        if (
            e.ndim != 1
            or not 2 <= len(e) <= MAX_LEAVES
            or not np.isfinite(e).all()
            or not (np.diff(e) > 0).all()
        ):
            raise InputError(
                f"edges of shape {e.shape} must be 2..{MAX_LEAVES:,} increasing finite numbers"
            )

    @property
    def levels(self) -> int:
        """The number of levels L for which FANOUT^L leaves are enough."""
        return max(1, math.ceil(math.log(len(self.edges)) / math.log(FANOUT) - 1e-9))

    def counts(self, cells: ColumnTexts) -> Array:
        """Return the counts of all levels, one after the other, the leaves (FANOUT^L,) last."""
        leaves = np.zeros(FANOUT**self.levels, dtype=np.int64)
        leaf_counts = self._leaf_counts(cells, self.edges)
        leaves[: len(leaf_counts)] = leaf_counts
        return np.concatenate(
            [leaves.reshape(FANOUT**level, -1).sum(axis=1) for level in range(1, self.levels + 1)]
        )

    def fit_leaves(self, noisy: Array, n: int) -> Array:
        """Return the leaves (len(edges),) that explain noisy counts of all levels best.

        By least squares, for a known total n.

        Up: z of a node weighs its own count and the sum of its children's by their variances, 1 and
        Σ of theirs. Down: what a parent has more than its children's z is shared out equally.
        Source: Hay et al. 2010, Theorem 3.
        """
        level_starts = np.cumsum([FANOUT**level for level in range(1, self.levels)])
        levels = np.split(np.asarray(noisy, dtype=float), level_starts)
        z = levels[-1]
        variance = 1.0
        out = [levels[-1]]
        for node_counts in levels[-2::-1]:
            children_sums = z.reshape(-1, FANOUT).sum(axis=1)
            children_variance = FANOUT * variance
            z = (node_counts * children_variance + children_sums) / (1 + children_variance)
            variance = children_variance / (1 + children_variance)
            out.append(z)
        estimates = np.array([float(n)])
        for z in out[::-1]:
            children = z.reshape(-1, FANOUT)
            estimates = (children + ((estimates - children.sum(axis=1)) / FANOUT)[:, None]).ravel()
        return estimates[: len(self.edges)]

    def range_stddevs(self, first: Array, last: Array) -> Array:
        """Return the standard deviations (k,) of Σ fitted leaves first..last − 1.

        For noise of deviation 1 on all counts.

        A node's children are its own estimate in equal parts and z less the mean of their z, which
        is independent of all above. So a level adds v Σ_nodes (Σ w² − (Σ w)²/FANOUT), w the part of
        a child that is asked for and v the variance of its z. That is 0 but for nodes which hold an
        end of the range.
        """
        out = np.zeros(len(first))
        variance = 1.0
        for size in FANOUT ** np.arange(self.levels):
            # in children of the node
            f = first % (FANOUT * size) / size
            g = last % (FANOUT * size) / size
            k = np.floor(f)
            m = np.floor(g)
            left_squares = (1 - f + k) ** 2 + FANOUT - 1 - k
            right_squares = m + (g - m) ** 2
            different_nodes_term = (
                left_squares - (FANOUT - f) ** 2 / FANOUT + right_squares - g**2 / FANOUT
            )
            same_node_term = (
                np.where(k == m, (g - f) ** 2, left_squares + right_squares - FANOUT)
                - (g - f) ** 2 / FANOUT
            )
            out += variance * np.where(
                first // (FANOUT * size) == last // (FANOUT * size),
                same_node_term,
                different_nodes_term,
            )
            variance = FANOUT * variance / (1 + FANOUT * variance)
        return np.sqrt(out)


ColumnStatistic = KindCounts | Magnitudes | TreeCounts
