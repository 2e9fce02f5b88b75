"""Rules by which offices publish tables without noise: rounding, suppression, swapping, coarsening.

Every rule says what it publishes of the tables that are asked, and what a reader who knows the rule
can conclude about each true count. None of them promises anything whatever the table is.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from ...core.errors import InputError
from ...core.types import Array, Axes, Rng, Shape, value_object
from .asked_tables import AskedTables, stack_partitions, table_incidence
from .published_tables import PublishedTables, fit_evenly
from .secondary_suppression import hide_single_cells

MAX_BASE = 1000  # to which counts are rounded, or below which they are hidden
MIN_VALUES_TO_JOIN = 3  # values of a column from which on neighbours are joined


class DisclosureRule(Protocol):
    """A rule by which tables are published without noise."""

    @property
    def name(self) -> str:
        """The rule in a few words, such as "rounded to 5"."""
        ...

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:
        """Return what the rule publishes of the tables; `rng` draws what it leaves to chance."""
        ...


@value_object
class Rounding:
    """The rule that every count is rounded to a multiple of `base`; 1 publishes exact tables.

    Rounding to the nearest multiple takes halves up. Rounding at random goes to one of the two
    multiples around a count, with chances that keep the mean; a multiple stays.
    """

    base: int
    at_random: bool = False

    def __post_init__(self) -> None:
        _check_base("rounding", self.base, 1)

    @property
    def name(self) -> str:
        """The rule in a few words."""
        if self.base == 1:
            return "exact tables"
        return f"rounded to {self.base}" + (" at random" if self.at_random else "")

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:
        """Return the rounded tables."""
        counts = asked_tables.table_counts
        if self.at_random:
            below = counts // self.base * self.base
            is_up = rng.random(len(counts)) < (counts - below) / self.base
            rounded = below + self.base * is_up
            low = rounded - (self.base - 1)
            high = rounded + (self.base - 1)
        else:
            rounded, low, high = round_to_nearest(counts, self.base)
        nothing_lost = np.zeros(len(counts), dtype=bool)
        return PublishedTables.with_total(
            asked_tables.counts,
            asked_tables.incidence,
            (low, high),
            rounded / asked_tables.n,
            nothing_lost,
        )


@value_object
class Suppression:
    """The rule that counts from 1 to below `threshold` are hidden; zeros are shown.

    With `secondary` suppression further counts are hidden, so that no count follows from its line's
    sum (`hide_single_cells`). A reader takes hidden counts to share evenly what the table's other
    counts leave of the total.
    """

    threshold: int
    secondary: bool = False

    def __post_init__(self) -> None:
        _check_base("suppression", self.threshold, 2)

    @property
    def name(self) -> str:
        """The rule in a few words."""
        return f"below {self.threshold} hidden" + (", and partners" if self.secondary else "")

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:  # noqa: ARG002
        """Return the tables with their hidden counts."""
        counts = asked_tables.table_counts
        is_hidden = (counts > 0) & (counts < self.threshold)
        max_hidden = self.threshold - 1
        if self.secondary:
            for _, shape, table in asked_tables.tables.layout:
                hidden_cells = hide_single_cells(
                    counts[table].reshape(shape), is_hidden[table].reshape(shape)
                )
                is_hidden[table] = hidden_cells.ravel()
            # a reader does not know which of the hidden counts are small
            max_hidden = asked_tables.n
        ranges = np.where(is_hidden, 1, counts), np.where(is_hidden, max_hidden, counts)
        answers = _share_out_hidden(asked_tables, np.where(is_hidden, 0, counts), is_hidden)
        return PublishedTables.with_total(
            asked_tables.counts, asked_tables.incidence, ranges, answers, is_hidden
        )


@value_object
class SuppressionAndRounding:
    """The rule that counts up to `largest_hidden` become 0 and all others are rounded to `base`.

    With 7 and 5 it is what ehrQL's measures do unless told otherwise.
    """

    largest_hidden: int = 7
    base: int = 5

    def __post_init__(self) -> None:
        _check_base("suppression", self.largest_hidden, 1)
        _check_base("rounding", self.base, 1)

    @property
    def name(self) -> str:
        """The rule in a few words."""
        return f"up to {self.largest_hidden} hidden, rounded to {self.base}"

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:  # noqa: ARG002
        """Return the tables with small counts as 0 and all others rounded."""
        counts = asked_tables.table_counts
        is_small = counts <= self.largest_hidden
        rounded, low, high = round_to_nearest(counts, self.base)
        low = np.where(is_small, 0, np.maximum(low, self.largest_hidden + 1))
        high = np.where(is_small, self.largest_hidden, high)
        answers = np.where(is_small, 0, rounded) / asked_tables.n
        return PublishedTables.with_total(
            asked_tables.counts,
            asked_tables.incidence,
            (low, high),
            answers,
            is_small & (counts > 0),
        )


@value_object
class Swapping:
    """The rule that a `share` of the rows trade their value of one column in pairs.

    The two rows of a pair have different values there. Then exact tables are published. `column` is
    the first one unless it is named. A reader knows the share: each swapped row leaves one
    combination, so a combination with y rows after the swap had at least y − (swapped rows) before.
    """

    share: float
    column: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"swap={self.share:g} must be a share of the rows, above 0 to 1")

    @property
    def name(self) -> str:
        """The rule in a few words."""
        return f"{100 * self.share:g}% of rows swapped"

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:
        """Return the exact tables of the rows after the swap."""
        domain = asked_tables.domain
        axis = 0 if self.column is None else domain.axes([self.column])[0]
        pair_count = round(self.share * asked_tables.n / 2)
        cells = np.repeat(np.arange(domain.size), asked_tables.counts)
        codes = domain.codes_of_cells(rng.permutation(cells))
        first, second = _pairs_of_different(codes[:, axis], pair_count)
        swapped_codes = codes.copy()
        swapped_codes[first, axis] = codes[second, axis]
        swapped_codes[second, axis] = codes[first, axis]
        swapped = np.bincount(domain.cell_numbers(swapped_codes), minlength=domain.size)
        counts = asked_tables.incidence @ swapped
        nothing_lost = np.zeros(len(counts), dtype=bool)
        return PublishedTables.with_total(
            swapped,
            asked_tables.incidence,
            (counts, counts),
            counts / asked_tables.n,
            nothing_lost,
            swapped_rows=2 * pair_count,
        )


@value_object
class FewerTables:
    """The rule that tables of one column less are published, exactly, in place of those asked.

    A reader takes the most even table that agrees with them.
    """

    name = "one column less"

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:  # noqa: ARG002
        """Return the exact tables of one column less."""
        smaller: dict[Axes, None] = {}
        for axes in asked_tables.tables.axes:
            if len(axes) < 2:
                raise InputError("tables of one column have no smaller ones; ask for pairs")
            smaller |= dict.fromkeys(combinations(axes, len(axes) - 1))
        incidence = table_incidence(asked_tables.domain, tuple(smaller))
        counts = incidence @ asked_tables.counts
        allowed = (incidence.T @ (counts == 0)) == 0
        fitted = fit_evenly(incidence, counts, allowed, asked_tables.n)
        is_missing = [axes not in smaller for axes in asked_tables.tables.axes]
        return PublishedTables.with_total(
            asked_tables.counts,
            incidence,
            (counts, counts),
            (asked_tables.incidence @ fitted) / asked_tables.n,
            np.repeat(is_missing, asked_tables.tables.sizes),
        )


@value_object
class CoarserTables:
    """The rule that every two neighbouring values of a column are published as one, exactly.

    Columns of two values stay. A reader takes the values joined to be alike.
    """

    name = "values joined in pairs"

    def publish(self, asked_tables: AskedTables, rng: Rng) -> PublishedTables:  # noqa: ARG002
        """Return the exact tables of the joined values."""
        parts = _joined_cells([shape for _, shape, _ in asked_tables.tables.layout])
        incidence = csr_array(parts @ asked_tables.incidence)
        counts = incidence @ asked_tables.counts
        sizes = parts.sum(axis=1)
        answers = parts.T @ (counts / sizes) / asked_tables.n
        return PublishedTables.with_total(
            asked_tables.counts, incidence, (counts, counts), answers, parts.T @ sizes > 1
        )


def round_to_nearest(counts: Array, base: int) -> tuple[Array, Array, Array]:
    """Return counts rounded to multiples of `base`, halves up, and the range each may come from.

    A multiple r comes from whole numbers in r − base/2 ≤ count < r + base/2.
    """
    rounded = (2 * counts + base) // (2 * base) * base
    low = rounded - base // 2
    return rounded, np.maximum(low, 0), low + base - 1


def _check_base(name: str, value: int, least: int) -> None:
    """Raise InputError for a number that a rule cannot round to or hide below."""
    if not least <= value <= MAX_BASE:
        raise InputError(f"{name}={value} is outside {least}..{MAX_BASE}")


def _share_out_hidden(asked_tables: AskedTables, shown_counts: Array, is_hidden: Array) -> Array:
    """Return shares (m,) in which a table's hidden cells divide evenly what the others leave."""
    shares = shown_counts / asked_tables.n
    for _, _, table in asked_tables.tables.layout:
        hidden_count = np.count_nonzero(is_hidden[table])
        if hidden_count:
            remaining = max(1 - shares[table].sum(), 0.0)
            shares[table] += is_hidden[table] * (remaining / hidden_count)
    return shares


def _pairs_of_different(values: Array, max_pairs: int) -> tuple[Array, Array]:
    """Return the row numbers of pairs with different values, each row in one pair at most.

    Rows are in random order. As many of the commonest value as there are others can be paired.
    """
    order = np.argsort(values, kind="stable")
    half = len(order) // 2
    first = order[:half]
    second = order[len(order) - half :]
    differs = np.flatnonzero(values[first] != values[second])
    # every so many-th of the sorted pairs, so that all values take part
    pair_numbers = differs[
        np.linspace(0, len(differs) - 1, min(max_pairs, len(differs))).astype(int)
    ]
    return first[pair_numbers], second[pair_numbers]


def _joined_cells(shapes: Sequence[Shape]) -> csr_array:
    """Return which cells of tables of these shapes are joined, as 0 and 1, table after table.

    Every two neighbouring values of a column are joined, unless it has only two.
    """
    part_numbers = []
    part_count = 0
    for shape in shapes:
        joined = []
        for code, size in zip(np.indices(shape), shape, strict=True):
            joined.append(code.ravel() // 2 if size >= MIN_VALUES_TO_JOIN else code.ravel())
        joined_shape = tuple(int(code.max()) + 1 for code in joined)
        numbers = np.ravel_multi_index(tuple(joined), joined_shape)
        part_numbers.append(numbers + part_count)
        part_count += math.prod(joined_shape)
    return stack_partitions([np.concatenate(part_numbers)], [part_count])
