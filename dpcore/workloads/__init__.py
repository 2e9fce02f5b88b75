"""Workloads: finite sets of linear queries over the cells of a domain.

A query maps cells to [-1, 1]. Every workload is closed under negation by the sign s of (j, s), never by storing −q.
"""

from .base import Workload
from .explicit import Explicit, RowSpace, row_space
from .marginals import Marginals
from .sealed import sealed, sealed_domain
from .table_queries import TableQueries
from .union import Union
