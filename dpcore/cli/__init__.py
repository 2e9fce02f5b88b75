"""The command line: one file a command, `main` only dispatches."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..errors import InputError, OverspendError
from . import algorithms, audit, evolve, learn, ledger, release, run, schema, score, sweep

COMMANDS = {
    "algorithms": algorithms,
    "schema": schema,
    "run": run,
    "learn": learn,
    "sweep": sweep,
    "score": score,
    "release": release,
    "ledger": ledger,
    "audit": audit,
    "evolve": evolve,
}


class _Parser(argparse.ArgumentParser):
    """argparse that says one clear line instead of a usage block."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see: {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Exit code 0, or what the command returns; 2 for bad input and 3 when the ledger's budget does
    not allow it (one line on stderr), 130 when interrupted.
    """
    parser = _Parser(prog="python -m dpcore", description="What does privacy cost on my table?")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=summary, description=summary))
    try:
        chosen = parser.parse_args(arguments)
        return COMMANDS[chosen.command].execute(chosen) or 0
    except InputError as error:
        print("error: " + " ".join(str(error).split()), file=sys.stderr)
        return 3 if isinstance(error, OverspendError) else 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
