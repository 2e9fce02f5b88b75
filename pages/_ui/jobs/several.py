"""Many runs of one problem in the shared pool: those planned, under way and found, watched and cancelled as one."""

import uuid
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import streamlit as st

from dpcore.data.domain import Rows
from dpcore.experiments.pool import Job, Result, SharedRows
from dpcore.experiments.sweep import Case, collect, missing, task
from dpcore.experiments.sweep_point import Point

from .runs import pool

POLL = 0.7  # seconds between two looks at what came back


class Kept(Protocol):
    """What a tab keeps of one run: its point, and more."""

    @property
    def point(self) -> Point:
        """What the run became."""
        ...


Found = TypeVar("Found", bound=Kept)


@dataclass(eq=False)
class Several(Generic[Found]):
    """What a browser tab runs of one problem; `of` is what makes runs comparable: table, questions, δ and the like."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    of: Any = None
    problem: Any = None
    rows: Rows | None = None
    beside: Any = None  # what else a run is compared with: the population, or the records held out
    block: SharedRows | None = None
    planned: list[Case] = field(default_factory=list)
    running: list[tuple[Case, Job]] = field(default_factory=list)
    found: dict[Any, Found] = field(default_factory=dict)

    def keep(self, point: Point, result: Result | None) -> Found:
        """What is kept of a run that ended, with its result, or failed or was refused, without one."""
        raise NotImplementedError

    def run(self, planned: list[Case]) -> None:
        """Run what of the plan is not there yet."""
        if self.block is None:
            self.block = SharedRows(self.rows)  # type: ignore[arg-type]
        self.planned = planned
        for case in missing(planned, [found.point for found in self.found.values()]):
            if refused := case.refused(self.problem):
                self.found[case.key] = self.keep(refused, None)
            else:
                job = pool().submit(task(case, self.problem, self.block, self.beside), f"several-{self.id}")
                self.running.append((case, job))

    def gather(self) -> None:
        """Take in the jobs that have ended."""
        for case, job in [pair for pair in self.running if pair[1].ended]:
            self.running.remove((case, job))
            if job.state in ("done", "failed"):
                self.found[case.key] = self.keep(collect(case, job), job.results[0] if job.state == "done" else None)

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
        self.block = self.problem = self.rows = self.beside = self.of = None
        self.found, self.planned = {}, []

    @property
    def ended(self) -> bool:
        """Whether nothing is under way."""
        return not self.running

    @property
    def shown(self) -> list[Found]:
        """What is there of what is planned now, in the order of the plan."""
        return [self.found[case.key] for case in self.planned if case.key in self.found]


def watch(runs: Several, key: str) -> None:
    """Progress and Cancel while runs are under way; the page is drawn again when new ones came back."""
    runs.gather()
    if runs.ended:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        _progress(runs, len(runs.found))
        # Outside the fragment: a press while the page is drawn anew would be lost with the fragment it was meant for.
        st.button("Cancel", icon=":material/stop_circle:", key=f"cancel-{key}", on_click=runs.stop)


@st.fragment(run_every=POLL)
def _progress(runs: Several, drawn: int) -> None:
    runs.gather()
    if runs.ended or len(runs.found) > drawn:
        st.rerun()
    done, all_of_it = len(runs.shown), len(runs.planned)
    st.progress(done / max(all_of_it, 1), f"{done} of {all_of_it} runs")
