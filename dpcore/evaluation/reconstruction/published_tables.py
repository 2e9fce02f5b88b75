"""Tables as they were published, and what a reader who knows the rule can say of every count."""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, vstack

from ...core.types import Array, frozen

MAX_FIT_PASSES = 200
FIT_TOLERANCE = 1e-4  # rows by which a fitted table may miss a published count
SMALLEST_WEIGHT = 1e-12


@frozen
class PublishedTables:
    """Published counts of n rows, with the range that each true count must lie in.

    Args:
        n: The number of rows, which is public.
        incidence: Which combinations (k) each published count (p) adds up, as 0 and 1. The last
            count is n, of all combinations.
        low: The least true count (p,) that a published one allows, by the rule.
        high: The largest one (p,).
        answers: The share of rows (m,) that a reader takes for each cell asked.
        is_lost: Whether a cell asked (m,) has no published number of its own.
        behind: The counts (k,) that were published: those of the rows, after a swap if there was
            one. No reader knows them; an attack asks them only where it need not look.
        swapped_rows: How many rows may be in a group that is not theirs. The ranges hold for the
            table after the swap.

    """

    n: int
    incidence: csr_array
    low: Array
    high: Array
    answers: Array
    is_lost: Array
    behind: Array
    swapped_rows: int = 0

    @classmethod
    def with_total(
        cls,
        behind: Array,
        incidence: csr_array,
        ranges: tuple[Array, Array],
        answers: Array,
        is_lost: Array,
        swapped_rows: int = 0,
    ) -> "PublishedTables":
        """Return published counts with their ranges, and with the number of rows as a further one.

        No range reaches below 0 or above the number of rows.
        """
        n = int(behind.sum())
        total = csr_array(np.ones((1, len(behind)), dtype=np.int64))
        low, high = ranges
        return cls(
            n=n,
            incidence=csr_array(vstack([incidence, total])),
            low=np.append(np.maximum(low, 0), n),
            high=np.append(np.minimum(high, n), n),
            answers=answers,
            is_lost=is_lost,
            behind=behind,
            swapped_rows=swapped_rows,
        )

    @cached_property
    def max_counts(self) -> Array:
        """The largest number of rows that each combination (k,) can have, by every count alone."""
        entries = self.incidence.tocoo()
        max_counts = np.full(len(self.behind), self.n, dtype=np.int64)
        np.minimum.at(max_counts, entries.col, self.high[entries.row])
        return max_counts

    def is_consistent(self, counts: Array) -> bool:
        """Return whether a table of whole counts (k,) could be behind what was published."""
        sums = self.incidence @ counts
        in_ranges = np.all((self.low <= sums) & (sums <= self.high))
        return bool(in_ranges and np.all(counts >= 0))


def fit_evenly(incidence: csr_array, targets: Array, allowed: Array, n: int) -> Array:
    """Return the most even table (k,) of n rows that has given sums, as nearly as it can.

    It is found by iterative proportional fitting: every sum is scaled in turn, all of one pass at
    once with half the step. Targets that contradict each other are met halfway.

    Args:
        incidence: Which combinations (k) each sum (p) adds up.
        targets: What the sums (p,) are to be.
        allowed: Whether a combination (k,) may have rows.
        n: The number of rows.

    """
    weights = allowed * (n / max(np.count_nonzero(allowed), 1))
    tables_per_cell = max(incidence.sum() / len(allowed), 1)
    for _ in range(MAX_FIT_PASSES):
        sums = incidence @ weights
        if np.abs(sums - targets).max() < FIT_TOLERANCE:
            break
        ratios = np.log(np.maximum(targets, SMALLEST_WEIGHT) / np.maximum(sums, SMALLEST_WEIGHT))
        weights = weights * np.exp((incidence.T @ ratios) / tables_per_cell)
        total = weights.sum()
        if total > 0:
            weights = weights * (n / total)
    return weights
