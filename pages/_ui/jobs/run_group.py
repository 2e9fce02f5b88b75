"""Runs in the shared pool that belong together: several data sets, settings and seeds, watched and cancelled as one."""

import time
import uuid
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dpcore import Rows
from dpcore.accuracy.work_forecast import format_seconds
from dpcore.core.types import frozen
from dpcore.evaluation.sweeps.worker_pool import JobSpec, PoolJob, RunResult, SharedRows

from ..session import session
from .job import Job
from .shared_pool import worker_pool

MIN_REPORTED_SECONDS = 1.0  # seconds of others' work from which it is said
FINAL_STEP_ONLY = 10**9  # more steps than there are: compared with the truth at the end only


def queue_delay_text(seconds: float) -> str:
    """Say the time that others' work takes before; nothing where that is short."""
    return (
        f" After {format_seconds(seconds)} of others' work."
        if seconds >= MIN_REPORTED_SECONDS
        else ""
    )


@frozen
class PlannedRun:
    """One run: what it is called here, its data, and the rest of a pool's JobSpec."""

    key: Hashable
    rows: Rows
    task: dict[str, Any]
    predicted_seconds: float | None = None  # that it was foreseen to take


@dataclass(eq=False)
class RunGroup(Job):
    """What a tab runs under one heading: `requested` says with which settings, `jobs` what became of it.

    `context` is what the page drew the runs from, to draw the results with. Data that several runs
    use is shared once.
    """

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    requested: Any = None
    context: Any = None
    jobs: list[tuple[Any, PoolJob]] = field(default_factory=list)
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
        for one in planned_runs:
            self.submit(one.key, self.job_spec(one.rows, **one.task), one.predicted_seconds)

    def job_spec(self, rows: Rows, **public_args: Any) -> JobSpec:
        """A pool's JobSpec on `rows`."""
        return JobSpec(block=self.share_rows(rows).block, **public_args)

    def share_rows(self, rows: Rows) -> SharedRows:
        """`rows` in shared memory, put there at their first use."""
        if id(rows) not in self._shared_blocks:
            self._shared_blocks[id(rows)] = rows, SharedRows(rows)
        return self._shared_blocks[id(rows)][1]

    def submit(self, key: Any, task: JobSpec, predicted_seconds: float | None = None) -> PoolJob:
        """Queue one run, which was foreseen to take `predicted_seconds`; jobs of one tab's heading run in order."""
        job = worker_pool().submit(task, self.id, predicted_seconds)
        self.jobs.append((key, job))
        return job

    def cancel(self) -> None:
        """Ask for the end; what is there stays."""
        for _, job in self.jobs:
            job.cancel()

    def close(self) -> None:
        """Cancel, and give the blocks back."""
        self.cancel()
        self._free_blocks(kept_ids=set())
        self.jobs = []
        self.requested = None
        self.context = None

    def wait(self, seconds: float) -> bool:
        """Wait for all of it, `predicted_seconds` at the most; whether it ended."""
        deadline = time.monotonic() + seconds
        return (
            all([job.wait(max(deadline - time.monotonic(), 0.0)) for _, job in self.jobs])
            and self.ended
        )

    @property
    def ended(self) -> bool:
        """Whether nothing is under way."""
        return all(job.ended for _, job in self.jobs)

    @property
    def progress(self) -> float:
        """Share of the work that is done."""
        return sum(job.progress for _, job in self.jobs) / max(len(self.jobs), 1)

    @property
    def status_text(self) -> str:
        """How many runs are done; how far a single one is."""
        if len(self.jobs) != 1:
            return f"{sum(job.ended for _, job in self.jobs)} of {len(self.jobs)} runs"
        job = self.jobs[0][1]
        if job.state == "queued":
            return f"Waiting for a free worker…{queue_delay_text(worker_pool().before(self.id, 1))}"
        seeds = len(job.spec.seeds)
        step_text = (
            f" · step {job.convergence[-1].t:,} of at most {job.rounds:,}"
            if job.convergence
            else ""
        )
        return f"Run {min(len(job.results) + 1, seeds)} of {seeds}{step_text}"

    @property
    def partial_result_count(self) -> int:
        """How many runs are finished."""
        return len(self.results)

    @property
    def has_partial_results(self) -> bool:
        """Whether a run came far enough to be shown: one that was cancelled has its last release."""
        return any(job.results for _, job in self.jobs)

    @property
    def results(self) -> list[tuple[Any, RunResult]]:
        """Every finished run with its key, in the order they were asked for."""
        return [
            (key, result) for key, job in self.jobs if job.state == "done" for result in job.results
        ]

    @property
    def error(self) -> str:
        """What went wrong first, in words; empty if nothing did."""
        return next((job.error for _, job in self.jobs if job.state == "failed"), "")

    @property
    def cancelled(self) -> bool:
        """Whether a person stopped it before its end."""
        return any(job.state == "cancelled" for _, job in self.jobs)

    def _free_blocks(self, kept_ids: set[int]) -> None:
        for row_id in [place for place in self._shared_blocks if place not in kept_ids]:
            self._shared_blocks.pop(row_id)[1].free_memory()


def tab_run_group(name: str) -> RunGroup:
    """The calling tab's runs of that name."""
    return session().get_or_create(name, RunGroup)
