"""Several workloads combined into one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from ..data.domain import Countable
from ..errors import InputError
from ..types import Array, Axes
from .base import Workload
from .explicit import Explicit
from .marginals import Marginals
from .table_queries import Label, TableQueries


class Union:
    """The queries of several workloads on one domain, one after the other; nested unions are flattened.

    All members that read marginal tables share them: `base` sums them out once, and `matrix` (m, base.m) reads them;
    its rows are empty for an explicit member, and `base` is None where there is no other.
    """

    def __init__(self, workloads: Iterable[Workload]) -> None:
        flat = (w.workloads if isinstance(w, Union) else [w] for w in workloads)
        self.workloads: tuple[Workload, ...] = tuple(chain.from_iterable(flat))
        if not self.workloads:
            raise InputError("the union holds no questions; at least one is needed")
        if strange := [w for w in self.workloads if not isinstance(w, Marginals | TableQueries | Explicit)]:
            raise InputError(f"{type(strange[0]).__name__} is not a set of questions that a union can hold")
        self.domain = self.workloads[0].domain
        if any(w.domain != self.domain for w in self.workloads):
            raise InputError("the questions of a union must be about one domain")
        self.places = tuple(slice(a, b) for a, b in pairwise([0, *accumulate(w.m for w in self.workloads)]))
        self.m = self.places[-1].stop
        self.width = max(w.width for w in self.workloads)
        self.tables = tuple(
            slice(place.start + table.start, place.start + table.stop)
            for w, place in zip(self.workloads, self.places, strict=True)
            for table in w.tables
        )
        tables = [base for w in self.workloads if (base := _base(w))]
        self.base = _merged(tables) if tables else None

    @cached_property
    def matrix(self) -> Any:
        """The coefficients (m, base.m) of each query on the cells of the shared tables; None without tables."""
        return csr_array(vstack([_coefficients(w, self.base) for w in self.workloads])) if self.base else None

    @property
    def measured(self) -> "Marginals | Union":
        """The workload that noise is added to: the union of the members' own, with each table once.

        Where that is tables only, they are all of them or those inside no other one: whichever leaves the answers the
        smaller total variance.
        """
        chosen = [w.measured for w in self.workloads]
        tables = [w for w in chosen if isinstance(w, Marginals)]
        others = [w for w in chosen if not isinstance(w, Marginals)]
        if others:
            return Union([_merged(tables), *others]) if tables else self
        every = _merged(tables)
        alone = [every.containing(axes).sum() == 1 for axes in every.axes]
        outer = Marginals(self.domain, [c for c, outside in zip(every.columns, alone, strict=True) if outside])
        reads: defaultdict[Axes, float] = defaultdict(float)
        for w in self.workloads:
            for axes, squares in w.component_squares.items() if isinstance(w, Marginals | TableQueries) else ():
                reads[axes] += squares
        return min(every, outer, key=lambda tables: tables.variance(reads))

    def answers(self, D: Array) -> Array:
        """The answers ⟨q_j, D⟩ (m,) for weights D (k,), with one pass for all tables."""
        out = np.zeros(self.m) if self.base is None else self.matrix @ self.base.answers(D)
        for w, place in self._explicit():
            out[place] = w.answers(D)
        return out

    def answers_of_rows(self, rows: Countable) -> Array:
        """The answers ⟨q_j, P_n⟩ (m,) on records."""
        out = np.zeros(self.m) if self.base is None else self.matrix @ self.base.answers_of_rows(rows)
        for w, place in self._explicit():
            out[place] = w.answers_of_rows(rows)
        return out

    def adjoint(self, w: Array) -> Array:
        """The sum Σ_j w_j q_j of all queries (k,), for weights w (m,)."""
        q = np.zeros(self.domain.size) if self.base is None else self.base.adjoint(self.matrix.T @ w)
        return q + sum(member.adjoint(w[place]) for member, place in self._explicit())

    def add_query(self, q: Array, j: int, amount: float) -> None:
        """Add amount · q_j in place to q (k,)."""
        member, own = self._member(j)
        member.add_query(q, own, amount)

    def label(self, j: int) -> Label:
        """The label of query j in the member that it comes from."""
        member, own = self._member(j)
        return member.label(own)

    def _member(self, j: int) -> tuple[Workload, int]:
        """The member that contains query j, and j's number there."""
        which = next(i for i, place in enumerate(self.places) if j < place.stop)
        return self.workloads[which], j - self.places[which].start

    def _explicit(self) -> Iterator[tuple[Explicit, slice]]:
        for w, place in zip(self.workloads, self.places, strict=True):
            if isinstance(w, Explicit):
                yield w, place


def marginal_tables(workload: Workload) -> Marginals | None:
    """The marginal tables that determine all queries of a workload; None with an explicit member."""
    if isinstance(workload, Union):
        return None if any(isinstance(member, Explicit) for member in workload.workloads) else workload.base
    return _base(workload)


def reading(workload: Workload) -> Any:
    """The sparse matrix (m, base.m) from the cells of its tables to a workload's queries; InputError without one."""
    if not isinstance(workload, TableQueries | Union) or workload.base is None:
        raise InputError(f"a {type(workload).__name__} is not read off tables by a matrix")
    return workload.matrix


def _base(w: Workload) -> Marginals | None:
    """The marginal tables that a member's queries are computed from; None for an explicit member."""
    return w if isinstance(w, Marginals) else w.base if isinstance(w, TableQueries) else None


def _merged(several: Iterable[Marginals]) -> Marginals:
    """The marginal tables of several workloads, without repeats."""
    several = list(several)
    distinct = {axes: columns for w in several for axes, columns in zip(w.axes, w.columns, strict=True)}
    return Marginals(several[0].domain, distinct.values())


def _coefficients(w: Workload, base: Marginals) -> csr_array:
    """The coefficients (m, base.m) of a member's queries on the cells of the shared tables."""
    if not (own := _base(w)):
        return csr_array((w.m, base.m))
    place = dict(zip(base.axes, base.tables, strict=True))
    shared = np.concatenate([np.arange(place[axes].start, place[axes].stop) for axes in own.axes])
    if isinstance(w, TableQueries):
        return csr_array((w.matrix.data, shared[w.matrix.indices], w.matrix.indptr), (w.m, base.m))
    return csr_array((np.ones(w.m), shared, np.arange(w.m + 1)), (w.m, base.m))
