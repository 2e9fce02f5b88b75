"""How small may ε be? A search in the shared pool for the smallest ε at which runs are good enough."""

import math
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import Budget, QueryRelease
from dpcore.algorithms import solving
from dpcore.core.numbers import brief
from dpcore.core.parameters import build
from dpcore.evaluation.sweeps.frontier import RUNS, SHARE, Search

from ..components import parameter_widgets
from ..jobs import Runs
from ..session import plain
from .sweep_jobs import TITLES, Sweep

CONFIDENTIAL = (
    "On your own table this uses real data: an ε chosen by the table's real errors says something about the "
    "table. Choose by a public sample, or treat the answer as confidential."
)
TOLERANCES = [0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1]


@dataclass(eq=False)
class Solving(Runs):
    """A search for the smallest ε of several algorithms; `asked` holds the sweep's task and what is near enough."""

    error = ""  # what failed stands beside its algorithm
    sweep: Sweep | None = None
    tolerance: float = 0.0
    share: float = SHARE
    delta: float = 0.0
    searches: dict[str, Search] = field(default_factory=dict)
    at: dict[str, float] = field(default_factory=dict)  # the ε under trial of every algorithm
    failed: dict[str, str] = field(default_factory=dict)

    def begin(self, asked: Any, sweep: Sweep, tolerance: float, share: float = SHARE) -> None:
        """Search anew: for the algorithms that are named last in what is `asked`."""
        self.close()
        self.asked, self.sweep, self.tolerance, self.share = asked, sweep, tolerance, share
        self.delta, self.at, self.failed = sweep.planned[0].budget.delta, {}, {}
        self.searches = {name: Search(parameter_widgets.EPSILONS, share=share) for name in asked[-1]}
        self.gather()

    def gather(self) -> None:
        """Take in what came back, and ask for what is to be known next."""
        for name, search in self.searches.items():
            epsilon, algorithm_jobs = self.at.get(name, 0.0), [pair for pair in self.jobs if pair[0] == name]
            for pair in [pair for pair in algorithm_jobs if pair[1].ended]:
                self.jobs.remove(pair)
                if pair[1].state == "done":
                    search.tell(epsilon, pair[1].results[0].summary["final"]["max_error"] <= self.tolerance)
                elif pair[1].state == "failed":
                    self.failed[name] = pair[1].error
            next_trial = None if name in self.failed or self.sweep is None else search.ask()
            if next_trial is None or next_trial[0] != epsilon:  # settled: whatever still runs would not change it
                for pair in [pair for pair in self.jobs if pair[0] == name]:
                    pair[1].cancel()
                    self.jobs.remove(pair)
                if next_trial is not None and self.sweep is not None:
                    self.at[name], algorithm = next_trial[0], build(solving(QueryRelease)[name], {})
                    for seed in next_trial[1]:
                        self.submit(name, self.sweep.once_more(algorithm, Budget(next_trial[0], self.delta), seed))

    def cancel(self) -> None:
        """Cancel what runs, and ask for nothing more; answers that were found stay."""
        super().cancel()
        self.jobs, self.sweep = [], None

    def close(self) -> None:
        """Cancel, and let go of all answers."""
        super().close()
        self.searches, self.at, self.failed = {}, {}, {}

    @property
    def ended(self) -> bool:
        """Whether every algorithm has its answer, or was stopped; a run that ended may ask for the next one."""
        return not self.jobs

    @property
    def progress(self) -> float:
        """Share of the algorithms whose answer is there."""
        return sum(search.done for search in self.searches.values()) / max(len(self.searches), 1)

    @property
    def words(self) -> str:
        """How many algorithms have their answer."""
        return f"{sum(search.done for search in self.searches.values())} of {len(self.searches)} algorithms"

    def answers(self) -> pd.DataFrame:
        """A line for each algorithm: the smallest ε that is good enough, in words; the smallest of all first."""
        order = sorted(self.searches, key=lambda name: self.searches[name].found or math.inf)
        return pd.DataFrame(
            [{"algorithm": TITLES[name], "smallest ε": self._words(name)} for name in order],
            columns=pd.Index(["algorithm", "smallest ε"]),
        )

    def _words(self, name: str) -> str:
        search = self.searches[name]
        if name in self.failed:
            return self.failed[name]
        if not search.done:
            return "stopped" if self.ended else "…"
        return "not at this n" if search.found is None else f"{search.found:g}"


def points_words(tolerance: float) -> str:
    """A tolerance as the slider shows it."""
    return f"{100 * tolerance:g} point{'s' * (tolerance != 0.01)}"


def show(search: Solving) -> None:
    """The answers up to now."""
    st.dataframe(search.answers(), hide_index=True)
    caption = (
        f"Every answer within {points_words(search.tolerance)} in {search.share:.0%} of {RUNS} runs, "
        f"δ = {brief(search.delta)}."
    )
    st.caption(plain(caption, 200))
