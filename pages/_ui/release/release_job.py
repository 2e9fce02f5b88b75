"""The one place of the pages where a budget is spent: a token that works once, a thread that releases, its outcome."""

import threading
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcore import InputError
from dpcore.release.ledger.ledger_store import Store
from dpcore.release.preparation import PreparedRelease
from dpcore.release.publish import publish

from ..jobs import Work
from ..jobs.thread_job import begin
from ..session import session
from ..session.session import DESK
from .ledger_view import contents, folder_for

FINAL = (
    "The budget is used before the data is read, so stopping does not bring it back. Whoever releases the same again "
    "finishes this release and uses no more budget."
)


@dataclass(eq=False)
class Desk:
    """A tab's release: the token of the plan on the table, and the release under way or done."""

    token: str = ""
    of: Any = None
    work: Work | None = None
    shown: Work | None = None  # whose end the page has shown
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def released(self) -> bool:
        """Whether a release that is done is shown."""
        return self.work is not None and self.work.state == "done"

    def offer(self, plan: Any) -> str:
        """The token that releases `plan`, a new one for another plan; "" while a release is under way or shown."""
        with self._lock:
            if self.work is not None:
                return ""
            if not self.token or self.of != plan:
                self.token, self.of = uuid.uuid4().hex, plan
            return self.token

    def start(self, token: str, ready: PreparedRelease, ledger: Path) -> None:
        """Release, if `token` is the one on offer; a second press finds it used and does nothing."""
        with self._lock:
            if not token or token != self.token or self.work is not None:
                return
            self.token, self.of = "", None
            self.work = begin("release", lambda work: _release(work, ready, ledger, token))

    def close(self) -> None:
        """Let go of what was offered and released; a release under way goes on, its files are kept by the ledger."""
        with self._lock:
            self.token, self.of, self.work = "", None, None

    def clear(self) -> None:
        """Make room for another release; one under way goes on."""
        with self._lock:
            if self.work is not None and self.work.ended:
                self.work = None


def _release(work: Work, ready: PreparedRelease, ledger: Path, token: str) -> dict[str, bytes]:
    parent_folder = folder_for(ledger)
    try:
        parent_folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder beside the ledger cannot be made: {error.strerror}; no budget is used") from None

    def told(t: int, rounds: int) -> None:
        work.tell(min(1.0, t / max(rounds, 1)), f"Budget used; step {t:,} of at most {rounds:,}")

    folder = parent_folder / token
    publish(ready, Store(ledger, create=True), folder, told)
    return contents(folder)


def current() -> Desk:
    """The desk of the calling tab."""
    return session().own(DESK, Desk)
