"""Rows counted into tables: few wide tables are counted, and all others are summed out of them."""

import math
from collections.abc import Iterable, Sequence
from os.path import commonprefix

import numpy as np

from ...core.types import Array, Axes, Tables
from ...schema.domain import sum_to_axes

BLOCK_ROWS = 1 << 17  # rows whose keys are made at once: they stay in a processor's cache
MAX_WIDE_TABLE_CELLS = 1 << 16  # cells up to which tables are put together
MIN_SPARSE_TABLE_CELLS = 1 << 21  # cells from which on only those that a block meets are touched


def add_rows_to_tables(
    counted: Tables, codes: Sequence[Array], shape: Sequence[int], votes: Array | None = None
) -> None:
    """Add rows, as codes (m,) by column, to tables in place, each with its `votes` (m,), or one.

    Shared columns' keys are computed once. A key is a whole number below the table's size: of 32
    bits if that serves.
    """
    used_axes = {a for axes in counted for a in axes}
    key_type = np.int32 if max(len(table) for table in counted.values()) < 2**31 else np.int64
    columns = {a: codes[a].astype(key_type) for a in used_axes}
    m = len(codes[0])
    for start in range(0, m, BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, m))
        previous_axes: Axes = ()
        keys: list[Array] = []
        for axes in sorted(counted):
            shared = len(commonprefix([axes, previous_axes]))
            del keys[shared:]
            for a in axes[shared:]:
                keys.append(
                    keys[-1] * key_type(shape[a]) + columns[a][block] if keys else columns[a][block]
                )
            previous_axes = axes
            table = counted[axes]
            if votes is not None:
                np.add.at(table, keys[-1], votes[block])
            elif len(table) < MIN_SPARSE_TABLE_CELLS:
                table += np.bincount(keys[-1], minlength=len(table))
            else:
                cells, times = np.unique(keys[-1], return_counts=True)
                table[cells] += times


def choose_wide_tables(tables: Iterable[Axes], shape: Sequence[int]) -> list[Axes]:
    """Return few tables to count, such that each of `tables` lies inside one of them.

    They have at most MAX_WIDE_TABLE_CELLS cells. All 455 tables of 3 among 15 columns of 8 values
    lie inside some 60 of 5 columns, which are counted in a fraction of the time.
    """
    requested = sorted(set(tables))
    membership = np.zeros((len(requested), len(shape)), dtype=bool)
    for row, axes in zip(membership, requested, strict=True):
        row[list(axes)] = True
    uncovered = np.ones(len(requested), dtype=bool)
    wide_tables = list[Axes]()
    sizes = np.array([_table_size(axes, shape) for axes in requested], dtype=float)
    while uncovered.any():
        # what fits into nothing larger comes first
        largest = int(np.flatnonzero(uncovered)[np.argmax(sizes[uncovered])])
        is_included = membership[largest].copy()
        while True:
            missing = (membership & ~is_included).sum(axis=1)
            gains = (
                membership[uncovered & (missing == 1)] & ~is_included
            )  # by which column a table would come inside
            free_factor = MAX_WIDE_TABLE_CELLS // _table_size(np.flatnonzero(is_included), shape)
            gain = np.where(
                ~is_included & (np.asarray(shape) <= free_factor), gains.sum(axis=0) + 1e-9, 0
            )
            if not gain.any() or not (uncovered & (missing > 0)).any():
                break
            is_included[int(np.argmax(gain / np.log2(np.maximum(shape, 2))))] = True
        wide_tables.append(tuple(np.flatnonzero(is_included).tolist()))
        uncovered &= (membership & ~is_included).any(axis=1)
    return sorted(wide_tables)


def sum_to_tables(wide_tables: Tables, tables: Iterable[Axes], shape: Sequence[int]) -> Tables:
    """Return each of `tables`, summed from the smallest counted one that contains it."""
    smallest_first = sorted(wide_tables, key=lambda axes: len(wide_tables[axes]))
    results = {}
    for axes in tables:
        wide_axes = next(other for other in smallest_first if set(axes) <= set(other))
        results[axes] = sum_to_axes(
            wide_tables[wide_axes].reshape([shape[a] for a in wide_axes]), wide_axes, axes
        ).ravel()
    return results


def _table_size(axes: Iterable[int], shape: Sequence[int]) -> int:
    return math.prod(shape[a] for a in axes)
