"""What a way of publishing tables costs their readers: errors, lost cells, conclusions, groups.

Everything here compares with the real rows: not for publishing.
"""

from itertools import chain, combinations, permutations
from typing import Any

import numpy as np

from ...core.types import Array, by_name
from ...queries import Marginals
from ...schema.domain import sum_to_axes
from ..run import Comparison, subgroup_errors
from .asked_tables import AskedTables

SAME_SHARE = 1e-9  # shares that differ by no more are the same


@by_name
class GroupCost:
    """How far off the answers about one group are: see `SubgroupErrors`."""

    column: str
    label: str
    rows: int
    error: float


@by_name
class RuleCosts:
    """What published answers cost: errors as shares of the rows, as `Errors` has them.

    Args:
        misplaced: The share of rows in a wrong cell, of a table in the mean.
        largest: The largest error, as a share of the rows.
        lost_share: The share of the cells with rows that have no published number of their own.
        flipped_share: The share of comparisons of two groups that turn into their opposite.
        vanished_share: The share of them that cannot be made any more.
        groups: The error about every group, small groups first.

    """

    misplaced: float
    largest: float
    lost_share: float
    flipped_share: float
    vanished_share: float
    groups: tuple[GroupCost, ...]


def measure_costs(asked_tables: AskedTables, answers: Array, is_lost: Array) -> RuleCosts:
    """Return what answers (m,) to the tables asked cost, beside the true ones."""
    real = asked_tables.table_counts / asked_tables.n
    errors = Comparison(asked_tables.tables, real, answers, asked_tables.n).errors
    has_rows = real > 0
    pairs = pair_comparison(asked_tables, real, answers)
    flipped, vanished = (0.0, 0.0) if pairs is None else changed_conclusions(pairs)
    return RuleCosts(
        misplaced=errors.misplaced,
        largest=errors.largest,
        lost_share=float(is_lost[has_rows].mean()),
        flipped_share=flipped,
        vanished_share=vanished,
        groups=() if pairs is None else group_costs(pairs, asked_tables.n),
    )


def pair_comparison(asked_tables: AskedTables, real: Array, answers: Array) -> Comparison | None:
    """Return the pairs of columns within the tables asked, real and published.

    Each pair is read off the first table that has both columns. None where no table has two.
    """
    pairs: dict[tuple[int, ...], tuple[Array, Array]] = {}
    for axes, shape, table in asked_tables.tables.layout:
        for pair in combinations(axes, 2):
            if pair not in pairs:
                pairs[pair] = (
                    sum_to_axes(real[table].reshape(shape), axes, pair).ravel(),
                    sum_to_axes(answers[table].reshape(shape), axes, pair).ravel(),
                )
    if not pairs:
        return None
    workload = Marginals.over_axes(asked_tables.domain, pairs)
    real_pairs, published_pairs = zip(*pairs.values(), strict=True)
    return Comparison(
        workload, np.concatenate(real_pairs), np.concatenate(published_pairs), asked_tables.n
    )


def group_costs(pairs: Comparison, n: int) -> tuple[GroupCost, ...]:
    """Return the error about each value of each column of some pairs, small groups first."""
    groups = []
    workload: Any = pairs.workload
    for axis in sorted(set(chain.from_iterable(workload.axes))):
        name = workload.domain.names[axis]
        errors = subgroup_errors(pairs, name)
        for label, share, error in zip(errors.labels, errors.share, errors.error, strict=True):
            if share > 0:
                groups.append(
                    GroupCost(column=name, label=label, rows=round(share * n), error=float(error))
                )
    return tuple(sorted(groups, key=lambda group: (group.rows, -group.error)))


def changed_conclusions(pairs: Comparison) -> tuple[float, float]:
    """Return the share of conclusions that turn into their opposite, and of those that vanish.

    A conclusion is that a value is more frequent in one group than in another
    (`GroupComparison.share_difference`), of every two groups of a column and every value of another
    column in one of the pairs, where the real shares differ. It vanishes where the published shares
    are the same, or a group is empty.
    """
    turned = 0
    vanished = 0
    total = 0
    workload: Any = pairs.workload
    for _, shape, table in workload.layout:
        for order in permutations((0, 1)):
            real = np.nan_to_num(_differences(pairs.real[table].reshape(shape).transpose(order)))
            published = np.nan_to_num(
                _differences(pairs.synthetic[table].reshape(shape).transpose(order))
            )
            is_conclusion = np.abs(real) > SAME_SHARE
            total += np.count_nonzero(is_conclusion)
            is_gone = np.abs(published) <= SAME_SHARE
            vanished += np.count_nonzero(is_conclusion & is_gone)
            turned += np.count_nonzero(is_conclusion & ~is_gone & (real * published < 0))
    return (turned / total, vanished / total) if total else (0.0, 0.0)


def _differences(table: Array) -> Array:
    """Return the differences of the shares of every value between every two groups (g, g, v).

    Groups are the table's rows; those without rows have no shares (NaN).
    """
    sizes = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, sizes, out=np.full(table.shape, np.nan), where=sizes > 0)
    return shares[:, None, :] - shares[None, :, :]
