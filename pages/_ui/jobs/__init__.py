"""What takes longer than a page may: runs in worker processes and work in threads, drawn by one watcher."""

from .case_runs import CaseRuns
from .job_group import FINAL_STEP_ONLY, GroupSummary, JobGroup, PlannedRun, tab_job_group
from .job_watcher import wait_or_draw_progress
from .thread_jobs import close_job, get_or_start_job, job_result
