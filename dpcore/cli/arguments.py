"""Numbers, budgets and what they share on the command line: each is read in one place, and says its range."""

import argparse
from collections.abc import Callable, Sequence

from ..algorithms import solving
from ..data.privacy_unit import PrivacyUnit
from ..errors import InputError
from ..numbers import MAX_ROWS, read_number
from ..privacy.accounting.budget import LARGEST, LARGEST_DELTA, SMALLEST, SMALLEST_DELTA, Budget

EPSILON = f"privacy budget ε, {SMALLEST:g}..{LARGEST:g}"
DELTA = f"privacy budget δ, 0 or {SMALLEST_DELTA:g}..{LARGEST_DELTA:g}"
MOST_REPEATS, MOST_SEED = 100_000, 2**63 - 1


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """A function for argparse that reads a whole number in low..high."""
    return lambda text: real(text, int, low, high)


def real(text: str, kind: type = float, *limits: float):  # noqa: ANN201 - of that kind
    """The finite number in an argument's text, for argparse, which says the argument's name; its user checks it."""
    try:
        return read_number(text, "", kind, *limits)
    except InputError as error:  # argparse would put a message of its own in place of a ValueError's
        raise argparse.ArgumentTypeError(str(error)) from None


def reals(name: str, text: str) -> Sequence[float]:
    """The finite numbers in a text, separated by commas."""
    return [read_number(part, name, float) for part in text.split(",")]


def add_budget(parser: argparse.ArgumentParser, *, epsilon: float | None = None, delta: float | None = None) -> None:
    """Declare ε and δ, each with its default or required."""
    for name, words, default in (("epsilon", EPSILON, epsilon), ("delta", DELTA, delta)):
        told = words if default is None else f"{words} (default: %(default)s)"
        parser.add_argument(f"--{name}", required=default is None, default=default, type=real, help=told)


def add_algorithm(parser: argparse.ArgumentParser, problem: type, default: str | None = None) -> None:
    """Declare the algorithm for a kind of problem, with its default or as required, and its parameters."""
    told = f"one of {', '.join(solving(problem))}"
    parser.add_argument("--algorithm", required=default is None, default=default, metavar="NAME", help=told)
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser, name: str = "NAME", of: str = "the algorithm") -> None:
    """Declare the parameters of an algorithm."""
    words = f"a parameter of {of}"
    parser.add_argument("--set", action="append", default=[], metavar=f"{name}=VALUE", help=words)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare the seeds of several runs, and the file they are written to."""
    add_seed(parser)
    add_repeat(parser)
    parser.add_argument("--json", metavar="out.json", help="write the run, or with --repeat a list of runs")


def add_grid(parser: argparse.ArgumentParser, repeat: int) -> None:
    """Declare several ε at one δ with several seeds, and the output files, which are kept up to date."""
    words = f"{EPSILON}, several (default: %(default)s)"
    parser.add_argument("--epsilons", metavar="E,E", default="0.1,0.3,1,3", help=words)
    parser.add_argument("--delta", type=real, default=1e-9, help=f"{DELTA} (default: %(default)s)")
    add_seed(parser)
    add_repeat(parser, repeat)
    words = "write all that was found; kept up to date, also when interrupted"
    parser.add_argument("--json", metavar="out.json", help=words)
    parser.add_argument("--csv", metavar="out.csv", help="write one line for each result")
    parser.add_argument("--resume", action="store_true", help="run only what out.json lacks, or what failed there")


def budgets_of(chosen: argparse.Namespace) -> list[Budget]:
    """The budgets that `add_grid` declares; InputError for unsupported values, or a missing file to resume."""
    if chosen.resume and not chosen.json:
        raise InputError("--resume continues the file that --json names; give one")
    return [Budget(epsilon, chosen.delta) for epsilon in reals("--epsilons", chosen.epsilons)]


def add_seed(parser: argparse.ArgumentParser, words: str = "seed of the first run") -> None:
    """Declare the argument --seed."""
    read = whole_number(0, MOST_SEED)
    parser.add_argument("--seed", type=read, default=0, help=f"{words} (default: %(default)s)")


def add_repeat(parser: argparse.ArgumentParser, default: int | None = None) -> None:
    """Declare the number of seeds to run."""
    read, told = whole_number(1, MOST_REPEATS), "" if default is None else " (default: %(default)s)"
    parser.add_argument(
        "--repeat", type=read, default=default, metavar="R", help=f"R runs with seeds seed, seed + 1, …{told}"
    )


def add_rows(parser: argparse.ArgumentParser, what: str = "rows") -> None:
    """Declare the number of synthetic rows."""
    words = f"how many synthetic {what} (default: as many as the table has)"
    parser.add_argument("--rows", type=whole_number(1, MAX_ROWS), metavar="N", help=words)


def add_ledger(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Declare the ledger, and the facts it needs about a data set."""
    words = "the release ledger; made on first use"
    parser.add_argument("--ledger", required=required, metavar="L.sqlite", help=words)
    parser.add_argument("--dataset", metavar="NAME", help="its name in the ledger (default: the file's name)")
    for letter, name, what in (("E", "--total-epsilon", "ε"), ("D", "--total-delta", "δ")):
        words = f"{what} for all releases; given on first use"
        parser.add_argument(name, type=real, metavar=letter, help=words)
    parser.add_argument("--new-version", action="store_true", help="a new version: other rows, the same people")


def add_person(parser: argparse.ArgumentParser) -> None:
    """Declare the privacy unit: rows or people."""
    parser.add_argument(
        "--person", metavar="COLUMN", help="protect people, not rows: the column that identifies a person"
    )
    read, words = whole_number(1, MAX_ROWS), "rows one person can have; more are left out"
    parser.add_argument("--most-rows", type=read, default=1, metavar="B", help=words)


def unit_of(chosen: argparse.Namespace) -> PrivacyUnit:
    """The privacy unit that the arguments state."""
    return PrivacyUnit(chosen.person, chosen.most_rows)


def budget_of(chosen: argparse.Namespace) -> Budget:
    """The budget that the arguments state; InputError names the supported range."""
    return Budget(chosen.epsilon, chosen.delta)
