"""The run that Explore shows, started when its settings change; and its replays, with other noise, behind it."""

import time
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from dpcore.core.provenance import Provenance
from dpcore.evaluation.sweeps.worker_pool import PoolJob, RunResult

from ..charts import explore_charts as charts
from ..components import draw_heading, hide_in_stakeholder_view, inline_container
from ..jobs import PlannedRun, RunGroup, wait_or_draw_progress
from ..jobs.job import POLL_SECONDS
from ..session import Table, render_turns, session
from .run_settings import RunSettings

# seconds up to which a run is quick: its replays then use all workers, and are drawn together
MAX_QUICK_SECONDS = 1.0


@dataclass(eq=False)
class RunWithReplays(RunGroup):
    """One run, the first of its seeds, and replays of it with the others: what watches this watches the first.

    The replays are asked for when the first has ended, so that a long run never keeps two workers
    busy.
    """

    remaining_seeds: tuple[int, ...] = ()

    @property
    def first_job(self) -> PoolJob:
        """The run that is shown."""
        return self.jobs[0][1]

    @property
    def ended(self) -> bool:
        """Whether the first run has ended."""
        return self.first_job.ended

    @property
    def all_ended(self) -> bool:
        """Whether the replays have ended too."""
        return not self.remaining_seeds and super().ended

    @property
    def replays(self) -> list[RunResult]:
        """What has come back of them, in the order of the seeds."""
        return [
            result for _, job in self.jobs[1:] if job.state != "failed" for result in job.results
        ]

    @property
    def is_quick(self) -> bool:
        """Whether a run takes no longer than a person waits."""
        return (
            bool(self.first_job.results)
            and self.first_job.results[0].summary.seconds <= MAX_QUICK_SECONDS
        )

    def wait(self, seconds: float) -> bool:
        """Wait for the first run."""
        return self.first_job.wait(seconds)

    def collect_results(self) -> None:
        """Ask for the replays once the first run is there."""
        if not self.remaining_seeds or not self.first_job.ended:
            return
        replay_seeds = self.remaining_seeds
        self.remaining_seeds = ()
        if self.first_job.state != "done":
            return
        for seeds in [(seed,) for seed in replay_seeds] if self.is_quick else [replay_seeds]:
            run_seconds = self.first_job.seconds
            seconds = None if run_seconds is None else run_seconds * len(seeds)
            self.submit(None, replace(self.first_job.spec, seeds=seeds, bounded=False), seconds)

    def cancel(self) -> None:
        """Ask for the end of all of them; what is there stays."""
        self.remaining_seeds = ()
        super().cancel()


def start_runs(table: Table, run_settings: RunSettings) -> RunWithReplays:
    """The runs of these settings: those that are there, or new ones when they changed or a person asks again.

    A changed question is seen by its text.
    """
    runs = session().get_or_create("explore", RunWithReplays)
    rows = table.encoded_rows(run_settings.problem.domain.names)
    problem = run_settings.problem
    experiment = run_settings.experiment
    task_key = (rows, experiment, run_settings.schema)
    if runs.requested != task_key or run_settings.run_again:
        population = table.population_on(problem.domain.names)
        public = {
            "algorithm": experiment.algorithm,
            "problem": problem,
            "budget": experiment.budget,
            "schema": run_settings.schema,
        }
        first_task = public | {
            "seeds": (experiment.seed,),
            "population": population,
            "bounded": True,
        }
        runs.start(task_key, [PlannedRun(None, rows, first_task, run_settings.predicted_seconds)])
        runs.remaining_seeds = tuple(experiment.seeds[1:])
    return runs


def watch_first_run(runs: RunWithReplays) -> PoolJob:
    """The first run's job, waited for a moment, and with the curve so far while it is longer."""
    wait_or_draw_progress(runs, "explore", draw_partial=lambda: _draw_curve_so_far(runs.first_job))
    return runs.first_job


def wait_for_replays(runs: RunWithReplays, deadline: float) -> None:
    """Where the replays are soon there, draw everything with them at once: wait for them, up to a time."""
    with render_turns.yield_slot():
        for _, job in runs.jobs[1:] if runs.is_quick else []:
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
                on_click=runs.cancel,
                type="tertiary",
            )


@st.fragment(run_every=POLL_SECONDS / 2)
def _draw_replay_count(runs: RunWithReplays, drawn_count: int) -> None:
    finished_count = len(runs.replays)
    total_count = sum(len(job.spec.seeds) for _, job in runs.jobs)
    if runs.all_ended or (finished_count > drawn_count and not runs.is_quick):
        st.rerun()
    st.caption(f"Repeats: {finished_count + 1} of {total_count}")


@hide_in_stakeholder_view
def _draw_curve_so_far(job: PoolJob) -> None:
    """The curve of a run under way."""
    if not job.convergence:
        return
    name, value = job.convergence[-1].empirical.headline
    draw_heading("Has the error stopped falling?", Provenance.REAL_DATA)
    frame = pd.DataFrame([{"seed": 0, **record.to_json()} for record in job.convergence])
    st.caption(f"So far: {name} {value:.3g}.")
    curve = charts.convergence_chart(frame, "t", "step", job.spec.problem.n, "rows")
    st.plotly_chart(curve, key="live", alt="Errors so far", config={"displayModeBar": False})
