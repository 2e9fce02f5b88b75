"""Which files of this machine a page may read: any a person names on their own, on a server for others one folder's.

A folder is what its owner set up; whatever a name says, and wherever a link in it leads, nothing outside of it is read.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dpcore import InputError
from dpcore.data.readers import ENDINGS
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.source import CHANGED, stamped
from dpcore.data.sources.text_source import TextSource

from ..session import clean, public_host
from ..session.counted_table import named

VARIABLE = "DPCORE_TABLES"
LISTED = 1000  # files of a folder
MOST_FILES = 100_000  # in a folder of Parquet files
LONGEST_NAME = 200  # characters of one that is listed
OUTSIDE = "it is not in the folder of this server's tables"


def folder() -> Path | None:
    """The folder that the owner has set up, as it was named; None where there is none."""
    configured = os.environ.get(VARIABLE, "").strip()
    return Path(configured) if configured else None


def offered() -> bool:
    """Whether a table on this machine can be named here at all."""
    return folder() is not None or not public_host()


def listed(root: Path) -> list[str]:
    """What in a folder can be named, in order: files with a table's ending, and folders, that do not lead out of it."""
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if _can_be_named(entry.name))
    except OSError:
        return []
    return [name for name in names if _is_table(root / name) and _inside(root / name, root)][:LISTED]


def find(said: str) -> tuple[Path, Path | None]:
    """The path that a person means, and the folder that it must not leave. Raises InputError, naming what was said."""
    said, root = said.strip(), folder()
    if root is not None:
        if said not in listed(root):
            raise InputError(f"{clean(said)}: {OUTSIDE}")
        return root / said, root
    if public_host():
        raise InputError("tables on this server are read only where its owner has set up a folder of them")
    try:
        path = Path(said).expanduser()
    except RuntimeError:  # of somebody who is not known here
        path = Path(said)
    if not path.is_absolute():
        raise InputError(f"{clean(said) or 'nothing'} is no whole path: begin with {Path.home().anchor} or ~")
    return path, None


@contextmanager
def opened(path: Path, root: Path | None) -> Iterator[BinaryIO]:
    """A file, open for reading, that stays as it is until it is read.

    What is refused is named as it was chosen, and the folders above it are not.
    """
    with named(path), stamped(path) as (file, _):
        first_stat = os.fstat(file.fileno())
        guard(path, root, first_stat)
        yield file
        if _state(os.fstat(file.fileno())) != _state(first_stat):
            raise InputError(CHANGED)


def guard(path: Path, root: Path | None, found: os.stat_result) -> None:
    """Refuse an open file that is not, or no longer, the one that the folder has under that name.

    It is asked after the file was opened: a link that was put in its place before that is seen now.
    """
    if root is None:
        return
    try:
        current_stat = _there(path, root)
    except (OSError, RuntimeError, ValueError):
        current_stat = None
    if current_stat is None or _state(current_stat) != _state(found):
        raise InputError(OUTSIDE)


def guard_parts(source: ParquetSource | TextSource, root: Path | None) -> None:
    """The same of every file of a source, which refuses each that is not the one that it opened first."""
    for path, stamp in source.stamps if root is not None else ():
        with named(path):
            current_stat = os.stat(path)
            if (current_stat.st_ino, current_stat.st_size, current_stat.st_mtime_ns) != stamp:
                raise InputError(CHANGED)
            guard(path, root, current_stat)


def check_folder(path: Path, told: Callable[[], object]) -> None:
    """Refuse a folder in which so much lies that nobody meant all of it; `told` may end the search."""
    file_count = 0
    for _, folders, files in os.walk(path):
        told()
        file_count += len(folders) + len(files)
        if file_count > MOST_FILES:
            raise InputError(f"more than {MOST_FILES:,} files and folders lie in it; name a folder of Parquet files")


def _there(path: Path, root: Path) -> os.stat_result:
    """What stands in a folder where a path leads, step by step from the folder down and over no link."""
    top = root.resolve(strict=True)
    *parent_names, last = path.resolve(strict=True).relative_to(top).parts  # ValueError for what leads out of it
    if os.open not in os.supports_dir_fd:
        return os.lstat(top.joinpath(*parent_names, last))
    folder_fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in parent_names:
            parent_fd, folder_fd = (
                folder_fd,
                os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder_fd),
            )
            os.close(parent_fd)
        return os.stat(last, dir_fd=folder_fd, follow_symlinks=False)
    finally:
        os.close(folder_fd)


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _can_be_named(name: str) -> bool:
    """Whether a name is shown as it stands, so that no two look alike."""
    return not name.startswith((".", "_")) and clean(name, LONGEST_NAME) == name


def _is_table(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in ENDINGS and path.is_file()


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root.resolve(strict=True))
    except (OSError, RuntimeError, ValueError):
        return False
