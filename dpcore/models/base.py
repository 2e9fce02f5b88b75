"""What an algorithm that tilts a distribution asks of a model, whichever it has."""

from typing import Protocol

import numpy as np

from ..data.domain import Domain
from ..problems import PublicStart
from ..releases import Release
from ..workloads import Workload


class Reader(Protocol):
    """Reads the answers of a workload off a model's beliefs."""

    def answers(self, D: np.ndarray) -> np.ndarray:
        """⟨q_j, D⟩ (m,) of beliefs (size,)."""
        ...

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """Potentials (size,) of Σ_j w_j q_j."""
        ...


class Model(Protocol):
    """A log-linear family D ∝ exp(θ): potentials θ and beliefs are vectors (size,), which add up.

    What the domain's constraints forbid has no mass, whatever θ says of it.
    """

    domain: Domain
    size: int

    def reader(self, workload: Workload) -> Reader:
        """Of a workload whose tables the model holds; InputError for another one."""
        ...

    def normalise(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """log Z and the beliefs of potentials θ."""
        ...

    def potentials(self, start: PublicStart) -> np.ndarray:
        """θ (size,) of the public distribution, as far as the model holds it."""
        ...

    def release(self, beliefs: np.ndarray) -> Release:
        """What leaves."""
        ...
