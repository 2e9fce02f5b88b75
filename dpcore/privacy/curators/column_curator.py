"""The curator of raw cells while a schema is measured.

It counts the raw texts of a column in the cells of public grids, and finds frequent categories.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ...core.builtin_values import to_builtin
from ...core.errors import BudgetError, InputError
from ...core.types import Array, Rng, Texts, frozen
from ...schema.column_readings import READINGS
from ...schema.column_texts import ColumnTexts
from .. import mechanisms
from ..accounting.budget_meter import Plan
from ..accounting.events import Approximate, Gaussian, Pure
from ..measurement import noise_scale, noise_stddev
from ..statistics.column_statistics import ColumnStatistic, KindCounts, Magnitudes, TreeCounts
from .curator import BudgetedCurator

COUNT_STATISTICS: Final = (KindCounts, Magnitudes, TreeCounts)


@frozen
class FrequentCategories:
    """The categories whose noisy counts reached a threshold, and those counts.

    They are sorted by text, and each count is at least `threshold`. `missing` is the noisy count of
    missing cells, whatever it is.
    """

    texts: Texts
    counts: Array
    missing: float
    threshold: float
    stddev: float


@frozen
class NoisyCounts:
    """Noisy counts as released, and the standard deviation of the noise on each of them."""

    values: Array
    stddev: float


def threshold_parameters(spend: Gaussian | Approximate, group: int) -> tuple[float, int, float]:
    """Return the noise scale, m and threshold H of `ColumnCurator.frequent`.

    From public numbers alone.
    """
    if isinstance(spend, Approximate):
        scale = 2 * group / spend.epsilon
    else:
        scale = math.sqrt(2) * group / spend.mu
    low = int(scale // 4)
    tail = mechanisms.noise_tail_bound(scale, spend.failure / group, spend.has_laplace_noise)
    threshold = low + group + tail
    return scale, low, threshold


class ColumnCurator(BudgetedCurator):
    """The holder of a table's raw cells: it charges a ledger before it counts cells of one column.

    Args: `columns`, one `RawCells` each, of the same n rows; all else as `Holder`. Rows in which
    neighbours differ are replaced by others.
    """

    __slots__ = ("_columns",)

    def __init__(
        self, columns: Sequence[ColumnTexts], n: int, plan: Plan, rng: Rng, *, group: int = 1
    ) -> None:
        if any(cells.n != n for cells in columns):
            raise InputError(f"a column has not the {n} rows of the others")
        super().__init__(n, plan, rng, group)
        self._columns = list(columns)

    def set_reading(self, column: int, reading: str) -> None:
        """Set how a column's cells are read from now on: a public choice, which touches no cell."""
        index = self._column_index(column)
        reading = to_builtin(reading)
        if reading not in READINGS:
            raise InputError(f"read={str(reading)[:40]!r} is no reading")
        self._columns[index] = replace(self._columns[index], read=reading)

    def count(self, column: int, statistic: ColumnStatistic, spend: Gaussian | Pure) -> NoisyCounts:
        """Return noisy counts of one column on a public grid; every count is released.

        - Gaussian(μ): The noise is N(0, (bΔ₂/μ)²).
        - Pure(ε): The noise is Laplace(bΔ₁/ε).

        Raises BudgetError, before any row is read, when the plan does not allow the charge.
        """
        if type(statistic) not in COUNT_STATISTICS:
            raise BudgetError(
                f"{type(statistic).__name__} is not a statistic with a derived sensitivity"
            )
        statistic_copy = to_builtin(statistic, (type(statistic),))
        statistic_copy.check()
        checked_spend = self._validated_spend(spend, (Gaussian, Pure))
        scale_divisor = 1 / self._group
        index = self._column_index(column)
        self._ledger.charge("count", checked_spend)
        counts = statistic_copy.counts(self._columns[index])
        noisy = self._add_noise(
            counts,
            noise_scale(statistic_copy, checked_spend, scale_divisor),
            checked_spend,
            self._ledger.plan.exact,
        )
        return NoisyCounts(noisy, noise_stddev(statistic_copy, checked_spend, scale_divisor))

    def frequent(self, column: int, spend: Gaussian | Approximate) -> FrequentCategories:
        """Return the categories of one column whose noisy count reaches a threshold.

        They are sorted by their texts alone.

        `spend` has a failure δ₀ > 0. Only values with a count above m, a quarter of the noise's
        scale, get noise, N(0, (√2 b/μ)²) for Gaussian(μ) or Laplace(2b/ε₀) for Approximate(ε₀), and
        leave from H = m + b + t on, with P(noise ≥ t) ≤ δ₀/b. Let neighbours x and x' differ in b
        replaced rows. At most b values have noise with x and none with x', as each of them occurs
        there more often, and each has a count c ≤ m + b, so that it passes with probability P(noise
        ≥ H − c) ≤ δ₀/b: one of them with δ_x ≤ δ₀. Let P' be the law given that none does, Q' and
        δ_x' the same of x'; both are laws of the same values, whose counts differ by √2 b and 2b at
        most. Gaussian(μ): P = (1 − δ₀)P' + δ₀P'', Q alike, and P', Q' are μ-GDP, hence μ²/2-zCDP: a
        δ₀-approximate μ²/2-zCDP release. Approximate(ε₀): P' ≤ e^ε₀ Q', and P(E) − e^ε₀ Q(E) ≤ δ_x
        + (1 − δ_x) P'(E) − (1 − δ_x') P'(E) ≤ max(δ_x, δ_x') ≤ δ₀, so it is (ε₀, δ₀)-DP. The count
        of missing values is one more, which both tables have. It is released with noise as it is.
        Source: Vadhan 2017, Theorem 3.5; Bun, Steinke 2016, section 8.
        """
        checked_spend = self._validated_spend(spend, (Gaussian, Approximate))
        index = self._column_index(column)
        if not checked_spend.failure > 0:
            raise InputError(
                "delta=0: which values a column has cannot be measured, because a single one "
                "would show; list its "
                "values, or choose delta > 0"
            )
        scale, low, threshold = threshold_parameters(checked_spend, self._group)
        self._ledger.charge("frequent", checked_spend)
        cells = self._columns[index]
        texts = sorted(text for text, count in cells.category_counts.items() if count > low)
        counts = np.array(
            [*(cells.category_counts[text] for text in texts), cells.missing_count], dtype=np.int64
        )
        noisy = self._add_noise(counts, scale, checked_spend, self._ledger.plan.exact)
        passed = np.flatnonzero(noisy[:-1] >= threshold)
        stddev = scale * checked_spend.stddev_per_scale
        return FrequentCategories(
            tuple(texts[i] for i in passed), noisy[passed], float(noisy[-1]), threshold, stddev
        )

    def _column_index(self, column: int) -> int:
        """Return the checked index of a column."""
        index = to_builtin(column)
        if type(index) is not int or not 0 <= index < len(self._columns):
            raise InputError(f"column={str(index)[:40]} is outside 0..{len(self._columns) - 1}")
        return index
