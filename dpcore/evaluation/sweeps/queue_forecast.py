"""Forecast how long jobs wait in a pool whose sessions take turns.

Rough, from forecasts and from jobs that ended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MIN_FORECAST = 1e-6  # least predicted seconds of a job


@dataclass
class Pace:
    """The run time of jobs: relative to the forecast, and on average where there is none."""

    forecast: float = 0.0
    measured: float = 0.0  # seconds of the jobs with a prediction
    total: float = 0.0
    jobs: int = 0

    def note(self, forecast: float | None, seconds: float) -> None:
        """Take in a job that ended after so many seconds."""
        self.total += seconds
        self.jobs += 1
        if forecast is not None:
            self.forecast += max(forecast, MIN_FORECAST)
            self.measured += seconds

    def expect(self, forecast: float | None) -> float:
        """Return the seconds that a job will take; 0 where nothing is known yet."""
        if forecast is None:
            return self.total / max(self.jobs, 1)
        return forecast * (self.measured / self.forecast if self.forecast else 1.0)


def seconds_before(
    jobs: int, running: Iterable[float], waiting: Iterable[Sequence[float]], workers: int
) -> float:
    """Return the seconds that others' jobs take before the last of a session's own jobs is done.

    Sessions take turns, so that before each own job at most one of every other session begins.

    Args:
        jobs: How many jobs the session has still to be done.
        running: Of each other session's running job, the seconds that are left.
        waiting: Of each other session, the seconds of its waiting jobs, in their order.
        workers: How many jobs run at a time.

    """
    turns = sum(sum(session[:jobs]) for session in waiting)
    return (sum(running) + turns) / workers if jobs else 0.0
