"""The real rows of a group, by every column, to be shown beside a release."""

from collections.abc import Sequence

import numpy as np

from ..accuracy.column_views import marginals_of_group, shares_by_column
from ..accuracy.intervals.group_intervals import Group
from ..core.types import Array
from ..schema.domain import Countable, Domain, Rows


def count_group(rows: Countable, domain: Domain, group: Group) -> list[Array]:
    """Return the share of all rows that lie in a group, by every column's values (k,) each.

    They are read off tables where only counts are known. Columns that make the group show the rows
    that its other columns leave. Not for publishing. Raises InputError for tables that are not
    counted.
    """
    if not isinstance(rows, Rows):
        tables = marginals_of_group(domain, group)
        return shares_by_column(tables.answers_of_rows(rows), tables, group)
    row_masks = {}
    for a, codes in group.items():
        is_member = np.isin(np.arange(domain.shape[a]), list(codes))
        row_masks[a] = is_member[rows.values[:, a]]
    subset = _subset(rows, list(row_masks.values()))
    shares = []
    for axis, size in enumerate(domain.shape):
        others = [mask for a, mask in row_masks.items() if a != axis]
        counted = _subset(rows, others) if axis in group else subset
        shares.append(counted.count((axis,), (size,)) / rows.vote_count)
    return shares


def _subset(rows: Rows, masks: Sequence[Array]) -> Rows:
    """Return the rows that all masks keep."""
    if not masks:
        return rows
    mask = np.logical_and.reduce(masks)
    return Rows(rows.values[mask], rows.weights[mask], votes_per_unit=rows.votes_per_unit)
