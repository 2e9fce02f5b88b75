"""Noisy answers as evidence, with their precisions, averages and sums. Sees noisy answers, never records."""

import math

import numpy as np

from ..core.errors import InputError
from ..core.types import Array, Axes, frozen
from ..models.junction_tree import JunctionTree
from ..queries import Marginals, Workload

MIN_CATEGORY_SHARE = 1e-4  # least share of a category in the product of noisy 1-way marginals
MIN_STDDEV = 1e-12  # standard deviation where nothing moves, so that residuals can be scaled by it


@frozen
class Evidence:
    """Noisy answers y (m,) of a workload with standard deviations (m,)."""

    workload: Workload
    y: Array
    sigma: Array


class PooledMeasurements:
    """Measured tables, each once: repeated measurements are averaged by precision.

    `precision_and_mean` are the precision of a cell and the mean values, by a table's columns;
    `precision` is that over all measurements.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.precision_and_mean: dict[Axes, tuple[float, Array]] = {}
        self.precision = 0.0

    def add(self, axes: Axes, values: Array, stddev: float) -> None:
        """Add a measurement of the table over these columns, each value with the given standard deviation."""
        precision = max(stddev, MIN_STDDEV) ** -2.0
        old_precision, mean = self.precision_and_mean.get(axes, (0.0, 0.0))
        total_precision = old_precision + precision
        self.precision_and_mean[axes] = (
            total_precision,
            (old_precision * mean + precision * values) / total_precision,
        )
        self.precision += precision

    def add_all(self, tables: Marginals, values: Array, stddev: Array) -> None:
        """Add joint measurements of several tables, with standard deviations (m,) that are equal within a table."""
        for axes, table in tables.slices.items():
            self.add(axes, values[table], float(stddev[table.start]))

    def drop_uncovered_tables(self, junction: JunctionTree) -> None:
        """Drop the tables that no clique holds."""
        self.precision_and_mean = {
            axes: average
            for axes, average in self.precision_and_mean.items()
            if junction.clique_containing(axes) is not None
        }

    @property
    def evidence(self) -> Evidence:
        """All measured tables with their averaged answers and standard deviations."""
        y = np.concatenate([mean for _, mean in self.precision_and_mean.values()])
        sigma = np.concatenate(
            [
                np.full(len(mean), precision**-0.5)
                for precision, mean in self.precision_and_mean.values()
            ]
        )
        return Evidence(
            Marginals.over_axes(self.workload.domain, self.precision_and_mean), y, sigma
        )


def marginals_and_slice(workload: Workload) -> tuple[Marginals, slice] | None:
    """The marginal tables of a workload, and the slice of their answers among all; None if there are none."""
    return next(
        (
            (part, answer_slice)
            for part, answer_slice in workload.parts
            if isinstance(part, Marginals)
        ),
        None,
    )


def require_marginals(workload: Workload, algorithm_name: str = "this algorithm") -> Marginals:
    """The tables from which all queries are computed; InputError, naming the algorithm, where there are none."""
    if workload.base is None:
        raise InputError(
            f"{algorithm_name} needs queries on marginal tables; for a query matrix choose "
            "measure=query"
        )
    return workload.base


def queried_columns(workload: Workload) -> list[int]:
    """The numbers of the columns whose tables some query is computed from, in rising order."""
    return sorted({a for w, _ in workload.parts if w.base for axes in w.base.axes for a in axes})


def one_way_marginals(workload: Workload) -> Marginals:
    """The 1-way tables of every column whose tables some query is computed from."""
    return Marginals.over_axes(workload.domain, [(a,) for a in queried_columns(workload)])


def one_way_shares(one_way: Evidence) -> list[Array]:
    """The share of every category by noisy 1-way tables drawn to even ones: the nearest distribution, floored."""
    return [floored_distribution(table) for table in shrink_to_uniform(one_way)]


def floored_distribution(y: Array) -> Array:
    """The distribution (k,) nearest to y (k,), with no share of nearly 0."""
    shares = np.maximum(project_onto_simplex(y), MIN_CATEGORY_SHARE)
    return shares / shares.sum()


def shrink_to_uniform(one_way: Evidence) -> list[Array]:
    """The noisy 1-way tables, each drawn to even shares by as much as noise makes it uneven; cells may be below 0.

    1/k + c (y − mean y), with the c for which the distribution D_c nearest to it has the least
    squared error by Stein's unbiased estimate, ‖D_c − y‖² + 2σ² c (cells above 0 − 1) − kσ². c is
    0, 0.05..1 times 1/k : (1/k + σ²), as shares of k categories have a mean square distance of at
    most 1/k from the uniform: were noise larger than all there is, its largest cell would else get
    all. Source: Stein 1981.
    """
    tables = []
    for table in one_way.workload.tables:
        noisy = one_way.y[table]
        variance = one_way.sigma[table.start] ** 2
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
    """The distribution (k,) nearest to y (k,) in ‖·‖₂: max(y − t, 0) with the t that makes it sum to 1.

    Noise on empty cells falls away, where cutting at 0 alone would leave half of it. Source: Held,
    Wolfe, Crowder 1974.
    """
    y = y - y.max()  # moves t alone, and keeps the 1 beside noise however large
    descending = np.sort(y)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, len(y) + 1)
    return np.maximum(y - shifts[np.flatnonzero(descending > shifts)[-1]], 0.0)


def marginalise_evidence(evidence: Evidence, workload: Workload) -> Evidence:
    """Noisy answers of `workload`, summed from larger noisy tables and averaged by precision.

    A cell of table A is the sum of Π_{S∖A} d_i cells of a table S ⊇ A, so its variance is that many
    times larger.
    """
    source_and_slice = marginals_and_slice(evidence.workload)
    if workload is evidence.workload or not source_and_slice or not isinstance(workload, Marginals):
        return evidence
    source, answer_slice = source_and_slice
    noisy = evidence.y[answer_slice]
    sigma = evidence.sigma[answer_slice]
    y = np.zeros(workload.m)
    precision = np.zeros(workload.m)
    for axes, table in workload.slices.items():
        for source_axes, shape, source_slice in source.layout:
            if set(axes) <= set(source_axes):
                summed_axes = tuple(i for i, a in enumerate(source_axes) if a not in axes)
                weight = 1 / (
                    sigma[source_slice.start] ** 2 * math.prod(shape[i] for i in summed_axes)
                )
                y[table] += (
                    weight * noisy[source_slice].reshape(shape).sum(axis=summed_axes).ravel()
                )
                precision[table] += weight
    return Evidence(workload, y / precision, 1 / np.sqrt(precision))
