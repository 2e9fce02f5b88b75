"""Queries that are each a linear function of one marginal table."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from ..core.errors import InputError
from ..core.numbers import ROUNDING_SLACK
from ..core.types import Array, Axes, Rng, Texts
from ..schema.domain import Column, Domain
from .marginals import Marginals
from .residual_spaces import residual_parts
from .workload import MAX_BLOCK_ENTRIES, QueryLabel, Workload, max_column_distance, row_extremes

MAX_QUERIES = 20_000  # limit for one family
MAX_COEFFICIENTS = 10_000_000  # limit for all its queries together
MAX_TABLE_CELLS = 10_000_000  # limit for all the tables underneath
MAX_VALUES_IN_LABEL = 5  # values of a set in a label


class TableQueries(Workload):
    """The queries (m of them) that are each a linear function in [-1, 1] of one marginal table.

    Args: `parts`, pairs (columns, matrix): the matrix (m_S, size_S), dense or sparse, acts on the
    table of `columns`, the last column running fastest; `labels`, one a query in the order of the
    parts. `base` sums all tables out together, and answers = matrix @ base.answers with `matrix`
    (m, base.m) sparse. Raises InputError for a matrix that does not fit its table or leaves [-1,
    1].

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> TableQueries.ranges(domain, ["b"]).m
    6
    """

    def __init__(
        self,
        domain: Domain,
        parts: Iterable[tuple[Sequence[str], Any]],
        labels: Sequence[QueryLabel] | None = None,
    ) -> None:
        parts = [(tuple(columns), matrix) for columns, matrix in parts]
        axes = [domain.axes(columns) for columns, _ in parts]
        keys = [tuple(sorted(a)) for a in axes]
        distinct = list(dict.fromkeys(keys))
        _check_table_cells(domain, distinct)
        self.domain = domain
        self.base = Marginals(domain, [[domain.names[a] for a in key] for key in distinct])
        blocks = [
            _checked_block(domain, part_axes, matrix)
            for part_axes, (_, matrix) in zip(axes, parts, strict=True)
        ]
        tables = [distinct.index(key) for key in keys]
        self._table_of_query = np.repeat(tables, [b.shape[0] for b in blocks])  # table of query j
        self.m = len(self._table_of_query)
        starts = [self.base.tables[table].start for table in tables]
        indices = np.concatenate(
            [b.indices + start for b, start in zip(blocks, starts, strict=True)]
        )
        ends = np.cumsum(np.concatenate([[0], *(np.diff(b.indptr) for b in blocks)]))
        self.matrix: Any = csr_array(
            (np.concatenate([b.data for b in blocks]), indices, ends), (self.m, self.base.m)
        )
        self.matrix.data.flags.writeable = False
        self.width = max(float((high - low).max()) for low, high in map(row_extremes, blocks))
        if labels is not None and len(labels) != self.m:
            raise InputError(f"{len(labels)} labels are given for {self.m} queries")
        self._labels = labels

    def with_rounded_entries(self, step: float) -> "TableQueries":
        """Return the queries with every entry rounded to the nearest multiple of `step`.

        `step` = 2^-j ≤ 1.
        """
        matrix = self.matrix.copy()
        matrix.data = np.rint(matrix.data / step) * step
        return TableQueries(
            self.domain, parts_by_table(self.base, matrix, self._table_of_query), self._labels
        )

    @classmethod
    def ranges(cls, domain: Domain, columns: Sequence[str]) -> "TableQueries":
        """Return queries for every interval of neighbouring cells of each column.

        Single cells and the whole column are included. A missing cell is in none. Raises InputError
        for a column without order, or for too many intervals.
        """
        cells = _ordered_cell_counts(domain, columns, "ranges")
        _check_family_size(
            "ranges",
            sum(c * (c + 1) // 2 for c in cells),
            sum(c * (c + 1) * (c + 2) // 6 for c in cells),
        )
        return _interval_queries(domain, columns, [np.triu_indices(c) for c in cells])

    @classmethod
    def prefixes(cls, domain: Domain, columns: Sequence[str]) -> "TableQueries":
        """Return queries for each column's intervals that start at its first cell.

        These are cumulative counts; else as `ranges`.
        """
        cells = _ordered_cell_counts(domain, columns, "prefixes")
        _check_family_size("prefixes", sum(cells), sum(c * (c + 1) // 2 for c in cells))
        return _interval_queries(
            domain, columns, [(np.zeros(c, dtype=int), np.arange(c)) for c in cells]
        )

    @classmethod
    def conjunctions(cls, domain: Domain, ways: int, count: int, seed: int = 0) -> "TableQueries":
        """Return `count` random conjunctions "a in A and b in B …" over `ways` columns each.

        The seed is public. Columns are drawn without favour; a set holds each cell with probability
        ½, but at least one and never all.
        """
        d = len(domain.columns)
        if not 1 <= ways <= d:
            raise InputError(
                f"conjunctions over {ways} columns: outside 1..{d}, the number of columns"
            )
        _check_family_size("conjunctions", count)
        rng = np.random.default_rng(seed)
        axes_sets = sorted(
            tuple(np.sort(rng.choice(d, ways, replace=False)).tolist()) for _ in range(count)
        )
        return cls.conjunctions_of(
            domain,
            [
                {domain.names[a]: _random_set(domain.shape[a], rng) for a in axes}
                for axes in axes_sets
            ],
        )

    @classmethod
    def conjunctions_of(
        cls, domain: Domain, sets: Iterable[Mapping[str, ArrayLike]]
    ) -> "TableQueries":
        """Return given conjunctions as queries.

        Each maps column names to the numbers of the cells that count.
        """
        conjunctions = [
            {
                a: np.unique(cells)
                for a, cells in sorted(
                    zip(domain.axes(list(conjunction)), conjunction.values(), strict=True)
                )
            }
            for conjunction in sets
        ]
        _check_family_size(
            "conjunctions",
            len(conjunctions),
            sum(math.prod(map(len, own.values())) for own in conjunctions),
        )
        _check_table_cells(domain, map(tuple, conjunctions))
        parts = []
        labels = []
        for axes, same_axes in groupby(conjunctions, key=tuple):
            columns = [domain.columns[a] for a in axes]
            rows = [_conjunction_cells(columns, list(own.values())) for own in same_axes]
            ends = np.cumsum([0, *(len(cells) for cells, _ in rows)])
            indices = np.concatenate([cells for cells, _ in rows])
            shape = (len(rows), math.prod(c.size for c in columns))
            parts.append(
                (
                    [c.name for c in columns],
                    csr_array((np.ones(len(indices)), indices, ends), shape),
                )
            )
            labels += [label for _, label in rows]
        return cls(domain, parts, labels)

    @classmethod
    def half_spaces(
        cls, domain: Domain, columns: Sequence[str], count: int, seed: int = 0
    ) -> "TableQueries":
        """Return `count` random half-spaces Σ a_i x_i ≥ b as queries, by a public seed.

        x are cells' middles scaled to 0..1. Directions a are uniform on the sphere, and b = ⟨a, u⟩
        for u uniform in the box. A row that misses one of the numbers is in none. Raises InputError
        for a column of categories, or for too many cells.
        """
        number_columns = _distinct_columns(domain, columns)
        ranges = [c.bounds for c in number_columns]
        scaled = [
            (c.midpoints - low) / ((high - low) or 1)
            for c, (low, high) in zip(number_columns, ranges, strict=True)
        ]
        _check_family_size("half-spaces", count, count * math.prod(c.size for c in number_columns))
        rng = np.random.default_rng(seed)
        a = rng.normal(size=(count, len(number_columns)))
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        b = (a * rng.random(a.shape)).sum(axis=1)
        x = np.stack([grid.ravel() for grid in np.meshgrid(*scaled, indexing="ij")])
        labels = [
            ((_direction_label(columns, slopes), f"at least {bound:.3g}"),)
            for slopes, bound in zip(a, b, strict=True)
        ]
        return cls(domain, [(columns, a @ x >= b[:, None])], labels)

    @cached_property
    def diameter(self) -> float:
        """An upper bound on the L2 sensitivity of the m unnormalised answers.

        It bounds their change in ‖·‖₂ when one row is replaced.
        """
        return math.sqrt(sum(max_column_distance(block, 2) ** 2 for block in self._table_blocks()))

    @cached_property
    def diameter_l1(self) -> float:
        """An upper bound on the L1 sensitivity of the m unnormalised answers.

        It bounds their change in ‖·‖₁ when one row is replaced.
        """
        return sum(max_column_distance(block, 1) for block in self._table_blocks())

    @cached_property
    def component_squares(self) -> dict[Axes, float]:
        """The squared lengths of all queries' components, by column set.

        `Marginals.variance` takes them.
        """
        total: defaultdict[Axes, float] = defaultdict(float)
        for axes, shape, block in zip(
            self.base.axes, self.base.shapes, self._table_blocks(), strict=True
        ):
            if math.prod(block.shape) <= MAX_BLOCK_ENTRIES:
                for subset, part in residual_parts(
                    axes, block.toarray().reshape(-1, *shape), first_axis=1
                ):
                    total[subset] += float((part**2).sum())
            else:  # as one component, which says too much
                total[axes] += (block**2).sum()
        return dict(total)

    @property
    def measured_workload(self) -> "Marginals | TableQueries":
        """The workload that noise is added to: the marginal tables, or the queries themselves.

        They are the queries if their total variance is then smaller, both by least squares: from
        the queries' own noisy answers it is rank · Δ₂²/(nμ)².
        """
        rank = sum(min(b.shape[0], b.shape[1] - 1) for b in self._table_blocks())
        direct_variance = rank * self.diameter**2 * ROUNDING_SLACK  # with room for rounding
        return self.base if self.base.variance(self.component_squares) <= direct_variance else self

    @property
    def entries(self) -> Array:
        """The stored entries of the query matrix."""
        return self.matrix.data

    def support(self, j: int) -> tuple[Axes, tuple[Array, ...], Array]:
        """Return the columns of query j's table, its cells there, and its values.

        The cells are one array an axis.
        """
        table = self._table_of_query[j]
        row = slice(*self.matrix.indptr[j : j + 2])
        cells = np.unravel_index(
            self.matrix.indices[row] - self.base.tables[table].start, self.base.shapes[table]
        )
        return self.base.axes[table], cells, self.matrix.data[row]

    def label(self, j: int) -> QueryLabel:
        """Return the given label of query j, or its number and its columns."""
        if self._labels is not None:
            return self._labels[j]
        return (("query", f"{j} on {' × '.join(self.base.columns[self._table_of_query[j]])}"),)

    def _table_blocks(self) -> Iterator[Any]:
        """Yield the matrix (m_S, size_S) of the queries on each table, one after the other."""
        for table, cell_slice in enumerate(self.base.tables):
            yield self.matrix[self._table_of_query == table][:, cell_slice]


def parts_by_table(
    base: Marginals, matrix: Any, table_of_query: Array
) -> Iterator[tuple[Texts, csr_array]]:
    """Yield the columns and the query matrix of each run of queries on the same table.

    A run is of neighbouring queries; `table_of_query` (m,) is the table that each one reads.
    """
    rows = 0
    for table, run in groupby(table_of_query.tolist()):
        start = rows
        rows = rows + len(list(run))
        yield base.columns[table], matrix[start:rows][:, base.tables[table]]


def _checked_block(domain: Domain, axes: Axes, matrix: Any) -> Any:
    """Return a checked query matrix, sparse, with its cells in the order of the domain."""
    shape = domain.shape_of(axes)
    names = " × ".join(domain.names[a] for a in axes)
    matrix = matrix if issparse(matrix) else np.asarray(matrix)
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"the queries on {names} are not numbers (their type is {matrix.dtype})")
    block: Any = csr_array(matrix, dtype=float)
    if block.ndim != 2 or block.shape[0] < 1 or block.shape[1] != math.prod(shape):
        raise InputError(
            f"the queries on {names} have shape {block.shape}; it must be (m, "
            f"{math.prod(shape)}), m ≥ 1"
        )
    if not (np.abs(block.data) <= 1).all():
        raise InputError(
            f"a query on {names} holds {block.data[~(np.abs(block.data) <= 1)][0]}, outside -1..1"
        )
    block = csr_array(
        block[:, np.arange(block.shape[1]).reshape(shape).transpose(np.argsort(axes)).ravel()]
    )
    block.sum_duplicates()
    block.eliminate_zeros()
    return block


def _check_family_size(family: str, queries: int, coefficients: int = 0) -> None:
    """Raise InputError for a family of too many queries, before its memory is allocated."""
    if not 1 <= queries <= MAX_QUERIES:
        raise InputError(f"{queries:,} {family}: outside 1..{MAX_QUERIES:,}")
    if coefficients > MAX_COEFFICIENTS:
        raise InputError(
            f"{queries:,} {family} read {coefficients:,} combinations in all, more than "
            f"{MAX_COEFFICIENTS:,}"
        )


def _check_table_cells(domain: Domain, tables: Iterable[Axes]) -> None:
    """Raise InputError for tables (as axes) that are too large to be summed."""
    cells = sum(domain.table_size(axes) for axes in set(tables))
    if cells > MAX_TABLE_CELLS:
        raise InputError(
            f"the tables underneath these queries have {cells:,} combinations, more than "
            f"{MAX_TABLE_CELLS:,}"
        )


def _ordered_cell_counts(domain: Domain, columns: Sequence[str], family: str) -> list[int]:
    """Return the number of each column's cells without the cell of missing values."""
    ordered_columns = _distinct_columns(domain, columns)
    for column in ordered_columns:
        if column.values and not column.ordered:
            raise InputError(
                f'column {column.name!r} has no order; {family} need numbers, or "ordered": true'
            )
    return [column.nonmissing_size for column in ordered_columns]


def _distinct_columns(domain: Domain, columns: Sequence[str]) -> list[Column]:
    """Return the named columns as a list; InputError for none, or for a repeated one."""
    if not columns or len(set(columns)) < len(columns):
        raise InputError(
            f"the columns {', '.join(columns) or '(none)'} must be at least one, and each only once"
        )
    return [domain.columns[a] for a in domain.axes(columns)]


def _interval_queries(
    domain: Domain, columns: Sequence[str], ends: list[tuple[Array, Array]]
) -> TableQueries:
    """Return queries for intervals of each column, given by their first and last cells."""
    parts = []
    labels = []
    for column, (first, last) in zip(
        (domain.columns[a] for a in domain.axes(columns)), ends, strict=True
    ):
        cells = np.arange(column.size)
        parts.append(([column.name], (first[:, None] <= cells) & (cells <= last[:, None])))
        labels += [
            ((column.name, column.label_of_range(a, b)),) for a, b in zip(first, last, strict=True)
        ]
    return TableQueries(domain, parts, labels)


def _random_set(size: int, rng: Rng) -> Array:
    """Return a random set of cells with at least one cell inside and one outside.

    Every other cell is inside with probability ½.
    """
    order = rng.permutation(size)
    is_inside = rng.random(size) < 0.5
    is_inside[0] = True
    is_inside[1:2] = False
    return order[is_inside]


def _conjunction_cells(columns: list[Column], sets: list[Array]) -> tuple[Array, QueryLabel]:
    """Return the cells of a table that lie in every column's set, and the conjunction's label."""
    for column, cells in zip(columns, sets, strict=True):
        if not (len(cells) and cells[0] >= 0 and cells[-1] < column.size):
            raise InputError(
                f"a set of {column.name!r} must hold some of its values 0..{column.size - 1}"
            )
    label = tuple(
        (column.name, _set_label(column, cells))
        for column, cells in zip(columns, sets, strict=True)
    )
    return np.ravel_multi_index(np.ix_(*sets), tuple(c.size for c in columns)).ravel(), label


def _set_label(column: Column, cells: Array) -> str:
    """Return the labels of a set of a column's values, joined by "or".

    Only the first of many are named.
    """
    first_labels = " or ".join(column.labels[cell] for cell in cells[:MAX_VALUES_IN_LABEL])
    return (
        first_labels
        if len(cells) <= MAX_VALUES_IN_LABEL
        else f"{first_labels} or … ({len(cells)} in all)"
    )


def _direction_label(names: Sequence[str], slopes: Array) -> str:
    """Return the label of a half-space's direction.

    It is such as `0.61·age − 0.79·hours (each scaled to 0..1)`.
    """
    terms = "".join(
        f" {'−' if a < 0 else '+'} {abs(a):.3g}·{name}"
        for name, a in zip(names, slopes, strict=True)
    )
    return terms.removeprefix(" + ").removeprefix(" ") + " (each scaled to 0..1)"
