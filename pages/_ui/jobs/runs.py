"""Start a run in the shared pool. One job a session; it ends when its tab closes."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpcore.algorithms.base import Algorithm
from dpcore.experiments.pool import Job, Pool, SharedRows, Task
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease

from ..shell.state import Table


@st.cache_resource(on_release=Pool.close, show_spinner=False)
def pool() -> Pool:
    """The server's workers; the first page to call this starts them."""
    return Pool(workers=2)


@dataclass(eq=False)
class Session:
    """What a browser tab holds in the pool: one data block, one job and the settings it was started with."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    block: SharedRows | None = None
    holds: Any = None
    job: Job | None = None
    settings: Any = None

    def start(self, table: Table, task: dict[str, Any], settings: Any) -> Job:
        """Cancel what runs and start `task` on `table`; its block is shared anew only when the data changed."""
        self.stop()
        names = task["problem"].domain.names
        rows = table.rows(names)
        if self.block is None or self.holds is not rows:
            self.free()
            self.block, self.holds = SharedRows(rows), rows
        job = Task(block=self.block.name, shape=self.block.shape, kind=self.block.kind, **task)
        self.job, self.settings = pool().submit(job, self.id), settings
        return self.job

    def stop(self) -> None:
        """Cancel what runs."""
        if self.job is not None:
            self.job.cancel()

    def free(self) -> None:
        """Give the data block back."""
        if self.block is not None:
            self.block.free()
        self.block = self.holds = None

    def close(self) -> None:
        """End of the session."""
        self.stop()
        self.free()


@st.cache_resource(scope="session", on_release=Session.close, show_spinner=False)
def session() -> Session:
    """What the calling tab holds."""
    return Session()


def job_for(
    table: Table,
    algorithm: Algorithm,
    problem: QueryRelease,
    asked: list[str],
    budget: Budget,
    seeds: tuple[int, ...],
    *,
    again: bool,
) -> Job:
    """The job of these settings: the one that is there, or a new one when they changed or a person asks again.

    `asked` are the texts of the problem's queries, by which a changed question is seen.
    """
    mine = session()
    settings = (table.rows(problem.domain.names), algorithm, problem.group, asked, budget, seeds)
    same = mine.job is not None and mine.settings == settings
    if mine.job is None or not same or again:
        population = table.population
        if population is not None and table.domain is not None:
            population = table.domain.marginal(population, problem.domain.names)
        public = {
            "algorithm": algorithm,
            "problem": problem,
            "budget": budget,
            "seeds": seeds,
            "population": population,
        }
        return mine.start(table, public, settings)
    return mine.job
