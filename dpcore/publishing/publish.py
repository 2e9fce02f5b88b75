"""A real release: use its budget for good, draw it once with unseeded noise, write it.

Nothing here compares a release with the truth: no error is computed, so none can be seen, stored or chosen by.
"""

from pathlib import Path

from ..data.schema import domain_to_json
from ..errors import InputError
from ..privacy import entropy
from ..types import Json, unwatched
from .drafts import complete, draft, noted
from .draw import Progress, draw
from .files import write, write_schema
from .ledger_store import Store
from .prepared import OpenRelease, PreparedRelease
from .provenance import measured_note
from .signing import key_of


def publish(ready: PreparedRelease, store: Store, folder: Path, progress: Progress = unwatched) -> Json:
    """Reserve the budget, draw once, write all files into the new `folder`; return the facts of release.json.

    `progress` is called after the charge with 0, then with every round. Raises OverspendError before anything is
    charged. Whatever fails later leaves the release charged, and marked so.
    """
    with draft(folder) as made:
        key = key_of(store.path)
        reservation = ready.reserve(store, signed_by=key.public, folder=str(folder.absolute()), draft=str(made))
        schema: Json = {}
        try:
            account = store.account(reservation.number)
            measured = store.measured(reservation.number)
            if isinstance(ready, OpenRelease):
                found = ready.measure(entropy.generator())
                schema = domain_to_json(found.domain)
                names = [one.column.name for one in found.found]
                store.note(reservation.number, "note", measured_note(found.domain, names))
                ready = ready.settle(found)
            drawn = draw(ready, progress)
            facts = write(made, ready, reservation, drawn, schema=schema, account=account, measured=measured)
            key.sign(made)
            note = noted(made)
            complete(made, folder, facts["time"])  # last of all: once its folder is public, it has not failed
        except BaseException as error:
            store.note(reservation.number, "failed", type(error).__name__)
            kept = bool(schema) and write_schema(folder, schema)  # it is paid for
            more = f"; the schema that was measured is in {folder.name}/schema.json" if kept else ""
            if isinstance(error, OSError):
                why = f"cannot be written: {error.strerror or error}; its budget stays used"
                raise InputError(f"{str(folder)[:200]}: {why}{more}") from None
            if kept and isinstance(error, InputError):
                raise InputError(f"{error}{more}") from None
            raise
        store.note(reservation.number, "released", note)
    return facts
