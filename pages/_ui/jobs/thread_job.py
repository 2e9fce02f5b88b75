"""Work that takes longer than a page may: a thread of its own, its progress, its end, and a wish to stop."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpcore.core.errors import user_message

from ..session import session
from .job import Job, wait_or_draw_progress


class StopRequested(Exception):  # noqa: N818 - not an error: somebody asked for it
    """Raised inside the work when a person asked it to stop."""


@dataclass(eq=False)
class ThreadJob(Job):
    """A piece of work on its way: `state` is waiting, running, done, failed or stopped; `result` what came of it.

    A session that owns it compares `job_key` to find out whether it is still the work that is
    wanted.
    """

    state: str = "waiting"
    progress: float = 0.0
    status_text: str = "Waiting for its turn…"
    error: str = ""
    result: Any = None
    job_key: Any = None
    function: Callable[["ThreadJob"], Any] | None = field(default=None, repr=False)
    _end_event: threading.Event = field(default_factory=threading.Event)
    _stop_event: threading.Event = field(default_factory=threading.Event)
    _closed: bool = False

    def report_progress(self, progress: float, text: str) -> None:
        """Called by the work itself; ends it where a person asked for that."""
        self.progress = progress
        self.status_text = text
        if self._stop_event.is_set():
            raise StopRequested

    def cancel(self) -> None:
        """Ask for the end."""
        self._stop_event.set()

    def close(self) -> None:
        """Ask for the end, and let go of what came of it, and of a job that has not begun."""
        self.cancel()
        self._closed = True
        self.result = self.function = self.job_key = None

    @property
    def cancelled(self) -> bool:
        """Whether a person stopped it before its end."""
        return self.state == "stopped"

    def wait(self, seconds: float) -> bool:
        """Wait for the end, `seconds` at the most; whether it came."""
        return self._end_event.wait(seconds)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._end_event.is_set()

    def run(self) -> None:
        """Do the job and settle; a bug ends this work with a message, not the server."""
        try:
            self.state = "running"
            self.report_progress(0.0, "Starting…")
            function = self.function
            self.function = None
            if function is not None:
                self.result = function(self)
            if self._closed:  # meanwhile
                self.result = None
            self.state = "done"
        except StopRequested:
            self.state = "stopped"
        except Exception as error:  # noqa: BLE001
            was_stop_requested = (
                self._stop_event.is_set()
            )  # what was asked to stop may say so in its own words
            self.error, self.state = (
                ("", "stopped") if was_stop_requested else (user_message(error), "failed")
            )
        finally:
            self._end_event.set()


@st.cache_resource(show_spinner=False)
def _thread_pool(kind: str, max_threads: int) -> ThreadPoolExecutor:
    """The threads of this kind a server has: their work is done in turn."""
    return ThreadPoolExecutor(max_threads, thread_name_prefix=kind)


def start_job(kind: str, function: Callable[[ThreadJob], Any], max_threads: int = 1) -> ThreadJob:
    """Queue a job; it gets its Work, to tell how far it is. `max_threads` of a kind are done at a time."""
    thread_job = ThreadJob(function=function)
    _thread_pool(kind, max_threads).submit(thread_job.run)
    return thread_job


def get_or_start_job(
    name: str, job_key: Any, kind: str, function: Callable[[ThreadJob], Any], max_threads: int = 1
) -> ThreadJob:
    """Return the session's work under `name`; where that is `job_key` something else, it is closed and this job begun."""
    existing = session().find_resource(name)
    if isinstance(existing, ThreadJob) and existing.job_key == job_key:
        return existing
    close_job(name)
    thread_job = start_job(kind, function, max_threads)
    thread_job.job_key = job_key
    return session().get_or_create(name, lambda: thread_job)


def job_result(
    name: str,
    job_key: Any,
    kind: str,
    function: Callable[[ThreadJob], Any],
    retry_label: str,
    max_threads: int = 1,
) -> Any:
    """Return what came of the session's work under `name`; None on its way, and where a button begins it `retry_label`."""
    thread_job = get_or_start_job(name, job_key, kind, function, max_threads)
    if wait_or_draw_progress(thread_job, name) and thread_job.state != "done":
        st.button(
            retry_label,
            key=f"again-{name}",
            icon=":material/replay:",
            on_click=close_job,
            args=(name,),
        )
    return thread_job.result


def close_job(name: str) -> None:
    """Close what the session holds under `name`, if there is anything."""
    session().close_resource(name)
