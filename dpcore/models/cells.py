"""Log-linear distributions on listed cells. Sees answers, never records."""

import math
from collections.abc import Collection, Iterator

import numpy as np

from ..data.domain import Domain
from ..problems import PublicStart
from ..releases import Histogram
from ..types import Array
from ..workloads import Marginals, Workload
from .base import Where


class Cells:
    """The family D ∝ exp(θ) over the k possible cells of a domain: θ and beliefs D are vectors (k,)."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.size, self.parts = domain.size, 1

    def reader(self, workload: Workload) -> Workload:
        """The reader of a workload's answers from beliefs: the workload itself."""
        return workload

    def normalise(self, theta: Array) -> tuple[float, Array]:
        """The log normaliser log Z and D (k,) of potentials θ (k,)."""
        possible = self.domain.possible_cells
        if possible is not None:
            theta = np.where(possible, theta, -np.inf)
        top = float(theta.max())
        D = theta - top
        np.exp(D, out=D)
        total = float(D.sum())
        D /= total
        return top + math.log(total), D

    def support(self, workload: Workload, j: int) -> tuple[int, Where, Array | float]:
        """The support of query j, as an index into the domain's table or, for an array, into D; and its values."""
        if isinstance(workload, Marginals):
            table, cell = workload.place(j)
            where = dict(zip(workload.axes[table], cell, strict=True))
            return 0, tuple(where.get(axis, slice(None)) for axis in range(len(self.domain.shape))), 1.0
        q = np.zeros(self.size)
        workload.add_query(q, j, 1.0)
        cells = np.flatnonzero(q)
        return 0, cells, q[cells]

    def tour(self, beliefs: Array, parts: Collection[int]) -> Iterator[tuple[int, Array]]:  # noqa: ARG002
        """The whole of D, as the domain's table."""
        yield 0, beliefs.reshape(self.domain.shape)

    def potentials(self, start: PublicStart) -> Array:
        """The potentials log D_0 (k,), −∞ where D_0 has no mass."""
        with np.errstate(divide="ignore"):
            return np.log(start.listed)

    def release(self, beliefs: Array) -> Histogram:
        """The distribution to release."""
        return Histogram(self.domain, beliefs)
