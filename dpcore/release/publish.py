"""A real release: use its budget for good, draw it once with unseeded noise, write it.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or
chosen by. Its errors are predicted from the release itself.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path

from ..core.errors import InputError
from ..core.types import Json, ProgressCallback, ignore_progress
from ..evaluation.predicted_errors import predict_from_release
from ..schema.schema_json import domain_to_json
from .attempt import (
    BUDGET_STAYS_USED,
    Attempt,
    ErrorRecordingProgress,
    folders_for_ledger,
    open_attempt,
    retryable_error,
)
from .data_set import Reservation
from .draw import draw_parameter, draw_release
from .ledger.drafts import (
    check_release_folder,
    finished_release_note,
    move_draft_into_place,
    open_draft,
    release_and_draft_paths,
    tidy_stopped_releases,
)
from .ledger.ledger_store import LedgerStore
from .ledger.signing import load_signing_key
from .preparation import Prepared, PreparedLearning
from .provenance import measured_columns_note
from .release_files import try_write_schema, write_learning_files, write_release_files
from .release_identity import release_digest, unkeyed_rows_digest


def publish_release(
    ready: Prepared,
    store: LedgerStore,
    folder: Path,
    progress: ProgressCallback = ignore_progress,
) -> tuple[int, Json]:
    """Reserve the budget, draw once, write all files into the new `folder`.

    Args:
        ready: What to release.
        store: The ledger that is charged.
        folder: The release's folder; new or empty.
        progress: Called after the charge with 0, then with every round; what it raises stops this
            attempt.

    Returns:
        The release's number among those of its data set, and the facts of release.json.

    Raises:
        OverspendError: The budget does not allow it; nothing is charged.
        InputError: It cannot be written, and stays charged: the same again finishes it, with the
            same draw and no other charge. An error that every attempt would end with marks it as
            failed.

    """
    check_release_folder(folder)
    tidy_stopped_releases(store.path)
    signing_key = load_signing_key(store.path, store.signing_public_key())
    with open_attempt(
        store, ready.request, release_digest(ready), unkeyed_rows_digest(ready)
    ) as current_attempt:
        folder, draft_folder = release_and_draft_paths(folder, current_attempt.noise_key.name)
        reserve = partial(ready.reserve, store, signed_by=signing_key.public)
        reservation = current_attempt.charge(reserve, **folders_for_ledger(folder, draft_folder))
        schema_json = Json()
        recorded_progress = ErrorRecordingProgress(progress)
        try:
            with open_draft(draft_folder):
                number, facts = _draw_and_write(
                    ready,
                    current_attempt,
                    reservation,
                    draft_folder,
                    schema_json,
                    recorded_progress,
                )
                signing_key.sign(draft_folder)
                note = finished_release_note(draft_folder)
                # last of all: once its folder is public, it has not failed
                move_draft_into_place(draft_folder, folder, facts["time"])
        except BaseException as error:
            if error is recorded_progress.raised_error:
                raise
            raise _error_after_charge(
                current_attempt, reservation.number, folder, schema_json, error
            ) from None
        current_attempt.record_end(reservation.number, "released", note)
    return number, facts


def _draw_and_write(
    ready: Prepared,
    current_attempt: Attempt,
    reservation: Reservation,
    draft_folder: Path,
    schema_json: Json,
    progress: ProgressCallback,
) -> tuple[int, Json]:
    """Draw the release and write all files but the signature.

    `schema_json` becomes the schema that is measured.
    """
    account = current_attempt.store.account(reservation.number)
    measuring_entries = current_attempt.store.measuring_entries(reservation.number)
    if isinstance(ready, PreparedLearning):
        parameter, noise = draw_parameter(ready, current_attempt.noise_key, progress)
        facts = write_learning_files(
            draft_folder,
            ready,
            reservation,
            parameter,
            noise,
            account=account,
            measuring_entries=measuring_entries,
        )
        return len(account["releases"]), facts
    measurement = ready.schema_measurement
    if measurement is not None:
        measured_schema = measurement.measure(current_attempt.noise_key.generator("schema"))
        schema_json.update(domain_to_json(measured_schema.domain))
        measured_names = [
            column_findings.column.name for column_findings in measured_schema.findings
        ]
        current_attempt.store.add_note(
            reservation.number,
            "note",
            measured_columns_note(measured_schema.domain, measured_names),
        )
        ready = ready.with_measured_schema(measurement, measured_schema)
    drawing = draw_release(ready, current_attempt.noise_key, progress)
    predicted = None
    with suppress(InputError):  # what was drawn is paid for, and is written without a prediction
        predicted = predict_from_release(
            drawing.release,
            ready.request.algorithm,
            ready.problem,
            ready.plan,
            current_attempt.noise_key.generator("prediction"),
            progress,
        )
    facts = write_release_files(
        draft_folder,
        ready,
        reservation,
        drawing,
        predicted,
        schema=schema_json,
        account=account,
        measuring_entries=measuring_entries,
    )
    return len(account["releases"]), facts


def _error_after_charge(
    current_attempt: Attempt, entry: int, folder: Path, schema_json: Json, error: BaseException
) -> BaseException:
    """Return the error to raise for a charged release whose attempt ended with `error`.

    It says what stays used. An error that every attempt would end with is noted, and a schema that
    was measured is written: it is paid for.
    """
    retry_error = retryable_error(error, folder)
    if retry_error is not None:
        return retry_error
    current_attempt.record_end(entry, "failed", type(error).__name__)
    budget_note = BUDGET_STAYS_USED
    if schema_json and try_write_schema(folder, schema_json):
        budget_note += f"; the schema that was measured is in {folder.name}/schema.json"
    if isinstance(error, InputError):
        return type(error)(f"{error}; {budget_note}")
    error.add_note(budget_note)
    return error
