"""The arguments that several commands share, and the readers of their numbers and budgets."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from .. import Budget, InputError, PrivacyUnit
from ..algorithms import algorithms_for_problem
from ..core.numbers import MAX_SYNTHETIC_ROWS, parse_number
from ..core.types import Json, Texts
from ..data.privacy_unit import DEFAULT_ROWS_OF_ONE_VOTE, ROWS_COLUMN
from ..evaluation.experiment import MAX_REPEATS, MAX_SEED, PEOPLE, ROWS
from ..privacy.accounting import MAX_DELTA, MAX_EPSILON, MIN_DELTA, MIN_EPSILON
from ..queries.parse_queries import split_column_names, succession_columns

ArgumentSpec = tuple[str, Json]  # its name, and what argparse is told of it

EPSILON_HELP = f"privacy budget ε, {MIN_EPSILON:g}..{MAX_EPSILON:g}"
DELTA_HELP = f"privacy budget δ, 0 or {MIN_DELTA:g}..{MAX_DELTA:g}"
MAX_ROWS_HELP = (
    "rows one person can have; more are left out (default: "
    f"{DEFAULT_ROWS_OF_ONE_VOTE} that share one vote, 1 where rows count)"
)


def whole_number_parser(low: int, high: int) -> Callable[[str], int]:
    """Return a function for argparse that reads a whole number in low..high."""
    return lambda text: finite_number(text, int, low, high)


def finite_number(text: str, kind: type = float, *limits: float):  # noqa: ANN201 - of that kind
    """Return the finite number in an argument's text, for argparse.

    argparse says the argument's name; its user checks it.
    """
    try:
        return parse_number(text, "", kind, *limits)
    except (
        InputError
    ) as error:  # argparse would put a message of its own in place of a ValueError's
        raise ArgumentTypeError(str(error)) from None


def finite_numbers(name: str, text: str) -> Sequence[float]:
    """Return the finite numbers in a text, separated by commas."""
    return [parse_number(part, name, float) for part in text.split(",")]


def argument(name: str, value: str | Texts | None, help_text: str, **options: Any) -> ArgumentSpec:
    """Return an argument of a command, as argparse takes it.

    Its help is `help_text` and its default. `value` is what the help writes in place of a value, or
    of several; None for the name in capitals, or the choices.
    """
    default_text = "" if options.get("default") in (None, "", []) else " (default: %(default)s)"
    return name, {"metavar": value, "help": help_text + default_text, **options}


def flag(name: str, help_text: str) -> ArgumentSpec:
    """Return an argument without a value."""
    return name, {"action": "store_true", "help": help_text}


def budget_arguments(
    *, epsilon: float | None = None, delta: float | None = None
) -> list[ArgumentSpec]:
    """Return the arguments ε and δ, each with its default or required."""
    option_defaults = (("epsilon", EPSILON_HELP, epsilon), ("delta", DELTA_HELP, delta))
    return [
        argument(f"--{n}", None, help_text, type=finite_number, required=v is None, default=v)
        for n, help_text, v in option_defaults
    ]


def algorithm_arguments(problem: type, default: str | None = None) -> list[ArgumentSpec]:
    """Return the arguments for an algorithm of a kind of problem, and for its parameters.

    The algorithm has a default or is required.
    """
    help_text = f"one of {', '.join(algorithms_for_problem(problem))}"
    return [
        argument("--algorithm", "NAME", help_text, required=default is None, default=default),
        settings_argument(),
    ]


def settings_argument(name: str = "NAME", owner: str = "the algorithm") -> ArgumentSpec:
    """Return the argument for the parameters of an algorithm."""
    return argument(
        "--set", f"{name}=VALUE", f"a parameter of {owner}", action="append", default=[]
    )


def seed_argument(help_text: str = "seed of the first run") -> ArgumentSpec:
    """Return the argument for a seed."""
    return argument("--seed", None, help_text, type=whole_number_parser(0, MAX_SEED), default=0)


def repeat_argument(default: int | None = None) -> ArgumentSpec:
    """Return the argument for the number of seeds to run."""
    help_text = "R runs with seeds seed, seed + 1, …"
    return argument(
        "--repeat", "R", help_text, type=whole_number_parser(1, MAX_REPEATS), default=default
    )


def grid_arguments(default_repeats: int) -> list[ArgumentSpec]:
    """Return the arguments for a grid: several ε at one δ, several seeds, and output files.

    The files are kept up to date.
    """
    help_text = "write all that was found; kept up to date, also when interrupted"
    return [
        argument("--epsilons", "E,E", f"{EPSILON_HELP}, several", default="0.1,0.3,1,3"),
        argument("--delta", None, DELTA_HELP, type=finite_number, default=1e-9),
        seed_argument(),
        repeat_argument(default_repeats),
        argument("--json", "out.json", help_text),
        argument("--csv", "out.csv", "write one line for each result"),
        flag("--resume", "run only what out.json lacks, or what failed there"),
    ]


def rows_argument(noun: str = "rows") -> ArgumentSpec:
    """Return the argument for the number of synthetic rows."""
    people_text = "" if noun != "rows" else ", or people, each with rows, with --row-totals"
    help_text = f"how many synthetic {noun}{people_text} (default: as many as the table has)"
    return argument("--rows", "N", help_text, type=whole_number_parser(1, MAX_SYNTHETIC_ROWS))


def ledger_arguments(*, required: bool) -> list[ArgumentSpec]:
    """Return the arguments for the ledger, and the facts it needs about a data set."""
    return [
        argument(
            "--ledger", "L.sqlite", "the release ledger; made on first use", required=required
        ),
        argument("--dataset", "NAME", "its name in the ledger (default: the file's name)"),
        argument(
            "--total-epsilon", "E", "ε for all releases; given on first use", type=finite_number
        ),
        argument(
            "--total-delta", "D", "δ for all releases; given on first use", type=finite_number
        ),
        flag("--new-version", "a new version: other rows, the same people"),
    ]


# of each command that writes a release
RELEASE_ARGUMENTS = (
    argument("--out", "DIR", "a new folder for what leaves", required=True),
    argument(
        "--reason", "TEXT", "why a schema is used that was filled in from the data", default=""
    ),
    flag("--neutralize", "disarm texts that a spreadsheet takes for formulas"),
)
RUN_JSON_ARGUMENT = argument("--json", "out.json", "write the run, or with --repeat a list of runs")
RUN_ARGUMENTS = (seed_argument(), repeat_argument(), RUN_JSON_ARGUMENT)
PERSON_ARGUMENTS = (
    argument("--person", "COLUMN", "protect people, not rows: the column that identifies a person"),
    argument("--most-rows", "B", MAX_ROWS_HELP, type=whole_number_parser(1, MAX_SYNTHETIC_ROWS)),
)
COUNT_ARGUMENT = argument(
    "--count",
    None,
    f"{PEOPLE}: everyone counts once, as the rows of a person share one vote; {ROWS}: each row "
    f"counts, with noise for B of a person (default: {PEOPLE} with --person, else {ROWS})",
    choices=(PEOPLE, ROWS),
)
ROW_TOTALS_ARGUMENT = flag(
    "--row-totals",
    f"with --count {PEOPLE}: a column `{ROWS_COLUMN}` says how many rows a person has, so that "
    "totals of rows can be asked, too, and synthetic people have rows of their own",
)

PERSON_COLUMNS_ARGUMENT = argument(
    "--person-columns",
    "a,b",
    f"with --count {PEOPLE}: columns that belong to the person, such as the year of birth; each "
    "says of a person what one row says",
)
TIME_COLUMN_ARGUMENT = argument(
    "--time-column",
    "COLUMN",
    "with --queries successions:a,b: the column of the schema that puts a person's rows in order, "
    "so that each is followed by the next (default: all ordered pairs of a person's rows)",
)


def privacy_unit_of(args: Namespace) -> PrivacyUnit:
    """Return the privacy unit that the arguments state.

    Everyone counts once where a person column is named, unless rows are to count. InputError names
    the argument that is missing.
    """
    row_totals = getattr(args, "row_totals", False)
    columns_text = getattr(args, "person_columns", None)
    count = args.count or (ROWS if args.person is None else PEOPLE)
    if count == ROWS:
        if row_totals:
            raise InputError(f"--row-totals needs --count {PEOPLE}; rows are counted already")
        if columns_text:
            raise InputError(f"--person-columns needs --person and --count {PEOPLE}")
        if getattr(args, "time_column", None) is not None:
            raise InputError(f"--time-column needs --person and --count {PEOPLE}")
        return row_unit_of(args)
    if args.person is None:
        raise InputError(f"--count {PEOPLE} needs --person, the column that identifies a person")
    max_rows = args.most_rows or DEFAULT_ROWS_OF_ONE_VOTE
    return PrivacyUnit(
        args.person,
        max_rows,
        counts_people=True,
        row_totals=row_totals,
        person_columns=tuple(split_column_names(columns_text)) if columns_text else (),
        succession_columns=succession_columns(getattr(args, "queries", None) or ()),
        time_column=getattr(args, "time_column", None),
    )


def row_unit_of(args: Namespace) -> PrivacyUnit:
    """Return the privacy unit that the arguments state where each row counts."""
    return PrivacyUnit(args.person, args.most_rows or 1)


def stated_budget(args: Namespace) -> Budget:
    """Return the budget that the arguments state; InputError names the supported range."""
    return Budget(args.epsilon, args.delta)


def stated_seeds(args: Namespace) -> range:
    """Return the seeds that the arguments state."""
    return range(args.seed, args.seed + (args.repeat or 1))
