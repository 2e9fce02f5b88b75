"""Differentially private algorithms for tables, with exact accounting: see the README, and `python -m dpcore`."""

from .algorithms import ALGORITHMS
from .core.errors import BudgetError, InputError
from .data import samples
from .data.privacy_unit import PrivacyUnit, limit_rows
from .data.readers import read_json, read_table
from .data.sources.gathered_counts import gather
from .data.sources.open_source import source_at
from .evaluation.run import Run
from .privacy.accounting import Budget
from .problems import PointRelease, QueryRelease, RiskMinimisation
from .queries import Explicit, Marginals, TableQueries, Union
from .queries.parse_queries import read_queries
from .schema.domain import Column, Domain, Rows
from .schema.schema_json import domain_from_json, domain_to_json

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
