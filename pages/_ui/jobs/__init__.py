"""Work that takes longer than a page may: runs in processes, and other work in threads.

One watcher draws all of it.
"""

from .case_runs import CaseRuns
from .job_group import GroupSummary, JobGroup, PlannedRun, tab_job_group
from .job_watcher import wait_or_draw_progress
from .thread_jobs import close_job, get_or_start_job, job_result
