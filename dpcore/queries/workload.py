"""What a workload is, and how far apart the columns of its matrix are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist

from ..core.types import Array, Axes
from ..schema.domain import Countable, Domain

QueryLabel = tuple[tuple[str, str], ...]
# up to these numbers of columns and products all pairs are compared
MAX_EXACT_COLUMNS = 3000
MAX_EXACT_PRODUCTS = 10**9
MAX_BLOCK_ENTRIES = 10_000_000  # entries of a dense block


class Workload:
    """The base of workloads: m linear queries over the cells of `domain`.

    `base` are the marginal tables from which all queries are computed, and `matrix` (m, base.m)
    does that; without a matrix the queries are the tables' cells themselves. Where queries are
    given on all combinations, `base` is None and `matrix` is (m, k); in a union with such a member
    both are None, and each member answers for itself. `tables` are the slices of the answers whose
    queries partition the records, as far as they are known. `width` is the largest change max_q (hi
    − lo) of one unnormalised answer when one record is replaced. `scored_tables` are the numbers of
    the tables that the K-marginal score averages over, where all of them are there.
    """

    domain: Domain
    m: int
    width: float
    base: Any = None
    matrix: Any = None
    tables: tuple[slice, ...] = ()
    scored_tables: Array | None = None

    @property
    def parts(self) -> tuple[tuple["Workload", slice], ...]:
        """The workloads that this one lists in turn, each with the slice of its answers.

        It is the workload itself, unless it is a union. No part is a union.
        """
        return ((self, slice(0, self.m)),)

    @property
    def measured_workload(self) -> "Workload":
        """The workload to add Gaussian noise to, so that these answers follow accurately."""
        return self

    @property
    def component_squares(self) -> Mapping[Axes, float]:
        """The squared lengths of all queries' components, by column set.

        `Marginals.variance` takes them.
        """
        return {}

    @property
    def entries(self) -> Array:
        """All values, other than 0, that queries have on cells of their tables or of the domain."""
        raise NotImplementedError

    def from_table_cells(self, cells: Array) -> Array:
        """Return the answers (m,) from values on the columns of `matrix`.

        These values are answers on the cells of tables, or weights (k,).
        """
        return cells if self.matrix is None else self.matrix @ cells

    def weights_on_cells(self, w: Array) -> Array:
        """Return weights w (m,) of the queries as weights of the columns of `matrix`."""
        return w if self.matrix is None else self.matrix.T @ w

    def answers(self, D: Array) -> Array:
        """Return the answers ⟨q_j, D⟩ (m,) of all queries for weights D (k,)."""
        return self.from_table_cells(self.base.answers(D))

    def answers_of_rows(self, rows: Countable) -> Array:
        """Return the answers ⟨q_j, P_n⟩ (m,) of all queries on rows.

        The k cells are not listed where possible.
        """
        return self.from_table_cells(self.base.answers_of_rows(rows))

    def adjoint(self, w: Array) -> Array:
        """Return the sum Σ_j w_j q_j of all queries as a function on cells (k,).

        The weights are w (m,).
        """
        return self.base.adjoint(self.weights_on_cells(w))

    def support(self, j: int) -> tuple[Axes, tuple[Any, ...], Array | float]:
        """Return the columns that query j reads, the index of its cells, and its values there.

        The index is that of the cells in the table of these columns; values of 1.0 mean all 1.
        """
        raise NotImplementedError

    def label(self, j: int) -> QueryLabel:
        """Return query j in words, as (column, value) pairs; the caller escapes hostile text."""
        raise NotImplementedError


def table_columns(workload: Workload) -> tuple[int, int] | None:
    """Return the least and the most columns of a table that is asked; None without tables."""
    counts = [len(axes) for part, _ in workload.parts if part.tables for axes in part.base.axes]
    return (min(counts), max(counts)) if counts else None


def row_extremes(A: Any) -> tuple[Array, Array]:
    """Return the lowest and the highest entry of every row of A (m, cells), each (m,).

    A is dense or sparse.
    """
    return to_dense(A.min(axis=1)).ravel(), to_dense(A.max(axis=1)).ravel()


def max_column_distance(A: Any, norm: int) -> float:
    """Return an upper bound on the largest distance max_{z,z'} ‖A_z − A_z'‖ of two columns.

    A is (m, cells), the norm 1 or 2. Exact if all pairs of different columns can be compared (3,000
    of them, if m is not huge); else twice the largest distance from the centre of the columns' box,
    at most twice too large by the triangle inequality.
    """
    m, cells = A.shape
    if m * cells <= MAX_BLOCK_ENTRIES:
        columns = np.unique(to_dense(A).T, axis=0)
        if len(columns) <= min(MAX_EXACT_COLUMNS, (2 * MAX_EXACT_PRODUCTS / m) ** 0.5):
            return float(pdist(columns, "cityblock" if norm == 1 else "euclidean").max(initial=0.0))
    low, high = row_extremes(A)
    centre = (low + high)[:, None] / 2
    step = max(1, MAX_BLOCK_ENTRIES // m)
    blocks = (to_dense(A[:, i : i + step]) - centre for i in range(0, cells, step))
    return 2 * max(float(np.linalg.norm(block, ord=norm, axis=0).max()) for block in blocks)


def to_dense(A: Any) -> Array:
    """Return the matrix A as a dense array, whether it is sparse or dense."""
    return A.toarray() if issparse(A) else A
