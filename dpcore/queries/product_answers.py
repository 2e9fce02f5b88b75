"""Answers of product distributions, and their gradients.

A product distribution is one probability vector a column of the table. C of them stand as `p` (Σ
d_i, C): one column of `p` each, the blocks of the table's columns below one another, so that a
value of all of them lies together in memory.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..core.errors import InputError
from ..core.numbers import consecutive_slices
from ..core.types import Array
from ..schema.domain import Domain
from .marginals import Marginals
from .workload import MAX_BLOCK_ENTRIES, Workload

MAX_JOINT_CELLS = (
    1_000_000  # cells of the domain up to which an explicit matrix is multiplied with all of them
)
# a table is not summed whole where less than one cell in so many is asked for
WHOLE_TABLE_RATIO = 8
CELLS_PER_CHUNK = 4096  # cells multiplied out at once


def column_slices(domain: Domain) -> tuple[slice, ...]:
    """Return the slice of each column's values in the Σ d_i rows of `p`.

    See `ProductAnswers`.
    """
    return consecutive_slices(domain.shape)


def require_answerable_by_products(workload: Workload) -> None:
    """Raise InputError if a query matrix has too many cells for a mixture of products."""
    k = workload.domain.size
    if k > MAX_JOINT_CELLS and workload.base is None:
        raise InputError(
            f"a query matrix over {k:,} combinations is more than the {MAX_JOINT_CELLS:,} on "
            "which a mixture of products "
            "answers it; ask for marginals, or choose fewer columns"
        )


class ProductAnswers:
    """The answers to queries of a workload, as functions of product distributions.

    The queries are j (J,), by default all; the C product distributions are `p` (Σ d_i, C). A cell
    of a table is a product of one row of `p` a column of the table. A table asked for whole is one
    matrix product (cells of some columns, C) @ (C, cells of the others); of other tables only the
    cells asked for are multiplied out. Explicit queries are read off the table of all columns;
    InputError if that has too many cells.
    """

    def __init__(self, workload: Workload, query_indices: Array | None = None) -> None:
        require_answerable_by_products(workload)
        self.m = workload.m if query_indices is None else len(query_indices)
        self._readers = list(
            _workload_readers(
                workload,
                np.arange(workload.m) if query_indices is None else np.asarray(query_indices),
            )
        )

    def answers(self, p: Array, weights: Array) -> Array:
        """Return the answers (J,) of the mixture with weights (C,): Σ_c w_c ⟨q_j, p_c⟩."""
        out = np.zeros(self.m)
        for reader in self._readers:
            values = np.zeros(reader.size)
            for part in reader.table_readers:
                values[part.positions] = part.answers(p, weights)
            out[reader.rows] += values if reader.matrix is None else reader.matrix @ values
        return out

    def gradient(self, p: Array, weights: Array, v: Array) -> Array:
        """Return the gradient ∂(Σ_j v_j answers_j)/∂p (Σ d_i, C).

        Every entry of `p` is treated as free.
        """
        out = np.zeros_like(p)
        for reader in self._readers:
            reader_weights = v[reader.rows]
            values = reader_weights if reader.matrix is None else reader.matrix.T @ reader_weights
            for part in reader.table_readers:
                part.add_gradient(out, p, weights, values[part.positions])
        return out


@dataclass
class _RowReader:
    """A reader of the answers with the numbers `rows`.

    They are `matrix` @ values (size,) of whole tables and single cells.
    """

    rows: Array
    matrix: Any
    size: int
    table_readers: "list[_WholeTable | _SingleCells]"


def _workload_readers(workload: Workload, query_indices: Array) -> Iterator[_RowReader]:
    """Yield the readers of a workload.

    It is one reader if all queries are read off tables, else one for each part.
    """
    for part, answer_slice in (
        [(workload, slice(0, workload.m))] if workload.base else workload.parts
    ):
        rows = np.flatnonzero(
            (query_indices >= answer_slice.start) & (query_indices < answer_slice.stop)
        )
        part_queries = query_indices[rows] - answer_slice.start
        if not len(rows):
            continue
        if part.matrix is None:
            yield _table_reader(part.base, rows, None, part_queries)
        else:
            joint_table = part.base or Marginals(workload.domain, [workload.domain.names])
            yield _table_reader(joint_table, rows, part.matrix[part_queries])


def _table_reader(
    base: Marginals, rows: Array, matrix: Any, cell_indices: Array | None = None
) -> _RowReader:
    """Return the reader of those cells of `base` that the matrix uses, or that were requested."""
    if cell_indices is not None:
        used_cells, inverse = np.unique(cell_indices, return_inverse=True)
        if not np.array_equal(used_cells, cell_indices):
            matrix = csr_array(
                (np.ones(len(inverse)), inverse, np.arange(len(inverse) + 1)),
                (len(inverse), len(used_cells)),
            )
    elif isinstance(matrix, Array):
        used_cells = np.arange(matrix.shape[1])
    else:
        used_cells = np.unique(matrix.indices)
        matrix = matrix[:, used_cells]
    value_slices = column_slices(base.domain)
    offsets = np.searchsorted(used_cells, [t.start for t in base.tables] + [base.m])
    parts = []
    single_cells = {}
    for (axes, shape, table), (a, b) in zip(base.layout, pairwise(offsets.tolist()), strict=True):
        if a == b:
            continue
        table_cells = used_cells[a:b] - table.start
        if (b - a) * WHOLE_TABLE_RATIO > math.prod(shape):
            selected_cells = None if b - a == math.prod(shape) else table_cells
            parts.append(
                _WholeTable(
                    slice(a, b), shape, [value_slices[axis] for axis in axes], selected_cells
                )
            )
        else:
            row_index = [
                code + value_slices[axis].start
                for axis, code in zip(axes, np.unravel_index(table_cells, shape), strict=True)
            ]
            single_cells.setdefault(len(axes), []).append((np.arange(a, b), np.array(row_index)))
    parts += [
        _SingleCells(*(np.concatenate(x, axis=-1) for x in zip(*cell_groups, strict=True)))
        for cell_groups in single_cells.values()
    ]
    return _RowReader(rows, matrix, len(used_cells), parts)


@dataclass
class _WholeTable:
    """A reader of a whole table, or of its cells `selected_cells`.

    Its columns' values are the slices `factor_slices` of `p`.
    """

    positions: slice
    shape: tuple[int, ...]
    factor_slices: list[slice]
    selected_cells: Array | None

    def __post_init__(self) -> None:
        sizes = [
            (math.prod(self.shape[:i]), math.prod(self.shape[i:]))
            for i in range(1, len(self.shape) + 1)
        ]
        self.split = 1 + min(range(len(sizes)), key=lambda i: sum(sizes[i]))
        self.left_cells, self.right_cells = sizes[self.split - 1]

    def _component_chunks(
        self, p: Array, weights: Array
    ) -> Iterator[tuple[slice, list[Array], Array, Array]]:
        """Yield slices of the components, with factors and the products on each side of the cut.

        The products on the right are weighted. So products take bounded memory.
        """
        step = max(1, MAX_BLOCK_ENTRIES // (self.left_cells + self.right_cells))
        for i in range(0, p.shape[1], step):
            chunk = slice(i, i + step)
            factors = [p[part, chunk] for part in self.factor_slices]
            left_products = _multiply_factors(factors[: self.split])
            right_products = _multiply_factors(factors[self.split :], weights[chunk])
            yield chunk, factors, left_products, right_products

    def answers(self, p: Array, weights: Array) -> Array:
        """Return the shares of the table's cells in the mixture with these weights (C,).

        With `selected_cells` only of those cells.
        """
        total = np.zeros((self.left_cells, self.right_cells))
        for _, _, left_products, right_products in self._component_chunks(p, weights):
            total += left_products @ right_products.T
        return total.ravel() if self.selected_cells is None else total.ravel()[self.selected_cells]

    def add_gradient(self, out: Array, p: Array, weights: Array, v: Array) -> None:
        """Add to `out` the gradient in `p` of Σ v · answers."""
        if self.selected_cells is not None:
            cell_weights = v
            v = np.zeros(self.left_cells * self.right_cells)
            v[self.selected_cells] = cell_weights
        v = v.reshape(self.left_cells, self.right_cells)
        for chunk, factors, left_products, right_products in self._component_chunks(p, weights):
            _add_factor_gradients(
                out,
                self.factor_slices[: self.split],
                factors[: self.split],
                v @ right_products,
                chunk,
            )
            if self.split < len(factors):
                _add_factor_gradients(
                    out,
                    self.factor_slices[self.split :],
                    factors[self.split :],
                    (v.T @ left_products) * weights[chunk],
                    chunk,
                )


def _multiply_factors(factors: list[Array], weights: Array | None = None) -> Array:
    """Return the products (Π d_i, C) of one row from each factor (d_i, C), times the weights.

    For no factor they are the weights.
    """
    if weights is not None:
        factors = [factors[0] * weights, *factors[1:]] if factors else [weights[None]]
    return reduce(lambda a, b: (a[:, None] * b).reshape(-1, b.shape[1]), factors)


def _add_factor_gradients(
    out: Array, parts: list[slice], factors: list[Array], v: Array, chunk: slice
) -> None:
    """Add to `out` the gradient of Σ v · _multiply_factors(factors), for v (Π d_i, C).

    One factor is taken after the other.
    """
    while len(factors) > 1:
        others = _multiply_factors(factors[:-1])
        last = factors[-1]
        v = v.reshape(len(others), len(last), -1)
        out[parts[-1], chunk] += np.einsum("abc,ac->bc", v, others)
        v = np.einsum("abc,bc->ac", v, last)
        parts = parts[:-1]
        factors = factors[:-1]
    out[parts[0], chunk] += v


@dataclass
class _SingleCells:
    """A reader of single cells: each is the product of the rows `row_index` (w, Q) of `p`."""

    positions: Array
    row_index: Array

    def _cell_chunks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the cells in pieces of bounded size: the slice of each, and its rows of `p`."""
        starts = range(0, self.row_index.shape[1], CELLS_PER_CHUNK)
        return (
            (slice(i, i + CELLS_PER_CHUNK), self.row_index[:, i : i + CELLS_PER_CHUNK])
            for i in starts
        )

    def answers(self, p: Array, weights: Array) -> Array:
        """Return the shares (Q,) of the cells in the mixture with these weights (C,)."""
        chunk_answers = (
            reduce(np.multiply, (p[rows] for rows in index)) @ weights
            for _, index in self._cell_chunks()
        )
        return np.concatenate(list(chunk_answers))

    def add_gradient(self, out: Array, p: Array, weights: Array, v: Array) -> None:
        """Add to `out` the gradient in `p` of Σ v · answers."""
        for chunk, index in self._cell_chunks():
            factors = [p[rows] for rows in index]
            prefix_products = [v[chunk, None] * weights]
            for factor in factors[:-1]:
                prefix_products.append(prefix_products[-1] * factor)
            suffix_product: Any = 1.0
            for rows, factor, prefix_product in zip(
                index[::-1], factors[::-1], prefix_products[::-1], strict=True
            ):
                count = len(rows)
                scatter = csr_array((np.ones(count), rows, np.arange(count + 1)), (count, len(p)))
                out += scatter.T @ (prefix_product * suffix_product)
                suffix_product = suffix_product * factor
