"""The run that Explore shows, started when its settings change; and its replays, with other noise, behind it."""

import time
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from dpcore.core.provenance import Tag
from dpcore.evaluation.sweeps.worker_pool import PoolJob, Result

from ..charts import explore_charts as charts
from ..components import heading, peek, row
from ..jobs import Runs, WantedRun, watch
from ..jobs.job import POLL
from ..session import Table, render_turns, session
from .run_settings import Chosen

QUICK = 1.0  # seconds up to which a run is quick: its replays then use all workers, and are drawn together


@dataclass(eq=False)
class Worlds(Runs):
    """One run, the first of its seeds, and replays of it with the others: what watches this watches the first.

    The replays are asked for when the first has ended, so that a long run never keeps two workers busy.
    """

    rest: tuple[int, ...] = ()

    @property
    def first(self) -> PoolJob:
        """The run that is shown."""
        return self.jobs[0][1]

    @property
    def ended(self) -> bool:
        """Whether the first run has ended."""
        return self.first.ended

    @property
    def settled(self) -> bool:
        """Whether the replays have ended too."""
        return not self.rest and super().ended

    @property
    def replays(self) -> list[Result]:
        """What has come back of them, in the order of the seeds."""
        return [result for _, job in self.jobs[1:] if job.state != "failed" for result in job.results]

    @property
    def quick(self) -> bool:
        """Whether a run takes no longer than a person waits."""
        return bool(self.first.results) and self.first.results[0].summary["seconds"] <= QUICK

    def wait(self, seconds: float) -> bool:
        """Wait for the first run."""
        return self.first.wait(seconds)

    def gather(self) -> None:
        """Ask for the replays once the first run is there."""
        if not self.rest or not self.first.ended:
            return
        replay_seeds, self.rest = self.rest, ()
        if self.first.state != "done":
            return
        for seeds in [(seed,) for seed in replay_seeds] if self.quick else [replay_seeds]:
            run_seconds = self.first.seconds
            seconds = None if run_seconds is None else run_seconds * len(seeds)
            self.submit(None, replace(self.first.task, seeds=seeds, bounded=False), seconds)

    def cancel(self) -> None:
        """Ask for the end of all of them; what is there stays."""
        self.rest = ()
        super().cancel()


def start(table: Table, chosen: Chosen) -> Worlds:
    """The runs of these settings: those that are there, or new ones when they changed or a person asks again.

    A changed question is seen by its text.
    """
    runs, rows = session().own("explore", Worlds), table.rows(chosen.problem.domain.names)
    problem = chosen.problem
    task_key = (rows, chosen.algorithm, problem.group, chosen.texts, chosen.budget, chosen.seeds, chosen.schema)
    if runs.asked != task_key or chosen.again:
        population = table.whence(problem.domain.names)
        public = {"algorithm": chosen.algorithm, "problem": problem, "budget": chosen.budget, "schema": chosen.schema}
        first_task = public | {"seeds": chosen.seeds[:1], "population": population, "bounded": True}
        runs.start(task_key, [WantedRun(None, rows, first_task, chosen.seconds)])
        runs.rest = chosen.seeds[1:]
    return runs


def follow(started: Worlds) -> PoolJob:
    """The first run's job, waited for a moment, and with the curve so far while it is longer."""
    watch(started, "explore", live=lambda: _so_far(started.first))
    return started.first


def wait_for_replays(started: Worlds, until: float) -> None:
    """Where the replays are soon there, draw everything with them at once: wait for them, up to a time."""
    with render_turns.aside():
        for _, job in started.jobs[1:] if started.quick else []:
            job.wait(max(until - time.monotonic(), 0.0))


def watch_replays(started: Worlds, drawn: int) -> None:
    """Look for replays beyond those `drawn`, and draw the page anew when they are there."""
    if started.settled and len(started.replays) == drawn:
        return
    with row(key="replays"):
        _replaying(started, drawn)
        if not started.quick:
            st.button("Stop the repeats", icon=":material/stop_circle:", on_click=started.cancel, type="tertiary")


@st.fragment(run_every=POLL / 2)
def _replaying(started: Worlds, drawn: int) -> None:
    finished_count, total_count = len(started.replays), sum(len(job.task.seeds) for _, job in started.jobs)
    if started.settled or (finished_count > drawn and not started.quick):
        st.rerun()
    st.caption(f"Repeats: {finished_count + 1} of {total_count}")


@peek
def _so_far(job: PoolJob) -> None:
    """The curve of a run under way."""
    if not job.records:
        return
    name, value = job.records[-1].empirical.headline
    heading("Has the error stopped falling?", Tag.PEEK)
    frame = pd.DataFrame([{"seed": 0, **record.to_json()} for record in job.records])
    st.caption(f"So far: {name} {value:.3g}.")
    curve = charts.convergence_chart(frame, "t", "step", job.task.problem.n, "rows")
    st.plotly_chart(curve, key="live", alt="Errors so far", config={"displayModeBar": False})
