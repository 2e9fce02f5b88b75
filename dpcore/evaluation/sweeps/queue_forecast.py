"""Forecast how long jobs wait in a pool whose sessions take turns.

Rough, from forecasts and from jobs that ended.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

MIN_FORECAST = 1e-6  # least predicted seconds of a job
MAX_TURNS = 2_000  # that a forecast plays through; of more work the turns are taken longer


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
    own_seconds: Sequence[float],
    others: Iterable[Sequence[float]],
    workers: int,
    turn_seconds: float,
) -> float:
    """Return the seconds by which others' jobs delay the end of a session's own jobs.

    Both ways are played through: the pool with the others' jobs, and with the own jobs alone.

    Args:
        own_seconds: The seconds of each own job.
        others: Of each other session, the seconds that each of its jobs still takes, in order.
        workers: How many jobs run at a time.
        turn_seconds: The seconds after which a job pauses while others wait.

    """
    queues = [deque(own_seconds), *(deque(seconds) for seconds in others)]
    total = sum(map(sum, queues))
    turn_seconds = max(turn_seconds, total / MAX_TURNS)
    alone = _seconds_to_end(queues[:1], workers, turn_seconds)
    return _seconds_to_end(queues, workers, turn_seconds) - alone


def _seconds_to_end(queues: Sequence[Sequence[float]], workers: int, turn_seconds: float) -> float:
    """Return when the last job of the first queue ends, where the queues take turns.

    As in the pool, whose turn is longest ago comes next, and a paused job goes to the head of its
    queue.
    """
    waiting = [deque(queue) for queue in queues]
    last_turns = [0] * len(waiting)
    running: list[tuple[float, int, float]] = []  # when a turn ends, whose it is, what remains
    own_jobs = len(waiting[0])
    now = 0.0
    for turn in count(1):
        ready = [i for i, queue in enumerate(waiting) if queue]
        if ready and len(running) < workers:
            # oneself last among equals: a new session's own turn comes after those before it
            session = min(ready, key=lambda i: (last_turns[i], i == 0))
            last_turns[session] = turn
            seconds = waiting[session].popleft()
            length = min(seconds, turn_seconds)
            heapq.heappush(running, (now + length, session, seconds - length))
            continue
        if not own_jobs:
            break
        now, session, remaining = heapq.heappop(running)
        if remaining > 0:
            waiting[session].appendleft(remaining)
        elif session == 0:
            own_jobs -= 1
    return now
