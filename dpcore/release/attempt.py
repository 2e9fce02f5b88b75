"""Attempts at a release: one charge, however many attempts it takes until what was drawn has left.

A release is charged once. An attempt that was stopped leaves it unfinished, with the key of its noise; the next attempt
at the very same draws the very same and goes on without a charge.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import InputError, in_words
from ..core.types import Json, frozen
from .data_set import BudgetRequest, Reservation
from .ledger.chain import UnusableError
from .ledger.drafts import AGAIN
from .ledger.ledger_store import Store
from .ledger.noise_key import NoiseKey, kept_key, new_key
from .ledger.unfinished_releases import Unfinished

USED = "its budget stays used"
KEPT = f"{USED}, and its draw is kept; {AGAIN}"
UNKNOWN = "whether its budget was used is not known yet; do the same again: it is used once"


@frozen
class Attempt:
    """An attempt at a release, with the key of its noise, and the charge `before`, if it was charged for already."""

    store: Store
    identity: str
    noise: NoiseKey
    before: Unfinished | None

    def charge(self, reserve: Callable[..., Reservation], **place: str) -> Reservation:
        """The reservation of this release: made by `reserve`, or the one that was made before.

        `place` says where it is written, if into a folder. Where nothing is charged the key of the noise goes.
        """
        if self.before is not None:
            return self._charged(self.before, place)
        try:
            return reserve(identity=self.identity, noise_key=self.noise.name, **place)
        except BaseException as error:
            charge_note = self._said_of_charge()
            if charge_note is None:
                self.noise.delete()
            elif isinstance(error, UnusableError):
                raise InputError(f"{error}; {charge_note}") from None
            raise

    def _said_of_charge(self) -> str | None:
        """What a failed charge has to say: a disk may fail after the ledger was written. None for no charge."""
        try:
            was_charged = any(unfinished.noise == self.noise.name for unfinished in self.store.unfinished())
        except UnusableError:
            return UNKNOWN
        return KEPT if was_charged else None

    def _charged(self, before: Unfinished, place: Json) -> Reservation:
        """The reservation that was made before; the ledger gets to know where the release is written now."""
        try:
            if place and place != before.place:
                self.store.note(before.entry, "note", json.dumps(place))
            return self.store.charged(before.entry)
        except UnusableError as error:
            raise InputError(f"{error}; {KEPT}") from None

    def end(self, entry: int, state: str, note: str = "") -> None:
        """Note a release's end, and delete the key of its noise.

        Where the ledger takes no note now, the next command does.
        """
        with suppress(UnusableError):
            self.store.note(entry, state, note)
            self.noise.delete()


@contextmanager
def attempt(store: Store, request: BudgetRequest, identity: str, rows: bytes) -> Iterator[Attempt]:
    """An attempt at the release with this identity, of rows with this digest; see `identity`.

    It goes on with a release that was charged for the same and is unfinished, unless another process does so.
    """
    for unfinished in store.same(request, identity):
        with kept_key(store.path, unfinished.noise) as key:
            is_unfinished = any(other.entry == unfinished.entry for other in store.unfinished())
            if isinstance(key, NoiseKey) and is_unfinished and key.is_for(rows):
                yield Attempt(store, identity, key, unfinished)
                return
    with new_key(store.path, rows) as key:
        yield Attempt(store, identity, key, None)


def stopped(error: BaseException, what: object = "") -> BaseException | None:
    """The error to raise where an attempt was stopped and another one may end better; None for any other error.

    It says that the budget stays used and how the release is finished; `what` could not be written.
    """
    if isinstance(error, OSError):
        path_prefix = f"{str(what)[:200]}: " if what else ""
        return InputError(f"{path_prefix}cannot be written: {error.strerror or error}; {KEPT}")
    if isinstance(error, (UnusableError, MemoryError)):
        return InputError(f"{in_words(error)}; {KEPT}")
    return None if isinstance(error, Exception) else type(error)(KEPT)


class Stops:
    """A progress function that remembers what it raised: an end that somebody wished, and no fault of the release."""

    def __init__(self, progress: Callable[[int, int], object]) -> None:
        self._progress = progress
        self.raised: BaseException | None = None

    def __call__(self, t: int, rounds: int) -> None:
        """Tell how far it is; raises what the function raises."""
        try:
            self._progress(t, rounds)
        except BaseException as error:
            self.raised = error
            raise


def place_of(folder: Path, made: Path) -> Json:
    """Where a release is written, as the ledger keeps it."""
    return {"folder": str(folder), "draft": str(made)}
