"""Keep the key of a release's noise beside the ledger until the release has left, or failed.

An attempt may end between the charge and the last file: the disk is full, the machine stops,
somebody loses patience. Whatever it drew may have been seen, if only as the size that did not fit.
Fresh noise would then be a second draw, for which nobody paid, and drawing until it fits is a
choice by the data. So another attempt draws with the same key, and thus the very same: all attempts
together show what one draw shows, and that was charged.

The key comes from the operating system, nobody can choose it, and it is deleted once the release is
noted. Its file also holds a keyed hash of the rows: other rows are never drawn with it, as the
difference of two such draws has no noise.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from ...core.errors import InputError
from ...core.types import Rng, value_object
from ...privacy import entropy
from .chain import NOISE_KEY_SUFFIX, open_ledger_companion
from .durable_files import CAN_LOCK, lock_file, sync_folder_names, try_lock, write_to_disk

NAME_BYTES = 8
HELD_ELSEWHERE = "busy"  # in place of a key that another process holds
MISSING = "gone"  # in place of a key that is no more
_MAX_FILE_BYTES = 1000


@value_object
class NoiseKey:
    """A release's noise key, by its name in the ledger, locked by this process.

    Locked as long as its context lasts.
    """

    name: str
    rows_hash: str
    _path: Path = field(repr=False)
    _secret: bytes = field(repr=False)

    def generator(self, purpose: str) -> Rng:
        """Return the random generator of everything drawn for one purpose.

        The same purpose draws the same again.
        """
        return entropy.generator(self._secret, purpose)

    def is_for_rows(self, rows_digest: bytes) -> bool:
        """Return whether the key was made for the rows with this digest."""
        return hmac.compare_digest(self.rows_hash, _keyed_rows_hash(self._secret, rows_digest))

    def delete(self) -> None:
        """Delete the key, so that nobody can repeat the draw.

        A file that cannot be deleted is left to the next try.
        """
        with suppress(OSError):
            self._path.unlink()


@contextmanager
def create_key(ledger: Path, rows_digest: bytes) -> Iterator[NoiseKey]:
    """Create a new key beside a ledger, for the rows with this digest, and hold it.

    Held until the block ends. Raises InputError where it cannot be written; nothing is charged yet.
    """
    secret = entropy.new_key()
    name = secrets.token_hex(NAME_BYTES)
    path = key_path(ledger, name)
    key = NoiseKey(name, _keyed_rows_hash(secret, rows_digest), path, secret)
    try:
        handle = _create_locked_file(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}; no budget was used"
        ) from None
    try:
        try:
            write_to_disk(handle, f"{secret.hex()}\n{key.rows_hash}\n".encode())
            sync_folder_names(path.parent)
        except OSError as error:
            key.delete()
            raise InputError(
                f"{path}: cannot be written: {error.strerror or error}; no budget was used"
            ) from None
        yield key
    finally:
        os.close(handle)


@contextmanager
def hold_key(ledger: Path, name: str) -> Iterator[NoiseKey | str]:
    """Hold the key of this name until the block ends.

    Yields the key; HELD_ELSEWHERE where another process holds it, MISSING without it.
    """
    path = key_path(ledger, name)
    if not CAN_LOCK:
        yield HELD_ELSEWHERE
        return
    try:
        file = open_ledger_companion(path, "rb")
    except OSError:
        yield MISSING
        return
    with file:
        if not try_lock(file.fileno()):
            yield HELD_ELSEWHERE
            return
        if not _is_file_at(file.fileno(), path):  # deleted meanwhile by whoever finished
            yield MISSING
            return
        yield _parse_key(file.read(_MAX_FILE_BYTES), name, path)


def key_names(ledger: Path) -> list[str]:
    """Return the names of all keys that lie beside a ledger."""
    prefix = f"{ledger.name}{NOISE_KEY_SUFFIX}"
    endings = []
    with suppress(OSError):
        endings = [
            name[len(prefix) :] for name in os.listdir(ledger.parent) if name.startswith(prefix)
        ]
    return sorted(name for name in endings if _is_key_name(name))


def delete_unless_needed(ledger: Path, name: str, is_needed: Callable[[], bool]) -> None:
    """Delete a key unless a process holds it or it is needed.

    `is_needed` is asked once nobody can begin with it any more.
    """
    with hold_key(ledger, name) as key:
        if key != HELD_ELSEWHERE and not is_needed():
            key_path(ledger, name).unlink(missing_ok=True)


def key_path(ledger: Path, name: str) -> Path:
    """Return the path of the key of this name; InputError for an invalid name.

    A path of its own is no such name.
    """
    if not _is_key_name(name):
        raise InputError(f"{name[:40]!r} is not the name of a key")
    return Path(f"{ledger}{NOISE_KEY_SUFFIX}{name}")


def _is_key_name(name: str) -> bool:
    return len(name) == 2 * NAME_BYTES and not set(name) - set("0123456789abcdef")


def _parse_key(content: bytes, name: str, path: Path) -> NoiseKey | str:
    """Return the key in a file; MISSING where its writing never ended.

    Nothing was drawn with such a key.
    """
    try:
        secret, rows = content.decode("ascii").splitlines()
        key = NoiseKey(name, rows, path, bytes.fromhex(secret))
    except ValueError:
        return MISSING
    return key if len(key._secret) == entropy.KEY_BYTES else MISSING


def _keyed_rows_hash(secret: bytes, rows_digest: bytes) -> str:
    return hmac.new(secret, b"rows" + rows_digest, hashlib.sha256).hexdigest()


def _create_locked_file(path: Path) -> int:
    """Create a file, opened and locked; OSError where it cannot be."""
    while True:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        lock_file(handle)
        if _is_file_at(handle, path):
            return handle
        os.close(handle)  # tidied away before it was locked


def _is_file_at(handle: int, path: Path) -> bool:
    """Return whether an opened file still lies at its path."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False
