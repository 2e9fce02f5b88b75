"""Runs of public samples are made once for all tabs; those of any other table by its tab alone."""

from importlib import import_module
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from dpcore import Rows
from dpcore.core.job import Job, JobState
from dpcore.evaluation.sweeps.worker_pool import WorkerPool
from pages._ui.charts import explore_charts
from pages._ui.jobs import public_runs as shared
from pages._ui.session import Table, sample_table
from pages._ui.session.session import Session
from tests.pages.headless import new_tab, session, switch_page
from tests.small_problems import parametrize

ROWS = Rows(np.zeros((4, 1), np.int64), np.ones(4))
TASK = {"algorithm": None, "problem": None, "budget": None, "seeds": (0,)}


@pytest.fixture
def submitted(monkeypatch):
    """The jobs that a pool was given, which runs none of them."""
    jobs = []

    def submit(spec, tab, seconds=None):
        jobs.append(Job(spec))
        return jobs[-1]

    monkeypatch.setattr(shared, "worker_pool", lambda: SimpleNamespace(submit=submit))
    return jobs


@pytest.fixture
def runs(submitted):
    runs = shared.PublicRuns()
    yield runs
    runs.close()


def finish(job, size=0):
    job.add_result(b"x" * size)
    job.end(JobState.DONE)


def test_tabs_share_a_run_and_its_result(runs, submitted):
    first = runs.submit("key", ROWS, TASK, "one")
    assert runs.submit("key", ROWS, TASK, "two") is first
    assert runs.submit("other", ROWS, TASK, "two") is not first
    finish(first)
    assert runs.submit("key", ROWS, TASK, "three") is first
    assert len(submitted) == 2


def test_a_run_is_cancelled_when_the_last_tab_leaves_and_then_made_anew(runs, submitted):
    job = runs.submit("key", ROWS, TASK, "one")
    runs.submit("key", ROWS, TASK, "two")
    assert runs.leave(job, "one"), "the other tab still waits"
    assert not job.cancel_requested
    assert not runs.leave(job, "two")
    assert job.cancel_requested
    assert runs.submit("key", ROWS, TASK, "three") is not job
    failed = submitted[-1]
    failed.end(JobState.FAILED, "a bug")
    assert runs.submit("key", ROWS, TASK, "three") is not failed


def test_what_is_kept_is_bounded_and_what_was_asked_for_last_stays(runs, submitted, monkeypatch):
    monkeypatch.setattr(shared, "MAX_RESULT_BYTES", 25_000)
    jobs = [runs.submit(key, ROWS, TASK, "one") for key in range(3)]
    for job in jobs:
        finish(job, size=10_000)
    assert runs.submit(2, ROWS, TASK, "one") is jobs[2]
    assert runs.submit(1, ROWS, TASK, "one") is jobs[1]
    assert runs.submit(0, ROWS, TASK, "one") is submitted[-1] is not jobs[0], "the oldest is gone"


def explore_jobs(table=None):
    """The jobs of Explore in a tab of its own, on the sample or on another table."""
    app = new_tab(sample="berkeley")
    app.session_state["session"] = Session(table=table, initial_query_params={})
    return list(session(switch_page(app.run(), "explore")).resources["explore"].group.jobs)


def test_another_tab_of_a_sample_needs_no_run_and_an_upload_of_the_same_rows_its_own(monkeypatch):
    charts = Mock(wraps=explore_charts.marginal_chart)
    monkeypatch.setattr(explore_charts, "marginal_chart", charts)
    first = explore_jobs()
    charts.reset_mock()
    with monkeypatch.context() as patch:
        patch.setattr(WorkerPool, "submit", None)
        assert explore_jobs() == first
    charts.assert_not_called()
    sample = sample_table("berkeley")
    upload = Table("m.csv", sample.frame, sample.schema, "typed", uploaded=True)
    assert not {*explore_jobs(upload)} & {*first}
    charts.assert_called()


@parametrize("uploaded, computed", [(False, 1), (True, 2)])
def test_what_follows_from_a_public_key_is_computed_once_for_samples_only(
    monkeypatch, uploaded, computed
):
    memos = {}
    module = import_module("pages._ui.session.session")
    monkeypatch.setattr(module, "_public_memos", lambda: memos)
    table = SimpleNamespace(uploaded=uploaded, trial=None)
    asked = []
    for tab in (Session(table=table), Session(table=table)):
        assert tab.memoize_public("square", 3, lambda: asked.append(3) or 9) == 9
    assert len(asked) == computed
    assert bool(memos) != uploaded
