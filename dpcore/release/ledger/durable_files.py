"""Write files so that they survive a power cut, and lock files for a process's lifetime."""

import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # where files cannot be locked, no attempt is continued and nothing is tidied
    fcntl = None

CAN_LOCK = fcntl is not None


def lock_file(handle: int) -> None:
    """Lock an opened file for this process, once nobody else holds it.

    Does nothing where files cannot be locked.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)


def try_lock(handle: int) -> bool:
    """Lock an opened file or folder, if nobody else holds it; whether that is so."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_to_disk(handle: int, content: bytes) -> None:
    """Write bytes into an opened file, and wait until they are on the disk.

    OSError where it is full.
    """
    while content:
        content = content[os.write(handle, content) :]
    os.fsync(handle)


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk.

    OSError where they cannot be.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where its file system can do so."""
    with suppress(OSError):
        sync_to_disk(folder)
