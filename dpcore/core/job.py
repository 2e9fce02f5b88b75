"""Work that is done elsewhere: its state, its progress, its results, and a request to stop.

Whoever does the work, a thread or a worker process, begins a job, reports its progress, adds its
results and ends it. Whoever waits for it reads the same fields, and may ask for its end at any
time. A job knows nothing of who does it, so that a page watches every kind of work in one way.

>>> job = Job(task="count to four")
>>> job.begin()
>>> job.report_progress(0.5, "2 of 4 counted")
>>> job.progress, job.status_text, job.ended
(0.5, '2 of 4 counted', False)
>>> job.add_result(4)
>>> job.end(JobState.DONE)
>>> job.wait(seconds=1.0), job.progress, job.result
(True, 1.0, 4)

A job that was asked to stop ends at its next report.

>>> job = Job(task="count for ever")
>>> job.cancel()
>>> job.report_progress(0.0, "0 counted")
Traceback (most recent call last):
dpcore.core.job.JobCancelled
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

# Receives the share of the work that is done, 0 to 1, and the same for a person, as
# `Job.report_progress` does; an error that it raises ends the work.
StatusCallback = Callable[[float, str], object]
Task = TypeVar("Task")
Result = TypeVar("Result")


class JobState(StrEnum):
    """A state of a job; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class JobCancelled(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The end of work whose job was cancelled, raised inside the work."""


@dataclass(eq=False)
class Job(Generic[Task, Result]):
    """A piece of work that runs elsewhere, for those who do it and for those who wait for it."""

    task: Task = field(repr=False)  # what is to be done
    key: Any = None  # tells it from other jobs
    predicted_seconds: float | None = None  # None where nobody predicted them
    state: JobState = JobState.QUEUED
    progress: float = 0.0  # share of the work that is done, 0 to 1
    status_text: str = "Waiting for its turn…"
    error: str = ""
    results: list[Result] = field(default_factory=list)  # grows while the job runs
    partial_results: list[Any] = field(default_factory=list)  # steps of the result to come
    provisional_result: Any = None  # about what will come, until it does; None if not known
    total_steps: int = 0  # of the result to come; 0 until they are known
    start_time: float = 0.0  # of time.monotonic, later by each pause; 0 before it began
    pause_time: float = 0.0  # of time.monotonic; 0 unless it is paused
    seconds: float = 0.0  # from its begin to its end, without pauses
    closed: bool = False  # whether nobody wants its results any more
    _end_event: threading.Event = field(default_factory=threading.Event)
    _cancel_event: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._end_event.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether it was stopped before its end."""
        return self.state == JobState.CANCELLED

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked for the end."""
        return self._cancel_event.is_set()

    @property
    def result(self) -> Result | None:
        """The last result; None where there is none."""
        return self.results[-1] if self.results else None

    @property
    def partial_result_count(self) -> int:
        """The number of results that can be shown before the end."""
        return len(self.results)

    @property
    def has_partial_results(self) -> bool:
        """Whether there is something to show of a job that was cancelled."""
        return bool(self.results)

    def remaining_seconds(self, expected_seconds: float) -> float:
        """Return the seconds that remain of `expected_seconds`, at least 0."""
        now = self.pause_time or time.monotonic()
        elapsed_seconds = now - self.start_time if self.start_time else 0.0
        return max(expected_seconds - elapsed_seconds, 0.0)

    def begin(self) -> None:
        """Say that the work begins now."""
        self.start_time = time.monotonic()
        self.state = JobState.RUNNING

    def pause(self) -> None:
        """Say that the work pauses for others' work; the pause does not count as its time."""
        self.pause_time = time.monotonic()

    def resume(self) -> None:
        """Say that the work goes on after a pause."""
        self.start_time += time.monotonic() - self.pause_time
        self.pause_time = 0.0

    def report_progress(self, progress: float, text: str) -> None:
        """Say how far the work is.

        Args:
            progress: Share of the work that is done, 0 to 1.
            text: The same for a person.

        Raises:
            JobCancelled: Somebody asked for the end.

        """
        self.progress = progress
        self.status_text = text
        if self.cancel_requested:
            raise JobCancelled

    def add_result(self, result: Result) -> None:
        """Keep a result, unless nobody wants it any more."""
        if not self.closed:
            self.results.append(result)

    def end(self, state: JobState, error: str = "") -> None:
        """Say that the work has ended.

        Args:
            state: DONE, CANCELLED or FAILED.
            error: What went wrong, for a person.

        """
        self.seconds = time.monotonic() - self.start_time if self.start_time else 0.0
        self.progress = 1.0
        self.error = error
        self.state = state
        self._end_event.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, `seconds` at the most; return whether it came."""
        return self._end_event.wait(seconds)

    def cancel(self) -> None:
        """Ask for the end; results that are there stay."""
        self._cancel_event.set()

    def close(self) -> None:
        """Cancel, and let go of what is to be done and of what came of it."""
        self.cancel()
        self.closed = True
        self.task = None  # type: ignore[assignment] - nobody reads it of a closed job
        self.key = None
        self.results = []
        self.partial_results = []
        self.provisional_result = None
