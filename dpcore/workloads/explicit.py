"""Queries given as a matrix over all cells. Imports errors, domain and base."""

from functools import cached_property

import numpy as np

from ..domain import Domain, Rows
from ..errors import InputError
from .base import largest_distance


class Explicit:
    """Queries given as the rows of a matrix (m, k) with entries in [-1, 1]; it is copied and cannot be changed."""

    tables: tuple[slice, ...] = ()

    def __init__(self, domain: Domain, matrix: np.ndarray) -> None:
        matrix = np.array(matrix)
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"the query matrix holds no real numbers (its type is {matrix.dtype})")
        matrix = matrix.astype(float, copy=False)
        if matrix.ndim != 2 or matrix.shape[0] < 1 or matrix.shape[1] != domain.size:
            raise InputError(f"the query matrix has shape {matrix.shape}; it must be (m, {domain.size}) with m ≥ 1")
        if not (np.abs(matrix) <= 1).all():
            at = np.argwhere(~(np.abs(matrix) <= 1))[0]
            raise InputError(f"the query matrix holds {matrix[tuple(at)]} in row {at[0]}, outside -1..1")
        matrix.flags.writeable = False
        self.domain = domain
        self.matrix = matrix
        self.m = matrix.shape[0]
        self.width = float(np.ptp(matrix, axis=1).max())

    @property
    def measured(self) -> "Explicit":
        """The queries themselves."""
        return self

    @cached_property
    def diameter(self) -> float:
        """An upper bound on max_{z,z'} ‖A_z − A_z'‖₂ over columns: exact up to 3,000 different ones."""
        return largest_distance(self.matrix, 2)

    @cached_property
    def diameter_l1(self) -> float:
        """The same in ‖·‖₁."""
        return largest_distance(self.matrix, 1)

    def answers(self, D: np.ndarray) -> np.ndarray:
        """⟨q_j, D⟩ (m,)."""
        return self.matrix @ D

    def answers_of_rows(self, rows: Rows) -> np.ndarray:
        """⟨q_j, P_n⟩ (m,), from the columns of the matrix that hold records."""
        return self.matrix[:, self.domain.index(rows.values)] @ (rows.weights / rows.n)

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """Σ_j w_j q_j (k,)."""
        return w @ self.matrix

    def add_query(self, q: np.ndarray, j: int, amount: float) -> None:
        """q += amount · q_j."""
        q += amount * self.matrix[j]

    def label(self, j: int) -> tuple[tuple[str, str], ...]:
        """The row's number: an explicit query has no words of its own."""
        return (("query", str(j)),)
