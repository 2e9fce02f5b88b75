"""Attempts at a release: one charge, however many attempts it takes until what was drawn has left.

A release is charged once. An attempt that was stopped leaves it unfinished, with the key of its
noise; the next attempt at the very same draws the very same and goes on without a charge.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import InputError, user_message
from ..core.types import Json, ProgressCallback, frozen
from .data_set import BudgetRequest, Reservation
from .ledger.chain import UnusableLedgerError
from .ledger.drafts import RETRY_ADVICE
from .ledger.ledger_store import LedgerStore
from .ledger.noise_key import NoiseKey, create_key, hold_key
from .ledger.unfinished_releases import UnfinishedRelease

BUDGET_STAYS_USED = "its budget stays used"
BUDGET_USED_DRAW_KEPT = f"{BUDGET_STAYS_USED}, and its draw is kept; {RETRY_ADVICE}"
CHARGE_UNKNOWN = "whether its budget was used is not known yet; do the same again: it is used once"


@frozen
class Attempt:
    """An attempt at a release, with its noise key and any earlier charge.

    `earlier_charge` is the charge of an earlier attempt, None if nothing was charged yet.
    """

    store: LedgerStore
    identity: str
    noise_key: NoiseKey
    earlier_charge: UnfinishedRelease | None

    def charge(self, reserve: Callable[..., Reservation], **folders: str) -> Reservation:
        """Return the reservation of this release: made by `reserve`, or the earlier one.

        `folders` says where it is written, if into a folder. If nothing is charged, the noise key
        is deleted.
        """
        if self.earlier_charge is not None:
            return self._earlier_reservation(self.earlier_charge, folders)
        try:
            return reserve(identity=self.identity, noise_key=self.noise_key.name, **folders)
        except BaseException as error:
            charge_note = self._charge_note()
            if charge_note is None:
                self.noise_key.delete()
            elif isinstance(error, UnusableLedgerError):
                raise InputError(f"{error}; {charge_note}") from None
            raise

    def _charge_note(self) -> str | None:
        """Return a note on a failed charge; None if nothing was charged.

        A disk may fail after the ledger was written.
        """
        try:
            was_charged = any(
                unfinished.noise_key_name == self.noise_key.name
                for unfinished in self.store.list_unfinished()
            )
        except UnusableLedgerError:
            return CHARGE_UNKNOWN
        return BUDGET_USED_DRAW_KEPT if was_charged else None

    def _earlier_reservation(self, earlier_charge: UnfinishedRelease, folders: Json) -> Reservation:
        """Return the reservation that was made before.

        The ledger gets to know where the release is written now.
        """
        try:
            if folders and folders != earlier_charge.folders:
                self.store.add_note(earlier_charge.entry, "note", json.dumps(folders))
            return self.store.find_reservation(earlier_charge.entry)
        except UnusableLedgerError as error:
            raise InputError(f"{error}; {BUDGET_USED_DRAW_KEPT}") from None

    def record_end(self, entry: int, state: str, note: str = "") -> None:
        """Note a release's end, and delete the key of its noise.

        Where the ledger takes no note now, the next command does.
        """
        with suppress(UnusableLedgerError):
            self.store.add_note(entry, state, note)
            self.noise_key.delete()


@contextmanager
def open_attempt(
    store: LedgerStore, request: BudgetRequest, identity: str, rows_digest: bytes
) -> Iterator[Attempt]:
    """Yield an attempt at the release with this identity, of rows with this digest.

    See `release_identity`. It goes on with a release that was charged for the same and is
    unfinished, unless another process does so.
    """
    for unfinished in store.matching_unfinished(request, identity):
        with hold_key(store.path, unfinished.noise_key_name) as key:
            is_unfinished = any(
                other.entry == unfinished.entry for other in store.list_unfinished()
            )
            if isinstance(key, NoiseKey) and is_unfinished and key.is_for_rows(rows_digest):
                yield Attempt(store, identity, key, unfinished)
                return
    with create_key(store.path, rows_digest) as key:
        yield Attempt(store, identity, key, None)


def retryable_error(error: BaseException, unwritten_path: object = "") -> BaseException | None:
    """Return the error to raise where an attempt was stopped and another may end better.

    None for any other error. It says that the budget stays used and how the release is finished;
    `unwritten_path` could not be written.
    """
    if isinstance(error, OSError):
        path_prefix = f"{str(unwritten_path)[:200]}: " if unwritten_path else ""
        return InputError(
            f"{path_prefix}cannot be written: {error.strerror or error}; {BUDGET_USED_DRAW_KEPT}"
        )
    if isinstance(error, (UnusableLedgerError, MemoryError)):
        return InputError(f"{user_message(error)}; {BUDGET_USED_DRAW_KEPT}")
    return None if isinstance(error, Exception) else type(error)(BUDGET_USED_DRAW_KEPT)


class ErrorRecordingProgress:
    """A progress callback that remembers what it raised.

    An end that somebody wished, and no fault of the release.
    """

    def __init__(self, progress: ProgressCallback) -> None:
        self._progress = progress
        self.raised_error: BaseException | None = None

    def __call__(self, round_number: float, rounds: float | None) -> None:
        """Tell how far it is; raises what the function raises."""
        try:
            self._progress(round_number, rounds)
        except BaseException as error:
            self.raised_error = error
            raise


def folders_for_ledger(folder: Path, draft_folder: Path) -> Json:
    """Return where a release is written, in the form that the ledger keeps."""
    return {"folder": str(folder), "draft": str(draft_folder)}
