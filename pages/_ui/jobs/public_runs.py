"""Runs of public samples: each is made once, and all tabs of the server share it.

A class that moves the same slider asks for the same few runs. Nothing of an uploaded table comes
here: whoever submits a run here says that its rows are those of a sample that everyone may have.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from typing import Any

import streamlit as st

from dpcore import QueryRelease, Rows
from dpcore.core.job import JobState
from dpcore.evaluation.sweeps.shared_rows import SharedRows
from dpcore.evaluation.sweeps.sweep import rows_digest, sweep_identity
from dpcore.evaluation.sweeps.worker_pool import JobSpec, RunJob

from .shared_pool import worker_pool

MAX_RESULT_BYTES = 128 * 2**20  # of all finished runs that are kept


@dataclass(eq=False)
class PublicRun:
    """A run of a public sample, and the tabs that wait for it."""

    job: RunJob
    block: SharedRows | None  # None once the job has ended
    tabs: set[str] = field(default_factory=set)
    size: int = 0  # bytes of what is kept of it; 0 until it has ended


class PublicRuns:
    """The runs of public samples on this server: those under way, and the last finished ones."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Hashable, PublicRun] = OrderedDict()
        self._lock = threading.Lock()

    def submit(
        self,
        key: Hashable,
        rows: Rows,
        task: dict[str, Any],
        tab: str,
        predicted_seconds: float | None = None,
    ) -> RunJob:
        """Return the job of a run, which another tab may have submitted before.

        Args:
            key: What determines the run: its rows, problem, algorithm, budget and seeds.
            rows: The rows of a public sample.
            task: The rest of a pool's JobSpec.
            tab: Who waits for it; the pool's sessions take turns.
            predicted_seconds: The seconds that it is predicted to take.

        """
        with self._lock:
            self._tidy()
            run = self._runs.get(key)
            if run is None or (run.job.cancel_requested and run.job.state != JobState.DONE):
                block = SharedRows(rows)
                spec = JobSpec(block=block.block, **task)
                run = PublicRun(worker_pool().submit(spec, tab, predicted_seconds), block)
                self._replace(key, run)
            self._runs.move_to_end(key)
            if not run.job.ended:
                run.tabs.add(tab)
            return run.job

    def leave(self, job: RunJob, tab: str) -> bool:
        """Cancel a job for one tab; return whether it goes on because others wait for it."""
        with self._lock:
            run = next((run for run in self._runs.values() if run.job is job), None)
            if run is None:
                job.cancel()
                return False
            run.tabs.discard(tab)
            if not job.ended and not run.tabs:
                job.cancel()
            return not job.ended and bool(run.tabs)

    def close(self) -> None:
        """Cancel all runs and let go of them."""
        with self._lock:
            for run in self._runs.values():
                run.job.cancel()
                _free_block(run)
            self._runs.clear()

    def _replace(self, key: Hashable, run: PublicRun) -> None:
        """Keep a run in the place of a cancelled one, whose block its worker still has in view."""
        previous = self._runs.pop(key, None)
        if previous is not None:
            _free_block(previous)
        self._runs[key] = run

    def _tidy(self) -> None:
        """Free the blocks of runs that have ended, and drop failed runs and the oldest results."""
        for key, run in list(self._runs.items()):
            if not run.job.ended:
                continue
            _free_block(run)
            if run.job.state != JobState.DONE:
                del self._runs[key]
            elif not run.size:
                kept = run.job.task, run.job.results, run.job.partial_results
                run.size = len(ForkingPickler.dumps(kept))
        total = sum(run.size for run in self._runs.values())
        for key, run in list(self._runs.items()):
            if total <= MAX_RESULT_BYTES:
                break
            if run.size:
                total -= run.size
                del self._runs[key]


def _free_block(run: PublicRun) -> None:
    if run.block is not None:
        run.block.free_memory()
        run.block = None


def problem_digest(problem: QueryRelease, rows: Rows) -> str:
    """Return a text that is the same for the same problem on the same rows, in every tab."""
    return f"{sweep_identity(problem)}{rows_digest(rows)}"


@st.cache_resource(on_release=PublicRuns.close, show_spinner=False)
def public_runs() -> PublicRuns:
    """Return the server's runs of public samples."""
    return PublicRuns()
