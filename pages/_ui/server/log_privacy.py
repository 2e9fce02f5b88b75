"""Server log without data: kinds of errors and places in the code, never their messages.

A message may quote raw text.
"""

import logging
import sys
import threading
import traceback
import warnings
from typing import Any

from streamlit import config

# Streamlit's own print of an error, where rich is installed: past all loggers, with words
RICH_LOGGING_OPTION = "logger.enableRich"
_default_record_factory = logging.getLogRecordFactory()


def hide_error_messages() -> None:
    """Remove error messages from everything this process logs, warns of or dies of.

    It holds from now on.
    """
    logging.setLogRecordFactory(_record_without_message)
    config.set_option(RICH_LOGGING_OPTION, False)
    warnings.showwarning = _write_warning_place
    sys.excepthook = lambda _kind, error, _trace: _write_to_stderr(describe_without_message(error))
    threading.excepthook = lambda args: _write_to_stderr(describe_without_message(args.exc_value))
    sys.unraisablehook = lambda args: _write_to_stderr(describe_without_message(args.exc_value))


def describe_without_message(error: BaseException | None) -> str:
    """Return an error and its causes as text: the kind and code places, not the message."""
    lines = []
    visited_ids = set()
    while error is not None and id(error) not in visited_ids:
        visited_ids.add(id(error))
        lines.append(f"{type(error).__name__} (its words are left out: they may quote a table)")
        lines += [
            f"  {code_frame.filename}:{code_frame.lineno} in {code_frame.name}"
            for code_frame in traceback.extract_tb(error.__traceback__)
        ]
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


def _record_without_message(*args: Any, **kwargs: Any) -> logging.LogRecord:
    record = _default_record_factory(*args, **kwargs)
    if record.exc_info:
        record.exc_text = describe_without_message(record.exc_info[1])
        record.exc_info = None
    if isinstance(record.args, tuple):
        record.args = tuple(
            describe_without_message(arg) if isinstance(arg, BaseException) else arg
            for arg in record.args
        )
    if isinstance(record.msg, BaseException):
        record.msg = describe_without_message(record.msg).replace("%", "%%")
    return record


def _write_warning_place(
    _message: Any, category: type[Warning], filename: str, lineno: int, *_others: Any
) -> None:
    _write_to_stderr(f"{category.__name__} at {filename}:{lineno}")


def _write_to_stderr(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
