"""Learning runs in the shared pool: many methods at many ε over seeds, what came back, and how they are taken up."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore.algorithms.base import Algorithm
from dpcore.domain import Rows
from dpcore.points import Point
from dpcore.pool import Job, SharedRows
from dpcore.privacy.budget import Budget
from dpcore.problems import RiskMinimisation
from dpcore.sweep import Case, collect, missing, task

from .runs import pool
from .sweeps import POLL


@dataclass(eq=False)
class Learned:
    """What a browser tab learns: one problem, the runs planned, those under way, and what came back so far."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    of: Any = None  # what makes runs comparable: table, task, region, δ, split
    problem: RiskMinimisation | None = None
    rows: Rows | None = None
    held_out: Rows | None = None
    block: SharedRows | None = None
    planned: list[Case] = field(default_factory=list)
    running: list[tuple[Case, Job]] = field(default_factory=list)
    points: dict[Any, tuple[Point, np.ndarray | None]] = field(default_factory=dict)

    def start(
        self, of: Any, made: tuple[RiskMinimisation, Rows, Rows | None], algorithms: Mapping[str, Algorithm],
        budgets: list[Budget], seeds: range,
    ) -> None:  # fmt: skip
        """Run what is not there yet; points of another problem are dropped, those of the same are kept."""
        self.stop()
        if self.of != of:
            self.close()
            self.of, (self.problem, self.rows, self.held_out) = of, made
            self.block = SharedRows(made[1])
        if self.problem is None or self.block is None:
            return
        self.planned = [
            Case(name=name, algorithm=algorithm, budget=budget, seed=seed)
            for seed in seeds for budget in budgets for name, algorithm in algorithms.items()
        ]  # fmt: skip
        for case in missing(self.planned, [point for point, _ in self.points.values()]):
            if refused := case.refused(self.problem):  # type: ignore[arg-type]
                self.points[case.key] = refused, None
            else:
                work = task(case, self.problem, self.block, self.held_out)  # type: ignore[arg-type]
                self.running.append((case, pool().submit(work, f"learn-{self.id}")))

    def gather(self) -> None:
        """Take in the jobs that have ended."""
        for case, job in [pair for pair in self.running if pair[1].ended]:
            self.running.remove((case, job))
            if job.state in ("done", "failed"):
                x = job.results[0].release.x if job.state == "done" else None  # type: ignore[union-attr]
                self.points[case.key] = collect(case, job), x

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
        self.block = self.problem = self.rows = self.held_out = self.of = None
        self.points, self.planned = {}, []

    @property
    def shown(self) -> list[tuple[Point, np.ndarray | None]]:
        """The points of what is planned now."""
        return [self.points[case.key] for case in self.planned if case.key in self.points]

    def table(self) -> pd.DataFrame:
        """The finished runs as lines: algorithm, epsilon, seed, seconds and every error by name."""
        lines = [
            {"algorithm": p.algorithm, "epsilon": p.epsilon, "seed": p.seed, **p.errors, "seconds": p.seconds}
            for p, _ in self.shown if p.state == "done"
        ]  # fmt: skip
        return pd.DataFrame(lines)

    def parameters(self, epsilon: float) -> pd.DataFrame:
        """Coefficients of the finished runs at one ε as lines: algorithm, coefficient, value."""
        names = () if self.problem is None else self.problem.names
        lines = [
            {"algorithm": p.algorithm, "coefficient": name, "value": float(value)}
            for p, x in self.shown if x is not None and p.epsilon == epsilon
            for name, value in zip(names, x, strict=True)
        ]  # fmt: skip
        return pd.DataFrame(lines, columns=pd.Index(["algorithm", "coefficient", "value"]))


@st.cache_resource(scope="session", on_release=Learned.close, show_spinner=False)
def line_runs() -> Learned:
    """The runs of one column of the calling tab."""
    return Learned()


@st.cache_resource(scope="session", on_release=Learned.close, show_spinner=False)
def table_runs() -> Learned:
    """The runs of the calling tab's classifier or regression."""
    return Learned()


def watch(runs: Learned, key: str) -> None:
    """Progress and Cancel while runs are under way; the page is drawn again when new ones came back."""
    runs.gather()
    if not runs.running:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        _progress(runs, len(runs.points))
        # Outside the fragment: a press while the page is drawn anew would be lost with the fragment.
        st.button("Cancel", icon=":material/stop_circle:", key=f"cancel-{key}", on_click=runs.stop)


@st.fragment(run_every=POLL)
def _progress(runs: Learned, drawn: int) -> None:
    runs.gather()
    if not runs.running or len(runs.points) > drawn:
        st.rerun()
    st.progress(len(runs.shown) / max(len(runs.planned), 1), f"{len(runs.shown)} of {len(runs.planned)} runs")
