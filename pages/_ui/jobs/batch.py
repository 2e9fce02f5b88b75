"""Runs that belong together in the shared pool: several data sets and seeds, watched and cancelled as one."""

import time
import uuid
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpcore.data.domain import Rows
from dpcore.experiments.pool import Job, Result, SharedRows, Task

from ..server import turns
from ..shell.text import plain
from .runs import pool

PATIENCE = 0.9  # seconds a page waits for short runs before it shows progress instead
POLL = 0.5  # seconds between two looks at long ones
LAST = 10**9  # more steps than there are: compared with the truth at the end only


@dataclass(frozen=True, eq=False)
class Wanted:
    """One job: what it is called here, its data, and the rest of a pool's Task."""

    key: Hashable
    rows: Rows
    task: dict[str, Any]


@dataclass(eq=False)
class Batch:
    """What a browser tab runs under one heading: `asked` says with which settings, `jobs` what became of it."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: Any = None
    blocks: dict[int, tuple[Rows, SharedRows]] = field(default_factory=dict)
    jobs: list[tuple[Hashable, Job]] = field(default_factory=list)
    context: Any = None  # what the page drew the runs from, to draw the results with

    def start(self, asked: Any, wanted: Iterable[Wanted], context: Any = None) -> None:
        """Drop what is there and run these; data that several of them use is shared once."""
        self.close()
        self.asked, self.context = asked, context
        for one in wanted:
            if id(one.rows) not in self.blocks:
                self.blocks[id(one.rows)] = (one.rows, SharedRows(one.rows))
            block = self.blocks[id(one.rows)][1]
            task = Task(block=block.name, shape=block.shape, kind=block.kind, **one.task)
            self.jobs.append((one.key, pool().submit(task, f"batch-{self.id}")))

    def stop(self) -> None:
        """Cancel what runs; what is there stays."""
        for _, job in self.jobs:
            job.cancel()

    def close(self) -> None:
        """End of the session, or of these settings."""
        self.stop()
        for _, block in self.blocks.values():
            block.free()
        self.blocks, self.jobs, self.asked, self.context = {}, [], None, None

    def wait(self, seconds: float) -> bool:
        """Wait for all of it, `seconds` at the most; whether it ended."""
        until = time.monotonic() + seconds
        with turns.aside():
            return all([job.wait(max(until - time.monotonic(), 0.0)) for _, job in self.jobs])

    @property
    def ended(self) -> bool:
        """Whether nothing is under way."""
        return all(job.ended for _, job in self.jobs)

    @property
    def progress(self) -> float:
        """Share of the work that is done."""
        return sum(job.progress for _, job in self.jobs) / max(len(self.jobs), 1)

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


@st.cache_resource(scope="session", on_release=Batch.close, show_spinner=False)
def batch(name: str) -> Batch:  # noqa: ARG001 - the cache's key
    """The calling tab's batch of that name."""
    return Batch()


def watch(mine: Batch, early: int = 0) -> bool:
    """Wait a moment; for longer runs draw progress and Cancel. True when all has ended.

    The page is drawn again at the end, and once before when `early` results are there.
    """
    if not mine.wait(PATIENCE):
        with st.container(horizontal=True, vertical_alignment="center"):
            _progress(mine, early if len(mine.results) < early else 0)
            # Outside the fragment: a press while the page is drawn anew would be lost with the fragment it was for.
            st.button("Cancel", icon=":material/stop_circle:", key=f"cancel-{mine.id}", on_click=mine.stop)
        return False
    if mine.error:
        st.error(plain(mine.error, 400))
    if mine.cancelled:
        st.warning("Cancelled: what is shown below is as far as it got.")
    return True


@st.fragment(run_every=POLL)
def _progress(mine: Batch, early: int) -> None:
    if mine.ended or 0 < early <= len(mine.results):
        st.rerun()
    done = sum(job.ended for _, job in mine.jobs)
    st.progress(mine.progress, f"{done} of {len(mine.jobs)} runs")
