"""Errors that a person can act on, and the single line that states them.

A message may quote what a person brought: it is for the eyes of whoever brought it. A log is not:
what is logged names the kind of an error and its place in the program, never its words.
"""

import json
import re
import traceback
from pathlib import Path

# characters shown of one value, and of one message
MAX_QUOTED_CHARS = 200
MAX_MESSAGE_CHARS = 1000
LONG_VALUE_PATTERN = re.compile(
    rf"""(?<!\w)(['"])(?P<quoted>.{{{MAX_QUOTED_CHARS},}}?)\1(?!\w)"""
    rf"""|(?P<bare>\S{{{MAX_QUOTED_CHARS + 1},}})"""
)


class InputError(ValueError):
    """The error for wrong user input; it names the thing, its value and the limit.

    Input is what a person typed, chose or uploaded.

    >>> Budget(epsilon=-1, delta=0)
    Traceback (most recent call last):
        ...
    dpcore.core.errors.InputError: epsilon=-1 is not served; served are ...
    """


class BudgetError(InputError):
    """The error for a charge that the budget or the plan does not allow; nothing was touched.

    >>> issubclass(BudgetError, InputError)
    True
    """


class OverspendError(BudgetError):
    """The error for a release that a data set's total budget does not allow.

    Nothing was touched or charged.
    """


class PrivacyWarning(UserWarning):
    """The warning about an allowed setting that promises less than a reader may think."""


def require_two_rows(n: int, table_name: str = "the table") -> None:
    """Raise InputError for a table of fewer than two rows.

    Its shares would say nothing or everything.
    """
    if n < 2:
        count_text = "1 row" if n else "no rows"
        raise InputError(f"{table_name} has {count_text}; at least 2 are needed")


def user_message(error: Exception) -> str:
    """Return the message for a person about an error that ended some work.

    For a bug the message is the kind of error only: its text may be data.
    """
    if isinstance(error, FileNotFoundError):
        return "the table is no longer here"
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory for this domain; choose fewer columns or coarser bins"
    return f"unexpected {type(error).__name__}; please report it"


def escape_control_chars(text: object) -> str:
    """Return the text with characters that could control a terminal escaped.

    These are control characters, line ends and marks of direction.
    """
    characters = (
        c if c.isprintable() else json.dumps(c)[1:-1].replace("\x7f", r"\u007f") for c in str(text)
    )
    return "".join(characters)


def shorten(text: str, max_chars: int = 60) -> str:
    """Return the text, cut to `max_chars` characters."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def format_one_line(message: object) -> str:
    """Return the message as one printable line, shortened, with control characters escaped."""
    text = str(message)
    if len(text) > 4 * MAX_MESSAGE_CHARS:
        text = text[: 3 * MAX_MESSAGE_CHARS] + "…" + text[-MAX_MESSAGE_CHARS:]
    text = re.sub(r"[ \t\r\n]+", " ", text).strip()
    text = escape_control_chars(text)
    text = LONG_VALUE_PATTERN.sub(_shorten_match, text)
    return (
        text
        if len(text) <= MAX_MESSAGE_CHARS
        else f"{text[: MAX_MESSAGE_CHARS - 300]} … {text[-297:]}"
    )


def _shorten_match(match: re.Match) -> str:
    if match["bare"]:
        return match["bare"][: MAX_QUOTED_CHARS - 1] + "…"
    return match[1] + match["quoted"][: MAX_QUOTED_CHARS - 1] + "…" + match[1]


def describe_error_location(error: BaseException) -> str:
    """Return the kind of an error and its position in the program, for a log.

    Neither contains data.
    """
    frames = traceback.extract_tb(error.__traceback__)
    package_folder = Path(__file__).parents[1]
    package_frames = [
        frame for frame in frames if package_folder in Path(frame.filename).parents
    ] or frames
    location = (
        f" in {Path(package_frames[-1].filename).name}, line {package_frames[-1].lineno}"
        if package_frames
        else ""
    )
    return f"{type(error).__name__}{location}"
