"""Runs in the shared pool that belong together: several data sets, settings and seeds, watched and cancelled as one."""

import time
import uuid
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dpcore import Rows
from dpcore.accuracy.work_forecast import in_seconds
from dpcore.core.types import frozen
from dpcore.evaluation.sweeps.worker_pool import JobSpec, PoolJob, Result, SharedRows

from ..session import session
from .job import Job
from .shared_pool import pool

SAID = 1.0  # seconds of others' work from which it is said
LAST = 10**9  # more steps than there are: compared with the truth at the end only


def after(seconds: float) -> str:
    """Say the time that others' work takes before; nothing where that is short."""
    return f" After {in_seconds(seconds)} of others' work." if seconds >= SAID else ""


@frozen
class WantedRun:
    """One run: what it is called here, its data, and the rest of a pool's JobSpec."""

    key: Hashable
    rows: Rows
    task: dict[str, Any]
    seconds: float | None = None  # that it was foreseen to take


@dataclass(eq=False)
class Runs(Job):
    """What a tab runs under one heading: `asked` says with which settings, `jobs` what became of it.

    `context` is what the page drew the runs from, to draw the results with. Data that several runs use is shared once.
    """

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: Any = None
    context: Any = None
    jobs: list[tuple[Any, PoolJob]] = field(default_factory=list)
    _blocks: dict[int, tuple[Rows, SharedRows]] = field(default_factory=dict)

    def start(self, asked: Any, wanted: Iterable[WantedRun], context: Any = None) -> None:
        """Drop what is there and run these; blocks of data that are wanted again stay shared."""
        self.cancel()
        wanted = list(wanted)
        self._free(keep={id(run.rows) for run in wanted})
        self.asked, self.context, self.jobs = asked, context, []
        for one in wanted:
            self.submit(one.key, self.task(one.rows, **one.task), one.seconds)

    def task(self, rows: Rows, **public: Any) -> JobSpec:
        """A pool's JobSpec on `rows`."""
        return JobSpec(block=self.shared(rows).block, **public)

    def shared(self, rows: Rows) -> SharedRows:
        """`rows` in shared memory, put there at their first use."""
        if id(rows) not in self._blocks:
            self._blocks[id(rows)] = rows, SharedRows(rows)
        return self._blocks[id(rows)][1]

    def submit(self, key: Any, task: JobSpec, seconds: float | None = None) -> PoolJob:
        """Queue one run, which was foreseen to take `seconds`; jobs of one tab's heading run in order."""
        job = pool().submit(task, self.id, seconds)
        self.jobs.append((key, job))
        return job

    def cancel(self) -> None:
        """Ask for the end; what is there stays."""
        for _, job in self.jobs:
            job.cancel()

    def close(self) -> None:
        """Cancel, and give the blocks back."""
        self.cancel()
        self._free(keep=set())
        self.jobs, self.asked, self.context = [], None, None

    def wait(self, seconds: float) -> bool:
        """Wait for all of it, `seconds` at the most; whether it ended."""
        deadline = time.monotonic() + seconds
        return all([job.wait(max(deadline - time.monotonic(), 0.0)) for _, job in self.jobs]) and self.ended

    @property
    def ended(self) -> bool:
        """Whether nothing is under way."""
        return all(job.ended for _, job in self.jobs)

    @property
    def progress(self) -> float:
        """Share of the work that is done."""
        return sum(job.progress for _, job in self.jobs) / max(len(self.jobs), 1)

    @property
    def words(self) -> str:
        """How many runs are done; how far a single one is."""
        if len(self.jobs) != 1:
            return f"{sum(job.ended for _, job in self.jobs)} of {len(self.jobs)} runs"
        job = self.jobs[0][1]
        if job.state == "queued":
            return f"Waiting for a free worker…{after(pool().before(self.id, 1))}"
        seeds = len(job.task.seeds)
        step_text = f" · step {job.records[-1].t:,} of at most {job.rounds:,}" if job.records else ""
        return f"Run {min(len(job.results) + 1, seeds)} of {seeds}{step_text}"

    @property
    def news(self) -> int:
        """How many runs are finished."""
        return len(self.results)

    @property
    def partial(self) -> bool:
        """Whether a run came far enough to be shown: one that was cancelled has its last release."""
        return any(job.results for _, job in self.jobs)

    @property
    def results(self) -> list[tuple[Any, Result]]:
        """Every finished run with its key, in the order they were asked for."""
        return [(key, result) for key, job in self.jobs if job.state == "done" for result in job.results]

    @property
    def error(self) -> str:
        """What went wrong first, in words; empty if nothing did."""
        return next((job.error for _, job in self.jobs if job.state == "failed"), "")

    @property
    def cancelled(self) -> bool:
        """Whether a person stopped it before its end."""
        return any(job.state == "cancelled" for _, job in self.jobs)

    def _free(self, keep: set[int]) -> None:
        for row_id in [place for place in self._blocks if place not in keep]:
            self._blocks.pop(row_id)[1].free()


def tab_runs(name: str) -> Runs:
    """The calling tab's runs of that name."""
    return session().own(name, Runs)
