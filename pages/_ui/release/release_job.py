"""Spending of a budget, only here among the pages: a one-time token, a thread, its outcome."""

import threading
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcore import InputError
from dpcore.core.job import Job, JobState
from dpcore.release.ledger.ledger_store import LedgerStore
from dpcore.release.preparation import PreparedRelease
from dpcore.release.publish import publish_release

from ..jobs.thread_jobs import start_job
from ..released.earlier_releases import read_folder_files, releases_folder
from ..session import session
from ..session.session import RELEASE_DESK

IRREVOCABLE_TEXT = (
    "The budget is used before the data is read, so stopping does not bring it back. Whoever "
    "releases the same again "
    "finishes this release and uses no more budget."
)


@dataclass(eq=False)
class ReleaseDesk:
    """A tab's release: the token of the plan on the table, and the release under way or done."""

    token: str = ""
    offered_plan: Any = None
    job: Job | None = None
    acknowledged_job: Job | None = None  # whose end the page has shown
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def released(self) -> bool:
        """Whether a release that is done is shown."""
        return self.job is not None and self.job.state == JobState.DONE

    def offer_token(self, plan: Any) -> str:
        """Return the one-time token that releases `plan`; "" if a release is under way or shown.

        Another plan gets a new token.
        """
        with self._lock:
            if self.job is not None:
                return ""
            if not self.token or self.offered_plan != plan:
                self.token = uuid.uuid4().hex
                self.offered_plan = plan
            return self.token

    def start(self, token: str, ready: PreparedRelease, ledger: Path) -> None:
        """Start the release, if `token` is the one on offer.

        A second press finds it used and does nothing.
        """
        with self._lock:
            if not token or token != self.token or self.job is not None:
                return
            self.token = ""
            self.offered_plan = None
            self.job = start_job("release", lambda work: _run_release(work, ready, ledger, token))

    def close(self) -> None:
        """Drop the offer and the finished release.

        A release under way goes on, its files are kept by the ledger.
        """
        with self._lock:
            self.token = ""
            self.offered_plan = None
            self.job = None

    def clear(self) -> None:
        """Make room for another release; one under way goes on."""
        with self._lock:
            if self.job is not None and self.job.ended:
                self.job = None


def _run_release(job: Job, ready: PreparedRelease, ledger: Path, token: str) -> dict[str, bytes]:
    parent_folder = releases_folder(ledger)
    try:
        parent_folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder beside the ledger cannot be made: {error.strerror}; no budget is used"
        ) from None

    def report_step(t: int, rounds: int) -> None:
        job.report_progress(
            min(1.0, t / max(rounds, 1)), f"Budget used; step {t:,} of at most {rounds:,}"
        )

    folder = parent_folder / token
    publish_release(ready, LedgerStore(ledger, create=True), folder, report_step)
    return read_folder_files(folder)


def current_desk() -> ReleaseDesk:
    """Return the release desk of the calling tab."""
    return session().get_or_create(RELEASE_DESK, ReleaseDesk)
