"""Jobs: same results as in this process, partial results, cancel, turns between sessions, a worker
that dies alone.
"""

import os
import signal
import time
from dataclasses import replace
from multiprocessing import Pipe, active_children
from multiprocessing.shared_memory import SharedMemory
from threading import Thread

import numpy as np
import pytest

from dpcore import ALGORITHMS, Budget, Marginals, samples
from dpcore.evaluation.sweeps import worker_pool as jobs
from dpcore.evaluation.sweeps.shared_rows import LastCountedTables, SharedRows, view_rows
from dpcore.evaluation.sweeps.worker_pool import JobSpec, WorkerPool
from tests.small_problems import (
    all_tables,
    equal_columns_domain,
    integer_domain,
    module_fixture,
    parametrize,
    random_rows,
    run_to_end,
    seeded,
)

SAMPLE = samples.census(2_000)
ROWS = SAMPLE.domain.encode(SAMPLE.frame)
PROBLEM = all_tables(SAMPLE.domain, ROWS.n)
LONG = {"rounds": 1_000_000}


@module_fixture
def pool(others):
    pool = WorkerPool(workers=1)
    patience = jobs.CANCEL_GRACE_SECONDS
    jobs.CANCEL_GRACE_SECONDS = 60.0  # a busy machine may take its time
    yield pool
    pool.close()
    jobs.CANCEL_GRACE_SECONDS = patience


@pytest.fixture
def block():
    block = SharedRows(ROWS)
    yield block
    block.free_memory()


def task(block, name="gaussian_maxent", seeds=(0,), **settings):
    return JobSpec(
        algorithm=ALGORITHMS[name](**settings),
        problem=PROBLEM,
        budget=Budget(1.0, 1e-9),
        seeds=seeds,
        block=block.block,
        population=SAMPLE.population,
    )


def endless(pool, block, who="me"):
    return pool.submit(task(block, "dpfw", **LONG), who)


def test_a_worker_computes_what_this_process_computes(pool, block):
    job = pool.submit(task(block, seeds=(3, 4)), "me")
    assert job.wait(90)
    assert job.state == "done"
    for seed, result in zip((3, 4), job.results, strict=True):
        here = run_to_end("gaussian_maxent", PROBLEM, ROWS, Budget(1.0, 1e-9), seed=seed)
        assert np.array_equal(result.release.D, here.release.D)
        last = result.summary.convergence[-1]
        assert last.population.as_exact_as_sample is None, "there are no n rows"
        assert result.summary.spent == here.spent


def test_the_tree_of_a_run_goes_to_the_page_and_back_before_the_next_one(pool, block):
    of_a_tree = replace(task(block, cells=500, rounds=3), returns_tree_fit=True, population=None)
    first = pool.submit(of_a_tree, "me")
    assert first.wait(90)
    assert first.provisional_result is None
    tree_fit = first.results[0].tree_fit
    following = replace(of_a_tree, budget=Budget(0.5, 1e-9), earlier=tree_fit)
    second = pool.submit(following, "me")
    assert second.wait(90)
    here = run_to_end("gaussian_maxent", PROBLEM, ROWS, Budget(0.5, 1e-9), cells=500, rounds=3)
    assert second.provisional_result == here.provisional_errors(ROWS, tree_fit)
    assert np.array_equal(second.results[0].release.beliefs, here.release.beliefs)


@parametrize("every", [None, 10**9], ids=["with records", "without"])
def test_a_run_is_cancelled_between_its_steps_and_keeps_what_is_there(pool, block, every):
    job = pool.submit(replace(task(block, "dpfw", **LONG), every=every), "me")
    until(lambda: job.state == "running" and job.total_steps and (job.partial_results or every))
    assert every or 0 < job.progress < 1
    job.cancel()
    assert job.wait(90)
    assert job.state == "cancelled"
    summary = job.results[0].summary
    assert summary.query_errors.max_error > 0
    assert 0 < summary.spent.epsilon < 1
    assert 0 < summary.convergence[-1].t < LONG["rounds"]


def test_a_run_in_one_long_step_is_ended_and_its_worker_replaced(pool, block, monkeypatch):
    monkeypatch.setattr(jobs, "CANCEL_GRACE_SECONDS", 0.8)
    tables = Marginals.all(equal_columns_domain(40, 4), 3)
    rows = SharedRows(tables.domain.group_rows(seeded(0).integers(0, 4, (2_000, 40))))
    job = pool.submit(
        replace(task(rows), problem=replace(PROBLEM, workload=tables), population=None), "me"
    )
    until(lambda: job.state == "running" and job.total_steps)
    job.cancel()
    assert job.wait(90)
    assert (job.state, job.results) == ("cancelled", []), "not even its first step was waited for"
    rows.free_memory()
    assert pool.submit(task(block), "me").wait(90)


def test_a_job_that_cannot_be_sent_fails_alone_and_the_next_runs(pool, block):
    """It left its thread, so that every later job of anyone waited for ever."""
    for _ in range(2):
        job = pool.submit(replace(task(block), purposes=lambda rows: rows), "me")
        assert job.wait(90)
        assert job.state == "failed"
        assert "please report it" in job.error
    assert pool.submit(task(block), "me").wait(90)


def test_sessions_take_turns_while_a_long_job_pauses_and_goes_on(pool, block, monkeypatch):
    monkeypatch.setattr(jobs, "TURN_SECONDS", 0.2)
    first, second = (endless(pool, block, "greedy") for _ in range(2))
    until(lambda: first.partial_results)
    other = pool.submit(task(block), "modest")
    assert other.wait(90)
    assert other.state == "done"
    assert not first.ended, "nobody had to stop it"
    third = endless(pool, block, "new")
    for job in (first, third, first):  # each goes on after the other's turn
        steps = len(job.partial_results)
        until(lambda job=job, steps=steps: len(job.partial_results) > steps)
    assert not second.partial_results, "a session's jobs run in order"
    for job in (first, second, third):
        job.cancel()
    assert all(job.wait(90) for job in (first, second, third))
    assert first.results[0].summary.convergence[-1].t > 0


def test_a_run_that_paused_gives_what_it_gives_alone(pool, block, monkeypatch):
    monkeypatch.setattr(jobs, "TURN_SECONDS", 0.05)
    alone = run_to_end("dpfw", PROBLEM, ROWS, Budget(1.0, 1e-9), rounds=3_000)
    long = pool.submit(task(block, "dpfw", rounds=3_000), "me")
    others = [pool.submit(task(block, "dpfw", rounds=3_000), f"other {i}") for i in range(2)]
    pauses = []
    pause = jobs.Job.pause
    monkeypatch.setattr(jobs.Job, "pause", lambda job: pauses.append(job) or pause(job))
    assert all(job.wait(90) for job in (long, *others))
    assert long in pauses
    assert np.array_equal(long.results[0].release.D, alone.release.D)
    assert long.seconds < sum(job.seconds for job in (long, *others))


def test_paused_jobs_hold_no_more_workers_than_allowed(block, monkeypatch):
    monkeypatch.setattr(jobs, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(jobs, "MAX_PAUSED_WORKERS", 1)
    pool = WorkerPool(workers=1)
    try:
        started = [endless(pool, block, f"visitor {i}") for i in range(3)]
        until(lambda: all(job.partial_results for job in started[:2]))
        assert started[2].state == "queued"
        started[0].cancel()
        until(lambda: started[2].partial_results)
    finally:
        pool.close()
    assert all(job.state == "cancelled" for job in started), "a paused one too"


def test_a_job_cancelled_while_queued_never_runs(pool, block):
    first, second = (endless(pool, block) for _ in range(2))
    second.cancel()
    first.cancel()
    assert second.wait(90)
    assert (second.state, second.results) == ("cancelled", [])


def test_all_workers_killed_at_once_fail_their_jobs_in_words_the_next_runs_and_closing_ends_all(
    block,
):
    before = set(active_children())
    pool = WorkerPool(workers=2)
    try:
        jobs = [endless(pool, block, who) for who in ("me", "you")]
        waiting = pool.submit(task(block), "them")
        until(lambda: all(job.partial_results for job in jobs))
        for worker in set(active_children()) - before:
            os.kill(worker.pid, signal.SIGKILL)
        assert all(job.wait(90) for job in jobs)
        assert [job.state for job in jobs] == ["failed", "failed"]
        assert all("ended unexpectedly" in job.error for job in jobs)
        assert waiting.wait(90)
        assert waiting.state == "done"
        running, queued = ([endless(pool, block) for _ in range(2)] for _ in range(2))
        until(lambda: all(job.partial_results for job in running))
    finally:
        pool.close()
    assert [job.state for job in queued] == ["failed", "failed"]
    assert all(job.wait(90) for job in running)
    assert [job.state for job in running] == ["cancelled", "cancelled"]


def test_a_forgotten_table_fails_with_words(pool, block):
    assert pool.submit(task(block), "me").wait(90)
    gone = SharedRows(ROWS)
    late = task(gone)
    gone.free_memory()
    job = pool.submit(late, "me")
    assert job.wait(90)
    assert (job.state, job.error) == ("failed", "the table is no longer here")


def test_what_a_worker_counted_is_kept_for_the_next_run_and_forgotten_with_the_rows(monkeypatch):
    rows = random_rows(integer_domain(3, 4), 50)
    shared = SharedRows(rows)
    last_counted = LastCountedTables()
    tables = last_counted.of_block(shared.block)
    assert last_counted.is_empty
    memory = SharedMemory(shared.block.name)
    counted = view_rows(shared.block, memory, None, tables).count((0, 1), (3, 4))
    memory.close()
    assert last_counted.of_block(shared.block) is tables == {((0, 1), (3, 4)): counted}
    last_counted.forget_if_freed()
    assert not last_counted.is_empty, "somebody may run on these rows again"
    monkeypatch.setattr(jobs, "FORGET_SECONDS", 0.01)
    parent, child = Pipe()
    next_specs = []
    waiting = Thread(target=lambda: next_specs.append(jobs._next_spec(child, last_counted)))
    waiting.start()
    shared.free_memory()
    until(lambda: last_counted.is_empty)
    parent.send("anything")
    waiting.join()
    assert next_specs == ["anything"]


def until(condition):
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
