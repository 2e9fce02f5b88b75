"""Intervals for the rows of a group, column by column, from noisy tables alone."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.types import Array, frozen
from ...models.releases import UnbiasedAnswers
from ...queries.marginals import nonempty_subsets
from ...schema.domain import sum_to_axes
from .confidence_levels import check_level, two_sided_quantile

# By column number, the codes whose rows belong to the group; no column means all rows.
Group = Mapping[int, Sequence[int]]


@frozen
class ShareBounds:
    """Confidence bounds of shares of the table, and the standard error of each.

    All are NaN where nothing measured bounds the shares.
    """

    low: Array
    high: Array
    standard_error: float


def group_intervals(
    unbiased_answers: UnbiasedAnswers, group: Group, axis: int | None, *, level: float = 0.95
) -> ShareBounds:
    """Return the bounds of the share of rows in a group, for every value of one column.

    A share is Σ over the group's cells of the table on its columns and `axis`. Of unit noise on
    the part of the columns S, the sum has the variance Π_{a ∈ S} ‖g_a − ḡ_a‖² Π_{a ∉ S} ḡ_a²,
    where g_a marks the group's values of column a, or the one value of `axis`.

    Args:
        unbiased_answers: Noisy tables, combined without bias.
        group: The values of each column that make the group.
        axis: The column whose values (k,) are bounded, not one of the group's; None for the group
            itself, a share (1,).
        level: Of confidence.

    """
    domain = unbiased_answers.domain
    axes = tuple(sorted({*group, *(() if axis is None else (axis,))}))
    if not axes:
        return ShareBounds(np.ones(1), np.ones(1), 0.0)
    mean_squares = {}
    deviations = {}
    for a in axes:
        k = domain.shape[a]
        count = len(set(group[a])) if a in group else 1
        mean_squares[a] = (count / k) ** 2
        deviations[a] = count * (1 - count / k)
    variance = 0.0
    for S in nonempty_subsets(axes, len(axes)):
        weight = math.prod(deviations[a] if a in S else mean_squares[a] for a in axes)
        if weight > 0:
            variance += weight * unbiased_answers.variance.get(S, math.nan)
    if math.isnan(variance):
        unknown = np.full(1 if axis is None else domain.shape[axis], np.nan)
        return ShareBounds(unknown, unknown, math.nan)
    shares = group_shares(unbiased_answers.table(axes), axes, group, axis)
    z = two_sided_quantile(check_level(level), laplace=unbiased_answers.laplace)
    standard_error = math.sqrt(variance)
    low = np.clip(shares - z * standard_error, 0, 1)
    high = np.clip(shares + z * standard_error, 0, 1)
    return ShareBounds(low, high, standard_error)


def group_shares(table: Array, axes: Sequence[int], group: Group, axis: int | None) -> Array:
    """Return the group's shares of a table on `axes`, for every value of one column (k,).

    Without such a column they are one share (1,).
    """
    for position, a in enumerate(axes):
        if a in group:
            table = table.take(sorted(set(group[a])), axis=position)
    return np.ravel(sum_to_axes(table, axes, [] if axis is None else [axis]))
