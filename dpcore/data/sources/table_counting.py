"""Records counted into tables: few wide tables are counted, and all others are summed out of them."""

import math
from collections.abc import Iterable, Sequence
from os.path import commonprefix

import numpy as np

from ...core.types import Array, Axes, Tables
from ...schema.domain import projected

BLOCK = 1 << 17  # records whose keys are made at once: they stay in a processor's cache
WIDE = 1 << 16  # cells up to which tables are put together
SPREAD = 1 << 21  # cells from which on only those that a block meets are touched


def add(counted: Tables, codes: Sequence[Array], shape: Sequence[int]) -> None:
    """Add records, as codes (m,) by column, to tables in place; shared columns' keys are computed once.

    A key is a whole number below the table's size: of 32 bits where that serves.
    """
    used = {a for axes in counted for a in axes}
    kind = np.int32 if max(len(table) for table in counted.values()) < 2**31 else np.int64
    columns = {a: codes[a].astype(kind) for a in used}
    m = len(codes[0])
    for start in range(0, m, BLOCK):
        block = slice(start, min(start + BLOCK, m))
        last: Axes = ()
        keys: list[Array] = []
        for axes in sorted(counted):
            shared = len(commonprefix([axes, last]))
            del keys[shared:]
            for a in axes[shared:]:
                keys.append(keys[-1] * kind(shape[a]) + columns[a][block] if keys else columns[a][block])
            last, table = axes, counted[axes]
            if len(table) < SPREAD:
                table += np.bincount(keys[-1], minlength=len(table))
            else:
                cells, times = np.unique(keys[-1], return_counts=True)
                table[cells] += times


def cover(tables: Iterable[Axes], shape: Sequence[int]) -> list[Axes]:
    """Tables to count, few and of at most WIDE cells, such that each one asked for lies inside one of them.

    All 455 tables of 3 among 15 columns of 8 values lie inside some 60 of 5 columns, which are counted in a fraction of
    the time.
    """
    asked = sorted(set(tables))
    member = np.zeros((len(asked), len(shape)), dtype=bool)
    for row, axes in zip(member, asked, strict=True):
        row[list(axes)] = True
    left, out = np.ones(len(asked), dtype=bool), list[Axes]()
    sizes = np.array([_size(axes, shape) for axes in asked], dtype=float)
    while left.any():
        most = int(np.flatnonzero(left)[np.argmax(sizes[left])])  # what fits into nothing larger comes first
        best = member[most].copy()
        while True:
            missing = (member & ~best).sum(axis=1)
            gains = member[left & (missing == 1)] & ~best  # by which column a table would come inside
            room = WIDE // _size(np.flatnonzero(best), shape)
            gain = np.where(~best & (np.asarray(shape) <= room), gains.sum(axis=0) + 1e-9, 0)
            if not gain.any() or not (left & (missing > 0)).any():
                break
            best[int(np.argmax(gain / np.log2(np.maximum(shape, 2))))] = True
        out.append(tuple(np.flatnonzero(best).tolist()))
        left &= (member & ~best).any(axis=1)
    return sorted(out)


def narrowed(counted: Tables, tables: Iterable[Axes], shape: Sequence[int]) -> Tables:
    """Each table asked for, summed from the smallest counted one that contains it."""
    ordered = sorted(counted, key=lambda axes: len(counted[axes]))
    out = {}
    for axes in tables:
        wide = next(other for other in ordered if set(axes) <= set(other))
        out[axes] = projected(counted[wide].reshape([shape[a] for a in wide]), wide, axes).ravel()
    return out


def _size(axes: Iterable[int], shape: Sequence[int]) -> int:
    return math.prod(shape[a] for a in axes)
