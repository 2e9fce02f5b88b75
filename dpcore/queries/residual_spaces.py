"""Marginal tables decomposed into residual spaces, and the change of each when one row is replaced.

A function of the columns S alone that sums to zero along each of them lies in the residual space of
S. These spaces are orthogonal, a table on columns M consists of those of all S ⊆ M, and that of S
has d_S = Π_{l∈S} (n_l − 1) dimensions. Columns that a workload cannot tell apart (of equal size, in
the same tables once their names are exchanged) form a
class: sets S, and pairs of rows, are told apart by how many columns of each class they hold,
  their type.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import comb

from ..core.errors import InputError
from ..core.types import Array, Axes, frozen
from .marginals import MAX_DECOMPOSED_AXES, Marginals, nonempty_subsets

MAX_AGREEMENT_PATTERNS = (
    2**19
)  # patterns of agreement between two rows that are all compared, at most
MAX_DECOMPOSED_COLUMNS = 12  # columns of a table that is taken apart into its subsets
# as plan, charge and answers ask for them
_CACHED_SPACES: "WeakKeyDictionary[Marginals, ResidualSpaces]" = WeakKeyDictionary()


@frozen
class ResidualSpaces:
    """The residual spaces of marginal tables without the total, grouped by type.

    `classes` are the columns (axes) that are exchangeable; type i holds `types[i, g]` columns of
    class g, stands for `count[i]` sets, each of `d[i]` dimensions within `cells[i]` cells, and
    `inverse_cells[i]` is Σ 1/k_M over the tables M ⊇ S. `type_of` says which type a set of axes, in
    rising order, is of.
    """

    classes: tuple[tuple[int, ...], ...]
    sizes: Array
    types: Array
    count: Array
    d: Array
    cells: Array
    inverse_cells: Array
    type_of: dict[Axes, int]

    @property
    def pattern_count(self) -> int:
        """The number of types of pairs of rows: Π (columns of a class + 1).

        A type is how many columns of each class differ.
        """
        return math.prod(len(columns) + 1 for columns in self.classes)

    @property
    def patterns_enumerable(self) -> bool:
        """Whether there are few enough types of pairs of records to compare all of them."""
        return self.pattern_count <= MAX_AGREEMENT_PATTERNS

    @cached_property
    def _kernels(self) -> list[Array]:
        """The `_pattern_kernel` of each class of columns.

        Each goes up to the largest number of the class's columns that a type holds.
        """
        max_counts = self.types.max(axis=0)
        return [
            _pattern_kernel(len(self.classes[g]), int(self.sizes[g]), int(c))
            for g, c in enumerate(max_counts)
        ]

    @cached_property
    def change_bounds(self) -> Array:
        """Upper bounds on ½ ‖E_S(e_z − e_z')‖² k over all pairs of rows.

        There is one bound for one column set S of each type. Π_{l∈S} (n_l a_l − 1) is lowest where
        an odd number of columns differ: all but one at n − 1, the smallest at −1.
        """
        smallest = np.array(
            [self.sizes[row > 0].min() if row.any() else np.inf for row in self.types]
        )
        return self.d + self.d / (smallest - 1)

    def changes_by_pattern(self, information: Array) -> Array:
        """Return the change when a row is replaced, for each type of pair of rows (m_1 + 1, …).

        It is Σ_S t_S 2 (d_S − Π_{l∈S} (n_l a_l − 1)), for informations t_S. Two rows agree on the
        columns with a_l = 1. With the projection E_S on the space of S among all k cells, k E_S(z,
        z') = Π_{l∈S} (n_l a_l − 1): n − 1 where they agree, −1 where they differ. Sums of such
        products over all sets of a type factorise over the classes into `_pattern_kernel`.
        """
        shape = self.types.max(axis=0) + 1
        sums = np.zeros(shape)
        sums[tuple(self.types.T)] = information
        for g, kernel in enumerate(self._kernels):
            sums = np.moveaxis(np.tensordot(kernel, sums, axes=(1, g)), 0, g)
        return 2 * (float(information @ (self.count * self.d)) - sums)

    def changes_by_type(self, pattern: tuple[int, ...]) -> Array:
        """Return the change in each type of space for one type of pair of rows.

        It is Σ over its sets of 2 (d_S − Π_{l∈S} (n_l a_l − 1)).
        """
        product = np.ones(len(self.types))
        for g, kernel in enumerate(self._kernels):
            product *= kernel[pattern[g], self.types[:, g]]
        return 2 * (self.count * self.d - product)


def cached_residual_spaces(tables: Marginals) -> ResidualSpaces:
    """Return the residual spaces of marginal tables, computed once per workload.

    Raises InputError for tables of many columns.
    """
    if tables not in _CACHED_SPACES:
        _CACHED_SPACES[tables] = residual_spaces(tables)
    return _CACHED_SPACES[tables]


def residual_spaces(tables: Marginals) -> ResidualSpaces:
    """Return the residual spaces of all column sets inside some table.

    Raises InputError for tables of many columns.
    """
    shape = tables.domain.shape
    # where there is one value nothing differs
    varying_axes = [tuple(a for a in axes if shape[a] > 1) for axes in tables.axes]
    max_columns = max(map(len, varying_axes), default=0)
    if max_columns > MAX_DECOMPOSED_COLUMNS:
        raise InputError(
            f"a table of {max_columns} columns is more than the {MAX_DECOMPOSED_COLUMNS} that "
            "are taken apart"
        )
    inverse_by_table: defaultdict[Axes, float] = defaultdict(float)
    for axes in varying_axes:
        inverse_by_table[axes] += 1 / tables.domain.table_size(axes)
    classes = _exchangeable_classes(inverse_by_table, shape)
    class_of_axis = {a: g for g, columns in enumerate(classes) for a in columns}
    inverse_by_set: defaultdict[Axes, float] = defaultdict(float)
    for axes, inverse_cells in inverse_by_table.items():
        for S in nonempty_subsets(axes, MAX_DECOMPOSED_COLUMNS):
            inverse_by_set[S] += inverse_cells
    types: dict[Axes, int] = {}
    first_sets = []
    type_of = {}
    for S in inverse_by_set:
        counts = [0] * len(classes)
        for a in S:
            counts[class_of_axis[a]] += 1
        key = tuple(counts)
        if key not in types:
            types[key] = len(types)
            first_sets.append(S)
        type_of[S] = types[key]
    sizes = np.array([shape[columns[0]] for columns in classes], dtype=float)
    rows = np.array(list(types), dtype=np.int64).reshape(len(types), len(classes))
    class_sizes = np.array([len(columns) for columns in classes])
    return ResidualSpaces(
        classes=classes,
        sizes=sizes,
        types=rows,
        count=np.prod(comb(class_sizes, rows), axis=1),
        d=np.prod((sizes - 1) ** rows, axis=1),
        cells=np.prod(sizes**rows, axis=1),
        inverse_cells=np.array([inverse_by_set[S] for S in first_sets]),
        type_of=type_of,
    )


def residual_parts(
    axes: Axes, table: Array, first_axis: int = 0, max_axes: int = MAX_DECOMPOSED_AXES
) -> Iterator[tuple[Axes, Array]]:
    """Yield the residual parts of a function on the cells of `axes`, by column set S.

    Its axes are those of `table` from number `first_axis` on. The function is the sum, over S ⊆
    axes, of functions of the cells of S that sum to 0 along each axis of S (analysis of variance),
    each spread evenly; that of S = ∅, its mean, is left out. Of more than `max_axes` axes only the
    whole set is there.
    """
    for S in nonempty_subsets(axes, max_axes):
        averaged_axes = tuple(first_axis + i for i, a in enumerate(axes) if a not in S)
        yield S, subtract_axis_means(table.mean(axis=averaged_axes), first_axis)


def subtract_axis_means(table: Array, first_axis: int = 0) -> Array:
    """Return the table centred by ⊗(I − J/n): minus the mean along each axis.

    The axes are those from number `first_axis` on.
    """
    for axis in range(first_axis, table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _exchangeable_classes(
    tables: dict[tuple[int, ...], Any], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the classes of exchangeable columns.

    They are of equal size, and an exchange of two maps the tables to themselves. Exchanges generate
    all permutations of a class, so that whatever depends on the tables alone is the same for all
    sets of a type. Comparing with one member of a class is enough, as exchanges compose.
    """
    tables_with_axis: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
    for axes in tables:
        for a in axes:
            tables_with_axis[a].append(axes)
    classes: list[list[int]] = []
    for a in sorted(tables_with_axis):
        for columns in classes:
            b = columns[0]
            is_same_size = shape[a] == shape[b] and len(tables_with_axis[a]) == len(
                tables_with_axis[b]
            )
            exchanged_tables = (
                tuple(sorted(b if x == a else x for x in axes))
                for axes in tables_with_axis[a]
                if b not in axes
            )
            if is_same_size and all(axes in tables for axes in exchanged_tables):
                columns.append(a)
                break
        else:
            classes.append([a])
    return tuple(map(tuple, classes))


def _pattern_kernel(m: int, n: int, max_count: int) -> Array:
    """Return sums of Π (n a − 1) over c of a class's m columns, (m + 1, `max_count` + 1).

    j columns differ, c = 0..`max_count`. i of the c are among the j that differ: Σ_i C(j, i) (−1)^i
    C(m − j, c − i) (n − 1)^{c − i}.
    """
    j = np.arange(m + 1)[:, None]
    c = np.arange(max_count + 1)[None, :]
    out = np.zeros((m + 1, max_count + 1))
    for i in range(max_count + 1):
        remaining = np.maximum(c - i, 0)
        out += np.where(
            c >= i, comb(j, i) * (-1.0) ** i * comb(m - j, remaining) * (n - 1.0) ** remaining, 0.0
        )
    return out
