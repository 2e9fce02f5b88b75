"""Run shown on Explore, started when its settings change, and its replays with other noise."""

import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import streamlit as st

from dpcore import Budget, QueryRelease, Rows
from dpcore.algorithms import Algorithm
from dpcore.core.job import JobState
from dpcore.core.numbers import unit_noun
from dpcore.core.provenance import Provenance
from dpcore.evaluation.experiment import Experiment, QueryTask
from dpcore.evaluation.release_errors import Errors
from dpcore.evaluation.sweeps.worker_pool import RunJob, RunResult
from dpcore.queries.workload import table_columns
from dpcore.release.tiles import largest_error_tile, measured_error_tile

from ..charts import explore_charts as charts
from ..components import draw_heading, hide_in_stakeholder_view, inline_container, tile_text
from ..jobs import JobGroup, PlannedRun, wait_or_draw_progress
from ..jobs.job_watcher import POLL_SECONDS
from ..jobs.public_runs import problem_digest
from ..session import Table, render_turns, session
from ..session.render_turns import redraw_page
from .run_settings import RunSettings

# seconds up to which a run is quick: its replays then use all workers, and are drawn together
MAX_QUICK_SECONDS = 1.0
SO_FAR_TEXT = (
    "So far, with the tables that the run before chose. This run still chooses its own; its result "
    "replaces these numbers."
)


@dataclass(eq=False)
class RunWithReplays:
    """One run, the first of its seeds, and replays of it with the others.

    The replays are asked for when the first has ended, so that a long run never keeps two workers
    busy.
    """

    group: JobGroup = field(default_factory=lambda: JobGroup(awaits_first_only=True))
    first_run: PlannedRun | None = None
    # of the last run of a task that ended: its rows, what was asked, and its tree
    tree_fit: tuple[Rows, QueryTask, Algorithm, Any] | None = None
    replay_seeds: tuple[int, ...] = ()  # of the replays that are not asked for yet

    @property
    def first_job(self) -> RunJob:
        """The run that is shown."""
        return self.group.jobs[0]

    @property
    def public_key(self) -> Hashable | None:
        """What determines the first run, of a public sample; None for any other table."""
        return None if self.first_run is None else self.first_run.public_key

    @property
    def all_ended(self) -> bool:
        """Whether the replays have ended too."""
        return not self.replay_seeds and all(job.ended for job in self.group.jobs)

    @property
    def replays(self) -> list[RunResult]:
        """What has come back of them, in the order of the seeds."""
        replay_jobs = self.group.jobs[1:]
        return [
            result for job in replay_jobs if job.state != JobState.FAILED for result in job.results
        ]

    @property
    def is_quick(self) -> bool:
        """Whether a run takes no longer than a person waits."""
        results = self.first_job.results
        return bool(results) and results[0].summary.seconds <= MAX_QUICK_SECONDS

    def keep_tree_fit(self) -> None:
        """Keep the tree of the run that is shown, if it has ended and has one."""
        if self.first_run is None or not self.group.jobs or not self.group.requested:
            return
        results = self.first_job.results
        if self.first_job.state != JobState.DONE or not results or results[0].tree_fit is None:
            return
        _, experiment, _ = self.group.requested
        self.tree_fit = (
            self.first_run.rows,
            experiment.task,
            experiment.algorithm,
            results[0].tree_fit,
        )

    def tree_fit_of(self, rows: Rows, experiment: Experiment) -> Any:
        """Return the tree of the last run that differs in budget and seeds alone; None without."""
        if self.tree_fit is None:
            return None
        kept_rows, task, algorithm, tree_fit = self.tree_fit
        is_same = kept_rows is rows and task == experiment.task
        return tree_fit if is_same and algorithm == experiment.algorithm else None

    def submit_replays(self) -> None:
        """Ask for the replays once the first run is there; for none where a person stopped it."""
        if not self.first_job.ended:
            return
        replay_seeds = self.replay_seeds
        self.replay_seeds = ()
        is_wanted = self.first_job.state == JobState.DONE and not self.group.is_stopped
        if self.first_run is None or not replay_seeds or not is_wanted:
            return
        for seeds in [(seed,) for seed in replay_seeds] if self.is_quick else [replay_seeds]:
            self.group.submit_run(_replay_of(self.first_run, seeds))

    def close(self) -> None:
        """Cancel, and give back what is shared."""
        self.group.close()
        self.first_run = None
        self.tree_fit = None


def _replay_of(run: PlannedRun, seeds: tuple[int, ...]) -> PlannedRun:
    """Return a run's replay with other seeds, without what intervals and the next run need."""
    seconds = None if run.predicted_seconds is None else run.predicted_seconds * len(seeds)
    public_key = None if run.public_key is None else (run.public_key, seeds)
    task = run.task | {
        "seeds": seeds,
        "bounded": False,
        "returns_tree_fit": False,
        "earlier": None,
    }
    return replace(run, task=task, predicted_seconds=seconds, public_key=public_key)


def _public_key(
    table: Table, run_settings: RunSettings, rows: Rows
) -> tuple[str, Algorithm, Budget, int] | None:
    """Return what determines a run of a public sample; None for any other table."""
    if table.uploaded or table.trial is not None or run_settings.run_again:
        return None
    problem = run_settings.problem
    digest = session().memoize(
        "public-digest",
        (problem.workload, problem.group, table.version),
        lambda: problem_digest(problem, rows),
    )
    experiment = run_settings.experiment
    return digest, experiment.algorithm, experiment.budget, experiment.seed


def start_runs(table: Table, run_settings: RunSettings) -> RunWithReplays:
    """Return the runs of these settings: existing ones, or new ones if the settings changed.

    New ones are also started when a person asks again. A changed query is seen by its text.
    """
    runs = session().get_or_create("explore", RunWithReplays)
    rows = table.encoded_rows(run_settings.problem.domain.names)
    problem = run_settings.problem
    experiment = run_settings.experiment
    task_key = (rows, experiment, run_settings.split)
    if runs.group.requested != task_key or run_settings.run_again:
        runs.keep_tree_fit()
        population = table.population_on(problem.domain.names)
        public_key = _public_key(table, run_settings, rows)
        public = {
            "algorithm": experiment.algorithm,
            "problem": problem,
            "budget": experiment.budget,
            "split": run_settings.split,
        }
        first_task = public | {
            "seeds": (experiment.seed,),
            "population": population,
            "bounded": True,
            "returns_tree_fit": True,
            # what is shared by all does not depend on who asked first
            "earlier": None if public_key else runs.tree_fit_of(rows, experiment),
        }
        runs.first_run = PlannedRun(
            None,
            rows,
            first_task,
            run_settings.predicted_seconds,
            public_key,
        )
        runs.group.start(task_key, [runs.first_run])
        runs.replay_seeds = tuple(experiment.seeds[1:])
    return runs


def watch_first_run(runs: RunWithReplays) -> RunJob:
    """Wait a moment for the first run, submit the replays, and return the first run's job.

    Its curve so far is drawn while it takes longer.
    """
    wait_or_draw_progress(runs.group, "explore", draw_partial=lambda: _draw_so_far(runs.first_job))
    runs.submit_replays()
    return runs.first_job


def wait_for_replays(runs: RunWithReplays, deadline: float) -> None:
    """Wait for quick replays until `deadline`, so that everything is drawn with them at once.

    The verdict is there: whoever waits for theirs comes first.
    """
    with render_turns.yield_slot(is_urgent=False):
        for job in runs.group.jobs[1:] if runs.is_quick else []:
            job.wait(max(deadline - time.monotonic(), 0.0))


def watch_replays(runs: RunWithReplays, drawn_count: int) -> None:
    """Look for replays beyond those `drawn_count`, and draw the page anew when they are there."""
    if runs.all_ended and len(runs.replays) == drawn_count:
        return
    with inline_container(key="replays"):
        _draw_replay_count(runs, drawn_count)
        if not runs.is_quick:
            st.button(
                "Stop the repeats",
                icon=":material/stop_circle:",
                on_click=runs.group.cancel,
                type="tertiary",
            )


@st.fragment(run_every=POLL_SECONDS / 2)
def _draw_replay_count(runs: RunWithReplays, drawn_count: int) -> None:
    finished_count = len(runs.replays)
    total_count = sum(len(job.task.seeds) for job in runs.group.jobs)
    if runs.all_ended or (finished_count > drawn_count and not runs.is_quick):
        redraw_page()
    st.caption(f"Repeats: {finished_count + 1} of {total_count}")


def _draw_so_far(job: RunJob) -> None:
    """Draw what is known of a run under way: provisional errors, else its convergence curve."""
    if job.provisional_result is None:
        _draw_curve_so_far(job)
    else:
        _draw_provisional_errors(job.provisional_result, job.task.problem)


@hide_in_stakeholder_view
def _draw_provisional_errors(errors: Errors, problem: QueryRelease) -> None:
    """Draw the tiles of a provisional release, and say that they will be replaced."""
    noun = unit_noun(problem.group)
    tiles = [
        measured_error_tile(errors.misplaced, table_columns(problem.workload), problem.n, noun),
        largest_error_tile(
            "Largest error", errors.largest, errors.largest_of_group, problem.n, noun, ""
        ),
    ]
    with st.container(horizontal=True, key="so-far"):
        for name, value, note in tiles:
            st.markdown(tile_text(name, value, f"so far, {note}"))
    st.caption(SO_FAR_TEXT)


@hide_in_stakeholder_view
def _draw_curve_so_far(job: RunJob) -> None:
    """Draw the convergence curve of a run under way, once there is one."""
    if not job.partial_results:
        return
    name, value = job.partial_results[-1].empirical.headline
    draw_heading("Has the error stopped falling?", Provenance.REAL_DATA)
    frame = pd.DataFrame([{"seed": 0, **record.to_json()} for record in job.partial_results])
    st.caption(f"So far: {name} {value:.3g}.")
    problem = job.task.problem
    noun = unit_noun(problem.group)
    curve = charts.convergence_chart(frame, "t", "step", problem.n, noun)
    st.plotly_chart(curve, key="live", alt="Errors so far", config={"displayModeBar": False})
