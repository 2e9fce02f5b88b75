"""Search in the shared pool for the smallest ε at which runs are good enough."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import Budget, QueryRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.job import JobState
from dpcore.core.numbers import format_short_number
from dpcore.core.parameters import build_from_texts
from dpcore.evaluation.sweeps.frontier import (
    DEFAULT_GOOD_SHARE,
    DEFAULT_RUNS_PER_EPSILON,
    EpsilonBisection,
)

from ..components import parameter_widgets
from ..jobs import GroupSummary, JobGroup
from ..session import escape_markdown
from .sweep_jobs import ALGORITHM_TITLES, Sweep

CONFIDENTIAL_WARNING = (
    "On your own table this uses real data: an ε chosen by the table's real errors says "
    "something about the "
    "table. Choose by a public sample, or treat the answer as confidential."
)
TOLERANCE_OPTIONS = [0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1]


@dataclass(eq=False)
class MinEpsilonSearch:
    """A search for the smallest ε with which each of several algorithms is exact enough.

    `requested` holds the sweep's task and what is near enough. What fails stands beside its
    algorithm.
    """

    requested: Any = None
    sweep: Sweep | None = None
    tolerance: float = 0.0
    share: float = DEFAULT_GOOD_SHARE
    delta: float = 0.0
    searches: dict[str, EpsilonBisection] = field(default_factory=dict)
    # the ε under trial of every algorithm
    trial_epsilons: dict[str, float] = field(default_factory=dict)
    errors_by_algorithm: dict[str, str] = field(default_factory=dict)
    group: JobGroup = field(default_factory=JobGroup)

    def __post_init__(self) -> None:
        self.group.follow_up = self.follow_up
        self.group.summarise = self.summarise

    def start_search(
        self, task: Any, sweep: Sweep, tolerance: float, share: float = DEFAULT_GOOD_SHARE
    ) -> None:
        """Search anew: for the algorithms that are named last in what is `requested`."""
        self.close()
        self.requested = task
        self.sweep = sweep
        self.tolerance = tolerance
        self.share = share
        self.delta = sweep.planned_cases[0].budget.delta
        self.searches = {
            name: EpsilonBisection(parameter_widgets.EPSILON_OPTIONS, share=share)
            for name in task[-1]
        }
        self.follow_up()

    def follow_up(self) -> None:
        """Take in the runs that have ended, and submit those that are to be known next."""
        for job in self.group.take_ended_jobs():
            if job.state == JobState.DONE:
                largest_error = job.results[0].summary.query_errors.max_error
                self.searches[job.key].record_outcome(
                    self.trial_epsilons[job.key], largest_error <= self.tolerance
                )
            elif job.state == JobState.FAILED:
                self.errors_by_algorithm[job.key] = job.error
        for name, search in self.searches.items():
            next_trial = search.next_epsilon_and_seeds()
            if name in self.errors_by_algorithm or next_trial is None:
                self._drop_runs(name)
            elif next_trial[0] != self.trial_epsilons.get(name, 0.0):
                self._drop_runs(name)  # settled: whatever still runs would not change it
                if not self.group.is_stopped:
                    self._submit_trial(name, *next_trial)

    def _drop_runs(self, name: str) -> None:
        """Cancel the runs of an algorithm, and forget them."""
        for job in [job for job in self.group.jobs if job.key == name]:
            job.cancel()
            self.group.jobs.remove(job)

    def _submit_trial(self, name: str, epsilon: float, seeds: Iterable[int]) -> None:
        """Submit the runs of an algorithm at the ε to be tried."""
        if self.sweep is None:
            return
        self.trial_epsilons[name] = epsilon
        algorithm = build_from_texts(algorithms_for_problem(QueryRelease)[name], {})
        for seed in seeds:
            spec = self.sweep.extra_run_job(algorithm, Budget(epsilon, self.delta), seed)
            self.group.submit(name, spec)

    def close(self) -> None:
        """Cancel, and let go of all answers."""
        self.group.close()
        self.requested = None
        self.sweep = None
        self.searches = {}
        self.trial_epsilons = {}
        self.errors_by_algorithm = {}

    def summarise(self) -> GroupSummary:
        """Return how many algorithms have their answer."""
        done_count = sum(search.is_done for search in self.searches.values())
        text = f"{done_count} of {len(self.searches)} algorithms"
        return GroupSummary(done_count / max(len(self.searches), 1), text)

    def answer_table(self) -> pd.DataFrame:
        """Return a table with each algorithm's smallest good-enough ε in words, smallest first."""
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
            return "stopped" if self.group.ended else "…"
        return (
            "not at this n" if search.smallest_epsilon is None else f"{search.smallest_epsilon:g}"
        )


def format_tolerance(tolerance: float) -> str:
    """Return an error tolerance in points, as the slider shows it."""
    noun = "point" if tolerance == 0.01 else "points"
    return f"{100 * tolerance:g} {noun}"


def draw_answers(search: MinEpsilonSearch) -> None:
    """Draw the table of answers found so far."""
    st.dataframe(search.answer_table(), hide_index=True)
    caption = (
        f"Every answer within {format_tolerance(search.tolerance)} in {search.share:.0%} of "
        f"{DEFAULT_RUNS_PER_EPSILON} runs, "
        f"δ = {format_short_number(search.delta)}."
    )
    st.caption(escape_markdown(caption, 200))
