"""Many runs of one problem in the shared pool: those planned, under way and found; what was found is kept."""

import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dpcore import Rows
from dpcore.accuracy.work_forecast import in_seconds
from dpcore.evaluation.sweeps.sweep import Case, SweepPoint, point_of_job, still_to_run, task
from dpcore.evaluation.sweeps.worker_pool import JobSpec, Result

from .run_group import SAID, Runs
from .shared_pool import WORKERS, pool

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
    foreseen: dict[Any, float] = field(default_factory=dict)  # seconds of a run, by its algorithm's name and budget
    took: dict[str, list[float]] = field(default_factory=dict)  # seconds of the runs that are done, by algorithm

    @abstractmethod
    def keep(self, point: SweepPoint, result: Result | None) -> Found:
        """What is kept of a run that ended, with its result, or failed or was refused, without one."""

    def run(self, planned: list[Case]) -> None:
        """Run what of the plan is not there yet."""
        self.planned = planned
        for case in still_to_run(planned, [outcome.point for outcome in self.found.values()]):
            if refusal := case.refused(self.problem):
                self.found[case.key] = self.keep(refusal, None)
            else:
                self.submit(case, self.task_for(case), self.foreseen.get((case.name, case.budget)))

    def task_for(self, case: Case) -> JobSpec:
        """One run of the problem, as the pool takes it."""
        return task(case, self.problem, self.shared(self.rows), self.beside)

    def gather(self) -> None:
        """Take in the jobs that have ended."""
        for case, job in [pair for pair in self.jobs if pair[1].ended]:
            self.jobs.remove((case, job))
            if job.state == "done":
                self.took.setdefault(case.name, []).append(job.took)
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
        self.found, self.planned, self.took, self.foreseen = {}, [], {}, {}

    @property
    def progress(self) -> float:
        """Share of the plan that is there."""
        return len(self.shown) / max(len(self.planned), 1)

    @property
    def words(self) -> str:
        """How much of the plan is there, and how long the rest will take, others' work that is before it included."""
        others_seconds = pool().before(self.id, len(self.jobs))
        remaining_seconds = self.seconds_left + others_seconds
        text = f"{len(self.shown)} of {len(self.planned)} runs"
        if remaining_seconds >= SAID:
            text += f", {in_seconds(remaining_seconds)} left"
        if others_seconds >= SAID:
            text += f", {in_seconds(others_seconds)} of it others' work"
        return text

    @property
    def seconds_left(self) -> float:
        """The seconds that the runs under way will take: as those of the same algorithm did, else as was foreseen."""
        now, seconds = time.monotonic(), 0.0
        for case, job in self.jobs:
            durations = self.took.get(case.name)
            expected = sum(durations) / len(durations) if durations else pool().pace.expect(job.seconds)
            elapsed = now - job.began if job.began else 0.0
            seconds += max(expected - elapsed, 0.0)
        return seconds / max(min(WORKERS, len(self.jobs)), 1)

    @property
    def news(self) -> int:
        """How many runs were found."""
        return len(self.found)

    @property
    def shown(self) -> list[Found]:
        """What is there of what is planned now, in the order of the plan."""
        return [self.found[case.key] for case in self.planned if case.key in self.found]
