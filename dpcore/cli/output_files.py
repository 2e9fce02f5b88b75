"""What commands write: files that are whole or not there, and progress on stderr."""

import io
import json
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

from .. import Budget, InputError
from ..core.errors import one_line, written_out
from ..core.types import Json
from ..privacy.accounting import cautions
from ..release.ledger.chain import is_new
from ..release.ledger.drafts import tidied
from .arguments import unit_of


def check_writable(*paths: str | None) -> None:
    """Raise InputError for outputs that cannot be written, before hours of work; None is no output."""
    for path in paths:
        if path is not None and not _writable(path):
            raise InputError(f"{path[:200]}: cannot be written")


def _writable(path: str) -> bool:
    target = Path(path)
    try:
        exists, folder = target.exists(), target.resolve().parent
        may_write = not target.is_dir() and (not exists or os.access(target, os.W_OK))
        return may_write and (os.access(folder, os.W_OK) or (exists and not target.is_file()))
    except (OSError, RuntimeError, ValueError):  # such as a name too long, a circle of links, or no text
        return False


def tell(kind: str, message: object) -> None:
    """Print one line to stderr: `error`, `warning` or `note`, and a message, shortened."""
    print(f"{kind}: {one_line(message)}", file=sys.stderr)


class Plain(io.TextIOBase):
    """A stream that cannot control a terminal: control characters except line ends are escaped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        self._stream.write("\n".join(map(written_out, text.split("\n"))))
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind it."""
        self._stream.flush()


def write(path: str, text: str) -> None:
    """Write a file whole or not at all: beside it first, then in its place. InputError when the disk fails."""
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe, which must stay what it is
            _write_into(target, text)
            return
        target = target.resolve()
        part_file = target.with_name(f".{os.getpid()}.part")
        try:
            part_file.write_text(text, encoding="utf-8")
            os.replace(part_file, target)
        finally:
            part_file.unlink(missing_ok=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no name of a file, or no text"
        raise InputError(f"{path[:200]}: cannot be written: {reason}") from None


def write_json(path: str | None, content: Any) -> None:
    """Write a JSON file where one is asked for."""
    if path:
        write(path, json.dumps(content, indent=1) + "\n")


def warn(budgets: Iterable[Budget], n: int) -> None:
    """Print once the warnings about the promises of budgets on n records."""
    for caution_text in dict.fromkeys(text for budget in budgets for text in cautions(budget, n)):
        tell("warning", caution_text)


def _write_into(target: Path, text: str) -> None:
    """Write into a device or a pipe; one without a reader is an OSError and not an endless wait."""
    descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


class Progress:
    """A progress line on stderr: rewritten in place on a terminal, else a new one every two seconds."""

    def __init__(self) -> None:
        self._started = self._spoken = time.monotonic()
        self._live = sys.stderr.isatty()

    @property
    def elapsed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._started

    def say(self, line: Callable[[float], str]) -> None:
        """Show `line(seconds since the start)`, if the last one is old enough."""
        now = time.monotonic()
        if now - self._spoken >= (0.1 if self._live else 2.0):
            text = line(now - self._started)
            padded_text = f"\r{text:<78}" if self._live else text
            print(padded_text, end="" if self._live else "\n", file=sys.stderr, flush=True)
            self._spoken = now

    def clear(self) -> None:
        """Clear the line."""
        if self._live:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)


def of_ledger(chosen: Namespace) -> Json:
    """The fields of a `BudgetRequest` that say whose budget is used; InputError for a ledger that cannot serve it."""
    if (chosen.total_epsilon is None) != (chosen.total_delta is None):
        raise InputError("--total-epsilon and --total-delta go together")
    total = None if chosen.total_epsilon is None else Budget(chosen.total_epsilon, chosen.total_delta)
    check_writable(chosen.ledger)
    if not is_new(Path(chosen.ledger)):
        for message in tidied(Path(chosen.ledger)):
            tell("note", message)
    elif total is None:
        raise InputError(f"{chosen.ledger}: a new ledger; its data set needs --total-epsilon and --total-delta")
    name = Path(chosen.table).stem if chosen.dataset is None else chosen.dataset
    return {"dataset": name, "new_version": chosen.new_version, "total": total, "unit": unit_of(chosen)}
