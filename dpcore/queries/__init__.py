"""Workloads: finite sets of linear queries over the cells of a domain.

A query maps cells to [-1, 1]. Every workload is closed under negation by the sign s of (j, s),
never by storing −q.
"""

from .defensive_copies import defensive_copy, defensive_domain_copy
from .explicit_queries import Explicit, RowSpace, factorise_row_space
from .marginals import Marginals
from .table_queries import TableQueries
from .union import Union
from .workload import Workload
