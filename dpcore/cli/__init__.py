"""The command line: one file a command, `main` only dispatches. Imports all of dpcore; dpcore imports nothing of it."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..errors import InputError
from . import algorithms, run, schema, score, sweep

COMMANDS = {"algorithms": algorithms, "schema": schema, "run": run, "sweep": sweep, "score": score}


class _Parser(argparse.ArgumentParser):
    """argparse that says one clear line instead of a usage block."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see: {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit code 0, 2 for bad input (one line on stderr), 130 when interrupted."""
    parser = _Parser(prog="python -m dpcore", description="What does privacy cost on my table?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=summary, description=summary))
    try:
        chosen = parser.parse_args(arguments)
        COMMANDS[chosen.command].execute(chosen)
    except InputError as error:
        print("error: " + " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0
