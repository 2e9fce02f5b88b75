"""The time that others' jobs take before one's own: never far from what a pool that takes turns
really needs.
"""

import heapq
from itertools import count

from dpcore.evaluation.sweeps.queue_forecast import Pace, seconds_before
from tests.evaluation.sweeps.test_worker_pool import block, endless, pool, task, until  # noqa: F401 - fixtures
from tests.small_problems import approx, parametrize, seeded

MINE = "mine"


def simulated(queues, workers):
    """The seconds until the last of my jobs ends, where sessions take turns as in `WorkerPool`."""
    waiting = {name: list(jobs) for name, jobs in queues.items() if jobs}
    turns, turn, order = {}, count(1), count()
    free = [(0.0, next(order)) for _ in range(workers)]
    done = 0.0
    while waiting:
        now, _ = heapq.heappop(free)
        name = min(waiting, key=lambda session: turns.get(session, 0))
        seconds = waiting[name].pop(0)
        turns[name] = next(turn)
        if name == MINE:
            done = max(done, now + seconds)
        if not waiting[name]:
            del waiting[name]
        heapq.heappush(free, (now + seconds, next(order)))
    return done


@parametrize("seed", range(100))
def test_own_work_and_the_others_before_it_are_what_a_pool_needs(seed):
    rng = seeded(seed)
    workers = int(rng.integers(1, 5))
    queues = {
        f"visitor {i}": rng.uniform(1, 10, rng.integers(0, 60)).tolist()
        for i in range(rng.integers(0, 5))
    }
    queues[MINE] = rng.uniform(1, 10, rng.integers(1, 60)).tolist()
    own = sum(queues[MINE]) / workers
    others = seconds_before(
        len(queues[MINE]), [], [q for name, q in queues.items() if name != MINE], workers
    )
    needed = simulated(queues, workers)
    assert abs(own + others - needed) <= 2 * 10, (
        "two of the longest jobs: where turns and ends fall"
    )


def test_nothing_waits_for_nobody_and_more_work_of_others_never_takes_less():
    assert seconds_before(5, [], [], 2) == 0
    assert seconds_before(0, [9.0], [[9.0]], 2) == 0
    assert seconds_before(2, [4.0], [[10.0, 10.0, 10.0], [6.0]], 2) == approx((4 + 10 + 10 + 6) / 2)


def test_a_pace_is_learnt_from_jobs_that_ended():
    pace = Pace()
    assert (pace.expect(3.0), pace.expect(None)) == (3.0, 0.0)
    pace.note(2.0, 6.0)
    pace.note(None, 2.0)
    assert (pace.expect(3.0), pace.expect(None)) == (approx(9.0), approx(4.0))


def test_a_pool_counts_the_jobs_of_others_and_not_ones_own(pool, block):  # noqa: F811
    first = pool.submit(task(block, "dpfw", rounds=1_000_000), "other", 100.0)
    until(lambda: first.state == "running")
    pace = pool.pace.expect(1.0)
    waiting = [pool.submit(task(block), name, 40.0) for name in ("other", "other", "mine", "third")]
    assert pool.before("mine", 1) == approx((100 + 40 + 40) * pace, abs=5 * max(pace, 1))
    assert pool.before("mine", 2) == approx((100 + 80 + 40) * pace, abs=5 * max(pace, 1))
    waiting[0].cancel()
    assert pool.before("mine", 2) == approx((100 + 40 + 40) * pace, abs=5 * max(pace, 1))
    for job in (first, *waiting):
        job.cancel()
        assert job.wait(90)
    assert pool.before("mine", 9) == approx(0, abs=1)
