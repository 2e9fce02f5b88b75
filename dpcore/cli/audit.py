"""Play the distinguishing game against an algorithm: an empirical lower bound on ε beside its promise."""

import argparse
import json

from ..algorithms import solving
from ..experiments.audit import BUGS, CONFIDENCE, MOST_RUNS, RUNS, Audit, audit, short
from ..privacy.accounting.budget import Budget
from ..problems import QueryRelease
from .arguments import add_budget, add_seed, budget_of, whole
from .task import choose

ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the algorithm, the promise and the game."""
    words = f"{ALL}, one after the other, or one of {', '.join(solving(QueryRelease))}"
    parser.add_argument("--algorithm", required=True, metavar="NAME", help=words)
    add_budget(parser, epsilon=1.0, delta=0.01)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the algorithm")
    read, words = whole("--runs", 20, MOST_RUNS), "on each of two tables (default: %(default)s)"
    parser.add_argument("--runs", type=read, default=RUNS, help=words)
    parser.add_argument("--bug", choices=BUGS, default=BUGS[0], help="plant a bug, to see it caught")
    add_seed(parser, "of the game")
    parser.add_argument("--json", action="store_true", help="machine-readable, with the empirical curve")


def execute(chosen: argparse.Namespace) -> int:
    """Print the verdict; exit code 1 when a lower bound exceeds the promise."""
    given = {text.partition("=")[0] for text in chosen.set}
    names = solving(QueryRelease) if chosen.algorithm == ALL else [chosen.algorithm]
    budget, kept = budget_of(chosen), True
    for name in names:
        algorithm = short(choose(name, chosen.set, QueryRelease), given)
        found = audit(algorithm, budget, runs=chosen.runs, bug=chosen.bug, seed=chosen.seed)
        kept &= found.kept
        if chosen.json:
            print(json.dumps(found.to_json(), indent=None if len(names) > 1 else 1))
        elif len(names) > 1:
            low = f"promised {found.promised:.4f}, at least {found.epsilon_low:.4f} or {found.accounted_low:.4f}"
            print(f"{found.algorithm:<24} {low}  {'consistent' if found.kept else 'BROKEN'}", flush=True)
        else:
            _tell(found, budget)
    return 0 if kept else 1


def _tell(found: Audit, budget: Budget) -> None:
    print(f"{found.algorithm}, {found.runs} runs on each of two tables of {found.records} records, bug: {found.bug}")
    print(f"promised:     epsilon = {found.promised:.4f} at delta={budget.delta:g} ({found.accounting})")
    print(f"at least:     epsilon ≥ {found.epsilon_low:.4f} ({CONFIDENCE:.1%} confidence, any mechanism)")
    print(f"              epsilon ≥ {found.accounted_low:.4f} ({CONFIDENCE:.1%} confidence, by the same accounting)")
    print("the promise is consistent with this game" if found.kept else "THE PROMISE IS BROKEN")
