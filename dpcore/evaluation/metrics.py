"""How far released answers are from the truth."""

from dataclasses import asdict, dataclass

import numpy as np

from ..workloads import Workload


@dataclass(frozen=True)
class Errors:
    """Differences of probabilities over all workload cells: largest, mean, root mean square; `mean_l1` is the mean over
    tables of the L1 distance (None for a workload without tables).
    """

    max_error: float
    mean_error: float
    rmse: float
    mean_l1: float | None

    @property
    def headline(self) -> tuple[str, float]:
        """What a line of progress shows."""
        return "max error", self.max_error

    def to_json(self) -> dict[str, float | None]:
        """The four numbers by name."""
        return asdict(self)


def errors(answers: np.ndarray, truth: np.ndarray, workload: Workload) -> Errors:
    """Errors of `answers` (m,) against `truth` (m,)."""
    gaps = np.abs(answers - truth)
    ends = [end for t in workload.tables for end in (t.start, t.stop)]  # between two tables there may be other answers
    l1 = float(np.add.reduceat(np.append(gaps, 0), ends)[::2].mean()) if workload.tables else None
    return Errors(float(gaps.max()), float(gaps.mean()), float(np.sqrt(np.mean(gaps**2))), l1)
