"""Going through a run with progress on stderr, and what it spent in words: shared by `run` and `evolve`."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import PrivacyWarning
from ..run import Record, Run
from .files import Progress


def start(make: Callable[[], Run], *, say: bool) -> Run:
    """A run as `make` makes it; what its budget should be warned of goes to stderr, if `say`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        run = make()
    for caution in caught if say else []:
        print(f"warning: {caution.message}", file=sys.stderr)
    return run


def follow(run: Run) -> None:
    """Iterate over a run; say round, error and time left."""
    rounds, progress = run.plan["rounds"], Progress()
    for record in run:
        progress.say(lambda elapsed, now=record: _line(run, now, elapsed / max(now.t, 1) * max(rounds - now.t, 0)))
    progress.clear()


def _line(run: Run, record: Record, left: float) -> str:
    name, value = record.empirical.headline
    return f"seed {run.seed}: round {record.t}/{run.plan['rounds']}, {name} {value:.4g}, {left:.0f} s left"


def spending(spent: dict[str, Any]) -> str:
    """What was spent, from its JSON, in one line."""
    cost = f"mu={spent['mu']:.6g}" if "mu" in spent else f"rho={spent['rho']:.6g}"
    return f"spent: epsilon={spent['epsilon']:.6g} delta={spent['delta']:g} {cost} ({spent['accounting']})"
