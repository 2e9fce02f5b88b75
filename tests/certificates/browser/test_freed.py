"""A press right after an upload is served; Cancel and a closed tab stop the workers and give the
memory back.
"""

import os
import re
import time
from pathlib import Path

import pytest

from pages._ui.jobs.shared_pool import WORKER_COUNT
from tests.browser_actions import click, wait_until_idle
from tests.running_app import cpu_seconds, serve_app, wait_until

pytestmark = pytest.mark.skipif(
    not Path("/dev/shm").is_dir(), reason="this system shows no shared memory as files"
)


def family(pid):
    """A process and all below it."""
    below = " ".join(
        path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")
    ).split()
    return [pid, *(one for child in below for one in family(int(child)))]


def blocks(pid):
    """The blocks of shared memory that these processes have mapped."""
    maps = "".join(Path(f"/proc/{one}/maps").read_text() for one in family(pid))
    return set(re.findall(r"/dev/shm/psm\S+", maps)) & {
        f"/dev/shm/{name}" for name in os.listdir("/dev/shm")
    }


def busy(pid):
    """The share of a core that the workers of a server use: of the processes below it."""

    def used():
        return sum(map(cpu_seconds, family(pid)[1:]))

    before = used()
    time.sleep(1)
    return used() - before


def test_what_is_ended_in_mid_run_leaves_no_worker_busy_and_no_memory_held(chromium, tmp_path):
    with serve_app(tmp_path / "log", "--server.disconnectedSessionTTL", "12") as server:
        page = chromium.new_page()
        pid = server.process.pid
        page.goto(
            f"{server.address}/compare?sample=census"
        )  # a sample, whose runs start by themselves
        for ends in ("Cancel", "the tab"):
            if ends == "the tab":
                click(page, "button", "Run the comparison")
            wait_until(lambda: busy(pid) > 0.2 and blocks(pid))
            processes = len(family(pid))
            if ends == "Cancel":
                click(page, "button", "Cancel")
                wait_until_idle(page)
            else:
                page.close()
            wait_until(lambda: busy(pid) < 0.1)
            # a server, its workers, and perhaps one that was begun for whoever comes next
            assert 1 + WORKER_COUNT <= len(family(pid)) <= processes, "the workers stay for others"
        wait_until(lambda: not blocks(pid))
