"""Copy and verify a release that somebody brings: a folder or a ZIP file from anywhere.

Nothing in it is believed before it is verified. What is judged and used is a copy, which nobody
changes in between. The copy holds no more than a release can: known names, regular files, bounded
sizes. `verify.py` judges it in a process of its own that is ended when it takes too long: a text
that was made for it can keep a reader busy for hours.
"""

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from ..core.errors import InputError
from ..core.types import frozen
from ..data.input_files import check_zip_directory, reader_errors_as_input_error
from .evidence.recount import WrongError
from .evidence.release_folder import (
    DATA_FILES,
    DOCUMENT_FILES,
    MAX_FOLDER_FILES,
    SIGNED,
    ReleaseFolder,
    open_regular_file,
)
from .evidence.standalone_verifier import VERIFIER_SOURCE

RELEASE_FILES = DATA_FILES | DOCUMENT_FILES | {SIGNED}
MAX_RELEASE_BYTES = 1 << 27  # of all files together, unpacked
MAX_DOCUMENT_BYTES = 1 << 24  # of a document
MAX_TABLE_BYTES = 1 << 28  # of the arrays of noisy tables, unpacked
MAX_VERIFICATION_SECONDS = 120
CHUNK_BYTES = 1 << 20
# What systems add to a folder or an archive by themselves.
SYSTEM_FOLDERS = {"__MACOSX"}
SYSTEM_FILES = {".DS_Store", "Thumbs.db", "desktop.ini"}
READABLE_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
ENCRYPTED_FLAG = 0x1
# Without which programs or libraries are not found; a key of this server's owner is no such one.
SYSTEM_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMPDIR")
KEY_PATTERN = re.compile(r"[0-9a-fA-F]{64}")
RESULT_MARKS = {"ok  ": True, "FAIL": False}

CopyFiles = Callable[[Path], None]  # copies a release's files into a folder


@frozen
class Check:
    """One check of the verifier: whether it holds, its name, and what was found."""

    holds: bool
    name: str
    finding: str


@frozen
class ReceivedRelease:
    """A release that was brought: the verifier's checks, and its files where all of them hold.

    `key` is the public key that signed it; "" where it is not sound.
    """

    checks: tuple[Check, ...]
    files: dict[str, bytes]
    key: str

    @property
    def is_sound(self) -> bool:
        """Whether every check holds."""
        return bool(self.files)


def receive_release(copy_files: CopyFiles, key: str = "") -> ReceivedRelease:
    """Return a release that was copied and verified; its files only where all checks hold.

    Args:
        copy_files: Copies its files into a folder; raises InputError for what is no release.
        key: The public key of the ledger's owner, from elsewhere; "" where it is not known.

    """
    with tempfile.TemporaryDirectory(prefix="release-") as workspace:
        folder = Path(workspace) / "release"
        folder.mkdir(mode=0o700)
        copy_files(folder)
        _check_table_size(folder / "tables.npz")
        checks = _run_verifier(Path(workspace), folder, key)
        if not checks or not all(check.holds for check in checks):
            return ReceivedRelease(checks, {}, "")
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        return ReceivedRelease(checks, files, ReleaseFolder(folder).signature["key"])


def copy_folder(source: Path, folder: Path) -> None:
    """Copy a release's folder into another one.

    Raises InputError for a folder that holds other things, or more than a release may.
    """
    try:
        names = sorted(os.listdir(source))
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}") from None
    names = [name for name in names if name not in SYSTEM_FILES]
    _check_names(names)
    total = 0
    for name in names:
        try:
            with open_regular_file(source / name) as file:
                if file is None:
                    raise InputError(f"{name}: a link, a folder or a device in place of a file")
                total += _copy_file(file, folder / name, MAX_RELEASE_BYTES - total)
        except WrongError as error:
            raise InputError(str(error)) from None


def unpack_release(archive: BinaryIO, folder: Path) -> None:
    """Unpack the files of a release from a ZIP file into a folder, never beside it.

    Its files lie at its top or in one folder. Raises InputError for a file that is no such ZIP, or
    that unpacks into more than a release may hold.
    """
    with _open_archive(archive, "the file") as zip_file:
        parts = [part for part in zip_file.infolist() if not _is_system_part(part)]
        names = [PurePosixPath(part.filename).name for part in parts]
        folders = {PurePosixPath(part.filename).parent for part in parts}
        if len(folders) > 1:
            raise InputError("its files lie in several folders; pack one release alone")
        _check_names(names)
        total = 0
        for part, name in zip(parts, names, strict=True):
            if part.flag_bits & ENCRYPTED_FLAG:
                raise InputError(f"{name}: is locked by a password; pack it without one")
            if part.compress_type not in READABLE_METHODS:
                raise InputError(f"{name}: is packed in a way that is not read; pack a plain ZIP")
            with zip_file.open(part) as file:
                total += _copy_file(file, folder / name, MAX_RELEASE_BYTES - total)


@contextmanager
def _open_archive(archive: BinaryIO, label: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive, in whose list of parts no more are than are read; `label` is its name."""
    with reader_errors_as_input_error(label, "ZIP"):
        check_zip_directory(archive)
        with zipfile.ZipFile(archive) as zip_file:
            yield zip_file


def _is_system_part(part: zipfile.ZipInfo) -> bool:
    """Return whether a part of an archive is a folder, or was added by a system by itself."""
    path = PurePosixPath(part.filename)
    is_added = path.name in SYSTEM_FILES or bool(SYSTEM_FOLDERS & set(path.parts))
    return part.is_dir() or is_added


def _check_names(names: list[str]) -> None:
    """Raise InputError for names of which a release has none, or for a name twice."""
    if len(names) > MAX_FOLDER_FILES:
        raise InputError(f"holds {len(names):,} files, which no release does")
    unknown = sorted(set(names) - RELEASE_FILES)
    if unknown or not names:
        listed = ", ".join(repr(name[:40]) for name in unknown[:3]) or "nothing"
        raise InputError(
            f"holds {listed}, which is no file of a release; bring the files of one release, all "
            "of them and nothing else"
        )
    if len(set(names)) < len(names):
        raise InputError("holds a file twice; pack the release again")


def _copy_file(file: IO[bytes], target: Path, max_bytes: int) -> int:
    """Copy an open file and return its size; InputError where it is larger than is left."""
    is_document = target.name in DOCUMENT_FILES or target.name == SIGNED
    allowed = min(max_bytes, MAX_DOCUMENT_BYTES) if is_document else max_bytes
    size = 0
    with target.open("xb") as copy:
        for chunk in iter(partial(file.read, CHUNK_BYTES), b""):
            size += len(chunk)
            if size > allowed:
                raise InputError(
                    f"{target.name}: too large; at most {MAX_DOCUMENT_BYTES >> 20} MB of a "
                    f"document and {MAX_RELEASE_BYTES >> 20} MB of a whole release are read"
                )
            copy.write(chunk)
    return size


def _check_table_size(path: Path) -> None:
    """Raise InputError for noisy tables that unpack into more than is read; a missing file is not.

    The verifier says what is missing or damaged.
    """
    if not path.exists():
        return
    with path.open("rb") as file, _open_archive(file, path.name) as tables:
        size = sum(part.file_size for part in tables.infolist())
        if size > MAX_TABLE_BYTES:
            raise InputError(f"unpacks into {size:,} bytes, at most {MAX_TABLE_BYTES:,} are read")


def _run_verifier(workspace: Path, folder: Path, key: str) -> tuple[Check, ...]:
    """Return what `verify.py` finds of a folder; InputError where it comes to no end."""
    if key and not KEY_PATTERN.fullmatch(key):
        raise InputError("the public key is not 64 of the characters 0 to 9 and a to f")
    program = workspace / "verify.py"
    program.write_text(VERIFIER_SOURCE, encoding="utf-8")
    command = [sys.executable, "-P", str(program), str(folder)]
    command += [f"--key={key}"] if key else []
    libraries = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    environment = {name: os.environ[name] for name in SYSTEM_VARIABLES if name in os.environ}
    environment |= {"PYTHONPATH": libraries, "PYTHONIOENCODING": "utf-8"}
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            env=environment,
            cwd=workspace,
            timeout=MAX_VERIFICATION_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"the check came to no end within {MAX_VERIFICATION_SECONDS} seconds; run its "
            "verify.py yourself"
        ) from None
    checks = tuple(_parse_checks(ended.stdout.decode("utf-8", "replace")))
    is_verdict_clear = (ended.returncode == 0) == all(check.holds for check in checks)
    if not checks or not is_verdict_clear:
        raise InputError("the check could not be run; run its verify.py yourself")
    return checks


def _parse_checks(output: str) -> Iterator[Check]:
    """Yield the checks that the verifier printed, one a line."""
    for line in output.split("\n"):
        mark = line[:4]
        if mark in RESULT_MARKS:
            name, _, finding = line[5:].partition(": ")
            yield Check(RESULT_MARKS[mark], name, finding)
