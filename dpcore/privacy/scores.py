"""Scores of tables and of streamed queries, each sensitivity derived beside it. Imports workloads and statistics.

They belong to the closed set that statistics.py begins: P_n moves by (e_z − e_z')/n between neighbours, sensitivities
are those of n · P_n, and the Curator divides by n.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..workloads import Marginals
from .statistics import check_workload


@dataclass(frozen=True, eq=False)
class TableErrors:
    """Scores w_S · (‖table_S(P_n) − answers_S‖₁ − penalty_S) of the tables S of marginals, (tables,).

    `answers` (m,), `penalties` and `weights` (tables,) ≥ 0 are public. A replaced record leaves one cell of a table for
    another, so table_S(n · P_n) moves by at most 2 in ‖·‖₁, and by the triangle inequality so does its distance from
    anything fixed; penalties do not move. Δ = 2 max_S w_S. A table's score can rise while another's falls, so the
    exponential mechanism keeps its factor 2.
    """

    workload: Marginals
    answers: np.ndarray
    penalties: np.ndarray
    weights: np.ndarray

    @property
    def sensitivity(self) -> float:
        """Δ for one record."""
        return 2.0 * float(self.weights.max())

    def check(self) -> None:
        """Raise InputError for another workload, and for arrays that do not fit it."""
        check_workload(self.workload)
        if not isinstance(self.workload, Marginals):
            raise InputError(f"tables of a {type(self.workload).__name__} cannot be scored, those of Marginals can")
        count = len(self.workload.tables)
        if not (self.answers.shape == (self.workload.m,) and self.penalties.shape == self.weights.shape == (count,)):
            raise InputError(
                f"scores of {count} tables need as many penalties and weights, and {self.workload.m} answers"
            )
        if not (np.isfinite(self.penalties).all() and (self.weights >= 0).all() and 0 < self.weights.max() < np.inf):
            raise InputError("penalties of tables must be finite, weights ≥ 0 and finite, one of them above 0")

    def value(self, truth: np.ndarray) -> np.ndarray:
        """Scores (tables,) from the workload's answers on the records."""
        starts = [table.start for table in self.workload.tables]
        distances = np.add.reduceat(np.abs(truth - self.answers), starts)
        return self.weights * (distances - self.penalties)
