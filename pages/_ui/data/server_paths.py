"""Access control for files on the server: which paths a page may read.

A person may name any file of their own machine; on a server for others it is one folder's. That
folder is what its owner set up; whatever a name says, and wherever a link in it leads, nothing
outside of it is read.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dpcore import InputError
from dpcore.core.types import ProgressCallback
from dpcore.data.readers import TABLE_ENDINGS, table_ending
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.data.sources.source import CHANGED_MESSAGE, open_stamped_file
from dpcore.data.sources.text_source import TextSource

from ..session import is_public_host, owner, printable_text
from ..session.counted_table import hide_path_in_errors

FOLDER_VARIABLE = "DPCORE_TABLES"
MAX_LISTED_FILES = 1000  # files of a folder
MAX_FOLDER_FILES = 100_000  # in a folder of Parquet files
MAX_NAME_CHARS = 200  # characters of one that is listed
OUTSIDE_FOLDER_TEXT = "it is not in the folder of this server's tables"


def tables_folder() -> Path | None:
    """Return the folder that the server's owner configured, as named; None without one."""
    configured = os.environ.get(FOLDER_VARIABLE, "").strip()
    return Path(configured) if configured else None


def can_name_server_table() -> bool:
    """Return whether a table on this machine can be named here at all."""
    if owner.has_samples_only():
        return False
    return tables_folder() is not None or not is_public_host()


def list_table_names(root: Path) -> list[str]:
    """Return the tables in a folder in order: files with a table's ending, and folders.

    Those that lead out of the folder are left out.
    """
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if _is_showable_name(entry.name))
    except OSError:
        return []
    return [name for name in names if _is_table(root / name) and _is_inside(root / name, root)][
        :MAX_LISTED_FILES
    ]


def resolve_table_path(requested: str) -> tuple[Path, Path | None]:
    """Return the requested path, and the folder it must not leave, if any.

    Raises InputError, naming what was requested.
    """
    if owner.has_samples_only():
        raise InputError("no table is read here: this tab has public samples only")
    requested = requested.strip()
    root = tables_folder()
    if root is not None:
        if requested not in list_table_names(root):
            raise InputError(f"{printable_text(requested)}: {OUTSIDE_FOLDER_TEXT}")
        return root / requested, root
    if is_public_host():
        raise InputError(
            "tables on this server are read only where its owner has set up a folder of them"
        )
    try:
        path = Path(requested).expanduser()
    except RuntimeError:  # of somebody who is not known here
        path = Path(requested)
    if not path.is_absolute():
        raise InputError(
            f"{printable_text(requested) or 'nothing'} is no whole path: begin with "
            f"{Path.home().anchor} or ~"
        )
    return path, None


@contextmanager
def open_unchanging_file(path: Path, root: Path | None) -> Iterator[BinaryIO]:
    """Open a file for reading; raise InputError if it changes before it is read.

    An error names the file as it was chosen, and not the folders above it.
    """
    with hide_path_in_errors(path), open_stamped_file(path) as (file, _):
        first_stat = os.fstat(file.fileno())
        require_file_of_folder(path, root, first_stat)
        yield file
        if _stat_identity(os.fstat(file.fileno())) != _stat_identity(first_stat):
            raise InputError(CHANGED_MESSAGE)


def require_file_of_folder(path: Path, root: Path | None, file_stat: os.stat_result) -> None:
    """Refuse an open file that is not, or no longer, the one that the folder has under that name.

    It is asked after the file was opened: a link that was put in its place before that is seen now.
    """
    if root is None:
        return
    try:
        current_stat = _stat_without_links(path, root)
    except (OSError, RuntimeError, ValueError):
        current_stat = None
    if current_stat is None or _stat_identity(current_stat) != _stat_identity(file_stat):
        raise InputError(OUTSIDE_FOLDER_TEXT)


def require_files_of_folder(source: ParquetSource | TextSource, root: Path | None) -> None:
    """Raise InputError if a file of a source has changed or is not in the folder.

    The source itself refuses each file that is not the one that it opened first.
    """
    for path, stamp in source.stamps if root is not None else ():
        with hide_path_in_errors(path):
            current_stat = os.stat(path)
            if (current_stat.st_ino, current_stat.st_size, current_stat.st_mtime_ns) != stamp:
                raise InputError(CHANGED_MESSAGE)
            require_file_of_folder(path, root, current_stat)


def check_folder_size(path: Path, progress: ProgressCallback) -> None:
    """Raise InputError for a folder with so many files that nobody meant all of them.

    `progress` may end the search.
    """
    file_count = 0
    for _, folders, files in os.walk(path):
        progress(file_count, None)
        file_count += len(folders) + len(files)
        if file_count > MAX_FOLDER_FILES:
            raise InputError(
                f"more than {MAX_FOLDER_FILES:,} files and folders lie in it; name a folder of "
                "Parquet files"
            )


def _stat_without_links(path: Path, root: Path) -> os.stat_result:
    """Return the status of the file at `path`, reached from `root` without following a link.

    The path is followed step by step from the folder down.
    """
    top = root.resolve(strict=True)
    # ValueError for what leads out of it
    *parent_names, last = path.resolve(strict=True).relative_to(top).parts
    if os.open not in os.supports_dir_fd:
        return os.lstat(top.joinpath(*parent_names, last))
    folder_fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in parent_names:
            parent_fd = folder_fd
            folder_fd = os.open(
                name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder_fd
            )
            os.close(parent_fd)
        return os.stat(last, dir_fd=folder_fd, follow_symlinks=False)
    finally:
        os.close(folder_fd)


def _stat_identity(file_stat: os.stat_result) -> tuple[int, ...]:
    return file_stat.st_dev, file_stat.st_ino, file_stat.st_size, file_stat.st_mtime_ns


def _is_showable_name(name: str) -> bool:
    """Return whether a name is shown unchanged, so that no two names look alike."""
    return not name.startswith((".", "_")) and printable_text(name, MAX_NAME_CHARS) == name


def _is_table(path: Path) -> bool:
    return path.is_dir() or table_ending(path.name) in TABLE_ENDINGS and path.is_file()


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root.resolve(strict=True))
    except (OSError, RuntimeError, ValueError):
        return False
