"""How small may ε be? A search in the shared pool for the smallest ε at which runs are good enough."""

import math
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import Budget, QueryRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.numbers import format_short_number
from dpcore.core.parameters import build_from_texts
from dpcore.evaluation.sweeps.frontier import (
    DEFAULT_GOOD_SHARE,
    DEFAULT_RUNS_PER_EPSILON,
    EpsilonBisection,
)

from ..components import parameter_widgets
from ..jobs import RunGroup
from ..session import escape_markdown
from .sweep_jobs import ALGORITHM_TITLES, Sweep

CONFIDENTIAL_WARNING = (
    "On your own table this uses real data: an ε chosen by the table's real errors says "
    "something about the "
    "table. Choose by a public sample, or treat the answer as confidential."
)
TOLERANCE_OPTIONS = [0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1]


@dataclass(eq=False)
class MinEpsilonSearch(RunGroup):
    """A search for the smallest ε of several algorithms; `asked` holds the sweep's task and what is near enough."""

    error = ""  # what failed stands beside its algorithm
    sweep: Sweep | None = None
    tolerance: float = 0.0
    share: float = DEFAULT_GOOD_SHARE
    delta: float = 0.0
    searches: dict[str, EpsilonBisection] = field(default_factory=dict)
    trial_epsilons: dict[str, float] = field(
        default_factory=dict
    )  # the ε under trial of every algorithm
    errors_by_algorithm: dict[str, str] = field(default_factory=dict)

    def start_search(
        self, task: Any, sweep: Sweep, tolerance: float, share: float = DEFAULT_GOOD_SHARE
    ) -> None:
        """Search anew: for the algorithms that are named last in what is `asked`."""
        self.close()
        self.requested = task
        self.sweep = sweep
        self.tolerance = tolerance
        self.share = share
        self.delta = sweep.planned_cases[0].budget.delta
        self.trial_epsilons = {}
        self.errors_by_algorithm = {}
        self.searches = {
            name: EpsilonBisection(parameter_widgets.EPSILON_OPTIONS, share=share)
            for name in task[-1]
        }
        self.collect_results()

    def collect_results(self) -> None:
        """Take in what came back, and ask for what is to be known next."""
        for name, search in self.searches.items():
            epsilon = self.trial_epsilons.get(name, 0.0)
            algorithm_jobs = [pair for pair in self.jobs if pair[0] == name]
            for pair in [pair for pair in algorithm_jobs if pair[1].ended]:
                self.jobs.remove(pair)
                if pair[1].state == "done":
                    errors = pair[1].results[0].summary.query_errors
                    search.record_outcome(epsilon, errors.max_error <= self.tolerance)
                elif pair[1].state == "failed":
                    self.errors_by_algorithm[name] = pair[1].error
            next_trial = (
                None
                if name in self.errors_by_algorithm or self.sweep is None
                else search.next_epsilon_and_seeds()
            )
            if (
                next_trial is None or next_trial[0] != epsilon
            ):  # settled: whatever still runs would not change it
                for pair in [pair for pair in self.jobs if pair[0] == name]:
                    pair[1].cancel()
                    self.jobs.remove(pair)
                if next_trial is not None and self.sweep is not None:
                    self.trial_epsilons[name] = next_trial[0]
                    algorithm = build_from_texts(algorithms_for_problem(QueryRelease)[name], {})
                    for seed in next_trial[1]:
                        self.submit(
                            name,
                            self.sweep.extra_run_job(
                                algorithm, Budget(next_trial[0], self.delta), seed
                            ),
                        )

    def cancel(self) -> None:
        """Cancel what runs, and ask for nothing more; answers that were found stay."""
        super().cancel()
        self.jobs = []
        self.sweep = None

    def close(self) -> None:
        """Cancel, and let go of all answers."""
        super().close()
        self.searches = {}
        self.trial_epsilons = {}
        self.errors_by_algorithm = {}

    @property
    def ended(self) -> bool:
        """Whether every algorithm has its answer, or was stopped; a run that ended may ask for the next one."""
        return not self.jobs

    @property
    def progress(self) -> float:
        """Share of the algorithms whose answer is there."""
        return sum(search.is_done for search in self.searches.values()) / max(len(self.searches), 1)

    @property
    def status_text(self) -> str:
        """How many algorithms have their answer."""
        return (
            f"{sum(search.is_done for search in self.searches.values())} of "
            f"{len(self.searches)} algorithms"
        )

    def answer_table(self) -> pd.DataFrame:
        """A line for each algorithm: the smallest ε that is good enough, in words; the smallest of all first."""
        order = sorted(
            self.searches, key=lambda name: self.searches[name].smallest_epsilon or math.inf
        )
        return pd.DataFrame(
            [
                {"algorithm": ALGORITHM_TITLES[name], "smallest ε": self._answer_text(name)}
                for name in order
            ],
            columns=pd.Index(["algorithm", "smallest ε"]),
        )

    def _answer_text(self, name: str) -> str:
        search = self.searches[name]
        if name in self.errors_by_algorithm:
            return self.errors_by_algorithm[name]
        if not search.is_done:
            return "stopped" if self.ended else "…"
        return (
            "not at this n" if search.smallest_epsilon is None else f"{search.smallest_epsilon:g}"
        )


def format_tolerance(tolerance: float) -> str:
    """A tolerance as the slider shows it."""
    return f"{100 * tolerance:g} point{'s' * (tolerance != 0.01)}"


def draw_answers(search: MinEpsilonSearch) -> None:
    """The answers up to now."""
    st.dataframe(search.answer_table(), hide_index=True)
    caption = (
        f"Every answer within {format_tolerance(search.tolerance)} in {search.share:.0%} of "
        f"{DEFAULT_RUNS_PER_EPSILON} runs, "
        f"δ = {format_short_number(search.delta)}."
    )
    st.caption(escape_markdown(caption, 200))
