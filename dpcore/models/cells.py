"""Log-linear distributions on listed cells. Sees answers, never records."""

import math

import numpy as np

from ..data.domain import Domain
from ..problems import PublicStart
from ..releases import Histogram
from ..workloads import Workload


class Cells:
    """D ∝ exp(θ) over the k cells of a domain that can be: potentials θ and beliefs D are both vectors (k,)."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.size = domain.size

    def reader(self, workload: Workload) -> Workload:
        """How a workload's answers are read off beliefs: the workload itself knows."""
        return workload

    def normalise(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """log Z and D (k,) of potentials θ (k,)."""
        possible = self.domain.possible_cells
        if possible is not None:
            theta = np.where(possible, theta, -np.inf)
        top = float(theta.max())
        D = np.exp(theta - top)
        total = float(D.sum())
        return top + math.log(total), D / total

    def potentials(self, start: PublicStart) -> np.ndarray:
        """log D_0 (k,), −∞ where it has no mass."""
        with np.errstate(divide="ignore"):
            return np.log(start.listed)

    def release(self, beliefs: np.ndarray) -> Histogram:
        """The distribution."""
        return Histogram(self.domain, beliefs)
