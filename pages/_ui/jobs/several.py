"""Many runs of one problem in the shared pool: those planned, under way and found; what was found is kept."""

import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dpcore import Rows
from dpcore.experiments.pool import JobSpec, Result
from dpcore.experiments.sweep import Case, SweepPoint, point_of_job, still_to_run, task, time_left

from .runs import Runs

Found = TypeVar("Found")  # what a tab keeps of one run: its `point`, a SweepPoint, and more


@dataclass(eq=False)
class Several(Runs, Generic[Found]):
    """What a tab runs of one problem; `asked` is what makes runs comparable: table, questions, δ and the like."""

    error = ""  # a run that failed is found as such
    patience = 0.0  # its page is drawn anew with every run that came back: no time to lose each time
    problem: Any = None
    rows: Rows | None = None
    beside: Any = None  # what else a run is compared with: the population, or the records held out
    planned: list[Case] = field(default_factory=list)
    found: dict[Any, Found] = field(default_factory=dict)
    begun: float = 0.0
    before: frozenset = frozenset()  # what was found before that

    @abstractmethod
    def keep(self, point: SweepPoint, result: Result | None) -> Found:
        """What is kept of a run that ended, with its result, or failed or was refused, without one."""

    def run(self, planned: list[Case]) -> None:
        """Run what of the plan is not there yet."""
        self.planned, self.begun, self.before = planned, time.monotonic(), frozenset(self.found)
        for case in still_to_run(planned, [found.point for found in self.found.values()]):
            if refused := case.refused(self.problem):
                self.found[case.key] = self.keep(refused, None)
            else:
                self.submit(case, self.task_for(case))

    def task_for(self, case: Case) -> JobSpec:
        """One run of the problem, as the pool takes it."""
        return task(case, self.problem, self.shared(self.rows), self.beside)

    def gather(self) -> None:
        """Take in the jobs that have ended."""
        for case, job in [pair for pair in self.jobs if pair[1].ended]:
            self.jobs.remove((case, job))
            if job.state in ("done", "failed"):
                self.found[case.key] = self.keep(
                    point_of_job(case, job), job.results[0] if job.state == "done" else None
                )

    def cancel(self) -> None:
        """Cancel what runs; what is there stays."""
        self.gather()
        super().cancel()
        self.jobs = []

    def close(self) -> None:
        """Cancel, and let go of the problem and of what was found."""
        super().close()
        self.problem = self.rows = self.beside = None
        self.found, self.planned = {}, []

    @property
    def progress(self) -> float:
        """Share of the plan that is there."""
        return len(self.shown) / max(len(self.planned), 1)

    @property
    def words(self) -> str:
        """How much of the plan is there, and how long the rest will take."""
        new = [found.point for key, found in self.found.items() if key not in self.before]
        ahead = time_left(time.monotonic() - self.begun, new, (case for case, _ in self.jobs))
        return f"{len(self.shown)} of {len(self.planned)} runs{ahead}"

    @property
    def news(self) -> int:
        """How many runs were found."""
        return len(self.found)

    @property
    def shown(self) -> list[Found]:
        """What is there of what is planned now, in the order of the plan."""
        return [self.found[case.key] for case in self.planned if case.key in self.found]
