"""The draft of a release: a hidden folder beside its future one, which it becomes when all is written.

Of a release that was killed the ledger knows both folders, and the next command tidies up.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from ..errors import InputError
from . import verifier
from .ledger_store import Store
from .signing import key_of

try:
    import fcntl
except ImportError:  # where folders cannot be held, nothing is tidied
    fcntl = None

ENDINGS = (".csv", ".parquet", ".npz", ".json", ".html", ".yaml", ".py")  # endings of the files of a release


def check_folder(folder: Path) -> None:
    """Raise InputError unless `folder` is new or empty and can be made: no release is ever overwritten."""
    why = "cannot be made here"
    with suppress(OSError, ValueError):  # such as a name too long, or no text
        parent = folder.absolute().parent
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            why = "is there already and not empty; a release is never written over"
        elif folder.is_symlink() or os.path.ismount(folder) or (folder.exists() and folder.samefile(".")):
            why = "is a link, a disk of its own, or where the program runs; name a folder that can be replaced"
        elif parent.is_dir() and os.access(parent, os.W_OK):
            return
    raise InputError(f"{str(folder)[:200]}: {why}")


@contextmanager
def draft(folder: Path) -> Iterator[Path]:
    """A hidden folder beside the release's future one, locked by this process until the release is noted.

    Raises InputError unless the future one is new or empty and can be made.
    """
    check_folder(folder)
    try:
        made = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.absolute().parent))
    except OSError as error:
        raise InputError(f"{str(folder)[:200]}: cannot be made here: {error.strerror or error}") from None
    try:
        with _held(made):
            yield made
    finally:
        _remove(made)


def complete(made: Path, folder: Path, charged: str) -> None:
    """Make a finished draft the release's folder, in one last step after which nothing is left to do.

    Its files get the time of the charge: a later one would tell how long the release took.
    """
    time = datetime.fromisoformat(charged).timestamp()
    for path in (*made.iterdir(), made):
        os.utime(path, (time, time))
    made.chmod(0o755)
    if folder.exists():
        folder.rmdir()  # only an empty folder goes
    made.rename(folder)


def tidied(ledger: Path) -> list[str]:
    """A sentence for each release that was killed after its charge, which says how it was tidied up.

    One that was written whole is noted as released; of another nothing stays but its charge. Those that another
    process still works on are left alone.
    """
    if fcntl is None or not os.path.exists(ledger):
        return []
    store, said = Store(ledger), []
    for number, settings in store.unfinished():
        folder, made = Path(settings["folder"]), Path(settings["draft"])
        if made.parent != folder.parent or not made.name.startswith(_prefix(folder)):
            continue  # this program never wrote it
        with _held(made) as free, _held(folder) as there:
            if free is False or there is False or number not in dict(store.unfinished()):
                continue  # somebody works on it, or has ended it by now
            if there and _is_release(folder, ledger, number):
                store.note(number, "released", noted(folder))
                said.append(f"release {number} was killed after it was written; {folder} is whole, and noted now")
                continue
            _remove(made)
            store.note(number, "failed", "killed")
            said.append(
                f"release {number} was killed before it was written; its budget stays used, and nothing of "
                "it was published"
            )
    return said


def noted(folder: Path) -> str:
    """The note that a ledger keeps of a finished release: the hashes of its data files and of its signature."""
    facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    return json.dumps({**facts["files"], verifier.SIGNED: verifier.digest(folder / verifier.SIGNED)})


@contextmanager
def _held(folder: Path) -> Iterator[bool | None]:
    """Whether this process now holds the lock on a folder; None where there is no folder."""
    if fcntl is None:
        yield True
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = True
    except OSError:
        free = False
    try:
        yield free
    finally:
        os.close(handle)


def _is_release(folder: Path, ledger: Path, number: int) -> bool:
    """Whether a folder contains the release of this number in this ledger, as it was signed."""
    with suppress(Exception):  # a folder may hold anything
        facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        holds = all(holds for holds, *_ in verifier.checks(folder, key_of(ledger).public))
        return holds and facts["ledger"]["entry"] == number
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
