"""The single columns of the tables that a workload asks, as sums of its answers."""

import weakref

import numpy as np

from ..core.types import Array, Axes, frozen
from ..schema.domain import sum_to_axes
from .marginals import Marginals
from .workload import Workload


@frozen
class SingleColumns:
    """The one-way tables of all columns that some asked table has.

    `workload` are these tables. `sources` has, for each of them, the slice of the answers of the
    smallest asked table with that column, and that table's shape and axes.
    """

    workload: Marginals
    sources: tuple[tuple[slice, tuple[int, ...], Axes], ...]

    def answers(self, asked_answers: Array) -> Array:
        """Return the answers of the single columns from those of the workload asked (m,)."""
        columns = [
            sum_to_axes(asked_answers[table].reshape(shape), axes, column_axes)
            for column_axes, (table, shape, axes) in zip(
                self.workload.axes, self.sources, strict=True
            )
        ]
        return np.concatenate(columns)


_single_columns_by_workload: weakref.WeakKeyDictionary[Workload, SingleColumns | None] = (
    weakref.WeakKeyDictionary()
)


def single_columns_of(workload: Workload) -> SingleColumns | None:
    """Return the single columns of the tables that a workload asks; None if it asks no table.

    >>> from dpcore import Marginals, domain_from_json
    >>> pairs = Marginals.all(domain_from_json({"a": 2, "b": 3}), 2)
    >>> single_columns_of(pairs).answers(np.array([.1, .2, .3, .4, 0, 0])).round(2).tolist()
    [0.6, 0.4, 0.5, 0.2, 0.3]
    """
    if workload not in _single_columns_by_workload:
        _single_columns_by_workload[workload] = _find_single_columns(workload)
    return _single_columns_by_workload[workload]


def _find_single_columns(workload: Workload) -> SingleColumns | None:
    """Return the single columns of a workload's tables, each from the smallest table with it."""
    source_by_axis: dict[int, tuple[slice, tuple[int, ...], Axes]] = {}
    for part, part_slice in workload.parts:
        if not isinstance(part, Marginals):
            continue
        for axes, shape, table in part.layout:
            start = part_slice.start + table.start
            stop = part_slice.start + table.stop
            for axis in axes:
                known = source_by_axis.get(axis)
                if known is None or stop - start < known[0].stop - known[0].start:
                    source_by_axis[axis] = (slice(start, stop), shape, axes)
    if not source_by_axis:
        return None
    columns = sorted(source_by_axis)
    return SingleColumns(
        Marginals.over_axes(workload.domain, [(axis,) for axis in columns]),
        tuple(source_by_axis[axis] for axis in columns),
    )
