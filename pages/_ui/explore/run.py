"""The run that Explore shows: started when its settings change, the curve so far while it runs."""

import pandas as pd
import streamlit as st

from dpcore.algorithms.base import Algorithm
from dpcore.experiments.pool import Job as PoolJob
from dpcore.privacy.accounting.budget import Budget
from dpcore.problems import QueryRelease
from dpcore.tags import Tag

from ..charts import base as charts
from ..jobs.job import watch
from ..jobs.runs import Runs, Wanted, tab_runs
from ..shell.frame import heading, peek
from ..shell.table import Table


def start(
    table: Table,
    algorithm: Algorithm,
    problem: QueryRelease,
    asked: list[str],
    budget: Budget,
    seeds: tuple[int, ...],
    *,
    again: bool,
) -> Runs:
    """The run of these settings: the one that is there, or a new one when they changed or a person asks again.

    `asked` are the texts of the problem's queries, by which a changed question is seen.
    """
    mine, rows = tab_runs("explore"), table.rows(problem.domain.names)
    settings = (rows, algorithm, problem.group, asked, budget, seeds)
    if mine.asked != settings or again:
        population = table.population
        if population is not None and table.domain is not None:
            population = table.domain.marginal(population, problem.domain.names)
        public = {"algorithm": algorithm, "problem": problem, "budget": budget, "seeds": seeds}
        mine.start(settings, [Wanted(None, rows, public | {"population": population})])
    return mine


def follow(started: Runs) -> PoolJob:
    """Its job, waited for a moment, and with the curve so far while it is longer."""
    job = started.jobs[0][1]
    watch(started, "explore", live=lambda: _so_far(job))
    return job


@peek
def _so_far(job: PoolJob) -> None:
    """The curve of a run under way."""
    if not job.records:
        return
    name, value = job.records[-1].empirical.headline
    heading("Does it settle?", Tag.PEEK)
    frame = pd.DataFrame([{"seed": 0, **record.to_json()} for record in job.records])
    st.caption(f"So far: {name} {value:.3g}.")
    curve = charts.convergence(frame, "t", "round")
    st.plotly_chart(curve, key=f"live-{job.id}", alt="Errors so far", config={"displayModeBar": False})
