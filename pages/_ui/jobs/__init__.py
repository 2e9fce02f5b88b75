"""What takes longer than a page may: runs in worker processes and work in threads, each watched by one handle."""

from .job import watch
from .runs import LAST, Runs, WantedRun, tab_runs
from .several import Several
from .work import Work, let_go, owned, result_of
