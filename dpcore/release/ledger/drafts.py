"""Write a release in a draft: a hidden folder that becomes the release's when all is written.

It lies beside its future one. It is made after the charge, so that the ledger names every draft
that a kill may leave, and the next command tidies up.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from ...core.errors import InputError
from ..evidence import verifier
from . import noise_key
from .chain import UnusableLedgerError
from .durable_files import CAN_LOCK, sync_folder_names, sync_to_disk, try_lock
from .ledger_store import LedgerStore
from .noise_key import HELD_ELSEWHERE, MISSING, NoiseKey, hold_key
from .unfinished_releases import UnfinishedRelease

RETRY_ADVICE = "do the same again: that finishes it, and uses no more budget"
RELEASE_FILE_ENDINGS = (
    ".csv",
    ".parquet",
    ".npz",
    ".json",
    ".html",
    ".svg",
    ".yaml",
    ".py",
)  # endings of the files of a release


def check_release_folder(folder: Path) -> None:
    """Raise InputError unless `folder` is new or empty and can be made.

    No release is ever overwritten.
    """
    reason = "cannot be made here"
    with suppress(OSError, ValueError):  # such as a name too long, or no text
        parent = folder.absolute().parent
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            reason = "is there already and not empty; a release is never written over"
        elif (
            folder.is_symlink()
            or os.path.ismount(folder)
            or (folder.exists() and folder.samefile("."))
        ):
            reason = (
                "is a link, a disk of its own, or where the program runs; name a folder "
                "that can be replaced"
            )
        elif parent.is_dir() and os.access(parent, os.W_OK):
            return
    raise InputError(f"{str(folder)[:200]}: {reason}")


def release_and_draft_paths(folder: Path, key_name: str) -> tuple[Path, Path]:
    """Return the one path of a release's folder, and that of its draft beside it.

    The draft is called after its noise's key.
    """
    parent = Path(os.path.realpath(folder.absolute().parent))
    return parent / folder.name, parent / f"{_draft_prefix(folder)}{key_name}"


@contextmanager
def open_draft(draft_folder: Path) -> Iterator[Path]:
    """Create the hidden folder `draft_folder`, new and empty, and remove it when the block ends.

    It stays if it became the release's folder. Raises OSError where it cannot be made.
    """
    _remove_draft(draft_folder)  # of an earlier attempt
    draft_folder.mkdir(mode=0o700)
    try:
        yield draft_folder
    finally:
        _remove_draft(draft_folder)


def move_draft_into_place(draft_folder: Path, folder: Path, charge_time: str) -> None:
    """Make a finished draft the release's folder, in one last step.

    Nothing is left to do after it. Its files get the time of the charge: a later one would tell how
    long the release took.
    """
    timestamp = datetime.fromisoformat(charge_time).timestamp()
    for path in (*draft_folder.iterdir(), draft_folder):
        os.utime(path, (timestamp, timestamp))
        sync_to_disk(path)
    draft_folder.chmod(0o755)
    if folder.exists():
        folder.rmdir()  # only an empty folder goes
    draft_folder.rename(folder)
    sync_folder_names(folder.parent)


def tidy_stopped_releases(ledger: Path) -> list[str]:
    """Tidy up after releases stopped after their charge; return a sentence for each.

    The sentence says how. One that was written whole is noted as released. Of another nothing stays
    but its charge and the key of its noise, with which a later attempt finishes it. Those that
    another process still works on are left alone.
    """
    if not CAN_LOCK or not os.path.exists(ledger):
        return []
    store = LedgerStore(ledger)
    messages = []
    for release in store.list_unfinished():
        if not _may_tidy_folders(release):
            continue
        with (
            _hold_release(store, release) as key,
            suppress(UnusableLedgerError),
        ):  # of a full disk, which may have room next time
            if key != HELD_ELSEWHERE and _is_still_unfinished(store, release):
                messages.append(_tidy_release(store, release, key))
    for name in noise_key.key_names(store.path):
        if not _is_key_needed(store, name):
            noise_key.delete_unless_needed(store.path, name, partial(_is_key_needed, store, name))
    return messages


def _tidy_release(store: LedgerStore, release: UnfinishedRelease, key: NoiseKey | str) -> str:
    """Tidy up after one release that was stopped; return what was done, in words.

    This process holds its `key`.
    """
    message = f"{release.description} was stopped"
    if release.folder is not None and _contains_release(release.folder, store, release.entry):
        store.add_note(release.entry, "released", finished_release_note(release.folder))
        if isinstance(key, NoiseKey):
            key.delete()
        return f"{message} after it was written; {release.folder} is whole, and noted now"
    if release.draft is not None:
        _remove_draft(release.draft)
    message += " before it was written; its budget stays used, and nothing of it was published"
    if isinstance(key, NoiseKey):
        return f"{message}; {RETRY_ADVICE}"
    store.add_note(release.entry, "failed", "killed")
    return message


@contextmanager
def _hold_release(store: LedgerStore, release: UnfinishedRelease) -> Iterator[NoiseKey | str]:
    """Hold a release's noise key, or its draft if there is no key, until the block ends.

    Yields the key; MISSING where the release has none and its draft is held; or HELD_ELSEWHERE.
    """
    if release.noise_key_name:
        with hold_key(store.path, release.noise_key_name) as key:
            yield key
        return
    if release.draft is None or release.folder is None:
        yield MISSING
        return
    with (
        _lock_folder(release.draft) as is_draft_free,
        _lock_folder(release.folder) as is_folder_free,
    ):
        yield HELD_ELSEWHERE if is_draft_free is False or is_folder_free is False else MISSING


def _may_tidy_folders(release: UnfinishedRelease) -> bool:
    """Return whether a release's folders look like those that this program writes.

    Nothing else is ever removed.
    """
    if release.draft is None or release.folder is None:
        return True
    return release.draft.parent == release.folder.parent and release.draft.name.startswith(
        _draft_prefix(release.folder)
    )


def _is_still_unfinished(store: LedgerStore, release: UnfinishedRelease) -> bool:
    """Return whether a release has not ended by now."""
    return any(other.entry == release.entry for other in store.list_unfinished())


def _is_key_needed(store: LedgerStore, key_name: str) -> bool:
    """Return whether an unfinished release draws its noise with the key of this name."""
    return any(release.noise_key_name == key_name for release in store.list_unfinished())


def finished_release_note(folder: Path) -> str:
    """Return the ledger's note on a finished release: hashes of data files and signature."""
    facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    return json.dumps(
        {**facts["files"], verifier.SIGNED: verifier.digest(folder / verifier.SIGNED)}
    )


@contextmanager
def _lock_folder(folder: Path) -> Iterator[bool | None]:
    """Yield whether this process now holds the lock on a folder; None without a folder."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)


def _contains_release(folder: Path, store: LedgerStore, entry: int) -> bool:
    """Return whether a folder contains this entry's release in this ledger, as it was signed."""
    with suppress(Exception):  # a folder may hold anything
        facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        is_valid = all(
            holds for holds, *_ in verifier.run_checks(folder, store.signing_public_key())
        )
        return is_valid and facts["ledger"]["entry"] == entry
    return False


def _draft_prefix(folder: Path) -> str:
    return f".{folder.name[:40]}-"


def _remove_draft(draft_folder: Path) -> None:
    """Remove a draft folder with the files of a release, and no other files."""
    with suppress(OSError):
        for path in draft_folder.iterdir():
            if path.suffix in RELEASE_FILE_ENDINGS and not path.is_dir():
                path.unlink()
        draft_folder.rmdir()
