"""The arguments that several commands share, and the readers of their numbers and budgets."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from .. import Budget, InputError, PrivacyUnit
from ..algorithms import solving
from ..core.numbers import MAX_ROWS, read_number
from ..core.types import Json, Texts
from ..privacy.accounting import LARGEST, LARGEST_DELTA, SMALLEST, SMALLEST_DELTA

Argument = tuple[str, Json]  # its name, and what argparse is told of it

EPSILON = f"privacy budget ε, {SMALLEST:g}..{LARGEST:g}"
DELTA = f"privacy budget δ, 0 or {SMALLEST_DELTA:g}..{LARGEST_DELTA:g}"
MOST_ROWS = "rows one person can have; more are left out"
MOST_REPEATS, MOST_SEED = 100_000, 2**63 - 1


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """A function for argparse that reads a whole number in low..high."""
    return lambda text: real(text, int, low, high)


def real(text: str, kind: type = float, *limits: float):  # noqa: ANN201 - of that kind
    """The finite number in an argument's text, for argparse, which says the argument's name; its user checks it."""
    try:
        return read_number(text, "", kind, *limits)
    except InputError as error:  # argparse would put a message of its own in place of a ValueError's
        raise ArgumentTypeError(str(error)) from None


def reals(name: str, text: str) -> Sequence[float]:
    """The finite numbers in a text, separated by commas."""
    return [read_number(part, name, float) for part in text.split(",")]


def argument(name: str, value: str | Texts | None, words: str, **how: Any) -> Argument:
    """An argument of a command, as argparse takes it; its help is `words` and its default.

    `value` is what the help writes in place of a value, or of several; None for the name in capitals, or the choices.
    """
    default_text = "" if how.get("default") in (None, "", []) else " (default: %(default)s)"
    return name, {"metavar": value, "help": words + default_text, **how}


def flag(name: str, words: str) -> Argument:
    """An argument without a value."""
    return name, {"action": "store_true", "help": words}


def budget(*, epsilon: float | None = None, delta: float | None = None) -> list[Argument]:
    """The arguments ε and δ, each with its default or required."""
    option_defaults = (("epsilon", EPSILON, epsilon), ("delta", DELTA, delta))
    return [
        argument(f"--{n}", None, help_text, type=real, required=v is None, default=v)
        for n, help_text, v in option_defaults
    ]


def algorithm(problem: type, default: str | None = None) -> list[Argument]:
    """The arguments for an algorithm of a kind of problem, with its default or required, and for its parameters."""
    help_text = f"one of {', '.join(solving(problem))}"
    return [argument("--algorithm", "NAME", help_text, required=default is None, default=default), settings()]


def settings(name: str = "NAME", of: str = "the algorithm") -> Argument:
    """The argument for the parameters of an algorithm."""
    return argument("--set", f"{name}=VALUE", f"a parameter of {of}", action="append", default=[])


def seed(words: str = "seed of the first run") -> Argument:
    """The argument for a seed."""
    return argument("--seed", None, words, type=whole_number(0, MOST_SEED), default=0)


def repeat(default: int | None = None) -> Argument:
    """The argument for the number of seeds to run."""
    help_text = "R runs with seeds seed, seed + 1, …"
    return argument("--repeat", "R", help_text, type=whole_number(1, MOST_REPEATS), default=default)


def grid(times: int) -> list[Argument]:
    """The arguments for several ε at one δ with several seeds, and the output files, which are kept up to date."""
    help_text = "write all that was found; kept up to date, also when interrupted"
    return [
        argument("--epsilons", "E,E", f"{EPSILON}, several", default="0.1,0.3,1,3"),
        argument("--delta", None, DELTA, type=real, default=1e-9),
        seed(),
        repeat(times),
        argument("--json", "out.json", help_text),
        argument("--csv", "out.csv", "write one line for each result"),
        flag("--resume", "run only what out.json lacks, or what failed there"),
    ]


def rows(what: str = "rows") -> Argument:
    """The argument for the number of synthetic rows."""
    help_text = f"how many synthetic {what} (default: as many as the table has)"
    return argument("--rows", "N", help_text, type=whole_number(1, MAX_ROWS))


def ledger(*, required: bool) -> list[Argument]:
    """The arguments for the ledger, and the facts it needs about a data set."""
    return [
        argument("--ledger", "L.sqlite", "the release ledger; made on first use", required=required),
        argument("--dataset", "NAME", "its name in the ledger (default: the file's name)"),
        argument("--total-epsilon", "E", "ε for all releases; given on first use", type=real),
        argument("--total-delta", "D", "δ for all releases; given on first use", type=real),
        flag("--new-version", "a new version: other rows, the same people"),
    ]


RUNS = (seed(), repeat(), argument("--json", "out.json", "write the run, or with --repeat a list of runs"))
PERSON = (
    argument("--person", "COLUMN", "protect people, not rows: the column that identifies a person"),
    argument("--most-rows", "B", MOST_ROWS, type=whole_number(1, MAX_ROWS), default=1),
)


def unit_of(chosen: Namespace) -> PrivacyUnit:
    """The privacy unit that the arguments state."""
    return PrivacyUnit(chosen.person, chosen.most_rows)


def budget_of(chosen: Namespace) -> Budget:
    """The budget that the arguments state; InputError names the supported range."""
    return Budget(chosen.epsilon, chosen.delta)
