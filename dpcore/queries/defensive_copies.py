"""Private copies of workloads, which the code that made the originals cannot reach.

A Curator counts and calibrates on the twin: what is done to the original between two questions, on
purpose or not, changes neither the true answers that were kept for it nor the sensitivity that
noise is calibrated to.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from scipy.sparse import csr_array

from ..core.builtin_values import readonly_copy, to_builtin
from ..core.errors import InputError
from ..schema.domain import Column, Domain
from .explicit_queries import Explicit
from .marginals import Marginals
from .table_queries import TableQueries, parts_by_table
from .union import Union
from .workload import Workload

_DEFENSIVE_COPIES: "WeakKeyDictionary[Any, Workload]" = (
    WeakKeyDictionary()
)  # so that runs share what a copy found out


def defensive_domain_copy(domain: Domain) -> Domain:
    """Return a copy of the domain in new objects.

    Raises InputError for a domain not made of plain columns.
    """
    if type(domain) is not Domain or any(type(column) is not Column for column in domain.columns):
        raise InputError("a domain must be made of columns, and of nothing derived from them")
    columns = tuple(replace(column) for column in domain.columns)
    return Domain(columns, domain.peeked, measured=to_builtin(domain.measured))


def defensive_copy(workload: Workload, domain: Domain | None = None) -> Workload:
    """Return a private copy of a workload, rebuilt from its domain, columns and matrix alone.

    It is made when it is first asked for, and kept as long as the original is. Raises InputError
    for a type that is not one of this package's own, for a part that does not fit, and if `domain`
    is given and the workload speaks of another one.
    """
    if type(workload) not in (Marginals, Explicit, TableQueries, Union):
        raise InputError(
            f"{type(workload).__name__} is not a set of questions whose sensitivity is known here"
        )
    private_copy = _DEFENSIVE_COPIES.get(workload)
    if private_copy is None:
        private_copy = _rebuild_workload(workload, defensive_domain_copy(workload.domain))
        _DEFENSIVE_COPIES[workload] = private_copy
    if domain is not None and private_copy.domain.columns != domain.columns:
        raise InputError("the questions are about another schema than the rows")
    return private_copy


def _rebuild_workload(workload: Any, domain: Domain) -> Workload:
    """Return a new workload of the same kind on `domain`, from copies of what defines it."""
    if type(workload) is Union:
        return Union([defensive_copy(part, domain) for part, _ in workload.parts])
    if type(workload) is Explicit:
        return Explicit(domain, workload.matrix)
    if type(workload) is TableQueries:
        return TableQueries(domain, _copy_parts(workload))
    return Marginals(domain, to_builtin(workload.columns))


def _copy_parts(workload: TableQueries) -> Iterator[tuple[tuple[str, ...], csr_array]]:
    """Yield the parts of a workload, as `TableQueries` takes them, from copied arrays.

    The originals are the arrays that the workload stores.
    """
    base = Marginals(workload.domain, to_builtin(workload.base.columns))
    csr_arrays = (
        readonly_copy(getattr(workload.matrix, name)) for name in ("data", "indices", "indptr")
    )
    matrix: Any = csr_array(tuple(csr_arrays), (int(workload.m), base.m))
    matrix.check_format()
    return parts_by_table(base, matrix, readonly_copy(workload._table_of_query))
