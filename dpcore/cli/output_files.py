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

from .. import Budget, InputError, PrivacyUnit
from ..algorithms.schema_measurement.hidden_rows import NEARLY_ALL_HIDDEN_ADVICE, HiddenRows
from ..core.errors import escape_control_chars, format_one_line
from ..core.numbers import format_short_number
from ..core.types import Json
from ..privacy.accounting import budget_warnings
from ..release.ledger.chain import is_new_ledger
from ..release.ledger.drafts import tidy_stopped_releases


def check_writable(*paths: str | None) -> None:
    """Raise InputError for outputs that cannot be written, before hours of work.

    None is no output.
    """
    for path in paths:
        if path is not None and not _is_writable(path):
            raise InputError(f"{path[:200]}: cannot be written")


def _is_writable(path: str) -> bool:
    target = Path(path)
    try:
        exists = target.exists()
        folder = target.resolve().parent
        may_write = not target.is_dir() and (not exists or os.access(target, os.W_OK))
        return may_write and (os.access(folder, os.W_OK) or (exists and not target.is_file()))
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # such as a name too long, a circle of links, or no text
        return False


def print_message(kind: str, message: object) -> None:
    """Print one line to stderr: `error`, `warning` or `note`, and a message, shortened."""
    print(f"{kind}: {format_one_line(message)}", file=sys.stderr)


class EscapingStream(io.TextIOBase):
    """A stream that cannot control a terminal: control characters except line ends are escaped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        self._stream.write("\n".join(map(escape_control_chars, text.split("\n"))))
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind it."""
        self._stream.flush()


def write_file(path: str, text: str) -> None:
    """Write a file whole or not at all: beside it first, then in its place.

    InputError when the disk fails.
    """
    target = Path(path)
    try:
        # a device or a pipe, which must stay what it is
        if target.exists() and not target.is_file():
            _write_to_device(target, text)
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
        write_file(path, json.dumps(content, indent=1) + "\n")


def print_budget_warnings(budgets: Iterable[Budget], n: int) -> None:
    """Print once the warnings about the promises of budgets on n records."""
    for caution_text in dict.fromkeys(
        text for budget in budgets for text in budget_warnings(budget, n)
    ):
        print_message("warning", caution_text)


def print_hidden_rows(hidden_rows: HiddenRows) -> None:
    """Print what measuring columns will hide, before it is measured."""
    text = f"measured with protection, {hidden_rows.text}"
    if hidden_rows.hides_nearly_all:
        print_message("warning", f"{text}. {NEARLY_ALL_HIDDEN_ADVICE}")
    else:
        print_message("note", text)


def _write_to_device(target: Path, text: str) -> None:
    """Write into a device or a pipe; one without a reader is an OSError and not an endless wait."""
    descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


class ProgressLine:
    """A progress line on stderr: rewritten in place on a terminal, else new every two seconds."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._spoken = self._started
        self._live = sys.stderr.isatty()

    @property
    def elapsed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._started

    def show(self, line: Callable[[float], str]) -> None:
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


def ledger_request_fields(args: Namespace, unit: PrivacyUnit) -> Json:
    """Return the fields of a `BudgetRequest` that say whose budget is used, to protect a unit.

    InputError for a ledger that cannot serve it.
    """
    if (args.total_epsilon is None) != (args.total_delta is None):
        raise InputError("--total-epsilon and --total-delta go together")
    total = None if args.total_epsilon is None else Budget(args.total_epsilon, args.total_delta)
    check_writable(args.ledger)
    if not is_new_ledger(Path(args.ledger)):
        for message in tidy_stopped_releases(Path(args.ledger)):
            print_message("note", message)
    elif total is None:
        raise InputError(
            f"{args.ledger}: a new ledger; its data set needs --total-epsilon and --total-delta"
        )
    name = Path(args.table).stem if args.dataset is None else args.dataset
    return {
        "dataset": name,
        "new_version": args.new_version,
        "total": total,
        "unit": unit,
    }


def print_promise(number: int, facts: Json, budget: Budget, folder_name: str) -> None:
    """Print what a release promises and has used, from the facts in its release.json.

    `number` is its number among those of its data set.
    """
    dataset = facts["dataset"]
    folder = escape_control_chars(folder_name)
    print(f"release {number} of {dataset['name']!r}, version {dataset['version']}: {folder}")
    print(
        f"promise: epsilon={budget.epsilon:g} delta={format_short_number(budget.delta)} "
        f"({facts['promise']['accounting']})"
    )
    spent = dataset["spent"]
    total = dataset["total"]
    print(
        f"all releases: epsilon={spent['epsilon']:.6g} of {total['epsilon']:g} at "
        f"delta={format_short_number(total['delta'])}"
    )
    print(f"noise: {facts['made_by']['noise']}")
