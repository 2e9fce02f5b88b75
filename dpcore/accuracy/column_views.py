"""All columns of a release in one view, of all rows or of a group; beside real shares if given."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..core.errors import InputError
from ..core.numbers import mean_if_complete
from ..core.types import Array, Axes, by_name
from ..models.releases import Release, UnbiasedAnswers
from ..queries import Marginals
from ..schema.domain import Domain
from .intervals.group_intervals import Group, ShareBounds, group_intervals, group_shares

MAX_GROUP_CELLS = 2_000_000  # cells of all tables that a group is read off


@by_name
class ColumnView:
    """One column's shares of all rows that lie in a group, for every value (k,).

    `bounds` are those of the release alone. `real` is None where only released numbers are known.
    """

    axis: int
    released: Array
    bounds: ShareBounds | None
    real: Array | None

    @cached_property
    def misplaced(self) -> float | None:
        """The share of the group's rows in a wrong cell; None where it is not known.

        Measured against the real rows, else predicted from the noise, as the mean of its size.
        """
        if self.real is not None:
            return misplaced_share(self.released, self.real)
        size = float(self.released.sum())
        if self.bounds is None or math.isnan(self.bounds.standard_error) or size <= 0:
            return None
        mean_size = math.sqrt(2 / math.pi) * self.bounds.standard_error  # of Gaussian noise
        return min(mean_size * len(self.released) / 2 / size, 1.0)


@by_name
class GroupView:
    """A group of rows: its size as a share of the table, and every column's view of it.

    Columns that make the group show the rows that its other columns leave, so that each of their
    values can be compared. Views are worst first.
    """

    group: Group
    released_size: float
    size_bounds: ShareBounds | None
    real_size: float | None
    views: tuple[ColumnView, ...]

    @property
    def misplaced(self) -> float | None:
        """The mean share of the group's rows in a wrong cell, over columns not of the group.

        None where one of them is not known, or the group is of all columns.
        """
        shares = [v.misplaced for v in self.views if v.axis not in self.group]
        return mean_if_complete(shares) if shares else None


def misplaced_share(released: Array, real: Array) -> float | None:
    """Return the share of rows in a wrong cell of one table: half the L1 distance.

    It is a share of the real rows; None where there are none.
    """
    size = float(real.sum())
    return float(np.abs(released - real).sum()) / 2 / size if size > 0 else None


def view_group(
    release: Release,
    domain: Domain,
    group: Group,
    *,
    real: Sequence[Array] | None = None,
    unbiased_answers: UnbiasedAnswers | None = None,
) -> GroupView:
    """Return a group of a release's rows as every column shows it, beside the real rows if given.

    Args:
        release: What answers about marginal tables.
        domain: The release's.
        group: The values of each column that make the group; none means all rows.
        real: The real rows' shares by every column, as `count_group` of the evaluation gives them.
        unbiased_answers: The noisy tables that intervals rest on, if any.

    Raises:
        InputError: For a group whose tables have too many cells.

    """
    tables = marginals_of_group(domain, group)
    released = shares_by_column(release.answers(tables), tables, group)
    views = []
    for axis in range(len(domain.shape)):
        others = others_of(group, axis)
        bounds = None
        if unbiased_answers is not None:
            bounds = group_intervals(unbiased_answers, others, axis)
        column_real = None if real is None else real[axis]
        views.append(
            ColumnView(axis=axis, released=released[axis], bounds=bounds, real=column_real)
        )
    views.sort(key=lambda view: -1.0 if view.misplaced is None else -view.misplaced)
    any_axis = next(iter(group), 0)
    codes = list(group.get(any_axis, range(domain.shape[any_axis])))
    size_bounds = None
    if unbiased_answers is not None:
        size_bounds = group_intervals(unbiased_answers, group, None)
    return GroupView(
        group=group,
        released_size=float(released[any_axis][codes].sum()),
        size_bounds=size_bounds,
        real_size=None if real is None else float(real[any_axis][codes].sum()),
        views=tuple(views),
    )


def others_of(group: Group, axis: int) -> Group:
    """Return the group without what it says of one column."""
    return {a: codes for a, codes in group.items() if a != axis}


def _group_tables(domain: Domain, group: Group) -> list[Axes]:
    """Return, for every column, the columns of the table that shows the group's rows by it."""
    return [tuple(sorted({*group, axis})) for axis in range(len(domain.shape))]


def shares_by_column(answers: Array, tables: Marginals, group: Group) -> list[Array]:
    """Return the group's shares by every column (k,), off the answers of its tables."""
    shares = []
    for axis, axes in enumerate(_group_tables(tables.domain, group)):
        table = answers[tables.slices[axes]].reshape(tables.domain.shape_of(axes))
        shares.append(group_shares(table, axes, others_of(group, axis), axis))
    return shares


def marginals_of_group(domain: Domain, group: Group) -> Marginals:
    """Return the tables that a group is read off; InputError if they have too many cells."""
    axes_sets = list(dict.fromkeys(_group_tables(domain, group)))
    cells = sum(math.prod(domain.shape_of(axes)) for axes in axes_sets)
    if cells > MAX_GROUP_CELLS:
        raise InputError(
            f"this group needs {cells:,} combinations, at most {MAX_GROUP_CELLS:,} are shown; "
            "choose bars of fewer columns"
        )
    return Marginals.over_axes(domain, axes_sets)
