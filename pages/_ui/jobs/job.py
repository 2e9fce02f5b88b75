"""One handle for all that takes longer than a page may, and the one fragment that watches it."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import streamlit as st

from ..components import inline_container
from ..session import render_turns
from ..session.stakeholder_wall import failure_reason

PATIENCE_SECONDS = 0.9  # seconds a page waits for short work before it shows progress instead
POLL_SECONDS = 0.5  # seconds between two looks at long work


class Job(ABC):
    """Work on its way: whether it ended, how far it is and in words, what went wrong. It can be ended at any time."""

    patience_seconds = PATIENCE_SECONDS
    ended: bool  # whether nothing more will come
    progress: float  # share of the work that is done, 0 to 1
    status_text: str  # what is going on
    error = ""  # what went wrong first
    cancelled = False  # whether a person stopped it before its end
    partial_result_count = (
        0  # partial results: a page that draws them is drawn anew when there are more
    )

    @property
    def has_partial_results(self) -> bool:
        """Whether a page has something to show of it when it is cancelled."""
        return self.partial_result_count > 0

    def collect_results(self) -> None:  # noqa: B027 - most work asks for nothing
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


def wait_or_draw_progress(
    job: Job,
    key: str,
    *,
    redraw_count: int | None = None,
    draw_partial: Callable[[], None] | None = None,
    irrevocable_text: str = "",
) -> bool:
    """Wait a moment; for longer work draw progress, `draw_partial` below it, and Cancel. True when all has ended.

    The page is drawn anew at the end, and whenever there is more than it drew; with `redraw_count`
    only once before the end, when so many partial results are there. Work that cannot be taken back
    has no Cancel but the words `irrevocable_text`.
    """
    job.collect_results()
    with render_turns.yield_slot():
        has_ended = job.wait(job.patience_seconds)
    if not has_ended:
        result_count = job.partial_result_count
        redraw_above = (
            result_count
            if redraw_count is None
            else redraw_count - 1
            if result_count < redraw_count
            else None
        )
        with inline_container():
            _draw_progress(job, redraw_above, draw_partial)
            if not irrevocable_text:
                # Outside the fragment: a press while the page is drawn anew would be lost with the
                # fragment.
                st.button(
                    "Cancel",
                    icon=":material/stop_circle:",
                    key=f"cancel-{key}",
                    on_click=job.cancel,
                )
        if irrevocable_text:
            st.caption(irrevocable_text)
        return False
    job.collect_results()
    if job.error:
        st.error(failure_reason(job.error))
    if job.cancelled:
        st.warning(
            "Cancelled: what is shown below is as far as it got."
            if job.has_partial_results
            else "Cancelled."
        )
    return True


@st.fragment(run_every=POLL_SECONDS)
def _draw_progress(
    job: Job, redraw_above: int | None, draw_partial: Callable[[], None] | None
) -> None:
    job.collect_results()
    if job.ended or (redraw_above is not None and job.partial_result_count > redraw_above):
        st.rerun()
    st.progress(job.progress, job.status_text)
    if draw_partial is not None:
        draw_partial()
