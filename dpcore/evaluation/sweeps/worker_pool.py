"""Worker processes that run jobs in turn between sessions, stream records, can be cancelled, and may die alone.

Each data set is one read-only block of shared memory; a worker builds the Curator;
only records and releases come back.
"""

import contextlib
import math
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from ...accuracy.intervals.unbiased_tables import unbiased_tables
from ...accuracy.promise_with_schema import promise_of_division
from ...algorithms import Algorithm
from ...algorithms.schema_measurement.measurement_plan import SchemaShare
from ...core.errors import PrivacyWarning, user_message
from ...core.types import Array, Axes, Json, by_name, frozen, value_object
from ...data.sources.gathered_counts import GatheredCounts
from ...data.sources.parallel_counting import spawn_process
from ...models.releases import Release, UnbiasedAnswers
from ...privacy.accounting import Budget
from ...schema.domain import Countable, Rows
from ..purposes import Purposes
from ..run import Run
from ..run_summary import ConvergencePoint, RunSummary
from .queue_forecast import Pace, seconds_before

MAX_CURVE_POINTS = 300  # points of a convergence curve that a page draws
REPORT_SECONDS = 0.1
# seconds in which a worker must hear that its job is cancelled, before its process is ended
CANCEL_GRACE_SECONDS = 0.8


@value_object
class SharedBlock:
    """The name of a block of shared memory, and how it is read: the shape and kind of its numbers.

    Codes are int64, points and features float64. Where it holds counts, `table_axes` are the
    columns of each in turn.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    table_axes: tuple[Axes, ...]


class SharedRows:
    """Grouped records, or counts of tables, in one `block` of shared memory; `free_memory` gives the memory back."""

    def __init__(self, rows: Countable) -> None:
        array = _pack_rows(rows)
        self._memory = SharedMemory(create=True, size=max(8, array.nbytes))
        np.ndarray(array.shape, array.dtype, self._memory.buf)[...] = array
        tables = tuple(rows.tables) if isinstance(rows, GatheredCounts) else ()
        self.block = SharedBlock(self._memory.name, array.shape, array.dtype.name, tables)

    def free_memory(self) -> None:
        """Give the block back to the operating system; running jobs keep their view until they end."""
        self._memory.close()
        with contextlib.suppress(FileNotFoundError):
            self._memory.unlink()


@by_name
class JobSpec:
    """An algorithm on a data set with a budget, once for each seed; public except for the block it names.

    `every` and `path` are those of `Run`; without `every` there are as many records as a page
    draws. With `bounded` what noisy tables say without bias comes back too, for intervals. With
    `schema` a part of the budget is for the schema, and the algorithm has the rest. `purposes`
    makes of the rows what is asked of a release: `problem` is of those that it does not hold out,
    and the summary has the scores of each purpose.
    """

    algorithm: Algorithm
    problem: Any
    budget: Budget
    seeds: tuple[int, ...]
    block: SharedBlock
    population: Array | None = None
    every: int | None = None
    path: bool = False
    bounded: bool = False
    schema: SchemaShare | None = None
    purposes: Callable[[Rows], Purposes] | None = None


@frozen
class RunResult:
    """One finished (or cancelled) run: its summary and its last release.

    `path`: what every step released, where the task asks for it; `unbiased_answers`: what noisy
    tables say, likewise.
    """

    summary: RunSummary
    release: Release
    path: list[Release] = field(default_factory=list)
    unbiased_answers: UnbiasedAnswers | None = None


@dataclass(eq=False)
class PoolJob:
    """A submitted task: `state` is queued, running, done, cancelled or failed; the lists grow while it runs.

    `seconds` were foreseen for it, None where nobody did; it `began` at a time of `time.monotonic`,
    and `took` as long.
    """

    spec: JobSpec
    seconds: float | None = None
    session: str = ""
    began: float = 0.0
    took: float = 0.0
    state: str = "queued"
    error: str = ""
    rounds: int = 0
    convergence: list[ConvergencePoint] = field(default_factory=list)
    results: list[RunResult] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        """Whether the job has ended and will add nothing more."""
        return self._ended.is_set()

    @property
    def progress(self) -> float:
        """The share of the work that is done, 0 to 1."""
        if self.ended:
            return 1.0
        current = self.convergence[-1].t / self.rounds if self.convergence and self.rounds else 0.0
        return min(1.0, (len(self.results) + current) / len(self.spec.seeds))

    def cancel(self) -> None:
        """Ask the worker to stop between two steps; within a long step its process is ended, and there is no result."""
        self._cancelled.set()

    def wait(self, seconds: float) -> bool:
        """Whether the job ended within `seconds`, after waiting for it."""
        return self._ended.wait(seconds)

    def set_ended(self, state: str, error: str = "") -> None:
        """Set the job's final state and error."""
        self.took = time.monotonic() - self.began if self.began else 0.0
        self.state = state
        self.error = error
        self._ended.set()


class WorkerPool:
    """A pool of `workers` processes, each fed by a thread. Sessions take turns; a session's jobs run in order."""

    def __init__(self, workers: int = 2) -> None:
        self._waiting: dict[str, deque[PoolJob]] = {}
        self._last_turns: dict[str, int] = {}  # when a session last had its turn
        self._turn = 0
        self._running: set[PoolJob] = set()
        self._changed = threading.Condition()
        self._closed = False
        self.pace = Pace()
        self._threads = [
            threading.Thread(target=self._serve_jobs, daemon=True, name=f"pool-{i}")
            for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, spec: JobSpec, session: str, seconds: float | None = None) -> PoolJob:
        """Queue a task for a session; `seconds` are what it was foreseen to take."""
        job = PoolJob(spec, seconds, session)
        with self._changed:
            self._waiting.setdefault(session, deque()).append(job)
            self._changed.notify()
        return job

    def before(self, session: str, jobs: int) -> float:
        """Return the seconds that jobs of other sessions take before so many of this one are done; roughly."""
        with self._changed:
            now = time.monotonic()
            running = [
                max(self.pace.expect(job.seconds) - (now - job.began), 0.0)
                for job in self._running
                if job.session != session
            ]
            waiting = [
                [self.pace.expect(job.seconds) for job in queue if not job._cancelled.is_set()]
                for name, queue in self._waiting.items()
                if name != session
            ]
        return seconds_before(jobs, running, waiting, len(self._threads))

    def close(self) -> None:
        """Stop the workers; running jobs are cancelled, queued ones fail."""
        with self._changed:
            self._closed = True
            for job in (job for jobs in self._waiting.values() for job in jobs):
                job.set_ended("failed", "the server is stopping")
            self._waiting.clear()
            for job in tuple(self._running):
                job.cancel()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout=10)

    def _next_job(self) -> PoolJob | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            session = min(
                self._waiting, key=lambda s: self._last_turns.get(s, 0)
            )  # whose last turn is longest ago
            job = self._waiting[session].popleft()
            if not self._waiting[session]:
                del self._waiting[session]
            self._last_turns = {
                s: turn
                for s, turn in self._last_turns.items()
                if s in self._waiting or self._running
            }
            self._last_turns[session] = self._turn = self._turn + 1
            self._running.add(job)
            job.began = time.monotonic()
            return job

    def _serve_jobs(self) -> None:
        process, pipe = spawn_process(_run_worker)
        while job := self._next_job():
            try:
                if job._cancelled.is_set():
                    job.set_ended("cancelled")
                else:
                    _follow_job(job, pipe, process)
            except (EOFError, OSError):
                process.join(timeout=5)
                message = (
                    "the worker process ended unexpectedly (exit code "
                    f"{process.exitcode}); try again"
                )
                job.set_ended("cancelled" if job._cancelled.is_set() else "failed", message)
                pipe.close()
                process, pipe = spawn_process(_run_worker)
            finally:
                with self._changed:
                    self._running.discard(job)
                    if job.state == "done":
                        self.pace.note(job.seconds, job.took)
        process.kill()  # it is idle, or still starting: there is nothing to wait for
        process.join()
        pipe.close()


def _follow_job(job: PoolJob, pipe: Connection, process: BaseProcess) -> None:
    """Send a job to a worker and add its records to the job until the worker says how it ended."""
    job.state = "running"
    pipe.send(job.spec)
    is_cancel_sent = False
    deadline = math.inf
    while True:
        if not pipe.poll(0.05):
            if job._cancelled.is_set() and not is_cancel_sent:
                pipe.send("cancel")
                is_cancel_sent = True
                deadline = time.monotonic() + CANCEL_GRACE_SECONDS
            elif time.monotonic() > deadline:
                process.kill()  # no other way to end one long step
            continue
        kind, content = pipe.recv()
        if kind == "stopping":
            deadline = math.inf
        elif kind == "records":
            job.convergence = [*job.convergence, *content]
        elif kind == "rounds":
            job.rounds = content
            job.convergence = []
        elif kind == "result":
            job.results.append(content)
        else:
            job.set_ended(kind, content)
            return


def _run_worker(pipe: Connection) -> None:
    """Run tasks in a worker process until it is asked to stop: receive one, stream its results, say how it ended."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is the parent's to handle: it stops the workers
    warnings.simplefilter("ignore", PrivacyWarning)  # the page shows cautions itself
    with contextlib.suppress(
        EOFError, BrokenPipeError
    ):  # the server is gone, and nobody listens any more
        while (spec := pipe.recv()) is not None:
            if spec == "cancel":  # came too late for the job before
                continue
            try:
                pipe.send((_run_on_shared_block(spec, pipe), ""))
            except Exception as error:  # noqa: BLE001 - a bug must end one job with a message, not the server
                pipe.send(("failed", user_message(error)))


def _run_on_shared_block(spec: JobSpec, pipe: Connection) -> str:
    """Run a task on a read-only view of its block, which is released afterwards."""
    block = SharedMemory(spec.block.name)
    try:
        array = np.ndarray(spec.block.shape, spec.block.dtype, block.buf)
        array.flags.writeable = False
        rows = _unpack_rows(spec, array)
        del array
        return _run_all_seeds(spec, rows, pipe)
    finally:
        with contextlib.suppress(UnboundLocalError):
            del rows
        with contextlib.suppress(BufferError):  # after an error its traceback still holds a view
            block.close()


def _pack_rows(rows: Countable) -> Array:
    """The codes and weights side by side (r, d + 1), or all tables one after another, as one array."""
    if isinstance(rows, GatheredCounts):
        return np.concatenate(list(rows.tables.values()))
    dtype = "float64" if rows.values.dtype.kind == "f" else "int64"
    return np.column_stack([rows.values, rows.weights]).astype(dtype)


def _unpack_rows(spec: JobSpec, array: Array) -> Countable:
    """The records that `_pack_rows` put into a block; counts lack their source, whose file only the parent reads."""
    table_axes = spec.block.table_axes
    if not table_axes:
        return Rows(array[:, :-1], array[:, -1])
    domain = spec.problem.domain
    ends = np.cumsum([domain.cells(axes) for axes in table_axes])
    return GatheredCounts(
        domain, spec.problem.n, dict(zip(table_axes, np.split(array, ends[:-1]), strict=True))
    )


def _run_all_seeds(spec: JobSpec, rows: Any, pipe: Connection) -> str:
    last_poll = time.monotonic()
    purposes = None if spec.purposes is None else spec.purposes(rows)
    rows = rows if purposes is None else purposes.train

    def is_cancelled() -> bool:
        """Whether the parent has cancelled the job; asks it now and then only, because every look costs."""
        nonlocal last_poll
        is_due = time.monotonic() - last_poll >= REPORT_SECONDS
        last_poll = time.monotonic() if is_due else last_poll
        if is_due and pipe.poll() and pipe.recv() == "cancel":
            pipe.send(("stopping", None))
            return True
        return False

    def raise_if_cancelled() -> None:
        if is_cancelled():
            raise InterruptedError

    every = spec.every or (lambda rounds: max(1, rounds // MAX_CURVE_POINTS))
    run_options: Json = {
        "population": spec.population,
        "every": every,
        "path": spec.path,
        "stop": is_cancelled,
    }
    if spec.schema is not None:
        division, run_options["plan"] = spec.schema.divide_and_plan(
            spec.algorithm, spec.problem, spec.budget, exact=False
        )
        run_options["whole"] = promise_of_division(division)
    for seed in spec.seeds:
        run = Run(spec.algorithm, spec.problem, rows, spec.budget, seed=seed, **run_options)
        pipe.send(("rounds", run.plan["rounds"]))
        new_points = []
        last_report = time.monotonic()
        for point in run:
            new_points.append(point)
            if time.monotonic() - last_report > REPORT_SECONDS:
                pipe.send(("records", new_points))
                new_points = []
                last_report = time.monotonic()
        if run.release is not None:
            unbiased_answers = (
                unbiased_tables(run.release, run.measured, spec.problem.domain)
                if spec.bounded
                else None
            )
            try:
                summary = (
                    run.summarise()
                    if purposes is None
                    else purposes.summarise(run, raise_if_cancelled)
                )
            except InterruptedError:
                return "cancelled"
            result = RunResult(summary, run.release, run.path, unbiased_answers)
            pipe.send(("result", result))
        if run.stopped:
            return "cancelled"
    return "done"
