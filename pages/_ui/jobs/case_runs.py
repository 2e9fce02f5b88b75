"""The runs of one problem in the shared pool: those planned, under way and finished.

What came of each is kept.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dpcore import Rows
from dpcore.accuracy.work_forecast import format_seconds
from dpcore.core.job import JobState
from dpcore.evaluation.sweeps.sweep import (
    Case,
    SweepPoint,
    job_spec_of_case,
    pending_cases,
    point_of_job,
)
from dpcore.evaluation.sweeps.worker_pool import JobSpec, RunJob, RunResult

from .job_group import MIN_REPORTED_SECONDS, GroupSummary, JobGroup
from .shared_pool import WORKER_COUNT, worker_pool

RunOutcome = TypeVar("RunOutcome")  # what a tab keeps of a run: its `point` and more


@dataclass(eq=False)
class CaseRuns(ABC, Generic[RunOutcome]):
    """The runs that a tab makes of one problem, and their outcomes.

    `requested` is what makes runs comparable: table, questions, δ and the like.
    """

    requested: Any = None
    problem: Any = None
    rows: Rows | None = None
    reference: Any = None  # what runs are also compared with: a population, or held-out rows
    planned_cases: list[Case] = field(default_factory=list)
    outcomes: dict[Any, RunOutcome] = field(default_factory=dict)
    # seconds of a run, by its algorithm's name and budget
    predicted_seconds: dict[Any, float] = field(default_factory=dict)
    # seconds of the runs that are done, by algorithm
    run_seconds: dict[str, list[float]] = field(default_factory=dict)
    group: JobGroup = field(default_factory=JobGroup)

    def __post_init__(self) -> None:
        self.group.follow_up = self.keep_outcomes
        self.group.summarise = self.summarise

    @abstractmethod
    def make_outcome(self, point: SweepPoint, result: RunResult | None) -> RunOutcome:
        """Return what is kept of a run that has ended.

        It ended with its result, or failed or was refused, without one.
        """

    def run(self, planned_cases: list[Case]) -> None:
        """Run what of the plan is not there yet."""
        self.planned_cases = planned_cases
        points = [outcome.point for outcome in self.outcomes.values()]
        for case in pending_cases(planned_cases, points):
            refusal = case.refused_point(self.problem)
            if refusal:
                self.outcomes[case.key] = self.make_outcome(refusal, None)
            else:
                seconds = self.predicted_seconds.get((case.name, case.budget))
                self.group.submit(case, self.make_spec(case), seconds)

    def make_spec(self, case: Case) -> JobSpec:
        """Return one run of the problem, as the pool takes it."""
        shared_rows = self.group.share_rows(self.rows)
        return job_spec_of_case(case, self.problem, shared_rows, self.reference)

    def keep_outcomes(self) -> None:
        """Take in the jobs that have ended."""
        for job in self.group.take_ended_jobs():
            case = job.key
            if job.state == JobState.DONE:
                self.run_seconds.setdefault(case.name, []).append(job.seconds)
                self.outcomes[case.key] = self.make_outcome(point_of_job(case, job), job.results[0])
            elif job.state == JobState.FAILED:
                self.outcomes[case.key] = self.make_outcome(point_of_job(case, job), None)

    def cancel(self) -> None:
        """Cancel what runs; what is there stays."""
        self.group.cancel()

    def close(self) -> None:
        """Cancel, and let go of the problem and of what was found."""
        self.group.close()
        self.requested = None
        self.problem = None
        self.rows = None
        self.reference = None
        self.outcomes = {}
        self.planned_cases = []
        self.run_seconds = {}
        self.predicted_seconds = {}

    def summarise(self) -> GroupSummary:
        """Return how much of the plan is done, and how long the rest will take.

        Others' work before it is included.
        """
        finished_count = len(self.planned_outcomes)
        planned_count = len(self.planned_cases)
        others_seconds = worker_pool().before(self.group.id, self._seconds_of_jobs)
        remaining_seconds = self.remaining_seconds + others_seconds
        text = f"{finished_count} of {planned_count} runs"
        if remaining_seconds >= MIN_REPORTED_SECONDS:
            text += f", {format_seconds(remaining_seconds)} left"
        if others_seconds >= MIN_REPORTED_SECONDS:
            text += f", {format_seconds(others_seconds)} of it others' work"
        return GroupSummary(finished_count / max(planned_count, 1), text, len(self.outcomes))

    @property
    def ended(self) -> bool:
        """Whether nothing is under way."""
        return self.group.ended

    @property
    def remaining_seconds(self) -> float:
        """The seconds that the runs under way will still take.

        They are those of finished runs of the same algorithm, else as predicted.
        """
        seconds = self._seconds_of_jobs
        return sum(seconds) / max(min(WORKER_COUNT, len(seconds)), 1)

    @property
    def planned_outcomes(self) -> list[RunOutcome]:
        """What is there of what is planned now, in the order of the plan."""
        return [self.outcomes[case.key] for case in self.planned_cases if case.key in self.outcomes]

    @property
    def finished_runs(self) -> list[RunOutcome]:
        """The planned runs that ended with a result: none that failed or was refused."""
        return [outcome for outcome in self.planned_outcomes if outcome.point.state == "done"]

    @property
    def _seconds_of_jobs(self) -> list[float]:
        return [job.remaining_seconds(self._expected_seconds(job)) for job in self.group.jobs]

    def _expected_seconds(self, job: RunJob) -> float:
        durations = self.run_seconds.get(job.key.name)
        if durations:
            return sum(durations) / len(durations)
        return worker_pool().pace.expect(job.predicted_seconds)
