"""Workloads: finite sets of linear queries over the cells of a domain. Imports errors and domain.

A query maps cells to [-1, 1]. Every workload is closed under negation by the sign s of (j, s), never by storing −q.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import Protocol

import numpy as np
from scipy.spatial.distance import pdist

from .domain import Domain, Rows
from .errors import InputError


class Workload(Protocol):
    """m linear queries over the cells of `domain`."""

    domain: Domain
    m: int

    @property
    def tables(self) -> tuple[slice, ...]:
        """Slices of the answers that each partition the records; empty if none are known."""
        ...

    @property
    def width(self) -> float:
        """max_q (hi − lo): how far one record can move one unnormalised answer."""
        ...

    def answers(self, D: np.ndarray) -> np.ndarray:
        """⟨q_j, D⟩ for all j, (m,), for weights D (k,)."""
        ...

    def answers_of_rows(self, rows: Rows) -> np.ndarray:
        """⟨q_j, P_n⟩ for all j, (m,), without the k cells where possible."""
        ...

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """Σ_j w_j q_j as a function on cells (k,), for weights w (m,)."""
        ...

    def add_query(self, q: np.ndarray, j: int, amount: float) -> None:
        """q += amount · q_j in place on q (k,), touching only the support of q_j."""
        ...

    def label(self, j: int) -> tuple[tuple[str, str], ...]:
        """Query j as (column, value) pairs in words; hostile text is the reader's to escape."""
        ...


class Marginals:
    """Marginal tables on chosen column sets: query j is the indicator of one cell of one table.

    Answers are summed out of shared partial sums along a tree (a 2-way table comes from a 3-way one), so one pass costs
    a few additions per cell of the domain, not one per table.
    """

    width = 1.0

    def __init__(self, domain: Domain, columns: Iterable[Sequence[str]]) -> None:
        self.domain = domain
        self.columns = tuple(tuple(c) for c in columns)
        if not self.columns:
            raise InputError("the workload has no marginals; name at least one set of columns")
        self.axes = tuple(tuple(sorted(domain.axes(c))) for c in self.columns)
        for names, axes in zip(self.columns, self.axes, strict=True):
            if not names or len(set(axes)) < len(names):
                raise InputError(f"the marginal {names!r} must name at least one column, and each only once")
        if len(set(self.axes)) < len(self.axes):
            twice = next(c for c, a in zip(self.columns, self.axes, strict=True) if self.axes.count(a) > 1)
            raise InputError(f"the marginal {' × '.join(twice)} stands twice in the workload")
        self.shapes = tuple(tuple(domain.shape[a] for a in axes) for axes in self.axes)
        self._ends = np.cumsum([math.prod(s) for s in self.shapes])
        self.tables = tuple(slice(a, b) for a, b in pairwise([0, *self._ends.tolist()]))
        self.m = self.tables[-1].stop

    @classmethod
    def all(cls, domain: Domain, ways: int) -> "Marginals":
        """All marginals over `ways` columns; InputError when the domain has fewer."""
        if not 1 <= ways <= len(domain.columns):
            raise InputError(f"marginals over {ways} columns: outside 1..{len(domain.columns)}, the number of columns")
        return cls(domain, combinations(domain.names, ways))

    @cached_property
    def _tree(self) -> tuple[tuple[int, int, tuple[int, int, int], int], ...]:
        """(node, parent, (before, summed, after), table or -1), parents first; node 0 is the domain itself.

        A node is the set of axes summed out, in increasing order: early axes, long contiguous blocks, go first. A node
        that only leads on to the next axis is skipped, so that a run of axes is summed in one go.
        """
        every = range(len(self.domain.shape))
        targets = {tuple(a for a in every if a not in axes): i for i, axes in enumerate(self.axes)}
        prefixes = {gone[:i] for gone in targets for i in range(1, len(gone) + 1)}
        following: dict[tuple[int, ...], list[int]] = {gone: [] for gone in prefixes | {()}}
        for gone in prefixes:
            following[gone[:-1]].append(gone[-1])
        nodes: dict[tuple[int, ...], int] = {(): 0}
        steps = []
        for gone in sorted(prefixes, key=lambda g: (len(g), g)):
            if gone not in targets and following[gone] == [gone[-1] + 1]:
                continue
            parent = next(gone[:i] for i in range(len(gone) - 1, -1, -1) if gone[:i] in nodes)
            left = [d for a, d in enumerate(self.domain.shape) if a not in parent]
            first = gone[len(parent)] - len(parent)
            run = len(gone) - len(parent)
            cut = (math.prod(left[:first]), math.prod(left[first : first + run]), math.prod(left[first + run :]))
            nodes[gone] = len(nodes)
            steps.append((nodes[gone], nodes[parent], cut, targets.get(gone, -1)))
        return tuple(steps)

    @cached_property
    def _whole(self) -> int | None:
        """Which table, if any, is the whole domain (its sums are the domain itself)."""
        everything = tuple(range(len(self.domain.shape)))
        return self.axes.index(everything) if everything in self.axes else None

    def answers(self, D: np.ndarray) -> np.ndarray:
        """All marginal cells (m,) of weights D (k,)."""
        out = np.empty(self.m)
        sums: list[np.ndarray] = [D]
        for _, parent, cut, table in self._tree:
            block = sums[parent].reshape(cut)
            # numpy sums short inner blocks slowly, einsum does not.
            total = np.add.reduce(block, axis=1) if cut[2] >= 64 else np.einsum("abc->ac", block)
            sums.append(total)
            if table >= 0:
                out[self.tables[table]] = total.ravel()
        if self._whole is not None:
            out[self.tables[self._whole]] = D
        return out

    def answers_of_rows(self, rows: Rows) -> np.ndarray:
        """All marginal cells (m,) of the records' distribution, one count per table."""
        weights = rows.weights / rows.n
        out = np.empty(self.m)
        for axes, shape, table in zip(self.axes, self.shapes, self.tables, strict=True):
            index = np.ravel_multi_index(tuple(rows.values[:, a] for a in axes), shape)
            out[table] = np.bincount(index, weights, minlength=math.prod(shape))
        return out

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """Σ_j w_j q_j (k,): the same tree walked from the leaves to the root."""
        parts: list[np.ndarray | None] = [None] * (len(self._tree) + 1)
        for node, parent, cut, table in reversed(self._tree):
            here = parts[node]
            own = w[self.tables[table]] if table >= 0 else None
            here = own if here is None else here if own is None else here + own
            if parts[parent] is None:
                parts[parent] = np.zeros(math.prod(cut))
            parts[parent].reshape(cut)[...] += here.reshape(cut[0], 1, cut[2])  # type: ignore[union-attr]
        q = parts[0] if parts[0] is not None else np.zeros(self.domain.size)
        return q + w[self.tables[self._whole]] if self._whole is not None else q

    def place(self, j: int) -> tuple[int, tuple[int, ...]]:
        """The table of query j and its cell in that table."""
        table = int(np.searchsorted(self._ends, j, side="right"))
        cell = np.unravel_index(j - self.tables[table].start, self.shapes[table])
        return table, tuple(int(c) for c in cell)

    def add_query(self, q: np.ndarray, j: int, amount: float) -> None:
        """q += amount on the cells of the domain that query j counts."""
        table, cell = self.place(j)
        where: list[slice | int] = [slice(None)] * len(self.domain.shape)
        for axis, value in zip(self.axes[table], cell, strict=True):
            where[axis] = value
        q.reshape(self.domain.shape)[tuple(where)] += amount

    def label(self, j: int) -> tuple[tuple[str, str], ...]:
        """(column, value) pairs of query j."""
        table, cell = self.place(j)
        columns = [self.domain.columns[a] for a in self.axes[table]]
        return tuple((c.name, c.labels[v]) for c, v in zip(columns, cell, strict=True))


class Explicit:
    """Queries given as the rows of a matrix (m, k) with entries in [-1, 1]."""

    tables: tuple[slice, ...] = ()

    def __init__(self, domain: Domain, matrix: np.ndarray) -> None:
        matrix = np.asarray(matrix, dtype=float)
        if matrix.ndim != 2 or matrix.shape[0] < 1 or matrix.shape[1] != domain.size:
            raise InputError(f"the query matrix has shape {matrix.shape}; it must be (m, {domain.size}) with m ≥ 1")
        if not (np.abs(matrix) <= 1).all():
            at = np.argwhere(~(np.abs(matrix) <= 1))[0]
            raise InputError(f"the query matrix holds {matrix[tuple(at)]} in row {at[0]}, outside -1..1")
        self.domain = domain
        self.matrix = matrix
        self.m = matrix.shape[0]
        self.width = float(np.ptp(matrix, axis=1).max())

    @cached_property
    def diameter(self) -> float:
        """An upper bound on max_{z,z'} ‖A_z − A_z'‖₂ over columns: exact up to 3,000 cells."""
        columns = np.unique(self.matrix.T, axis=0)
        if len(columns) == 1:
            return 0.0
        if len(columns) <= 3000:
            return float(pdist(columns).max())
        centre = (columns.max(axis=0) + columns.min(axis=0)) / 2
        return 2 * float(np.linalg.norm(columns - centre, axis=1).max())

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
