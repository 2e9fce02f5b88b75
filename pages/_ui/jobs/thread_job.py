"""Work that takes longer than a page may: a thread of its own, its progress, its end, and a wish to stop."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpcore.core.errors import in_words

from ..session import session
from .job import Job, watch


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """Raised inside the work when a person asked it to stop."""


@dataclass(eq=False)
class Work(Job):
    """A piece of work on its way: `state` is waiting, running, done, failed or stopped; `result` what came of it.

    A session that owns it compares `of` to find out whether it is still the work that is wanted.
    """

    state: str = "waiting"
    progress: float = 0.0
    words: str = "Waiting for its turn…"
    error: str = ""
    result: Any = None
    of: Any = None
    job: Callable[["Work"], Any] | None = field(default=None, repr=False)
    _ended: threading.Event = field(default_factory=threading.Event)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _closed: bool = False

    def tell(self, progress: float, words: str) -> None:
        """Called by the work itself; ends it where a person asked for that."""
        self.progress, self.words = progress, words
        if self._stopped.is_set():
            raise Stopped

    def cancel(self) -> None:
        """Ask for the end."""
        self._stopped.set()

    def close(self) -> None:
        """Ask for the end, and let go of what came of it, and of a job that has not begun."""
        self.cancel()
        self._closed = True
        self.result = self.job = self.of = None

    @property
    def cancelled(self) -> bool:
        """Whether a person stopped it before its end."""
        return self.state == "stopped"

    def wait(self, seconds: float) -> bool:
        """Wait for the end, `seconds` at the most; whether it came."""
        return self._ended.wait(seconds)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._ended.is_set()

    def run(self) -> None:
        """Do the job and settle; a bug ends this work with a message, not the server."""
        try:
            self.state = "running"
            self.tell(0.0, "Starting…")
            function, self.job = self.job, None
            if function is not None:
                self.result = function(self)
            if self._closed:  # meanwhile
                self.result = None
            self.state = "done"
        except Stopped:
            self.state = "stopped"
        except Exception as error:  # noqa: BLE001
            was_stop_requested = self._stopped.is_set()  # what was asked to stop may say so in its own words
            self.error, self.state = ("", "stopped") if was_stop_requested else (in_words(error), "failed")
        finally:
            self._ended.set()


@st.cache_resource(show_spinner=False)
def _threads(kind: str, at_once: int) -> ThreadPoolExecutor:
    """The threads of this kind a server has: their work is done in turn."""
    return ThreadPoolExecutor(at_once, thread_name_prefix=kind)


def begin(kind: str, job: Callable[[Work], Any], at_once: int = 1) -> Work:
    """Queue a job; it gets its Work, to tell how far it is. `at_once` of a kind are done at a time."""
    thread_job = Work(job=job)
    _threads(kind, at_once).submit(thread_job.run)
    return thread_job


def owned(name: str, of: Any, kind: str, job: Callable[[Work], Any], at_once: int = 1) -> Work:
    """Return the session's work under `name`; where that is `of` something else, it is closed and this job begun."""
    existing = session().find(name)
    if isinstance(existing, Work) and existing.of == of:
        return existing
    let_go(name)
    thread_job = begin(kind, job, at_once)
    thread_job.of = of
    return session().own(name, lambda: thread_job)


def result_of(name: str, of: Any, kind: str, job: Callable[[Work], Any], again: str, at_once: int = 1) -> Any:
    """Return what came of the session's work under `name`; None on its way, and where a button begins it `again`."""
    thread_job = owned(name, of, kind, job, at_once)
    if watch(thread_job, name) and thread_job.state != "done":
        st.button(again, key=f"again-{name}", icon=":material/replay:", on_click=let_go, args=(name,))
    return thread_job.result


def let_go(name: str) -> None:
    """Close what the session holds under `name`, if there is anything."""
    session().drop(name)
