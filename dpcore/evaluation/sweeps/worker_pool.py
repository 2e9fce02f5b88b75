"""Run jobs in worker processes that serve sessions in turn, stream results and can be cancelled.

A worker may die alone. Each data set is one read-only block of shared memory; a worker builds the
curator; only convergence points and releases come back.
"""

import contextlib
import math
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from ...accuracy.intervals.unbiased_tables import unbiased_tables
from ...accuracy.promise_with_schema import promise_of_split
from ...algorithms import Algorithm
from ...algorithms.query_release.shared.earlier_tree import TreeFit
from ...algorithms.schema_measurement.split_budget import SplitBudget, fit_split
from ...core.errors import PrivacyWarning, user_message
from ...core.job import Job, JobState
from ...core.run_memory import limit_process_memory
from ...core.types import Array, Json, by_name, frozen
from ...data.sources.parallel_counting import spawn_process
from ...models.releases import Release, UnbiasedAnswers
from ...privacy.accounting import Budget
from ...schema.domain import CountedTables, Rows
from ..purposes import Purposes
from ..run import Run
from ..run_summary import RunSummary
from .queue_forecast import Pace, seconds_before
from .shared_rows import LastCountedTables, SharedBlock, view_rows

MAX_CURVE_POINTS = 300  # points of a convergence curve that a page draws
REPORT_SECONDS = 0.1
TURN_SECONDS = 2.0  # of a job, while other sessions wait
FORGET_SECONDS = 1.0  # after a table is forgotten, until a worker has forgotten it too
MAX_PAUSED_WORKERS = (
    4  # processes beside those that run, each with about 100 MB and its run's memory
)
# seconds in which a worker must hear that its job is cancelled, before its process is ended
CANCEL_GRACE_SECONDS = 0.8


@by_name
class JobSpec:
    """An algorithm on a data set with a budget, to be run once for each seed.

    It is public except for the block it names. `every` and `path` are those of `Run`; without
    `every` there are as many convergence points as a page draws. With `bounded` what noisy tables
    say without bias comes back too, for intervals. With `split` the first part of the budget is for
    the schema, and the algorithm has the second. `purposes` makes of the rows what is asked of a
    release: `problem` is of those that it does not hold out, and the summary has the scores of each
    purpose. With `returns_tree_fit`, what a provisional fit of the next run may go on from comes
    back, too; with what an `earlier` run left so, provisional errors of the first run come before.
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
    split: SplitBudget | None = None
    purposes: Callable[[Rows], Purposes] | None = None
    returns_tree_fit: bool = False
    earlier: TreeFit | None = None


@frozen
class RunResult:
    """One finished (or cancelled) run: its summary and its last release.

    `path`: what every step released, where the task asks for it; `unbiased_answers`: what noisy
    tables say, likewise; `tree_fit`: what a provisional fit of the next run may go on from.
    """

    summary: RunSummary
    release: Release
    path: list[Release] = field(default_factory=list)
    unbiased_answers: UnbiasedAnswers | None = None
    tree_fit: TreeFit | None = None


RunJob = Job[JobSpec, RunResult]


@dataclass(eq=False)
class Worker:
    """A worker process, and the pipe to it."""

    process: BaseProcess
    pipe: Connection

    @classmethod
    def start(cls) -> "Worker":
        """Start a process; what is sent to it meanwhile waits in the pipe."""
        return cls(*spawn_process(_run_worker))

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


@dataclass(eq=False)
class Turn:
    """A job, whose session it is, and the worker that runs it, or will go on with it."""

    job: RunJob
    session: str
    worker: Worker
    has_begun: bool = False  # whether the worker was sent the job in an earlier turn


class WorkerPool:
    """A pool that runs `workers` jobs at a time: sessions take turns, and run their jobs in order.

    While others wait, a job has a turn of `TURN_SECONDS` at a time. It then pauses after its next
    step, in a worker process of its own, so that what it has is not lost; another process goes on.
    Beside the processes that run there are at most `MAX_PAUSED_WORKERS`, whose memory that bounds:
    where so many long jobs of others are paused, a new job waits until one of them has ended. A job
    in one long step pauses at the step's end, and until then shares the processor.
    """

    def __init__(self, workers: int = 2) -> None:
        self._waiting: dict[str, deque[RunJob]] = {}
        self._paused: list[Turn] = []
        self._last_turns: dict[str, int] = {}  # when a session last had its turn
        self._turn = 0
        self._running: list[Turn] = []
        self._changed = threading.Condition()
        self._closed = False
        self._idle: list[Worker] = []
        self._worker_count = workers  # idle, running, paused, or about to be started
        self._max_workers = workers + MAX_PAUSED_WORKERS
        self.pace = Pace()
        self._threads = [
            threading.Thread(target=self._serve_jobs, daemon=True, name=f"pool-{i}")
            for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        spec: JobSpec,
        session: str,
        predicted_seconds: float | None = None,
        key: object = None,
    ) -> RunJob:
        """Queue a job and return it.

        Args:
            spec: What is to be run.
            session: Whose job it is: sessions take turns, and a session's jobs run in order.
            predicted_seconds: The seconds that it is predicted to take.
            key: What tells the job from others of the session.

        """
        job: RunJob = Job(spec, key, predicted_seconds, status_text=_run_text(spec, 0))
        with self._changed:
            self._waiting.setdefault(session, deque()).append(job)
            self._changed.notify()
        return job

    def before(self, session: str, own_seconds: Sequence[float]) -> float:
        """Return the seconds by which other sessions' jobs delay the end of this session's own.

        A rough estimate.

        Args:
            session: Whose jobs they are.
            own_seconds: The seconds that each of them takes alone.

        """
        with self._changed:
            others: dict[str, list[float]] = {}
            for turn in (*self._running, *self._paused):
                expected_seconds = self.pace.expect(turn.job.predicted_seconds)
                seconds = turn.job.remaining_seconds(expected_seconds)
                others.setdefault(turn.session, []).append(seconds)
            for name, queue in self._waiting.items():
                others.setdefault(name, []).extend(
                    self.pace.expect(job.predicted_seconds)
                    for job in queue
                    if not job.cancel_requested
                )
        others.pop(session, None)
        return seconds_before(own_seconds, list(others.values()), len(self._threads), TURN_SECONDS)

    def close(self) -> None:
        """Stop the workers; jobs under way are cancelled, queued ones fail."""
        with self._changed:
            self._closed = True
            for job in (job for jobs in self._waiting.values() for job in jobs):
                job.end(JobState.FAILED, "the server is stopping")
            self._waiting.clear()
            for turn in self._running:
                turn.job.cancel()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout=10)
        for turn in self._paused:
            turn.job.end(JobState.CANCELLED)
            turn.worker.end()
        for worker in self._idle:  # or still starting: there is nothing to wait for
            worker.end()

    def _serve_jobs(self) -> None:
        self._add_idle(Worker.start())
        while True:
            turn = self._next_turn()
            if turn is None:
                break
            try:
                has_ended = self._serve_turn(turn)
            except (EOFError, OSError):
                has_ended = True
                self._replace_dead_worker(turn)
            with self._changed:
                self._running.remove(turn)
                if has_ended:
                    self._end_turn(turn)
                else:
                    turn.job.pause()
                    self._paused.append(turn)
                    self._changed.notify()

    def _next_turn(self) -> Turn | None:
        """Wait for a job that may run, and begin or resume it; None when the pool is closed."""
        with self._changed:
            while not self._closed and not self._ready_sessions():
                self._changed.wait()
            if self._closed:
                return None
            # whose last turn is longest ago, and of new ones the first that came
            session = min(self._ready_sessions(), key=lambda s: self._last_turns.get(s, 0))
            under_way = {turn.session for turn in (*self._running, *self._paused)}
            self._last_turns = {
                s: turn
                for s, turn in self._last_turns.items()
                if s in self._waiting or s in under_way
            }
            self._turn += 1
            self._last_turns[session] = self._turn
            turn = self._take_turn(session)
            self._running.append(turn)
            return turn

    def _ready_sessions(self) -> list[str]:
        """Return the sessions of which a job can run: a paused one, or a new one on a worker.

        Those of new jobs stand in the order in which they came.
        """
        sessions = [turn.session for turn in self._paused]
        if self._idle or self._worker_count < self._max_workers:
            sessions += self._waiting
        return sessions

    def _take_turn(self, session: str) -> Turn:
        """Return a session's paused job, which goes on, or else its next, which begins."""
        for turn in self._paused:
            if turn.session == session:
                self._paused.remove(turn)
                turn.job.resume()
                return turn
        job = self._waiting[session].popleft()
        if not self._waiting[session]:
            del self._waiting[session]
        self._end_dead_idle_workers()
        if not self._idle:
            self._start_worker()
        worker = self._idle.pop(0)
        if not self._idle and self._worker_count < self._max_workers:
            self._start_worker()  # so that the next to come need not wait for its start
        job.begin()
        return Turn(job, session, worker)

    def _end_dead_idle_workers(self) -> None:
        """Give up workers that died while they waited, for lack of memory or by somebody's hand."""
        dead_workers = [worker for worker in self._idle if not worker.process.is_alive()]
        for worker in dead_workers:
            self._idle.remove(worker)
            self._worker_count -= 1
            worker.end()

    def _start_worker(self) -> None:
        self._idle.append(Worker.start())
        self._worker_count += 1

    def _serve_turn(self, turn: Turn) -> bool:
        """Run a job until it has ended, or its turn is over; return whether it has ended."""
        job = turn.job
        if turn.has_begun:
            turn.worker.pipe.send("resume")
        elif job.cancel_requested:
            job.end(JobState.CANCELLED)
            return True
        elif not _send_task(job, turn.worker.pipe):
            return True
        has_ended = _follow_job(turn, lambda: self._is_turn_wanted(turn.session))
        turn.has_begun = True
        return has_ended

    def _is_turn_wanted(self, session: str) -> bool:
        """Return whether another session could have a worker's turn instead."""
        with self._changed:
            return not self._closed and any(name != session for name in self._ready_sessions())

    def _add_idle(self, worker: Worker) -> None:
        with self._changed:
            self._idle.append(worker)
            self._changed.notify()

    def _end_turn(self, turn: Turn) -> None:
        """Let go of the worker of a job that has ended; one that is too many ends."""
        if turn.job.state == JobState.DONE:
            self.pace.note(turn.job.predicted_seconds, turn.job.seconds)
        if len(self._idle) < len(self._threads):
            self._idle.insert(0, turn.worker)
        else:
            turn.worker.end()
            self._worker_count -= 1
        self._changed.notify()

    def _replace_dead_worker(self, turn: Turn) -> None:
        """End the job of a worker that died, and start another worker."""
        turn.worker.process.join(timeout=5)
        message = (
            "the worker process ended unexpectedly (exit code "
            f"{turn.worker.process.exitcode}); try again"
        )
        is_cancelled = turn.job.cancel_requested
        turn.job.end(JobState.CANCELLED if is_cancelled else JobState.FAILED, message)
        turn.worker.end()
        turn.worker = Worker.start()


def _send_task(job: RunJob, pipe: Connection) -> bool:
    """Send a job to a worker; return whether it could be sent.

    A task that cannot be sent fails its job, not the thread that serves all jobs; nothing of it has
    reached the worker then.
    """
    try:
        task_bytes = ForkingPickler.dumps(job.task)
    except Exception as error:  # noqa: BLE001 - what any part of a task raises at that
        job.end(JobState.FAILED, user_message(error))
        return False
    pipe.send_bytes(task_bytes)
    return True


def _follow_job(turn: Turn, is_turn_wanted: Callable[[], bool]) -> bool:
    """Add what a worker sends to its job; return whether the job has ended.

    It has not where its turn is over: the worker is then told to pause after its next step. A turn
    begins when the worker has the job, which is later where its process is still starting.
    """
    job = turn.job
    pipe = turn.worker.pipe
    is_cancel_sent = False
    deadline = math.inf
    turn_end = time.monotonic() + TURN_SECONDS if turn.has_begun else math.inf
    while True:
        if not pipe.poll(0.05):
            if job.cancel_requested and not is_cancel_sent:
                pipe.send("cancel")
                is_cancel_sent = True
                deadline = time.monotonic() + CANCEL_GRACE_SECONDS
            elif time.monotonic() > deadline:
                turn.worker.process.kill()  # no other way to end one long step
            elif not is_cancel_sent and time.monotonic() > turn_end and is_turn_wanted():
                pipe.send("pause")
                return False
            continue
        kind, content = pipe.recv()
        if kind == "begun":
            turn_end = time.monotonic() + TURN_SECONDS
        elif kind == "stopping":
            deadline = math.inf
        elif kind == "records":
            job.partial_results = [*job.partial_results, *content]
        elif kind == "provisional":
            job.provisional_result = content
        elif kind == "rounds":
            job.total_steps = content
            job.partial_results = []
        elif kind == "result":
            job.add_result(content)
        else:
            job.end(JobState(kind), content)
            return True
        _describe_progress(job)


def _describe_progress(job: RunJob) -> None:
    """Say how far a job's runs are, by what the worker has sent."""
    run_share = 0.0
    text = _run_text(job.task, len(job.results))
    if job.partial_results and job.total_steps:
        step = job.partial_results[-1].t
        run_share = step / job.total_steps
        text += f" · step {step:,} of at most {job.total_steps:,}"
    job.progress = min(1.0, (len(job.results) + run_share) / len(job.task.seeds))
    job.status_text = text


def _run_text(spec: JobSpec, finished_runs: int) -> str:
    """Return which of a job's runs is under way, for a person."""
    return f"Run {min(finished_runs + 1, len(spec.seeds))} of {len(spec.seeds)}"


def _run_worker(pipe: Connection) -> None:
    """Run jobs in a worker process until it is asked to stop.

    For each: receive it, stream its results, say how it ended.
    """
    # Ctrl-C is the parent's to handle: it stops the workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", PrivacyWarning)  # the page shows cautions itself
    limit_process_memory()
    last_counted = LastCountedTables()
    # the server is gone, and nobody listens any more
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            spec = _next_spec(pipe, last_counted)
            if spec is None:
                break
            if isinstance(spec, str):  # came too late for the job before
                continue
            pipe.send(("begun", None))
            try:
                counted_tables = last_counted.of_block(spec.block)
                pipe.send((_run_on_shared_block(spec, pipe, counted_tables), ""))
            # a bug must end one job with a message, not the server
            except Exception as error:  # noqa: BLE001
                pipe.send(("failed", user_message(error)))


def _next_spec(pipe: Connection, last_counted: LastCountedTables) -> Any:
    """Return what is sent next; forget what was counted of rows that are freed meanwhile."""
    while not last_counted.is_empty and not pipe.poll(FORGET_SECONDS):
        last_counted.forget_if_freed()
    return pipe.recv()


def _run_on_shared_block(spec: JobSpec, pipe: Connection, counted_tables: CountedTables) -> str:
    """Run a task on a read-only view of its block, which is released afterwards."""
    block = SharedMemory(spec.block.name)
    try:
        rows = view_rows(spec.block, block, spec.problem, counted_tables)
        return _run_all_seeds(spec, rows, pipe)
    finally:
        with contextlib.suppress(UnboundLocalError):
            del rows
        with contextlib.suppress(BufferError):  # after an error its traceback still holds a view
            block.close()


def _run_all_seeds(spec: JobSpec, rows: Any, pipe: Connection) -> str:
    """Run a task with each of its seeds, and send what they give; return how it ended."""
    is_cancelled = _CancelCheck(pipe)
    purposes = None if spec.purposes is None else spec.purposes(rows)
    rows = rows if purposes is None else purposes.train
    run_options = _run_options(spec, is_cancelled)
    for seed in spec.seeds:
        run = Run(spec.algorithm, spec.problem, rows, spec.budget, seed=seed, **run_options)
        pipe.send(("rounds", run.plan["rounds"]))
        if spec.earlier is not None and seed == spec.seeds[0]:
            pipe.send(("provisional", run.provisional_errors(rows, spec.earlier)))
        _send_points(run, pipe)
        if run.release is not None:
            try:
                pipe.send(("result", _run_result(spec, run, purposes, is_cancelled)))
            except InterruptedError:
                return "cancelled"
        if run.stopped:
            return "cancelled"
    return "done"


class _CancelCheck:
    """A check for whether the parent has cancelled the job, which asks it now and then only.

    Where the parent says that the job's turn is over, the check lasts until its next turn.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._last_poll = time.monotonic()

    def __call__(self) -> bool:
        is_due = time.monotonic() - self._last_poll >= REPORT_SECONDS
        if not is_due:
            return False
        self._last_poll = time.monotonic()
        is_paused = False
        while is_paused or self._pipe.poll():
            message = self._pipe.recv()
            if message == "cancel":
                self._pipe.send(("stopping", None))
                return True
            is_paused = message == "pause"
        return False

    def raise_if_cancelled(self, *_progress: float | None) -> None:
        """Raise InterruptedError if the job is cancelled; a progress callback."""
        if self():
            raise InterruptedError


def _run_options(spec: JobSpec, is_cancelled: Callable[[], bool]) -> Json:
    """Return the options of a task's runs, with the plan of what a measured schema leaves."""
    run_options: Json = {
        "population": spec.population,
        "every": spec.every or (lambda rounds: max(1, rounds // MAX_CURVE_POINTS)),
        "path": spec.path,
        "stop": is_cancelled,
    }
    if spec.split is not None:
        split, run_options["plan"] = fit_split(
            spec.algorithm, spec.problem, spec.split, exact=False
        )
        run_options["whole"] = promise_of_split(split)
    return run_options


def _send_points(run: Run, pipe: Connection) -> None:
    """Run to the end, and send the points of its convergence curve now and then."""
    new_points = []
    last_report = time.monotonic()
    for point in run:
        new_points.append(point)
        if time.monotonic() - last_report > REPORT_SECONDS:
            pipe.send(("records", new_points))
            new_points = []
            last_report = time.monotonic()


def _run_result(
    spec: JobSpec, run: Run, purposes: Purposes | None, is_cancelled: _CancelCheck
) -> RunResult:
    """Return what a finished run is worth; InterruptedError if the job is cancelled meanwhile."""
    release: Any = run.release
    unbiased_answers = None
    if spec.bounded:
        unbiased_answers = unbiased_tables(release, run.measured, spec.problem.domain)
    if purposes is None:
        summary = run.summarise()
    else:
        summary = purposes.summarise(run, is_cancelled.raise_if_cancelled)
    tree_fit = run.tree_fit if spec.returns_tree_fit and not run.stopped else None
    return RunResult(summary, release, run.path, unbiased_answers, tree_fit)
