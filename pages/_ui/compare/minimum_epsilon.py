"""Search in the shared pool for the smallest ε at which runs are good enough."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpcore import Budget, QueryRelease
from dpcore.algorithms import algorithms_for_problem
from dpcore.core.job import JobState
from dpcore.core.numbers import format_short_number
from dpcore.core.parameters import build_from_texts
from dpcore.core.provenance import Provenance
from dpcore.evaluation.sweeps.frontier import DEFAULT_RUNS_PER_EPSILON, EpsilonBisection
from dpcore.evaluation.sweeps.worker_pool import RunResult

from ..components import draw_heading, hide_in_stakeholder_view, parameter_widgets
from ..jobs import GroupSummary, JobGroup, wait_or_draw_progress
from ..session import Table, escape_markdown, session
from .accuracy_goal import AccuracyGoal, format_tolerance, smallest_tolerance_above
from .sweep_jobs import ALGORITHM_TITLES, Sweep

CONFIDENTIAL_WARNING = (
    "On your own table this uses real data: an ε chosen by the table's real errors says "
    "something about the "
    "table. Choose by a public sample, or treat the answer as confidential."
)


@dataclass(eq=False)
class MinEpsilonSearch:
    """A search for the smallest ε with which each of several algorithms is exact enough.

    `requested` holds the sweep's task and what is near enough. What fails stands beside its
    algorithm.
    """

    requested: Any = None
    sweep: Sweep | None = None
    goal: AccuracyGoal | None = None
    delta: float = 0.0
    searches: dict[str, EpsilonBisection] = field(default_factory=dict)
    # the ε under trial of every algorithm
    trial_epsilons: dict[str, float] = field(default_factory=dict)
    # the largest errors of an algorithm's runs at the largest ε tried of it
    errors_at_largest: dict[str, tuple[float, list[float]]] = field(default_factory=dict)
    failures_by_algorithm: dict[str, str] = field(default_factory=dict)
    group: JobGroup = field(default_factory=JobGroup)

    def __post_init__(self) -> None:
        self.group.follow_up = self.follow_up
        self.group.summarise = self.summarise

    def start_search(self, task: Any, sweep: Sweep, goal: AccuracyGoal) -> None:
        """Search anew: for the algorithms that are named last in what is `requested`."""
        self.close()
        self.requested = task
        self.sweep = sweep
        self.goal = goal
        self.delta = sweep.planned_cases[0].budget.delta
        self.searches = {
            name: EpsilonBisection(parameter_widgets.EPSILON_OPTIONS, share=goal.share)
            for name in task[-1]
        }
        self.follow_up()

    def follow_up(self) -> None:
        """Take in the runs that have ended, and submit those that are to be known next."""
        for job in self.group.take_ended_jobs():
            if job.state == JobState.DONE:
                self._record_run(job.key, job.results[0])
            elif job.state == JobState.FAILED:
                self.failures_by_algorithm[job.key] = job.error
        for name, search in self.searches.items():
            next_trial = search.next_epsilon_and_seeds()
            if name in self.failures_by_algorithm or next_trial is None:
                self._drop_runs(name)
            elif next_trial[0] != self.trial_epsilons.get(name, 0.0):
                self._drop_runs(name)  # settled: whatever still runs would not change it
                if not self.group.is_stopped:
                    self._submit_trial(name, *next_trial)

    def _record_run(self, name: str, result: RunResult) -> None:
        """Take in how far off the needed answers of one run are."""
        if self.sweep is None or self.sweep.problem is None or self.goal is None:
            return
        answers = result.release.answers(self.sweep.problem.workload)
        error = self.sweep.error_of_need(self.goal, answers)
        if error is None:
            return
        epsilon = self.trial_epsilons[name]
        largest_epsilon, errors = self.errors_at_largest.get(name, (0.0, []))
        if epsilon > largest_epsilon:
            self.errors_at_largest[name] = epsilon, [error]
        elif epsilon == largest_epsilon:
            errors.append(error)
        self.searches[name].record_outcome(epsilon, error <= self.goal.tolerance)

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
        self.errors_at_largest = {}
        self.failures_by_algorithm = {}

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
        if name in self.failures_by_algorithm:
            return self.failures_by_algorithm[name]
        if not search.is_done:
            return "stopped" if self.group.ended else "…"
        if search.smallest_epsilon is not None:
            return f"{search.smallest_epsilon:g}"
        epsilon, errors = self.errors_at_largest[name]
        kept_error = float(np.quantile(errors, search.share, method="higher"))
        nearest = format_tolerance(smallest_tolerance_above(kept_error))
        return f"none is enough: within {nearest} at ε = {epsilon:g}"


def draw_answers(search: MinEpsilonSearch) -> None:
    """Draw the table of answers found so far."""
    st.dataframe(search.answer_table(), hide_index=True)
    if search.goal is None or search.sweep is None or search.sweep.problem is None:
        return
    needed = search.goal.needed_text(search.sweep.problem.workload)
    caption = (
        f"Measured: {needed} within {format_tolerance(search.goal.tolerance)} in "
        f"{100 * search.goal.share:g}% of {DEFAULT_RUNS_PER_EPSILON} runs, "
        f"δ = {format_short_number(search.delta)}."
    )
    st.caption(escape_markdown(caption, 300))


@hide_in_stakeholder_view
def draw_search_by_runs(
    table: Table, sweep: Sweep, goal: AccuracyGoal, names: Sequence[str]
) -> None:
    """Answer the same question for any algorithm by runs on the real rows, and on a press only."""
    draw_heading("Which ε does each algorithm need?", Provenance.REAL_DATA)
    pressed = st.button(
        "Check with simulated releases",
        icon=":material/search:",
        key="ask-by-runs",
        help=f"{DEFAULT_RUNS_PER_EPSILON} runs at each ε tried, of every algorithm chosen, are "
        "compared with the real answers.",
    )
    search = session().get_or_create("ask", MinEpsilonSearch)
    search_key = sweep.requested, goal, tuple(names)
    if pressed:
        search.start_search(search_key, sweep, goal)
    if search.requested != search_key or not search.searches:
        return
    if table.uploaded:
        st.warning(CONFIDENTIAL_WARNING)
    if wait_or_draw_progress(search.group, "ask", draw_partial=lambda: draw_answers(search)):
        draw_answers(search)
