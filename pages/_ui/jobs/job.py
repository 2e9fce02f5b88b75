"""One handle for all that takes longer than a page may, and the one fragment that watches it."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import streamlit as st

from ..components import row
from ..session import render_turns
from ..session.stakeholder_wall import reason

PATIENCE = 0.9  # seconds a page waits for short work before it shows progress instead
POLL = 0.5  # seconds between two looks at long work


class Job(ABC):
    """Work on its way: whether it ended, how far it is and in words, what went wrong. It can be ended at any time."""

    patience = PATIENCE
    ended: bool  # whether nothing more will come
    progress: float  # share of the work that is done, 0 to 1
    words: str  # what is going on
    error = ""  # what went wrong first
    cancelled = False  # whether a person stopped it before its end
    news = 0  # partial results: a page that draws them is drawn anew when there are more

    @property
    def partial(self) -> bool:
        """Whether a page has something to show of it when it is cancelled."""
        return self.news > 0

    def gather(self) -> None:  # noqa: B027 - most work asks for nothing
        """Take in what came back, and ask for what is to be done next."""

    @abstractmethod
    def wait(self, seconds: float) -> bool:
        """Wait for the end, `seconds` at the most; whether it came."""

    @abstractmethod
    def cancel(self) -> None:
        """Ask for the end; what is there stays."""

    @abstractmethod
    def close(self) -> None:
        """Cancel, and give back what is shared: end of the tab, of the table or of these settings."""


def watch(
    job: Job, key: str, *, enough: int | None = None, live: Callable[[], None] | None = None, final: str = ""
) -> bool:
    """Wait a moment; for longer work draw progress, `live` below it, and Cancel. True when all has ended.

    The page is drawn anew at the end, and whenever there is more than it drew; with `enough` only once before the end,
    when so many partial results are there. Work that cannot be taken back has no Cancel but the words `final`.
    """
    job.gather()
    with render_turns.aside():
        has_ended = job.wait(job.patience)
    if not has_ended:
        result_count = job.news
        redraw_above = result_count if enough is None else enough - 1 if result_count < enough else None
        with row():
            _progress(job, redraw_above, live)
            if not final:
                # Outside the fragment: a press while the page is drawn anew would be lost with the fragment.
                st.button("Cancel", icon=":material/stop_circle:", key=f"cancel-{key}", on_click=job.cancel)
        if final:
            st.caption(final)
        return False
    job.gather()
    if job.error:
        st.error(reason(job.error))
    if job.cancelled:
        st.warning("Cancelled: what is shown below is as far as it got." if job.partial else "Cancelled.")
    return True


@st.fragment(run_every=POLL)
def _progress(job: Job, seen: int | None, live: Callable[[], None] | None) -> None:
    job.gather()
    if job.ended or (seen is not None and job.news > seen):
        st.rerun()
    st.progress(job.progress, job.words)
    if live is not None:
        live()
