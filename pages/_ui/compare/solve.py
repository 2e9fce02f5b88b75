"""How small may ε be? A search in the shared pool for the smallest ε at which runs are good enough."""

import uuid
from dataclasses import dataclass, field

import pandas as pd
import streamlit as st

from dpcore.algorithms import solving
from dpcore.experiments.frontier import RUNS, SHARE, Search
from dpcore.experiments.pool import Job
from dpcore.params import build
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag

from ..jobs.runs import pool
from ..jobs.several import POLL
from ..shell import controls
from ..shell.frame import heading, peek
from ..shell.state import Table
from ..shell.text import plain
from .sweeps import Sweep

TOLERANCES = [0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1]


@dataclass(eq=False)
class Solving:
    """A search for the smallest ε of several algorithms; `of` is the task of the sweep whose table it uses."""

    of: object = None
    tolerance: float = 0.0
    delta: float = 0.0
    searches: dict[str, Search] = field(default_factory=dict)
    jobs: dict[str, tuple[float, list[Job]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def start(self, sweep: Sweep, names: list[str], tolerance: float, delta: float) -> None:
        """Begin anew."""
        self.stop()
        self.of, self.tolerance, self.delta, self.failed = sweep.of, tolerance, delta, {}
        self.searches = {name: Search(controls.EPSILONS) for name in names}
        self.advance(sweep)

    def advance(self, sweep: Sweep) -> None:
        """Take in what came back, and ask for what is to be known next."""
        for name, search in self.searches.items():
            epsilon, jobs = self.jobs.get(name, (0.0, []))
            for job in [j for j in jobs if j.ended]:
                jobs.remove(job)
                if job.state == "done":
                    search.tell(epsilon, job.results[0].summary["final"]["max_error"] <= self.tolerance)
                elif job.state == "failed":
                    self.failed[name] = job.error
            asked = None if name in self.failed else search.ask()
            if asked is None or asked[0] != epsilon:  # settled: whatever still runs would not change it
                for job in jobs:
                    job.cancel()
                wanted = [] if asked is None else [self._submit(sweep, name, asked[0], seed) for seed in asked[1]]
                self.jobs[name] = (asked[0] if asked else 0.0, wanted)

    def _submit(self, sweep: Sweep, name: str, epsilon: float, seed: int) -> Job:
        algorithm = build(solving(QueryRelease)[name], {})
        return pool().submit(sweep.task_for(algorithm, Budget(epsilon, self.delta), seed), f"solve-{self.id}")

    def stop(self) -> None:
        """Cancel what runs."""
        for _, jobs in self.jobs.values():
            for job in jobs:
                job.cancel()
        self.jobs = {}

    @property
    def ended(self) -> bool:
        """Whether every algorithm has its answer, or was stopped."""
        return not any(jobs for _, jobs in self.jobs.values())

    def answers(self) -> pd.DataFrame:
        """A line for each algorithm: the smallest ε that is good enough, in words."""
        return pd.DataFrame(
            [{"algorithm": name, "smallest ε": self._words(name)} for name in self.searches],
            columns=pd.Index(["algorithm", "smallest ε"]),
        )

    def _words(self, name: str) -> str:
        search = self.searches[name]
        if name in self.failed:
            return self.failed[name]
        if not search.done:
            return "stopped" if self.ended else "…"
        return "not at this n" if search.found is None else f"{search.found:g}"


@st.cache_resource(scope="session", on_release=Solving.stop, show_spinner=False)
def current() -> Solving:
    """The search of the calling tab."""
    return Solving()


@peek
def solve(table: Table, sweep: Sweep) -> None:
    """The widgets, the progress and the answers."""
    heading("How small may ε be?", Tag.PEEK)
    search = current()
    if table.uploaded:
        st.warning(
            "On your own table this is a private peek: an ε chosen by the table's real errors says something about the "
            "table. Choose by a public sample, or treat the answer as confidential."
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tolerance = st.select_slider(
            "Every answer within", TOLERANCES, 0.01, lambda a: f"{100 * a:g} points", key="tolerance",
            bind="query-params", width=320,
        )  # fmt: skip
        if st.button("Find the smallest ε", icon=":material/search:"):
            names = list(dict.fromkeys(case.name for case in sweep.planned))
            search.start(sweep, names, tolerance, sweep.planned[0].budget.delta)
    if search.of is not sweep.of or not search.searches:
        st.caption(f"In {SHARE:.0%} of {RUNS} runs, by bisection over the slider's values of ε.")
        return
    if search.ended:
        _show(search)
    else:
        _follow(search, sweep)
        st.button("Cancel", icon=":material/stop_circle:", key="cancel-solve", on_click=search.stop)


@st.fragment(run_every=POLL)
def _follow(search: Solving, sweep: Sweep) -> None:
    search.advance(sweep)
    if search.ended:
        st.rerun()
    _show(search)


def _show(search: Solving) -> None:
    st.dataframe(search.answers(), hide_index=True)
    words = (
        f"Every answer within {100 * search.tolerance:g} points in {SHARE:.0%} of {RUNS} runs, δ = {search.delta:g}."
    )
    st.caption(plain(words, 200))
