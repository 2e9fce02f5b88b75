"""Marginal tables that a workload reads, and category shares estimated from noisy tables.

Sees noisy answers, never rows.
"""

import numpy as np

from ..core.errors import InputError
from ..core.types import Array
from ..privacy.noisy_answers import NoisyAnswers
from ..queries import Marginals, Workload

MIN_CATEGORY_SHARE = 1e-4  # least share of a category in the product of noisy 1-way marginals


def require_marginals(workload: Workload, algorithm_name: str = "this algorithm") -> Marginals:
    """Return the marginal tables from which all queries of a workload are computed.

    Raises InputError, naming the algorithm, where there are none.
    """
    if workload.base is None:
        raise InputError(
            f"{algorithm_name} needs queries on marginal tables; for a query matrix choose "
            "measure=query"
        )
    return workload.base


def queried_columns(workload: Workload) -> list[int]:
    """Return the numbers of the columns whose tables some query is computed from, sorted."""
    all_axes = [axes for w, _ in workload.parts if w.base for axes in w.base.axes]
    return sorted({a for axes in all_axes for a in axes})


def one_way_marginals(workload: Workload) -> Marginals:
    """Return the 1-way tables of every column whose tables some query is computed from."""
    return Marginals.over_axes(workload.domain, [(a,) for a in queried_columns(workload)])


def one_way_shares(one_way: NoisyAnswers) -> list[Array]:
    """Return each column's category shares, estimated from noisy 1-way tables.

    Each table is shrunk to even shares; then the nearest distribution is taken, and floored.
    """
    return [floored_distribution(table) for table in shrink_to_uniform(one_way)]


def floored_distribution(y: Array) -> Array:
    """Return the distribution (k,) nearest to y (k,), with no share of nearly 0."""
    shares = np.maximum(project_onto_simplex(y), MIN_CATEGORY_SHARE)
    return shares / shares.sum()


def shrink_to_uniform(one_way: NoisyAnswers) -> list[Array]:
    """Return the noisy 1-way tables, each shrunk to even shares as far as its noise calls for.

    Cells may be below 0. A table is 1/k + c (y − mean y), with the c for which the distribution D_c
    nearest to it has the least squared error by Stein's unbiased estimate, ‖D_c − y‖² + 2σ² c
    (cells above 0 − 1) − kσ². c is 0, 0.05..1 times 1/k : (1/k + σ²), as shares of k categories
    have a mean square distance of at most 1/k from the uniform: were noise larger than all there
    is, its largest cell would else get all. Source: Stein 1981.
    """
    tables = []
    for table in one_way.workload.tables:
        noisy = one_way.values[table]
        variance = one_way.stddev[table.start] ** 2
        k = len(noisy)
        factors = np.linspace(1, 0, 21) / (1 + k * variance)
        shrunken = np.array([1 / k + c * (noisy - noisy.mean()) for c in factors])
        projected = np.array([project_onto_simplex(y) for y in shrunken])
        risks = ((projected - noisy) ** 2).sum(axis=1) + 2 * variance * factors * (
            (projected > 0).sum(axis=1) - 1
        )
        tables.append(shrunken[risks.argmin()])
    return tables


def project_onto_simplex(y: Array) -> Array:
    """Return the distribution (k,) nearest to y (k,) in ‖·‖₂.

    It is max(y − t, 0) with the t that makes it sum to 1. Noise on empty cells falls away, where
    cutting at 0 alone would leave half of it. Source: Held, Wolfe, Crowder 1974.
    """
    y = y - y.max()  # moves t alone, and keeps the 1 beside noise however large
    descending = np.sort(y)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, len(y) + 1)
    return np.maximum(y - shifts[np.flatnonzero(descending > shifts)[-1]], 0.0)
