"""What leaves a private algorithm: a protocol and its kinds. Imports domain, workloads and tags."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd

from .domain import Domain, Rows
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
        cells = _systematic(self.D, rows, rng)
        codes = np.column_stack(np.unravel_index(cells, self.domain.shape))
        return self.domain.decode(codes, rng)


@dataclass(frozen=True, eq=False)
class Records:
    """Synthetic rows: distinct `codes` (r, d) and how often each stands, whole `counts` (r,), not all zero.

    Its answers need a pass over the rows for every table and never the k cells, except for explicit matrices.
    """

    domain: Domain
    codes: np.ndarray
    counts: np.ndarray
    tag: ClassVar[Tag] = Tag.PAID

    @classmethod
    def of(cls, domain: Domain, codes: np.ndarray) -> "Records":
        """The release of rows (n, d), which may repeat."""
        rows = domain.group(codes)
        return cls(domain, rows.values, rows.weights)

    def answers(self, workload: Workload) -> np.ndarray:
        """Σ_r counts_r q_j(codes_r)/Σ counts (m,)."""
        return workload.answers_of_rows(Rows(self.codes, self.counts))

    def sample(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """`rows` records by systematic sampling of the synthetic ones, as `Histogram.sample`."""
        return self.domain.decode(self.codes[_systematic(self.counts, rows, rng)], rng)


def _systematic(weights: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Indices (rows,) in random order: i stands ⌊rows · share⌋ times or once more, its share being weights_i/Σ."""
    cumulative = np.cumsum(weights)
    points = (rng.random() + np.arange(rows)) * (cumulative[-1] / rows)
    return rng.permutation(np.minimum(np.searchsorted(cumulative, points, side="right"), len(weights) - 1))
