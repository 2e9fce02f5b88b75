"""The time that others' jobs take before one's own: never far from what a pool that takes turns
really needs.
"""

from dpcore.evaluation.sweeps.queue_forecast import Pace, seconds_before
from tests.evaluation.sweeps.test_worker_pool import block, endless, pool, task, until  # noqa: F401 - fixtures
from tests.small_problems import approx, parametrize, seeded


@parametrize("seed", range(30))
def test_own_work_and_the_others_before_it_are_what_shared_workers_need(seed):
    """In turns that are short beside the jobs, everybody has an equal share of the workers."""
    rng = seeded(seed)
    own = rng.uniform(1, 10)
    others = rng.uniform(1, 10, rng.integers(1, 6)).tolist()
    delay = seconds_before([own], [[seconds] for seconds in others], 1, 0.01)
    assert own + delay == approx(sum(min(own, seconds) for seconds in [own, *others]), rel=0.05)


def test_long_jobs_of_others_delay_a_short_one_by_a_turn_each_and_not_by_all_of_it():
    assert seconds_before([1.0], [[1_000.0]] * 3, 1, 2.0) == approx(6.0)
    assert seconds_before([1.0], [[1_000.0]], 2, 2.0) == 0.0, "there is a worker for each"
    assert seconds_before([1.0], [[1.0] * 50], 1, 2.0) == approx(1.0), "jobs go in turns too"


@parametrize("seed", range(20))
def test_jobs_shorter_than_a_turn_are_forecast_as_sessions_in_turn_need(seed):
    rng = seeded(seed)
    workers = int(rng.integers(1, 5))
    own = rng.uniform(1, 10, rng.integers(1, 60)).tolist()
    others = [rng.uniform(1, 10, rng.integers(0, 60)).tolist() for _ in range(rng.integers(0, 5))]
    turns = sum(sum(queue[: len(own)]) for queue in others) / workers
    delay = seconds_before(own, others, workers, 10.0)
    assert abs(delay - turns) <= 2 * 10, "two of the longest jobs: where turns and ends fall"


def test_nothing_waits_for_nobody_and_a_long_queue_is_played_through_at_once():
    assert seconds_before([5.0], [], 2, 2.0) == 0
    assert seconds_before([], [[9.0]], 2, 2.0) == 0
    own, others = [1.0] * 2_000, [[3_600.0] * 50] * 20
    assert seconds_before(own, others, 2, 2.0) > 2_000


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
    own = 1_000 * pace
    waiting = [pool.submit(task(block), name, 40.0) for name in ("other", "mine", "third")]
    assert pool.before("mine", [own]) == approx((100 + 40 + 40) * pace, abs=10 * max(pace, 1))
    assert pool.before("other", [0.0]) < 90 * pace + 10
    waiting[0].cancel()
    assert pool.before("mine", [own]) == approx((100 + 40) * pace, abs=10 * max(pace, 1))
    for job in (first, *waiting):
        job.cancel()
        assert job.wait(90)
    assert pool.before("mine", [own]) == approx(0, abs=1)
