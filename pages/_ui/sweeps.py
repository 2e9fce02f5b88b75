"""A comparison of algorithms in the shared pool: its runs, what they became, and how it is taken up again."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms.base import Algorithm
from dpcore.domain import Rows
from dpcore.errors import InputError
from dpcore.points import Point
from dpcore.pool import Job, SharedRows, Task
from dpcore.privacy.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.run import pairs_with, real_answers
from dpcore.sweep import Case, cases, collect, missing, task
from dpcore.workloads import Marginals

from .runs import pool
from .state import Table

MOST_KEPT = 200_000  # answers of one run on all pairs that are kept beside those of its questions
POLL = 0.7  # seconds between two looks at what came back


@dataclass(frozen=True, eq=False)
class Dot:
    """One run on the chart: its point, its answers (m,), and its answers on all pairs of columns."""

    point: Point
    answers: np.ndarray | None = None
    pairs: np.ndarray | None = None


@dataclass(eq=False)
class Sweep:
    """What a browser tab compares: one problem on one table, the runs planned, those under way, the dots so far."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    task: Any = None  # what makes runs comparable: table, questions, group, δ, how many records
    problem: QueryRelease | None = None
    rows: Rows | None = None
    population: np.ndarray | None = None
    block: SharedRows | None = None
    planned: list[Case] = field(default_factory=list)
    running: list[tuple[Case, Job]] = field(default_factory=list)
    dots: dict[Any, Dot] = field(default_factory=dict)
    pairs: Marginals | None = None
    real: np.ndarray | None = None  # the records' answers (m,)
    real_pairs: np.ndarray | None = None

    def start(
        self,
        task_of: Any,
        make: Callable[[], tuple[QueryRelease, Rows, np.ndarray | None]],
        algorithms: Mapping[str, Algorithm],
        budgets: list[Budget],
        seeds: range,
    ) -> None:
        """Run what is not there yet; dots of another problem are dropped, those of the same are kept."""
        self.stop()
        if self.task != task_of:
            self.close()
            self.problem, self.rows, self.population = make()
            self.task, self.dots = task_of, {}
            pairs = pairs_with(self.problem.domain)
            self.pairs = pairs if pairs.m <= MOST_KEPT else None
            self.real = real_answers(self.rows, self.problem.workload)
            self.real_pairs = None if self.pairs is None else real_answers(self.rows, self.pairs)
        if self.problem is None or self.rows is None:
            raise InputError("choose a table and questions first")
        if self.block is None:
            self.block = SharedRows(self.rows)
        self.planned = cases(algorithms, self.problem, budgets, seeds)
        for case in missing(self.planned, [dot.point for dot in self.dots.values()]):
            if refused := case.refused(self.problem):
                self.dots[case.key] = Dot(refused)
            else:
                job = pool().submit(task(case, self.problem, self.block, self.population), f"sweep-{self.id}")
                self.running.append((case, job))

    def task_for(self, algorithm: Algorithm, budget: Budget, seed: int) -> Task:
        """One more run of the same problem, as the pool takes it."""
        if self.problem is None or self.block is None:
            raise InputError("the table of this comparison is no longer here; run it again")
        case = Case(name="", algorithm=algorithm, budget=budget, seed=seed)
        return task(case, self.problem, self.block, self.population)

    def gather(self) -> None:
        """Turn the jobs that have ended into dots."""
        for case, job in [pair for pair in self.running if pair[1].ended]:
            self.running.remove((case, job))
            if job.state == "done":
                release = job.results[0].release
                pairs = None if self.pairs is None else release.answers(self.pairs)
                self.dots[case.key] = Dot(collect(case, job), release.answers(self.problem.workload), pairs)  # type: ignore
            elif job.state == "failed":
                self.dots[case.key] = Dot(collect(case, job))

    def stop(self) -> None:
        """Cancel what runs; what is there stays."""
        self.gather()
        for _, job in self.running:
            job.cancel()
        self.running = []

    def close(self) -> None:
        """End of the session, or of its problem."""
        self.stop()
        if self.block is not None:
            self.block.free()
        self.block = self.problem = self.rows = self.task = None
        self.dots, self.planned = {}, []

    def stale(self, table: Table) -> bool:
        """Whether the dots are of another table, or of another schema of it, than `table`."""
        return self.task is not None and self.task[0] is not table

    @property
    def ended(self) -> bool:
        """Whether nothing is under way."""
        return not self.running

    @property
    def shown(self) -> list[Dot]:
        """The dots of what is planned now, in the order of the plan."""
        return [self.dots[case.key] for case in self.planned if case.key in self.dots]

    def table(self, value: Callable[[Dot], float | None]) -> pd.DataFrame:
        """The finished runs as lines: algorithm, epsilon, seed, error (what `value` says of a dot), seconds, memory."""
        done = [dot for dot in self.shown if dot.point.state == "done"]
        columns = ["algorithm", "epsilon", "seed", "error", "seconds", "memory"]
        lines = [
            (d.point.algorithm, d.point.epsilon, d.point.seed, value(d), d.point.seconds, d.point.memory) for d in done
        ]
        return pd.DataFrame(lines, columns=pd.Index(columns))


@st.cache_resource(scope="session", on_release=Sweep.close, show_spinner=False)
def current() -> Sweep:
    """The comparison of the calling tab."""
    return Sweep()


def watch(sweep: Sweep) -> None:
    """Progress and Cancel while runs are under way; the page is drawn again when new ones came back."""
    sweep.gather()
    if sweep.ended:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        _progress(sweep, len(sweep.dots))
        # Outside the fragment: a press while the page is drawn anew would be lost with the fragment it was meant for.
        st.button("Cancel", icon=":material/stop_circle:", key="cancel-sweep", on_click=sweep.stop)


@st.fragment(run_every=POLL)
def _progress(sweep: Sweep, drawn: int) -> None:
    sweep.gather()
    if sweep.ended or len(sweep.dots) > drawn:
        st.rerun()
    done, all_of_it = len(sweep.shown), len(sweep.planned)
    st.progress(done / max(all_of_it, 1), f"{done} of {all_of_it} runs")
