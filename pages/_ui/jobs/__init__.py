"""What takes longer than a page may: runs in worker processes and work in threads, each watched by one handle."""

from .job import wait_or_draw_progress
from .job_batch import JobBatch
from .run_group import FINAL_STEP_ONLY, PlannedRun, RunGroup, tab_run_group
from .thread_job import ThreadJob, close_job, get_or_start_job, job_result
