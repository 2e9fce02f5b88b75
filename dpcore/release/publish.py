"""A real release: use its budget for good, draw it once with unseeded noise, write it.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or chosen by.
"""

from functools import partial
from pathlib import Path

from ..core.errors import InputError
from ..core.types import Json, unwatched
from ..schema.schema_json import domain_to_json
from .attempt import USED, Attempt, Stops, attempt, place_of, stopped
from .data_set import Reservation
from .draw import Progress, draw
from .ledger.drafts import check_folder, complete, draft, noted, placed, tidied
from .ledger.ledger_store import Store
from .ledger.signing import key_of
from .preparation import OpenRelease, PreparedRelease
from .provenance import measured_note
from .release_files import write, write_schema
from .release_identity import identity_of, rows_of


def publish(
    ready: PreparedRelease, store: Store, folder: Path, progress: Progress = unwatched
) -> tuple[int, Json]:  # fmt: skip
    """Reserve the budget, draw once, write all files into the new `folder`.

    Args:
        ready: What to release.
        store: The ledger that is charged.
        folder: The release's folder; new or empty.
        progress: Called after the charge with 0, then with every round; what it raises stops this attempt.

    Returns:
        The release's number among those of its data set, and the facts of release.json.

    Raises:
        OverspendError: The budget does not allow it; nothing is charged.
        InputError: It cannot be written, and stays charged: the same again finishes it, with the same draw and no other
            charge. An error that every attempt would end with marks it as failed.

    """
    check_folder(folder)
    tidied(store.path)
    signing = key_of(store.path, store.signer())
    with attempt(store, ready.request, identity_of(ready), rows_of(ready)) as mine:
        folder, made = placed(folder, mine.noise.name)
        reserve = partial(ready.reserve, store, signed_by=signing.public)
        reservation = mine.charge(reserve, **place_of(folder, made))
        measured, stops = Json(), Stops(progress)
        try:
            with draft(made):
                number, facts = _write(ready, mine, reservation, made, measured, stops)
                signing.sign(made)
                note = noted(made)
                complete(made, folder, facts["time"])  # last of all: once its folder is public, it has not failed
        except BaseException as error:
            if error is stops.raised:
                raise
            raise _ended(mine, reservation.number, folder, measured, error) from None
        mine.end(reservation.number, "released", note)
    return number, facts


def _write(
    ready: PreparedRelease, mine: Attempt, reservation: Reservation, made: Path, measured: Json, progress: Progress
) -> tuple[int, Json]:  # fmt: skip
    """Draw the release and write all files but the signature; `measured` becomes the schema that is measured."""
    account = mine.store.account(reservation.number)
    entries = mine.store.measured(reservation.number)
    if isinstance(ready, OpenRelease):
        found = ready.measure(mine.noise.generator("schema"))
        measured.update(domain_to_json(found.domain))
        names = [one.column.name for one in found.found]
        mine.store.note(reservation.number, "note", measured_note(found.domain, names))
        ready = ready.settle(found)
    drawn = draw(ready, mine.noise, progress)
    facts = write(made, ready, reservation, drawn, schema=measured, account=account, measured=entries)
    return len(account["releases"]), facts


def _ended(mine: Attempt, entry: int, folder: Path, measured: Json, error: BaseException) -> BaseException:
    """The error to raise for a charged release whose attempt ended with `error`: it says what stays used.

    An error that every attempt would end with is noted, and a schema that was measured is written: it is paid for.
    """
    again = stopped(error, folder)
    if again is not None:
        return again
    mine.end(entry, "failed", type(error).__name__)
    more = USED
    if measured and write_schema(folder, measured):
        more += f"; the schema that was measured is in {folder.name}/schema.json"
    if isinstance(error, InputError):
        return type(error)(f"{error}; {more}")
    error.add_note(more)
    return error
