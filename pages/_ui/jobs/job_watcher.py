"""The one watcher of work that takes longer than a page may.

It waits, draws progress, and offers Cancel.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dpcore.core.job import Job

from ..components import inline_container
from ..session import render_turns
from ..session.render_turns import redraw_page
from ..session.stakeholder_wall import failure_reason
from .job_group import JobGroup

PATIENCE_SECONDS = 0.9  # seconds a page waits for short work before it shows progress instead
POLL_SECONDS = 0.5  # seconds between two looks at long work
WatchedJob = Job[Any, Any] | JobGroup


def wait_or_draw_progress(
    job: WatchedJob,
    key: str,
    *,
    redraw_count: int | None = None,
    draw_partial: Callable[[], None] | None = None,
    irrevocable_text: str = "",
    wait_first: bool = True,
) -> bool:
    """Wait a moment; for longer work draw how far it is, and Cancel. Return whether all has ended.

    The page is drawn anew at the end, and whenever there are more partial results than it drew.

    Args:
        job: What is waited for.
        key: Tells its Cancel from others on the page.
        redraw_count: Redraw the page only once before the end, at so many partial results.
        draw_partial: Draws partial results below the progress.
        irrevocable_text: Said in place of Cancel, of work that cannot be taken back.
        wait_first: Wait a moment before progress is drawn. A page that is drawn anew with every
            partial result would lose this time at each.

    """
    _collect_results(job)
    has_ended = job.ended
    if not has_ended:
        with render_turns.yield_slot():
            has_ended = job.wait(PATIENCE_SECONDS if wait_first else 0.0)
    if has_ended:
        _collect_results(job)
        _draw_end(job)
        return True
    with inline_container():
        _draw_progress(job, _redraw_threshold(job, redraw_count), draw_partial)
        if not irrevocable_text:
            # Outside the fragment: a press while the page is drawn anew would be lost with the
            # fragment.
            st.button(
                "Cancel", icon=":material/stop_circle:", key=f"cancel-{key}", on_click=job.cancel
            )
    if irrevocable_text:
        st.caption(irrevocable_text)
    return False


def _collect_results(job: WatchedJob) -> None:
    if isinstance(job, JobGroup):
        job.collect_results()


def _redraw_threshold(job: WatchedJob, redraw_count: int | None) -> int | None:
    """Return the number of partial results above which the page is drawn anew; None for never."""
    result_count = job.partial_result_count
    if redraw_count is None:
        return result_count
    return redraw_count - 1 if result_count < redraw_count else None


def _draw_end(job: WatchedJob) -> None:
    if job.error:
        st.error(failure_reason(job.error))
    if job.cancelled:
        st.warning(
            "Cancelled: what is shown below is as far as it got."
            if job.has_partial_results
            else "Cancelled."
        )


@st.fragment(run_every=POLL_SECONDS)
def _draw_progress(
    job: WatchedJob, redraw_above: int | None, draw_partial: Callable[[], None] | None
) -> None:
    _collect_results(job)
    if job.ended or (redraw_above is not None and job.partial_result_count > redraw_above):
        redraw_page()
    st.progress(job.progress, job.status_text)
    if draw_partial is not None:
        draw_partial()
