"""What takes longer than a page may: runs in worker processes and work in threads, each watched by one handle."""

from .job import watch
from .job_batch import Several
from .run_group import LAST, Runs, WantedRun, tab_runs
from .thread_job import Work, let_go, owned, result_of
