"""Work that takes longer than a page may: a thread of its own, its progress, its end, and a wish to stop."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpcore.errors import in_words

from ..server import turns


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """Raised inside the work when a person asked it to stop."""


@dataclass(eq=False)
class Work:
    """A piece of work on its way: `state` is waiting, running, done, failed or stopped."""

    state: str = "waiting"
    progress: float = 0.0
    words: str = "Waiting for its turn…"
    result: Any = None
    error: str = ""
    _ended: threading.Event = field(default_factory=threading.Event)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def tell(self, progress: float, words: str) -> None:
        """Called by the work itself; ends it where a person asked for that."""
        self.progress, self.words = progress, words
        if self._stopped.is_set():
            raise Stopped

    def stop(self) -> None:
        """Ask for the end."""
        self._stopped.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, `seconds` at the most; whether it came."""
        with turns.aside():
            return self._ended.wait(seconds)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._ended.is_set()

    def run(self, job: Callable[["Work"], Any]) -> None:
        """Do `job` and settle; a bug ends this work with a message, not the server."""
        try:
            self.state = "running"
            self.tell(0.0, "Starting…")
            self.result, self.state = job(self), "done"
        except Stopped:
            self.state = "stopped"
        except Exception as error:  # noqa: BLE001
            self.error, self.state = in_words(error), "failed"
        finally:
            self._ended.set()


@st.cache_resource(show_spinner=False)
def _threads(kind: str) -> ThreadPoolExecutor:
    """One thread of this kind a server: its work is done in turn."""
    return ThreadPoolExecutor(1, thread_name_prefix=kind)


def begin(kind: str, job: Callable[[Work], Any]) -> Work:
    """Queue a job; it gets its Work, to tell how far it is."""
    work = Work()
    _threads(kind).submit(work.run, job)
    return work
