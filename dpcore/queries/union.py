"""Several workloads combined into one."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from ..core.errors import InputError
from ..core.numbers import consecutive_slices
from ..core.types import Array, Axes
from ..schema.domain import Countable
from .explicit_queries import Explicit
from .marginals import Marginals
from .table_queries import TableQueries
from .workload import QueryLabel, Workload


class Union(Workload):
    """The queries of several workloads on one domain, in turn; nested unions are flattened.

    Members that all read marginal tables share them: `base` sums them out once, and `matrix` (m,
    base.m) reads them. With an explicit member, each member answers for itself.

    >>> domain = domain_from_json({"a": 2, "b": 3})
    >>> Union([Marginals.all(domain, 1), TableQueries.ranges(domain, ["b"])]).m
    11
    """

    def __init__(self, workloads: Iterable[Workload]) -> None:
        workload_list = list(workloads)
        if not workload_list:
            raise InputError("the union holds no questions; at least one is needed")
        unsupported = [
            w
            for w in workload_list
            if not isinstance(w, Marginals | TableQueries | Explicit | Union)
        ]
        if unsupported:
            raise InputError(
                f"{type(unsupported[0]).__name__} is not a set of questions that a union can hold"
            )
        flat_parts = [part for w in workload_list for part, _ in w.parts]
        self.domain = flat_parts[0].domain
        if any(w.domain != self.domain for w in flat_parts):
            raise InputError("the questions of a union must be about one domain")
        answer_slices = consecutive_slices(w.m for w in flat_parts)
        self._parts = tuple(zip(flat_parts, answer_slices, strict=True))
        self.m = answer_slices[-1].stop
        self.width = max(w.width for w in flat_parts)
        self.tables = tuple(
            slice(answer_slice.start + table.start, answer_slice.start + table.stop)
            for w, answer_slice in self._parts
            for table in w.tables
        )
        self.base = (
            _merge_tables([w.base for w in flat_parts]) if all(w.base for w in flat_parts) else None
        )

    @property
    def parts(self) -> tuple[tuple[Workload, slice], ...]:
        """The workloads of the union in turn, each with the slice of its answers.

        None of them is a union.
        """
        return self._parts

    @cached_property
    def matrix(self) -> Any:
        """The coefficients (m, base.m) of each query on the cells of the shared tables.

        None without tables.
        """
        return (
            csr_array(vstack([_coefficients(w, self.base) for w, _ in self.parts]))
            if self.base
            else None
        )

    @property
    def measured_workload(self) -> Workload:
        """The workload that noise is added to: the union of the members' own, with each table once.

        Where that is tables only, they are all of them or those inside no other one: whichever
        leaves the answers the smaller total variance.
        """
        measured_parts = [w.measured_workload for w, _ in self.parts]
        tables = [w for w in measured_parts if isinstance(w, Marginals)]
        others = [w for w in measured_parts if not isinstance(w, Marginals)]
        if others:
            return Union([_merge_tables(tables), *others]) if tables else self
        all_tables = _merge_tables(tables)
        is_maximal = [all_tables.contains_columns(axes).sum() == 1 for axes in all_tables.axes]
        maximal_tables = Marginals(
            self.domain,
            [c for c, maximal in zip(all_tables.columns, is_maximal, strict=True) if maximal],
        )
        squares: defaultdict[Axes, float] = defaultdict(float)
        for axes, length in chain.from_iterable(w.component_squares.items() for w, _ in self.parts):
            squares[axes] += length
        return min(all_tables, maximal_tables, key=lambda tables: tables.variance(squares))

    def answers(self, D: Array) -> Array:
        """Return the answers ⟨q_j, D⟩ (m,) for weights D (k,), with one pass for all tables."""
        return (
            super().answers(D)
            if self.base
            else np.concatenate([w.answers(D) for w, _ in self.parts])
        )

    def answers_of_rows(self, rows: Countable) -> Array:
        """Return the answers ⟨q_j, P_n⟩ (m,) on rows."""
        if self.base:
            return super().answers_of_rows(rows)
        return np.concatenate([w.answers_of_rows(rows) for w, _ in self.parts])

    def adjoint(self, w: Array) -> Array:
        """Return the sum Σ_j w_j q_j of all queries (k,), for weights w (m,)."""
        if self.base:
            return super().adjoint(w)
        return np.sum([part.adjoint(w[answer_slice]) for part, answer_slice in self.parts], axis=0)

    def support(self, j: int) -> tuple[Axes, tuple[Any, ...], Array | float]:
        """Return the columns, cells and values of query j in the part that it comes from."""
        part, part_query = self._part_of_query(j)
        return part.support(part_query)

    def label(self, j: int) -> QueryLabel:
        """Return the label of query j in the part that it comes from."""
        part, part_query = self._part_of_query(j)
        return part.label(part_query)

    def _part_of_query(self, j: int) -> tuple[Workload, int]:
        """Return the part that contains query j, and j's number there."""
        return next(
            (w, j - answer_slice.start) for w, answer_slice in self.parts if j < answer_slice.stop
        )


def _merge_tables(marginals: Iterable[Marginals]) -> Marginals:
    """Return the marginal tables of several workloads, without repeats."""
    marginals = list(marginals)
    distinct = {
        axes: columns for w in marginals for axes, columns in zip(w.axes, w.columns, strict=True)
    }
    return Marginals(marginals[0].domain, distinct.values())


def _coefficients(w: Workload, base: Marginals) -> csr_array:
    """Return the coefficients (m, base.m) of a part's queries on the cells of the shared tables."""
    cell_slices = (base.slices[axes] for axes in w.base.axes)
    shared_cells = np.concatenate(
        [np.arange(cell_slice.start, cell_slice.stop) for cell_slice in cell_slices]
    )
    if w.matrix is None:
        return csr_array((np.ones(w.m), shared_cells, np.arange(w.m + 1)), (w.m, base.m))
    return csr_array(
        (w.matrix.data, shared_cells[w.matrix.indices], w.matrix.indptr), (w.m, base.m)
    )
