"""Workers of a local cluster are killed at all times, and no point and no row is lost or doubled."""

import json
import os
import signal
import time
from contextlib import closing

import pytest

from dpcore import ALGORITHMS, Budget
from dpcore.evaluation.sweeps.dask_cluster import connect_to_scheduler, sweep_on_cluster
from dpcore.evaluation.sweeps.sweep import plan_cases, run_sweep
from tests.evaluation.sweeps.test_dask_cluster import cluster, counted_on, parts, patience, workers
from tests.small_problems import parametrize_false_true, query_problem

__all__ = ["cluster", "parts", "patience"]
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.flaky(reruns=1)]


def told(points):
    """Everything of the points but the clock, whatever order they came in."""
    plain = [
        {k: v for k, v in p.to_json().items() if k not in ("seconds", "memory")} for p in points
    ]
    return sorted(plain, key=lambda p: json.dumps(p, sort_keys=True))


def planned(problem, rounds, seeds):
    algorithms = {
        "dpfw": ALGORITHMS["dpfw"](rounds=rounds),
        "gaussian_maxent": ALGORITHMS["gaussian_maxent"](),
    }
    return plan_cases(algorithms, problem, [Budget(e, 1e-6) for e in (0.5, 2.0)], range(seeds))


def until_idle(client):
    deadline = time.monotonic() + 90
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)


@parametrize_false_true("read")
def test_the_only_worker_dies_and_what_was_sent_out_with_it_is_sent_again(read):
    """Of all that was shared, and of every result, there is no other copy."""
    problem, rows = query_problem("3-way of 4")
    waiting = planned(problem, rounds=40 if read else 3000, seeds=2)
    with workers(1) as alone, closing(connect_to_scheduler(alone.scheduler_address)) as client:
        points = sweep_on_cluster(client, waiting, problem, rows)
        found = [next(points)]
        if read:
            until_idle(client)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        found += points
    assert told(found) == told(run_sweep(waiting, problem, rows))


def test_a_worker_killed_midway_neither_loses_nor_doubles_a_row(cluster, parts):
    killed = []

    def kill(client, rows):
        if rows and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    counted_on(cluster, parts, kill)
    assert killed


def test_stopping_early_cancels_what_runs(cluster):
    problem, rows = query_problem("3-way of 4")
    with closing(connect_to_scheduler(cluster.scheduler_address)) as client:
        points = sweep_on_cluster(client, planned(problem, rounds=3000, seeds=10), problem, rows)
        next(points)
        points.close()
        until_idle(client)
        assert not any(client.processing().values())
