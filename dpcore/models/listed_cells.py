"""Log-linear distributions on listed cells. Sees answers, never rows."""

import numpy as np

from ..core.types import Array
from ..queries import Workload
from ..schema.domain import Domain
from .junction_tree import JunctionTree
from .releases import Histogram
from .tree_model import JunctionTreeModel


class ListedCellsModel(JunctionTreeModel):
    """The model D ∝ exp(θ) over the k possible cells of a domain, which are one clique.

    θ and beliefs D are vectors (k,).
    """

    def __init__(self, domain: Domain) -> None:
        super().__init__(
            domain, JunctionTree(domain.shape, (tuple(range(len(domain.shape))),), (-1,))
        )

    def reader(self, workload: Workload) -> Workload:
        """Return the workload itself, which reads its answers from beliefs.

        The beliefs are the distribution D.
        """
        return workload

    def normalise(self, theta: Array) -> tuple[float, Array]:
        """Return the log normaliser and D (k,) of potentials θ (k,)."""
        D = theta if self._constraint_potentials is None else theta + self._constraint_potentials
        max_potential = D.max()
        D = D - max_potential
        total = np.exp(D, out=D).sum()
        D /= total
        return float(np.log(total) + max_potential), D

    def release(self, beliefs: Array) -> Histogram:
        """Return the distribution to release, as shares of all cells."""
        return Histogram(self.domain, beliefs)
