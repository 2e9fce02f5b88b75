"""A job says the same to whoever works and to whoever waits, and groups of jobs say it of all of
them.
"""

import doctest

import pytest

from dpcore.core import job as job_module
from dpcore.core.job import Job, JobCancelled, JobState
from pages._ui.jobs import job_group
from pages._ui.jobs.job_group import GroupSummary, JobGroup
from tests.small_problems import parametrize


@parametrize("module", [job_module, job_group])
def test_the_examples_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 5
    assert outcome.failed == 0


def test_a_closed_job_keeps_nothing_that_comes_later():
    job = Job("work", key="name")
    job.add_result(1)
    job.close()
    job.add_result(2)
    assert (job.task, job.key, job.results, job.cancel_requested) == (None, None, [], True)


def test_the_time_left_is_the_expected_time_less_what_has_passed():
    job = Job("work")
    assert job.remaining_seconds(50.0) == 50.0, "it has not begun"
    job.begin()
    assert 40.0 < job.remaining_seconds(50.0) <= 50.0
    assert job.remaining_seconds(0.0) == 0.0
    job.cancel()
    with pytest.raises(JobCancelled):
        job.report_progress(0.1, "")


def test_a_group_says_the_first_error_and_lets_its_owner_follow_up():
    jobs = [Job("work", key=i) for i in range(3)]
    group = JobGroup(jobs=jobs.copy())
    jobs[0].end(JobState.DONE)
    jobs[1].end(JobState.FAILED, "too little memory")
    assert (group.error, group.ended) == ("too little memory", False)
    taken = []
    group.follow_up = lambda: taken.extend(group.take_ended_jobs())
    group.summarise = lambda: GroupSummary(len(taken) / 3, f"{len(taken)} of 3", len(taken))
    group.collect_results()
    assert (group.progress, group.status_text, group.partial_result_count) == (2 / 3, "2 of 3", 2)
    assert [job.key for job in taken] == [0, 1]
    group.cancel()
    assert jobs[2].cancel_requested
    assert group.ended, "what was cancelled is not waited for"
