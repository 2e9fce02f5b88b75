"""The command line: one file a command, `main` only dispatches."""

import argparse
import contextlib
import errno
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..core.errors import InputError, OverspendError, describe_error_location, user_message
from .commands import (
    algorithms,
    ask,
    audit,
    evolve,
    learn,
    learn_release,
    ledger,
    purposes,
    reconstruct,
    release,
    run,
    schema,
    score,
    sweep,
)
from .output_files import EscapingStream, print_message

COMMANDS = {
    "algorithms": algorithms,
    "schema": schema,
    "run": run,
    "learn": learn,
    "sweep": sweep,
    "purposes": purposes,
    "reconstruct": reconstruct,
    "score": score,
    "release": release,
    "learn-release": learn_release,
    "ask": ask,
    "ledger": ledger,
    "audit": audit,
    "evolve": evolve,
}

# errors of an output, not of this program
OUTPUT_ERRNOS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EBADF,
}


class _Parser(argparse.ArgumentParser):
    """A parser of arguments that prints one clear line instead of a usage block."""

    def error(self, message: str) -> NoReturn:
        # of a number: --epsilon='x' is not …
        message = re.sub(r"^argument (--[\w-]+): (?==)", r"\1", message)
        raise InputError(f"{message} (see: {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands from their modules.

    The docstring of a command's file is its help, with two examples. ARGUMENTS of that file are its
    arguments, and only one of EITHER may be given, where there are such.
    """
    root_parser = _Parser(
        prog="python -m dpcore", description="What does privacy cost on my table?"
    )
    commands = root_parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    help_formatter = argparse.RawDescriptionHelpFormatter
    for name, module in COMMANDS.items():
        summary_lines, _, examples = (module.__doc__ or "").partition("\n\n")
        summary = " ".join(summary_lines.split("\n"))
        command = commands.add_parser(
            name, help=summary, description=summary, epilog=examples, formatter_class=help_formatter
        )
        exclusive_arguments = getattr(module, "EITHER", ())
        if exclusive_arguments:
            group = command.add_mutually_exclusive_group()
            for argument, options in exclusive_arguments:
                group.add_argument(argument, **options)
        for argument, options in module.ARGUMENTS:
            command.add_argument(argument, **options)
    return root_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0, or what the command returns; 2 for bad input and 3 when the ledger's budget does not allow
    it, 70 for an error of this program, each with one line on stderr, 130 when interrupted, 1 when
    the output cannot be written, and 141 when its reader has left.
    """
    if sys.stdout is None:  # closed by whoever started the program, and so nobody reads it
        sys.stdout = io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a name may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        args = build_parser().parse_args(
            _require_text_arguments(sys.argv[1:] if arguments is None else arguments)
        )
        with contextlib.redirect_stdout(EscapingStream(sys.stdout)):
            exit_code = COMMANDS[args.command].execute(args) or 0
        sys.stdout.flush()
        return exit_code
    except InputError as error:
        print_message("error", error)
        return 3 if isinstance(error, OverspendError) else 2
    except MemoryError as error:
        print_message("error", user_message(error))
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        _close_output()
        return 141
    except KeyboardInterrupt as error:
        print(f"interrupted: {error}" if str(error) else "interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        return _report_error(error)


def _report_error(error: Exception) -> int:
    """Print one line on an error that is not the user's; return the exit code."""
    # raised on purpose, where rounding would break what is promised
    if type(error) is ArithmeticError:
        message = (
            "these numbers are too extreme to be computed as precisely as promised; "
            "nothing was released"
        )
        print_message("error", "; ".join([message, *_added_notes(error)]))
        return 2
    if isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT_ERRNOS:
        _close_output()
        print_message(
            "error",
            f"the output cannot be written: {error.strerror}; what the command did before "
            "stays done",
        )
        return 1
    # the error's text may be data
    message = f"unexpected {describe_error_location(error)}; please report it"
    print_message("error", "; ".join([message, *_added_notes(error)]))
    return 70


def _added_notes(error: BaseException) -> list[str]:
    """Return what this program added to an error, such as that a budget stays used."""
    return getattr(error, "__notes__", [])


def _require_text_arguments(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments, checked to be text.

    A name of other bytes could be neither shown nor stored.
    """
    for number, argument in enumerate(arguments, 1):
        if "\0" in argument or any("\ud800" <= c <= "\udfff" for c in argument):
            raise InputError(f"argument {number} is not UTF-8 text: {argument!r}")
    return arguments


def _close_output() -> None:
    """Redirect the output at exit, where writing would fail again."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
