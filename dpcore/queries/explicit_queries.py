"""Queries given as a matrix over all cells, and the space its rows span."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import qr

from ..core.builtin_values import frozen_copy
from ..core.errors import InputError
from ..core.types import Array, Axes, frozen
from ..schema.domain import Countable, Domain
from .workload import QueryLabel, Workload, max_column_distance

MAX_FACTORISATION_WORK = (
    2 * 10**8
)  # m · k · min(m, k) up to which a whole row space is computed: about a quarter of a second
MIN_SKETCH_ENTRIES = (
    10**5
)  # entries m · k from which a pass costs enough for a small row space to be looked for
MAX_FACTOR_ERROR = 1e-12  # error of an entry of A = C V up to which it serves
SKETCH_OVERSAMPLING = 8  # random combinations of the rows beyond the rank that is looked for


@frozen
class RowSpace:
    """The factorisation A = C V of a query matrix A (m, k) through an orthonormal basis.

    `basis` V (p, k) is an orthonormal basis of the rows of A, and `coordinates` are C (m, p). A
    query in these coordinates has at most p non-zeros (the paper says k − p), whatever k is. A pass
    over A costs O(mk), over C and V O((m + k)p): nothing is gained if the queries are independent,
    p = m ≤ k, and much if many follow from few. Source: Micali, Lezane, Betken 2025, section 4.
    """

    basis: Array
    coordinates: Array


def factorise_row_space(A: Array, max_rank: int | None = None) -> RowSpace | None:
    """Return the row space of A (m, k) by pivoted QR; None for a rank above `max_rank`.

    It takes O(mk min(m, k)) steps. Pivoting makes every later column, with what is already
    explained taken off, no longer than the diagonal entry of R at which the rank is cut: what is
    lost is at rounding level. The rank may come out too large, for matrices made for that (Kahan
    1966), which harms nothing. With `max_rank`, `max_rank` + 8 random combinations of the rows are
    factorised in their place, in O(mk · `max_rank`): if their rank is no larger they almost surely
    span all rows, and A = C V is checked.
    Source: Golub, Van Loan 2013, Algorithm 5.4.1; Halko, Martinsson, Tropp 2011, Algorithm 4.1.
    """
    sketch = A
    if max_rank is not None:  # public randomness: the queries are public
        sketch = (
            np.random.default_rng(0).standard_normal((max_rank + SKETCH_OVERSAMPLING, len(A))) @ A
        )
    factors: Any = qr(sketch.T, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(factors[1]))
    rank = int(np.count_nonzero(diagonal > max(A.shape) * np.finfo(float).eps * diagonal[0]))
    if max_rank is not None and rank > max_rank:
        return None
    V = np.ascontiguousarray(factors[0][:, :rank].T)
    C = A @ V.T
    return (
        RowSpace(V, C) if max_rank is None or np.abs(C @ V - A).max() <= MAX_FACTOR_ERROR else None
    )


class Explicit(Workload):
    """The queries given as rows of a matrix (m, k) with entries in [-1, 1].

    The matrix is copied and cannot be changed.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> Explicit(domain, np.ones((1, domain.size))).answers(np.full(6, 1 / 6)).round(9)
    array([1.])
    """

    def __init__(self, domain: Domain, matrix: Array) -> None:
        matrix = np.asarray(matrix)
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"the query matrix holds no real numbers (its type is {matrix.dtype})")
        matrix = frozen_copy(matrix)
        if matrix.ndim != 2 or matrix.shape[0] < 1 or matrix.shape[1] != domain.size:
            raise InputError(
                f"the query matrix has shape {matrix.shape}; it must be (m, {domain.size}) with "
                "m ≥ 1"
            )
        if not (np.abs(matrix) <= 1).all():
            invalid_entry = np.argwhere(~(np.abs(matrix) <= 1))[0]
            raise InputError(
                f"the query matrix holds {matrix[tuple(invalid_entry)]} in row "
                f"{invalid_entry[0]}, outside -1..1"
            )
        self.domain = domain
        self.matrix = matrix
        self.m = matrix.shape[0]
        self.width = float(np.ptp(matrix, axis=1).max())

    @property
    def entries(self) -> Array:
        """All entries (m, k) of the query matrix."""
        return self.matrix

    @cached_property
    def diameter(self) -> float:
        """An upper bound on the L2 sensitivity: max_{z,z'} ‖A_z − A_z'‖₂ over columns.

        Exact for up to 3,000 different columns.
        """
        return max_column_distance(self.matrix, 2)

    @cached_property
    def diameter_l1(self) -> float:
        """An upper bound on the L1 sensitivity: max_{z,z'} ‖A_z − A_z'‖₁ over columns.

        Exact for up to 3,000 different columns.
        """
        return max_column_distance(self.matrix, 1)

    @cached_property
    def row_space(self) -> RowSpace | None:
        """The space that the queries span; None where the matrix is too large to factorise."""
        return (
            factorise_row_space(self.matrix)
            if self.matrix.size * min(self.matrix.shape) <= MAX_FACTORISATION_WORK
            else None
        )

    @cached_property
    def _low_rank_factors(self) -> RowSpace | None:
        """The row space of a large matrix if it makes products faster; else None.

        It does if the rank is at most min(m, k)/8.
        """
        return (
            factorise_row_space(self.matrix, min(self.matrix.shape) // 8)
            if self.matrix.size >= MIN_SKETCH_ENTRIES
            else None
        )

    def answers(self, D: Array) -> Array:
        """Return the answers ⟨q_j, D⟩ (m,) for weights D (k,)."""
        return (
            self._low_rank_factors.coordinates @ (self._low_rank_factors.basis @ D)
            if self._low_rank_factors
            else self.matrix @ D
        )

    def answers_of_rows(self, rows: Countable) -> Array:
        """Return the answers ⟨q_j, P_n⟩ (m,) on rows, from the matrix columns of occupied cells."""
        return self.matrix[:, self.domain.cell_numbers(rows.values)] @ (
            rows.weights / rows.sum_divisor
        )

    def adjoint(self, w: Array) -> Array:
        """Return the sum Σ_j w_j q_j of all queries (k,), for weights w (m,)."""
        return (
            (w @ self._low_rank_factors.coordinates) @ self._low_rank_factors.basis
            if self._low_rank_factors
            else w @ self.matrix
        )

    def support(self, j: int) -> tuple[Axes, tuple[Any, ...], Array]:
        """Return all columns, all cells, and the values of query j, one axis a column."""
        return tuple(range(len(self.domain.shape))), (), self.matrix[j].reshape(self.domain.shape)

    def label(self, j: int) -> QueryLabel:
        """Return the number of query j as its label: rows of a matrix have no words."""
        return (("query", str(j)),)
