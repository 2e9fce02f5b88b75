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
    signing_key = key_of(store.path, store.signer())
    with attempt(store, ready.request, identity_of(ready), rows_of(ready)) as current_attempt:
        folder, draft_folder = placed(folder, current_attempt.noise.name)
        reserve = partial(ready.reserve, store, signed_by=signing_key.public)
        reservation = current_attempt.charge(reserve, **place_of(folder, draft_folder))
        schema_json = Json()
        recorded_progress = Stops(progress)
        try:
            with draft(draft_folder):
                number, facts = _write(
                    ready, current_attempt, reservation, draft_folder, schema_json, recorded_progress
                )
                signing_key.sign(draft_folder)
                note = noted(draft_folder)
                # last of all: once its folder is public, it has not failed
                complete(draft_folder, folder, facts["time"])
        except BaseException as error:
            if error is recorded_progress.raised:
                raise
            raise _ended(current_attempt, reservation.number, folder, schema_json, error) from None
        current_attempt.end(reservation.number, "released", note)
    return number, facts


def _write(
    ready: PreparedRelease, mine: Attempt, reservation: Reservation, made: Path, measured: Json, progress: Progress
) -> tuple[int, Json]:  # fmt: skip
    """Draw the release and write all files but the signature; `measured` becomes the schema that is measured."""
    account = mine.store.account(reservation.number)
    measuring_entries = mine.store.measured(reservation.number)
    if isinstance(ready, OpenRelease):
        measured_schema = ready.measure(mine.noise.generator("schema"))
        measured.update(domain_to_json(measured_schema.domain))
        measured_names = [column_findings.column.name for column_findings in measured_schema.found]
        mine.store.note(reservation.number, "note", measured_note(measured_schema.domain, measured_names))
        ready = ready.settle(measured_schema)
    drawing = draw(ready, mine.noise, progress)
    facts = write(made, ready, reservation, drawing, schema=measured, account=account, measured=measuring_entries)
    return len(account["releases"]), facts


def _ended(mine: Attempt, entry: int, folder: Path, measured: Json, error: BaseException) -> BaseException:
    """The error to raise for a charged release whose attempt ended with `error`: it says what stays used.

    An error that every attempt would end with is noted, and a schema that was measured is written: it is paid for.
    """
    retry_error = stopped(error, folder)
    if retry_error is not None:
        return retry_error
    mine.end(entry, "failed", type(error).__name__)
    budget_note = USED
    if measured and write_schema(folder, measured):
        budget_note += f"; the schema that was measured is in {folder.name}/schema.json"
    if isinstance(error, InputError):
        return type(error)(f"{error}; {budget_note}")
    error.add_note(budget_note)
    return error
