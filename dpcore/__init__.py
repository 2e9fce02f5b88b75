"""Differentially private algorithms for tables, with exact accounting: see the README, and `python -m dpcore`."""

from .algorithms import ALGORITHMS
from .data import samples
from .data.domain import Column, Domain, Rows
from .data.privacy_unit import PrivacyUnit, limit_rows
from .data.readers import read_json, read_table
from .data.schema import domain_from_json, domain_to_json
from .data.sources.counts import gather
from .data.sources.files import source_at
from .errors import BudgetError, InputError
from .evaluation.run import Run
from .parsing.queries import read_queries
from .privacy.accounting import Budget
from .problems import PointRelease, QueryRelease, RiskMinimisation
from .workloads import Explicit, Marginals, TableQueries, Union

__all__ = [
    "ALGORITHMS",
    "Budget",
    "BudgetError",
    "Column",
    "Domain",
    "Explicit",
    "InputError",
    "Marginals",
    "PointRelease",
    "PrivacyUnit",
    "QueryRelease",
    "RiskMinimisation",
    "Rows",
    "Run",
    "TableQueries",
    "Union",
    "domain_from_json",
    "domain_to_json",
    "gather",
    "limit_rows",
    "read_json",
    "read_queries",
    "read_table",
    "samples",
    "source_at",
]
