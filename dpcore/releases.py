"""What leaves a private algorithm: a protocol and its kinds. Imports domain, workloads and tags."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd

from .domain import Domain
from .tags import Tag
from .workloads import Workload


class Release(Protocol):
    """Released objects can answer queries and draw rows; both are post-processing and cost nothing."""

    tag: ClassVar[Tag]

    def answers(self, workload: Workload) -> np.ndarray:
        """The answers (m,) of the release."""
        ...

    def sample(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """`rows` synthetic records."""
        ...


@dataclass(frozen=True, eq=False)
class Histogram:
    """A distribution D (k,) over the cells of a domain: non-negative, summing to 1."""

    domain: Domain
    D: np.ndarray
    tag: ClassVar[Tag] = Tag.PAID

    def answers(self, workload: Workload) -> np.ndarray:
        """⟨q_j, D⟩ (m,)."""
        return workload.answers(self.D)

    def sample(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """`rows` records by systematic sampling: every cell gets ⌊rows · D⌋ or one more, then the rows are shuffled.

        This rounds far closer than independent draws, whose error 1/√rows would hide the algorithm's own.
        """
        cumulative = np.cumsum(self.D)
        points = (rng.random() + np.arange(rows)) * (cumulative[-1] / rows)
        cells = np.minimum(np.searchsorted(cumulative, points, side="right"), len(self.D) - 1)
        codes = np.column_stack(np.unravel_index(rng.permutation(cells), self.domain.shape))
        return self.domain.decode(codes, rng)
