"""How long a comparison will take, said before it is run."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy.work_forecast import SAID, affordable, in_bytes, in_seconds
from dpcore.core.parameters import build
from dpcore.evaluation.sweeps.sweep import Key, SweepPoint

from ..jobs.run_group import after
from ..jobs.shared_pool import WORKERS, pool
from ..session import session
from .sweep_jobs import Sweep


def say(
    of: Any, problem: QueryRelease, names: Iterable[str], budgets: Sequence[Budget], seeds: int, made: Sweep,
    there: Collection[Key],
) -> float:  # fmt: skip
    """Roughly the time and memory of the runs that are not `there`, if more than a moment; returns the seconds.

    `of` names the problem; what one kind of run takes is worked out once for it, from public numbers. An algorithm that
    was slower or faster than foreseen in the runs that were `made` is so again.
    """
    costs = _known(of)
    runs, seconds, max_bytes = 0, 0.0, 0.0
    for name in names:
        slowdown = _pace(made, name)
        for budget in budgets:
            if (name, budget) not in costs:
                costs[name, budget] = _one(name, problem, budget)
            run_seconds, run_bytes = costs[name, budget]
            remaining_runs = sum((name, budget.epsilon, budget.delta, seed) not in there for seed in range(seeds))
            runs, seconds, max_bytes = (
                runs + remaining_runs * (run_bytes > 0),
                seconds + remaining_runs * slowdown * run_seconds,
                max(max_bytes, run_bytes),
            )
    seconds /= min(WORKERS, max(runs, 1))
    waiting_seconds = pool().before(made.id, runs)
    if seconds + waiting_seconds >= SAID and made.ended and runs:  # else the bar says how long
        st.caption(
            f"Forecast: {in_seconds(seconds)} for {runs} runs, {in_bytes(max_bytes)} of "
            f"memory.{after(waiting_seconds)}",
            help=f"{WORKERS} runs at a time, and the memory of the largest. Roughly, from public numbers and from the "
            "runs that were made. Others' runs take turns with these.",
        )
    return seconds


def foreseen(of: Any) -> dict[tuple[str, Budget], float]:
    """Return the seconds of one run of the problem that `of` names, by algorithm and budget, as far as worked out."""
    return {key: seconds for key, (seconds, _) in _known(of).items()}


def _known(of: Any) -> dict[tuple[str, Budget], tuple[float, float]]:
    return session().memo("forecasts", of, dict)


def _pace(made: Sweep, name: str) -> float:
    """How many times longer the runs of an algorithm took than was foreseen; 1 where none was made."""
    points = [d.point for d in made.found.values() if d.point.algorithm == name and d.point.state == "done"]
    problem = made.problem
    if not points or problem is None:
        return 1.0
    expected_seconds = session().memo("pace", (made.asked, name, len(points)), lambda: _foreseen(points, problem))
    return sum(point.seconds or 0.0 for point in points) / expected_seconds if expected_seconds else 1.0


def _foreseen(points: Iterable[SweepPoint], problem: QueryRelease) -> float:
    run_counts = Counter((point.algorithm, Budget(point.epsilon, point.delta)) for point in points)
    return sum(count * _one(name, problem, budget)[0] for (name, budget), count in run_counts.items())


def _one(name: str, problem: QueryRelease, budget: Budget) -> tuple[float, float]:
    """Seconds and bytes; none where the run is refused, which its dot will say."""
    try:
        return affordable(build(ALGORITHMS[name], {}), problem, budget)
    except InputError:
        return 0.0, 0.0
