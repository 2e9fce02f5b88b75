"""Learning runs in the shared pool: many methods at many ε over seeds, and what came back."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpcore import RiskMinimisation, Rows
from dpcore.core.types import frozen
from dpcore.evaluation.sweeps.sweep import Case, SweepPoint
from dpcore.evaluation.sweeps.worker_pool import RunResult

from ..jobs import CaseRuns


@frozen
class LearningRun:
    """One run: its point, and the parameter (d,) it released."""

    point: SweepPoint
    x: np.ndarray | None = None


@dataclass(eq=False)
class LearningRuns(CaseRuns[LearningRun]):
    """Runs of one learning problem in a browser tab, with the rows and the held-out rows."""

    def start(
        self,
        task: Any,
        problem_and_rows: tuple[RiskMinimisation, Rows, Rows | None],
        planned: list[Case],
        finished_runs: Iterable[LearningRun] = (),
    ) -> None:
        """Start the runs not in `finished_runs`; drop points of another problem.

        Points of the same problem are kept.
        """
        self.cancel()
        if self.requested != task:
            self.close()
            self.requested = task
            self.problem, self.rows, self.reference = problem_and_rows
            self.outcomes = {run.point.key: run for run in finished_runs}
        self.run(planned)

    def make_outcome(self, point: SweepPoint, result: RunResult | None) -> LearningRun:
        """Return the run of a point, with its parameter if it ended."""
        return LearningRun(point, None if result is None else result.release.x)

    def error_table(self) -> pd.DataFrame:
        """Return the finished runs as a table: algorithm, epsilon, seed, seconds, every error."""
        points = [run.point for run in self.finished_runs]
        lines = [
            {
                "algorithm": p.algorithm,
                "epsilon": p.epsilon,
                "seed": p.seed,
                **p.errors,
                "seconds": p.seconds,
            }
            for p in points
        ]
        return pd.DataFrame(lines)

    def coefficient_table(self, epsilon: float) -> pd.DataFrame:
        """Return the finished runs' coefficients at one ε: algorithm, coefficient, value."""
        names = () if self.problem is None else self.problem.names
        lines = [
            {"algorithm": run.point.algorithm, "coefficient": name, "value": float(value)}
            for run in self.planned_outcomes
            if run.x is not None and run.point.epsilon == epsilon
            for name, value in zip(names, run.x, strict=True)
        ]
        return pd.DataFrame(lines, columns=["algorithm", "coefficient", "value"])
