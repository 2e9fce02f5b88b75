"""What a workload is, and how far apart the columns of its matrix are."""

from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist

from ..data.domain import Countable, Domain
from ..types import Array

EXACT_COLUMNS, EXACT_WORK = 3000, 10**9  # up to these numbers of columns and products all pairs are compared
BLOCK = 10_000_000  # entries of a dense block


class Workload(Protocol):
    """m linear queries over the cells of `domain`."""

    domain: Domain
    m: int

    @property
    def tables(self) -> tuple[slice, ...]:
        """The slices of the answers whose queries partition the records; empty if none are known."""
        ...

    @property
    def width(self) -> float:
        """The largest change max_q (hi − lo) of one unnormalised answer when one record is replaced."""
        ...

    @property
    def measured(self) -> "Workload":
        """The workload that Gaussian noise should be added to, so that these answers follow accurately."""
        ...

    def answers(self, D: Array) -> Array:
        """The answers ⟨q_j, D⟩ (m,) of all queries for weights D (k,)."""
        ...

    def answers_of_rows(self, rows: Countable) -> Array:
        """The answers ⟨q_j, P_n⟩ (m,) of all queries on records, without listing the k cells where possible."""
        ...

    def adjoint(self, w: Array) -> Array:
        """The sum Σ_j w_j q_j of all queries as a function on cells (k,), for weights w (m,)."""
        ...

    def add_query(self, q: Array, j: int, amount: float) -> None:
        """Add amount · q_j in place to q (k,), touching only the support of q_j."""
        ...

    def label(self, j: int) -> tuple[tuple[str, str], ...]:
        """Query j in words, as (column, value) pairs; the caller escapes hostile text."""
        ...


def extremes(A: Any) -> tuple[Array, Array]:
    """The lowest and the highest entry of every row of A (m, cells), dense or sparse, each (m,)."""
    return dense(A.min(axis=1)).ravel(), dense(A.max(axis=1)).ravel()


def largest_distance(A: Any, norm: int) -> float:
    """An upper bound on the largest distance max_{z,z'} ‖A_z − A_z'‖ of two columns of A (m, cells); norm 1 or 2.

    Exact where all pairs of different columns can be compared (3,000 of them, if m is not huge); else twice the largest
    distance from the centre of the columns' box, at most twice too large by the triangle inequality.
    """
    m, cells = A.shape
    if m * cells <= BLOCK:
        columns = np.unique(dense(A).T, axis=0)
        if len(columns) <= min(EXACT_COLUMNS, (2 * EXACT_WORK / m) ** 0.5):
            return float(pdist(columns, "cityblock" if norm == 1 else "euclidean").max(initial=0.0))
    low, high = extremes(A)
    centre, step = (low + high)[:, None] / 2, max(1, BLOCK // m)
    blocks = (dense(A[:, i : i + step]) - centre for i in range(0, cells, step))
    return 2 * max(float(np.linalg.norm(block, ord=norm, axis=0).max()) for block in blocks)


def dense(A: Any) -> Array:
    """The matrix A as a dense array, whether it is sparse or dense."""
    return A.toarray() if issparse(A) else A
