"""Log-linear distributions on listed cells. Sees answers, never records."""

import numpy as np

from ..data.domain import Domain
from ..problems import PublicStart
from ..releases import Histogram
from ..types import Array
from ..workloads import Workload
from .junction import JunctionTree
from .tree import Tree


class Cells(Tree):
    """The family D ∝ exp(θ) over the k possible cells of a domain, one clique: θ and beliefs D are vectors (k,)."""

    def __init__(self, domain: Domain) -> None:
        super().__init__(domain, JunctionTree(domain.shape, (tuple(range(len(domain.shape))),), (-1,)))

    def reader(self, workload: Workload) -> Workload:
        """The reader of a workload's answers from beliefs: the workload, as beliefs are the distribution D."""
        return workload

    def potentials(self, start: PublicStart) -> Array:
        """The potentials log D_0 (k,), −∞ where D_0 has no mass."""
        with np.errstate(divide="ignore"):
            return np.log(start.listed)

    def release(self, beliefs: Array) -> Histogram:
        """The distribution to release, as shares of all cells."""
        return Histogram(self.domain, beliefs)
