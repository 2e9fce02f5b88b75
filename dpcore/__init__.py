"""Differentially private algorithms for tables, points and learning, with exact accounting.

See the README, and `python -m dpcore`. `tests/examples` holds programs to copy. The examples in
docstrings run after these lines:

>>> import numpy as np
>>> import pandas as pd
>>> from dpcore import *
"""

from .core import one_thread  # noqa: F401 - before anything loads numpy

# isort: split
from .algorithms import (
    AIM,
    ALGORITHMS,
    DPAM,
    DPFW,
    DPSGD,
    DQRS,
    FEM,
    GEM,
    MWEM,
    PEP,
    PMW,
    PSMM,
    RAP,
    AlternatingSampler,
    DualQuery,
    Exponential,
    GaussianMaxEnt,
    NoisyGD,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateEvolution,
    PrivateEvolutionTable,
    RankExponential,
    RegularizedExponential,
    Residual,
    SepFEM,
)
from .core.errors import BudgetError, InputError
from .data import samples
from .data.privacy_unit import PrivacyUnit, limit_rows
from .data.readers import read_json, read_table
from .data.sources.gathered_counts import gather
from .data.sources.open_source import source_at
from .evaluation.run import Run
from .privacy.accounting import Budget
from .problems import PointRelease, QueryRelease, RiskMinimisation
from .problems.parse_tasks import read_task
from .problems.regions import Ball, read_point_rows
from .queries import Explicit, Marginals, TableQueries, Union
from .queries.parse_queries import read_queries
from .schema.domain import Column, Domain, Rows
from .schema.schema_json import domain_from_json, domain_to_json

__all__ = [
    "AIM",
    "ALGORITHMS",
    "AlternatingSampler",
    "Ball",
    "Budget",
    "BudgetError",
    "Column",
    "DPAM",
    "DPFW",
    "DPSGD",
    "DQRS",
    "Domain",
    "DualQuery",
    "Explicit",
    "Exponential",
    "FEM",
    "GEM",
    "GaussianMaxEnt",
    "InputError",
    "MWEM",
    "Marginals",
    "NoisyGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PEP",
    "PMW",
    "PSMM",
    "PointRelease",
    "PrivacyUnit",
    "PrivateEvolution",
    "PrivateEvolutionTable",
    "QueryRelease",
    "RAP",
    "RankExponential",
    "RegularizedExponential",
    "Residual",
    "RiskMinimisation",
    "Rows",
    "Run",
    "SepFEM",
    "TableQueries",
    "Union",
    "domain_from_json",
    "domain_to_json",
    "gather",
    "limit_rows",
    "read_json",
    "read_point_rows",
    "read_queries",
    "read_table",
    "read_task",
    "samples",
    "source_at",
]
