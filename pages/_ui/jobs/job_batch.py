"""Many runs of one problem in the shared pool: those planned, under way and found; what was found is kept."""

import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dpcore import Rows
from dpcore.accuracy.work_forecast import format_seconds
from dpcore.evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    job_spec_of_case,
    pending_cases,
    point_of_job,
)
from dpcore.evaluation.sweeps.worker_pool import JobSpec, RunResult

from .run_group import MIN_REPORTED_SECONDS, RunGroup
from .shared_pool import WORKER_COUNT, worker_pool

RunOutcome = TypeVar("Found")  # what a tab keeps of one run: its `point`, a SweepPoint, and more


@dataclass(eq=False)
class JobBatch(RunGroup, Generic[RunOutcome]):
    """What a tab runs of one problem; `asked` is what makes runs comparable: table, questions, δ and the like."""

    error = ""  # a run that failed is found as such
    patience_seconds = (
        0.0  # its page is drawn anew with every run that came back: no time to lose each time
    )
    problem: Any = None
    rows: Rows | None = None
    reference: Any = (
        None  # what else a run is compared with: the population, or the records held out
    )
    planned_cases: list[Case] = field(default_factory=list)
    outcomes: dict[Any, RunOutcome] = field(default_factory=dict)
    predicted_seconds: dict[Any, float] = field(
        default_factory=dict
    )  # seconds of a run, by its algorithm's name and budget
    run_seconds: dict[str, list[float]] = field(
        default_factory=dict
    )  # seconds of the runs that are done, by algorithm

    @abstractmethod
    def make_outcome(self, point: SweepPoint, result: RunResult | None) -> RunOutcome:
        """What is kept of a run that ended, with its result, or failed or was refused, without one."""

    def run(self, planned_cases: list[Case]) -> None:
        """Run what of the plan is not there yet."""
        self.planned_cases = planned_cases
        for case in pending_cases(
            planned_cases, [outcome.point for outcome in self.outcomes.values()]
        ):
            refusal = case.refused_point(self.problem)
            if refusal:
                self.outcomes[case.key] = self.make_outcome(refusal, None)
            else:
                self.submit(
                    case, self.task_for(case), self.predicted_seconds.get((case.name, case.budget))
                )

    def task_for(self, case: Case) -> JobSpec:
        """One run of the problem, as the pool takes it."""
        return job_spec_of_case(case, self.problem, self.share_rows(self.rows), self.reference)

    def collect_results(self) -> None:
        """Take in the jobs that have ended."""
        for case, job in [pair for pair in self.jobs if pair[1].ended]:
            self.jobs.remove((case, job))
            if job.state == "done":
                self.run_seconds.setdefault(case.name, []).append(job.took)
            if job.state in ("done", "failed"):
                self.outcomes[case.key] = self.make_outcome(
                    point_of_job(case, job), job.results[0] if job.state == "done" else None
                )

    def cancel(self) -> None:
        """Cancel what runs; what is there stays."""
        self.collect_results()
        super().cancel()
        self.jobs = []

    def close(self) -> None:
        """Cancel, and let go of the problem and of what was found."""
        super().close()
        self.problem = self.rows = self.reference = None
        self.outcomes = {}
        self.planned_cases = []
        self.run_seconds = {}
        self.predicted_seconds = {}

    @property
    def progress(self) -> float:
        """Share of the plan that is there."""
        return len(self.planned_outcomes) / max(len(self.planned_cases), 1)

    @property
    def status_text(self) -> str:
        """How much of the plan is there, and how long the rest will take, others' work that is before it included."""
        others_seconds = worker_pool().before(self.id, len(self.jobs))
        remaining_seconds = self.remaining_seconds + others_seconds
        text = f"{len(self.planned_outcomes)} of {len(self.planned_cases)} runs"
        if remaining_seconds >= MIN_REPORTED_SECONDS:
            text += f", {format_seconds(remaining_seconds)} left"
        if others_seconds >= MIN_REPORTED_SECONDS:
            text += f", {format_seconds(others_seconds)} of it others' work"
        return text

    @property
    def remaining_seconds(self) -> float:
        """The seconds that the runs under way will take: as those of the same algorithm did, else as was foreseen."""
        now = time.monotonic()
        seconds = 0.0
        for case, job in self.jobs:
            durations = self.run_seconds.get(case.name)
            expected = (
                sum(durations) / len(durations)
                if durations
                else worker_pool().pace.expect(job.seconds)
            )
            elapsed = now - job.began if job.began else 0.0
            seconds += max(expected - elapsed, 0.0)
        return seconds / max(min(WORKER_COUNT, len(self.jobs)), 1)

    @property
    def partial_result_count(self) -> int:
        """How many runs were found."""
        return len(self.outcomes)

    @property
    def planned_outcomes(self) -> list[RunOutcome]:
        """What is there of what is planned now, in the order of the plan."""
        return [self.outcomes[case.key] for case in self.planned_cases if case.key in self.outcomes]
