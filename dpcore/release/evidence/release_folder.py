"""Read the files of a release's folder, as whoever judges them reads them.

`verify.py` holds a copy of this. Nothing here follows a link, waits on a pipe, or reads a byte
twice without a look at its hash.
"""

import csv
import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from .json_claims import ACCOUNT_CHECK, RELEASE_CHECK, SIGNATURE_CHECK, strict_json
from .recount import WrongError, require

SIGNED = "signature.json"
NO_FILE = "no file"  # in place of the hash of a link, a pipe, a device or a folder
# All names that a release may hold. A new file is added here: what stands in neither list is
# refused.
DATA_FILES = {
    "answers.csv",
    "links.csv",
    "measurements.csv",
    "schema.json",
    "synthetic.csv",
    "synthetic.parquet",
    "tables.npz",
    "weights.csv",
    "weights.parquet",
}
DOCUMENT_FILES = {
    "account.json",
    "board.html",
    "card.html",
    "label.svg",
    "proof.html",
    "registry.yaml",
    "release.json",
    "review.html",
    "verify.py",
}
LATER_FILES = {"board.html", "label.svg"}  # which the first releases lack
REQUIRED_FILES = (DOCUMENT_FILES - LATER_FILES) | {"answers.csv", "tables.npz"}
# of a file that is read as text, and of any
MAX_TEXT_BYTES = 1 << 26
MAX_FILE_BYTES = 1 << 34
MAX_FOLDER_FILES = 1000  # of a folder that is looked at


def statement(files: dict, key: str) -> bytes:
    """Return the bytes that a ledger's owner signs: every file's SHA-256, and the public key."""
    return json.dumps({"files": files, "format": 1, "key": key}, sort_keys=True).encode()


def hashes(folder: Path) -> dict:
    """Return the SHA-256 of every file of a release except the signature."""
    names = sorted(name for name in os.listdir(folder) if name != SIGNED)
    require(
        len(names) <= MAX_FOLDER_FILES,
        f"{len(names)} files are there, more than the {MAX_FOLDER_FILES} that a release may have",
    )
    return {name: digest(folder / name) for name in names}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; "no file" for a link, a pipe, a device or a folder."""
    with open_regular_file(path) as file:
        return NO_FILE if file is None else hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


@contextmanager
def open_regular_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Iterator[BinaryIO | None]:
    """Open a regular file to read it; None for anything else, such as a link.

    Raises WrongError for a file longer than `max_bytes` bytes, or one that cannot be opened.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            yield None
            return
        flags = (
            getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        handle = os.open(path, os.O_RDONLY | flags)
    except OSError as error:
        raise WrongError(f"{path.name}: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if status.st_size > max_bytes:
            raise WrongError(f"{path.name}: larger than {max_bytes >> 20} MB")
        yield file if stat.S_ISREG(status.st_mode) else None


class ReleaseFolder:
    """A release's folder: file hashes, taken once, and JSON files with only allowed fields.

    What is read later is refused where it is not what was hashed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hashes = hashes(path)
        self.signature_hash = digest(path / SIGNED)

    @cached_property
    def signature(self) -> dict:
        """What signature.json says."""
        return self._json(SIGNED, SIGNATURE_CHECK)

    @cached_property
    def facts(self) -> dict:
        """What release.json says."""
        return self._json("release.json", RELEASE_CHECK)

    @cached_property
    def account(self) -> dict:
        """What account.json says."""
        return self._json("account.json", ACCOUNT_CHECK)

    def hash_of(self, name: str) -> str | None:
        """Return a file's hash as it was when the folder was read; None where there was none."""
        return self.signature_hash if name == SIGNED else self.hashes.get(name)

    def read(self, name: str) -> bytes:
        """Return a whole file's content; WrongError for a link or a file changed in between."""
        with open_regular_file(self.path / name, MAX_TEXT_BYTES) as file:
            if file is None:
                raise WrongError(f"{name}: no regular file")
            content = file.read(MAX_TEXT_BYTES + 1)
        require(
            hashlib.sha256(content).hexdigest() == self.hash_of(name),
            f"{name}: changed while it was read",
        )
        return content

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a text file of any length; read as `read` does."""
        hasher = hashlib.sha256()
        with open_regular_file(self.path / name) as file:
            if file is None:
                raise WrongError(f"{name}: no regular file")
            while line := file.readline(MAX_TEXT_BYTES):
                hasher.update(line)
                yield line.decode("utf-8")
        require(hasher.hexdigest() == self.hash_of(name), f"{name}: changed while it was read")

    def _json(self, name: str, check: Callable[[Any, str], None]) -> dict:
        content = strict_json(self.read(name), name)
        check(content, name)
        return content


class AnswersSummary:
    """The answers in answers.csv, their standard errors and their shares.

    What verify.py reads of answers.csv.
    """

    def __init__(self, folder: ReleaseFolder) -> None:
        self.values: list[float] = []
        self.errors: list[float] = []
        self.half_widths: list[float] = []  # of intervals that end within 0 and 1
        rows = csv.reader(folder.lines("answers.csv"), strict=True)
        header = next(rows, [])
        require(
            header[:2] == ["query", "answer"] and len(set(header)) == len(header),
            "answers.csv has other columns",
        )
        allowed_columns = {
            "noisy_answer",
            "standard_error",
            "low",
            "high",
            "population_low",
            "population_high",
        }
        require(
            set(header[2:]) <= allowed_columns,
            "answers.csv has columns that this file does not know",
        )
        for row in rows:
            require(
                len(row) == len(header), f"answers.csv: line {rows.line_num} has {len(row)} values"
            )
            self._add(dict(zip(header, row, strict=True)))
        require(all(map(math.isfinite, self.errors)), "answers.csv: a standard error is no number")

    @property
    def count(self) -> int:
        """The number of answers."""
        return len(self.values)

    def _add(self, row: dict) -> None:
        self.values.append(_parse_finite(row["answer"]))
        if row.get("standard_error"):
            self.errors.append(_parse_finite(row["standard_error"]))
        if row.get("low") and row.get("high"):
            low = _parse_finite(row["low"])
            high = _parse_finite(row["high"])
            require(0 <= low <= high <= 1, f"answers.csv: an interval from {low:g} to {high:g}")
            if low > 0 and high < 1:
                self.half_widths.append((high - low) / 2)


def _parse_finite(number_text: str) -> float:
    value = float(number_text)
    require(
        math.isfinite(value) and len(number_text) < 100,
        f"answers.csv: {number_text[:40]} is no number",
    )
    return value
