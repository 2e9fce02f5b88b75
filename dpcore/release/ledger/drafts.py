"""The draft of a release: a hidden folder beside its future one, which it becomes when all is written.

It is made after the charge, so that the ledger names every draft that a kill may leave, and the next command tidies up.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from ...core.errors import InputError
from ..evidence import verifier
from . import noise_key
from .chain import UnusableError
from .durable_files import CAN_LOCK, lock_at_once, sync, sync_names
from .ledger_store import Store
from .noise_key import BUSY, GONE, NoiseKey, kept_key
from .unfinished_releases import Unfinished

AGAIN = "do the same again: that finishes it, and uses no more budget"
ENDINGS = (".csv", ".parquet", ".npz", ".json", ".html", ".yaml", ".py")  # endings of the files of a release


def check_folder(folder: Path) -> None:
    """Raise InputError unless `folder` is new or empty and can be made: no release is ever overwritten."""
    reason = "cannot be made here"
    with suppress(OSError, ValueError):  # such as a name too long, or no text
        parent = folder.absolute().parent
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            reason = "is there already and not empty; a release is never written over"
        elif folder.is_symlink() or os.path.ismount(folder) or (folder.exists() and folder.samefile(".")):
            reason = "is a link, a disk of its own, or where the program runs; name a folder that can be replaced"
        elif parent.is_dir() and os.access(parent, os.W_OK):
            return
    raise InputError(f"{str(folder)[:200]}: {reason}")


def placed(folder: Path, name: str) -> tuple[Path, Path]:
    """The one path of a release's folder, and that of its draft beside it, which is called after its noise's key."""
    parent = Path(os.path.realpath(folder.absolute().parent))
    return parent / folder.name, parent / f"{_prefix(folder)}{name}"


@contextmanager
def draft(made: Path) -> Iterator[Path]:
    """The hidden folder `made`, new and empty; gone when the block ends, unless it became the release's folder.

    Raises OSError where it cannot be made.
    """
    _remove(made)  # of an earlier attempt
    made.mkdir(mode=0o700)
    try:
        yield made
    finally:
        _remove(made)


def complete(made: Path, folder: Path, charged: str) -> None:
    """Make a finished draft the release's folder, in one last step after which nothing is left to do.

    Its files get the time of the charge: a later one would tell how long the release took.
    """
    timestamp = datetime.fromisoformat(charged).timestamp()
    for path in (*made.iterdir(), made):
        os.utime(path, (timestamp, timestamp))
        sync(path)
    made.chmod(0o755)
    if folder.exists():
        folder.rmdir()  # only an empty folder goes
    made.rename(folder)
    sync_names(folder.parent)


def tidied(ledger: Path) -> list[str]:
    """A sentence for each release that was stopped after its charge, which says how it was tidied up.

    One that was written whole is noted as released. Of another nothing stays but its charge and the key of its noise,
    with which a later attempt finishes it. Those that another process still works on are left alone.
    """
    if not CAN_LOCK or not os.path.exists(ledger):
        return []
    store, messages = Store(ledger), []
    for release in store.unfinished():
        if not _is_own(release):
            continue
        with _owned(store, release) as key, suppress(UnusableError):  # of a full disk, which may have room next time
            if key != BUSY and _is_unfinished(store, release):
                messages.append(_tidied(store, release, key))
    for name in noise_key.names(store.path):
        if not _is_named(store, name):
            noise_key.drop(store.path, name, lambda name=name: _is_named(store, name))
    return messages


def _tidied(store: Store, one: Unfinished, key: NoiseKey | str) -> str:
    """Tidy up after one release that was stopped, whose `key` this process holds; return what was done, in words."""
    message = f"{one.words} was stopped"
    if one.folder is not None and _is_release(one.folder, store, one.entry):
        store.note(one.entry, "released", noted(one.folder))
        if isinstance(key, NoiseKey):
            key.delete()
        return f"{message} after it was written; {one.folder} is whole, and noted now"
    if one.draft is not None:
        _remove(one.draft)
    message += " before it was written; its budget stays used, and nothing of it was published"
    if isinstance(key, NoiseKey):
        return f"{message}; {AGAIN}"
    store.note(one.entry, "failed", "killed")
    return message


@contextmanager
def _owned(store: Store, one: Unfinished) -> Iterator[NoiseKey | str]:
    """The key of a release's noise, held; of one that has none, GONE, while its draft is held; or BUSY."""
    if one.noise:
        with kept_key(store.path, one.noise) as key:
            yield key
        return
    if one.draft is None or one.folder is None:
        yield GONE
        return
    with _held(one.draft) as is_draft_free, _held(one.folder) as is_folder_free:
        yield BUSY if is_draft_free is False or is_folder_free is False else GONE


def _is_own(one: Unfinished) -> bool:
    """Whether the folders of a release are such as this program writes; nothing else is ever removed."""
    if one.draft is None or one.folder is None:
        return True
    return one.draft.parent == one.folder.parent and one.draft.name.startswith(_prefix(one.folder))


def _is_unfinished(store: Store, one: Unfinished) -> bool:
    """Whether a release has not ended by now."""
    return any(other.entry == one.entry for other in store.unfinished())


def _is_named(store: Store, name: str) -> bool:
    """Whether a release that has not ended draws its noise with the key of this name."""
    return any(release.noise == name for release in store.unfinished())


def noted(folder: Path) -> str:
    """The note that a ledger keeps of a finished release: the hashes of its data files and of its signature."""
    facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    return json.dumps({**facts["files"], verifier.SIGNED: verifier.digest(folder / verifier.SIGNED)})


@contextmanager
def _held(folder: Path) -> Iterator[bool | None]:
    """Whether this process now holds the lock on a folder; None where there is no folder."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        yield lock_at_once(handle)
    finally:
        os.close(handle)


def _is_release(folder: Path, store: Store, entry: int) -> bool:
    """Whether a folder contains the release of this entry in this ledger, as it was signed."""
    with suppress(Exception):  # a folder may hold anything
        facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        is_valid = all(holds for holds, *_ in verifier.checks(folder, store.signer()))
        return is_valid and facts["ledger"]["entry"] == entry
    return False


def _prefix(folder: Path) -> str:
    return f".{folder.name[:40]}-"


def _remove(made: Path) -> None:
    """Remove a draft folder with the files of a release, and no other files."""
    with suppress(OSError):
        for path in made.iterdir():
            if path.suffix in ENDINGS and not path.is_dir():
                path.unlink()
        made.rmdir()
