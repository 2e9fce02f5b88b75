"""How long a comparison will take, said before it is run."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import streamlit as st

from dpcore import ALGORITHMS, Budget, InputError, QueryRelease
from dpcore.accuracy.work_forecast import (
    MIN_SECONDS_TO_MENTION,
    forecast_affordable_run,
    format_bytes,
    format_seconds,
)
from dpcore.core.parameters import build_from_texts
from dpcore.core.types import by_name
from dpcore.evaluation.sweeps.sweep import PointKey, SweepPoint

from ..jobs.job_group import queue_delay_text
from ..jobs.shared_pool import WORKER_COUNT, worker_pool
from ..session import session
from .sweep_jobs import Sweep


@by_name
class DurationForecast:
    """How long the runs take that are not finished yet, and their memory in bytes.

    `waiting_seconds` is the time that others' work takes before.
    """

    runs: int
    seconds: float
    memory: float
    waiting_seconds: float

    @property
    def text(self) -> str:
        """The forecast in words."""
        duration = format_seconds(self.seconds)
        return (
            f"Forecast: {duration} for {self.runs} runs, {format_bytes(self.memory)} of memory."
            f"{queue_delay_text(self.waiting_seconds)}"
        )


def forecast_runs(
    problem_key: Any,
    problem: QueryRelease,
    names: Iterable[str],
    budgets: Sequence[Budget],
    seeds: int,
    sweep: Sweep,
    finished_keys: Collection[PointKey],
) -> DurationForecast:
    """Return the forecast of the unfinished runs, from public numbers.

    `problem_key` names the problem; the cost of one kind of run is worked out once for it. Runs
    that are in `finished_keys` do not count. An algorithm that was slower or faster than forecast
    in the runs of `sweep` is assumed to stay so.
    """
    costs = _cached_costs(problem_key)
    own_seconds: list[float] = []
    max_bytes = 0.0
    for name in names:
        slowdown = _slowdown(sweep, name)
        for budget in budgets:
            if (name, budget) not in costs:
                costs[name, budget] = _run_cost(name, problem, budget)
            run_seconds, run_bytes = costs[name, budget]
            remaining_runs = sum(
                PointKey(name, budget.epsilon, budget.delta, seed) not in finished_keys
                for seed in range(seeds)
            )
            if run_bytes > 0:
                own_seconds += [slowdown * run_seconds] * remaining_runs
            max_bytes = max(max_bytes, run_bytes)
    return DurationForecast(
        runs=len(own_seconds),
        seconds=sum(own_seconds) / min(WORKER_COUNT, max(len(own_seconds), 1)),
        memory=max_bytes,
        waiting_seconds=worker_pool().before(sweep.group.id, own_seconds),
    )


def draw_forecast(forecast: DurationForecast) -> None:
    """Draw how long the unfinished runs take, if it is more than a moment."""
    if forecast.runs and forecast.seconds + forecast.waiting_seconds >= MIN_SECONDS_TO_MENTION:
        st.caption(
            forecast.text,
            help=f"{WORKER_COUNT} runs at a time, and the memory of the largest. Roughly, from "
            "public numbers and from the runs that were made. Others' runs take turns with these.",
        )


def forecast_run_seconds(problem_key: Any) -> dict[tuple[str, Budget], float]:
    """Return the forecast seconds of one run by algorithm and budget, as far as worked out.

    The runs are of the problem that `problem_key` names.
    """
    return {key: seconds for key, (seconds, _) in _cached_costs(problem_key).items()}


def _cached_costs(problem_key: Any) -> dict[tuple[str, Budget], tuple[float, float]]:
    return session().memoize("forecasts", problem_key, dict)


def _slowdown(sweep: Sweep, name: str) -> float:
    """Return the ratio of an algorithm's actual to its forecast run time; 1 without runs."""
    points = [
        d.point
        for d in sweep.outcomes.values()
        if d.point.algorithm == name and d.point.state == "done"
    ]
    problem = sweep.problem
    if not points or problem is None:
        return 1.0
    forecast_seconds = session().memoize(
        "pace", (sweep.requested, name, len(points)), lambda: _forecast_seconds(points, problem)
    )
    return (
        sum(point.seconds or 0.0 for point in points) / forecast_seconds
        if forecast_seconds
        else 1.0
    )


def _forecast_seconds(points: Iterable[SweepPoint], problem: QueryRelease) -> float:
    run_counts = Counter((point.algorithm, Budget(point.epsilon, point.delta)) for point in points)
    return sum(
        count * _run_cost(name, problem, budget)[0] for (name, budget), count in run_counts.items()
    )


def _run_cost(name: str, problem: QueryRelease, budget: Budget) -> tuple[float, float]:
    """Return the forecast seconds and bytes of one run, both 0 where the run is refused.

    The run's dot will say why it is refused.
    """
    try:
        return forecast_affordable_run(build_from_texts(ALGORITHMS[name], {}), problem, budget)
    except InputError:
        return 0.0, 0.0
