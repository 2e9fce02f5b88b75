"""Runs in the shared pool that belong together, watched and cancelled as one.

They may be of several data sets, settings and seeds. A group is made of jobs and says of all of
them what a `Job` says of one: its end, progress, results, error and cancelling. Whoever needs more
gives it functions: `follow_up` takes in runs that have ended and submits the next ones,
`summarise` says how far a larger plan is.

>>> from dpcore.core.job import Job, JobState
>>> first, second = Job(task="a"), Job(task="b")
>>> group = JobGroup(jobs=[first, second])
>>> first.end(JobState.DONE)
>>> group.progress, group.status_text, group.ended
(0.5, '1 of 2 runs', False)
>>> group.cancel()
>>> second.cancel_requested
True
>>> second.end(JobState.CANCELLED)
>>> group.ended, group.cancelled
(True, True)
"""

import time
import uuid
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dpcore import Rows
from dpcore.accuracy.work_forecast import format_seconds
from dpcore.core.job import Job, JobState
from dpcore.core.types import frozen, value_object
from dpcore.evaluation.sweeps.shared_rows import SharedRows
from dpcore.evaluation.sweeps.worker_pool import JobSpec, RunJob, RunResult

from ..session import session
from .public_runs import public_runs
from .shared_pool import worker_pool

MIN_REPORTED_SECONDS = 1.0  # seconds of others' work from which it is said


def queue_delay_text(seconds: float) -> str:
    """Say the time that others' work takes before; nothing where that is short."""
    return (
        f" After {format_seconds(seconds)} of others' work."
        if seconds >= MIN_REPORTED_SECONDS
        else ""
    )


@frozen
class PlannedRun:
    """One run: what it is called here, its data, and the rest of a pool's JobSpec.

    `public_key` is what determines a run of a public sample, which all tabs share; None for any
    other run.
    """

    key: Hashable
    rows: Rows
    task: dict[str, Any]
    predicted_seconds: float | None = None
    public_key: Hashable | None = None


@value_object
class GroupSummary:
    """How far a group is, where its jobs alone do not say it."""

    progress: float  # share of the work that is done, 0 to 1
    text: str
    result_count: int = 0  # partial results: a page that draws them is drawn anew when more come


@dataclass(eq=False)
class JobGroup:
    """What a tab runs under one heading: jobs in the pool, and their data, which is shared once."""

    requested: Any = None  # with which settings
    context: Any = None  # what the page drew the runs from, to draw the results with
    jobs: list[RunJob] = field(default_factory=list)
    # Takes every job that has ended out of the group, and may submit others unless it `is_stopped`.
    follow_up: Callable[[], None] | None = None
    summarise: Callable[[], GroupSummary] | None = None
    awaits_first_only: bool = False  # whether a page waits for the first job alone
    is_stopped: bool = False  # whether it was cancelled since its last job was submitted
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _shared_blocks: dict[int, tuple[Rows, SharedRows]] = field(default_factory=dict)

    def start(
        self, requested: Any, planned_runs: Iterable[PlannedRun], context: Any = None
    ) -> None:
        """Drop what is there and run these; blocks of data that are wanted again stay shared."""
        self.cancel()
        planned_runs = list(planned_runs)
        self._free_blocks(kept_ids={id(run.rows) for run in planned_runs})
        self.requested = requested
        self.context = context
        self.jobs = []
        for run in planned_runs:
            self.submit_run(run)

    def submit_run(self, run: PlannedRun) -> None:
        """Queue a run; one of a public sample may be another tab's too, or be finished already."""
        if run.public_key is None:
            spec = JobSpec(block=self.share_rows(run.rows).block, **run.task)
            self.submit(run.key, spec, run.predicted_seconds)
            return
        self.is_stopped = False
        job = public_runs().submit(
            run.public_key, run.rows, run.task, self.id, run.predicted_seconds
        )
        self.jobs.append(job)

    def share_rows(self, rows: Rows) -> SharedRows:
        """Return `rows` in shared memory, put there at their first use."""
        if id(rows) not in self._shared_blocks:
            self._shared_blocks[id(rows)] = rows, SharedRows(rows)
        return self._shared_blocks[id(rows)][1]

    def submit(self, key: Any, spec: JobSpec, predicted_seconds: float | None = None) -> RunJob:
        """Queue a job and return it; jobs of one group run in order."""
        self.is_stopped = False
        job = worker_pool().submit(spec, self.id, predicted_seconds, key)
        self.jobs.append(job)
        return job

    def collect_results(self) -> None:
        """Take in what came back, and submit what is to be run next."""
        if self.follow_up is not None:
            self.follow_up()

    def take_ended_jobs(self) -> list[RunJob]:
        """Remove the jobs that have ended from the group, and return them."""
        ended_jobs = [job for job in self.jobs if job.ended]
        for job in ended_jobs:
            self.jobs.remove(job)
        return ended_jobs

    def cancel(self) -> None:
        """Ask for the end; what is there stays."""
        self.is_stopped = True
        self.collect_results()
        self.jobs = [
            _cancelled_copy(job) if public_runs().leave(job, self.id) else job for job in self.jobs
        ]
        if self.follow_up is not None:
            self.jobs = []

    def close(self) -> None:
        """Cancel, and give the blocks back."""
        self.cancel()
        self._free_blocks(kept_ids=set())
        self.jobs = []
        self.is_stopped = False
        self.requested = None
        self.context = None

    def wait(self, seconds: float) -> bool:
        """Wait for all that is awaited, `seconds` at the most; return whether it ended."""
        deadline = time.monotonic() + seconds
        for job in self._awaited_jobs:
            job.wait(max(deadline - time.monotonic(), 0.0))
        return self.ended

    @property
    def ended(self) -> bool:
        """Whether nothing that is awaited is under way; a job to follow up may ask for the next."""
        if self.follow_up is not None:
            return not self.jobs
        return all(job.ended for job in self._awaited_jobs)

    @property
    def progress(self) -> float:
        """The share of the work that is done, 0 to 1."""
        if self.summarise is not None:
            return self.summarise().progress
        return sum(job.progress for job in self.jobs) / max(len(self.jobs), 1)

    @property
    def status_text(self) -> str:
        """How far the work is, for a person: of a single run its steps, of several their number."""
        if self.summarise is not None:
            return self.summarise().text
        if len(self.jobs) != 1:
            return f"{sum(job.ended for job in self.jobs)} of {len(self.jobs)} runs"
        job = self.jobs[0]
        if job.state == JobState.QUEUED:
            own_seconds = worker_pool().pace.expect(job.predicted_seconds)
            delay = worker_pool().before(self.id, [own_seconds])
            return f"Waiting for a free worker…{queue_delay_text(delay)}"
        return job.status_text

    @property
    def partial_result_count(self) -> int:
        """The number of results that can be shown before the end."""
        return len(self.results) if self.summarise is None else self.summarise().result_count

    @property
    def has_partial_results(self) -> bool:
        """Whether a run came far enough to be shown: a cancelled one has its last release."""
        return any(job.results for job in self.jobs)

    @property
    def results(self) -> list[tuple[Any, RunResult]]:
        """Every finished run with its key, in the order they were asked for."""
        return [
            (job.key, result)
            for job in self.jobs
            if job.state == JobState.DONE
            for result in job.results
        ]

    @property
    def error(self) -> str:
        """What went wrong first; empty if nothing did."""
        return next((job.error for job in self.jobs if job.state == JobState.FAILED), "")

    @property
    def cancelled(self) -> bool:
        """Whether a job was stopped before its end."""
        return any(job.cancelled for job in self.jobs)

    @property
    def _awaited_jobs(self) -> list[RunJob]:
        return self.jobs[:1] if self.awaits_first_only else self.jobs

    def _free_blocks(self, kept_ids: set[int]) -> None:
        for row_id in [key for key in self._shared_blocks if key not in kept_ids]:
            self._shared_blocks.pop(row_id)[1].free_memory()


def _cancelled_copy(job: RunJob) -> RunJob:
    """Return a cancelled job in the place of one that goes on for other tabs."""
    copy: RunJob = Job(job.task, job.key, job.predicted_seconds)
    copy.cancel()
    copy.end(JobState.CANCELLED)
    return copy


def tab_job_group(name: str) -> JobGroup:
    """Return the calling tab's runs of that name."""
    return session().get_or_create(name, JobGroup)
