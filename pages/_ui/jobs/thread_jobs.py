"""Work done by a thread because it takes longer than a page may.

The session keeps each job under a name.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import streamlit as st

from dpcore.core.errors import user_message
from dpcore.core.job import Job, JobCancelled, JobState

from ..session import session
from .job_watcher import wait_or_draw_progress

JobFunction = Callable[[Job], Any]  # receives its job, to report progress; returns the result


def run_job(job: Job) -> None:
    """Run a job's task in this thread; a bug ends the job with a message, not the server."""
    try:
        job.begin()
        job.report_progress(0.0, "Starting…")
        function: JobFunction = job.task
        job.task = None  # what the function holds is let go of at its end
        job.add_result(function(job))
        job.end(JobState.DONE)
    except JobCancelled:
        job.end(JobState.CANCELLED)
    except Exception as error:  # noqa: BLE001
        if job.cancel_requested:  # what was asked to stop may say so in its own words
            job.end(JobState.CANCELLED)
        else:
            job.end(JobState.FAILED, user_message(error))


@st.cache_resource(show_spinner=False)
def _thread_pool(kind: str, max_threads: int) -> ThreadPoolExecutor:
    """Return the server's thread pool for this kind of work, which is done in turn."""
    return ThreadPoolExecutor(max_threads, thread_name_prefix=kind)


def start_job(kind: str, function: JobFunction, max_threads: int = 1, key: Any = None) -> Job:
    """Queue a job and return it; `max_threads` of a kind are done at a time."""
    job = Job(task=function, key=key)
    _thread_pool(kind, max_threads).submit(run_job, job)
    return job


def get_or_start_job(
    name: str, key: Any, kind: str, function: JobFunction, max_threads: int = 1
) -> Job:
    """Return the session's job under `name`; one with another key is closed, and this begun."""
    existing = session().find_resource(name)
    if isinstance(existing, Job) and existing.key == key:
        return existing
    close_job(name)
    job = start_job(kind, function, max_threads, key)
    return session().get_or_create(name, lambda: job)


def job_result(
    name: str,
    key: Any,
    kind: str,
    function: JobFunction,
    retry_label: str,
    max_threads: int = 1,
) -> Any:
    """Return the result of the session's job under `name`, starting it where needed.

    None while it is on its way, and where a button begins it again.
    """
    job = get_or_start_job(name, key, kind, function, max_threads)
    if wait_or_draw_progress(job, name) and job.state != JobState.DONE:
        st.button(
            retry_label,
            key=f"again-{name}",
            icon=":material/replay:",
            on_click=close_job,
            args=(name,),
        )
    return job.result


def close_job(name: str) -> None:
    """Close what the session holds under `name`, if there is anything."""
    session().close_resource(name)
