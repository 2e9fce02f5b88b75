"""The closed set of statistics a Curator measures and of scores it selects by, each sensitivity derived beside it.

Imports workloads. P_n = (1/n) Σ e_{z_i}; neighbours replace one record, so P_n moves by (e_z − e_z')/n. Sensitivities
here are those of n · P_n ("one record moves"), the Curator divides by n.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..domain import Rows
from ..errors import InputError
from ..workloads import Explicit, Marginals, Workload


def check_workload(workload: Workload) -> None:
    """Refuse a workload whose sensitivities this file does not derive."""
    if type(workload) not in (Marginals, Explicit):
        raise InputError(f"{type(workload).__name__} is not a workload whose sensitivity is known here")


@dataclass(frozen=True, eq=False)
class Answers:
    """All answers (m,) of a workload.

    Marginals: a record stands in exactly one cell of each table, so replacing it moves two cells of each by 1 at the
    most: Δ₁ = 2 · tables, Δ₂ = √(2 · tables). Explicit matrix A: Δ₂ = max_{z,z'} ‖A_z − A_z'‖₂ over its columns, and
    Δ₁ ≤ √m Δ₂.
    """

    workload: Workload

    @property
    def l1(self) -> float:
        """Δ₁ for one record."""
        w = self.workload
        return 2.0 * len(w.tables) if isinstance(w, Marginals) else math.sqrt(w.m) * self.l2

    @property
    def l2(self) -> float:
        """Δ₂ for one record."""
        w = self.workload
        return math.sqrt(2 * len(w.tables)) if isinstance(w, Marginals) else w.diameter  # type: ignore[union-attr]

    def value(self, rows: Rows) -> np.ndarray:
        """The answers on the records (m,)."""
        return self.workload.answers_of_rows(rows)


@dataclass(frozen=True, eq=False)
class SignedErrors:
    """Scores s · (⟨q_j, P_n⟩ − answers_j) of all 2m signed queries (j, s): first s = +1, then s = −1.

    `answers` (m,) are public. One record moves ⟨q_j, P_n⟩ by hi_j − lo_j at the most: Δ = max_j (hi_j − lo_j). The
    two signs move opposite ways, so the scores are not monotone and the exponential mechanism keeps its factor 2.
    """

    workload: Workload
    answers: np.ndarray

    @property
    def sensitivity(self) -> float:
        """Δ for one record."""
        return self.workload.width

    def value(self, truth: np.ndarray) -> np.ndarray:
        """Scores (2m,) from the workload's answers on the records."""
        errors = truth - self.answers
        return np.concatenate([errors, -errors])
